"""The plan of matmul_limbs.ll.j2: f32 by weights of 8 or 4 bits, multiplied as bytes.

A is in block floating point: the numbers of each block of K are integers that share an exponent,
and each integer is four signed bytes (limbs), or three if B has 4 bits. Weights need not become
floats before they are multiplied: an instruction adds products of bytes for each limb, and a
block's sum becomes a float. An integer of four limbs is within 2^-31 of its number, relative to the
largest one of its block, and one of three within 2^-23. Rows with NaN, an infinity, or nothing but
tiny numbers are multiplied in f32, slowly.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.schedule import LimbsMatmul
from kgen.spec import ConstantOperand, DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.cpu_plan import (
    LINE_BYTES,
    Buffer,
    access,
    check_multiple,
    check_registers,
)
from kgen.targets.cpu.plan.kernels import limb_parts as parts
from kgen.targets.cpu.plan.matmul import MatmulPlan
from kgen.targets.cpu.plan.packing.panel import PanelFormat
from kgen.targets.cpu.plan.tiles.dots import Dot
from kgen.targets.cpu.plan.tiles.tile import RegisterTile, Row, tile
from kgen.targets.cpu.plan.vectors import Access, Vector, VectorPart, vector_parts
from kgen.targets.device import Multiplied
from kgen.targets.powers_of_two import RoundingUnit
from kgen_runtime.blocks import BLOCK, BLOCK_BYTES, OFFSET
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen


@frozen
class LimbsPlan(MatmulPlan):
    group: ClassVar[RoundingUnit] = parts.GROUP
    half_block: ClassVar[RoundingUnit] = parts.HALF_BLOCK

    schedule: LimbsMatmul
    dot: Dot

    @property
    def multiplied(self) -> Multiplied:
        """Type of the products: each limb of a number of A times the number of B."""
        return Multiplied(operands=str(DType.S8), products=parts.limb_count(self.spec))

    @property
    def lanes(self) -> int:
        return self.compute.count

    @property
    def words(self) -> Vector:
        return Vector(count=2 * self.lanes, scalar="i16")

    @property
    def bytes(self) -> Vector:
        return Vector(count=4 * self.lanes, scalar="i8")

    @property
    def sums(self) -> Vector:
        """Vector that the instruction adds to, or writes."""
        return self.words if self.dot.adds_pairs else self.compute.of("i32")

    @property
    def constants(self) -> parts.LimbConstants:
        unit_below = 8 * len(self.limbs) - 2
        return parts.LimbConstants(
            halves=sum(parts.HALF_OF_BYTES << limb.bits for limb in self.limbs),
            lower_halves=parts.HALF_OF_BYTES << 8 | parts.HALF_OF_BYTES,
            unit_below=unit_below,
            per_unit=2 * 127 + unit_below,
        )

    @property
    def limbs(self) -> tuple[parts.Limb, ...]:
        return tuple(
            parts.Limb(
                name=f"l{i}",
                bits=8 * i,
                plane=i * self.schedule.kc,
                starts=starts,
                start=at * parts.UNIT_BYTES,
            )
            for i, (starts, at) in enumerate(parts.starts_of_limbs(self.spec))
        )

    @property
    def b_format(self) -> PanelFormat:
        width = self.compute.count
        if not self.spec.has_blocks:
            return PanelFormat(width=width, depth=parts.GROUP, k_unit=self.schedule.kc)
        runs = (parts.SCALE_BYTES, *[parts.RUN] * ((BLOCK_BYTES - parts.SCALE_BYTES) // parts.RUN))
        return PanelFormat(width=width, depth=BLOCK_BYTES, k_unit=BLOCK_BYTES, runs=runs)

    @cached_property
    def packed_b(self) -> TensorParam:
        return self.b_format.of(self.spec)

    @property
    def minus_zero(self) -> int:
        """Negated offset of the numbers of B."""
        return -OFFSET if self.spec.has_blocks else -parts.HALF_OF_BYTES

    @cached_property
    def b_blocks(self) -> parts.BlocksOfLimbs:
        column = BLOCK_BYTES if self.spec.has_blocks else self.schedule.kc
        numbers_at = parts.SCALE_BYTES * self.lanes if self.spec.has_blocks else 0
        return parts.BlocksOfLimbs(
            block=column * self.lanes,
            column=column * self.a_blocks.count,
            panel=column * self.a_blocks.count * self.lanes,
            numbers_at=numbers_at,
            step=parts.RUN * self.lanes,
            turn=parts.TURN * parts.RUN * self.lanes,
            numbers=column * self.lanes - numbers_at,
            lanes_shift=self.compute.unit.shift,
        )

    @property
    def scale(self) -> Access:
        return access(self.target, DType.F16, self.compute)

    @property
    def turn(self) -> tuple[parts.Factor, ...]:
        halves = (False, True) if self.spec.has_blocks else (False,)
        found = [(u, upper) for u in range(parts.TURN) for upper in halves]
        return tuple(
            parts.Factor(
                name=f"f{i}",
                vector=f"b{u}",
                at=u * self.b_blocks.step,
                is_first=not upper,
                upper=upper,
                a=u * parts.GROUP + upper * BLOCK // 2,
                before=f".f{i - 1}" if i else "",
                after=".next" if i == len(found) - 1 else f".f{i}",
            )
            for i, (u, upper) in enumerate(found)
        )

    @property
    def lines_ahead(self) -> tuple[int, ...]:
        """Byte offsets of the lines of a panel that a turn prefetches."""
        ahead = self.schedule.ahead
        lines = range(ahead, ahead + self.b_blocks.turn * bool(ahead), LINE_BYTES)
        return tuple(line for line in lines if self.reaches(ConstantOperand.B, line))

    @property
    def fetches(self) -> bool:
        return bool(self.lines_ahead)

    @cached_property
    def a_blocks(self) -> parts.BlocksOfA:
        k, kc, limbs = self.spec.k, self.schedule.kc, parts.limb_count(self.spec) * self.schedule.kc
        count, kept = -(-k // kc), parts.block_of_a(self.spec)
        return parts.BlocksOfA(
            count=count,
            whole=k // kc,
            limbs=limbs,
            # Rows begin in different cache sets.
            limb_row=count * limbs + LINE_BYTES,
            kept=kept,
            kept_row=count * kept,
        )

    @property
    def pieces(self) -> tuple[VectorPart, ...]:
        return vector_parts(self.schedule.kc, self.lanes)

    @property
    def last_pieces(self) -> tuple[VectorPart, ...]:
        """Vectors of the block that K ends in, if it is not whole."""
        return vector_parts(self.spec.k % self.schedule.kc, self.lanes)

    def absent(self, pieces: Sequence[VectorPart]) -> range:
        """Return the first elements of a block's vectors that are past K."""
        return range(len(pieces) * self.lanes, self.schedule.kc, self.lanes)

    @property
    def along(self) -> Access:
        return access(self.target, DType.F32, self.compute)

    def tile(self, *, bottom: bool = False, right: bool = False) -> RegisterTile:
        """Return the whole tile, or the one at the bottom or at the right, in whole vectors."""
        rows = self.spec.m % self.schedule.mr if bottom else self.schedule.mr
        columns = self.spec.n % self.schedule.nr if right else self.schedule.nr
        return tile(
            rows,
            -(-columns // self.lanes) * self.lanes,
            count=self.lanes,
            a_stride=self.a_blocks.limb_row,
            b_step=self.b_blocks.panel,
            out_strides=(self.acc.row, self.acc.vector.bytes),
        )

    def kept_at(self, row: Row) -> int:
        """Return the bytes from the units of a tile's first row to those of `row`."""
        return row.index * self.a_blocks.kept_row

    def chains(self, tile: RegisterTile) -> tuple[tuple[str, str, str], ...]:
        """Return the sums of limbs of a block: names, start values, and values after a turn."""

        def start(row: Row, limb: parts.Limb) -> str:
            starts = limb.starts and not self.dot.adds_pairs
            return f"%{row.name}.{limb.name}.start" if starts else "zeroinitializer"

        pairs = itertools.product(tile.sums, self.limbs)
        names = ((f"%{s.name}.{limb.name}", start(s.row, limb)) for s, limb in pairs)
        return tuple((name, first, f"{name}.next") for name, first in names)

    @property
    def tiles(self) -> tuple[RegisterTile, ...]:
        m, n = self.blocking.m, self.blocking.n
        bottoms = [*[False] * m.has_tile, *[True] * m.has_edge]
        rights = [*[False] * n.has_tile, *[True] * n.has_edge]
        return tuple(dict.fromkeys(self.tile(bottom=b, right=r) for b in bottoms for r in rights))

    @property
    def block_k(self) -> RoundingUnit:
        return parts.shared_k(self.spec)

    @property
    def scratch_row(self) -> int:
        return -(-self.schedule.nc // self.lanes) * self.sum_vector.bytes

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        kc, mc, a = self.schedule.kc, self.schedule.mc, self.a_blocks
        limbs = f"s8 [mc][K / {kc}][{len(self.limbs)}][{kc}], {a.limb_row} B per row, zero past K"
        starting = sum(bool(limb.starts) for limb in self.limbs)
        kept = f"f32 scale and s32[{starting}] initial sums of its limbs"
        kept = f"[mc][K / {kc}] of {kept}, {a.kept_row} B per row"
        return (
            self.acc.buffer,
            Buffer(name="%limbs", holds=limbs, bytes=mc * a.limb_row),
            Buffer(name="%blocks", holds=kept, bytes=mc * a.kept_row),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"byte products by {self.dot.mnemonic}: A is in block floating point, each block "
            f"of {self.schedule.kc} of K with one exponent and {len(self.limbs)} signed bytes per "
            "element; a task computes an mc x nc block of out, panels of nr columns of B times mr "
            "rows of A",
        )

    @property
    def masked_accesses(self) -> set[Vector]:
        a = {self.along.stored} if self.spec.k % self.lanes > 1 else set()
        return super().masked_accesses | a


def plan_limbs(spec: Matmul, target: Target, schedule: LimbsMatmul) -> LimbsPlan:
    """Plan the kernel. Raises ScheduleError for fields that do not fit."""
    dot = parts.limb_dot(spec, target)
    if dot is None:
        raise ScheduleError(
            "mainloop=limbs requires a prepacked B of s8 or s4, an A in layout nn or nt, and dot "
            f"products of bytes; {spec.key} on {target.name} lacks one of them; use a blocked main "
            "loop (blis or dot)"
        )
    kc = parts.shared_k(spec)
    if not schedule.pack_a or schedule.pack_b or schedule.kc != kc:
        raise ScheduleError(
            f"kc={schedule.kc}, pack_a={schedule.pack_a:d}, pack_b={schedule.pack_b:d}: "
            f"mainloop=limbs converts A to limbs in blocks of kc={kc} and requires a prepacked B; "
            f"try kc={kc}, pack_a=1, pack_b=0"
        )
    lanes = target.limits["vector_bytes"] // 4
    check_multiple(schedule, "nr", lanes, "the columns of a vector")
    needed = parts.limb_registers(parts.limb_count(spec), schedule.mr, schedule.nr // lanes)
    fields = f"mr={schedule.mr} with nr={schedule.nr}"
    check_registers(target, needed, fields, f"mr=1, nr={lanes}")
    compute = Vector(count=lanes, scalar="float")
    return LimbsPlan.of(spec, target, schedule, compute, mainloop="limbs", dot=dot)
