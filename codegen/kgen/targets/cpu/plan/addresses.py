"""Byte strides of a matmul's tensors, and origins of a task's block in each of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from kgen.spec import Matmul
from kgen.targets.batch import BATCH, BatchCoordinate, BatchTerm, batch_coordinates, batch_terms
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, column_terms, is_matrix
from kgen.targets.cpu.plan.extents import Blocking
from kgen.targets.epilogue import FusedEpilogue
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen


@frozen
class Term:
    """Pointer `result` = pointer `source` + i64 `value` * `stride` bytes."""

    value: str
    stride: int
    source: str
    result: str


@frozen
class Origin:
    """Steps from a tensor to a block's corner; `base` is the pointer to the corner."""

    terms: tuple[Term, ...]
    base: str


def origin(tensor: str, terms: Iterable[tuple[str, int]]) -> Origin:
    """Return the origin with `terms`, pairs of a value's name and a stride in bytes, added up."""
    base, steps = f"%{tensor}", []
    for value, stride in terms:
        result = f"%{tensor}.{value}"
        steps.append(Term(value=f"%{value}", stride=stride, source=base, result=result))
        base = result
    return Origin(terms=tuple(steps), base=base)


@frozen
class Tensors:
    """Byte strides and block origins; `packed_b` is B if it is prepacked, else None."""

    spec: Matmul
    blocking: Blocking
    epilogue: FusedEpilogue
    packed_b: TensorParam | None

    @cached_property
    def a_strides(self) -> tuple[int, ...]:
        """Bytes along the batch, M and K."""
        return tuple(s * self.spec.dtype.itemsize for s in self.spec.a_strides)

    @cached_property
    def b_strides(self) -> tuple[int, ...]:
        """Bytes along the batch, K and N; in prepacked B along runs of K and columns of a panel."""
        size = self.spec.b_type.itemsize
        if self.packed_b is not None:
            panels, steps, width, depth = self.packed_b.shape[-4:]
            batch = panels * steps * width * depth if self.spec.b_strides[0] else 0
            return (batch * size, width * size, steps * depth * size)
        return tuple(s * size for s in self.spec.b_strides)

    @cached_property
    def out_strides(self) -> tuple[int, ...]:
        """Bytes along the batch, M and N of the output and of all tensors like it."""
        return tuple(s * self.spec.out.itemsize for s in self.spec.out_strides)

    @property
    def a_origin(self) -> Origin:
        terms = batch_terms(self.spec, "a", self.spec.dtype.itemsize)
        # A window's place in the images is no multiple of its number.
        are_windows = isinstance(self.spec, ImplicitGemm) and not is_matrix(self.spec.operation)
        return self.block_origin("a", terms, m=0 if are_windows else self.a_strides[1])

    @property
    def b_origin(self) -> Origin:
        return self.block_origin("b", self.b_terms, n=self.b_strides[2])

    @property
    def b_terms(self) -> tuple[BatchTerm, ...]:
        if self.packed_b is not None:
            return self.numbered(self.b_strides[0])
        return batch_terms(self.spec, "b", self.spec.b_type.itemsize)

    def numbered(self, stride: int) -> tuple[BatchTerm, ...]:
        """Return the terms of matrices `stride` bytes apart, in the order of the batch."""
        return (BatchTerm(name=BATCH, stride=stride),) if self.spec.batch > 1 and stride else ()

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)

    @property
    def input_origins(self) -> tuple[Origin, ...]:
        """Origins of A and B that need steps."""
        return tuple(place for place in (self.a_origin, self.b_origin) if place.terms)

    @cached_property
    def out_origins(self) -> dict[str, Origin]:
        """Origin of each tensor that the epilogue reads or writes."""
        _, m, n = self.out_strides
        terms = batch_terms(self.spec, "c", self.spec.out.itemsize)
        found = {name: self.block_origin(name, terms, m=m, n=n) for name in self.out_like}
        for a in self.epilogue.by_column:
            columns = column_terms(self.spec, a.dtype.itemsize)
            found[a.stem] = self.block_origin(a.stem, columns, n=a.dtype.itemsize)
        for a in self.epilogue.by_row:
            found[a.stem] = self.block_origin(a.stem, (), m=a.dtype.itemsize)
        return found | {a.stem: origin(a.stem, ()) for a in self.epilogue.numbers}

    def block_origin(
        self, tensor: str, batch: tuple[BatchTerm, ...], m: int = 0, n: int = 0
    ) -> Origin:
        """Return the origin of a block, with strides in bytes that vary between tasks."""
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
