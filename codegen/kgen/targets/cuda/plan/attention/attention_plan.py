"""Common plan of attention on tensor cores: scores in registers, their limits and masks.

For each block of keys, the first product computes scores, the online softmax turns them into
weights, and the second product multiplies the weights by the values. Lanes hold scores and sums as
fragments of mma.m16n8k16, which a warp of wgmma has as well. The sums of a product have the layout
of A's fragments of twice the columns, so weights become A of the second product without leaving
their lanes (PTX ISA, "Matrix Fragments for mma.m16n8k16", "Register Fragments for
wgmma.mma_async.m64k16").
"""

from __future__ import annotations

import dataclasses

from kgen.schedule import MmaAttention, MmaMatmul, WgmmaAttention
from kgen.spec import Attention, DType
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.attention.key_limits import KeyLimits
from kgen.targets.attention.key_parts import STATE_BYTES, softmax_notes, with_states
from kgen.targets.attention.softmax_units import SoftmaxUnits
from kgen.targets.base import Target
from kgen.targets.contraction.grid import plan_launch
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.constants import float_bits
from kgen.targets.cuda.plan.epilogue.output import OutputPlan
from kgen.targets.cuda.plan.epilogue.staging import LANES_PER_ROW, EpilogueStaging
from kgen.targets.cuda.plan.matmul import Pipeline
from kgen.targets.cuda.plan.mma.attention_mask import MaskAccess
from kgen.targets.cuda.plan.mma.fragments import PIECE
from kgen.targets.cuda.plan.mma.products import Products
from kgen.targets.cuda.plan.mma.score_rows import ScoreRow
from kgen.targets.cuda.plan.rowwise import butterfly
from kgen.targets.expressions import Rendered
from kgen.targets.powers_of_two import power_of_two
from kgen_runtime.manifest import Launch, TensorMap
from kgen_runtime.values import frozen

#: Most rows of the matrices that describe the output.
MAX_QUERIES = 1 << 20


@frozen
class WeightPair:
    """Register of the second product's A, and the two weights that are rounded into it."""

    register: str
    weights: tuple[str, str]


@frozen
class TensorCoreAttentionPlan(OutputPlan):
    """Plan of attention on tensor cores: a CTA computes `block_m` rows of a matrix of queries.

    `scores` and `values` are the registers of both products.
    """

    spec: Attention
    schedule: MmaAttention | WgmmaAttention
    matrices: HeadMatrices
    pipeline: Pipeline
    scores: Products
    values: Products
    staging: EpilogueStaging | None

    @property
    def batched(self) -> bool:
        return self.output.spec.batch > 1

    @property
    def begins_at_k0(self) -> bool:
        """Whether the first key of a CTA is in register %k0, not always 0."""
        return self.spec.has_window or self.matrices.is_split

    def weights(self, k: int) -> tuple[WeightPair, ...]:
        """Registers of weights that step `k` of the second product multiplies."""
        p = self.values.a
        return tuple(
            WeightPair(
                register=p.register(m + part, k + half),
                weights=(f"s_m{m + part}_n{k + half}", f"s_m{m + part}_n{k + half + 1}"),
            )
            for m in range(0, p.extent, PIECE)
            for half in (0, p.instruction.half)
            for part in p.parts
        )

    # -- rows of scores ------------------------------------------------------------------------

    @property
    def has_query_registers(self) -> bool:
        """Whether registers hold the queries of rows, whose positions limit the keys."""
        return self.matrices.has_queries and self.spec.limits_keys

    def _query(self, offset: int) -> str:
        """Return the operand that is added to the lane's first position to get a row's."""
        if not self.matrices.divides_rows:
            return str(offset)
        return f"%query_m{offset}" if self.has_query_registers else "0"

    @property
    def rows(self) -> tuple[ScoreRow, ...]:
        cols = self.scores.cols
        return tuple(
            ScoreRow(
                offset=row.offset,
                query=self._query(row.offset),
                scores=tuple(f"s_m{row.offset}_n{n}" for n in cols),
                sums=self.output.accumulators(row),
                columns=cols,
            )
            for row in self.output.rows
        )

    @property
    def units(self) -> SoftmaxUnits:
        return SoftmaxUnits(spec=self.spec, literal=float_bits)

    @property
    def limits(self) -> KeyLimits:
        return KeyLimits.of_rows(self.matrices, self.warp_m, self.schedule.block_n)

    @property
    def position_registers(self) -> tuple[str, ...]:
        """Registers that count from the first key of a block."""
        found = ["warp_stop"]
        found += ["length_at"] if self.limits.keys_end_inside else []
        found += ["reach_at"] if self.spec.limits_keys else []
        return (*found, *(("window_at", "warp_start") if self.spec.has_window else ()))

    @property
    def mask(self) -> MaskAccess:
        """Access to the mask, if there is one."""
        return MaskAccess(
            matrices=self.matrices, block_m=self.schedule.block_m, block_n=self.schedule.block_n
        )

    def formed(self, score: str) -> Rendered:
        """Return the lines that form a score of a product."""
        return self.rendered(self.units.score, {"x": f"%{score}"}, f"%{score}")

    @property
    def warp_m(self) -> int:
        return self.values.a.extent

    @property
    def row_shuffles(self) -> tuple[int, ...]:
        """Lane masks of a butterfly over the lanes of a row."""
        return butterfly(LANES_PER_ROW)

    @property
    def has_length(self) -> bool:
        """Whether a register holds the number of keys."""
        return self.limits.masks_positions or self.pipeline.counted

    @property
    def lse_rows(self) -> tuple[tuple[ScoreRow, int], ...]:
        """Rows with their distances from the first in bytes of `lse`."""
        return tuple((row, row.offset * DType.F32.itemsize) for row in self.rows)

    @property
    def state_rows(self) -> tuple[tuple[ScoreRow, int], ...]:
        """Rows with their distances from the first in bytes of the states."""
        return tuple((row, row.offset * STATE_BYTES) for row in self.rows)

    @property
    def state_bytes(self) -> int:
        return STATE_BYTES

    # -- arguments -----------------------------------------------------------------------------

    @property
    def length_name(self) -> str:
        """Register with the coordinate of the batch element; empty if there is one."""
        return self.matrices.coordinate("batch")

    @property
    def table_row(self) -> int:
        """Bytes of a batch element's row of the page table."""
        return self.spec.most_pages * DType.S32.itemsize

    @property
    def resident(self) -> str:
        """Values that stay in registers, for a comment."""
        return "queries, scores and results"

    @property
    def notes(self) -> tuple[str, ...]:
        return softmax_notes(
            self.matrices,
            blocks=self.pipeline.k_tiles,
            block_n=self.schedule.block_n,
            is_counted=self.pipeline.counted,
            resident=self.resident,
        )


def attention_launch(
    matrices: HeadMatrices,
    inner: MmaMatmul,
    num_threads: int,
    shared_bytes: int,
    target: Target,
    maps: tuple[TensorMap, ...] = (),
) -> Launch:
    """Return the launch of a CTA for each block of rows of a matrix of queries; tensors with a map
    are passed by it."""
    spec = matrices.spec
    dynamic = shared_bytes * cuda_plan.is_dynamic(shared_bytes, target)
    launch = plan_launch(matrices.output, inner, num_threads, dynamic)
    by_map = {map_.tensor: map_.name for map_ in maps}
    whole = dataclasses.replace(
        launch,
        entry_point=spec.key,
        arguments=tuple(by_map.get(p.name, p.name) for p in spec.parameters),
        # A tile is one of `out`; `lse` has other axes.
        tile=None if spec.lse else launch.tile,
    )
    return with_states(whole, matrices)


def inner_schedule(
    spec: Attention, schedule: MmaAttention | WgmmaAttention, warp_m: int
) -> MmaMatmul:
    """Return the schedule of the product of weights and values, with whole heads as columns; a warp
    has `warp_m` queries."""
    columns = padded(spec.out_head)
    return MmaMatmul(
        block_m=schedule.block_m,
        block_n=columns,
        block_k=schedule.block_n,
        num_stages=schedule.num_stages,
        warp_m=warp_m,
        warp_n=columns,
    )


def padded(size: int) -> int:
    """Elements of a head in a tile of shared memory."""
    return power_of_two(max(PIECE, size))
