"""Operands of attention's two products on CPUs: factors as f32 or in pairs of bf16, and the vectors
of keys in blocks at an edge."""

from __future__ import annotations

from functools import cached_property

from kgen.spec import Attention, DType
from kgen.targets.cpu.plan.packing.panel import interleave
from kgen.targets.cpu.plan.tiles.dots import Dot, DotOperands
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart, vector_parts
from kgen_runtime.values import frozen


@frozen
class AttentionFactors:
    """Factors of both products.

    Without a `dot`, all are f32. With a `dot`, factors of scores are pairs of bf16, and with
    `pack_v` factors of results are bf16 of pairs of keys. `stored` is the access to K and V;
    `rounded` is the access to weights of bf16.
    """

    dot: Dot | None
    pack_v: bool
    compute: Vector
    stored: Access
    rounded: Access

    @property
    def dots(self) -> DotOperands:
        assert self.dot
        stored = self.compute.doubled.of("i16")
        return DotOperands(dot=self.dot, sums=self.compute, stored=stored)

    @property
    def pairs_values(self) -> bool:
        """Whether weights and values are multiplied in pairs of keys."""
        return bool(self.dot) and self.pack_v

    @property
    def group(self) -> int:
        """Elements of a head that a step of the first product multiplies."""
        return self.dot.group if self.dot else 1

    @property
    def value_group(self) -> int:
        """Keys that a step of the second product multiplies."""
        return self.group if self.pairs_values else 1

    @property
    def given(self) -> Access:
        """Access to vectors of Q and K; with a dot, to twice the elements of a vector of f32."""
        return self.stored.of_pairs if self.dot else self.stored

    @property
    def interleaved(self) -> str:
        """Shuffle mask that makes pairs of the values of two keys."""
        return interleave(self.compute.count, 2)


@frozen
class KeyEdges:
    """Edges of the keys that a query attends to: blocks to which it attends in part."""

    spec: Attention
    block_k: int
    lanes: int

    @property
    def move(self) -> bool:
        """Whether the first or last key differs among queries or calls."""
        return self.spec.limits_keys or self.spec.kv_length

    @property
    def last_chunks(self) -> tuple[VectorPart, ...]:
        """Vectors of keys in the last block, if it always has the same keys."""
        return vector_parts(self.spec.keys % self.block_k, self.lanes)

    @cached_property
    def kinds(self) -> tuple[bool, ...]:
        """Kinds of blocks that exist: False for whole blocks, True for blocks at an edge."""
        if self.move:
            return (False, True)
        whole, rest = divmod(self.spec.keys, self.block_k)
        return (*[False] * (whole > 0), *[True] * (rest > 0))

    @property
    def has_both_kinds(self) -> bool:
        return len(self.kinds) > 1


def bf16_weights(compute: Vector) -> Access:
    """Return the access to weights as factors of bf16, rounded by an instruction."""
    return Access(dtype=DType.BF16, compute=compute, rounded_by_cpu=True)
