"""Code with instructions that the CPU lacks is refused by name before it is loaded."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import kgen
import kgen_runtime
from kgen import targets
from kgen.spec import DType, Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.limits import TARGETS
from kgen_runtime import settings
from kgen_runtime.backends.cpu import backend as cpu
from kgen_runtime.bundle import BundleFile
from kgen_runtime.errors import DeviceError
from tests import needs
from tests.fake_cpu import FakeCpu, forget


@pytest.fixture
def loads_nothing(fake_cpu: FakeCpu, monkeypatch: pytest.MonkeyPatch) -> FakeCpu:
    """Make loading code fail the test, unless the test allows it."""

    def never(*_: object) -> None:
        pytest.fail("machine code was loaded that the CPU cannot run")

    monkeypatch.setattr(cpu, "MappedCode", never)
    return fake_cpu


def small(dtype: DType) -> Matmul:
    return Matmul(m=64, n=64, k=64, dtype=dtype)


@pytest.mark.integration
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_missing_feature_is_named(
    target: Target, loads_nothing: FakeCpu, tmp_path: Path
) -> None:
    path = tmp_path / "k.kgen"
    dtypes = (DType.F32, DType.F16, DType.BF16, DType.S8)
    # A skinny GEMM does not use tiles.
    few = Matmul(m=2, n=16, k=64, dtype=DType.S8, layout=Layout.NT)
    kgen.build([*(small(dtype) for dtype in dtypes), few], targets=[target]).save(path)
    with BundleFile(path) as bundle:
        needed = [set(k.artifacts[0].requires["features"]) for k in bundle.manifest.kernels]
    # Instructions of bf16 or s8 alone are not asked for by a product of f32.
    assert set.union(*needed) == target.features
    for feature in sorted(set.intersection(*needed)):
        loads_nothing.set(target.arch, target.features - {feature})
        for device in ("cpu", None):
            with pytest.raises(DeviceError, match=rf"needs {feature}, which the CPU lacks"):
                kgen_runtime.load(path, device=device)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("dtype", "names"),
    [
        (DType.F32, ("x86-64", "x86-64-v3", "x86-64-v4")),
        (DType.BF16, ("x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "x86-64-amx")),
        (
            DType.S8,
            ("x86-64", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", "x86-64-v4+vnni", "x86-64-amx"),
        ),
    ],
)
def test_the_best_entry_that_the_cpu_runs_is_taken(
    dtype: DType,
    names: tuple[str, ...],
    loads_nothing: FakeCpu,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levels = [target for target in TARGETS if target.name in names]
    path = kgen.build(small(dtype), targets=levels).save(tmp_path / "k.kgen")
    with BundleFile(path) as bundle:
        needed = {
            k.target.name: set(k.artifacts[0].requires["features"]) for k in bundle.manifest.kernels
        }
    monkeypatch.setattr(cpu.CpuBackend, "load_all", nothing_loaded)
    for best in levels:
        loads_nothing.set("x86_64", best.features)
        kernels = kgen_runtime.load(path, device="cpu")
        (kernel,) = kernels.values()
        assert kernel.entry.target.name == best.name
        for other in levels:
            reason = kernels.skipped.get(f"{other.name}/{kernel.key}", "")
            lacks = sorted(needed[other.name] - best.features)
            assert all(feature in reason for feature in lacks), reason


def nothing_loaded(_: cpu.CpuBackend, kernels: Sequence[object]) -> list[cpu.Loaded]:
    return [cpu.Loaded(launches=[], code=None) for _ in kernels]


@pytest.mark.integration
def test_without_tile_state_the_next_best_entry_is_taken(
    loads_nothing: FakeCpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that grants no tile state has no AMX among its features."""
    levels = [target for target in TARGETS if target.name in ("x86-64-v4", "x86-64-amx")]
    path = kgen.build(small(DType.BF16), targets=levels).save(tmp_path / "k.kgen")
    monkeypatch.setattr(cpu.CpuBackend, "load_all", nothing_loaded)
    features = frozenset().union(*(target.features for target in levels))
    loads_nothing.set("x86_64", {name for name in features if not name.startswith("amx_")})
    kernels = kgen_runtime.load(path, device="cpu")
    (kernel,) = kernels.values()
    assert kernel.entry.target.name == "x86-64-v4"
    (reason,) = kernels.skipped.values()
    assert "needs amx_bf16, amx_tile, which the CPU lacks or the system denies" in reason


#: A C library whose arch_prctl says no, as that of a container's seccomp filter.
REFUSING = """
#include <errno.h>
long syscall(long number, ...) { (void)number; errno = EPERM; return -1; }
"""
ASKING = """
from kgen_runtime import libkgen
from kgen_runtime.this_cpu import this_cpu
print(sorted(name for name in this_cpu().features if name.startswith("amx_")))
try:
    libkgen.check(libkgen.library().kgen_cpu_request_tiles())
except libkgen.errors.DeviceError as error:
    print(error)
"""


@pytest.mark.integration
@pytest.mark.skipif(platform.machine() != "x86_64", reason="AMX is of x86-64")
def test_tile_state_that_the_system_refuses(tmp_path: Path) -> None:
    """No tile instruction runs, and the CPU counts as one without AMX."""
    (tmp_path / "refusing.c").write_text(REFUSING)
    command = ["cc", "-shared", "-fPIC", "refusing.c", "-o", "refusing.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-c", ASKING],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(tmp_path / "refusing.so")},
    )
    features, message = done.stdout.splitlines()
    assert features == "[]"
    assert message == (
        "Linux refuses this process AMX tile state (Operation not permitted); build for x86-64-v4 "
        "instead"
    )


@pytest.mark.integration
def test_the_environment_disables_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kgen and the runtime take the CPU for one with fewer features."""
    levels = [needs.cpu(name) for name in ("x86-64", "x86-64-v3")]
    path = kgen.build(small(DType.F32), targets=levels).save(tmp_path / "k.kgen")
    monkeypatch.delenv(settings.NATIVE)
    try:
        for words, name, is_wide in (("", "x86-64-v3", True), ("bf16, f?a", "x86-64", False)):
            monkeypatch.setenv("KGEN_DISABLE_CPU_FEATURES", words)
            forget()
            assert (targets.find("native").limits["vector_bytes"] > 16) == is_wide
            (kernel,) = kgen_runtime.load(path, device="cpu").values()
            assert kernel.entry.target.name == name
        with pytest.raises(DeviceError, match="needs fma, which the CPU lacks"):
            kgen_runtime.load(kgen.build(small(DType.F32), targets=levels[1:]).save(path))
    finally:
        forget()
