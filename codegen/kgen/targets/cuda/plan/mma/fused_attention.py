"""Attention on tensor cores: two products around an online softmax, all in registers.

A warp holds its queries as fragments of A. Blocks of keys and values go through a ring in shared
memory. T. Dao, FlashAttention-2, arXiv 2307.08691, section 3.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from kgen.errors import ScheduleError
from kgen.schedule import FmaAttention, MmaAttention, MmaMatmul
from kgen.spec import Attention, DType, Matmul
from kgen.targets.attention.grid_limits import check_grid
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.attention.key_parts import check_parts, keys_of_part, matrices_of
from kgen.targets.attention.page_blocks import check_page_blocks
from kgen.targets.attention.weights import weight_dtype
from kgen.targets.base import Target
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.attention.attention_plan import (
    MAX_QUERIES,
    TensorCoreAttentionPlan,
    attention_launch,
    inner_schedule,
    padded,
)
from kgen.targets.cuda.plan.attention.lane_products import (
    HEAD_STEP,
    MULTIPLY_ADD,
    PAIR,
    Exchange,
    LaneOperand,
    LaneProducts,
)
from kgen.targets.cuda.plan.epilogue.output import plan_output
from kgen.targets.cuda.plan.epilogue.staging import (
    plan_epilogue_staging,
)
from kgen.targets.cuda.plan.matmul import plan_pipeline
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, Matrix
from kgen.targets.cuda.plan.mma.fragments import (
    FRAGMENT_SETS,
    PIECE,
    REGISTERS_PER_PIECE,
    FragmentLoad,
    Fragments,
    MmaOperand,
)
from kgen.targets.cuda.plan.mma.instruction import MatrixInstruction, instruction_of
from kgen.targets.cuda.plan.mma.matmul import KStep
from kgen.targets.cuda.plan.mma.products import Products
from kgen.targets.cuda.plan.staging.choice import plan_copy
from kgen.targets.cuda.plan.staging.copy import PagedTiles, TileCopy
from kgen.targets.cuda.plan.staging.prefetch import share_out
from kgen.targets.cuda.plan.staging.tiles import SwizzledTile
from kgen.targets.header import counted
from kgen_runtime.values import frozen

#: Most elements of a head of e4m3 whose queries, widened to f16, leave enough registers for copies
#: of keys and values.
WIDENED_HEAD = 128
#: Bytes of a register, four elements of e4m3.
WORD_BYTES = 4
#: Maximum, sum, limit and exponent of a row.
ROW_REGISTERS = 4


@frozen
class MmaAttentionPlan(TensorCoreAttentionPlan):
    """Plan of attention.ptx.j2: a CTA computes `block_m` rows of a matrix of queries."""

    schedule: MmaAttention
    queries: MmaOperand

    # -- operands ------------------------------------------------------------------------------

    @property
    def operands(self) -> tuple[MmaOperand, MmaOperand]:
        """K and V, which go through the ring."""
        k, v = self.scores.b, self.values.b
        assert isinstance(k, MmaOperand) and isinstance(v, MmaOperand)
        return k, v

    @property
    def loaded(self) -> tuple[MmaOperand, ...]:
        return (self.queries, *self.operands)

    @property
    def uses_async(self) -> bool:
        return any(operand.copy.asynchronous for operand in self.loaded)

    @property
    def tabled(self) -> tuple[TileCopy, ...]:
        return tuple(operand.copy for operand in self.loaded if operand.copy.has_table)

    @property
    def staged(self) -> tuple[MmaOperand, ...]:
        """Operands of the ring that pass through registers."""
        return tuple(operand for operand in self.operands if not operand.copy.asynchronous)

    @property
    def instruction(self) -> MatrixInstruction:
        return self.queries.instruction

    @property
    def value_instruction(self) -> MatrixInstruction:
        return self.values.b.instruction

    @property
    def weight_dtype(self) -> DType:
        """Type that weights are rounded to."""
        return weight_dtype(self.spec)

    @property
    def held_registers(self) -> int:
        """Registers of a lane: queries or their addresses, scores, results, states of rows, two
        pieces each of K and V, copies through registers, and a unit of K while it is widened."""
        queries = sum(map(len, self.queries.pieces))
        if not self.keeps_queries and not self.by_lanes:
            queries += len(self.queries.xors)
        # An instruction that ptxas composes of f16 instructions has two further sets of sums.
        scores = len(self.scores.sums) * (3 if self.instruction.made_of_f16 else 1)
        sums = scores + len(self.values.sums)
        read = HEAD_STEP * PAIR if self.by_lanes else 4 * REGISTERS_PER_PIECE
        beside = ROW_REGISTERS * len(self.rows) + read
        copied = sum(operand.copy.staging_registers for operand in self.operands)
        widened = self.operands[0].copy.widens
        return queries + sums + beside + copied + widened * MAX_ACCESS_BYTES // WORD_BYTES

    @property
    def keeps_queries(self) -> bool:
        """Whether query fragments stay in registers; otherwise queries stay in shared memory."""
        return not self.by_lanes and self.queries.sets == len(self.queries.k_steps)

    @property
    def queries_at(self) -> int:
        """First byte of the queries: after all stages if they stay in shared memory, else the stage
        that the loop fills first."""
        return self.pipeline.first_write if self.keeps_queries else self.pipeline.nbytes

    @property
    def last_barrier(self) -> bool:
        """Whether a barrier separates the loads of queries from copies over them."""
        return self.pipeline.loads_in_loop

    @property
    def by_lanes(self) -> bool:
        """Whether lanes multiply, and queries stay in shared memory."""
        return isinstance(self.schedule, FmaAttention)

    def exchanges(self, key: int) -> tuple[Exchange, ...]:
        """Return the exchanges of a key's weights among the lanes of each row."""
        assert isinstance(self.values, LaneProducts)
        return self.values.exchanges(key)

    # -- steps of both products ----------------------------------------------------------------

    @property
    def score_steps(self) -> tuple[KStep, ...]:
        # All copies are in one place: ptxas puts three instructions before each group of them.
        copies = [operand.copy for operand in self.operands]
        shares = share_out(copies, 1) if self.pipeline.loads_in_loop else {}
        loaded = () if self.keeps_queries else (self.queries,)
        found = self._steps(self.scores, loaded, begins=True)
        return tuple(
            dataclasses.replace(step, shares=shares.get(number, ()))
            for number, step in enumerate(found)
        )

    @property
    def value_steps(self) -> tuple[KStep, ...]:
        return self._steps(self.values, (), begins=False)

    def _steps(
        self, products: Products, beside: tuple[MmaOperand, ...], *, begins: bool
    ) -> tuple[KStep, ...]:
        """Return the steps of a product. Each step loads the next step's fragments of B and of the
        operands `beside`; the first step also loads its own."""
        if isinstance(products, LaneProducts):
            return tuple(map(products.step, products.k_steps))
        b, step = products.b, products.b.instruction.step
        assert isinstance(b, MmaOperand)
        last = b.k_steps[-1]

        def loads(k: int) -> tuple[FragmentLoad, ...]:
            return tuple(load for operand in (b, *beside) for load in operand.loads(k))

        return tuple(
            KStep(
                k=k,
                last=k + step - 1,
                rounded=(),
                paired=(),
                mmas=products.of_step(k, begins=begins and k == 0),
                promoted=(),
                loads=(() if k else loads(0)) + (loads(k + step) if k < last else ()),
                shares=(),
                turns=False,
            )
            for k in b.k_steps
        )

    # -- the comment on top --------------------------------------------------------------------

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(operand.copy.remark for operand in self.loaded)

    @property
    def shared_map(self) -> tuple[str, ...]:
        k, v = self.operands
        return (
            f"{counted(self.pipeline.buffers, 'stage')} of {self.pipeline.stage_bytes} B, K at "
            f"byte 0 and V at byte {v.tile.base} of each",
            f"K: {k.tile.description}",
            f"V: {v.tile.description}",
            f"Q: at byte {self.queries_at}{' before the loop' * self.keeps_queries}, "
            f"{self.queries.tile.description}",
        )


def plan_attention(spec: Attention, target: Target, schedule: MmaAttention) -> MmaAttentionPlan:
    """Return the plan; if keys are divided, of the first kernel.

    Raises ScheduleError for blocks that do not fit.
    """
    of_values = _instruction(spec, weight_dtype(spec), target, schedule)
    instruction = _instruction(spec, spec.dtype, target, schedule)
    matrices = matrices_of(spec, schedule)
    _check(matrices, target, schedule)
    planned = partial(_planned, matrices, target, schedule, of_values)
    if not instruction.made_of_f16:
        plan = planned(instruction, keeps_queries=not isinstance(schedule, FmaAttention))
    else:
        # The copies widen elements once, instead of each warp.
        plan = planned(of_values, keeps_queries=spec.head <= WIDENED_HEAD)
        limit = cuda_plan.register_limit(plan.num_threads, target)
        if not plan.keeps_queries and plan.held_registers > limit:
            plan = planned(instruction, keeps_queries=False)
    if plan.warp_m > PIECE:
        remedy = f"num_warps={schedule.num_warps * 2}"
    elif schedule.block_n > PIECE:
        remedy = f"block_n={schedule.block_n // 2}"
    else:
        remedy = "smaller heads, or even head sizes and strides, which are copied without registers"
    what = f"block_m={schedule.block_m} and block_n={schedule.block_n}"
    cuda_plan.check_registers(plan.held_registers, what, plan.num_threads, target, remedy)
    return plan


def _planned(
    matrices: HeadMatrices,
    target: Target,
    schedule: MmaAttention,
    of_values: MatrixInstruction,
    instruction: MatrixInstruction,
    *,
    keeps_queries: bool,
) -> MmaAttentionPlan:
    """Return the plan with `instruction` for scores, without a check of its registers."""
    spec, by_lanes = matrices.spec, isinstance(schedule, FmaAttention)
    num_threads = schedule.num_warps * target.subgroup
    output = matrices.output
    inner = inner_schedule(spec, schedule, schedule.block_m // schedule.num_warps)
    tiles = _tiles(spec, schedule, inner, instruction)
    copies = _copies(matrices, target, schedule, inner, tiles)
    k_steps = range(0, inner.block_k, 1 if by_lanes else of_values.step)
    head, out_head = (-(-n // PIECE) * PIECE for n in (spec.head, spec.out_head))
    # Lanes do not multiply the zeros behind a head.
    head_steps = range(0, spec.head, HEAD_STEP) if by_lanes else range(0, head, instruction.step)
    q, k, v = (
        _operand(
            MmaOperand(
                name=copy.name,
                is_a=copy.name == "q",
                copy=copy,
                tile=tile,
                extent=extent,
                instruction=of_values if copy.name == "v" else instruction,
                k_steps=tuple(steps),
                k_inner=copy.name != "v",
                is_divided=copy.name == "q",
                sets=len(head_steps) if copy.name == "q" and keeps_queries else FRAGMENT_SETS,
            ),
            by_lanes,
        )
        for copy, tile, extent, steps in zip(
            copies,
            tiles,
            (inner.warp_m, schedule.block_n, out_head),
            (head_steps, head_steps, k_steps),
            strict=True,
        )
    )
    weights = Fragments(name="p", is_a=True, extent=inner.warp_m, instruction=of_values)
    products = LaneProducts if by_lanes else Products
    scores, values = products(a=q, b=k, into="s"), products(a=weights, b=v)
    stage_bytes = k.tile.nbytes + v.tile.nbytes
    pipeline = plan_pipeline(
        keys_of_part(spec, schedule), inner, stage_bytes, counted=matrices.counts_blocks
    )
    cuda_plan.check_shared(
        dataclasses.replace(inner, num_stages=pipeline.num_stages),
        stage_bytes,
        target,
        beside=max(0, q.tile.nbytes - stage_bytes) if keeps_queries else q.tile.nbytes,
        instead=f"block_n={schedule.block_n // 2}",
    )
    staging = plan_epilogue_staging(output, inner, values, pipeline.nbytes)
    shared_bytes = max(
        pipeline.nbytes,
        (pipeline.first_write if keeps_queries else pipeline.nbytes) + q.tile.nbytes,
        schedule.num_warps * staging.tile.nbytes if staging else 0,
    )
    features = () if by_lanes else ("ldmatrix", instruction.feature)
    return MmaAttentionPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="ptx/attention.ptx.j2",
        launches=(attention_launch(matrices, inner, num_threads, shared_bytes, target),),
        num_threads=num_threads,
        shared_bytes=shared_bytes,
        ptx_version=cuda_plan.ptx_version(target, spec, *features),
        matrices=matrices,
        pipeline=pipeline,
        output=plan_output(output, inner, rows=values.rows, cols=values.cols, run=values.run),
        queries=q,
        scores=scores,
        values=values,
        staging=staging,
    )


def _instruction(
    spec: Attention, dtype: DType, target: Target, schedule: MmaAttention
) -> MatrixInstruction:
    """Return the instruction of a product. Raises ScheduleError if there is none."""
    if isinstance(schedule, FmaAttention) and spec.dtype is DType.F32:
        return MULTIPLY_ADD
    found = instruction_of(Matmul(m=1, n=1, k=1, dtype=dtype), target)
    if isinstance(schedule, FmaAttention) or found is None:
        other = "mma" if isinstance(schedule, FmaAttention) else "fma"
        raise ScheduleError(
            f"mainloop={schedule.mainloop} does not support dtype={spec.dtype} on {target.name}; "
            f"try mainloop={other}"
        )
    return found


def _operand(operand: MmaOperand, by_lanes: bool) -> MmaOperand:
    """Return the operand as lanes read it."""
    if not by_lanes:
        return operand
    tile = operand.tile
    shift, mask, nbytes = {
        "q": (2, 7, tile.row_bytes),
        "k": (0, 3, PAIR * tile.row_bytes),
        "v": (0, 3, PAIR * tile.itemsize),
    }[operand.name]
    fields = {field.name: getattr(operand, field.name) for field in dataclasses.fields(operand)}
    return LaneOperand(**fields, lane_shift=shift, lane_mask=mask, lane_bytes=nbytes)


def _tiles(
    spec: Attention, schedule: MmaAttention, inner: MmaMatmul, instruction: MatrixInstruction
) -> tuple[SwizzledTile, SwizzledTile, SwizzledTile]:
    """Return the tiles of Q, K and V; V follows K in a stage."""
    itemsize, widened = instruction.itemsize, weight_dtype(spec).itemsize
    head = max(instruction.step, padded(spec.head)) * itemsize
    tile = partial(SwizzledTile, itemsize=itemsize)
    k = tile(rows=schedule.block_n, row_bytes=head)
    v = SwizzledTile(
        rows=schedule.block_n,
        row_bytes=inner.block_n * widened,
        base=k.nbytes,
        itemsize=widened,
    )
    return tile(rows=schedule.block_m, row_bytes=head), k, v


def _copies(
    matrices: HeadMatrices,
    target: Target,
    schedule: MmaAttention,
    inner: MmaMatmul,
    tiles: tuple[SwizzledTile, SwizzledTile, SwizzledTile],
) -> list[TileCopy]:
    """Return the copies of Q, K and V."""
    copies = [
        _widening(
            plan_copy(
                Matrix(access=matrices.access(name)),
                rows=tile.rows,
                cols=tile.row_bytes // tile.itemsize,
                num_threads=schedule.num_warps * target.subgroup,
                target=target,
                allow_async=tile.itemsize == matrices.spec.dtype.itemsize,
                place=tile.place,
                stages=schedule.num_stages,
            ),
            tile,
        )
        for name, tile in zip("qkv", tiles, strict=True)
    ]
    spec = matrices.spec
    stop = "%length" if spec.kv_length else ""
    from_k0 = spec.has_window or matrices.is_split
    keyed = (
        dataclasses.replace(
            copy, k_stop=stop, from_k0=from_k0, pages=_pages(spec, copy), k_name="keys"
        )
        for copy in copies[1:]
    )
    return [copies[0], *keyed]


def _widening(copy: TileCopy, tile: SwizzledTile) -> TileCopy:
    """Return the copy with units that fill at most 16 bytes of the tile, if its elements are
    wider."""
    factor = tile.itemsize // copy.matrix.dtype.itemsize
    if factor == 1:
        return copy
    found = dataclasses.replace(
        copy, widens=True, unit_bytes=min(copy.unit_bytes, MAX_ACCESS_BYTES // factor)
    )
    if found.unit_bytes < WORD_BYTES:
        raise ScheduleError(
            f"{copy.name} is copied {found.unit_bytes} B at a time, and e4m3 is widened "
            f"{WORD_BYTES} B at a time; try num_warps=1, or head sizes and strides that are "
            "multiples of 4"
        )
    return found


def _pages(spec: Attention, copy: TileCopy) -> PagedTiles | None:
    if spec.page_size is None:
        return None
    return PagedTiles(
        page_size=spec.page_size,
        stride=spec.strides(copy.name)[0] * spec.dtype.itemsize,
        last=spec.last_page,
        columns=spec.most_pages,
    )


def _check(matrices: HeadMatrices, target: Target, schedule: MmaAttention) -> None:
    cuda_plan.check_powers_of_two(schedule)
    cuda_plan.check_threads(schedule.num_warps * target.subgroup, target, "num_warps=4")
    if schedule.block_m // schedule.num_warps < PIECE:
        raise ScheduleError(
            f"block_m={schedule.block_m} has {schedule.block_m // schedule.num_warps} queries for "
            f"each of num_warps={schedule.num_warps}; a matrix instruction has {PIECE}; try "
            f"block_m={PIECE * schedule.num_warps}"
        )
    if schedule.block_n < PIECE:
        raise ScheduleError(
            f"block_n={schedule.block_n} is less than {PIECE}, the keys of a matrix instruction; "
            f"try block_n={PIECE}"
        )
    check_page_blocks(matrices.spec, schedule.block_n)
    if schedule.num_stages < 2:
        raise ScheduleError(
            f"num_stages={schedule.num_stages} leaves no stage to load while another is "
            "multiplied; try num_stages=2"
        )
    check_parts(matrices.spec, schedule)
    if matrices.rows > MAX_QUERIES:
        raise ScheduleError(
            f"q has {matrices.rows} queries; {target.name} supports {MAX_QUERIES}; split them, or "
            "build for a CPU target"
        )
    check_grid(matrices, target, schedule.block_m)
