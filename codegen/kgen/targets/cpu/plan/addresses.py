"""Byte strides of a matmul's tensors, and pointers to a task's block in each tensor."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from kgen.spec import Matmul
from kgen.targets.batch import BATCH, BatchCoordinate, BatchTerm, batch_coordinates, batch_terms
from kgen.targets.contraction.implicit_gemm import are_windows, vector_terms
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.cpu.plan.packing.mapped_b import maps_b
from kgen.targets.epilogue import FusedEpilogue
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen


@frozen
class Origin:
    """Additions that compute `base`, the pointer to a block's corner, from a tensor's pointer. Each
    of `terms` adds the product of an i64 value and a stride in bytes: (result, pointer, value,
    stride)."""

    terms: tuple[tuple[str, str, str, int], ...]
    base: str


def origin(tensor: str, terms: Iterable[tuple[str, int]]) -> Origin:
    """Return the origin that adds `terms` to a tensor's pointer. Each term is a pair: the name of a
    value, and its stride in bytes."""
    base, steps = f"%{tensor}", []
    for value, stride in terms:
        result = f"%{tensor}.{value}"
        steps.append((result, base, f"%{value}", stride))
        base = result
    return Origin(terms=tuple(steps), base=base)


@frozen
class Tensors:
    """Byte strides and block origins of a matmul; `packed_b` is None unless B is prepacked."""

    spec: Matmul
    blocking: Blocking
    epilogue: FusedEpilogue
    packed_b: TensorParam | None

    @cached_property
    def a_strides(self) -> tuple[int, ...]:
        """Strides of A in bytes along the batch, M and K."""
        return tuple(s * self.spec.dtype.itemsize for s in self.spec.a_strides)

    @cached_property
    def b_strides(self) -> tuple[int, ...]:
        """Strides of B in bytes along the batch, K and N. In a prepacked B they are strides along
        the batch, runs of K and columns of panels. In a B that is no matrix, those along K and N
        are of a panel that was copied to scratch memory."""
        size = self.spec.b_type.itemsize
        if self.packed_b is not None:
            panels, steps, width, depth = self.packed_b.shape[-4:]
            batch = panels * steps * width * depth if self.spec.b_strides[0] else 0
            return (batch * size, width * size, steps * depth * size)
        if maps_b(self.spec):
            return (self.spec.b_strides[0] * size, self.blocking.schedule.nr * size, size)
        return tuple(s * size for s in self.spec.b_strides)

    @cached_property
    def out_strides(self) -> tuple[int, ...]:
        """Strides in bytes along the batch, M and N, of the output and of tensors like it."""
        return tuple(s * self.spec.out.itemsize for s in self.spec.out_strides)

    @property
    def a_origin(self) -> Origin:
        terms = batch_terms(self.spec, "a", self.spec.dtype.itemsize)
        # The address of a convolution's window is not a multiple of the window's number.
        return self.block_origin("a", terms, m=0 if are_windows(self.spec) else self.a_strides[1])

    @property
    def b_origin(self) -> Origin:
        return self.block_origin("b", self.b_terms, n=0 if maps_b(self.spec) else self.b_strides[2])

    @property
    def b_terms(self) -> tuple[BatchTerm, ...]:
        if self.packed_b is not None:
            return self.numbered(self.b_strides[0])
        return batch_terms(self.spec, "b", self.spec.b_type.itemsize)

    def numbered(self, stride: int) -> tuple[BatchTerm, ...]:
        """Return the batch term of an address for matrices `stride` bytes apart; empty if none."""
        return (BatchTerm(name=BATCH, stride=stride),) if self.spec.batch > 1 and stride else ()

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)

    @property
    def input_origins(self) -> tuple[Origin, ...]:
        """Origins of A and B that differ from the tensor's pointer."""
        return tuple(place for place in (self.a_origin, self.b_origin) if place.terms)

    @cached_property
    def out_origins(self) -> dict[str, Origin]:
        """Origin of each tensor that the epilogue reads or writes."""
        _, m, n = self.out_strides
        terms = batch_terms(self.spec, "c", self.spec.out.itemsize)
        found = {name: self.block_origin(name, terms, m=m, n=n) for name in self.out_like}
        for a in self.epilogue.vectors:
            terms, size = vector_terms(self.spec, a.extent, a.dtype.itemsize), a.dtype.itemsize
            along = {"n": size} if a.varies_along_n else {"m": size}
            found[a.stem] = self.block_origin(a.stem, terms, **along)
        return found | {a.stem: origin(a.stem, ()) for a in self.epilogue.numbers}

    def block_origin(
        self, tensor: str, batch: tuple[BatchTerm, ...], m: int = 0, n: int = 0
    ) -> Origin:
        """Return the origin of a task's block; `m` and `n` are strides in bytes, or 0 for none."""
        terms = [(term.name, term.stride) for term in batch]
        if self.blocking.m.is_split and m:
            terms.append(("m0", m))
        if self.blocking.n.is_split and n:
            terms.append(("n0", n))
        return origin(tensor, terms)

    @property
    def out_like(self) -> tuple[str, ...]:
        """Tensors of the output's shape and strides."""
        return (*(a.stem for a in self.epilogue.full), "out")
