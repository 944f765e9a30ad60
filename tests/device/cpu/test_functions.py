"""Accuracy of gelu, gelu_tanh and silu in CPU kernels."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from kgen.spec import DType, Epilogue, Matmul
from tests.device.cpu.cpu_support import addresses, here, load
from tests.specs import softmax_of


def logistic(x: float, power: float) -> float:
    return x / (1 + math.exp(-power)) if power > -700 else 0.0


EXACT: dict[Epilogue, Callable[[float], float]] = {
    Epilogue.GELU: lambda v: v / 2 * math.erfc(-v / math.sqrt(2)),
    Epilogue.GELU_TANH: lambda v: logistic(v, math.sqrt(8 / math.pi) * (v + 0.044715 * v**3)),
    Epilogue.SILU: lambda v: logistic(v, v),
}
#: Arguments from subnormal to huge ones.
FAR = np.concatenate([np.linspace(0, 14.5, 5001), np.geomspace(1e-40, 1e30, 141)])


def apply(
    step: Epilogue, x: npt.NDArray[np.float32], out_dtype: DType, name: str
) -> npt.NDArray[np.float64]:
    """Apply the function by a kernel."""
    spec = Matmul(m=x.size, n=1, k=1, dtype=DType.F32, out_dtype=out_dtype, epilogue=(step,))
    out = np.zeros(x.size, out_dtype.storage)
    one = np.ones(1, np.float32)
    load(spec, here(name)).run(addresses({"a": x, "b": one, "out": out}))
    if out_dtype is DType.BF16:
        out = (out.astype(np.uint32) << 16).view(np.float32)
    return out.view(np.float16 if out_dtype is DType.F16 else np.float32).astype(np.float64)


@pytest.mark.parametrize("name", ["x86-64-v4+bf16", "x86-64-v3", "x86-64"])
def test_functions_are_accurate_far_out(name: str) -> None:
    """gelu, gelu_tanh and silu in f32 for large |x|, where gelu's results are small."""
    x = np.concatenate([FAR, -FAR]).astype(np.float32)
    for step, function in EXACT.items():
        out = apply(step, x, DType.F32, name)
        true = np.array([function(float(v)) for v in x])
        error = np.abs(out - true)
        assert np.max(error / np.maximum(1.0, np.abs(x))) < 1e-6
        if step is Epilogue.GELU:
            small = (x < 0) & (x > -12.5) & (true < -1e-36)
            bound = (8 * (1 + x.astype(np.float64) ** 2) + 1) * 2.0**-24
            assert np.all(error[small] <= bound[small] * np.abs(true[small]))


@pytest.mark.parametrize("name", ["x86-64-v4+bf16", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize(("out", "ulps"), [(DType.BF16, 0.75), (DType.F16, 0.6)])
def test_functions_have_the_digits_of_the_output(name: str, out: DType, ulps: float) -> None:
    """The error in 16 bits is little more than half a unit in the last place, in both tails."""
    x = np.concatenate([FAR, -FAR]).astype(np.float32)
    x = x[np.abs(x) < 60000]
    digits, least = (8, -126) if out is DType.BF16 else (11, -14)
    for step, function in EXACT.items():
        true = np.array([function(float(v)) for v in x])
        exponent = np.maximum(np.frexp(np.abs(true))[1] - 1, least)
        error = np.abs(apply(step, x, out, name) - true) / 2.0 ** (exponent - digits + 1)
        # From x = -88.8 on 1 + e^-x is infinite in f32.
        known = np.abs(true) > (1e-36 if out is DType.BF16 else 0.0)
        assert np.max(error[known]) < ulps, step


def units(found: npt.NDArray[np.float64], true: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the error in units in the last place of f32."""
    exponent = np.maximum(np.frexp(np.abs(true))[1] - 1, -126)
    error: npt.NDArray[np.float64] = np.abs(found - true) / 2.0 ** (exponent - 23)
    return error


@pytest.mark.parametrize("name", ["x86-64-v4+bf16", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize(
    ("step", "ulps", "grows"),
    [(Epilogue.GELU, 8, True), (Epilogue.GELU_TANH, 3, True), (Epilogue.SILU, 6, False)],
)
def test_functions_in_f32_to_units_in_the_last_place(
    step: Epilogue, ulps: float, grows: bool, name: str
) -> None:
    """Bounds of docs/how-it-works/verification.md; for x < 0 the rounding of x^2 is amplified."""
    x = np.concatenate([FAR, -FAR]).astype(np.float32)
    true = np.array([EXACT[step](float(v)) for v in x])
    known = np.abs(true) > 1e-36
    error = units(apply(step, x, DType.F32, name), true)[known]
    bound = ulps * np.where((x < 0) & grows, 1 + x.astype(np.float64) ** 2, 1)[known]
    assert np.all(error < bound), (x[known][np.argmax(error / bound)], np.max(error / bound))
    assert np.max(error / bound) > 0.3, "the documented bound is no guess"


@pytest.mark.parametrize("name", ["x86-64-v4+bf16", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("cols", [2, 9, 1000])
def test_softmax_in_f32_to_units_in_the_last_place(cols: int, name: str) -> None:
    """The bound is 8 + d, where x is d below the maximum of its row; without FMA 8 + 2 d."""
    rows = 4000 // cols
    x = 10 * np.random.default_rng(0).standard_normal((rows, cols)).astype(np.float32)
    out = np.zeros((rows, cols), np.float32)
    spec = softmax_of(rows, cols, dtype=DType.F32)
    load(spec, here(name)).run(addresses({"x": x, "out": out}))
    below = x.max(1, keepdims=True).astype(np.float64) - x
    powers = np.exp(-below)
    true = powers / powers.sum(1, keepdims=True)
    known = true > 1e-36
    assert np.all(
        (units(out.astype(np.float64), true) < 8 + below * (2 if name == "x86-64" else 1))[known]
    )
