"""A product's epilogue: an expression of `x`, the product, and of operands that broadcast to it.

A chain of steps (``bias,gelu``) is short for such an expression (``gelu(x + bias)``), and an
expression that is one is named like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar, NoReturn

from kgen import suggest
from kgen.errors import SpecError
from kgen.ops import COORDINATES, Expression, functions, parse, steps
from kgen.ops import Primitive as P
from kgen.ops.expand import needs_rows
from kgen.ops.expression import call, inputs, variable
from kgen.ops.parse import refuse_name
from kgen.ops.registry import call_of, function_name
from kgen.spec.choices import FLOATS, SUMS, Epilogue, EpilogueName, steps_known
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: What an epilogue calls the product, alpha A @ B + beta C.
PRODUCT = "x"
#: Names of a product's other arguments, of coordinates and of kernels' workspaces.
TAKEN = frozenset(
    {
        *("a", "b", "c", "out", "scale_a", "scale_b", "scale_out"),
        *COORDINATES,
        *("parts", "arrivals", "tickets"),
    }
)


class Extent(StrEnum):
    """Outputs that share a value of an operand."""

    N = "n"  # each column
    M = "mx1"  # each row
    ONE = "1"  # all outputs together
    FULL = "mxn"  # each output of each product of a batch


#: Operands whose extent goes without saying.
EXTENTS: Mapping[str, Extent] = {
    "bias": Extent.N,
    "scale": Extent.N,
    "col_scale": Extent.N,
    "row_scale": Extent.M,
    "residual": Extent.FULL,
}


@frozen
class EpilogueOperand:
    """An argument of the epilogue."""

    name: str
    extent: Extent


class EpilogueText:
    """The field of an epilogue: an expression, or steps in the order given; `x` by default."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> str:
        return PRODUCT if instance is None else instance.__dict__[self.name]

    def __set__(self, instance: object, value: str | Iterable[Epilogue | EpilogueName]) -> None:
        instance.__dict__[self.name] = text_of(self.name, value)


class EpilogueShapes:
    """The field of the operands' extents: ``{"up": "mxn"}``, or ``("up=mxn",)`` as it is kept."""

    example: ClassVar[str] = "{'up': 'mxn'}"

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> tuple[str, ...] | None:
        return None if instance is None else instance.__dict__[self.name]

    def __set__(self, instance: object, value: Mapping[str, Any] | Iterable[str] | None) -> None:
        if isinstance(value, Mapping):
            value = [f"{name}={self.word(of)}" for name, of in value.items()]
        if isinstance(value, str) or not isinstance(value, Iterable | None):
            raise SpecError(f"{self.name}={value!r} is not a mapping; give {self.example}")
        instance.__dict__[self.name] = tuple(map(str, value or ()))

    @staticmethod
    def word(value: Any) -> str:
        """Text of an operand's value."""
        return str(value)


class EpilogueDtypes(EpilogueShapes):
    """The field of the operands' own types: ``{"bias": "f32"}``, kept likewise."""

    example: ClassVar[str] = "{'bias': 'f32'}"

    @staticmethod
    def word(value: Any) -> str:
        try:
            return DType(value)
        except ValueError:
            return str(value)


def text_of(field: str, value: str | Iterable[str]) -> str:
    """The expression that is meant, as text; a chain's in calls. SpecError for an unknown step."""
    if isinstance(value, str):
        words = [word.strip() for word in value.split(",")]
        if words == [PRODUCT] or not all(re.fullmatch(r"\w+", word) for word in words):
            return value
        value = words
    if not isinstance(value, Iterable):
        raise SpecError(f"{field}={value!r} is neither steps nor an expression; give ('bias',)")
    chain = tuple(function_name(str(step)) for step in value)
    for step in chain:
        if step not in steps_known():
            unknown = suggest.unknown(f"{field}={step}", step, list(Epilogue))
            raise SpecError(f"{unknown}, and functions such as tanh (docs/reference/operations.md)")
        if step in SUMS and chain.count(step) > 1:
            raise SpecError(f"{field} has {step} {chain.count(step)} times; give it once")
    return str(of_steps(chain))


def of_steps(chain: Iterable[str]) -> Expression:
    """The expression that a chain of steps is short for."""
    found = variable(PRODUCT)
    for step in chain:
        found = call("add", (found, variable(step))) if step in SUMS else call_of(step, found)
    return found


@lru_cache(maxsize=1024)
def steps_of(text: str) -> tuple[str, ...] | None:
    """The chain of steps that an expression in calls is; None if it is none."""
    chain: list[str] = []
    at = parse(text)
    while at is not variable(PRODUCT):
        first, rest = at.arguments[:1], at.arguments[1:]
        sums = [step for step in SUMS if rest == (variable(step),)]
        if at.name == "add" and sums:
            chain += sums
        elif at.name in steps_known() and at is call_of(at.name, *first):
            chain.append(at.name)
        else:
            return None
        (at,) = first
    is_one = all(chain.count(step) < 2 for step in SUMS)
    return tuple(reversed(chain)) if is_one else None


def checked(
    text: str, shapes: Iterable[str] | None
) -> tuple[Expression, tuple[EpilogueOperand, ...]]:
    """An epilogue's expression in calls, and its operands in the order in which they are met.

    Raises SpecError with the column of what does not fit.
    """
    expression = parse(text, "epilogue")
    given = _extents(shapes or ())

    def refuse(name: str, why: str) -> NoReturn:
        refuse_name(text, "epilogue", name, why)

    for step in steps(expression):
        if step.primitive is P.CALL and functions()[step.name].rowwise:
            refuse(
                step.name,
                f"{needs_rows(step.name)}, and an epilogue is element-wise: build a kgen.Rowwise "
                "kernel that reads the product",
            )
        if step.primitive is P.VIEW:
            refuse(
                step.name, f"{step.name} is a view; an epilogue reads its operands without views"
            )
    names = inputs(expression)
    if PRODUCT not in names:
        raise SpecError(f"epilogue={text!r} lacks {PRODUCT}, the product; use it")
    operands = []
    for name in names:
        if name == PRODUCT:
            continue
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in TAKEN:
            refuse(
                name,
                f"{name} is not a valid operand name; use small letters, digits and _, and none of "
                f"{', '.join(sorted(TAKEN))}",
            )
        extent = given.pop(name, None) or EXTENTS.get(name)
        if extent is None:
            refuse(
                name,
                f"{name} has no shape; give {name}=n (one number per column), {name}=mx1 (one per "
                f"row), {name}=mxn or {name}=1 in epilogue_shapes",
            )
        if name in SUMS and extent is not EXTENTS[name]:
            refuse(
                name,
                f"{name} always has shape {EXTENTS[name]}, not {extent}; use another name for the "
                "operand",
            )
        operands.append(EpilogueOperand(name=name, extent=extent))
    for name, extent in given.items():
        # What goes without saying may be said of an epilogue that has been replaced.
        if EXTENTS.get(name) is not extent:
            known = ", ".join(o.name for o in operands) or "none"
            raise SpecError(
                f"epilogue_shapes={name}={extent}: {text!r} has no operand {name}; it has {known}"
            )
    return expression, tuple(operands)


def _extents(shapes: Iterable[str]) -> dict[str, Extent]:
    named = _named("epilogue_shapes", shapes, "shape", list(Extent))
    return {name: Extent(extent) for name, extent in named.items()}


def checked_dtypes(
    text: str, operands: Iterable[EpilogueOperand], dtypes: Iterable[str], out: DType
) -> dict[str, DType]:
    """Types of operands by name, which are those of floats, or of an output in f64 that. Raises
    SpecError with the column of an operand that has another."""
    extents = {operand.name: operand.extent for operand in operands}
    known = (DType.F64,) if out is DType.F64 else FLOATS
    found = _named("epilogue_dtypes", dtypes, "type", known)
    for name, dtype in found.items():
        if name not in extents:
            names = ", ".join(extents) or "none"
            raise SpecError(
                f"epilogue_dtypes={name}={dtype}: {text!r} has no operand {name}; it has {names}"
            )
        if extents[name] is Extent.FULL and dtype != out:
            refuse_name(
                text,
                "epilogue",
                name,
                f"{name} has shape mxn and so the output dtype {out}, not {dtype}; only operands "
                "of shape n, mx1 or 1 have a dtype of their own",
            )
    return {name: DType(dtype) for name, dtype in found.items()}


def _named(field: str, parts: Iterable[str], kind: str, known: Sequence[str]) -> Mapping[str, str]:
    """Words by operand name, from parts `name=word`; SpecError for an unknown word."""
    found: dict[str, str] = {}
    for part in parts:
        name, _, word = part.partition("=")
        name, word = name.strip(), word.strip()
        if word not in list(known):
            raise SpecError(
                f"{field}={part}: {word or 'nothing'} is not a {kind} of an operand; give "
                f"{', '.join(f'{name}={e}' for e in known)}"
            )
        if name in found:
            raise SpecError(f"{field} gives {name} twice; give it once")
        found[name] = word
    return found
