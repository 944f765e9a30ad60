"""Epilogue of a product: an expression of the product `x` and of operands that broadcast to it.

A chain of steps (``bias,gelu``) is short for such an expression (``gelu(x + bias)``). Where an
expression equals a chain of steps, kernels are named by the steps.
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
from kgen.spec.enum_fields import ConvertedField
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Name of the product, alpha A @ B + beta C, in an epilogue.
PRODUCT = "x"
#: Names that operands cannot have: other arguments of a product, coordinates and workspaces.
TAKEN = frozenset(
    {
        *("a", "b", "c", "out", "scale_a", "scale_b", "scale_out"),
        *COORDINATES,
        *("parts", "arrivals", "tickets"),
    }
)


class Extent(StrEnum):
    """Shape of an operand: how many of the output's elements share one of its values."""

    N = "n"  # one value per column
    M = "mx1"  # one value per row
    ONE = "1"  # one value for all outputs
    FULL = "mxn"  # one value per output, for each product of a batch


#: Shapes of operands with well-known names, which need not be given.
EXTENTS: Mapping[str, Extent] = {
    "bias": Extent.N,
    "scale": Extent.N,
    "col_scale": Extent.N,
    "row_scale": Extent.M,
    "residual": Extent.FULL,
}


@frozen
class EpilogueOperand:
    """Operand of an epilogue."""

    name: str
    extent: Extent


class EpilogueText(ConvertedField[str, str | Iterable[Epilogue | EpilogueName]]):
    """Field for an epilogue: an expression, or steps in order; `x` by default."""

    default = PRODUCT

    def converted(self, value: str | Iterable[Epilogue | EpilogueName]) -> str:
        return text_of(self.name, value)


class EpilogueShapes(
    ConvertedField[tuple[str, ...] | None, Mapping[str, Any] | Iterable[str] | None]
):
    """Field for the operands' shapes: ``{"up": "mxn"}``, stored as ``("up=mxn",)``."""

    default = None
    example: ClassVar[str] = "{'up': 'mxn'}"

    def converted(self, value: Mapping[str, Any] | Iterable[str] | None) -> tuple[str, ...]:
        if isinstance(value, Mapping):
            value = [f"{name}={self.word(of)}" for name, of in value.items()]
        if isinstance(value, str) or not isinstance(value, Iterable | None):
            raise SpecError(f"{self.name}={value!r} is not a mapping; give {self.example}")
        return tuple(map(str, value or ()))

    @staticmethod
    def word(value: Any) -> str:
        """Return the text of an operand's value."""
        return str(value)


class EpilogueDtypes(EpilogueShapes):
    """Field for the operands' own dtypes: ``{"bias": "f32"}``, stored as ``("bias=f32",)``."""

    example: ClassVar[str] = "{'bias': 'f32'}"

    @staticmethod
    def word(value: Any) -> str:
        try:
            return DType(value)
        except ValueError:
            return str(value)


def text_of(field: str, value: str | Iterable[str]) -> str:
    """Return an epilogue's expression as text, with a chain as calls.

    Raises SpecError for an unknown step.
    """
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
    """Return the expression that a chain of steps is short for."""
    found = variable(PRODUCT)
    for step in chain:
        found = call("add", (found, variable(step))) if step in SUMS else call_of(step, found)
    return found


@lru_cache(maxsize=1024)
def steps_of(text: str) -> tuple[str, ...] | None:
    """Return the chain of steps that equals an expression in calls; None if there is none."""
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
    """Return an epilogue's expression in calls, and its operands in order of their first use.

    Raises SpecError with the column of the first fault.
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
        # A well-known operand's shape may stay when the epilogue has been replaced by one without
        # it.
        if EXTENTS.get(name) is not extent:
            raise _without(f"epilogue_shapes={name}={extent}", name, text, operands)
    return expression, tuple(operands)


def _extents(shapes: Iterable[str]) -> dict[str, Extent]:
    named = _named("epilogue_shapes", shapes, "shape", list(Extent))
    return {name: Extent(extent) for name, extent in named.items()}


def checked_dtypes(
    text: str, operands: Sequence[EpilogueOperand], dtypes: Iterable[str], out: DType
) -> dict[str, DType]:
    """Return the given dtypes of operands by name.

    They are float dtypes, or f64 if the output is f64. Raises SpecError with the operand's column
    for any other.
    """
    extents = {operand.name: operand.extent for operand in operands}
    known = (DType.F64,) if out is DType.F64 else FLOATS
    found = _named("epilogue_dtypes", dtypes, "type", known)
    for name, dtype in found.items():
        if name not in extents:
            raise _without(f"epilogue_dtypes={name}={dtype}", name, text, operands)
        if extents[name] is Extent.FULL and dtype != out:
            refuse_name(
                text,
                "epilogue",
                name,
                f"{name} has shape mxn and so the output dtype {out}, not {dtype}; only operands "
                "of shape n, mx1 or 1 have a dtype of their own",
            )
    return {name: DType(dtype) for name, dtype in found.items()}


def _without(given: str, name: str, text: str, known: Iterable[EpilogueOperand]) -> SpecError:
    """Return the refusal of a value for an operand that the epilogue does not have."""
    names = ", ".join(operand.name for operand in known)
    has = f"; its operands are {names}" if names else ""
    return SpecError(f"{given}: {text!r} has no operand {name}{has}; leave it out")


def _named(field: str, parts: Iterable[str], kind: str, known: Sequence[str]) -> Mapping[str, str]:
    """Return words by operand name, from texts `name=word`. Raises SpecError."""
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
