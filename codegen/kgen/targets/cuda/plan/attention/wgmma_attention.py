"""Attention on Hopper: a producer warpgroup loads by TMA, consumers multiply by wgmma.

Each consumer has 64 queries in shared memory. Blocks of keys and values go through the ring of
mbarriers of the matmul kernel, with one full barrier each for keys and values. Scores are sums of
one wgmma, and the weights are its left operand in registers for the next (PTX ISA, "Register
Fragments for wgmma.mma_async.m64k16"). J. Shah et al., FlashAttention-3, arXiv 2407.08608.
"""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import WgmmaAttention
from kgen.spec import Attention, DType, Matmul
from kgen.targets.attention.grid_limits import check_grid
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.base import Target
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.attention.attention_plan import (
    MAX_QUERIES,
    TensorCoreAttentionPlan,
    WeightPair,
    attention_launch,
    inner_schedule,
)
from kgen.targets.cuda.plan.epilogue.output import plan_output
from kgen.targets.cuda.plan.epilogue.staging import plan_epilogue_staging
from kgen.targets.cuda.plan.matmul import Pipeline
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, Matrix
from kgen.targets.cuda.plan.mma.fragments import PIECE, Fragments
from kgen.targets.cuda.plan.mma.instruction import (
    WarpgroupInstruction,
    instruction_of,
    warpgroup_instruction_of,
)
from kgen.targets.cuda.plan.mma.products import Products
from kgen.targets.cuda.plan.staging.tma import GROUP_BYTES, ROW_BYTES, TmaOperand
from kgen.targets.cuda.plan.wgmma.fragments import WGMMA_M
from kgen.targets.cuda.plan.wgmma.limits import (
    BARRIER_BYTES,
    MAX_CONSUMERS,
    OTHER_REGISTERS,
    REGISTERS,
    WARPGROUP,
    WARPS,
    matrix_obstacle,
)
from kgen.targets.cuda.plan.wgmma.products import Product, immediates
from kgen.targets.header import counted
from kgen_runtime.values import frozen

#: Most keys of a block: weights and scores of more leave no registers for results.
MAX_KEYS = 128
#: Registers for what online_softmax.j2 keeps of a row, for weights that are rounded, and for two
#: addresses in the mask with its remaining rows and keys.
ROW_REGISTERS, WEIGHT_REGISTERS, MASK_REGISTERS = 6, 16, 6
#: Barriers of a stage: keys and values are full, and the stage is empty.
STAGE_BARRIERS = 3


@frozen
class BlockProducts:
    """Instructions wgmma of a block of keys, whose sums are those of `registers`.

    The left operand is in shared memory, or fragments in registers.
    """

    instruction: WarpgroupInstruction
    left: TmaOperand | Fragments
    right: TmaOperand
    registers: Products
    #: Elements of k.
    depth: int

    @property
    def steps(self) -> range:
        """Steps of k."""
        return range(self.depth // self.instruction.depth)

    @property
    def whole(self) -> tuple[Product, ...]:
        """Products of all steps of k."""
        return tuple(map(self._product, self.steps))

    def _product(self, step: int) -> Product:
        left, k = self.left, step * self.instruction.depth
        return Product(
            instruction=self.instruction.name(self.registers.b.extent),
            d=self.registers.sums,
            left=left.step_words(step) if isinstance(left, TmaOperand) else 0,
            right=self.right.step_words(step),
            first=step == 0,
            fragment=left.registers(k) if isinstance(left, Fragments) else (),
        )

    @property
    def immediates(self) -> str:
        """Immediates after the predicate."""
        described = (self.left,) if isinstance(self.left, TmaOperand) else ()
        return immediates(self.instruction, *described, self.right)


@frozen
class WgmmaAttentionPlan(TensorCoreAttentionPlan):
    """Plan of attention_wgmma.ptx.j2: each consumer warpgroup of a CTA computes 64 queries.

    `full_barriers` is the byte of the first barrier, behind all tiles and the outputs that reuse
    their memory.
    """

    schedule: WgmmaAttention
    score_products: BlockProducts
    value_products: BlockProducts
    full_barriers: int

    @property
    def queries(self) -> TmaOperand:
        assert isinstance(self.score_products.left, TmaOperand)
        return self.score_products.left

    @property
    def operands(self) -> tuple[TmaOperand, TmaOperand]:
        """K and V, which go through the ring."""
        return self.score_products.right, self.value_products.right

    @property
    def loaded(self) -> tuple[TmaOperand, ...]:
        return (self.queries, *self.operands)

    @property
    def shared_alignment(self) -> int:
        """Alignment of shared memory in bytes: eight rows of a box, the period of the swizzle."""
        return GROUP_BYTES

    @property
    def registers(self) -> tuple[int, int] | None:
        """Registers per thread of the producer and of consumers; None without setmaxnreg."""
        return REGISTERS.get(self.schedule.consumers)

    @property
    def consumer_barrier(self) -> str:
        """Operands of the named barrier of all consumers."""
        return f"1, {self.schedule.consumers * WARPGROUP}"

    @property
    def held_registers(self) -> int:
        """Registers of a consumer thread for scores, results, rows and the mask's addresses.

        Weights take those of their scores, but for a few while they are rounded.
        """
        sums = len(self.scores.sums) + len(self.values.sums)
        mask = MASK_REGISTERS if self.spec.mask else 0
        return sums + ROW_REGISTERS * len(self.rows) + WEIGHT_REGISTERS + mask

    # -- the ring ------------------------------------------------------------------------------

    @property
    def clustered(self) -> bool:
        """Whether CTAs form clusters: never."""
        return False

    @property
    def count(self) -> str:
        """Operand with the number of blocks of keys."""
        return "%count" if self.pipeline.counted else str(self.pipeline.k_tiles)

    @property
    def num_stages(self) -> int:
        return self.pipeline.num_stages

    @property
    def stage_words(self) -> int:
        """Distance between stages, in the descriptors' units of 16 bytes."""
        return self.pipeline.stage_bytes // MAX_ACCESS_BYTES

    @property
    def group_words(self) -> int:
        """Distance from a consumer's queries to the next consumer's, in the same units."""
        return WGMMA_M * ROW_BYTES // MAX_ACCESS_BYTES

    @property
    def values_full(self) -> int:
        """Bytes from the barrier of a stage's keys to that of its values."""
        return self.num_stages * BARRIER_BYTES

    @property
    def barrier_bytes(self) -> int:
        """Bytes from the barrier of a stage's keys to its empty barrier."""
        return 2 * self.values_full

    @property
    def queries_full(self) -> int:
        """Bytes from the first barrier to the one of the queries."""
        return STAGE_BARRIERS * self.values_full

    @property
    def barriers(self) -> tuple[tuple[int, int], ...]:
        """Byte of each barrier, and the arrivals that complete a phase: one of the producer thread,
        and one of every consumer warp of the stage."""
        arrivals = (
            *(1,) * 2 * self.num_stages,
            *(self.schedule.consumers * WARPS,) * self.num_stages,
            1,
        )
        return tuple(
            (self.full_barriers + i * BARRIER_BYTES, count) for i, count in enumerate(arrivals)
        )

    # -- weights -------------------------------------------------------------------------------

    @property
    def all_weights(self) -> tuple[WeightPair, ...]:
        """Registers of a block's weights."""
        return tuple(
            pair for k in range(0, self.schedule.block_n, PIECE) for pair in self.weights(k)
        )

    # -- values beyond kv_length ---------------------------------------------------------------

    @property
    def zeroed(self) -> tuple[int, ...]:
        """First byte of each part of a box. The consumer threads fill a part, 16 bytes each."""
        each = self.schedule.consumers * WARPGROUP * MAX_ACCESS_BYTES
        return tuple(range(0, self.operands[1].box_bytes, each))

    # -- the comment on top --------------------------------------------------------------------

    @property
    def resident(self) -> str:
        return "scores, weights and results"

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(operand.description for operand in self.loaded)

    @property
    def shared_map(self) -> tuple[str, ...]:
        k, v = self.operands
        return (
            f"Q: at byte 0, {self.queries.layout}",
            f"{counted(self.num_stages, 'stage')} of {self.pipeline.stage_bytes} B, K at byte "
            f"{k.base} and V at byte {v.base} of the first",
            f"K: {k.layout}",
            f"V: {v.layout}",
            f"barriers: full[{self.num_stages}] of K, of V, empty[{self.num_stages}] and of Q, "
            f"from byte {self.full_barriers}",
        )


def obstacle(spec: Attention, target: Target) -> str | None:
    """Return the reason why TMA and wgmma cannot compute this attention; None if they can."""
    if not target.has("wgmma"):
        return f"{target.name} has no wgmma instruction"
    if spec.dtype is DType.F32:
        return "wgmma multiplies f32 with the precision of tf32"
    if spec.dtype is DType.E4M3:
        return "values of e4m3 are widened on their way, and TMA copies bytes"
    if spec.is_paged:
        return "TMA copies whole blocks of keys, and pages lie at addresses of a table"
    if spec.queries > MAX_QUERIES:
        return f"q has {spec.queries} queries, and the limit is {MAX_QUERIES}"
    matrices = HeadMatrices(spec=spec)
    for name in "qkv":
        if (why := matrix_obstacle(_stored(matrices, name))) is not None:
            return why
    return None


def plan_wgmma_attention(
    spec: Attention, target: Target, schedule: WgmmaAttention
) -> WgmmaAttentionPlan:
    """Return the plan. Raises ScheduleError for blocks that do not fit."""
    if (why := obstacle(spec, target)) is not None:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} does not support this attention: {why}; leave mainloop "
            "out"
        )
    _check(spec, target, schedule)
    matrices = HeadMatrices(spec=spec)
    multiplied = Matmul(m=1, n=1, k=1, dtype=spec.dtype)
    instruction, fragments = (
        warpgroup_instruction_of(multiplied),
        instruction_of(multiplied, target),
    )
    assert instruction is not None and fragments is not None
    head, out_head = (-(-n // PIECE) * PIECE for n in (spec.head, spec.out_head))
    q, k, v = _operands(matrices, schedule)
    q_rows, k_columns, weights, v_columns = (
        Fragments(name=name, is_a=is_a, extent=extent, instruction=fragments, sets=sets)
        for name, is_a, extent, sets in (
            ("q", True, PIECE, 1),
            ("k", False, schedule.block_n, 1),
            ("p", True, PIECE, schedule.block_n // PIECE),
            ("v", False, out_head, 1),
        )
    )
    scores = Products(a=q_rows, b=k_columns, into="s")
    values = Products(a=weights, b=v_columns)
    inner = inner_schedule(spec, schedule, PIECE)
    k_tiles = -(-spec.keys // schedule.block_n)
    pipeline = Pipeline(
        k_tiles=k_tiles,
        num_stages=min(schedule.num_stages, k_tiles),
        stage_bytes=k.nbytes + v.nbytes,
        counted=matrices.counts_blocks,
    )
    staging = plan_epilogue_staging(matrices.output, inner, values, q.nbytes + pipeline.nbytes)
    strips = schedule.consumers * WARPS * staging.tile.nbytes if staging else 0
    full_barriers = max(q.nbytes + pipeline.nbytes, strips)
    shared_bytes = full_barriers + (STAGE_BARRIERS * pipeline.num_stages + 1) * BARRIER_BYTES
    cuda_plan.check_shared(
        dataclasses.replace(inner, num_stages=pipeline.num_stages),
        pipeline.stage_bytes,
        target,
        beside=shared_bytes - pipeline.nbytes,
        instead=f"block_n={schedule.block_n // 2}",
    )
    num_threads = (1 + schedule.consumers) * WARPGROUP
    maps = tuple(operand.tensor_map for operand in (q, k, v))
    plan = WgmmaAttentionPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/attention_wgmma.ptx.j2",
        launches=(attention_launch(matrices, inner, num_threads, shared_bytes, target, maps),),
        tensor_maps=maps,
        num_threads=num_threads,
        shared_bytes=shared_bytes,
        ptx_version=cuda_plan.ptx_version(target, spec, "wgmma"),
        matrices=matrices,
        pipeline=pipeline,
        output=plan_output(
            matrices.output, inner, rows=values.rows, cols=values.cols, run=values.run
        ),
        scores=scores,
        values=values,
        staging=staging,
        score_products=BlockProducts(
            instruction=instruction, left=q, right=k, registers=scores, depth=head
        ),
        value_products=BlockProducts(
            instruction=instruction,
            left=weights,
            right=v,
            registers=values,
            depth=schedule.block_n,
        ),
        full_barriers=full_barriers,
    )
    limit = (plan.registers or (0, 255))[1] - OTHER_REGISTERS
    if plan.held_registers > limit:
        smaller = f"block_n={schedule.block_n // 2}"
        if schedule.consumers > 2:
            smaller = f"block_m={schedule.block_m - WGMMA_M}"
        raise ScheduleError(
            f"block_n={schedule.block_n} with {spec.out_head} elements of a value needs "
            f"{plan.held_registers} registers per thread; block_m={schedule.block_m} leaves "
            f"{limit}; try {smaller}"
        )
    return plan


def _stored(matrices: HeadMatrices, name: str) -> Matrix:
    """Return Q, K or V with its rows along k: elements of a head for scores, keys for results."""
    access = matrices.access(name)
    if name == "k":
        access = dataclasses.replace(access, row=access.k, k=access.row, inner="k")
    return Matrix(access=access)


def _operands(
    matrices: HeadMatrices, schedule: WgmmaAttention
) -> tuple[TmaOperand, TmaOperand, TmaOperand]:
    """Return the tiles of Q, K and V; stages with K and V follow Q."""
    spec, base, found = matrices.spec, 0, []
    per_row = ROW_BYTES // spec.dtype.itemsize
    head, out_head = (-(-n // per_row) * per_row for n in (spec.head, spec.out_head))
    for name, extent, depth in (
        ("q", schedule.block_m, head),
        ("k", schedule.block_n, head),
        ("v", out_head, schedule.block_n),
    ):
        operand = TmaOperand(
            matrix=_stored(matrices, name),
            batch=matrices.coordinates,
            extent=extent,
            depth=depth,
            base=base,
        )
        found.append(operand)
        base += operand.nbytes
    q, k, v = found
    return q, k, v


def _check(spec: Attention, target: Target, schedule: WgmmaAttention) -> None:
    most = MAX_CONSUMERS * WGMMA_M
    if schedule.block_m % WGMMA_M or schedule.block_m > most:
        fits = min(most, -(-schedule.block_m // WGMMA_M) * WGMMA_M)
        raise ScheduleError(
            f"block_m={schedule.block_m} is not a multiple of {WGMMA_M} up to {most}, the queries "
            f"of 1 to {MAX_CONSUMERS} warpgroups; try block_m={fits}"
        )
    if schedule.block_n < PIECE or schedule.block_n > MAX_KEYS:
        raise ScheduleError(
            f"block_n={schedule.block_n} is not a number of keys from {PIECE} to {MAX_KEYS}; try "
            f"block_n={min(MAX_KEYS, max(PIECE, schedule.block_n))}"
        )
    cuda_plan.check_powers_of_two(dataclasses.replace(schedule, block_m=WGMMA_M))
    if schedule.num_stages < 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} leaves no stage to load while another is "
            "multiplied; try num_stages=2"
        )
    if schedule.pingpong and schedule.consumers != 2:
        raise ScheduleError(
            f"pingpong=1 needs two warpgroups that multiply, and block_m={schedule.block_m} has "
            f"{schedule.consumers}; try block_m={2 * WGMMA_M}"
        )
    check_grid(HeadMatrices(spec=spec), target, schedule.block_m)
