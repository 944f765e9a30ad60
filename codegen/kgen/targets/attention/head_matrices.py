"""Attention's tensors as batched matrices: one matrix per head, with the strides of the tensor."""

from __future__ import annotations

import math
from functools import cached_property

from kgen.spec import Attention, Matmul
from kgen.targets.batch import BATCH, BatchTerm, batch_coordinates
from kgen.targets.contraction.access import AccessMap, Axis, Digit
from kgen_runtime.values import frozen


@frozen
class HeadMatrices:
    """Batch of the matrices of attention: the rows of a matrix are the queries of one head."""

    spec: Attention

    @property
    def rows(self) -> int:
        return self.spec.queries

    @property
    def count(self) -> int:
        return math.prod(self.sizes.values())

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the batch dimensions above 1, by name."""
        spec = self.spec
        sizes = {"batch": spec.batch, "kv_head": spec.kv_heads, "in_group": spec.group}
        return {name: size for name, size in sizes.items() if size > 1}

    def strides(self, batch: int, head: int) -> dict[str, int]:
        """Return the strides along the batch dimensions of a tensor with all query heads.

        `batch` is the stride from one batch element to the next, `head` from one head to the next.
        """
        return {"batch": batch, "kv_head": head * self.spec.group, "in_group": head}

    @cached_property
    def output(self) -> Matmul:
        """Batched matmul whose output has the shape and strides of `out`."""
        spec = self.spec
        b, h, row = spec.strides("out")
        sizes, by_dim = tuple(self.sizes.values()), self.strides(b, h)
        strides = tuple(by_dim[name] for name in self.sizes)
        return Matmul(
            m=self.rows,
            n=spec.out_head,
            k=1,
            dtype=spec.out,
            ldc=row if spec.queries > 1 else max(row, spec.out_head),
            batch=self.count,
            batch_dims=sizes if len(sizes) > 1 else None,
            batch_stride_c=strides if len(sizes) > 1 else next(iter(strides), None),
        )

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

        Axis k of Q runs along the elements of a head; axis k of K and V runs along the keys.
        """
        spec = self.spec
        b, h, row = spec.strides(name)
        is_q = name == "q"
        strides = self.strides(b, h) if is_q else {"batch": b, "kv_head": h, "in_group": 0}
        outer = Digit(extent=spec.queries if is_q else spec.keys, stride=row)
        inner = Digit(extent=spec.out_head if name == "v" else spec.head, stride=1)
        axis: Axis = "k" if is_q else "row"
        access = AccessMap(
            name=name,
            dtype=spec.dtype,
            row=(outer if is_q else inner,),
            k=(inner if is_q else outer,),
            inner=axis,
            batch=self.terms(strides),
        )
        return access.without_idle_strides
