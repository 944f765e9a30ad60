"""The runtime on a CPU that has AVX2 and no more: what it chooses and executes there.

Under `qemu-x86_64 -cpu Haswell` an AVX-512 instruction ends the process with SIGILL. qemu shows
the host's /proc/cpuinfo, so what it does not execute is disabled by `scripts/as-avx2.sh`.
"""

from __future__ import annotations

import json
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kgen
from kgen.spec import DType, Matmul
from kgen_runtime.cpu_features import cpu_features
from tests import needs
from tests.specs import relu_of, softmax_of

AS_AVX2 = str(Path(__file__).parents[4] / "scripts" / "as-avx2.sh")
QEMU = "qemu-x86_64"
SPECS = (
    Matmul(m=33, n=70, k=40, dtype=DType.F32),
    Matmul(m=64, n=64, k=64, dtype=DType.F32),
    Matmul(m=1, n=70, k=40, dtype=DType.F32),
    Matmul(m=33, n=70, k=40, dtype=DType.S8),
    relu_of((1000,), dtype=DType.F32),
    softmax_of(5, 70, dtype=DType.F32),
)
PROGRAM = """
import json, sys
import numpy as np
import kgen_runtime

kernels, random, worst = kgen_runtime.load(sys.argv[1], device="cpu"), np.random.default_rng(0), {}
for kernel in kernels.values():
    given = [
        random.integers(-128, 128, p.shape).astype(p.dtype.storage)
        if p.dtype.is_integer else random.standard_normal(p.shape).astype(p.dtype.storage)
        for p in kernel.entry.arguments
    ]
    x = [array.astype(np.float64) for array in given]
    if kernel.entry.op == "matmul":
        want = x[0] @ x[1]
    elif kernel.entry.op == "relu":
        want = np.maximum(x[0], 0)
    else:
        want = np.exp(x[0]) / np.exp(x[0]).sum(1, keepdims=True)
    worst[f"{kernel.entry.target.name}/{kernel.key}"] = float(np.abs(kernel(*given) - want).max())
print(json.dumps(worst))
"""

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="qemu takes this machine's Python"
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    needs.program(QEMU, "qemu-user")
    levels = ["x86-64-v3", "x86-64-v4", "x86-64-v4+vnni"]
    return str(kgen.build(SPECS, targets=levels).save(tmp_path_factory.mktemp("b") / "x.kgen"))


def on_haswell(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command[:-1], QEMU, "-cpu", "Haswell", sys.executable, "-c", PROGRAM, command[-1]],
        capture_output=True,
        text=True,
    )


def test_nothing_beyond_avx2_is_executed(bundle: str) -> None:
    done = on_haswell(AS_AVX2, bundle)
    assert done.returncode == 0, done.stderr
    worst = json.loads(done.stdout)
    assert set(worst) == {f"x86-64-v3/{spec.key}" for spec in SPECS}
    assert max(worst.values()) < 1e-4, worst


def test_avx512_is_found_if_it_is_executed(bundle: str) -> None:
    """The check above can fail: without the mask the runtime takes the host for what it is."""
    if "avx512f" not in cpu_features():
        pytest.skip("the CPU has no avx512f, or the environment disables it")
    done = on_haswell("env", "OPENBLAS_CORETYPE=Haswell", bundle)
    assert done.returncode == -signal.SIGILL, done.stderr
