"""The plan of matmul_limbs.ll.j2: f32 by weights of 8 or 4 bits, multiplied as bytes.

A is taken in block floating point: the numbers of each block of K are integers that share an
exponent, and each integer is four signed bytes, its limbs, or three where B is of 4 bits. So the
weights need not become floats, one by one, before they are multiplied: an instruction adds products
of bytes, for each limb by itself, and what becomes a float is a block's sum. An integer of four
limbs is within 2^-31 of its number, relative to the largest one of its block, and of three within
2^-23; rows with NaN, an infinity, or nothing but tiny numbers are multiplied in f32, slowly.
"""

from __future__ import annotations

from functools import cached_property

from kgen.errors import ScheduleError
from kgen.schedule import LimbsMatmul
from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES, access
from kgen.targets.cpu.plan.checks import check_multiple, check_stack
from kgen.targets.cpu.plan.kernels.limb_parts import (
    GROUP,
    HALF_OF_BYTES,
    RUN,
    SCALE_BYTES,
    TURN,
    UNIT_BYTES,
    Factor,
    Limb,
    LimbColumns,
    LimbDot,
    LimbRow,
    LimbTile,
    PieceOfA,
    block_of_a,
    limb_count,
    limb_dot,
    limb_registers,
    shared_k,
    starts_of_limbs,
)
from kgen.targets.cpu.plan.matmul import MatmulPlan, matmul_launch
from kgen.targets.cpu.plan.packing.prepacked import PanelFormat
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen.targets.device import Multiplied
from kgen_runtime.blocks import BLOCK, BLOCK_BYTES, OFFSET
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen


@frozen
class LimbsPlan(MatmulPlan):
    schedule: LimbsMatmul
    limb_dot: LimbDot

    @property
    def multiplied(self) -> Multiplied:
        """Each limb of a number of A is multiplied by the number of B."""
        return Multiplied(operands=str(DType.S8), products=limb_count(self.spec))

    # -- vectors -------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        """Columns of a vector."""
        return self.compute.count

    @property
    def dwords(self) -> Vector:
        return self.compute.of("i32")

    @property
    def words(self) -> Vector:
        return Vector(count=2 * self.lanes, scalar="i16")

    @property
    def bytes(self) -> Vector:
        return Vector(count=4 * self.lanes, scalar="i8")

    @property
    def sums(self) -> Vector:
        """What the instruction adds to, or makes."""
        return self.words if self.limb_dot.widen else self.dwords

    @property
    def limb_of_a(self) -> Vector:
        """A limb of each number of a vector."""
        return self.compute.of("i8")

    @property
    def halves(self) -> int:
        """Half of a byte's numbers, in each limb of an integer."""
        return sum(HALF_OF_BYTES << limb.bits for limb in self.limbs)

    @property
    def unit_below(self) -> int:
        """Powers of two from the unit of a block's integers to its exponent: they have a sign, and
        the exponent's power is half of one that is above the largest number."""
        return 8 * len(self.limbs) - 2

    @property
    def per_unit(self) -> int:
        """Biased exponents of a power of two and of what it is one of, added."""
        return 2 * 127 + self.unit_below

    @property
    def lower_halves(self) -> int:
        """Half of a byte's numbers, in each of the two lower limbs."""
        return HALF_OF_BYTES << 8 | HALF_OF_BYTES

    @property
    def limbs(self) -> tuple[Limb, ...]:
        return tuple(
            Limb(
                name=f"l{i}",
                bits=8 * i,
                plane=i * self.schedule.kc,
                starts=starts,
                start=at * UNIT_BYTES,
            )
            for i, (starts, at) in enumerate(starts_of_limbs(self.spec))
        )

    @property
    def starting_limbs(self) -> tuple[Limb, ...]:
        """Those whose sums do not start from zero."""
        return tuple(limb for limb in self.limbs if limb.starts)

    # -- B ----------------------------------------------------------------------------------

    @property
    def has_blocks(self) -> bool:
        return self.spec.has_blocks

    @property
    def b_format(self) -> PanelFormat:
        width = self.compute.count
        if not self.has_blocks:
            return PanelFormat(width=width, depth=GROUP, k_unit=self.schedule.kc)
        runs = (SCALE_BYTES, *[RUN] * ((BLOCK_BYTES - SCALE_BYTES) // RUN))
        return PanelFormat(width=width, depth=BLOCK_BYTES, k_unit=BLOCK_BYTES, runs=runs)

    @cached_property
    def packed_b(self) -> TensorParam:
        return self.b_format.of(self.spec)

    @property
    def minus_zero(self) -> int:
        """Minus what is added to the numbers of B."""
        return -OFFSET if self.has_blocks else -HALF_OF_BYTES

    @property
    def lane_bytes(self) -> int:
        """Of a column of a block."""
        return BLOCK_BYTES if self.has_blocks else self.schedule.kc

    @property
    def block_bytes(self) -> int:
        """Of a block of a panel."""
        return self.lane_bytes * self.lanes

    @property
    def numbers_at(self) -> int:
        """Bytes of a block before its numbers."""
        return SCALE_BYTES * self.lanes if self.has_blocks else 0

    @property
    def panel_bytes(self) -> int:
        return self.blocks * self.block_bytes

    @property
    def column_bytes(self) -> int:
        return self.blocks * self.lane_bytes

    @property
    def scale(self) -> Access:
        return access(self.target, DType.F16, self.compute)

    @property
    def step_bytes(self) -> int:
        """Of a vector of numbers."""
        return RUN * self.lanes

    @property
    def turns_bytes(self) -> int:
        """Of a panel's numbers in a block."""
        return self.block_bytes - self.numbers_at

    @property
    def turn_bytes(self) -> int:
        """Of those in a turn of the loop: all of them, if they are of 4 bits."""
        return TURN * self.step_bytes

    @property
    def turn(self) -> tuple[Factor, ...]:
        halves = (False, True) if self.has_blocks else (False,)
        found = [(u, upper) for u in range(TURN) for upper in halves]
        return tuple(
            Factor(
                name=f"f{i}",
                vector=f"b{u}",
                at=u * self.step_bytes,
                is_first=not upper,
                upper=upper,
                a=u * GROUP + upper * BLOCK // 2,
                before=f".f{i - 1}" if i else "",
                after=".next" if i == len(found) - 1 else f".f{i}",
            )
            for i, (u, upper) in enumerate(found)
        )

    @property
    def lines_ahead(self) -> tuple[int, ...]:
        """Where the lines of a panel begin that a turn fetches."""
        ahead = self.schedule.ahead
        lines = range(ahead, ahead + self.turn_bytes * bool(ahead), LINE_BYTES)
        return tuple(line for line in lines if self.reaches(ConstantOperand.B, line))

    @property
    def lanes_shift(self) -> int:
        """Makes bytes of a limb of A of those of a panel of B."""
        return self.lanes.bit_length() - 1

    @property
    def fetches(self) -> bool:
        return bool(self.lines_ahead)

    # -- A ----------------------------------------------------------------------------------

    @property
    def blocks(self) -> int:
        """Of K."""
        return -(-self.spec.k // self.schedule.kc)

    @property
    def blocks_whole(self) -> int:
        return self.spec.k // self.schedule.kc

    @property
    def whole_pieces(self) -> tuple[PieceOfA, ...]:
        return self._pieces(self.schedule.kc)

    @property
    def last_pieces(self) -> tuple[PieceOfA, ...]:
        """Of the block that K ends in, if it is not whole."""
        left = self.spec.k % self.schedule.kc
        return self._pieces(left) if left else ()

    def _pieces(self, length: int) -> tuple[PieceOfA, ...]:
        return tuple(
            PieceOfA(
                name=f"p{at}",
                at=at,
                valid=length - at if at < length < at + self.lanes else 0,
                absent=at >= length,
            )
            for at in range(0, self.schedule.kc, self.lanes)
        )

    @property
    def along(self) -> Access:
        return access(self.target, DType.F32, self.compute)

    @property
    def limb_block(self) -> int:
        """Bytes of a row's limbs of a block, side by side: a tile reads a stream for each row."""
        return len(self.limbs) * self.schedule.kc

    @property
    def limb_row(self) -> int:
        """Of a row's limbs; rows begin in different cache sets."""
        return self.blocks * self.limb_block + LINE_BYTES

    @property
    def block_of_a_bytes(self) -> int:
        return block_of_a(self.spec)

    @property
    def blocks_row(self) -> int:
        return self.blocks * self.block_of_a_bytes

    @property
    def a_m(self) -> int:
        return self.tensors.a_strides[1]

    # -- tiles ------------------------------------------------------------------------------

    def tile(self, *, bottom: bool = False, right: bool = False) -> LimbTile:
        """A whole one, or the one at the lower or the right end."""
        rows = self.spec.m % self.schedule.mr if bottom else self.schedule.mr
        columns = self.spec.n % self.schedule.nr if right else self.schedule.nr
        return LimbTile(
            rows=tuple(
                LimbRow(
                    name=f"m{m}",
                    limbs=m * self.limb_row,
                    blocks=m * self.blocks_row,
                    acc=m * self.acc.row,
                )
                for m in range(rows)
            ),
            columns=tuple(
                LimbColumns(name=f"v{v}", b=v * self.panel_bytes, acc=v * self.acc.vector_bytes)
                for v in range(-(-columns // self.lanes))
            ),
        )

    def chains(self, tile: LimbTile) -> tuple[tuple[str, str, str], ...]:
        """The sums of limbs of a block: what they start from, and what they become in a turn."""

        def start(row: LimbRow, limb: Limb) -> str:
            starts = limb.starts and not self.limb_dot.widen
            return f"%{row.name}.{limb.name}.start" if starts else "zeroinitializer"

        return tuple(
            (
                f"%{m.name}_{v.name}.{limb.name}",
                start(m, limb),
                f"%{m.name}_{v.name}.{limb.name}.next",
            )
            for m in tile.rows
            for v in tile.columns
            for limb in self.limbs
        )

    @property
    def tiles(self) -> tuple[LimbTile, ...]:
        rights = [right for right in (False, True) if self._exists(right)]
        bottoms = [
            b
            for b, found in ((False, self.blocking.has_whole_rows), (True, self.blocking.m_edge))
            if found
        ]
        return tuple(dict.fromkeys(self.tile(bottom=b, right=r) for b in bottoms for r in rights))

    def _exists(self, right: bool) -> bool:
        return self.blocking.has_edge_panel if right else self.blocking.has_whole_panel

    # -- the rows that are multiplied in f32 --------------------------------------------------

    @property
    def block_shift(self) -> int:
        """Divides an index of K by those of a block."""
        return self.schedule.kc.bit_length() - 1

    @property
    def place_mask(self) -> int:
        """What is left of it."""
        return self.schedule.kc - 1

    @property
    def group_mask(self) -> int:
        """Of a place in a block, what says which vector of numbers it is in, times GROUP."""
        return (self.turns_bytes // self.step_bytes - 1) * GROUP

    @property
    def byte_mask(self) -> int:
        """And which byte of a lane."""
        return GROUP - 1

    @property
    def half_shift(self) -> int:
        """And which half of the byte: 4 bits of the place become those of a shift."""
        return (BLOCK // 2).bit_length() - 1

    @property
    def lanes_less_one(self) -> int:
        return self.lanes - 1

    @property
    def columns_padded(self) -> str:
        """Columns of the block in whole vectors."""
        if self.blocking.columns_vary:
            return "%columns.padded"
        columns = min(self.spec.n, self.schedule.nc)
        return str(-(-columns // self.lanes) * self.lanes)

    # -- what is on the stack, and said ------------------------------------------------------

    @property
    def scratch_row(self) -> int:
        return -(-self.schedule.nc // self.lanes) * self.sum_vector.bytes

    @property
    def limbs_bytes(self) -> int:
        return self.schedule.mc * self.limb_row

    @property
    def blocks_bytes(self) -> int:
        return self.schedule.mc * self.blocks_row

    @property
    def scratch_bytes(self) -> int:
        return self.acc.bytes + self.limbs_bytes + self.blocks_bytes

    @property
    def scratch_map(self) -> tuple[str, ...]:
        kept = f"f32 scale and s32[{len(self.starting_limbs)}] initial sums of its limbs"
        return (
            f"%limbs: s8 [mc][K / {self.schedule.kc}][{len(self.limbs)}][{self.schedule.kc}], "
            f"{self.limb_row} B per row, zero past K",
            f"%blocks: [mc][K / {self.schedule.kc}] of {kept}, {self.blocks_row} B per row",
            f"%acc: float [mc][nc], {self.acc.row} B per row",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"byte products by {self.limb_dot.mnemonic}: A is in block floating point, each block "
            f"of {self.schedule.kc} of K with one exponent and {len(self.limbs)} signed bytes per "
            "element; a task computes an mc x nc block of out, panels of nr columns of B times mr "
            "rows of A",
        )

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(sorted({*super().features, *self.limb_dot.features}))

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.spec.k % self.lanes > 1:
            types = types | {self.along.stored}
        return tuple(sorted(types, key=str))


def plan_limbs(spec: Matmul, target: Target, schedule: LimbsMatmul) -> LimbsPlan:
    """Raises ScheduleError if the schedule does not fit operands, registers or stack."""
    dot = limb_dot(spec, target)
    if dot is None:
        raise ScheduleError(
            "mainloop=limbs requires a prepacked B of s8 or s4, an A in layout nn or nt, and dot "
            f"products of bytes; {spec.key} on {target.name} lacks one of them; use a blocked main "
            "loop (blis or dot)"
        )
    kc = shared_k(spec)
    if not schedule.pack_a or schedule.pack_b or schedule.kc != kc:
        raise ScheduleError(
            f"kc={schedule.kc}, pack_a={schedule.pack_a:d}, pack_b={schedule.pack_b:d}: "
            f"mainloop=limbs converts A to limbs in blocks of kc={kc} and requires a prepacked B; "
            f"try kc={kc}, pack_a=1, pack_b=0"
        )
    lanes = target.limits["vector_bytes"] // 4
    check_multiple(schedule, "nr", lanes, "the columns of a vector")
    needed = limb_registers(limb_count(spec), schedule.mr, schedule.nr // lanes)
    limit = target.limits["vector_registers"]
    if needed > limit:
        raise ScheduleError(
            f"mr={schedule.mr} with nr={schedule.nr} needs {needed} vector registers; "
            f"{target.name} has {limit}; try mr=1, nr={lanes}"
        )
    compute = Vector(count=lanes, scalar="float")
    plan = LimbsPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_limbs.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=compute,
        out=access(target, spec.out, compute),
        limb_dot=dot,
    )
    check_stack(target, schedule, plan.scratch_bytes)
    return plan
