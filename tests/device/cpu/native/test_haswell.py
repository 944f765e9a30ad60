"""The runtime on an emulated CPU with AVX2 but without AVX-512. Under `qemu-x86_64 -cpu Haswell`
an AVX-512 instruction ends the process with SIGILL. CPUID is that of a Haswell; /proc/cpuinfo is
the host's."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import kgen
from kgen.spec import DType, Matmul
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


@pytest.mark.parametrize("prefix", [(AS_AVX2,), ("env", "OPENBLAS_CORETYPE=Haswell")])
def test_nothing_beyond_avx2_is_executed(prefix: tuple[str, ...], bundle: str) -> None:
    """The runtime trusts CPUID rather than /proc/cpuinfo, with all and with disabled features."""
    done = on_haswell(*prefix, bundle)
    assert done.returncode == 0, done.stderr
    worst = json.loads(done.stdout)
    assert set(worst) == {f"x86-64-v3/{spec.key}" for spec in SPECS}
    assert max(worst.values()) < 1e-4, worst
