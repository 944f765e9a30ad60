"""Products and quotients with a constant zero keep NaN, infinity and signs, although a driver
may fold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import kgen
from kgen.spec import DType, Elementwise, Matmul, Rowwise, Spec
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import Values, build, run
from tests.open_devices import verify

#: All kinds of numbers, of both signs.
SPECIAL = np.array([0, 1e-30, 1.5, 3e38, np.inf, np.nan], np.float32)
X = np.concatenate([SPECIAL, -SPECIAL])
ZERO = np.float32(0)
FORMULAS: Mapping[str, Callable[[Values], Values]] = {
    "x * 0": lambda x: x * ZERO,
    "-0.0 * x": lambda x: -ZERO * x,
    "x / 0": lambda x: x / ZERO,
    "x / -0.0": lambda x: x / -ZERO,
    "0 / x": lambda x: ZERO / x,
    "-0.0 / x": lambda x: -ZERO / x,
    "x * 0 + 1": lambda x: x * ZERO + 1,
    "x / (x * 0)": lambda x: x / (x * ZERO),
    # Zeros in f32.
    "x * 1e-300": lambda x: x * ZERO,
    "x / 1e-300": lambda x: x / ZERO,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_elements(vulkan: VulkanBackend, text: str) -> None:
    spec = Elementwise(expression=text, shapes=(X.shape,), dtype=DType.F32)
    found = run(vulkan, build(spec), {"x": X})
    with np.errstate(all="ignore"):
        wanted = FORMULAS[text](X)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
def test_kernels(vulkan: VulkanBackend, dtype: DType) -> None:
    """Special values pass verification in elements, rows and a product's epilogue."""
    specs: list[Spec] = [
        Elementwise(expression="log(x * 0) + rsqrt(y * 0)", shapes=((5, 33),), dtype=dtype),
        Elementwise(
            expression="h = x / 0; out = where(y > 0, 0 / y, h)", shapes=((5, 33),), dtype=dtype
        ),
        Rowwise(expression="softmax(x) * 0", shapes=((5, 33),), dtype=dtype),
        Matmul(m=17, n=16, k=16, dtype=dtype, epilogue="x * 0"),
        Matmul(m=17, n=16, k=16, dtype=dtype, epilogue="bias * 0 / x"),
    ]
    report = verify(kgen.build(specs, ["vulkan1.3"]))
    wrong = [f"{k.kernel}: {k.reason}" for k in report.kernels if k.status != "passed"]
    assert not wrong and len(report.kernels) == len(specs)
