"""The plan of matmul_dot.ll.j2: bf16 products of pairs by AVX512-BF16.

Intel SDM volume 2, VDPBF16PS: each of 16 f32 sums gets the products of two pairs of bf16, in two
additions rounded to nearest; subnormals count as zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import CpuMatmul, DotMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.limits import BF16_FEATURES
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.blocks import (
    check_ahead,
    check_multiple,
    check_stack,
    matmul_launch,
)
from kgen.targets.cpu.plan.pairs import ROW, RUN, PairsPlan
from kgen.targets.cpu.plan.tiled import TiledPlan, check_registers
from kgen.targets.cpu.plan.vectors import Access, Vector

PAIR_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class DotPlan(TiledPlan, PairsPlan):
    @property
    def features(self) -> tuple[str, ...]:
        return tuple(sorted({*super().features, *BF16_FEATURES}))

    @property
    def scratch_bytes(self) -> int:
        return (
            self.packs_a * self.a_pack_bytes
            + self.packs_b * self.b_pack_bytes
            + (not self.is_direct) * self.acc_bytes
        )

    @property
    def memory_map(self) -> tuple[str, ...]:
        """The scratch buffers, a line each, for the header."""
        lines = []
        if self.packs_a:
            order = f"bf16 [mc][kc], {self.a_pack_row} bytes a row, zero past K"
            lines.append(f"%a.pack  {self.a_pack_bytes} bytes, {order}")
        if self.packs_b:
            order = f"bf16 [kc/2][nr][2], {self.b_pack_row} bytes a row, zero past K and N"
            lines.append(f"%b.pack  {self.b_pack_bytes} bytes, {order}")
        if not self.is_direct:
            order = f"float [mc][nc], {self.acc_row} bytes a row"
            lines.append(f"%acc     {self.acc_bytes} bytes, {order}")
        return tuple(lines)

    @property
    def pairs_in_place(self) -> bool:
        """Rows of B are multiplied where they lie, two interleaved in registers."""
        return not self.packs_b and not self.b_is_packed

    @property
    def k_depth(self) -> int:
        return 2

    @property
    def a_m(self) -> int:
        return self.a_pack_row if self.packs_a else self.a_strides[1]

    @property
    def a_k(self) -> int:
        return PAIR_BYTES

    @property
    def b_row(self) -> int:
        return self.pair_row

    @property
    def b_alignment(self) -> int:
        """Of a vector of pairs: that of scratch, or of the caller's array."""
        return self.vector_bytes if self.packs_b else self.spec.dtype.itemsize

    @property
    def k_steps(self) -> str:
        if self.depth_varies:
            return "%pairs.all"
        return str(-(-min(self.spec.k, self.schedule.kc) // 2))

    @property
    def pair(self) -> Vector:
        """A pair for each sum, as integers: what an element of A is broadcast to."""
        return self.compute.of("i32")

    @property
    def pairs_of_b(self) -> Vector:
        return Vector(count=2 * self.compute.count, scalar="bfloat")

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.packs_a and self.k_tail > 1 and not self.a_gathered:
            types = types | {self.run.stored}
        if self.spec.n % ROW > 1 and not self.b_is_packed and not self.b_gathered:
            types = types | {self.row.stored}
        return tuple(sorted(types, key=str))


def must_pack_a(spec: Matmul) -> bool:
    """Pairs of K are read in place only where they lie side by side and none is half outside."""
    return spec.layout.a_transposed or spec.k % 2 != 0


def must_pack_b(spec: Matmul) -> bool:
    """Rows of B are interleaved where they lie, two by two, if none is half outside."""
    return spec.layout.b_transposed or spec.k % 2 != 0


def plan_dot(spec: Matmul, target: Target, schedule: CpuMatmul) -> DotPlan:
    """Raises ScheduleError if the schedule does not fit the vectors or the stack."""
    if not isinstance(schedule, DotMatmul):
        raise ScheduleError(
            f"a {schedule.mainloop} schedule does not go with {spec.dtype} on {target.name}; "
            "use DotMatmul"
        )
    check_ahead(spec, schedule)
    if not schedule.pack_b and not spec.constant and must_pack_b(spec):
        raise ScheduleError(
            f"pack_b=0 is for a B that is not transposed and an even k, not {spec.layout} with "
            f"k={spec.k}; try pack_b=1"
        )
    if not schedule.pack_a and must_pack_a(spec):
        raise ScheduleError(
            f"pack_a=0 is for an A that is not transposed and an even k, not {spec.layout} with "
            f"k={spec.k}; try pack_a=1"
        )
    check_multiple(schedule, "nr", ROW, "the pairs of a vector")
    compute = vector_for(target, DType.F32, ROW)
    plan = DotPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_dot.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=compute,
        out=Access(dtype=spec.out, compute=compute),
        row=Access(dtype=DType.BF16, compute=Vector(count=ROW, scalar="float")),
        run=Access(dtype=DType.BF16, compute=Vector(count=RUN, scalar="float")),
    )
    if plan.k_blocked and plan.packs_a:
        check_multiple(schedule, "kc", RUN, "as runs of several blocks need")
    elif plan.k_blocked:
        check_multiple(schedule, "kc", 2, "as pairs of several blocks need")
    check_registers(target, schedule, compute)
    check_stack(target, plan.scratch_bytes)
    return plan
