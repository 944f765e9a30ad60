"""What `native` stands for on different machines, and what is read of them."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgen import pipeline, targets
from kgen.errors import TargetError
from kgen.spec import Matmul
from kgen.targets.cpu import FAMILY, host
from kgen.targets.cpu.limits import (
    AMX_FEATURES,
    AVX_VNNI_FEATURES,
    BF16_FEATURES,
    DOTPROD_FEATURES,
    TARGETS,
    V3_FEATURES,
    V4_FEATURES,
    VNNI_FEATURES,
)
from kgen_runtime import cpu_features as features
from kgen_runtime import settings

LEVELS = (V3_FEATURES, V4_FEATURES, BF16_FEATURES, VNNI_FEATURES, AMX_FEATURES)
V3, V4, BF16, VNNI, AMX = (frozenset(level) for level in LEVELS)


def on(monkeypatch: pytest.MonkeyPatch, machine: str, flags: frozenset[str]) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(host, "cpu_features", lambda: flags)


@pytest.mark.parametrize(
    ("flags", "vector_bytes", "like"),
    [
        (frozenset({"sse2"}), 16, "x86-64"),
        (V3 - {"fma"} | {"sse2"}, 16, "x86-64"),
        (V3, 32, "x86-64-v3"),
        (V3 | V4 - {"avx512vl"}, 32, "x86-64-v3"),
        (V3 | frozenset(AVX_VNNI_FEATURES), 32, "x86-64-v3+vnni"),
        (V3 | V4 | {"avx512_vbmi"}, 64, "x86-64-v4"),
        (V3 | V4 | VNNI, 64, "x86-64-v4+vnni"),
        (V3 | V4 | BF16, 64, "x86-64-v4+bf16"),
        (V3 | V4 | AMX, 64, "x86-64-amx"),
        (V3 | V4 | AMX | {"amx_fp16"}, 64, "x86-64-amx+fp16"),
    ],
)
def test_native_takes_the_widest_whole_level(
    monkeypatch: pytest.MonkeyPatch, flags: frozenset[str], vector_bytes: int, like: str
) -> None:
    on(monkeypatch, "x86_64", flags)
    native = FAMILY.find("native")
    assert native is not None
    assert (native.name, native.limits["vector_bytes"]) == ("native", vector_bytes)
    assert native.features == next(t for t in TARGETS if t.name == like).features


def test_kgen_build_explain_says_what_a_cpu_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Matmul(m=8, n=8, k=8)
    on(monkeypatch, "x86_64", V3 - {"fma", "movbe"} | {"sse2"})
    assert FAMILY.remarks(pipeline.plan(spec, targets.find("native"))) == (
        "SSE2 alone: this CPU has no fma, movbe",
    )
    on(monkeypatch, "x86_64", V3)
    assert not FAMILY.remarks(pipeline.plan(spec, targets.find("native")))


def test_native_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "aarch64", frozenset())
    native = FAMILY.find("native")
    assert native is not None and native.arch == "aarch64"
    assert not native.has("asimddp")
    on(monkeypatch, "aarch64", frozenset(DOTPROD_FEATURES))
    native = FAMILY.find("native")
    assert native is not None and native.has("asimddp")
    on(monkeypatch, "riscv64", frozenset())
    with pytest.raises(TargetError, match="riscv64"):
        FAMILY.find("native")


@pytest.mark.parametrize(
    ("name", "canonical", "added"),
    [
        ("x86-64-v4+bf16+vnni", "x86-64-v4+bf16+vnni", BF16 | VNNI),
        ("x86-64-v4+vnni+bf16", "x86-64-v4+bf16+vnni", BF16 | VNNI),
        ("x86-64-v4+vnni", "x86-64-v4+vnni", VNNI),
        ("x86-64-amx+amx-fp16", "x86-64-amx+fp16", AMX | {"amx_fp16"}),
    ],
)
def test_suffixes_combine(name: str, canonical: str, added: frozenset[str]) -> None:
    target = FAMILY.find(name)
    assert target is not None and target.name == canonical
    assert target.features == V3 | V4 | added


@pytest.mark.parametrize(
    "name", ["x86-64-v4+bf16+bf16", "x86-64-v3+bf16", "x86-64-v4+", "x86-64-v2", "+vnni", ""]
)
def test_suffixes_that_are_none(name: str) -> None:
    assert FAMILY.find(name) is None


def test_every_listed_target_is_found() -> None:
    assert all(FAMILY.find(target.name) == target for target in TARGETS)


def test_caches_are_read_where_the_kernel_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for index, (kind, level, size) in enumerate(
        [
            ("Data", "1", "48K"),
            ("Instruction", "1", "32K"),
            ("Unified", "2", "2048K"),
            ("Unified", "3", "32768K"),
        ]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, value in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(value + "\n")
    (tmp_path / "index9").mkdir()
    monkeypatch.setattr(host, "CACHE", tmp_path)
    assert host.cache_sizes() == {"l1_bytes": 48 << 10, "l2_bytes": 2 << 20, "l3_bytes": 32 << 20}


@pytest.fixture
def whole_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All that the CPU has, whatever the environment disables."""
    monkeypatch.delenv(settings.DISABLED_CPU_FEATURES, raising=False)
    features.cpu_features.cache_clear()
    features.cpu_name.cache_clear()
    yield
    features.cpu_features.cache_clear()
    features.cpu_name.cache_clear()


@pytest.fixture
def cpuinfo(whole_cpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(features, "CPUINFO", path)
    return path


def test_cpuinfo_of_both_architectures(cpuinfo: Path) -> None:
    cpuinfo.write_text("model name\t: Some CPU\nflags\t\t: fpu avx2 fma\n\nflags\t: other\n")
    assert features.cpu_features() == {"fpu", "avx2", "fma"}
    assert features.cpu_name() == "Some CPU"
    features.cpu_features.cache_clear()
    cpuinfo.write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert features.cpu_features() == {"fp", "asimd"}


def test_what_cpuinfo_does_not_say_of_amx(cpuinfo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """amx_fp16 is asked of the CPU, and AMX is none where its state would be refused."""
    cpuinfo.write_text("flags\t: avx2 amx_tile amx_bf16\n")
    bit = 1 << features.AMX_FP16_BIT
    for allowed, eax, expected in (
        (True, bit, {"avx2", "amx_tile", "amx_bf16", "amx_fp16"}),
        (True, ~bit & 0xFFFFFFFF, {"avx2", "amx_tile", "amx_bf16"}),
        (False, bit, {"avx2"}),
    ):
        monkeypatch.setattr(features, "may_use_tiles", lambda allowed=allowed: allowed)
        monkeypatch.setattr(features, "cpuid_eax", lambda *_, eax=eax: eax)
        features.cpu_features.cache_clear()
        assert features.cpu_features() == expected


@pytest.mark.skipif(platform.machine() != "x86_64", reason="CPUID is an instruction of x86")
def test_cpuid_is_what_linux_read_there(whole_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaf 7, subleaf 1: bit 4 is avx_vnni, bit 5 avx512_bf16."""
    listed, eax = features.cpu_features(), features.cpuid_eax(7, 1)
    assert ("avx_vnni" in listed, "avx512_bf16" in listed) == (bool(eax & 16), bool(eax & 32))
    assert features.cpuid_eax(0, 0) >= 7

    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr("mmap.mmap", refused)
    assert features.cpuid_eax(7, 1) == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="tiles are x86's")
def test_tile_state_is_asked_for_where_linux_lists_it(whole_cpu: None) -> None:
    tiles = any(name.startswith("amx_") for name in features.cpu_features())
    assert features.may_use_tiles() or not tiles


def test_no_cpuinfo_means_no_features(cpuinfo: Path) -> None:
    assert features.cpu_features() == frozenset()
    assert features.cpu_name() == "CPU"
