"""The plan of attention.ll.j2: blocks of queries against blocks of keys, with the online softmax.

M. Milakov and N. Gimelshein, Online normalizer calculation for softmax, arXiv 1805.02867; T. Dao,
FlashAttention-2, arXiv 2307.08691, section 3.1.
"""

from __future__ import annotations

import math
from functools import cached_property

from kgen.errors import ScheduleError
from kgen.ops import parse
from kgen.ops.expression import Expression
from kgen.ops.signs import EXP2_NONPOSITIVE
from kgen.schedule import CpuAttention
from kgen.spec import Attention, DType
from kgen.spec.attention import Diagonal, EmptyRows
from kgen.targets.base import Target
from kgen.targets.cpu.expressions import CpuRenderer
from kgen.targets.cpu.plan.accumulators import Accumulators
from kgen.targets.cpu.plan.cpu_plan import Buffer, CpuPlan, access
from kgen.targets.cpu.plan.math.functions import Functions, functions_for
from kgen.targets.cpu.plan.packing.panel import TRANSPOSE_BYTES, Stage, transpose_stages, zip_stages
from kgen.targets.cpu.plan.tiles.tile import RegisterTile, tile
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.header import counted
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.values import frozen

#: Elements of A in registers at a time: the next one is loaded while one is multiplied.
BROADCASTS = 2
#: Names of the two products: Q K^T, and weights times V.
SCORES, VALUES = "scores", "values"


@frozen
class TilePart:
    """Function that computes one register tile of scores or of results.

    `b_start` and `out_start` are the byte offsets of its first column in B and in the sums. `steps`
    is the trip count, `b_row` the bytes between rows of B. A advances by one f32 per step.
    """

    name: str
    tile: RegisterTile
    b_start: int
    out_start: int
    steps: str
    b_row: int
    b: Access
    is_loaded: bool

    @property
    def carried(self) -> tuple[tuple[str, str, str], ...]:
        """Names of the sums, what they are at first, and after a step."""
        first = "%{}.start" if self.is_loaded else "zeroinitializer"
        return tuple(
            (f"%{s.name}", first.format(s.name), f"%{s.name}.next") for s in self.tile.sums
        )


@frozen
class VectorSlice:
    """Vector of a row: its index, its first element, and its number of valid elements (0: all)."""

    index: int
    first: int
    valid: int


@frozen
class SoftmaxConstants:
    """LLVM operands: vectors, and the scalar `minus_infinity`."""

    log2_e: str
    ln_2: str
    scale: str
    lowest: str
    hidden: str
    minus_infinity: str


@frozen
class AttentionPlan(CpuPlan):
    """Plan of attention; a task is a block of queries of a batch element and K/V head."""

    spec: Attention
    schedule: CpuAttention
    stored: Access

    # -- the grid ------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Queries of all heads that share a K/V head."""
        return self.spec.group * self.spec.queries

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.schedule.block_q)

    @property
    def task_words(self) -> str:
        return f"up to {counted(min(self.schedule.block_q, self.rows), 'query', 'queries')}"

    # -- strides, in bytes ---------------------------------------------------------------------

    def strides(self, name: str) -> tuple[int, ...]:
        """Bytes from one batch element, head and row of q, k, v or out to the next."""
        size = self.out.itemsize if name == "out" else self.stored.itemsize
        return tuple(step * size for step in self.spec.strides(name))

    @property
    def mask(self) -> Access | None:
        dtype = self.spec.mask_dtype
        return None if dtype is None else access(self.target, dtype, self.compute)

    @property
    def mask_strides(self) -> tuple[int, ...]:
        assert self.mask
        return tuple(step * self.mask.itemsize for step in self.spec.mask_strides)

    @property
    def mask_is_shared(self) -> bool:
        """Whether all keys of a query share an element of the mask."""
        return self.spec.mask_strides[3] == 0

    @property
    def row_pointers(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Tensors with a row for each query: name, and bytes from one batch element, head and query
        to the next."""
        found = [("q", self.strides("q")), ("out", self.strides("out"))]
        if self.mask:
            found.append(("mask", self.mask_strides[:3]))
        if self.spec.lse:
            size, (_, heads, queries, _) = DType.F32.itemsize, self.spec.q
            found.append(("lse", (heads * queries * size, queries * size, size)))
        return tuple(found)

    @property
    def kept_pointers(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Row pointers that are read again after the prologue."""
        return tuple(each for each in self.row_pointers if each[0] != "q")

    # -- positions -----------------------------------------------------------------------------

    @property
    def shift(self) -> bool:
        """Whether positions of queries depend on the number of keys."""
        return self.spec.diagonal is Diagonal.BOTTOM_RIGHT

    @property
    def has_limits(self) -> bool:
        return self.spec.causal or self.spec.window is not None

    @property
    def window_before(self) -> int:
        """Distance from a position to the first key of its window."""
        assert self.spec.window is not None
        return self.spec.window - 1

    @property
    def reach_behind(self) -> int:
        """Distance from a position to the end of the keys that its query attends to."""
        if self.spec.causal:
            return 1
        assert self.spec.window is not None
        return self.spec.window

    @property
    def extremes(self) -> tuple[tuple[str, str, str], ...]:
        """Loop-carried bounds as name, first value, next value: the union of the keys of the
        block's queries (`keys.*`), and their intersection (`all.*`)."""
        keys = str(self.spec.keys)
        first = {"keys.start": keys, "keys.stop": "0", "all.start": "0", "all.stop": keys}
        return tuple((f"%{name}", value, f"%{name}.next") for name, value in first.items())

    @property
    def extreme_steps(self) -> tuple[tuple[str, str, str], ...]:
        return (
            ("keys.start", "smin", "%r.start"),
            ("keys.stop", "smax", "%r.stop"),
            ("all.start", "smax", "%r.start"),
            ("all.stop", "smin", "%r.stop"),
        )

    # -- vectors -------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        return self.compute.count

    @property
    def plain(self) -> Access:
        """f32 in the buffers."""
        return access(self.target, DType.F32, self.compute)

    @property
    def acc(self) -> Accumulators:
        return Accumulators(
            vector=self.compute,
            finished=self.compute,
            rows=self.schedule.block_q,
            row=self.out_row,
            base="%acc",
            in_out=False,
        )

    @property
    def sum_vector(self) -> Vector:
        return self.compute

    def chunks(self, length: int) -> tuple[VectorSlice, ...]:
        """Vectors of a row of so many elements."""
        return tuple(
            VectorSlice(
                index=i, first=i * self.lanes, valid=min(length - i * self.lanes, self.lanes)
            )
            if length - i * self.lanes < self.lanes
            else VectorSlice(index=i, first=i * self.lanes, valid=0)
            for i in range(-(-length // self.lanes))
        )

    @cached_property
    def head_chunks(self) -> tuple[VectorSlice, ...]:
        return self.chunks(self.spec.head)

    @cached_property
    def out_chunks(self) -> tuple[VectorSlice, ...]:
        return self.chunks(self.spec.out_head)

    @property
    def key_chunks(self) -> tuple[VectorSlice, ...]:
        """Vectors of a row of scores."""
        return self.chunks(self.schedule.block_k)

    @property
    def head_row(self) -> int:
        """Bytes of a query in its buffer, whole vectors."""
        return len(self.head_chunks) * self.compute.bytes

    @property
    def score_row(self) -> int:
        return len(self.key_chunks) * self.compute.bytes

    @property
    def out_row(self) -> int:
        return len(self.out_chunks) * self.compute.bytes

    @property
    def numbers(self) -> str:
        """Vector 0, 1, 2, ... of numbers of keys."""
        return self.compute.integers.of_values(range(self.lanes))

    # -- K, transposed -------------------------------------------------------------------------

    @property
    def stages(self) -> tuple[Stage, ...]:
        zips = self.compute.bytes == TRANSPOSE_BYTES
        return (zip_stages if zips else transpose_stages)(self.lanes)

    def valid_rows(self, chunk: VectorSlice) -> range:
        """Rows of a transposed block that are elements of a head."""
        return range(chunk.valid or self.lanes)

    def packed_row(self, chunk: VectorSlice, row: int) -> int:
        """Bytes from the start of packed K to a row of a transposed block."""
        return (chunk.first + row) * self.score_row

    # -- register tiles ------------------------------------------------------------------------

    @property
    def last_rows(self) -> int:
        """Rows of the last block."""
        return self.rows - (self.blocks - 1) * self.schedule.block_q

    @property
    def bottom(self) -> int:
        """Rows of the tile below the whole ones of the last block; 0 if there is none."""
        return self.last_rows % self.schedule.mr

    @property
    def heights(self) -> tuple[int, ...]:
        whole = min(self.schedule.block_q, self.rows) >= self.schedule.mr
        return tuple(n for n in (self.schedule.mr if whole else 0, self.bottom) if n)

    @property
    def has_whole(self) -> bool:
        return self.schedule.mr in self.heights

    def parts(self, product: str, height: int) -> tuple[TilePart, ...]:
        """Functions of the tiles that are side by side in a block's rows."""
        is_scores = product == SCORES
        columns = self.schedule.block_k if is_scores else self.spec.out_head
        b = self.plain if is_scores or self.schedule.pack_v else self.stored
        vectors, found = -(-columns // self.lanes), []
        count = -(-vectors // self.schedule.nv)
        for number in range(count):
            first, stop = (vectors * i // count for i in (number, number + 1))
            # Buffers have whole vectors, and V where it is stored has not.
            end = stop * self.lanes if is_scores or self.schedule.pack_v else columns
            width = min(end, stop * self.lanes) - first * self.lanes
            found.append(
                TilePart(
                    name=f"{product}_{height}_{number}",
                    tile=tile(
                        height,
                        width,
                        count=self.lanes,
                        a_stride=self.head_row if is_scores else self.score_row,
                        b_step=self.lanes * b.itemsize,
                        out_strides=(
                            self.score_row if is_scores else self.out_row,
                            self.compute.bytes,
                        ),
                    ),
                    b_start=first * self.lanes * b.itemsize,
                    out_start=first * self.compute.bytes,
                    steps=str(self.spec.head) if is_scores else "%steps",
                    b_row=self.score_row if is_scores else self.value_row,
                    b=b,
                    is_loaded=not is_scores,
                )
            )
        return tuple(found)

    @property
    def all_parts(self) -> tuple[TilePart, ...]:
        return tuple(
            part
            for product in (SCORES, VALUES)
            for height in self.heights
            for part in self.parts(product, height)
        )

    @property
    def value_row(self) -> int:
        """Bytes from one key's value to the next, where tiles read them."""
        return self.out_row if self.schedule.pack_v else self.strides("v")[2]

    # -- functions -----------------------------------------------------------------------------

    @property
    def functions(self) -> Functions:
        return functions_for(self.target, self.compute, DType.F32)

    @property
    def constants(self) -> SoftmaxConstants:
        t = self.compute
        return SoftmaxConstants(
            log2_e=t.splat(math.log2(math.e)),
            ln_2=t.splat(math.log(2.0)),
            scale=t.splat(self.spec.factor),
            lowest=t.splat(-math.inf),
            hidden=t.splat(self.spec.hidden_score),
            minus_infinity=t.constant(-math.inf),
        )

    @property
    def zeroed(self) -> str:
        """Comparison of a row's sum with 0 by which its result is zeros; empty for none."""
        kinds = {EmptyRows.NAN: "", EmptyRows.NO_NAN: "ueq"}
        return kinds.get(self.spec.empty_rows or EmptyRows.ZEROS, "oeq")

    @property
    def _renderer(self) -> CpuRenderer:
        return CpuRenderer(type=FloatType(dtype=DType.F32, lanes=self.lanes), target=self.target)

    @property
    def _cap(self) -> Expression | None:
        cap = self.spec.softcap
        return parse(f"tanh(x / {cap!r}) * {cap!r}") if cap else None

    def capped(self, x: str, result: str) -> tuple[str, ...]:
        """Lines that give `result` the score `x` with its cap."""
        assert self._cap is not None
        return self._renderer.render(self._cap, {"x": x}, result).lines

    def score_name(self, is_edge: bool) -> str:
        """Suffix of the register that holds the final score."""
        if is_edge:
            return "score"
        return "masked" if self.mask else "capped" if self.spec.softcap else "product"

    @property
    def module_functions(self) -> tuple[str, ...]:
        found = {EXP2_NONPOSITIVE, *(self._renderer.functions(self._cap) if self._cap else ())}
        return tuple(sorted(found | ({"log2"} if self.spec.lse else set())))

    @property
    def declarations(self) -> tuple[str, ...]:
        t = self.compute
        found = [
            *self.functions.declarations(t),
            *(self._renderer.declarations(self._cap) if self._cap else ()),
            f"{t.scalar} @llvm.vector.reduce.fmax.{t.suffix}({t})",
            f"{t.scalar} @llvm.vector.reduce.fadd.{t.suffix}({t.scalar}, {t})",
            "i64 @llvm.smax.i64(i64, i64)",
            "i64 @llvm.smin.i64(i64, i64)",
        ]
        return tuple(dict.fromkeys(found))

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        partial = {self.stored.stored, self.out.stored} if self._has_partial else set()
        masks = {self.mask.stored} if self.mask and not self.mask_is_shared else set()
        return tuple(sorted(partial | masks, key=str))

    @property
    def _has_partial(self) -> bool:
        return any(chunk.valid for chunk in (*self.head_chunks, *self.out_chunks))

    @property
    def fetches(self) -> bool:
        return False

    # -- memory --------------------------------------------------------------------------------

    @property
    def block_rows(self) -> int:
        """Rows of the largest block."""
        return min(self.schedule.block_q, self.rows)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        rows, lanes = self.block_rows, self.compute.bytes
        found = [
            Buffer(name="%queries", holds="f32 [block_q][d]", bytes=rows * self.head_row),
            Buffer(name="%kt", holds="f32 [d][block_k]", bytes=self.spec.head * self.score_row),
            Buffer(name="%scores", holds="f32 [block_q][block_k]", bytes=rows * self.score_row),
            Buffer(name="%acc", holds="f32 [block_q][dv]", bytes=rows * self.out_row),
            Buffer(name="%sums", holds="sums of exponentials by lane", bytes=rows * lanes),
            Buffer(name="%maxima", holds="maxima", bytes=rows * 4),
            Buffer(name="%starts", holds="first keys", bytes=rows * 8),
            Buffer(name="%stops", holds="ends of keys", bytes=rows * 8),
        ]
        found += [
            Buffer(name=f"%{name}.rows", holds=f"addresses in {name}", bytes=rows * 8)
            for name, _ in self.kept_pointers
        ]
        if self.schedule.pack_v:
            found.append(
                Buffer(
                    name="%values",
                    holds="f32 [block_k][dv]",
                    bytes=self.schedule.block_k * self.out_row,
                )
            )
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        block = self.schedule
        return (
            f"online softmax over {counted(block.block_k, 'key')} at a time; K is transposed in "
            "registers, and both products are register tiles of "
            f"{block.mr} x {block.nv * self.lanes}",
        )


def plan_attention(spec: Attention, target: Target, schedule: CpuAttention) -> AttentionPlan:
    """Return the plan. Raises ScheduleError for blocks that do not fit."""
    compute = Vector(count=target.limits["vector_bytes"] // 4, scalar="float")
    if schedule.block_k % compute.count:
        up = -(-schedule.block_k // compute.count) * compute.count
        raise ScheduleError(
            f"block_k={schedule.block_k} is not a multiple of the {compute.count} elements of a "
            f"vector; try block_k={up}"
        )
    registers = target.limits["vector_registers"]
    used = schedule.mr * schedule.nv + schedule.nv + BROADCASTS
    if used > registers:
        fitting = (registers - BROADCASTS) // schedule.nv - 1
        heights = [mr for mr in range(1, fitting + 1) if schedule.block_q % mr == 0]
        remedy = f"mr={heights[-1]}" if heights else f"mr=1 and nv={(registers - BROADCASTS) // 2}"
        raise ScheduleError(
            f"mr={schedule.mr} and nv={schedule.nv} need {used} registers; {target.name} has "
            f"{registers}; try {remedy}"
        )
    blocks = -(-spec.group * spec.queries // schedule.block_q)
    kernel = AttentionPlan.single(
        spec,
        target,
        schedule,
        compute,
        template="attention",
        tasks=spec.batch * spec.kv_heads * blocks,
        stored=access(target, spec.dtype, compute),
    )
    room = target.limits["stack_bytes"]
    if kernel.scratch_bytes > room:
        half = schedule.block_q // 2 // schedule.mr * schedule.mr
        remedy = f"block_q={half}" if half else f"block_k={schedule.block_k // 2}"
        raise ScheduleError(
            f"block_q={schedule.block_q} and block_k={schedule.block_k} need "
            f"{kernel.scratch_bytes} B of stack; {target.name} allows {room}; try {remedy}"
        )
    return kernel
