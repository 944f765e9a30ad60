"""The plan of attention.ll.j2: blocks of queries against blocks of keys, with the online softmax.

M. Milakov and N. Gimelshein, Online normalizer calculation for softmax, arXiv 1805.02867; T. Dao,
FlashAttention-2, arXiv 2307.08691, section 3.1.
"""

from __future__ import annotations

import itertools
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
from kgen.targets.cpu.plan.cpu_plan import Buffer, CpuPlan, access, check_multiple
from kgen.targets.cpu.plan.kernels.attention_operands import (
    AttentionFactors,
    KeyEdges,
    bf16_weights,
)
from kgen.targets.cpu.plan.math.functions import Functions, functions_for
from kgen.targets.cpu.plan.packing.panel import (
    TRANSPOSE_BYTES,
    Stage,
    transpose_stages,
    zip_stages,
)
from kgen.targets.cpu.plan.tiles.dots import Dot, dot_for
from kgen.targets.cpu.plan.tiles.folds import Fold, folds
from kgen.targets.cpu.plan.tiles.tile import RegisterTile, tile
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart, vector_parts
from kgen.targets.device import Multiplied
from kgen.targets.header import counted
from kgen_runtime.values import frozen

#: Elements of A in registers at a time: the next one is loaded while the current one is multiplied.
BROADCASTS = 2
#: Names of the two products: Q K^T, and weights times V.
SCORES, VALUES = "scores", "values"


@frozen
class TilePart:
    """Function that computes one register tile of scores or of results.

    `b_start` and `out_start` are the byte offsets of its first column in B and in the sums. `steps`
    is the trip count, and `b_row` the bytes between rows of B. A advances by 4 bytes per step: an
    f32, or a pair of bf16. Sums are multiplied by `factor` at the end, unless it is 1. With
    `is_dot`, a step adds the dot products of pairs.
    """

    name: str
    tile: RegisterTile
    b_start: int
    out_start: int
    steps: str
    b_row: int
    b: Access
    is_loaded: bool
    is_dot: bool
    factor: float = 1.0

    @property
    def is_scaled(self) -> bool:
        return self.factor != 1.0

    @property
    def carried(self) -> tuple[tuple[str, str, str], ...]:
        """Names of the sums, their first values, and their values after a step."""
        first = "%{}.start" if self.is_loaded else "zeroinitializer"
        names = self.tile.sum_names
        return tuple((f"%{name}", first.format(name), f"%{name}.next") for name in names)


@frozen
class AttentionPlan(CpuPlan):
    """Plan of attention; a task is a block of queries of a batch element and K/V head."""

    spec: Attention
    schedule: CpuAttention
    stored: Access

    @property
    def multiplied(self) -> Multiplied:
        return Multiplied(operands=str(DType.BF16 if self.factors.dot else DType.F32))

    @property
    def rows(self) -> int:
        """Queries of all heads that share a K/V head."""
        return self.spec.group * self.spec.queries

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.schedule.block_q)

    @property
    def block_rows(self) -> int:
        """Rows of the largest block."""
        return min(self.schedule.block_q, self.rows)

    @property
    def task_words(self) -> str:
        return f"up to {counted(self.block_rows, 'query', 'queries')}"

    def strides(self, name: str) -> tuple[int, ...]:
        """Return the bytes along batch, head and row of q, k, v or out."""
        size = self.out.itemsize if name == "out" else self.stored.itemsize
        return tuple(step * size for step in self.spec.strides(name))

    @property
    def mask(self) -> Access | None:
        dtype = self.spec.mask_dtype
        return None if dtype is None else access(self.target, dtype, self.compute)

    @property
    def mask_is_shared(self) -> bool:
        return self.spec.mask_strides[3] == 0

    @property
    def row_pointers(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Tensors with a row per query: name, and bytes along batch, head and query."""
        return (("q", self.strides("q")), *self.kept_pointers)

    @property
    def kept_pointers(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Row pointers that are read again after the prologue."""
        found = [("out", self.strides("out"))]
        if self.mask:
            strides = tuple(step * self.mask.itemsize for step in self.spec.mask_strides[:3])
            found.append(("mask", strides))
        if self.spec.lse:
            size, (_, heads, queries, _) = DType.F32.itemsize, self.spec.q
            found.append(("lse", (heads * queries * size, queries * size, size)))
        return tuple(found)

    @property
    def shift(self) -> bool:
        """Whether positions of queries depend on the number of keys."""
        return self.spec.diagonal is Diagonal.BOTTOM_RIGHT

    # -- pages ---------------------------------------------------------------------------------

    @property
    def head_strides(self) -> tuple[tuple[str, int, int], ...]:
        """Bytes along batch and head of k and v; batch elements share pools of pages."""
        each = ((name, self.strides(name)) for name in ("k", "v"))
        return tuple((name, 0 if self.spec.is_paged else b, h) for name, (b, h, _) in each)

    @property
    def has_vectors_in_pages(self) -> bool:
        """Whether the keys of a vector are always in one page, because blocks and pages begin at
        multiples of a vector."""
        size = self.spec.page_size
        return size is not None and size % self.lanes == 0 and not self.spec.has_window

    @property
    def table_row(self) -> int:
        """Bytes of a batch element's row of the page table."""
        return self.spec.most_pages * DType.S32.itemsize

    # -- factors -------------------------------------------------------------------------------

    @cached_property
    def factors(self) -> AttentionFactors:
        return AttentionFactors(
            dot=dot_for(self.spec.dtype, self.target) if self.schedule.dots else None,
            pack_v=self.schedule.pack_v,
            compute=self.compute,
            stored=self.stored,
            rounded=bf16_weights(self.compute),
        )

    @property
    def dot(self) -> Dot | None:
        return self.factors.dot

    # -- vectors -------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        return self.compute.count

    @property
    def sum_vector(self) -> Vector:
        return self.compute

    @cached_property
    def head_chunks(self) -> tuple[VectorPart, ...]:
        return vector_parts(self.spec.head, self.factors.given.compute.count)

    @property
    def head_steps(self) -> int:
        """Trip count of the product of queries and keys."""
        return -(-self.spec.head // self.factors.group)

    @cached_property
    def out_chunks(self) -> tuple[VectorPart, ...]:
        return vector_parts(self.spec.out_head, self.lanes)

    @property
    def key_chunks(self) -> tuple[VectorPart, ...]:
        return vector_parts(self.schedule.block_k, self.lanes)

    @property
    def head_row(self) -> int:
        """Bytes of a query in its buffer, whole vectors."""
        return len(self.head_chunks) * self.compute.bytes

    @property
    def value_row(self) -> int:
        """Bytes of a key's values in packed V, on average."""
        return self.out_row // self.factors.value_group

    @property
    def score_row(self) -> int:
        return len(self.key_chunks) * self.compute.bytes

    @property
    def out_row(self) -> int:
        return len(self.out_chunks) * self.compute.bytes

    @property
    def stages(self) -> tuple[Stage, ...]:
        zips = self.compute.bytes == TRANSPOSE_BYTES
        return (zip_stages if zips else transpose_stages)(self.lanes)

    def packed_rows(self, chunk: VectorPart) -> tuple[int, ...]:
        """Return the bytes in packed K to the rows of a transposed block that exist."""
        first, count = (
            chunk.first // self.factors.group,
            -(-chunk.valid // self.factors.group) or self.lanes,
        )
        return tuple(row * self.score_row for row in range(first, first + count))

    # -- inner products ------------------------------------------------------------------------

    @property
    def remainders(self) -> tuple[int, ...]:
        """Powers of two that add up to the keys of a block after its last whole vector."""
        keys, most = self.spec.keys, self.lanes - 1
        bits = most if self.edges.move else keys % self.lanes
        return tuple(part.type.count for part in self.compute.powers_of_two(bits))

    def keys_above(self, count: int) -> int:
        """Return the mask of the bits of a number of keys above the power of two `count`."""
        return -2 * count

    @property
    def key_lanes(self) -> tuple[tuple[int, int], ...]:
        """Keys whose scores are one vector: number, and bytes from the first one."""
        return tuple((lane, lane * self.strides("k")[2]) for lane in range(self.lanes))

    def folds(self, prefix: str, keys: int) -> tuple[Fold, ...]:
        """Return the steps that add up the elements of each vector `%<prefix>.sum.<key>`. The sum
        of a key does not depend on how many keys are added up together."""
        return folds(f"%{prefix}", [f"%{prefix}.sum.{key}" for key in range(keys)], self.lanes)

    # -- register tiles ------------------------------------------------------------------------

    @property
    def bottom(self) -> int:
        """Rows of the partial tile at the end of the last block; 0 if there is none."""
        last = self.rows - (self.blocks - 1) * self.schedule.block_q
        return last % self.schedule.mr

    @property
    def has_one_block(self) -> bool:
        """Whether one block has all keys, and its values are one product: nothing is rescaled."""
        in_pages = self.spec.is_paged and not self.schedule.pack_v
        return self.spec.keys <= self.schedule.block_k and not in_pages

    @property
    def starts_from_zeros(self) -> bool:
        """Whether sums start from zeros: blocks add to them, or there may be no key."""
        return not self.has_one_block or self.edges.move

    @property
    def has_whole(self) -> bool:
        return self.block_rows >= self.schedule.mr

    def parts(self, product: str, height: int) -> tuple[TilePart, ...]:
        """Return the tiles that together cover all columns of `height` rows of a product."""
        is_scores = product == SCORES
        in_buffer = is_scores or self.schedule.pack_v
        b = access(self.target, DType.F32, self.compute) if in_buffer else self.stored
        columns = self.schedule.block_k if is_scores else self.spec.out_head
        vectors = -(-columns // self.lanes)
        # Buffers have whole vectors; V where it is stored does not.
        end = vectors * self.lanes if in_buffer else columns
        count = -(-vectors // self.schedule.nv)
        bounds = [vectors * number // count for number in range(count + 1)]
        out_row = self.score_row if is_scores else self.out_row
        b_row = out_row if in_buffer else self.strides("v")[2]
        return tuple(
            TilePart(
                name=f"{product}_{height}_{number}",
                tile=tile(
                    height,
                    min(end, stop * self.lanes) - first * self.lanes,
                    count=self.lanes,
                    a_stride=self.head_row if is_scores else self.score_row,
                    b_step=self.lanes * b.itemsize,
                    out_strides=(out_row, self.compute.bytes),
                ),
                b_start=first * self.lanes * b.itemsize,
                out_start=first * self.compute.bytes,
                steps=str(self.head_steps) if is_scores else "%steps",
                b_row=b_row,
                b=b,
                is_loaded=not (is_scores or self.has_one_block),
                is_dot=bool(self.factors.dot) and in_buffer,
                factor=self.spec.factor if is_scores and self.factors.dot else 1.0,
            )
            for number, (first, stop) in enumerate(itertools.pairwise(bounds))
        )

    @property
    def all_parts(self) -> tuple[TilePart, ...]:
        heights = [*[self.schedule.mr] * self.has_whole, *[self.bottom] * (self.bottom > 0)]
        products = (SCORES, VALUES) if self.schedule.pack_k else (VALUES,)
        every = itertools.product(products, heights)
        return tuple(part for product, height in every for part in self.parts(product, height))

    # -- functions -----------------------------------------------------------------------------

    @property
    def functions(self) -> Functions:
        return functions_for(self.target, self.compute, DType.F32)

    @property
    def zeroed(self) -> str:
        """Comparison of a row's sum with 0 that makes its result zeros; empty if there is none."""
        kinds = {EmptyRows.NAN: "", EmptyRows.NO_NAN: "ueq"}
        return kinds.get(self.spec.empty_rows or EmptyRows.ZEROS, "oeq")

    @property
    def _renderer(self) -> CpuRenderer:
        return CpuRenderer(type=self.compute.floats, target=self.target)

    @property
    def _cap(self) -> tuple[Expression, ...]:
        cap = self.spec.softcap
        return (parse(f"tanh(x / {cap!r}) * {cap!r}"),) if cap else ()

    def capped(self, x: str, result: str) -> tuple[str, ...]:
        """Return the lines that apply the cap to the score `x` and name it `result`."""
        (cap,) = self._cap
        return self._renderer.render(cap, {"x": x}, result).lines

    @cached_property
    def edges(self) -> KeyEdges:
        return KeyEdges(spec=self.spec, block_k=self.schedule.block_k, lanes=self.lanes)

    def score_name(self, is_partial: bool) -> str:
        """Return the suffix of the register that holds the final score."""
        if is_partial:
            return "score"
        return "masked" if self.mask else "capped" if self.spec.softcap else "product"

    @property
    def module_functions(self) -> tuple[str, ...]:
        of_cap = self._renderer.functions(*self._cap)
        return tuple(sorted({EXP2_NONPOSITIVE, *of_cap, *["log2"] * self.spec.lse}))

    @property
    def declarations(self) -> tuple[str, ...]:
        t = self.compute
        found = [
            *self.functions.declarations(t),
            *(line for cap in self._cap for line in self._renderer.declarations(cap)),
            f"{t.scalar} @llvm.vector.reduce.fmax.{t.suffix}({t})",
            f"{t.scalar} @llvm.vector.reduce.fadd.{t.suffix}({t.scalar}, {t})",
            "i64 @llvm.smax.i64(i64, i64)",
            "i64 @llvm.smin.i64(i64, i64)",
        ]
        return tuple(dict.fromkeys(found))

    @property
    def masked_accesses(self) -> set[Vector]:
        has_partial = any(chunk.valid for chunk in (*self.head_chunks, *self.out_chunks))
        each = (self.factors.given, self.stored, self.out)
        partial = {access.stored for access in each} if has_partial else set()
        is_masked = self.mask and not self.mask_is_shared and True in self.edges.kinds
        masks = {self.mask.stored} if self.mask and is_masked else set()
        return partial | masks

    # -- memory --------------------------------------------------------------------------------

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        rows, block_k = self.block_rows, self.schedule.block_k
        kind = "bf16" if self.factors.dot else "f32"
        across, inside = ("[d / 2]", "[2]") if self.factors.dot else ("[d]", "")
        held = [
            ("queries", f"{kind} [block_q][d]", rows * self.head_row),
            ("scores", "f32 [block_q][block_k]", rows * self.score_row),
            ("acc", "sums of weighted values, f32 [block_q][dv]", rows * self.out_row),
            ("sums", "sum of exponentials of each query, by lane", rows * self.compute.bytes),
            ("maxima", "largest score of each query", rows * 4),
            ("starts", "first key of each query", rows * 8),
            ("stops", "end of the keys of each query", rows * 8),
            *(
                (f"{name}.rows", f"address of each query's row of {name}", rows * 8)
                for name, _ in self.kept_pointers
            ),
        ]
        if self.schedule.pack_k:
            order = f"transposed keys, {kind} {across}[block_k]{inside}"
            held.insert(1, ("kt", order, self.head_steps * self.score_row))
        if self.schedule.pack_v:
            order = (
                "bf16 [block_k / 2][dv][2]" if self.factors.pairs_values else "f32 [block_k][dv]"
            )
            held.append(("values", order, block_k * self.value_row))
        return tuple(Buffer(name=f"%{name}", holds=holds, bytes=n) for name, holds, n in held)

    @property
    def notes(self) -> tuple[str, ...]:
        block = self.schedule
        scores = (
            "K is transposed in registers, and both products are"
            if block.pack_k
            else ("scores are inner products, and results are")
        )
        return (
            f"online softmax over {counted(block.block_k, 'key')} at a time; {scores} register "
            f"tiles of {block.mr} x {block.nv * self.lanes}"
            f"{f' by {self.factors.dot.mnemonic}' if self.factors.dot else ''}",
        )


def plan_attention(spec: Attention, target: Target, schedule: CpuAttention) -> AttentionPlan:
    """Plan the kernel. Raises ScheduleError for blocks that do not fit."""
    compute = Vector(count=target.limits["vector_bytes"] // 4, scalar="float")
    check_multiple(schedule, "block_k", compute.count, "the elements of a vector")
    if schedule.dots and not dot_for(spec.dtype, target):
        raise ScheduleError(
            f"dots=1 multiplies pairs of bf16; {spec.dtype} on {target.name} has no instruction "
            "for that; try dots=0"
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
    if spec.is_paged and not (schedule.pack_k or kernel.has_vectors_in_pages):
        raise ScheduleError(
            f"pack_k=0 reads {kernel.lanes} keys of a page at a time, which page_size="
            f"{spec.page_size}{' with a window' * spec.has_window} does not allow; try pack_k=1"
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
