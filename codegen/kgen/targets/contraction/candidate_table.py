"""Candidates of a main loop as a table: a column for each field of the schedule, a row for each
candidate.

The space of each family has axes, whose product is the table, and columns that are computed from
them. This module knows no operation and no target.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from kgen.schedule import Schedule
from kgen_runtime.values import frozen

S = TypeVar("S", bound=Schedule)
#: Fields that may be fixed only to values that the operands allow.
PACKING = ("pack_a", "pack_b")

#: Arrays of int64 and of bool with one entry per candidate. Arithmetic on arrays of numpy has no
#: precise static type.
Column: TypeAlias = Any
Mask: TypeAlias = Any
#: Values of fields that a user or a measured schedule has set.
Fixed = Mapping[str, int]


@frozen
class Space(Generic[S]):
    """Candidates of one main loop: row i of every column is a schedule."""

    kind: type[S]
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, schedule: S) -> Space[S]:
        """Return a space that has this schedule alone."""
        fields = {name: np.array([int(getattr(schedule, name))]) for name in schedule.names}
        return cls(kind=type(schedule), columns=fields)

    @classmethod
    def joined(cls, spaces: Sequence[Space[S]]) -> Space[S] | None:
        """Return the candidates of spaces of the same kind and fields; None if there are none."""
        if not spaces:
            return None
        fields = spaces[0].columns
        columns = {name: np.concatenate([each.columns[name] for each in spaces]) for name in fields}
        return cls(kind=spaces[0].kind, columns=columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def schedule(self, row: int) -> S:
        fields = {name: int(column[row]) for name, column in self.columns.items()}
        kind: type[S] = self.kind.kind_of(fields)
        types = {field.name: field.type for field in dataclasses.fields(kind)}
        typed: dict[str, Any] = {
            n: bool(v) if types[n] == "bool" else v for n, v in fields.items() if n in types
        }
        return kind(**typed)

    def where(self, legal: Mask) -> Space[S]:
        """Return the rows for which `legal` is true, sorted and without duplicates."""
        columns = {name: column[legal] for name, column in self.columns.items()}
        if legal.any():
            _, first = np.unique(_numbered(columns.values()), return_index=True)
            columns = {name: column[first] for name, column in columns.items()}
        return Space(kind=self.kind, columns=columns)


def _numbered(columns: Iterable[Column]) -> Column:
    """Return a number for each row that orders the rows; the row's values are its digits."""
    numbers: Column = 0
    size = 1
    for column in columns:
        digits = column - column.min()
        digits //= max(np.gcd.reduce(digits), 1)
        count = int(digits.max()) + 1
        if size * count >= 2**63:
            found, numbers = np.unique(numbers, return_inverse=True)
            size = len(found)
        numbers, size = numbers * count + digits, size * count
    return numbers


class Table(Generic[S]):
    """Columns under construction: the product of some axes, and columns computed from them.

    An axis is a field of the schedule, or has a name WORD_FIELD, such as `most_kc`: it chooses the
    values of that field, and has one value if the field is fixed. `fixed` has the fields that may
    take only one value.
    """

    def __init__(self, kind: type[S], fixed: Fixed, **axes: Sequence[int]) -> None:
        names = {field.name for field in dataclasses.fields(kind)}
        for name in axes:
            if name in names & fixed.keys():
                axes[name] = [fixed[name]] * (name not in PACKING or fixed[name] in axes[name])
            elif name.rpartition("_")[2] in fixed:
                axes[name] = axes[name][:1]
        grids = np.meshgrid(*(np.array(axis, np.int64) for axis in axes.values()), indexing="ij")
        self.axes = {name: grid.ravel() for name, grid in zip(axes, grids, strict=True)}
        self.columns = {name: column for name, column in self.axes.items() if name in names}
        self.kind, self.fixed, self.size = kind, fixed, grids[0].size

    def __getitem__(self, name: str) -> Column:
        return self.columns[name] if name in self.columns else self.axes[name]

    def put(self, **columns: Column | int) -> None:
        """Add fields of the schedule; a fixed one keeps its value."""
        for name, column in columns.items():
            values = self.fixed.get(name, column)
            self.columns[name] = np.broadcast_to(np.asarray(values, np.int64), (self.size,))

    def space(self, legal: Mask) -> Space[S]:
        for part, whole in self.kind.divides.items():
            legal = legal & (self[whole] % np.maximum(self[part], 1) == 0)
        fitting = np.logical_and.reduce([column >= 0 for column in self.columns.values()])
        # The order of fields decides between candidates with equal predictions: the first one wins.
        order = [f.name for f in dataclasses.fields(self.kind)]
        columns = {name: self.columns[name] for name in order if name in self.columns}
        found = Space(kind=self.kind, columns=columns).where(legal & fitting)
        others = [name for name in order if name in self.fixed.keys() - self.columns.keys()]
        given = {name: np.full(len(found), self.fixed[name]) for name in others}
        return Space(kind=self.kind, columns={**found.columns, **given})


def ceil_div(extent: Column | int, part: Column | int) -> Any:
    return -(-extent // part)


def rounded_up(extent: Column | int, unit: Column | int) -> Any:
    return ceil_div(extent, unit) * unit


def balanced(extent: Column | int, most: Column | int, unit: Column | int = 1) -> Any:
    """Return the block size, a multiple of `unit` up to `most`, that divides `extent` into nearly
    equal blocks."""
    most = np.maximum(most // unit * unit, unit)
    return rounded_up(ceil_div(extent, ceil_div(extent, most)), unit)


def limits(extent: int, most: Sequence[int]) -> tuple[int, ...]:
    """Return the whole extent, and the limits below it."""
    return (extent, *(limit for limit in most if limit < extent))


def per_shape(count: Callable[..., int], *shape: Column) -> Column:
    """Return `count` of each candidate's shape; equal shapes are computed once."""
    _, first, which = np.unique(_numbered(shape), return_index=True, return_inverse=True)
    shapes = np.stack(shape, axis=1)[first].tolist()
    return np.array([count(*each) for each in shapes], np.int64)[which]


#: Sizes of the parts of an extent and the number of each.
Cut: TypeAlias = tuple[tuple[Column, Column], tuple[Column, Column]]


def cut(extent: int, part: Column) -> Cut:
    """Cut an extent into whole parts and a remainder."""
    rest = extent % part
    return (np.minimum(part, extent), extent // part), (rest, (rest > 0).astype(np.int64))


def cut_evenly(extent: int, part: Column, allowed: Mask) -> Cut:
    """Cut an extent into parts of `part` and `part - 1` if these fill it and that is `allowed`,
    else into whole parts and a remainder."""
    parts = ceil_div(extent, part)
    missing = parts * part - extent
    even = (missing > 0) & (missing < parts) & allowed
    (first, count), (rest, last) = cut(extent, part)
    return (
        (first, np.where(even, parts - missing, count)),
        (np.where(even, part - 1, rest), np.where(even, missing, last)),
    )


def ranked(
    seconds: Sequence[Column], most: int | None, kinds: Sequence[Column] | None = None
) -> list[tuple[int, int]]:
    """Return the space and the row of at most `most` candidates with the least predicted seconds,
    the best first. `kinds` has a number below 8 for each candidate: of each space and kind, only
    the best one is returned."""
    spaces = np.repeat(np.arange(len(seconds)), [len(each) for each in seconds])
    rows = np.concatenate([np.arange(len(each)) for each in seconds])
    every = np.concatenate(seconds)
    order = np.array([np.nanargmin(every)]) if most == 1 else np.argsort(every, kind="stable")
    if kinds is not None:
        groups = (8 * spaces + np.concatenate(kinds))[order]
        order = order[np.sort(np.unique(groups, return_index=True)[1])]
    return [(int(spaces[at]), int(rows[at])) for at in order[:most].tolist()]
