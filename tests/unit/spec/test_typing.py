"""Types of the two packages under strict mypy: mistakes are errors, and results have types."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

#: A line with `# error` must be refused, and every other line must not be.
SNIPPET = """\
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import kgen
import kgen_runtime
from kgen_runtime import Array
from kgen_runtime.calls.call import Call

HostArray = npt.NDArray[Any]

kgen.Matmul(m=1, n=1, k=1, dtype="f33")  # error
kgen.Matmul(m=1, n=1, k=1, out_dtype="f33")  # error
kgen.Matmul(m=1, n=1, k=1, dtype=float)  # error
kgen.Matmul(m=1, n=1, k=1, layout="nx")  # error
kgen.Matmul(m=1, n=1, k=1, math="fast")  # error
kgen.Matmul(m=1, n=1, k=1, epilogue=("bais",))  # error
kgen.Matmul(m=1, n=1, k=1, epilogue=3)  # error
kgen.Matmul(m=1, n=1, k=1, scales=("c",))  # error
kgen.Matmul(m=1, n=1, k=1, constant=("a",))  # error
kgen.Matmul(m=1, n=1)  # error
softmax_of(1, 1, dtype="f33")  # error
kgen.Elementwise(expression="relu(x)", shapes=((1,),), dtype=3)  # error
kgen.Matmull  # error
kgen_runtime.lod  # error

spec = kgen.Matmul(m=1, n=1, k=1, dtype="float32", epilogue=("bias", kgen.Epilogue.RELU))
kgen.Matmul(m=1, n=1, k=1, dtype=np.float32, out_dtype=np.dtype("f2"), layout="nt")
kgen.Elementwise(expression="relu(x)", shapes=((1,),), dtype=kgen.DType(input()))
assert_type(spec.dtype, kgen.DType)
assert_type(kgen.build(spec, "sm_80"), kgen.Bundle)
kgen.errors.SpecError, kgen_runtime.errors.KgenError, kgen.__version__, kgen_runtime.__version__

kernels = kgen_runtime.load("x.kgen")
x = np.zeros((1, 1), np.float32)
xd = kernels.to_device(x)
kernels.softmaxx(x)  # error
kernels.softmax([1.0])  # error
kernels.softmax(x, out=[1.0])  # error
assert_type(kernels.softmax(x), HostArray)
assert_type(kernels.matmul(x, x, bias=x), HostArray)
assert_type(kernels.matmul(xd, xd, stream=3), Array)
assert_type(kernels.matmul(xd, x), HostArray | Array)
assert_type(kernels.matmul(xd, x, out=xd), Array)
assert_type(kernels["matmul_1x1x1_f32_nn"](x, x), HostArray)
assert_type(kernels.relu.prepare(x), Call[HostArray])
assert_type(kernels.relu.prepare(xd)(), Array)
assert_type(kernels.matmul.pack(x), HostArray)
assert_type(kernels.matmul.pack(xd), Array)
xd.numpy().shape
kernels.relu(x).shapes  # error
"""


@pytest.mark.integration
@pytest.mark.slow
def test_mypy_finds_these_mistakes_and_no_others(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tmp_path / "snippet.py").write_text(SNIPPET)
    path = os.pathsep.join([str(ROOT / "codegen"), str(ROOT / "runtime")])
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context",
         "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), "snippet.py"],
        cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"MYPYPATH": path},
    )  # fmt: skip
    found = {int(n) for n in re.findall(r"^snippet\.py:(\d+): error", done.stdout, re.MULTILINE)}
    lines = SNIPPET.splitlines()
    expected = {n for n, line in enumerate(lines, 1) if line.endswith("# error")}
    assert found == expected, done.stdout + done.stderr
