"""Our modules read by others: naga, the front end of WebGPU, and the newest spirv-val."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kgen.spec import DType, Elementwise, Epilogue, Matmul, Rowwise, Spec
from tests import needs
from tests.device.vulkan.vulkan_support import build, open_vulkan
from tests.specs import relu_of

SPECS: tuple[Spec, ...] = (
    Matmul(m=33, n=34, k=35, dtype=DType.F32, epilogue=(Epilogue.BIAS, Epilogue.GELU)),
    Matmul(m=1, n=200, k=9, dtype=DType.F32, batch=2, beta=0.5),
    Rowwise(expression="softmax(x)", shapes=((5, 301),), dtype=DType.F32),
    Elementwise(expression="gelu(x) * y", shapes=((3, 1003), (1003,)), dtype=DType.F32),
    relu_of((1003,), dtype=DType.F32),
)
#: What naga refuses, and its reason.
REFUSED: tuple[tuple[Spec, str], ...] = (
    (Matmul(m=33, n=34, k=35), "Capabilities::FLOAT16"),
    (
        Rowwise(expression="softmax(x)", shapes=((2, 5000),), dtype=DType.F32),
        "literal is infinite",
    ),
)


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
def test_naga_takes_modules_of_f32(target: str) -> None:
    """And compiles them for the driver here. It refuses f16, which this device was not asked for,
    and literals that are infinite."""
    open_vulkan().close()
    wgpu = needs.module("wgpu")
    device = wgpu.gpu.request_adapter_sync().request_device_sync()
    for spec in SPECS:
        kernel = build(spec, target)
        module = device.create_shader_module(code=kernel.assembled.artifacts[0].data)
        for launch in kernel.plan.launches:
            stage = {"module": module, "entry_point": launch.entry_point}
            device.create_compute_pipeline(layout="auto", compute=stage)
    for spec, reason in REFUSED:
        code = build(spec, target).assembled.artifacts[0].data
        with pytest.raises(wgpu.GPUError, match=reason):
            device.create_shader_module(code=code)


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
def test_the_newest_validator(target: str, tmp_path: Path) -> None:
    folder = needs.driver("mesa")
    validator = [str(folder / "run"), str(folder / "usr/bin/spirv-val"), "--target-env", target]
    path = tmp_path / "kernel.spv"
    for spec in (*SPECS, *(spec for spec, _ in REFUSED)):
        path.write_bytes(build(spec, target).assembled.artifacts[0].data)
        done = subprocess.run([*validator, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    path.write_bytes(path.read_bytes()[:-4])
    assert subprocess.run([*validator, str(path)], capture_output=True).returncode != 0
