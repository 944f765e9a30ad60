"""Remainders and rounded quotients of floats on Vulkan, which may flush subnormal numbers."""

from __future__ import annotations

import numpy as np

import kgen
from kgen.spec import DType, Elementwise, Matmul, Rowwise
from kgen_runtime.backends.vulkan import VulkanBackend
from tests import remainders
from tests.device.vulkan.vulkan_support import build, run
from tests.open_devices import verify


def test_remainders_are_exact(vulkan: VulkanBackend) -> None:
    x, y = remainders.pairs(np.float32, subnormal=False)
    found = {}
    for name, text in (("cut", "fmod(x, y)"), ("out", "x % y"), ("down", "x // y")):
        spec = Elementwise(expression=text, shapes=(x.shape,) * 2, dtype=DType.F32)
        found[name] = run(vulkan, build(spec), {"x": x, "y": y})
    remainders.check(x, y, found, flushes=True)


def test_rows_and_epilogues() -> None:
    specs = [
        Rowwise(expression="x % (amax(x) + 1)", shapes=((7, 37),), dtype=DType.F32),
        Matmul(m=17, n=16, k=16, dtype=DType.F32, epilogue="x % 3 + fmod(x, bias)"),
    ]
    report = verify(kgen.build(specs, ["vulkan1.3"]))
    assert not [f"{k.kernel}: {k.reason}" for k in report.kernels if k.status != "passed"]
