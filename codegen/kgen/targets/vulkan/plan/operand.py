"""A and B of a matmul: how K-tiles go to workgroup memory, and from there to products."""

from __future__ import annotations

from kgen.schedule import FmaMatmul
from kgen.spec import Matmul
from kgen.targets.batch import BatchTerm, batch_terms
from kgen.targets.vulkan.plan.base import Shared, Tensor, log2
from kgen_runtime.values import frozen


@frozen
class Copy:
    """One element that an invocation copies per K-tile: its places along the edge and along k, by
    number, and its distance from the invocation's first element in workgroup memory."""

    index: int
    edge: int
    k: int
    shared: int


@frozen
class Operand:
    """A or B. `edge` is its dimension that is not k: m for A, n for B.

    The K-tile is `edge_block` x block_k; in memory neighbours along k are next to one another if
    `k_inner`, else those along the edge. In workgroup memory those along the edge are, `pitch`
    apart from one k to the next.
    """

    name: str
    edge: str
    tensor: Tensor
    shared: Shared
    size: int
    edge_block: int
    per_thread: int
    block_k: int
    num_threads: int
    edge_stride: int
    k_stride: int
    batch_terms: tuple[BatchTerm, ...]
    k_inner: bool
    pitch: int

    @property
    def inner_block(self) -> int:
        return self.block_k if self.k_inner else self.edge_block

    @property
    def outer_block(self) -> int:
        return self.edge_block if self.k_inner else self.block_k

    @property
    def inner(self) -> str:
        """The name of the K-tile's dimension that is contiguous in memory."""
        return "k" if self.k_inner else self.edge

    @property
    def outer(self) -> str:
        return self.edge if self.k_inner else "k"

    @property
    def inner_mask(self) -> int:
        """An invocation's first element along the contiguous dimension is its number and this."""
        return min(self.inner_block, self.num_threads) - 1

    @property
    def outer_shift(self) -> int:
        return log2(min(self.inner_block, self.num_threads))

    @property
    def outer_mask(self) -> int:
        return self.outer_block - 1

    @property
    def idle(self) -> bool:
        """There are more invocations than elements in a K-tile."""
        return self.num_threads > self.elements

    @property
    def elements(self) -> int:
        return self.edge_block * self.block_k

    @property
    def _offsets(self) -> tuple[tuple[int, int], ...]:
        """(edge, k) of each copied element, from the invocation's first."""
        inner_step = min(self.inner_block, self.num_threads)
        outer_step = max(1, self.num_threads // self.inner_block)
        pairs = [
            (outer, inner)
            for outer in range(0, self.outer_block, outer_step)
            for inner in range(0, self.inner_block, inner_step)
        ]
        return tuple(pairs) if self.k_inner else tuple((i, o) for o, i in pairs)

    @property
    def edge_places(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(edge for edge, _ in self._offsets))

    @property
    def k_places(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(k for _, k in self._offsets))

    @property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(
            Copy(
                index=index,
                edge=self.edge_places.index(edge),
                k=self.k_places.index(k),
                shared=k * self.pitch + edge,
            )
            for index, (edge, k) in enumerate(self._offsets)
        )

    @property
    def clamped(self) -> bool:
        """Tiles reach over the edge of the matrix; what they copy from there is never used."""
        return self.size % self.edge_block != 0

    @property
    def last(self) -> int:
        return self.size - 1

    @property
    def batched(self) -> bool:
        return bool(self.batch_terms)

    @property
    def threads(self) -> int:
        """Invocations along the edge."""
        return self.edge_block // self.per_thread

    @property
    def values(self) -> tuple[tuple[int, int], ...]:
        """What an invocation multiplies per k: its number, and its distance from the first."""
        return tuple((i, i * self.threads) for i in range(self.per_thread))


def plan_operands(
    spec: Matmul, schedule: FmaMatmul, a: Tensor, b: Tensor
) -> tuple[Operand, Operand]:
    """A and B; all block dimensions and the number of invocations are powers of two."""
    return (
        _operand(
            schedule,
            a,
            edge="m",
            size=spec.m,
            edge_block=schedule.block_m,
            per_thread=schedule.thread_m,
            terms=batch_terms(spec, "a"),
            edge_stride=spec.a_strides[1],
            k_stride=spec.a_strides[2],
            k_inner=not spec.layout.a_transposed,
        ),
        _operand(
            schedule,
            b,
            edge="n",
            size=spec.n,
            edge_block=schedule.block_n,
            per_thread=schedule.thread_n,
            terms=batch_terms(spec, "b"),
            edge_stride=spec.b_strides[2],
            k_stride=spec.b_strides[1],
            k_inner=spec.layout.b_transposed,
        ),
    )


def _operand(
    schedule: FmaMatmul,
    tensor: Tensor,
    *,
    edge: str,
    size: int,
    edge_block: int,
    per_thread: int,
    terms: tuple[BatchTerm, ...],
    edge_stride: int,
    k_stride: int,
    k_inner: bool,
) -> Operand:
    # One more column keeps the copies along k, which are written a pitch apart, off one bank.
    pitch = edge_block + 1 if k_inner else edge_block
    return Operand(
        name=tensor.name,
        edge=edge,
        tensor=tensor,
        shared=Shared(name=f"tile_{tensor.name}", element="float", length=schedule.block_k * pitch),
        size=size,
        edge_block=edge_block,
        per_thread=per_thread,
        block_k=schedule.block_k,
        num_threads=schedule.num_threads,
        batch_terms=terms,
        edge_stride=edge_stride,
        k_stride=k_stride,
        k_inner=k_inner,
        pitch=pitch,
    )
