"""Functions of f64 on CPUs, against Python's decimal module with 50 digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen.ops import functions
from kgen.spec import DType, Elementwise, Matmul, Rowwise
from tests.device.cpu.cpu_support import addresses, check, here, load
from tests.exact_functions import DIGITS, EXACT, exact, ulps

Values = npt.NDArray[np.float64]
TARGETS = ["x86-64-v4", "x86-64-v3", "x86-64"]

#: Largest error in units in the last place of the result or, for functions in `OF_ARGUMENT`, of the
#: larger of result and argument: the tail of their result is small.
BOUNDS = {name: f.accuracy.ulps for name, f in functions().items() if f.accuracy.ulps}
OF_ARGUMENT = {name for name, f in functions().items() if f.accuracy.ulps_of == "argument"}


def computed(text: str, target: str, **inputs: Values) -> Values:
    """Compute an f64 expression by a kernel."""
    (shape,) = {x.shape for x in inputs.values()}
    out = np.zeros(shape)
    spec = Elementwise(expression=text, shapes=(shape,) * len(inputs), dtype=DType.F64)
    load(spec, here(target)).run(addresses({**inputs, "out": out}))
    return out


def samples(name: str) -> Values:
    rng = np.random.default_rng(0)
    scales = np.repeat([8.0, 1.0, 1e-3, 1e-9], 60)
    x = np.concatenate([rng.standard_normal(scales.size) * scales, np.linspace(-37, 37, 75)])
    if name in ("exp", "exp2", "expm1", "sigmoid"):
        x = np.concatenate([x, rng.uniform(-700, 700, 80)])
    if name.startswith("log"):
        near, far = rng.standard_normal(50) * 1e-4, 10.0 ** rng.uniform(-300, 300, 60)
        x = np.concatenate([np.abs(x) + 1e-300, far, [5e-324, 1e-310], 1 + near])
        x = np.concatenate([x, near, np.linspace(-0.999999, 0, 30)]) if name == "log1p" else x
    return x


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(EXACT))
def test_units_in_the_last_place(name: str, target: str) -> None:
    x = samples(name)
    found = computed(f"{name}(x)", target, x=x)
    of = np.abs(x) if name in OF_ARGUMENT else np.zeros(x.shape)
    errors = [
        ulps(float(value), exact(name, float(at)), float(size))
        for at, value, size in zip(x, found, of, strict=True)
    ]
    worst = int(np.argmax(errors))
    assert errors[worst] <= BOUNDS[name], (name, x[worst], found[worst], errors[worst])


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_far_angles(name: str) -> None:
    """The error is at most one unit in the last place of 1 for angles up to 2^22."""
    x = np.concatenate([np.random.default_rng(0).uniform(-(2**22), 2**22, 200), [2.0**22 - 0.5]])
    found = computed(f"{name}(x)", "x86-64-v3", x=x)
    errors = [ulps(float(v), exact(name, float(at)), 1.0) for at, v in zip(x, found, strict=True)]
    assert max(errors) <= 1


def test_pow() -> None:
    """The bound grows with m = |y log2 x|."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.01, 30, 400), rng.uniform(-40, 40, 400)
    found = computed("pow(x, y)", "x86-64-v3", x=x, y=y)
    for a, b, value in zip(x, y, found, strict=True):
        with localcontext() as context:
            context.prec = DIGITS
            logarithm = Decimal(b) * Decimal(a).ln()
            true = logarithm.exp()
        m = abs(float(logarithm)) / math.log(2)
        assert ulps(float(value), true) <= 2 + 2 * m, (a, b, value)


SPECIAL: dict[str, dict[float, float]] = {
    "exp": {800: math.inf, 709.7: math.exp(709.7), -745: 5e-324, -800: 0, -0.0: 1},
    "exp2": {1024: math.inf, 1023.5: 2**1023 * math.sqrt(2), -1074: 5e-324, -1080: 0},
    "expm1": {800: math.inf, -800: -1, 0: 0},
    "log": {0: -math.inf, -1: math.nan, 1: 0},
    "log2": {0: -math.inf, -1: math.nan, 8: 3, 5e-324: -1074},
    "log1p": {-1: -math.inf, -2: math.nan, 0: 0},
    "tanh": {800: 1, -800: -1, 0: 0},
    "sigmoid": {800: 1, -800: 0, 0: 0.5},
    "erf": {30: 1, -30: -1, 0: 0},
    "gelu": {40: 40, -40: 0},
    "softplus": {800: 800, -800: 0},
    "mish": {800: 800, -800: 0},
}
LIMITS: dict[str, tuple[float, float]] = {
    "exp": (0, math.inf), "exp2": (0, math.inf), "expm1": (-1, math.inf), "tanh": (-1, 1),
    "log": (math.nan, math.inf), "log2": (math.nan, math.inf), "log1p": (math.nan, math.inf),
    "sigmoid": (0, 1), "erf": (-1, 1), "sin": (math.nan, math.nan), "cos": (math.nan, math.nan),
    "softplus": (0, math.inf), "elu": (-1, math.inf), "atan": (-math.pi / 2, math.pi / 2),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_special_values(target: str) -> None:
    for name in sorted(SPECIAL.keys() | LIMITS.keys()):
        wanted = dict(SPECIAL.get(name, {}))
        if name in LIMITS:
            wanted |= dict(zip((-math.inf, math.inf), LIMITS[name], strict=True))
        wanted[math.nan] = math.nan
        found = computed(f"{name}(x)", target, x=np.array([*wanted], float))
        np.testing.assert_allclose(
            found, np.array([*wanted.values()], float), rtol=4e-16, err_msg=name
        )


def exact_rows(x: Values) -> dict[str, Values]:
    """Return softmax, log-softmax and logsumexp of rows, rounded from 50 digits."""
    found: dict[str, list[Any]] = {"softmax": [], "log_softmax": [], "logsumexp": []}
    with localcontext() as context:
        context.prec = DIGITS
        for row in x:
            powers = [Decimal(float(v)).exp() for v in row]
            total = sum(powers, Decimal(0))
            found["softmax"].append([float(p / total) for p in powers])
            found["log_softmax"].append([float(Decimal(float(v)) - total.ln()) for v in row])
            found["logsumexp"].append([float(total.ln())])
    return {name: np.array(rows) for name, rows in found.items()}


@pytest.mark.parametrize("shape", [(5, 3), (4, 100), (2, 1000)])
@pytest.mark.parametrize("target", TARGETS)
def test_rows(target: str, shape: tuple[int, int]) -> None:
    """The bound is 8 units, and 8 + d for softmax, where x is d below the maximum of its row."""
    x = np.random.default_rng(0).standard_normal(shape) * 10
    for name, wanted in exact_rows(x).items():
        out = np.zeros(wanted.shape)
        spec = Rowwise(expression=f"{name}(x)", shapes=(shape,), dtype=DType.F64)
        load(spec, here(target)).run(addresses({"x": x, "out": out}))
        size = np.maximum(np.abs(wanted), 1.0 if name != "softmax" else 0.0)
        below = x.max(1, keepdims=True) - x if name == "softmax" else 0.0
        error = np.abs(out - wanted) / (size * 2.0**-52)
        assert np.all(error <= 8 + below), (name, error.max())


def test_kernels_are_verified() -> None:
    """`kgen verify` passes, with special values and as an epilogue."""
    found = here("x86-64-v3")
    rows = ("softmax(x)", "log_softmax(x)", "logsumexp(x)", "layer_norm(gelu(x))")
    for text in rows:
        check(Rowwise(expression=text, shapes=((7, 65),), dtype=DType.F64), found)
    # Rows along an axis that is not the last.
    check(Rowwise(expression="softmax(x)", shapes=((7, 65),), dtype=DType.F64, axes=(0,)), found)
    elements = ("tanh(x) * sigmoid(y)", "x % y + x // y", "pow(x, y)", "log(exp(x) + exp(y))")
    for text in elements:
        check(Elementwise(expression=text, shapes=((5, 33),) * 2, dtype=DType.F64), found)
    epilogue = "tanh(x) + erf(bias) + exp(-abs(x)) + log1p(abs(x))"
    check(Matmul(m=17, n=33, k=20, dtype=DType.F64, epilogue=epilogue), found)


def test_every_function_is_for_f64() -> None:
    """Each function has a bound here, or is exact or rounded once."""
    simple = {"leaky_relu", "hard_sigmoid", "hard_swish", "softsign", "pow", "mod", "floor_divide"}
    approximate = {n for n, f in functions().items() if f.accuracy.transcendental}
    assert approximate | {"sin", "cos", "atan"} == {*BOUNDS, "pow"}
    assert BOUNDS.keys() == EXACT.keys()
    assert simple < functions().keys()
