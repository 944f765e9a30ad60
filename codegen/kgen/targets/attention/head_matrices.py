"""Attention's tensors as batched matrices, with the strides of the tensor.

A matrix has the queries of one head as rows, or those of all heads that share a K/V head. Where
workgroups divide the keys, the batch has each matrix once for each part of the keys.
"""

from __future__ import annotations

import dataclasses
import math
from functools import lru_cache

from kgen.errors import ScheduleError
from kgen.spec import Attention, DType, Matmul
from kgen.targets.batch import BATCH, BatchTerm, batch_coordinates
from kgen.targets.contraction.access import AccessMap, Axis, Digit
from kgen_runtime.values import frozen


@frozen
class HeadMatrices:
    """Batch of the matrices of attention.

    The rows of a matrix are the queries of one head; with `packs_heads`, those of all heads of a
    K/V head, one head after another. The `parts` of a matrix are next to each other in the batch.
    """

    spec: Attention
    packs_heads: bool = False
    parts: int = 1

    @property
    def rows(self) -> int:
        return self.spec.queries * (self.spec.group if self.packs_heads else 1)

    @property
    def divides_rows(self) -> bool:
        """Whether the number of a row stands for a head and a query."""
        return self.packs_heads and self.spec.group > 1

    @property
    def has_queries(self) -> bool:
        """Whether queries are computed from the numbers of rows."""
        return self.divides_rows and self.spec.queries > 1

    @property
    def is_split(self) -> bool:
        """Whether a workgroup attends to a part of the keys, and stores the states of its rows."""
        return self.parts > 1

    @property
    def parts_less_one(self) -> int:
        """Number that, added to a count, makes its division by the parts round up."""
        return self.parts - 1

    @property
    def count(self) -> int:
        return math.prod(self.sizes.values())

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the batch dimensions above 1, by name."""
        spec = self.spec
        in_group = 1 if self.packs_heads else spec.group
        sizes = {"batch": spec.batch, "kv_head": spec.kv_heads, "in_group": in_group}
        sizes["part"] = self.parts
        return {name: size for name, size in sizes.items() if size > 1}

    def strides(self, batch: int, head: int) -> dict[str, int]:
        """Return the strides along the batch dimensions of a tensor with all query heads.

        `batch` is the stride from one batch element to the next, `head` from one head to the next.
        """
        return {"batch": batch, "kv_head": head * self.spec.group, "in_group": head, "part": 0}

    def packed_strides(self, size: int) -> dict[str, int]:
        """Return the strides of matrices of `size` that lie one after another."""
        found: dict[str, int] = {}
        for name in reversed(self.sizes):
            found[name] = size
            size *= self.sizes[name]
        return found

    def row_digits(self, head: int, query: int) -> tuple[Digit, ...]:
        """Return the digits of a row's number, given the strides between heads and queries.

        One digit if all rows are equally far apart; else the head in its group, and the query.
        """
        queries, group = self.spec.queries, self.spec.group
        if not self.packs_heads or head == queries * query or group == 1:
            return (Digit(extent=self.rows, stride=query),)
        of_head = Digit(extent=group, stride=head)
        return (of_head,) if queries == 1 else (of_head, Digit(extent=queries, stride=query))

    @property
    def out_terms(self) -> tuple[BatchTerm, ...]:
        """Terms of the address of a matrix in `out`, in elements."""
        b, h, _ = self.spec.strides("out")
        return self.terms(self.strides(b, h))

    @property
    def lse_terms(self) -> tuple[BatchTerm, ...]:
        """Terms of the address of a matrix's rows in `lse`, in elements."""
        queries = self.spec.queries
        return self.terms(self.strides(self.spec.heads * queries, queries))

    @property
    def counts_blocks(self) -> bool:
        """Whether the number of a workgroup's blocks of keys depends on the workgroup or on the
        input."""
        return self.spec.kv_length or self.spec.limits_keys or self.is_split

    def check_rows(self) -> None:
        """Check that the rows of a matrix are equally far apart in `out`, or in the workspace.

        Raises ScheduleError.
        """
        _, head, query = self.spec.strides("out")
        if not self.is_split and len(self.row_digits(head, query)) > 1:
            raise ScheduleError(
                f"packs_heads=1 needs rows of out that are equally far apart, and heads are {head} "
                f"elements apart, queries {query}; try packs_heads=0, or split_k=2"
            )

    @property
    def output(self) -> Matmul:
        """Batched matmul whose output has the shape and strides of `out`, or packed parts in f32.

        Raises ScheduleError as `check_rows` does.
        """
        return _output(self)

    def coordinate(self, dim: str) -> str:
        """Return the register with the coordinate along a batch dimension; empty if it is 0."""
        return dict(zip(self.sizes, self._coordinates, strict=False)).get(dim, "")

    @property
    def coordinates(self) -> tuple[tuple[str, int], ...]:
        """Registers with the batch coordinates, and their sizes."""
        return tuple(zip(self._coordinates, self.sizes.values(), strict=False))

    @property
    def _coordinates(self) -> list[str]:
        """Registers with the batch coordinates."""
        return [c.name for c in batch_coordinates(self.output)] or [BATCH]

    def terms(self, strides: dict[str, int]) -> tuple[BatchTerm, ...]:
        """Return the terms that batch coordinates add to an address."""
        named = zip(self._coordinates, self.sizes, strict=False)
        return tuple(
            BatchTerm(name=name, stride=stride) for name, dim in named if (stride := strides[dim])
        )

    def access(self, name: str) -> AccessMap:
        """Return the access to tensor `name`: "q", "k" or "v".

        Axis k of Q runs along the elements of a head; axis k of K and V runs along the keys. With
        pages it runs along the keys of one, and register %<name>_page has its number.
        """
        spec = self.spec
        b, h, row = spec.strides(name)
        is_q = name == "q"
        shared = {"batch": b, "kv_head": h, "in_group": 0, "part": 0}
        keys = Digit(extent=spec.keys, stride=row)
        outer = self.row_digits(h, row) if is_q else (keys,)
        inner = Digit(extent=spec.out_head if name == "v" else spec.head, stride=1)
        axis: Axis = "k" if is_q else "row"
        batch = self.terms(self.strides(b, h) if is_q else shared)
        if spec.is_paged and not is_q:
            batch = (*self.terms(shared | {"batch": 0}), BatchTerm(name=f"{name}_page", stride=b))
        access = AccessMap(
            name=name,
            dtype=spec.dtype,
            row=outer if is_q else (inner,),
            k=(inner,) if is_q else outer,
            inner=axis,
            batch=batch,
        )
        return access.without_idle_strides


@lru_cache(maxsize=256)
def _output(matrices: HeadMatrices) -> Matmul:
    """Return `matrices.output`. All candidates of an attention have the same few outputs."""
    spec, sizes = matrices.spec, tuple(matrices.sizes.values())
    whole = Matmul(
        m=matrices.rows,
        n=spec.out_head,
        k=1,
        dtype=DType.F32 if matrices.is_split else spec.out,
        batch=matrices.count,
        batch_dims=sizes if len(sizes) > 1 else None,
    )
    if matrices.is_split:
        return whole
    matrices.check_rows()
    b, h, query = spec.strides("out")
    (digit,), by_dim = matrices.row_digits(h, query), matrices.strides(b, h)
    row, strides = digit.stride, tuple(by_dim[name] for name in matrices.sizes)
    return dataclasses.replace(
        whole,
        ldc=row if matrices.rows > 1 else max(row, spec.out_head),
        batch_stride_c=strides if len(sizes) > 1 else next(iter(strides), None),
    )
