"""Row-wise operators: reductions, normalizations, ArgMax, and prefix sums."""

from __future__ import annotations

import math
from collections.abc import Callable

from kgen.graph.ir import Builder, FormulaNode, GraphValue
from kgen.graph.operators.indexing import numbers
from kgen.graph.operators.registry import (
    Lower,
    Operator,
    axes_of,
    axis_of,
    check_broadcasts,
    check_shape,
    integers,
    one,
    optional,
)
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression, view
from kgen_runtime.dtypes import DType

#: Function that writes a reduction of a value's rows, given the number of elements of a row.
Reduction = Callable[[Builder, GraphValue, int], Expression]
#: Number that MeanVarianceNormalization adds to the standard deviation.
LEAST_DEVIATION = 1e-9


def reduction(make: Reduction, of_one: Reduction | None) -> Lower:
    """Return the lowering of a reduction over the node's axes.

    Without axes it reduces all, or none with noop_with_empty_axes. `of_one` reduces one element, if
    that changes the element.
    """

    def lower(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
        x = one(given)
        named = optional(given, 1)
        axes = node.attribute("axes", ()) if named is None else integers(b, named, "axes")
        if not axes and node.attribute("noop_with_empty_axes", 0):
            return x if of_one is None else b.formula(of_one(b, x, 1), x.shape, x.dtype)
        found = tuple(sorted(axes_of(b, axes, x.rank))) or tuple(range(x.rank))
        kept = tuple(1 if axis in found else n for axis, n in enumerate(x.shape))
        count = math.prod(x.shape[axis] for axis in found)
        value = b.formula(make(b, x, count), kept, x.dtype, found)
        if node.attribute("keepdims", 1):
            return value
        return b.reshape(value, [n for axis, n in enumerate(x.shape) if axis not in found])

    return lower


def of(name: str) -> Reduction:
    return lambda b, x, _: b.call(name, x)


def total(b: Builder, x: GraphValue, _: int) -> Expression:
    """Return the sum of a row. Booleans that were cast to integers are counted in f32.

    GPUs have no row-wise kernels of s64. The count is exact for every supported row length.
    """
    at = x.operation
    if x.dtype.is_integer and isinstance(at, FormulaNode):
        truths = [name for name in at.operands if b.values[name].dtype is DType.BOOL]
        if truths and at.expression == b.call("where", b.values[truths[0]], 1.0, 0.0):
            return b.call("sum", at.expression)
    return b.call("sum", x)


def mean(b: Builder, x: GraphValue, count: int) -> Expression:
    """Return the mean of a row; for integers, rounded toward zero."""
    if not x.dtype.is_integer:
        return b.call("mean", x)
    found = b.call("sum", x)
    below = b.call("neg", b.call("floor_divide", b.call("neg", found), count))
    return b.call("where", b.call("less", found, 0), below, b.call("floor_divide", found, count))


def in_floats(make: Reduction) -> Reduction:
    """Return a reduction that computes integers in f32 and rounds the result toward zero."""

    def made(b: Builder, x: GraphValue, count: int) -> Expression:
        if not x.dtype.is_integer:
            return make(b, x, count)
        wide = b.formula(b.call("cast", x), x.shape, DType.F32)
        return b.call("trunc", make(b, wide, count))

    return made


def of_a_row(lower: Lower) -> Lower:
    """Return a lowering that reduces axes to one number; a scalar is treated as a row of one."""

    def lowered(
        b: Builder, node: Node, given: list[GraphValue | None]
    ) -> GraphValue | tuple[GraphValue, ...]:
        x = one(given)
        if x.rank:
            return lower(b, node, given)
        found = lower(b, node, [b.reshape(x, (1,)), *given[1:]])
        assert isinstance(found, GraphValue)
        return b.reshape(found, ())

    return lowered


def softmax(name: str) -> Lower:
    def lower(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
        x = one(given)
        if node.opset >= 13:
            axis = axis_of(b, node.attribute("axis", -1), x.rank)
            return b.formula(b.call(name, x), x.shape, x.dtype, (axis,))
        # Before opset 13, the rows consist of `axis` and all axes after it.
        axis = axis_of(b, node.attribute("axis", 1), x.rank)
        return b.formula(b.call(name, x), x.shape, x.dtype, tuple(range(axis, x.rank)))

    return lower


def last_axes(
    b: Builder, node: Node, x: GraphValue, *vectors: GraphValue | None
) -> tuple[int, ...]:
    """Return the normalized axes. Raises GraphError for a scale or bias that does not fit x."""
    axis = axis_of(b, node.attribute("axis", -1), x.rank)
    for what, vector in zip(("Scale", "B"), vectors, strict=False):
        check_broadcasts(b, vector, x.shape, what)
    return tuple(range(axis, x.rank))


def layer_norm(b: Builder, node: Node, given: list[GraphValue | None]) -> tuple[GraphValue, ...]:
    x, scale, shift = one(given), optional(given, 1), optional(given, 2)
    axes = last_axes(b, node, x, scale, shift)
    epsilon = float(node.attribute("epsilon", 1e-5))
    found = b.call(
        "layer_norm", x, 1.0 if scale is None else scale, 0.0 if shift is None else shift, epsilon
    )
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    inverse = b.call("rsqrt", b.call("add", b.call("var", x), epsilon))
    return (
        b.formula(found, x.shape, x.dtype, axes),
        *(
            b.formula(made, kept, b.tensors[name].dtype, axes)
            for name, made in zip(node.outputs[1:], (b.call("mean", x), inverse), strict=False)
            if name
        ),
    )


def rms_norm(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, scale = one(given), optional(given, 1)
    axes = last_axes(b, node, x, scale)
    epsilon = float(node.attribute("epsilon", 1e-5))
    found = b.call("rms_norm", x, 1.0 if scale is None else scale, epsilon)
    return b.formula(found, x.shape, x.dtype, axes)


def instance_norm(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, scale, shift = (one(given, i) for i in range(3))
    for what, vector in (("scale", scale), ("B", shift)):
        check_shape(b, vector, x.shape[1:2], what)
    scale, shift = (b.reshape(v, (*v.shape, *(1,) * (x.rank - 2))) for v in (scale, shift))
    epsilon = float(node.attribute("epsilon", 1e-5))
    found = b.call("layer_norm", x, scale, shift, epsilon)
    return b.formula(found, x.shape, x.dtype, tuple(range(2, x.rank)))


def mean_variance_norm(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower MeanVarianceNormalization. ONNX's body subtracts two squares, which cancel."""
    x = one(given)
    axes = tuple(sorted(axes_of(b, node.attribute("axes", (0, 2, 3)), x.rank)))
    deviation = b.call("add", b.call("sqrt", b.call("var", x)), LEAST_DEVIATION)
    found = b.call("div", b.call("sub", x, b.call("mean", x)), deviation)
    return b.formula(found, x.shape, x.dtype, axes)


def place_of(name: str) -> Lower:
    """Return the lowering of ArgMax or ArgMin."""

    def lower(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
        x = one(given)
        axis = axis_of(b, node.attribute("axis", 0), x.rank)
        kept = [1 if i == axis else n for i, n in enumerate(x.shape)]
        made = b.call(name, x)
        if node.attribute("select_last_index", 0):
            made = last_place(b, x, axis, name.replace("arg", "a"))
        found = b.formula(made, kept, b.result.dtype, (axis,))
        if node.attribute("keepdims", 1):
            return found
        return b.reshape(found, [n for i, n in enumerate(x.shape) if i != axis])

    return lower


def last_place(b: Builder, x: GraphValue, axis: int, name: str) -> Expression:
    """Return the last index of a row's greatest or least element, or of a NaN if there is one."""
    is_found = b.call("equal", x, b.call(name, x))
    if not x.dtype.is_integer:
        is_found = b.call("logical_or", is_found, b.call("isnan", x))
    return b.call("amax", b.call("where", is_found, numbers(b, x.shape[axis], x.rank, axis), -1.0))


def lp_normalization(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower LpNormalization: divide by the norm of the row; zeros for a row of zeros."""
    x, p = one(given), node.attribute("p", 2)
    if p not in (1, 2):
        raise b.refusal(f"has p={p}; ONNX allows 1 and 2", "change p in the model")
    axis = axis_of(b, node.attribute("axis", -1), x.rank)
    norm = b.call(f"l{p}", x)
    found = b.call("where", b.call("equal", norm, 0.0), 0.0, b.call("div", x, norm))
    return b.formula(found, x.shape, x.dtype, (axis,))


def cumulative(name: str, identity: float) -> Lower:
    """Return the lowering of a prefix sum or product.

    It takes log2(n) steps that join 2, 4, 8, ... elements (W. D. Hillis and G. L. Steele, "Data
    parallel algorithms", 1986).
    """

    def lower(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
        x = one(given)
        if not x.rank:
            raise b.refusal("has a single number, which has no axis", "leave the node out")
        axis, *others = integers(b, one(given, 1), "axis")
        if others:
            raise b.refusal(
                f"has {1 + len(others)} axes; ONNX requires one", "leave the others out"
            )
        axis = axis_of(b, axis, x.rank)
        n, backwards = x.shape[axis], bool(node.attribute("reverse", 0))

        def moved(value: GraphValue, by: int) -> Expression:
            """Shift elements by `by` places, and fill the start with the identity."""
            start, before, after = (by, 0, by) if backwards else (0, by, 0)
            kept = view("slice", (b.tensor(value), axis, start, start + n - by, 1))
            return view("pad", (kept, axis, before, after, identity))

        if node.attribute("exclusive", 0):
            if n == 1:
                # Any x gives the identity; a formula needs an input.
                found = b.call("where", b.call("equal", x, x), identity, identity)
                return b.formula(found, x.shape, x.dtype)
            x = b.formula(moved(x, 1), x.shape, x.dtype)
        by = 1
        while by < n:
            x = b.formula(b.call(name, x, moved(x, by)), x.shape, x.dtype)
            by *= 2
        return x

    return lower


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceMean": mean,
    "ReduceSum": total,
    "ReduceMax": of("amax"),
    "ReduceMin": of("amin"),
    "ReduceProd": of("prod"),
    "ReduceL1": of("l1"),
    "ReduceL2": in_floats(of("l2")),
    "ReduceLogSumExp": in_floats(of("logsumexp")),
    "ReduceSumSquare": lambda b, x, _: b.call("sum", b.call("mul", x, x)),
    "ReduceLogSum": in_floats(lambda b, x, _: b.call("log", b.call("sum", x))),
}
_OF_ONE: dict[str, Reduction] = {
    "ReduceL1": of("abs"),
    "ReduceL2": of("abs"),
    "ReduceSumSquare": lambda b, x, _: b.call("mul", x, x),
    "ReduceLogSum": in_floats(of("log")),
}
#: Formulas of reductions without a function of their name.
_FORMULAS = {
    "ReduceMax": "amax",
    "ReduceMin": "amin",
    "ReduceSumSquare": "sum of squares",
    "ReduceLogSum": "log of the sum",
}

OPERATORS: tuple[Operator, ...] = (
    *(
        Operator(
            name=name,
            family="row-wise",
            becomes=_FORMULAS.get(name, name.removeprefix("Reduce").lower()),
            lower=of_a_row(reduction(make, _OF_ONE.get(name))),
        )
        for name, make in _REDUCTIONS.items()
    ),
    Operator(name="Softmax", family="row-wise", becomes="softmax", lower=softmax("softmax")),
    Operator(
        name="LogSoftmax", family="row-wise", becomes="log_softmax", lower=softmax("log_softmax")
    ),
    Operator(
        name="LayerNormalization", family="row-wise", becomes="layer_norm; mean, var",
        lower=layer_norm,
    ),
    *(
        Operator(
            name=name, family="row-wise", becomes=name.lower(),
            lower=of_a_row(place_of(name.lower())),
        )
        for name in ("ArgMax", "ArgMin")
    ),
    *(
        Operator(
            name=name, family="row-wise", becomes=f"{kgen} of 2, 4, 8, ... elements",
            lower=cumulative(kgen, identity), unsupported="an axis from data",
        )
        for name, kgen, identity in (("CumSum", "add", 0.0), ("CumProd", "mul", 1.0))
    ),
    Operator(
        name="LpNormalization", family="row-wise", becomes="l1, l2", lower=lp_normalization
    ),
    Operator(name="RMSNormalization", family="row-wise", becomes="rms_norm", lower=rms_norm),
    Operator(
        name="InstanceNormalization", family="row-wise", becomes="layer_norm", lower=instance_norm
    ),
    Operator(
        name="MeanVarianceNormalization", family="row-wise", becomes="mean, var",
        lower=mean_variance_norm,
    ),
)  # fmt: skip
