"""What outer products take of B, rows of B in groups and strips of their columns, and for which
operands and in how many registers."""

from __future__ import annotations

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.kernels.dot import COLUMNS
from kgen.targets.cpu.plan.matmul import finishing_type
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen

#: Columns of bf16 in a word of 32 bits.
WORD_COLUMNS = 2


@frozen
class RowOfA:
    """The `index`th row of A: bytes to it from the first one, and to its sums from theirs."""

    index: int
    a: int
    sums: int


@frozen
class OuterRow:
    """One of the rows of B at once, `part` parts from the first one; an `absent` one is zero."""

    name: str
    part: int
    absent: bool


@frozen
class OuterGroup:
    """Rows that are multiplied together."""

    name: str
    rows: tuple[OuterRow, ...]


@frozen
class OuterStrip:
    """Columns of a step, from the `first` one on; `valid` is 0 if all exist, else how many."""

    name: str
    first: int
    valid: int


@frozen
class OuterProducts:
    """The function for so many rows of B."""

    name: str
    groups: tuple[OuterGroup, ...]


def outer_products(rows: int, group: int) -> OuterProducts:
    """The last group has rows that are absent, if those of B are no multiple of it."""
    return OuterProducts(
        name=f"outer_{rows}",
        groups=tuple(
            OuterGroup(
                name=f"k{at}",
                rows=tuple(
                    OuterRow(name=f"k{i}", part=i, absent=i >= rows) for i in range(at, at + group)
                ),
            )
            for at in range(0, rows, group)
        ),
    )


def strips(columns: int, width: int) -> tuple[OuterStrip, ...]:
    """Columns in strips of `width`."""
    return tuple(
        OuterStrip(
            name=f"n{at}",
            first=at,
            valid=0 if at + width <= columns else columns - at,
        )
        for at in range(0, columns, width)
    )


def takes_words(spec: Matmul, target: Target) -> bool:
    """Rows of bf16 are widened by words of two neighbouring columns: a shift makes an f32 of the
    lower half, a mask of the upper one, half the loads and shuffles of widening each column. Sums
    of even columns lie before those of odd ones until K is at its end."""
    return spec.dtype is spec.b_type is DType.BF16 and dot_for(spec.dtype, target) is None


def strip_vectors(spec: Matmul, target: Target) -> int:
    """Vectors of sums of a strip: as many as a group has rows, or a word columns."""
    dot = dot_for(spec.dtype, target)
    return dot.group if dot else WORD_COLUMNS if takes_words(spec, target) else 1


def has_outer(spec: Matmul, target: Target) -> bool:
    """Rows of B lie side by side, as they are multiplied; so does K in A, if it is added up."""
    dot = dot_for(spec.dtype, target)
    if spec.constant or spec.b_strides[2] != 1:
        return False
    if dot is None:
        return spec.dtype is spec.accumulate or takes_words(spec, target)
    return not (dot.b_is_unsigned and spec.layout.a_transposed)


def sums_of_outer(spec: Matmul, target: Target) -> Vector:
    """A vector of sums, of the type that the epilogue computes in."""
    dot = dot_for(spec.dtype, target)
    is_wide = dot or takes_words(spec, target)
    return vector_for(target, finishing_type(spec), COLUMNS if is_wide else spec.n)


def outer_registers(spec: Matmul, target: Target, parts: int, strips: int) -> int:
    """Of a step: what is multiplied of A, sums, and rows of B before and after they are mixed."""
    dot = dot_for(spec.dtype, target)
    if takes_words(spec, target):
        # A strip after the other: words, and of one half at a time a row of B and sums; the mask.
        return spec.m * (parts + 1) + parts + 2
    if dot is None:
        return spec.m * (parts + strips) + strips + 1
    groups = -(-parts // dot.group)
    return spec.m * (groups + strips * dot.group) + 2 * dot.group + dot.extra_registers
