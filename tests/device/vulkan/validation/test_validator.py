"""The newest spirv-val accepts our modules."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kgen.spec import DType, Elementwise, Epilogue, Matmul, Rowwise, Spec
from tests import needs
from tests.device.vulkan.vulkan_support import build
from tests.specs import relu_of

SPECS: tuple[Spec, ...] = (
    Matmul(m=33, n=34, k=35, dtype=DType.F32, epilogue=(Epilogue.BIAS, Epilogue.GELU)),
    Matmul(m=1, n=200, k=9, dtype=DType.F32, batch=2, beta=0.5),
    Rowwise(expression="softmax(x)", shapes=((5, 301),), dtype=DType.F32),
    Elementwise(expression="gelu(x) * y", shapes=((3, 1003), (1003,)), dtype=DType.F32),
    relu_of((1003,), dtype=DType.F32),
    Matmul(m=33, n=34, k=35),
    Rowwise(expression="softmax(x)", shapes=((2, 5000),), dtype=DType.F32),
)


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
def test_the_newest_validator(target: str, tmp_path: Path) -> None:
    folder = needs.driver("mesa")
    validator = [str(folder / "run"), str(folder / "usr/bin/spirv-val"), "--target-env", target]
    path = tmp_path / "kernel.spv"
    for spec in SPECS:
        path.write_bytes(build(spec, target).assembled.artifacts[0].data)
        done = subprocess.run([*validator, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    path.write_bytes(path.read_bytes()[:-4])
    assert subprocess.run([*validator, str(path)], capture_output=True).returncode != 0
