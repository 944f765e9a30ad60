"""The plan of matmul_amx.ll.j2: products on AMX tiles of 16 rows of 64 bytes.

Intel Architecture Instruction Set Extensions Programming Reference, chapter 3 (AMX): TDPBF16PS and
TDPFP16PS add to a 16 x 16 tile of f32 the product of 16 x 32 elements of A and 32 x 16 of B, the
latter as 16 rows of 16 pairs (k, k + 1); TDPBSSD to one of s32 that of 16 x 64 and 64 x 16 bytes,
in groups of four.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul, CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.blocks import finishing_type, matmul_launch
from kgen.targets.cpu.plan.checks import check_ahead, check_multiple, check_stack
from kgen.targets.cpu.plan.groups import GroupsPlan
from kgen.targets.cpu.plan.vectors import Access, Vector

TILE_ROWS = 16
TILE_BYTES = 64
#: Sums take rows x columns of the eight tile registers, A and B one for each row and column.
TILE_REGISTERS = 8


@dataclass(frozen=True, kw_only=True)
class TileProduct:
    """The instruction for a type of operands, and the feature that brings it."""

    mnemonic: str
    feature: str
    reason: str


TILE_PRODUCTS: dict[DType, TileProduct] = {
    DType.BF16: TileProduct(
        mnemonic="tdpbf16ps",
        feature="amx_bf16",
        reason="tdpbf16ps adds pairs in f32, rounds to nearest and flushes subnormals",
    ),
    DType.F16: TileProduct(
        mnemonic="tdpfp16ps",
        feature="amx_fp16",
        reason="tdpfp16ps adds pairs in f32 and rounds to nearest",
    ),
    DType.S8: TileProduct(
        mnemonic="tdpbssd",
        feature="amx_int8",
        reason="products of s8 are added in s32, exactly",
    ),
}


def tile_product(dtype: DType, target: Target) -> TileProduct | None:
    """The instruction for operands of a type, if the target has one."""
    product = TILE_PRODUCTS.get(dtype)
    return product if product and target.has(product.feature) else None


def tile_k(dtype: DType) -> int:
    """K of a tile."""
    return TILE_BYTES // dtype.itemsize


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A tile register, and its byte offset in packed A or B, or in the block of sums."""

    register: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class Product:
    """sums += a b, all tile registers."""

    sums: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class AmxPlan(GroupsPlan):
    product: TileProduct

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(sorted({*super().features, "amx_tile", self.product.feature}))

    @property
    def k_unit(self) -> int:
        return self.run_k

    @property
    def n_unit(self) -> int:
        return self.schedule.nr

    @property
    def scratch_bytes(self) -> int:
        return self.a_pack_bytes + self.packs_b * self.b_pack_bytes + self.acc_bytes

    @property
    def packs_b(self) -> bool:
        return not self.b_is_packed

    # -- tiles ---------------------------------------------------------------------------------

    @property
    def _tile_rows(self) -> int:
        return self.schedule.mr // TILE_ROWS

    @property
    def _tile_columns(self) -> int:
        return self.schedule.nr // TILE_ROWS

    @property
    def sum_tiles(self) -> tuple[Tile, ...]:
        return tuple(
            Tile(
                register=r * self._tile_columns + c,
                offset=r * TILE_ROWS * self.acc_row + c * TILE_BYTES,
            )
            for r in range(self._tile_rows)
            for c in range(self._tile_columns)
        )

    @property
    def a_tiles(self) -> tuple[Tile, ...]:
        first = self._tile_rows * self._tile_columns
        return tuple(
            Tile(register=first + r, offset=r * TILE_ROWS * self.a_pack_row)
            for r in range(self._tile_rows)
        )

    @property
    def b_tiles(self) -> tuple[Tile, ...]:
        first = self._tile_rows * self._tile_columns + self._tile_rows
        step = TILE_ROWS * self.b_strides[2] if self.b_is_packed else TILE_BYTES
        return tuple(Tile(register=first + c, offset=c * step) for c in range(self._tile_columns))

    @property
    def products(self) -> tuple[Product, ...]:
        return tuple(
            Product(sums=r * self._tile_columns + c, a=a.register, b=b.register)
            for r, a in enumerate(self.a_tiles)
            for c, b in enumerate(self.b_tiles)
        )

    @property
    def masked_types(self) -> tuple[Vector, ...]:
        types = self.out_masked_types
        if self.k_tail > 1 and not self.a_gathered:
            types = types | {self.run.stored}
        if self.spec.n % self.b_width > 1 and self.packs_b and not self.b_gathered:
            types = types | {self.row.stored}
        return tuple(sorted(types, key=str))


def plan_amx(spec: Matmul, target: Target, schedule: CpuMatmul, product: TileProduct) -> AmxPlan:
    """Raises ScheduleError if the schedule is no whole number of tiles or needs too many."""
    if not isinstance(schedule, AmxMatmul):
        raise ScheduleError(
            f"a {schedule.mainloop} schedule does not go with {spec.dtype} on {target.name}; "
            "use AmxMatmul"
        )
    check_ahead(spec, schedule)
    for field, unit in (("mr", TILE_ROWS), ("nr", TILE_ROWS), ("kc", tile_k(spec.dtype))):
        check_multiple(schedule, field, unit, "an AMX tile")
    rows, columns = schedule.mr // TILE_ROWS, schedule.nr // TILE_ROWS
    needed = rows * columns + rows + columns
    if needed > TILE_REGISTERS:
        raise ScheduleError(
            f"mr={schedule.mr} with nr={schedule.nr} needs {needed} tile registers; "
            f"{target.name} has {TILE_REGISTERS}; try mr={2 * TILE_ROWS},nr={2 * TILE_ROWS}"
        )
    compute = vector_for(target, finishing_type(spec), spec.n)
    plan = AmxPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_amx.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=compute,
        out=Access(dtype=spec.out, compute=compute),
        group=tile_k(spec.dtype) // TILE_ROWS,
        product=product,
        row=Access(dtype=spec.dtype, compute=Vector(count=TILE_ROWS, scalar="float")),
        run=Access(dtype=spec.dtype, compute=Vector(count=tile_k(spec.dtype), scalar="float")),
    )
    check_stack(target, plan.scratch_bytes)
    return plan
