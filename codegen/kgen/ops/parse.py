"""Parser of expressions in text form: ``gelu(x + bias) * scale + residual``.

The grammar is that of Python's expressions: arithmetic, comparisons, ``and or not & | ^ ~``, ``x if
c else y``, numbers, names of inputs, and calls of the functions in :mod:`kgen.ops.functions` and of
the views in :mod:`kgen.ops.views`. Several outputs are assigned one after another: ``h = x +
residual; out = rms_norm(h, w)``. An assigned name stands for its expression from there on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NoReturn

from kgen import suggest
from kgen.errors import SpecError
from kgen.ops.expression import (
    Expression,
    Primitive,
    call,
    constant,
    depth,
    text_of,
    variable,
    view,
)
from kgen.ops.registry import function_name, functions
from kgen.ops.rows import COORDINATES
from kgen.ops.views import ENDS, VIEWS, fits
from kgen_runtime.dtypes import DType

#: Functions that Python's operators stand for.
_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "logical_and",
    ast.BitOr: "logical_or",
    ast.BitXor: "logical_xor",
}
_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
#: Most characters of an expression, which the header of a kernel holds in one line.
LONGEST = 10000
#: Most nested calls: kgen walks them recursively, and Python parses at most 200 nested parentheses.
DEEPEST = 128
#: Most characters of an expression in a message.
LONGEST_EXCERPT = 160


#: Output of an expression without a name.
OUT = "out"
#: Most outputs of a kernel.
MOST_OUTPUTS = 8
#: Most texts whose expressions are cached, as specs of one formula are made again and again.
CACHED = 256
NAME = re.compile(r"[a-z][a-z0-9_]*")


def parse(text: str, field: str = "expression") -> Expression:
    """Return the expression, in calls; `field` is the text's name in messages.

    Raises SpecError with the column of the error.
    """
    found = formulas(text, field)
    if list(found) != [OUT]:
        raise SpecError(
            f"{field}={excerpt(text)} assigns outputs; give one expression without output names"
        )
    return found[OUT]


@lru_cache(CACHED)
def formulas(text: str, field: str = "expression") -> Mapping[str, Expression]:
    """Return the outputs' expressions by name, in calls.

    Raises SpecError with the column of the error.
    """
    if len(text) > LONGEST:
        raise SpecError(
            f"{field} has {len(text)} characters; {LONGEST} is the limit; split it into two kernels"
        )
    try:
        statements = ast.parse(text.strip()).body
        if not statements:
            raise SyntaxError
    except (RecursionError, MemoryError):
        refuse_depth(text, field)
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None) or 1
        raise SpecError(
            f"{field}={excerpt(text, column)}: column {column}: not a formula; write one such as "
            "'gelu(x + bias)'"
        ) from None
    if _levels(statements) > DEEPEST:
        refuse_depth(text, field)
    return _ExpressionReader(text, field).outputs(statements)


def _levels(statements: Sequence[ast.AST]) -> int:
    """Return the nesting depth of the expressions in a text; names and numbers do not count."""
    found, level = -1, [*statements]
    while level:
        nodes = (child for at in level for child in ast.iter_child_nodes(at))
        level = [node for node in nodes if isinstance(node, ast.expr | ast.keyword)]
        found += any(isinstance(node, ast.expr) for node in level)
    return found


def refuse_depth(text: str, field: str) -> NoReturn:
    raise SpecError(
        f"{field}={excerpt(text)}: it nests more than {DEEPEST} calls, the limit; write a long sum "
        "as (a + b) + (c + d), or split it into two kernels"
    )


def excerpt(text: str, column: int = 1) -> str:
    """Return a text in quotes; for a long one, the part around a column."""
    if len(text) <= LONGEST_EXCERPT:
        return repr(text)
    start = min(max(0, column - LONGEST_EXCERPT // 2), len(text) - LONGEST_EXCERPT)
    end = start + LONGEST_EXCERPT
    shown = text[start:end]
    return repr(f"{'...' if start else ''}{shown}{'...' if end < len(text) else ''}")


def refuse_name(text: str, field: str, name: str, why: str) -> NoReturn:
    """Raise SpecError with the column of a word in a parsable expression."""
    tree = ast.parse(text.strip())
    found = (at for at in ast.walk(tree) if isinstance(at, ast.expr) and _is_word(at, name))
    first = min(found, key=lambda at: (at.lineno, at.col_offset), default=tree)
    _ExpressionReader(text, field).refuse(first, why)


def _is_word(at: ast.expr, word: str) -> bool:
    match at:
        case ast.Name(id=name):
            return name == word
        case ast.Constant(value=int() | float() as number):
            return str(constant(number)) == word
        case ast.BinOp(op=op):
            return _BINARY.get(type(op)) == word
        case ast.Compare(ops=ops):
            return word in map(_COMPARISONS.get, map(type, ops))
        case ast.UnaryOp(op=ast.USub()):
            return word in ("neg", f"-{ast.unparse(at.operand)}")
    return False


def canonical(formulas: Mapping[str, Expression]) -> str:
    """Return the outputs as text with calls written out; later outputs name earlier ones."""
    if list(formulas) == [OUT]:
        return str(formulas[OUT])
    names: dict[Expression, str] = {}
    lines = []
    for name, expression in formulas.items():
        lines.append(f"{name} = {text_of(expression, names)}")
        if expression.arguments:
            names.setdefault(expression, name)
    return "; ".join(lines)


def _signature(name: str, parameters: Iterable[str]) -> str:
    """Return the remedy for a call with other arguments than a function has."""
    return f"; write {name}({', '.join(parameters)})"


class _ExpressionReader:
    """Reader of one text, whose messages name columns."""

    def __init__(self, text: str, field: str) -> None:
        self.text, self.field = text, field
        self.known: dict[str, Expression] = {}

    def outputs(self, statements: list[ast.stmt]) -> Mapping[str, Expression]:
        for at in statements:
            match at:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.check_name(at, name)
                case ast.Expr(value=value) if at is statements[-1] and OUT not in self.known:
                    name = OUT
                case ast.Expr():
                    self.refuse(at, "only the last output may lack a name; write name = ...")
                case _:
                    self.refuse(at, "not an expression; write name = expression")
            self.known[name] = self.value(value)
            # Names may stand for deep expressions, and a chain of `and` is one node of the text.
            if depth(self.known[name]) > DEEPEST:
                refuse_depth(self.text, self.field)
        if len(self.known) > MOST_OUTPUTS:
            raise SpecError(
                f"{self.field}={excerpt(self.text)} has {len(self.known)} outputs; {MOST_OUTPUTS} "
                "is the limit; split it into two kernels"
            )
        return self.known

    def check_name(self, at: ast.AST, name: str) -> None:
        """Raise SpecError if an output cannot have this name."""
        if name in self.known:
            self.refuse(at, f"{name} is assigned twice; rename one of them")
        if not NAME.fullmatch(name) or name in {*functions(), *VIEWS, *COORDINATES, "inf", "nan"}:
            self.refuse(
                at,
                f"{name} is not a valid output name; use small letters, digits and _, no name of a "
                f"function, and none of {', '.join(sorted(COORDINATES))}",
            )

    def refuse(self, at: ast.AST, why: str) -> NoReturn:
        column = getattr(at, "col_offset", 0) + 1
        raise SpecError(f"{self.field}={excerpt(self.text, column)}: column {column}: {why}")

    def number(self, at: ast.expr, number: float) -> Expression:
        """Return a constant; an integer must be exact in f64."""
        if isinstance(number, int) and (abs(number) > 2**1023 or float(number) != number):
            self.refuse(at, "f64 cannot represent this integer exactly; use one up to 2**53")
        return constant(number)

    def value(self, at: ast.expr) -> Expression:
        match at:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self.number(at, number)
            case ast.Name(id="inf" | "nan" as name):
                return constant(float(name))
            case ast.Name(id=name):
                if name in self.known:
                    return self.known[name]
                if name in functions() or name in VIEWS:
                    self.refuse(at, f"{name} is a function; call it, or rename the input")
                return variable(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.apply(at, _BINARY[type(op)], [left, right])
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self.number(at, -number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
                return constant(float("-inf"))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.apply(at, "neg", [operand])
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return self.apply(at, "logical_not", [operand])
            case ast.BoolOp(op=op, values=[first, *rest]):
                name = "logical_and" if isinstance(op, ast.And) else "logical_or"
                found = self.value(first)
                for operand in rest:
                    found = self.checked(at, name, [(first, found), (operand, self.value(operand))])
                return found
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return self.apply(at, _COMPARISONS[type(op)], [left, right])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.apply(at, "where", [test, body, orelse])
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords) if (
                name in VIEWS
            ):
                return self.view(at, name, arguments, keywords)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self.apply(at, name, arguments, keywords)
        self.refuse(at, "not supported; use numbers, names, arithmetic, comparisons and calls")

    def apply(
        self,
        at: ast.expr,
        name: str,
        arguments: list[ast.expr],
        keywords: list[ast.keyword] | None = None,
    ) -> Expression:
        name = function_name(name)
        if name not in functions():
            meant = suggest.meant(name, [*functions(), *VIEWS])
            remedy = meant or "docs/reference/operations.md lists all"
            self.refuse(at, f"there is no function {name}; {remedy}")
        operands = list(arguments)
        if name == "cast" and len(operands) == 2 and not keywords:
            name = self.conversion(operands.pop())
        for keyword in keywords or []:
            expected = functions()[name].parameters[len(operands) :]
            if not expected or keyword.arg != expected[0]:
                hint = "; set the axes for the whole expression, by axes= or --axes"
                is_axis = functions()[name].rowwise and keyword.arg in ("axis", "axes")
                self.refuse(
                    keyword,
                    f"{keyword.arg}= is not the next argument of {name}"
                    + (hint if is_axis else _signature(name, functions()[name].parameters)),
                )
            operands.append(keyword.value)
        return self.checked(at, name, [(operand, self.value(operand)) for operand in operands])

    def conversion(self, at: ast.expr) -> str:
        """Return the function that converts to a type, given by its name."""
        word = at.id if isinstance(at, ast.Name) else ""
        with suppress(ValueError):
            word = DType(word)
        if f"cast_{word}" not in functions():
            known = [n.removeprefix("cast_") for n in functions() if n.startswith("cast_")]
            self.refuse(at, f"cast needs a type here; give one of {' '.join(known)}")
        return f"cast_{word}"

    def view(
        self, at: ast.expr, name: str, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> Expression:
        """Return a view with its defaults.

        Raises SpecError unless its numbers are valid constants.
        """
        known = VIEWS[name]
        # For a view of any number of tensors, the numbers come last and may be named.
        count = known.tensors or len(arguments) - len(known.numbers) + len(keywords)
        tensors, numbers = arguments[:count], list(arguments[count:])
        for keyword in keywords:
            expected = known.numbers[len(numbers) :]
            if not expected or keyword.arg != expected[0]:
                self.refuse(
                    keyword,
                    f"{keyword.arg}= is not the next argument of {name}"
                    + _signature(name, known.parameters),
                )
            numbers.append(keyword.value)
        missing = len(known.numbers) - len(numbers)
        too_many = missing < 0 and not known.more
        if len(tensors) < (known.tensors or 2) or missing > len(known.defaults) or too_many:
            given = len(arguments) + len(keywords)
            self.refuse(
                at, f"{name} does not take {given} arguments" + _signature(name, known.parameters)
            )
        values = [self.value(tensor) for tensor in tensors]
        for tensor, value in zip(tensors, values, strict=True):
            if value.truth or value.primitive is Primitive.CONSTANT:
                kind = "a truth value" if value.truth else "a number"
                self.refuse(
                    tensor, f"{name} needs a tensor of numbers here, not {kind}; use an input"
                )
        for i, number in enumerate(numbers):
            value = self.value(number)
            parameter = (*known.numbers, *[known.more] * len(numbers))[i]
            if value.primitive is not Primitive.CONSTANT or not fits(parameter, value.number):
                whole = "an integer" + (", inf or -inf" if parameter in ENDS else "")
                wanted = "a number" if parameter == "value" else whole
                self.refuse(number, f"{parameter} of {name} must be {wanted}; give a constant")
            values.append(value)
        defaults = known.defaults[len(known.defaults) - max(0, missing) :] if missing > 0 else ()
        return view(name, (*values, *map(constant, defaults)))

    def checked(
        self, at: ast.expr, name: str, operands: list[tuple[ast.expr, Expression]]
    ) -> Expression:
        """Return a call with its defaults. Raises SpecError for arguments of the wrong kind."""
        function = functions()[name]
        most = len(function.parameters)
        if not function.fewest <= len(operands) <= most:
            wants = str(most) if function.fewest == most else f"{function.fewest} to {most}"
            many = "s" * (most > 1)
            self.refuse(
                at,
                f"{name} takes {wants} argument{many}, not {len(operands)}"
                + _signature(name, function.parameters),
            )
        values = []
        for i, (operand, value) in enumerate(operands):
            parameter = function.parameters[i]
            wants_truth = parameter in function.truths
            if wants_truth and value.primitive in (Primitive.INPUT, Primitive.VIEW):
                # An input or a view used as a truth value means that it is not zero.
                value = call("not_equal", (value, 0.0), truth=True)
            if value.truth != wants_truth:
                kind, wanted = ("a truth value", "a number")[:: 1 if value.truth else -1]
                self.refuse(operand, f"{parameter} of {name} is {kind}; give {wanted}")
            values.append(value)
        return call(name, function.complete(values), function.truth)
