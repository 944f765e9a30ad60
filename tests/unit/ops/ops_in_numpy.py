"""Primitives in f32 by numpy: a renderer that runs an expansion without a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.check.tensors import round_to
from kgen.ops import Expression, Primitive, functions, steps
from kgen_runtime.dtypes import DType

Values = npt.NDArray[Any]
P = Primitive


def _fma(x: Values, y: Values, z: Values) -> Values:
    """Multiply in f64, where the product of two f32 is exact; rounding the sum twice is harmless
    here."""
    return (x.astype(np.float64) * y + z).astype(np.float32)


def _choose(f: Callable[..., Values]) -> Callable[..., Values]:
    return lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), f(x, y))


TABLE: Mapping[Primitive, Callable[..., Values]] = {
    P.ADD: np.add,
    P.SUB: np.subtract,
    P.MUL: np.multiply,
    P.DIV: np.divide,
    P.FMA: _fma,
    P.NEG: np.negative,
    P.ABS: np.abs,
    P.MIN: _choose(np.minimum),
    P.MAX: _choose(np.maximum),
    P.SQRT: np.sqrt,
    P.RSQRT: lambda x: np.float32(1) / np.sqrt(x),
    P.RECIPROCAL: lambda x: np.float32(1) / x,
    P.EXP2: np.exp2,
    P.LOG2: np.log2,
    P.FLOOR: np.floor,
    P.ROUND: np.rint,
    P.TO_F16: lambda x: x.astype(np.float16).astype(np.float32),
    P.TO_BF16: lambda x: round_to(x.astype(np.float64), DType.BF16).astype(np.float32),
    P.REMAINDER: np.fmod,
    P.TO_F32: lambda x: x,
    P.LESS: np.less,
    P.LESS_EQUAL: np.less_equal,
    P.EQUAL: np.equal,
    P.AND: np.logical_and,
    P.OR: np.logical_or,
    P.NOT: np.logical_not,
    P.SELECT: np.where,
    P.MAXNUM: np.fmax,
}
FOLDS: Mapping[str, Callable[..., Values]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "maxnum": np.fmax.reduce,
}


def run(expression: Expression, values: Mapping[str, Values]) -> Values:
    """Return the value of an expression of f32 arrays, given by name."""
    done: dict[Expression, Any] = {}
    with np.errstate(all="ignore"):
        for step in steps(expression):
            if step.primitive is P.INPUT:
                done[step] = values[step.name].astype(np.float32)
            elif step.primitive is P.CONSTANT:
                done[step] = np.float32(step.number)
            elif step.primitive is P.REDUCE:
                fold = FOLDS[step.name]
                done[step] = fold(done[step.arguments[0]], axis=-1, keepdims=True)
            else:
                done[step] = TABLE[step.primitive](*(done[a] for a in step.arguments))
    return np.asarray(done[expression])


def call_of(name: str) -> str:
    """Return a call of a function with inputs for all arguments without a default."""
    function = functions()[name]
    if name == "pow":
        return "pow(x, 3)"
    needed = function.parameters[: function.fewest]
    arguments = [f"{p} > 0" if p in function.truths else p for p in needed]
    return f"{name}({', '.join(arguments)})"
