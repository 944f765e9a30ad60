"""Element-wise operators: each is a function of the scalar language, or a formula of several."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kgen.graph.fusing.limits import MOST_OPERANDS
from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.registry import (
    Lower,
    Operator,
    check_broadcasts,
    check_shape,
    choice_of,
    one,
    optional,
)
from kgen.graph.operators.widened import cast_to
from kgen.graph.reading.element_types import DTYPES, INTEGERS, WIDENED, name_of, remedy
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression, Number, inputs
from kgen.ops.functions.activations import SELU_ALPHA, SELU_SCALE
from kgen.spec.shapes import by_x
from kgen_runtime.dtypes import DType


def formula(make: Callable[[Builder, Node, list[GraphValue]], Expression]) -> Lower:
    """Return the lowering of an operator that is a formula of its inputs, which broadcast."""

    def lower(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
        values = aligned(b, node, [value for value in given if value is not None])
        return b.formula(make(b, node, values), b.result.shape, b.result.dtype)

    return lower


#: Operators of two operands that broadcast by attributes before opset 7.
BY_ATTRIBUTES = frozenset(
    {*("Add", "And", "Div", "Equal", "Greater", "Less"), *("Mul", "Or", "Pow", "Sub", "Xor")}
)


def aligned(b: Builder, node: Node, values: list[GraphValue]) -> list[GraphValue]:
    """Return the operands in shapes that broadcast as in numpy.

    Before opset 7 the second operand's axes match those of the first from the attribute `axis` on,
    or the last ones without it.
    """
    if node.opset >= 7 or node.operator not in BY_ATTRIBUTES:
        return values
    first, second = values
    axis = node.attribute("axis")
    if not node.attribute("broadcast", 0):
        if second.shape != first.shape:
            raise b.refusal(
                f"has inputs of shape {by_x(first.shape)} and {by_x(second.shape)} without "
                "broadcast=1",
                "set broadcast=1 in the model",
            )
        return values
    if math.prod(second.shape) == 1:
        return [first, b.reshape(second, ())]
    last = first.rank - second.rank
    if axis is not None and last >= 0:
        if not 0 <= axis <= last:
            raise b.refusal(
                f"has axis={axis} for inputs of shape {by_x(first.shape)} and "
                f"{by_x(second.shape)}; 0 to {last} are the limits",
                "change axis in the model",
            )
        second = b.reshape(second, (*second.shape, *(1,) * (last - axis)))
    check_broadcasts(b, second, first.shape, "a second input")
    return [first, second]


def function(name: str, **attributes: float) -> Lower:
    """Return the lowering of an operator that is one function.

    Attributes, given with ONNX's defaults, are further arguments of the function.
    """

    def make(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
        numbers = [float(node.attribute(key, default)) for key, default in attributes.items()]
        return b.call(name, *values, *numbers)

    return formula(make)


def wrapped(b: Builder, found: Expression, dtype: DType) -> Expression:
    """Return an integer modulo 2**n, within the range of a type of n bits.

    Stores would saturate it.
    """
    assert dtype.limits is not None
    least, largest = dtype.limits
    size = largest - least + 1
    if not least:
        return b.call("mod", found, size)
    return b.call("add", b.call("mod", b.call("sub", found, least), size), least)


def arithmetic(name: str) -> Lower:
    """Return the lowering of a function whose integer result may overflow.

    8-bit integers are computed in a wider type, so their result is wrapped; wider ones wrap by
    themselves.
    """

    def make(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
        found = b.call(name, *values)
        return wrapped(b, found, b.result.dtype) if b.result.dtype in BYTES else found

    return formula(make)


def folded(name: str) -> Callable[[Builder, Node, list[GraphValue]], Expression]:
    """Fold any number of inputs by a function, as many in one formula as a kernel accepts."""

    def make(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
        found, shape = b.term(values[0]), values[0].shape
        for number, value in enumerate(values[1:], start=1):
            if number % (MOST_OPERANDS - 1) == 0 and inputs(found):
                found = b.term(b.formula(found, shape, b.result.dtype))
            found, shape = b.call(name, found, value), np.broadcast_shapes(shape, value.shape)
        return found

    return make


#: Return the sum of any number of inputs.
added = folded("add")


def mean(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return the sum of the inputs times the reciprocal of their number."""
    total = added(b, node, values)
    return total if len(values) == 1 else b.call("mul", total, 1.0 / len(values))


def division(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return a quotient; for integers, rounded toward zero.

    The integer quotient is the floor, plus 1 if it is negative and not exact.
    """
    if not values[0].dtype.is_integer:
        return b.call("div", *values)
    down, left = b.call("floor_divide", *values), b.call("mod", *values)
    is_cut = b.call("logical_and", b.call("less", down, 0.0), b.call("not_equal", left, 0.0))
    found = b.call("add", down, b.call("where", is_cut, 1.0, 0.0))
    if b.result.dtype not in BYTES:
        return found
    is_defined = b.call("not_equal", values[1], 0.0)
    return wrapped(b, b.call("where", is_defined, found, 0.0), b.result.dtype)


def gelu(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    approximate = choice_of(b, node, "approximate", "none", ("none", "tanh"))
    return b.call("gelu_tanh" if approximate == "tanh" else "gelu", *values)


#: Integer types that no kernel computes in.
BYTES = (DType.S8, DType.U8)
#: Selu's parameters without attributes, from its authors.
SELU = {"alpha": SELU_ALPHA, "gamma": SELU_SCALE}


def selu(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return selu, or gamma * elu(x, alpha) for other parameters.

    f64 distinguishes ONNX's f32 defaults from the function's parameters, so it uses the second
    form.
    """
    given = {key: float(node.attribute(key, np.float32(n))) for key, n in SELU.items()}
    if b.result.dtype is not DType.F64 and all(
        np.float32(given[key]) == np.float32(number) for key, number in SELU.items()
    ):
        return b.call("selu", *values)
    return b.call("mul", b.call("elu", *values, given["alpha"]), given["gamma"])


def swish(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    alpha = float(node.attribute("alpha", 1.0))
    if alpha == 1:
        return b.call("silu", *values)
    return b.call("mul", values[0], b.call("sigmoid", b.call("mul", values[0], alpha)))


def modulo(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    return b.call("fmod" if node.attribute("fmod", 0) else "mod", *values)


def bitwise(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return BitwiseAnd, BitwiseOr or BitwiseXor.

    a | b is a + b - (a & b), and a ^ b is (a | b) - (a & b).
    """
    both = b.call("bitwise_and", *values)
    if node.operator == "BitwiseAnd":
        return both
    either = b.call("sub", b.call("add", *values), both)
    return either if node.operator == "BitwiseOr" else b.call("sub", either, both)


def bitwise_not(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    return b.call("sub", 255.0 if values[0].dtype is DType.U8 else -1.0, values[0])


def bit_shift(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return a shift; bits shifted out of the type are lost."""
    direction = choice_of(b, node, "direction", "", ("LEFT", "RIGHT"))
    if direction == "RIGHT":
        return b.call("shift_right", *values)
    found = b.call("shift_left", *values)
    return wrapped(b, found, b.result.dtype) if b.result.dtype in BYTES else found


def prelu(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return PRelu. Before opset 7 a slope of one axis belongs to channels, or to all elements."""
    x, slope = values
    if node.opset < 7 and math.prod(slope.shape) > 1:
        channels = x.shape[1] if x.rank > 1 else 1
        check_shape(b, slope, (channels,), "a slope")
        slope = b.reshape(slope, (channels, *(1,) * (x.rank - 2)))
    check_broadcasts(b, slope, x.shape, "a slope")
    return b.call("where", b.call("less", x, 0.0), b.call("mul", x, slope), x)


def where(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return a selection by a condition; a constant condition returns one operand."""
    array = b.array(values[0])
    if array is not None and array.all() == array.any():
        chosen = b.term(values[1 if array.all() else 2])
        if inputs(chosen):
            return chosen
    return b.call("where", *values)


def is_infinite(b: Builder, node: Node, values: list[GraphValue]) -> Expression:
    """Return IsInf; for one sign, a comparison."""
    signs = node.attribute("detect_negative", 1), node.attribute("detect_positive", 1)
    if not any(signs):
        return b.call("logical_and", b.call("isinf", *values), b.call("isnan", *values))
    if all(signs):
        return b.call("isinf", *values)
    return b.call("equal", values[0], -math.inf if signs[0] else math.inf)


def clip(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Clip. The limits are attributes before opset 11, and inputs of one element since."""
    x = one(given)
    found: Expression = b.term(x)
    for number, (what, name) in enumerate((("min", "max"), ("max", "min"))):
        bound: GraphValue | Number | None = node.attribute(what)
        if (value := optional(given, 1 + number)) is not None:
            check_shape(b, value, (1,) * value.rank, what)
            bound = b.reshape(value, ())
        if bound is not None:
            found = b.call(name, found, bound)
    return b.formula(found, x.shape, x.dtype)


def cast(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, kind = one(given), node.attribute("to", 0)
    if kind in WIDENED:
        return cast_to(b, x, kind, node.attribute("saturate", 1))
    to = DTYPES.get(kind) if node.operator == "Cast" else one(given, 1).dtype
    if to is None:
        raise b.refusal(f"casts to {name_of(kind)}, which kernels do not support", remedy(kind))
    if to is x.dtype:
        return x
    found = b.term(x)
    if to is DType.BOOL:
        found = b.call("not_equal", x, 0.0)
    elif x.dtype is DType.BOOL:
        found = b.call("where", x, 1.0, 0.0)
    elif to in BYTES and node.attribute("input_dtype", 0) in INTEGERS:
        found = wrapped(b, found, to)
    elif to.is_integer and not x.dtype.is_integer:
        found = b.call("trunc", x)
    elif to.is_integer and not holds(to, x.dtype):
        found = wrapped(b, found, to)
    else:
        found = b.call("cast", x)
    return b.formula(found, x.shape, to)


def holds(dtype: DType, other: DType) -> bool:
    """Whether an integer type can hold all numbers of another."""
    assert dtype.limits is not None and other.limits is not None
    return bool(dtype.limits[0] <= other.limits[0] and other.limits[1] <= dtype.limits[1])


def batch_norm(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, scale, shift, mean, variance = (one(given, i) for i in range(5))
    if node.attribute("training_mode", 0):
        raise b.refusal("is in training mode", "export the model for inference")
    epsilon = float(node.attribute("epsilon", 1e-5))
    channels = x.shape[1] if x.rank > 1 else 1
    vectors = {"scale": scale, "B": shift, "mean": mean, "var": variance}
    for what, vector in vectors.items():
        check_shape(b, vector, (channels,), what)
    by_channel = (channels, *(1,) * (x.rank - 2))
    known = [b.elements(v) for v in (scale, variance)]
    scale, shift, mean, variance = (b.reshape(v, by_channel) for v in vectors.values())
    if all(array is not None for array in known) and x.dtype is not DType.BF16:
        # Keep the mean as a separate term: folded into one addend, it would cancel against x.
        scale_of, variance_of = (np.asarray(a, np.float64) for a in known)
        dtype = DType.F64 if x.dtype is DType.F64 else DType.F32
        factor = (scale_of / np.sqrt(variance_of + epsilon)).astype(dtype.storage)
        scale = b.reshape(b.made("factor", factor, dtype), by_channel)
        normal = b.call("mul", b.call("sub", x, mean), scale)
    else:
        root = b.call("rsqrt", b.call("add", variance, epsilon))
        normal = b.call("mul", b.call("mul", b.call("sub", x, mean), root), scale)
    return b.formula(b.call("add", normal, shift), x.shape, x.dtype)


def dropout(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower Dropout to its input. Raises GraphError in training mode."""
    mode = optional(given, 2)
    array = None if mode is None else b.array(mode)
    if mode is not None and (array is None or array.any()):
        raise b.refusal("is in training mode", "export the model for inference")
    return one(given)


def same(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    return one(given)


#: Operators that are a function with the same arguments, by kgen's name.
_PLAIN = {
    "Ceil": "ceil", "Cos": "cos", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "HardSwish": "hard_swish", "Log": "log", "Mish": "mish", "Pow": "pow",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round",
    "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Softplus": "softplus",
    "Softsign": "softsign", "Sqrt": "sqrt", "Tanh": "tanh",
}  # fmt: skip
_ARITHMETIC = {"Abs": "abs", "Add": "add", "Mul": "mul", "Neg": "neg", "Sub": "sub"}
_TRUTHS = {
    "And": "logical_and", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greater_equal", "IsNaN": "isnan", "Less": "less",
    "LessOrEqual": "less_equal", "Not": "logical_not", "Or": "logical_or", "Xor": "logical_xor",
}  # fmt: skip

OPERATORS: tuple[Operator, ...] = (
    *(
        Operator(name=name, family="element-wise", becomes=kgen, lower=function(kgen))
        for name, kgen in _PLAIN.items()
    ),
    *(
        Operator(name=name, family="element-wise", becomes=kgen, lower=arithmetic(kgen))
        for name, kgen in _ARITHMETIC.items()
    ),
    *(
        Operator(name=name, family="element-wise", becomes=kgen, lower=function(kgen))
        for name, kgen in _TRUTHS.items()
    ),
    *(
        Operator(name=name, family="element-wise", becomes=kgen, lower=formula(folded(kgen)))
        for name, kgen in (("Max", "max"), ("Min", "min"), ("Sum", "add"))
    ),
    Operator(name="Mean", family="element-wise", becomes="add, mul", lower=formula(mean)),
    Operator(
        name="Div", family="element-wise", becomes="div, floor_divide", lower=formula(division)
    ),
    Operator(
        name="Mod", family="element-wise", becomes="mod, fmod", lower=formula(modulo)
    ),
    *(
        Operator(name=name, family="element-wise", becomes="bitwise_and, add, sub",
                 lower=formula(bitwise))
        for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
    ),
    Operator(name="BitwiseNot", family="element-wise", becomes="sub", lower=formula(bitwise_not)),
    Operator(
        name="BitShift", family="element-wise", becomes="shift_left, shift_right",
        lower=formula(bit_shift),
    ),
    Operator(
        name="LeakyRelu", family="element-wise", becomes="leaky_relu",
        lower=function("leaky_relu", alpha=0.01),
    ),
    Operator(
        name="Elu", family="element-wise", becomes="elu", lower=function("elu", alpha=1.0)
    ),
    Operator(
        name="Celu", family="element-wise", becomes="celu", lower=function("celu", alpha=1.0)
    ),
    Operator(
        name="HardSigmoid", family="element-wise", becomes="hard_sigmoid",
        lower=function("hard_sigmoid", alpha=0.2, beta=0.5),
    ),
    Operator(
        name="Gelu", family="element-wise", becomes="gelu, gelu_tanh", lower=formula(gelu)
    ),
    Operator(name="Selu", family="element-wise", becomes="selu", lower=formula(selu)),
    Operator(name="Swish", family="element-wise", becomes="silu", lower=formula(swish)),
    Operator(name="Where", family="element-wise", becomes="where", lower=formula(where)),
    Operator(name="PRelu", family="element-wise", becomes="where", lower=formula(prelu)),
    Operator(
        name="IsInf", family="element-wise", becomes="isinf",
        lower=formula(is_infinite),
    ),
    Operator(name="Clip", family="element-wise", becomes="min, max", lower=clip),
    Operator(name="Cast", family="element-wise", becomes="cast", lower=cast),
    Operator(name="CastLike", family="element-wise", becomes="cast", lower=cast),
    Operator(
        name="BatchNormalization", family="element-wise", becomes="sub, mul, add",
        lower=batch_norm, unsupported="training_mode=1",
    ),
    Operator(name="Identity", family="view", becomes="its input", lower=same),
    Operator(
        name="Dropout", family="view", becomes="its input", lower=dropout,
        unsupported="training_mode=1",
    ),
)  # fmt: skip
