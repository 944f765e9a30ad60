"""Matmul on tensor cores: ldmatrix loads fragments from shared memory, mma.sync multiplies them."""

from __future__ import annotations

import dataclasses

from kgen.errors import ScheduleError
from kgen.schedule import MmaMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.partial_sums import PartialSums
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.epilogue.output import plan_output
from kgen.targets.cuda.plan.epilogue.staging import EpilogueStaging, plan_epilogue_staging
from kgen.targets.cuda.plan.matmul import MatmulPlan, order_tiles, plan_pipeline
from kgen.targets.cuda.plan.matrix import matrices
from kgen.targets.cuda.plan.mma.fragments import EIGHT, PIECE, FragmentLoad, MmaOperand, is_gathered
from kgen.targets.cuda.plan.mma.instruction import MatrixInstruction, instruction_of
from kgen.targets.cuda.plan.mma.launch import arrange, streams, ticket_bytes
from kgen.targets.cuda.plan.mma.limits import check, registers_held
from kgen.targets.cuda.plan.mma.products import Mma, Products, PromotedSum, promotion, rest_of
from kgen.targets.cuda.plan.reduction.last_arriving import is_last_arriving
from kgen.targets.cuda.plan.staging.choice import plan_copy
from kgen.targets.cuda.plan.staging.copy import TileCopy
from kgen.targets.cuda.plan.staging.prefetch import Share, share_out
from kgen.targets.cuda.plan.staging.tiles import CHUNK_BYTES, SwizzledTile
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen


@frozen
class KStep:
    """Step of 32 bytes of k: its products, and the loads for later steps.

    `loads` load the fragments of the next step. The last step first `turns` to the next K-tile.
    `rounded` are fragments of this step that are rounded to the instruction's type; `paired` are
    registers that two neighbours of m (or n) still share. `promoted` are the reduced-precision sums
    that are promoted after the step.
    """

    k: int
    last: int
    rounded: tuple[str, ...]
    paired: tuple[tuple[str, str], ...]
    mmas: tuple[Mma, ...]
    promoted: tuple[PromotedSum, ...]
    loads: tuple[FragmentLoad, ...]
    shares: tuple[Share, ...]
    turns: bool


@frozen
class MmaPlan(MatmulPlan):
    schedule: MmaMatmul
    products: Products
    staging: EpilogueStaging | None

    @property
    def operands(self) -> tuple[MmaOperand, MmaOperand]:
        a, b = self.products.a, self.products.b
        assert isinstance(a, MmaOperand) and isinstance(b, MmaOperand)
        return a, b

    @property
    def paired(self) -> tuple[MmaOperand, ...]:
        """Operands of bytes that are transposed while they are loaded."""
        return tuple(operand for operand in self.operands if operand.paired)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on copies, fragments and the precision of sums."""
        found = list(super().remarks)
        for operand in self.paired:
            found.append(
                f"{operand.name.upper()}: k becomes the inner dimension in registers: ldmatrix "
                "transposes pairs of bytes, prmt parts them"
            )
        if self.promotes_every:
            found.append(f"sums are moved to f32 registers every {self.promotes_every} of k")
        return tuple(found)

    @property
    def promotes_every(self) -> int:
        """Depth of k after which sums leave the tensor core's registers; 0 for never."""
        return promotion(self.spec, self.schedule) if self.products.promoted else 0

    @property
    def warps_n_log2(self) -> int:
        return log2(self.schedule.block_n // self.schedule.warp_n)

    @property
    def warps_n_mask(self) -> int:
        return self.schedule.block_n // self.schedule.warp_n - 1

    @property
    def ticket_at(self) -> int:
        """Shared-memory offset of the ticket of a CTA of stream-k, after all tiles."""
        return self.shared_bytes - ticket_bytes(self.schedule)

    @property
    def instruction(self) -> MatrixInstruction:
        return self.operands[0].instruction

    @property
    def is_tight(self) -> bool:
        """Whether the loop would need too many registers if the assembler unrolled it."""
        is_tight = self.last_arriving is not None and self.last_arriving.is_tight
        is_guarded = any(operand.copy.is_guarded for operand in self.operands)
        return self.promotes_every > 0 or self.instruction.made_of_f16 or is_tight or is_guarded

    @property
    def single_step(self) -> bool:
        """Whether a tile is a single step, so that its fragments have one set of registers."""
        return self.schedule.block_k == self.instruction.step

    @property
    def first_fragments(self) -> tuple[FragmentLoad, ...]:
        return self._fragments(0)

    def _fragments(self, k: int) -> tuple[FragmentLoad, ...]:
        a, b = self.operands
        return a.loads(k) + b.loads(k)

    @property
    def rests(self) -> tuple[str, ...]:
        """Registers of the rounding errors of a step's fragments, if they are multiplied."""
        if not self.instruction.splits:
            return ()
        return tuple(rest_of(r) for operand in self.operands for r in operand.registers(0))

    @property
    def k_steps(self) -> tuple[KStep, ...]:
        depth, step = self.schedule.block_k, self.instruction.step
        interval = self.promotes_every or depth
        copies = [operand.copy for operand in self.operands]
        shares = share_out(copies, depth // step) if self.pipeline.loads_in_loop else {}
        promotions = self.products.promotions
        steps = []
        for k in range(0, depth, step):
            turns = k + step == depth and self.pipeline.loops
            loads = self._fragments((k + step) % depth) if turns or k + step < depth else ()
            registers = [r for operand in self.operands for r in operand.registers(k)]
            steps.append(
                KStep(
                    k=k,
                    last=k + step - 1,
                    rounded=tuple(registers) if self.instruction.rounds else (),
                    paired=tuple(pair for operand in self.operands for pair in operand.pairs(k)),
                    mmas=self.products.of_step(k, begins=bool(promotions) and k % interval == 0),
                    promoted=promotions if (k + step) % interval == 0 else (),
                    loads=loads,
                    shares=shares.get(k // step, ()),
                    turns=turns,
                )
            )
        return tuple(steps)


def plan_mma(
    spec: Matmul, target: Target, schedule: MmaMatmul, whole: Matmul | None = None
) -> MmaPlan:
    """Return the plan.

    If the batch of `spec` consists of split-k slices, `whole` is the product that they belong to.
    The kernel stores that product if the schedule adds slices in the same kernel, and the slices
    otherwise. Raises ScheduleError if the schedule does not fit the instruction or the target.
    """
    instruction = instruction_of(spec, target)
    if instruction is None:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} needs {spec.dtype} tensor cores with f32 accumulators, "
            f"which {target.name} does not have; try mainloop=fma"
        )
    num_threads = schedule.num_warps * target.subgroup
    check(spec, schedule, instruction, num_threads, target)
    tiles = _tiles(spec, schedule, instruction)
    copies = _copies(spec, target, schedule, tiles, whole)
    cuda_plan.check_registers(
        registers_held(spec, schedule, instruction, target)
        + sum(copy.held_registers for copy in copies),
        f"a warp tile of {schedule.warp_m}x{schedule.warp_n}",
        num_threads,
        target,
        f"warp_n={max(PIECE, schedule.warp_n // 2)}",
    )
    stage_bytes = sum(tile.nbytes for tile in tiles)
    cuda_plan.check_shared(schedule, stage_bytes, target, beside=ticket_bytes(schedule))
    pipeline = plan_pipeline(spec.k, schedule, stage_bytes, counted=streams(schedule))
    products = _products(spec, schedule, instruction, copies, tiles)
    stored = whole if whole is not None and is_last_arriving(schedule) else spec
    staging = plan_epilogue_staging(stored, schedule, products, pipeline.nbytes)
    staging_bytes = schedule.num_warps * staging.tile.nbytes if staging else 0
    output = plan_output(stored, schedule, rows=products.rows, cols=products.cols, run=products.run)
    sums = PartialSums(names=products.sums, dtype=stored.accumulate, threads=num_threads)
    shared = arrange(
        stored, target, schedule, sums, pipeline.k_tiles, max(pipeline.nbytes, staging_bytes)
    )
    return MmaPlan(
        spec=stored,
        target=target,
        schedule=schedule,
        template="ptx/matmul_mma.ptx.j2",
        launches=(shared.launch,),
        workspaces=shared.workspaces,
        num_threads=num_threads,
        shared_bytes=shared.shared_bytes,
        ptx_version=cuda_plan.ptx_version(target, stored, "ldmatrix", instruction.feature),
        pipeline=pipeline,
        output=dataclasses.replace(output, repeated=shared.stream is not None),
        last_arriving=shared.last_arriving,
        stream=shared.stream,
        raster=shared.raster,
        products=products,
        staging=staging,
    )


def _copies(
    spec: Matmul,
    target: Target,
    schedule: MmaMatmul,
    tiles: tuple[SwizzledTile, SwizzledTile],
    whole: Matmul | None,
) -> list[TileCopy]:
    """Return the copies of A and B. They read the operands of `whole`, of which the spec may be
    split-k slices. With stream-k, a CTA can begin at any K-tile."""
    copies = [
        plan_copy(
            matrix,
            rows=tile.rows,
            cols=tile.row_bytes // tile.itemsize,
            num_threads=schedule.num_warps * target.subgroup,
            target=target,
            allow_async=True,
            place=tile.place,
            stages=schedule.num_stages,
            part_k=schedule.block_k if streams(schedule) else spec.k if whole else 0,
        )
        for matrix, tile in zip(matrices(whole or spec), tiles, strict=True)
    ]
    return order_tiles(spec.k, schedule.block_k, copies)


def _products(
    spec: Matmul,
    schedule: MmaMatmul,
    instruction: MatrixInstruction,
    copies: list[TileCopy],
    tiles: tuple[SwizzledTile, SwizzledTile],
) -> Products:
    """Return a warp's products, for each step of k."""
    k_steps = tuple(range(0, schedule.block_k, instruction.step))
    extents = (schedule.warp_m, schedule.warp_n)
    a, b = (
        MmaOperand(
            name=copy.name,
            is_a=copy.name == "a",
            copy=copy,
            tile=tile,
            extent=extent,
            instruction=instruction,
            k_steps=k_steps,
            k_inner=copy.matrix.k_inner,
        )
        for copy, tile, extent in zip(copies, tiles, extents, strict=True)
    )
    return Products(a=a, b=b, promoted=promotion(spec, schedule) > 0)


def _tiles(
    spec: Matmul, schedule: MmaMatmul, instruction: MatrixInstruction
) -> tuple[SwizzledTile, SwizzledTile]:
    """Return the tiles of A and B, with rows and columns in the stored order of the matrices."""
    itemsize = instruction.itemsize

    def tile(block: int, k_inner: bool, base: int) -> SwizzledTile:
        rows, cols = (block, schedule.block_k) if k_inner else (schedule.block_k, block)
        # Eight columns of a lane are read at once; ldmatrix reads 16 bytes.
        chunk = EIGHT * itemsize if is_gathered(k_inner, instruction) else CHUNK_BYTES
        return SwizzledTile(
            rows=rows, row_bytes=cols * itemsize, base=base, itemsize=itemsize, chunk_bytes=chunk
        )

    a, b = matrices(spec)
    a_tile = tile(schedule.block_m, a.k_inner, 0)
    return a_tile, tile(schedule.block_n, b.k_inner, a_tile.nbytes)
