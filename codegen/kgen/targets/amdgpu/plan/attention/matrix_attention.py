"""Attention on matrix instructions: two products around an online softmax, all in registers.

A wave holds its queries as fragments of B. Blocks of keys and values go through registers to LDS.
The first product has keys as rows, so a lane holds scores of one query per MMA tile. Lanes exchange
maxima only when a maximum grows. The weights become B of the second product in the lanes that
computed them (query_lanes.py). Source: T. Dao, FlashAttention-2, arXiv 2307.08691, section 3.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import Primitive, steps
from kgen.ops.expression import Expression
from kgen.schedule import FmaAttention, MmaAttention, PingPongAttention
from kgen.spec import Attention, DType, Matmul
from kgen.spec.spec import F32_MAX
from kgen.targets.amdgpu import matrix
from kgen.targets.amdgpu.expressions import (
    DIVISION_ULPS,
    INEXACT,
    AmdgpuRenderer,
    exponentials,
    remainders,
)
from kgen.targets.amdgpu.matrix import MatrixInstruction
from kgen.targets.amdgpu.plan.amdgpu_plan import check_num_threads
from kgen.targets.amdgpu.plan.attention import head_staging
from kgen.targets.amdgpu.plan.attention.head_staging import MAX_BUFFER, HeadStaging
from kgen.targets.amdgpu.plan.attention.query_access import QueryAccess
from kgen.targets.amdgpu.plan.attention.query_lanes import QueryLanes
from kgen.targets.amdgpu.plan.attention.query_matrix_plan import AmdgpuAttentionPlan, f32_literal
from kgen.targets.amdgpu.plan.attention.result_access import ResultAccess
from kgen.targets.amdgpu.plan.attention.score_mask import ScoreMask
from kgen.targets.amdgpu.plan.attention.wave_tiles import AttentionTiles
from kgen.targets.amdgpu.plan.attention.weight_rounding import WeightRounding
from kgen.targets.amdgpu.plan.lds.addressed_tiles import addressed, place
from kgen.targets.amdgpu.plan.lds.tile import LdsTile
from kgen.targets.amdgpu.plan.matmul.epilogue import MAKE_BUFFER
from kgen.targets.amdgpu.plan.matmul.mma import fragment_loads, group_depth
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.attention.grid_limits import check_grid
from kgen.targets.attention.head_matrices import HeadMatrices
from kgen.targets.attention.key_limits import KeyLimits
from kgen.targets.attention.key_parts import (
    STATES,
    check_parts,
    matrices_of,
    softmax_notes,
    with_states,
)
from kgen.targets.attention.page_blocks import check_page_blocks
from kgen.targets.attention.weights import weight_dtype
from kgen.targets.base import Target, launch_of
from kgen.targets.batch import BatchTerm
from kgen.targets.contraction.access import AccessMap
from kgen.targets.contraction.grid import block_tiles
from kgen.targets.expressions import Rendered
from kgen.targets.header import counted
from kgen.targets.llvm_ir import FloatType, VectorType
from kgen.targets.llvm_remainder import Remainder
from kgen.targets.powers_of_two import power_of_two
from kgen_runtime.values import frozen

#: Registers of a lane for addresses, maxima and temporary values.
BASE_REGISTERS = 36
#: Blocks of keys in LDS for halves of waves in ping-pong. While the second half multiplies the
#: values of a block and the keys of the next one, the first half stores the third one.
PING_PONG_STAGES = 4
#: Selectors of V_PERM_B32. The first pair joins the low halves of a lane's word and of the same
#: word of the lane in the other half of the wave; the second pair joins the high halves. Each pair
#: has the selector for the lower half of the wave, then for the upper half.
JOINED_HALVES = ((Staging.LOW_HALVES, 0x01000504), (Staging.HIGH_HALVES, 0x03020706))


@frozen
class BlockBefore:
    """Block of keys that is loaded before the loop: its name, its first key, and the name of the
    block behind it."""

    phase: str
    key: str | int
    behind: str


@frozen
class MatrixAttentionPlan(AmdgpuAttentionPlan):
    """Plan of attention.ll.j2: each workgroup computes `block_m` rows of a matrix of queries."""

    matrices: HeadMatrices
    tiles: AttentionTiles
    q: QueryAccess
    k: HeadStaging
    v: HeadStaging

    # -- the grid ------------------------------------------------------------------------------

    @property
    def output(self) -> Matmul:
        return self.matrices.output

    @property
    def before_loop(self) -> str:
        """Label of the block before the loop over blocks of keys."""
        if self.alternates:
            return "apart"
        return "start" if self.matrices.is_split else "entry"

    def pointers(self, suffix: str = "") -> tuple[str, ...]:
        found = super().pointers(suffix)
        if not self.matrices.is_split:
            return found
        read = tuple(p for p in found if "readonly" in p)
        return (*read, "noalias writeonly %out", f"noalias writeonly %{STATES}")

    @property
    def length_name(self) -> str:
        """Name of the i64 coordinate of the batch element; empty if the batch is 1."""
        return self.matrices.coordinate("batch")

    # -- pages ---------------------------------------------------------------------------------

    def head_terms(self, s: HeadStaging) -> tuple[BatchTerm, ...]:
        """Return the terms of K or V that do not depend on the page."""
        return tuple(term for term in s.batch_terms if term.name != self._page_of(s))

    def page_bytes(self, s: HeadStaging) -> int:
        """Return the bytes between pages of K or V."""
        strides = {term.name: term.stride for term in s.batch_terms}
        return strides.get(self._page_of(s), 0) * s.memory.itemsize

    def _page_of(self, s: HeadStaging) -> str:
        return f"{s.name}_page"

    @property
    def last_column(self) -> int:
        """Number of the last page of a batch element in the page table."""
        return self.spec.most_pages - 1

    # -- fragments -----------------------------------------------------------------------------

    @property
    def instruction(self) -> MatrixInstruction:
        return self.tiles.instruction

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        return self.tiles.parts

    @property
    def split(self) -> bool:
        return self.tiles.split

    @property
    def joined(self) -> bool:
        return self.tiles.joined

    def addressed(self, s: HeadStaging, tiles: tuple[int, ...]) -> tuple[int, ...]:
        return addressed(s.tile.swizzle, tiles)

    def place(self, s: HeadStaging, tiles: tuple[int, ...], tile: int) -> tuple[int, int]:
        return place(s.tile.swizzle, tiles, tile)

    @property
    def slot_type(self) -> str:
        return self.q.slot_type

    @property
    def alternates(self) -> bool:
        """Whether two halves of the waves alternate between products and weights."""
        return isinstance(self.schedule, PingPongAttention)

    @property
    def second_half(self) -> int:
        """First wave of the second half."""
        return self.schedule.num_warps // 2

    @property
    def last_stage(self) -> int:
        return self.schedule.num_stages - 1

    @property
    def before_blocks(self) -> tuple[BlockBefore, ...]:
        """Blocks of keys that are in LDS before the loop."""
        first = BlockBefore(phase="first", key=self.first_key, behind="second")
        second = BlockBefore(phase="second", key="%key.second", behind="third")
        return (first, second) if self.alternates else (first,)

    @property
    def last_before(self) -> BlockBefore:
        return self.before_blocks[-1]

    def lines_of(self, s: HeadStaging) -> tuple[int, ...]:
        groups = self.tiles.value_groups if s.is_v else self.tiles.head_groups
        return tuple(line for group in groups for line in group)

    @property
    def fragment_lines(self) -> tuple[int, ...]:
        """Lines that lanes of group 0 load from the tiles of K and V."""
        return tuple(sorted({*self.lines_of(self.k), *self.lines_of(self.v)}))

    # -- scores and weights --------------------------------------------------------------------

    @property
    def scores(self) -> FloatType:
        """Type of a lane's scores in an MMA tile."""
        return self.instruction.sums_type

    @property
    def narrow(self) -> FloatType:
        """Type of the rounded weights in an operand."""
        return VectorType(dtype=weight_dtype(self.spec), lanes=self.instruction.elements)

    @property
    def rounds_weights(self) -> bool:
        return self.spec.dtype is not DType.F32

    @property
    def narrow_scores(self) -> FloatType:
        """Type of a lane's rounded weights in an MMA tile."""
        return self.scores.of(weight_dtype(self.spec))

    @property
    def rounding(self) -> WeightRounding:
        is_packed = self.target.has("packed-bf16")
        return WeightRounding(
            registers=self.instruction.registers,
            in_words=self.spec.dtype is DType.BF16 and not is_packed,
        )

    @property
    def casts_weights(self) -> bool:
        return str(self.narrow) != self.instruction.operand

    @property
    def exchanged_words(self) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Words of rounded weights in an MMA tile that both halves of a wave exchange.

        Each entry has the number of a word, and pairs of a half of that word (0 or 1) and the
        number of the exchanged word that is built from it.
        """
        return tuple(
            (word, ((0, 2 * word), (1, 2 * word + 1)))
            for word in range(self.instruction.registers // 2)
        )

    @property
    def operand_words(self) -> str:
        """IR type of an operand's 32-bit words, each of two elements."""
        return f"<{self.instruction.elements // 2} x i32>"

    @property
    def halvings(self) -> tuple[tuple[int, int, range, range], ...]:
        """Steps that reduce the sum over a lane's scores to two partial sums.

        Each step has the widths after and before it, and the two ranges of elements that it adds.
        """
        found, width = [], self.instruction.registers // 2
        while width > 1:
            found.append((width, 2 * width, range(width), range(width, 2 * width)))
            width //= 2
        return tuple(found)

    @property
    def lane_keys(self) -> range:
        """Lane groups of a query, each with the weight of one key of a tile; empty unless lanes
        need the weights of all keys."""
        return range(self.tiles.group_count if self.instruction.by_lane else 0)

    @property
    def group_bytes(self) -> int:
        """Distance of lane groups in the operand of ds.bpermute."""
        return 4 * self.instruction.n

    @property
    def joined_halves(self) -> tuple[tuple[int, int], ...]:
        return JOINED_HALVES

    @property
    def lowest(self) -> str:
        """Start value of the maximum: finite, so that a score of -infinity has the weight 0."""
        return f32_literal(-F32_MAX)

    @property
    def minus_infinity(self) -> str:
        return f32_literal(-math.inf)

    @property
    def ln_2(self) -> str:
        return f32_literal(math.log(2.0))

    @property
    def key_count(self) -> str | int:
        """Number of keys: a constant, or the name of a value that depends on the input."""
        return "%length" if self.spec.kv_length else self.spec.keys

    @property
    def first_key(self) -> str | int:
        """First key of the workgroup's first block."""
        return "%first_key" if self.spec.has_window or self.matrices.is_split else 0

    @property
    def end_key(self) -> str | int:
        """Key after the workgroup's last block."""
        return "%end_key" if self.is_counted else self.keys_of_blocks

    @property
    def shift_from_length(self) -> int:
        """Position of query 0, relative to the number of keys if positions count from the end."""
        return -self.spec.queries if self.spec.counts_from_end else 0

    @property
    def window_shift(self) -> int:
        """Offset of a window's first key from the query's position."""
        return -self.spec.window_before

    @property
    def limits(self) -> KeyLimits:
        return KeyLimits.of_rows(self.matrices, self.tiles.warp_m, self.schedule.block_n)

    @property
    def blocks(self) -> int:
        """Largest number of key blocks that a workgroup multiplies."""
        return self.limits.blocks

    @property
    def keys_of_blocks(self) -> int:
        return self.blocks * self.schedule.block_n

    @property
    def is_counted(self) -> bool:
        return self.matrices.counts_blocks

    @cached_property
    def mask(self) -> ScoreMask | None:
        if self.spec.mask is None:
            return None
        return ScoreMask(
            matrices=self.matrices, lanes=self.tiles.lanes, tiles=len(self.tiles.key_tiles)
        )

    # -- formed scores -------------------------------------------------------------------------

    @property
    def forming(self) -> Expression | None:
        """Expression of a score in its product x; None if the scale is folded into exponents."""
        return self.units.score if self.units.renders_scores else None

    def formed(self, score: str) -> Rendered:
        """Return the lines that compute %`score`.formed from a tile's products %`score`.product."""
        assert self.forming is not None
        return self._renderer.render(self.forming, {"x": f"%{score}.product"}, f"%{score}.formed")

    @property
    def _renderer(self) -> AmdgpuRenderer:
        return AmdgpuRenderer(type=FloatType(dtype=DType.F32, lanes=self.scores.lanes))

    @property
    def _primitives(self) -> frozenset[Primitive]:
        if self.forming is None:
            return frozenset()
        lowered = self._renderer.lowered(self.forming)
        return frozenset(step.primitive for step in steps(lowered))

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        return exponentials((self._renderer.type, self._primitives))

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        return remainders(self._primitives)

    @property
    def division_ulps(self) -> str:
        return f"{DIVISION_ULPS:e}" if self._primitives & set(INEXACT) else ""

    # -- results -------------------------------------------------------------------------------

    @property
    def results(self) -> ResultAccess:
        return ResultAccess(matrices=self.matrices, tiles=self.tiles)

    @property
    def outside(self) -> int:
        """Offset outside every buffer, even after a row's offset is added."""
        return -MAX_BUFFER

    # -- declarations --------------------------------------------------------------------------

    @property
    def has_barriers(self) -> bool:
        return True

    @property
    def target_features(self) -> tuple[str, ...]:
        """LLVM features: without real-true16, which moves register halves one by one."""
        return ("-real-true16",) if self.target.has("real-true16") else ()

    @property
    def raises_priority(self) -> bool:
        """Whether waves multiply keys at raised priority, so that the products of a wave overlap
        with the softmax of another wave of the SIMD. On RDNA, one unit executes both."""
        return self.target.has("mfma")

    @property
    def declarations(self) -> tuple[str, ...]:
        i = self.instruction
        v = self.scores
        loads = {self.k.words, self.v.words, self.q.type.words}
        if self.mask is not None:
            loads.add(self.mask.words)
        found = [
            "i32 @llvm.amdgcn.workgroup.id.y()",
            "i32 @llvm.amdgcn.workgroup.id.z()",
            "i32 @llvm.amdgcn.readfirstlane.i32(i32)",
            "void @llvm.amdgcn.sched.barrier(i32 immarg)",
            "void @llvm.amdgcn.s.barrier()",
            "i32 @llvm.smin.i32(i32, i32)",
            "i32 @llvm.smax.i32(i32, i32)",
            f"i{self.wave} @llvm.amdgcn.ballot.i{self.wave}(i1)",
            "i32 @llvm.amdgcn.ds.bpermute(i32, i32)",
            "float @llvm.amdgcn.exp2.f32(float)",
            "float @llvm.amdgcn.rcp.f32(float)",
            "float @llvm.maxnum.f32(float, float)",
            "float @llvm.fabs.f32(float)",
            f"{v} @llvm.fma.{v.suffix}({v}, {v}, {v})",
            f"{i.accumulator} @{i.intrinsic}({i.signature})",
            MAKE_BUFFER,
            *sorted(
                f"{t} @llvm.amdgcn.raw.ptr.buffer.load.{t.suffix}"
                "(ptr addrspace(8), i32, i32, i32 immarg)"
                for t in loads
            ),
            f"void @llvm.amdgcn.raw.ptr.buffer.store.{self.results.words.suffix}"
            f"({self.results.words}, ptr addrspace(8), i32, i32, i32 immarg)",
        ]
        if self.raises_priority:
            found.append("void @llvm.amdgcn.s.setprio(i16 immarg)")
        if i.replicated:
            found.append("i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1, i1)")
        if i.replicated or self.rounding.in_words:
            found.append("i32 @llvm.amdgcn.perm(i32, i32, i32)")
        if self.matrices.is_split or self.spec.lse:
            found.append("float @llvm.fma.f32(float, float, float)")
        if self.matrices.is_split:
            found.append(
                "void @llvm.amdgcn.raw.ptr.buffer.store.v2f32"
                "(<2 x float>, ptr addrspace(8), i32, i32, i32 immarg)"
            )
        elif self.spec.lse:
            found.append("float @llvm.amdgcn.log.f32(float)")
            found.append(
                "void @llvm.amdgcn.raw.ptr.buffer.store.f32"
                "(float, ptr addrspace(8), i32, i32, i32 immarg)"
            )
        for part in (self.k, self.v, self.q):
            if part.widens_bytes:
                found += part.float8.declarations
        if self.forming is not None:
            found += self._renderer.declarations(self.forming)
        return tuple(dict.fromkeys(found))

    # -- the comment on top --------------------------------------------------------------------

    @property
    def notes(self) -> tuple[str, ...]:
        return softmax_notes(
            self.matrices,
            blocks=self.blocks,
            block_n=self.schedule.block_n,
            is_counted=self.is_counted,
            resident=f"{'queries, ' * self.tiles.keeps_queries}scores and results",
        )

    @property
    def memory_map(self) -> tuple[str, ...]:
        sides = (self.k, self.v)
        found = (
            f"@{s.name}_tile: {s.tile.dtype} [line of {s.tile.slot_k} "
            f"{'keys' if s.is_v else 'elements'}: {s.tile.lines}]"
            f"[slot of 1 {'element' if s.is_v else 'key'}: {s.tile.slots}], "
            f"{s.tile.nbytes} B, slot = {s.tile.swizzle}"
            for s in sides
        )
        return (f"LDS, {sum(s.tile.nbytes for s in sides)} B", *found)


def plan_attention(spec: Attention, target: Target, schedule: MmaAttention) -> MatrixAttentionPlan:
    """Return the plan; if keys are divided, of the first kernel.

    Raises ScheduleError for blocks that do not fit.
    """
    tiles = tiles_of(spec, target, schedule)
    threads = schedule.num_warps * target.subgroup
    matrices = matrices_of(spec, schedule)
    output = matrices.output
    q, k, v = map(matrices.access, "qkv")
    k = dataclasses.replace(k, row=k.k, k=k.row, inner="k")
    blocks = block_tiles(output, schedule.block_m, output.n)
    grid = (blocks.cols, blocks.rows, blocks.batch)
    # A tile describes a block of `out`; `lse` has other axes.
    tile = None if spec.lse else blocks.by_coordinates
    launch = launch_of(spec, grid, threads, tile)
    plan = MatrixAttentionPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="amdgpu/attention.ll.j2",
        launches=(with_states(launch, matrices),),
        matrices=matrices,
        tiles=tiles,
        q=QueryAccess(access=q, tiles=tiles),
        k=_staging(k, tiles, target),
        v=_staging(v, tiles, target),
    )
    for name, rows in (("q", plan.q), ("mask", plan.mask)):
        if rows is not None and rows.divides_rows and rows.matrix_bytes >= MAX_BUFFER:
            raise ScheduleError(
                f"packs_heads=1 spans {rows.matrix_bytes} B of {name}; {target.name} allows "
                f"{MAX_BUFFER - 1}; try packs_heads=0"
            )
    return plan


def tiles_of(spec: Attention, target: Target, schedule: MmaAttention) -> AttentionTiles:
    """Return the tiles of a schedule. Raises ScheduleError for blocks that do not fit."""
    instruction = instruction_of(spec, target, schedule)
    check_num_threads(target, schedule.num_warps * target.subgroup)
    lanes = QueryLanes(instruction=instruction, wave=target.subgroup)
    tiles = AttentionTiles(spec=spec, schedule=schedule, lanes=lanes)
    if tiles.held_registers + BASE_REGISTERS > target.limits["registers"]:
        tiles = dataclasses.replace(tiles, keeps_queries=False)
    _check_tiles(tiles, target)
    check_page_blocks(spec, schedule.block_n)
    check_parts(spec, schedule)
    matrices = matrices_of(spec, schedule)
    matrices.check_rows()
    check_grid(matrices, target, schedule.block_m)
    _check_buffers(spec, target, schedule)
    return tiles


def _staging(access: AccessMap, tiles: AttentionTiles, target: Target) -> HeadStaging:
    """Return the staging of K or V."""
    i, keys, is_v = tiles.instruction, tiles.schedule.block_n, access.name == "v"
    rows, depth = (tiles.value_rows, keys) if is_v else (keys, tiles.key_depth)
    elements = tuple(map(tiles.lanes.element, range(i.m)))
    return head_staging.make(
        access,
        target=target,
        tile=LdsTile(
            dtype=weight_dtype(tiles.spec),
            stages=tiles.schedule.num_stages,
            rows=rows,
            depth=depth,
            slot_rows=1,
            slot_k=i.slot_k,
            fragment_rows=i.m,
        ),
        threads=tiles.schedule.num_warps * target.subgroup,
        # The bank conflicts of two tiles are those of all: further tiles repeat the pattern.
        loads=fragment_loads(
            i,
            target.subgroup,
            min(2, rows // i.m),
            (lambda lane: elements[i.lane_row(lane)]) if is_v else i.lane_row,
        ),
        moves=tiles.lanes.key_moves(keys) if is_v else (),
    )


def instruction_of(spec: Attention, target: Target, schedule: MmaAttention) -> MatrixInstruction:
    """Return the best matrix instruction whose shape divides the blocks."""
    known = matrix.of_attention(target, spec.dtype)
    fits = FmaAttention if known[0].by_lane else MmaAttention
    if isinstance(schedule, FmaAttention) is not known[0].by_lane:
        raise ScheduleError(
            f"mainloop={schedule.mainloop} is not supported by {target.name} for attention of "
            f"{spec.dtype}; try mainloop={fits.mainloop}"
        )
    for name in ("block_m", "block_n", "num_warps"):
        value = getattr(schedule, name)
        if value & (value - 1):
            raise ScheduleError(
                f"{name}={value} is not a power of two; try {name}={power_of_two(value) // 2}"
            )
    rows = schedule.block_m // schedule.num_warps
    for instruction in known:
        depth = group_depth(instruction, target.subgroup)
        if rows % instruction.n == 0 and schedule.block_n % max(depth, instruction.m) == 0:
            return instruction
    smallest = min(known, key=lambda i: (i.n, i.k))
    if rows % smallest.n:
        raise ScheduleError(
            f"block_m={schedule.block_m} has {rows} queries for each of "
            f"num_warps={schedule.num_warps}; a matrix instruction of {target.name} has "
            f"{smallest.n}; try block_m={smallest.n * schedule.num_warps}"
        )
    least = max(group_depth(smallest, target.subgroup), smallest.m)
    raise ScheduleError(
        f"block_n={schedule.block_n} is less than {least}, the keys of a fragment of "
        f"{target.name}; try block_n={least}"
    )


def _check_tiles(tiles: AttentionTiles, target: Target) -> None:
    schedule = tiles.schedule
    alternates = isinstance(schedule, PingPongAttention)
    if schedule.num_stages != (stages := PING_PONG_STAGES if alternates else 1):
        raise ScheduleError(
            f"num_stages={schedule.num_stages} is not supported by {target.name} with "
            f"mainloop={schedule.mainloop}, which has {counted(stages, 'block')} of keys in LDS; "
            f"try num_stages={stages}"
        )
    if alternates and (schedule.num_warps < 2 or not target.has("mfma")):
        why = "no MFMA" if schedule.num_warps > 1 else "no second half of its waves"
        raise ScheduleError(
            f"mainloop=pingpong needs two halves of waves that use MFMA; {target.name} with "
            f"num_warps={schedule.num_warps} has {why}; try "
            f"{'mainloop=mma' if schedule.num_warps > 1 else 'num_warps=8'}"
        )
    if tiles.lds_bytes > (limit := target.limits["shared_memory"]):
        raise ScheduleError(
            f"block_n={schedule.block_n} needs {tiles.lds_bytes} B of LDS; {target.name} allows "
            f"{limit}; try block_n={schedule.block_n // 2}"
        )
    elements = schedule.block_n * min(tiles.key_depth, tiles.value_rows)
    if elements < (threads := schedule.num_warps * target.subgroup):
        raise ScheduleError(
            f"block_n={schedule.block_n} has {elements} elements of k or v for the {threads} "
            f"threads of num_warps={schedule.num_warps}; try block_n="
            f"{schedule.block_n * threads // elements}"
        )
    registers, limit = tiles.held_registers + BASE_REGISTERS, target.limits["registers"]
    if registers > limit:
        several = len(tiles.query_tiles) > 1
        field, value = (
            ("num_warps", 2 * schedule.num_warps) if several else ("block_n", schedule.block_n // 2)
        )
        raise ScheduleError(
            f"block_m={schedule.block_m} and block_n={schedule.block_n} need {registers} registers "
            f"of a lane; {target.name} has {limit}; try {field}={value}"
        )


def _check_buffers(spec: Attention, target: Target, schedule: MmaAttention) -> None:
    blocks = {
        "q": ("block_m", spec.strides("q")[2], spec.dtype),
        "k": ("block_n", spec.strides("k")[2], spec.dtype),
        "v": ("block_n", spec.strides("v")[2], spec.dtype),
        "out": ("block_m", spec.strides("out")[2], spec.out),
    }
    if spec.mask_dtype is not None:
        blocks["mask"] = ("block_m", spec.mask_strides[2], spec.mask_dtype)
    for name, (field, stride, dtype) in blocks.items():
        size = getattr(schedule, field)
        spanned = (size + 1) * stride * dtype.itemsize
        if spanned >= MAX_BUFFER:
            raise ScheduleError(
                f"{field}={size} spans {spanned} B of {name}; {target.name} allows "
                f"{MAX_BUFFER - 1}; try {field}={max(1, size // 2)}, or smaller strides"
            )
