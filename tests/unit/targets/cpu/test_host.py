"""Target `native` on different machines: features, caches and core."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

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
from tests.fake_cpu import FakeCpu

LEVELS = (V3_FEATURES, V4_FEATURES, BF16_FEATURES, VNNI_FEATURES, AMX_FEATURES)
V3, V4, BF16, VNNI, AMX = (frozenset(level) for level in LEVELS)


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
    fake_cpu: FakeCpu, flags: frozenset[str], vector_bytes: int, like: str
) -> None:
    fake_cpu.set("x86_64", flags)
    native = FAMILY.find("native")
    assert native is not None
    assert (native.name, native.limits["vector_bytes"]) == ("native", vector_bytes)
    assert native.features == next(t for t in TARGETS if t.name == like).features


def test_kgen_build_explain_says_what_a_cpu_lacks(fake_cpu: FakeCpu) -> None:
    spec = Matmul(m=8, n=8, k=8)
    fake_cpu.set("x86_64", V3 - {"fma", "movbe"} | {"sse2"})
    assert FAMILY.remarks(pipeline.plan(spec, targets.find("native"))) == (
        "SSE2 alone: this CPU has no fma, movbe",
    )
    fake_cpu.set("x86_64", V3)
    assert not FAMILY.remarks(pipeline.plan(spec, targets.find("native")))


def test_native_elsewhere(fake_cpu: FakeCpu) -> None:
    fake_cpu.set("aarch64", frozenset())
    native = FAMILY.find("native")
    assert native is not None and native.arch == "aarch64"
    assert not native.has("asimddp")
    fake_cpu.set("aarch64", frozenset(DOTPROD_FEATURES))
    native = FAMILY.find("native")
    assert native is not None and native.has("asimddp")
    fake_cpu.lose_libkgen()
    with pytest.raises(TargetError, match="target=native: libkgen cannot be opened"):
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


def test_caches_are_read_where_the_kernel_tells(fake_cpu: FakeCpu) -> None:
    fake_cpu.cache(0, "Data", 1, "48K")
    fake_cpu.cache(1, "Instruction", 1, "32K")
    fake_cpu.cache(2, "Unified", 2, "2048K")
    fake_cpu.cache(3, "Unified", 3, "32768K")
    (fake_cpu.caches / "index9").mkdir()
    assert host.cache_sizes() == {"l1_bytes": 48 << 10, "l2_bytes": 2 << 20, "l3_bytes": 32 << 20}


# -- $KGEN_NATIVE


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4+bf16+vnni", "aarch64-neon"])
def test_the_environment_names_what_native_stands_for(
    fake_cpu: FakeCpu, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On a Zen 4 with other caches, `native` has the features, caches and core of the named
    target."""
    fake_cpu.set("x86_64", V3 | V4 | BF16 | VNNI, ("AuthenticAMD", 0x19, 0x11))
    fake_cpu.cache(0, "Data", 1, "64K")
    fake_cpu.cache(1, "Unified", 2, "4096K")
    monkeypatch.setenv("KGEN_NATIVE", name)
    assert targets.find("native") == replace(targets.find(name), name="native")


def test_a_target_that_native_cannot_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sm_80", "native", "x86-64-v9"):
        monkeypatch.setenv("KGEN_NATIVE", name)
        with pytest.raises(TargetError, match=f"KGEN_NATIVE={name} is not a CPU target; write"):
            targets.find("native")


@pytest.mark.integration
def test_native_is_one_target_in_all_tests_and_their_processes() -> None:
    """Its features, caches and core are those that every machine in CI executes."""
    program = """
from kgen import targets
found = targets.find("native")
print(found.device, found.limits["l2_bytes"])
"""
    named = targets.find("x86-64-v3" if targets.find("native").arch == "x86_64" else "aarch64-neon")
    assert targets.find("native") == replace(named, name="native")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{named.device} {named.limits['l2_bytes']}\n", done.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "kgen", "targets", "--json"], capture_output=True, text=True
    )
    assert set(json.loads(listed.stdout)["native"]["features"]) == named.features
