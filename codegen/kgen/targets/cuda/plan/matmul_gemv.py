"""Skinny GEMM: B is read once, by whole sectors, and multiplied in f32 from registers.

A thread reads 16 bytes of B at a time.

- If B is contiguous along n, these are elements of adjacent columns, and adjacent lanes read a
  piece of a row. Each group of lanes has its own k: eight consecutive ones if elements have 16
  bits, four for f32. The group reads its elements of A in one access.
- If B is contiguous along k, a warp reads along k, in up to four columns at a time.

A thread accumulates all rows of its columns. Shuffles add the sums of different lanes; then the
sums of the warps are added in shared memory. The order is fixed.
"""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import GemvMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.epilogue.output import OutputPlan, OutputTile
from kgen.targets.cuda.plan.gemv_limits import check, depth_of, elements_of, gemv_obstacle
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, Matrix, matrices
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen

F32_BYTES = 4


@frozen
class GemvLoad:
    """Load of 16 bytes of B, or of elements of A as f32, into `words`; `offset` counts from the
    thread's first."""

    words: tuple[str, ...]
    offset: int


@frozen
class Fma:
    """Multiply-add total += a b, where b is the word's `element`, counted from the lowest bits."""

    total: str
    a: str
    element: int


@frozen
class WordProducts:
    """Multiply-adds of a word of B."""

    word: str
    fmas: tuple[Fma, ...]


@frozen
class SumStore:
    """Adjacent sums of a row for shared memory, at an offset from the thread's first."""

    words: tuple[str, ...]
    offset: int


@frozen
class GemvPlan(OutputPlan):
    spec: Matmul
    schedule: GemvMatmul
    a: Matrix
    b: Matrix

    @property
    def vector(self) -> int:
        """Elements of an access to B."""
        return elements_of(self.b.dtype)

    @property
    def depth(self) -> int:
        """Consecutive elements of k per thread."""
        return depth_of(self.spec)

    @property
    def num_warps(self) -> int:
        return self.schedule.num_threads // WARP_SIZE

    @property
    def columns(self) -> int:
        """Columns per thread."""
        return self.schedule.block_n // self.num_warps if self.b.k_inner else self.vector

    @property
    def lanes(self) -> int:
        """Neighbouring lanes that read one row of B: all lanes along k, or those of a CTA's columns
        along n."""
        return WARP_SIZE if self.b.k_inner else self.schedule.block_n // self.vector

    @property
    def lanes_log2(self) -> int:
        return log2(self.lanes)

    @property
    def lanes_mask(self) -> int:
        return self.lanes - 1

    @property
    def a_loads(self) -> tuple[GemvLoad, ...]:
        count = elements_of(self.a.dtype)
        return tuple(
            GemvLoad(
                words=tuple(f"a_m{m}_k{k}" for k in range(first, first + count)),
                offset=self.a.access.offset(m, first) * self.a.dtype.itemsize,
            )
            for m in range(self.spec.m)
            for first in range(0, self.depth, count)
        )

    @property
    def b_loads(self) -> tuple[GemvLoad, ...]:
        """Loads of B, one per stored row, which is a column of the product or one k."""
        rows = self.columns if self.b.k_inner else self.depth
        words = range(MAX_ACCESS_BYTES // 4)
        return tuple(
            GemvLoad(
                words=tuple(f"b_row{row}_word{word}" for word in words),
                offset=row * self.b.row_stride,
            )
            for row in range(rows)
        )

    @property
    def products(self) -> tuple[WordProducts, ...]:
        return tuple(
            WordProducts(word=word, fmas=self._fmas(row, i))
            for row, load in enumerate(self.b_loads)
            for i, word in enumerate(load.words)
        )

    @property
    def b_elements(self) -> tuple[str, ...]:
        """Registers of the elements of a word, as f32."""
        return tuple(f"b_element{i}" for i in range(self.b.elements_per_word))

    def _fmas(self, row: int, word: int) -> tuple[Fma, ...]:
        each = self.b.elements_per_word
        return tuple(
            Fma(
                total=f"sum_m{m}_n{row if self.b.k_inner else place}",
                a=f"a_m{m}_k{place if self.b.k_inner else row}",
                element=element,
            )
            for element in range(each)
            for place in (word * each + element,)
            for m in range(self.spec.m)
        )

    @property
    def sums(self) -> tuple[str, ...]:
        rows = range(self.spec.m)
        return tuple(f"sum_m{m}_n{n}" for m in rows for n in range(self.columns))

    @property
    def shuffles(self) -> tuple[int, ...]:
        """Shuffle distances between lanes that hold sums of the same outputs."""
        first = 1 if self.b.k_inner else self.lanes
        return tuple(1 << i for i in range(log2(first), log2(WARP_SIZE)))

    @property
    def sum_lanes(self) -> int:
        """Number of lanes with sums of different outputs, counted from lane 0."""
        return 1 if self.b.k_inner else self.lanes

    @property
    def has_sum_lanes(self) -> bool:
        return self.sum_lanes > 1

    @property
    def sum_stores(self) -> tuple[SumStore, ...]:
        """Stores of partial sums, up to 16 bytes wide."""
        width = min(4, self.columns)
        return tuple(
            SumStore(
                words=tuple(f"sum_m{m}_n{n + i}" for i in range(width)),
                offset=(m * self.schedule.block_n + n) * F32_BYTES,
            )
            for m in range(self.spec.m)
            for n in range(0, self.columns, width)
        )

    @property
    def outputs(self) -> int:
        """Outputs of a CTA, one per thread."""
        return self.spec.m * self.schedule.block_n

    @property
    def warp_step(self) -> int:
        """Bytes of shared memory from a warp's first sum to the next warp's."""
        return (self.columns if self.b.k_inner else self.outputs) * F32_BYTES

    @property
    def lane_step(self) -> int:
        """Bytes from one lane's first sum to the next one's."""
        return self.columns * F32_BYTES

    @property
    def parts(self) -> tuple[int, ...]:
        """Offsets of an output's partial sums from the first warp's."""
        return (0,) if self.b.k_inner else tuple(w * self.warp_step for w in range(self.num_warps))

    @property
    def block_n_log2(self) -> int:
        return log2(self.schedule.block_n)

    @property
    def block_n_mask(self) -> int:
        return self.schedule.block_n - 1

    @property
    def k_stride(self) -> int:
        """Bytes of B from one k to the next."""
        return self.b.access.offset(0, 1) * self.b.dtype.itemsize

    @property
    def n_stride(self) -> int:
        return self.b.access.offset(1, 0) * self.b.dtype.itemsize

    @property
    def a_step(self) -> int:
        """Bytes of A from one iteration to the next."""
        return self._step(self.a)

    @property
    def b_step(self) -> int:
        return self._step(self.b)

    def _step(self, matrix: Matrix) -> int:
        (step,) = matrix.access.steps(self.schedule.block_k)
        return step * matrix.dtype.itemsize

    @property
    def n_edge(self) -> bool:
        return self.spec.n % self.schedule.block_n != 0

    @property
    def batched(self) -> bool:
        strides = (self.a.batch_stride, self.b.batch_stride, self.output.batch_stride)
        return any(strides)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.remarks

    @property
    def shared_map(self) -> tuple[str, ...]:
        m, n = self.spec.m, self.schedule.block_n
        parts = self.shared_bytes // (m * n * F32_BYTES)
        return (f"partial sums: f32 [slice of k: {parts}][m: {m}][n: {n}]",)

    @property
    def remarks(self) -> tuple[str, ...]:
        way = "the lanes of a warp along k" if self.b.k_inner else f"{self.lanes} lanes along a row"
        return (
            f"B: loaded to registers without shared memory, "
            f"{len(self.b_loads)} x {MAX_ACCESS_BYTES} bytes per thread at a time, {way}",
        )


def plan_gemv(spec: Matmul, target: Target, schedule: GemvMatmul) -> GemvPlan:
    """Return the plan. Raises ScheduleError if the operands cannot be streamed or the schedule does
    not fit."""
    if (why := gemv_obstacle(spec)) is not None:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} does not support this matmul: {why}; leave mainloop out"
        )
    a, b = matrices(spec)
    check(spec, target, schedule)
    parts = 1 if b.k_inner else schedule.num_threads // WARP_SIZE
    shared_bytes = parts * spec.m * schedule.block_n * F32_BYTES
    return GemvPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/matmul_gemv.ptx.j2",
        launches=(
            cuda_plan.plan_launch(spec, schedule, schedule.num_threads, shared_bytes, target),
        ),
        num_threads=schedule.num_threads,
        shared_bytes=shared_bytes,
        ptx_version=cuda_plan.ptx_version(target, spec),
        a=a,
        b=b,
        output=OutputTile(
            spec=spec, row_offsets=(0,), col_offsets=(0,), width=1, m_edge=False, n_edge=False
        ),
    )
