"""Expressions: formulas over some twenty primitives, which every instruction set can render.

An expression is an immutable graph in which equal parts are one node. All of its numbers have one
type, in which a kernel computes: f32 (f64 for f64 tensors), or s32 or s64 with the primitives in
`WHOLE`. Comparisons give truth values, and `select` takes one. A call of a function
(`kgen.ops.functions`) is a node until :func:`expand` replaces it by primitives.

The primitives are those of IEEE 754-2019, rounded to nearest, except for:

- DIV, SQRT, RSQRT, RECIPROCAL: within 2.5 units in the last place. RECIPROCAL may flush a subnormal
  argument to zero.
- FMA in f64 may round its product, on a CPU without such an instruction.
- EXP2 and LOG2: within the `function_error` of the target's tolerance, which is absolute near
  LOG2's zero. EXP2 may flush a subnormal result to 0.
- MIN and MAX give NaN if an operand is NaN; of zeros with two signs either may result. MAXNUM is
  MAX if no operand is NaN, and otherwise any number or NaN.
- ROUND rounds to the nearest integer, ties to even; FLOOR rounds down. TO_F16 and TO_BF16 round to
  the nearest number of that type, ties to even, and overflow to infinity. In f64 they first round
  to f32, as TO_F32 does, which exists in f64 only.
- LESS, LESS_EQUAL and EQUAL are false for NaN.
- REMAINDER (floats) is x minus y times the integer next to x / y towards zero. It is exact, has the
  sign of x, and is x if only y is infinite; NaN if x is infinite or y is 0.
- BITS_AND (integers) has the bits that both have in two's complement.
- QUOTIENT (integers) is truncated towards zero; its divisor is neither 0 nor -1.

REDUCE is one value per row: its argument in all columns, folded by the reduction of that name
(`kgen.ops.rows`). VIEW is an element of another tensor, selected by the view of that name
(`kgen.ops.views`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from weakref import WeakKeyDictionary, WeakValueDictionary


class Primitive(StrEnum):
    """Operation of a node on its arguments."""

    INPUT = "input"
    CONSTANT = "constant"
    CALL = "call"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    FMA = "fma"
    NEG = "neg"
    ABS = "abs"
    MIN = "min"
    MAX = "max"
    MAXNUM = "maxnum"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    RECIPROCAL = "reciprocal"
    EXP2 = "exp2"
    LOG2 = "log2"
    FLOOR = "floor"
    ROUND = "round"
    TO_F16 = "to_f16"
    TO_BF16 = "to_bf16"
    TO_F32 = "to_f32"
    REMAINDER = "remainder"
    QUOTIENT = "quotient"
    BITS_AND = "bits_and"
    LESS = "less"
    LESS_EQUAL = "less_equal"
    EQUAL = "equal"
    AND = "and"
    OR = "or"
    NOT = "not"
    SELECT = "select"
    REDUCE = "reduce"
    VIEW = "view"


#: Primitives whose result is a truth value.
TRUTH = frozenset(
    {
        *(Primitive.LESS, Primitive.LESS_EQUAL, Primitive.EQUAL),
        *(Primitive.AND, Primitive.OR, Primitive.NOT),
    }
)

#: Primitives of integers, in two's complement, which wrap around on overflow.
WHOLE = TRUTH | {
    *(Primitive.INPUT, Primitive.CONSTANT, Primitive.SELECT),
    *(Primitive.ADD, Primitive.SUB, Primitive.MUL, Primitive.QUOTIENT, Primitive.BITS_AND),
    *(Primitive.NEG, Primitive.ABS, Primitive.MIN, Primitive.MAX, Primitive.REDUCE),
}

#: Existing nodes by their content, so that equal nodes are the same object.
_KNOWN: WeakValueDictionary[tuple[object, ...], Expression] = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class Expression:
    """Node of an expression, from :func:`node`, :func:`constant`, :func:`variable` or arithmetic.

    `name` is that of an input, a called function, a reduction or a view, `number` the value of a
    constant; `truth` says that it is a truth value.
    """

    primitive: Primitive
    arguments: tuple[Expression, ...] = ()
    name: str = ""
    number: float = 0.0
    truth: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        """Unpickle to the existing equal node."""
        return _interned, (self.primitive, self.arguments, self.name, self.number, self.truth)

    def __add__(self, other: Number) -> Expression:
        return node(Primitive.ADD, self, other)

    def __radd__(self, other: Number) -> Expression:
        return node(Primitive.ADD, other, self)

    def __sub__(self, other: Number) -> Expression:
        return node(Primitive.SUB, self, other)

    def __rsub__(self, other: Number) -> Expression:
        return node(Primitive.SUB, other, self)

    def __mul__(self, other: Number) -> Expression:
        return node(Primitive.MUL, self, other)

    def __rmul__(self, other: Number) -> Expression:
        return node(Primitive.MUL, other, self)

    def __truediv__(self, other: Number) -> Expression:
        return node(Primitive.DIV, self, other)

    def __rtruediv__(self, other: Number) -> Expression:
        return node(Primitive.DIV, other, self)

    def __neg__(self) -> Expression:
        return node(Primitive.NEG, self)

    def __lt__(self, other: Number) -> Expression:
        return node(Primitive.LESS, self, other)

    def __le__(self, other: Number) -> Expression:
        return node(Primitive.LESS_EQUAL, self, other)

    def __gt__(self, other: Number) -> Expression:
        return node(Primitive.LESS, other, self)

    def __ge__(self, other: Number) -> Expression:
        return node(Primitive.LESS_EQUAL, other, self)

    def __and__(self, other: Expression) -> Expression:
        return node(Primitive.AND, self, other)

    def __or__(self, other: Expression) -> Expression:
        return node(Primitive.OR, self, other)

    def __xor__(self, other: Expression) -> Expression:
        return (self | other) & ~(self & other)

    def __invert__(self) -> Expression:
        return node(Primitive.NOT, self)

    def equals(self, other: Number) -> Expression:
        """Return whether both are the same number; Python's == compares nodes."""
        return node(Primitive.EQUAL, self, other)

    def __str__(self) -> str:
        """Return the expression as `kgen.ops.parse` reads it, every call written out."""
        return text_of(self, {})


Number = Expression | float | int


def constant(number: float) -> Expression:
    return _interned(Primitive.CONSTANT, (), "", float(number), False)


def variable(name: str, truth: bool = False) -> Expression:
    """Return an input."""
    return _interned(Primitive.INPUT, (), name, 0.0, truth)


def call(name: str, arguments: Iterable[Number], truth: bool = False) -> Expression:
    """Return a call of a function, for :func:`expand` or a renderer that has the function."""
    return _interned(Primitive.CALL, tuple(map(as_node, arguments)), name, 0.0, truth)


def node(primitive: Primitive, *arguments: Number) -> Expression:
    """Return a primitive of arguments, with constants folded and identities removed."""
    nodes = tuple(map(as_node, arguments))
    folded = _folded(primitive, nodes)
    if folded is not None:
        return folded
    truth = primitive in TRUTH or (primitive is Primitive.SELECT and nodes[1].truth)
    return _interned(primitive, nodes, "", 0.0, truth)


def select(condition: Expression, x: Number, y: Number) -> Expression:
    """Return x where the condition holds, else y."""
    return node(Primitive.SELECT, condition, x, y)


def fma(x: Number, y: Number, z: Number) -> Expression:
    """Return x y + z, rounded once."""
    return node(Primitive.FMA, x, y, z)


def reduce(kind: str, x: Expression) -> Expression:
    """Return the reduction of this name over a row's columns of x."""
    return _interned(Primitive.REDUCE, (x,), kind, 0.0, False)


def view(name: str, arguments: Iterable[Number]) -> Expression:
    """Return an element of a view; numbers become constants."""
    return _interned(Primitive.VIEW, tuple(map(as_node, arguments)), name, 0.0, False)


def as_node(value: Number) -> Expression:
    return value if isinstance(value, Expression) else constant(value)


def text_of(expression: Expression, names: Mapping[Expression, str]) -> str:
    """Return an expression as `kgen.ops.parse` reads it; named parts are written as their names."""
    if expression in names:
        return names[expression]
    if expression.primitive is Primitive.CONSTANT:
        short = f"{expression.number:g}"
        return short if float(short) == expression.number else repr(expression.number)
    if expression.primitive is Primitive.INPUT:
        return expression.name
    name = expression.name or expression.primitive.value
    return f"{name}({', '.join(text_of(a, names) for a in expression.arguments)})"


def _interned(
    primitive: Primitive, arguments: tuple[Expression, ...], name: str, number: float, truth: bool
) -> Expression:
    # Zeros of two signs are two constants, and NaN is one.
    key = (primitive, tuple(map(id, arguments)), name, struct.pack("<d", number), truth)
    known = _KNOWN.get(key)
    if known is None:
        known = Expression(primitive, arguments, name, number, truth)
        _KNOWN[key] = known
    return known


_ARITHMETIC: Mapping[Primitive, Callable[..., float]] = {
    Primitive.ADD: lambda x, y: x + y,
    Primitive.SUB: lambda x, y: x - y,
    Primitive.MUL: lambda x, y: x * y,
    Primitive.NEG: lambda x: -x,
    Primitive.ABS: abs,
}


#: Least divisor whose reciprocal is finite in f32.
LEAST_DIVISOR = 2.0**-127


def _is_power_of_two(number: float) -> bool:
    return abs(math.frexp(number)[0]) == 0.5


def _folded(primitive: Primitive, nodes: tuple[Expression, ...]) -> Expression | None:
    if primitive in _ARITHMETIC and all(n.primitive is Primitive.CONSTANT for n in nodes):
        return constant(_ARITHMETIC[primitive](*(n.number for n in nodes)))
    if primitive is Primitive.NEG and nodes[0].primitive is Primitive.NEG:
        return nodes[0].arguments[0]
    one = constant(1.0)
    if primitive in (Primitive.MUL, Primitive.DIV) and nodes[1] is one:
        return nodes[0]
    if primitive is Primitive.MUL and nodes[0] is one:
        return nodes[1]
    if primitive is Primitive.DIV and nodes[1].primitive is Primitive.CONSTANT:
        # Division by a power of two is an exact product.
        divisor = nodes[1].number
        if math.isfinite(divisor) and abs(divisor) >= LEAST_DIVISOR and _is_power_of_two(divisor):
            return node(Primitive.MUL, nodes[0], 1.0 / divisor)
    return None


#: Most characters of an expression in a message.
MOST_SHOWN = 160
#: Functions that are written as operators, and their precedence.
_OPERATORS = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2)}


def infix(
    expression: Expression, outer: int = 0, names: Mapping[Expression, str] | None = None
) -> str:
    """Return an expression in infix form: ``silu(gate) * up``; parts may have `names`."""
    return "".join(_words(expression, outer, names or {}))


def shown(
    expression: Expression, most: int = MOST_SHOWN, names: Mapping[Expression, str] | None = None
) -> str:
    """Return an expression in infix form for a message, cut after `most` characters; parts may
    have `names`.

    Shared parts cost no more than the text that is shown.
    """
    text = ""
    for word in _words(expression, 0, names or {}):
        text += word
        if len(text) > most:
            return f"{text[:most]}..."
    return text


def _words(expression: Expression, outer: int, names: Mapping[Expression, str]) -> Iterator[str]:
    """Yield the pieces of an expression's text."""
    if expression in names:
        yield names[expression]
        return
    name = expression.name or expression.primitive.value
    if name in _OPERATORS:
        sign, binds = _OPERATORS[name]
        left, right = expression.arguments
        if binds < outer:
            yield "("
        yield from _words(left, binds, names)
        yield f" {sign} "
        yield from _words(right, binds + 1, names)
        if binds < outer:
            yield ")"
    elif not expression.arguments:
        yield str(expression)
    else:
        yield f"{name}("
        for number, argument in enumerate(expression.arguments):
            if number:
                yield ", "
            yield from _words(argument, 0, names)
        yield ")"


def steps(*results: Expression) -> tuple[Expression, ...]:
    """Return the nodes in topological order, arguments first, with inputs and constants."""
    return tuple(unknown(results, ()))


def unknown(wanted: Sequence[Expression], known: Container[Expression]) -> list[Expression]:
    """Return the nodes that `wanted` needs and that are not `known`, arguments first."""
    found: dict[Expression, None] = {}
    # Iterate instead of recursing: expansion to primitives makes an expression many times deeper.
    waiting = list(reversed(wanted))
    while waiting:
        step = waiting[-1]
        if step in known or step in found:
            waiting.pop()
            continue
        missing = [a for a in reversed(step.arguments) if a not in known and a not in found]
        if missing:
            waiting += missing
        else:
            found[waiting.pop()] = None
    return list(found)


def depth(expression: Expression) -> int:
    found: dict[Expression, int] = {}
    for step in steps(expression):
        within = max((found[argument] for argument in step.arguments), default=0)
        found[step] = within + bool(step.arguments)
    return found[expression]


#: Cache of the input names of nodes, so that parts are walked once.
_INPUTS: WeakKeyDictionary[Expression, tuple[str, ...]] = WeakKeyDictionary()


def inputs(*results: Expression) -> tuple[str, ...]:
    """Return the names of the inputs, in order of first occurrence."""
    for step in unknown(results, _INPUTS):
        if step.primitive is Primitive.INPUT:
            _INPUTS[step] = (step.name,)
        else:
            found = (_INPUTS[argument] for argument in step.arguments)
            _INPUTS[step] = tuple(dict.fromkeys(chain.from_iterable(found)))
    return tuple(dict.fromkeys(chain.from_iterable(_INPUTS[result] for result in results)))


def rebuilt(
    expression: Expression,
    change: Callable[[Expression], Expression],
    known: Iterable[Expression] = (),
) -> Expression:
    """Return the expression with `change` applied to every node, arguments first.

    The `known` nodes and their arguments stay unchanged.
    """
    done = {step: step for step in known}
    for step in unknown([expression], done):
        arguments = tuple(done[argument] for argument in step.arguments)
        same = arguments == step.arguments
        moved = step if same else with_arguments(step, arguments)
        done[step] = change(moved)
    return done[expression]


def assuming(expression: Expression, known: Mapping[str, bool]) -> Expression:
    """Return the expression with selections resolved whose conditions are known inputs."""

    def change(step: Expression) -> Expression:
        if step.primitive is not Primitive.SELECT or step.arguments[0].name not in known:
            return step
        condition, x, y = step.arguments
        return x if known[condition.name] else y

    return rebuilt(expression, change)


def substituted(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return the expression with inputs replaced by other expressions, by name."""

    def change(step: Expression) -> Expression:
        return values.get(step.name, step) if step.primitive is Primitive.INPUT else step

    return rebuilt(expression, change)


def with_arguments(step: Expression, arguments: tuple[Expression, ...]) -> Expression:
    """Return a copy of `step` with new arguments."""
    if not arguments:
        return step
    if step.primitive is Primitive.CALL:
        return call(step.name, arguments, step.truth)
    if step.primitive is Primitive.REDUCE:
        return reduce(step.name, *arguments)
    if step.primitive is Primitive.VIEW:
        return view(step.name, arguments)
    return node(step.primitive, *arguments)
