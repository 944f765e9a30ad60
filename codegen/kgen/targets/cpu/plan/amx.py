"""The plan of matmul_amx.ll.j2: bf16 products on AMX tiles of 16 rows of 64 bytes.

Intel Architecture Instruction Set Extensions Programming Reference, chapter 3 (AMX): TDPBF16PS
adds to a 16 x 16 tile of f32 the product of 16 x 32 bf16 of A and 32 x 16 bf16 of B, the latter as
16 rows of 16 pairs (k, k + 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.errors import ScheduleError
from kgen.schedule import AmxMatmul, CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.blocks import MatmulPlan, check_multiple, check_stack, matmul_launch
from kgen.targets.cpu.plan.panel import PanelVector, interleave, panel
from kgen.targets.cpu.plan.vectors import Access, Vector

TILE_ROWS = 16
#: bf16 of K in a tile's 64 bytes.
TILE_K = 32
TILE_BYTES = 64
#: Sums take rows x columns of the eight tile registers, A and B one for each row and column.
TILE_REGISTERS = 8
#: Added to a row of packed A, so that rows a power of two apart do not share a cache set.
ROW_PADDING = 64


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
class AmxPlan(MatmulPlan):
    #: 16 columns of a row of B, and 32 of K of a row of A.
    row: Access
    run: Access

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(sorted(self.target.features))

    @property
    def pair_vector(self) -> Vector:
        """Pairs (k, k + 1) of 16 columns."""
        return Vector(count=TILE_ROWS, scalar="i32")

    @property
    def scratch_bytes(self) -> int:
        return self.a_pack_bytes + self.b_pack_bytes + self.acc_bytes

    # -- packed A: [mc][kc] bf16, zero past K --------------------------------------------------

    @property
    def a_gathered(self) -> bool:
        """K does not lie side by side in A."""
        return self.spec.layout.a_transposed

    @property
    def a_pack_row(self) -> int:
        return self.schedule.kc * 2 + ROW_PADDING

    @property
    def a_pack_bytes(self) -> int:
        return self.schedule.mc * self.a_pack_row

    @property
    def k_mask(self) -> int:
        """Rounds a depth down to whole tiles, by `and`."""
        return -TILE_K

    @property
    def depth_whole(self) -> str:
        """Depth in whole tiles."""
        if self.depth_varies:
            return "%depth.whole"
        depth = min(self.spec.k, self.schedule.kc)
        return str(depth - depth % TILE_K)

    @property
    def depth_padded(self) -> str:
        """Depth up to whole tiles."""
        if self.depth_varies:
            return "%depth.padded"
        return str(-(-min(self.spec.k, self.schedule.kc) // TILE_K) * TILE_K)

    @property
    def has_whole_depth(self) -> bool:
        return self.spec.k >= TILE_K

    @property
    def k_tail(self) -> int:
        """K of the last, partial tile; the rest of it is zero."""
        return self.spec.k % TILE_K

    # -- packed B: [kc / 2][nr] pairs, zero past K and N ---------------------------------------

    @property
    def b_gathered(self) -> bool:
        """The columns of a row of B do not lie side by side; pairs along K do."""
        return self.spec.layout.b_transposed

    @property
    def b_pack_row(self) -> int:
        """Bytes of a row of pairs."""
        return self.schedule.nr * 4

    @property
    def b_pack_bytes(self) -> int:
        return self.schedule.kc // 2 * self.b_pack_row

    @property
    def pair_stride(self) -> int:
        """Bytes in B from one pair along K to the next."""
        return 2 * self.b_strides[1]

    @property
    def pairs(self) -> str:
        """Whole pairs along K in the current block."""
        return "%pairs" if self.depth_varies else str(min(self.spec.k, self.schedule.kc) // 2)

    @property
    def k_odd(self) -> bool:
        return self.spec.k % 2 != 0

    @property
    def odd_offset(self) -> int:
        """Where the single k of the last block lies in a panel of B."""
        return self._last_depth // 2 * self.pair_stride

    @property
    def odd_to(self) -> int:
        """Where it goes in packed B."""
        return self._last_depth // 2 * self.b_pack_row

    @property
    def pad_from(self) -> int:
        """The bytes [pad_from, pad_to) of packed B are zero in the last block."""
        return -(-self._last_depth // 2) * self.b_pack_row

    @property
    def pad_to(self) -> int:
        return -(-self._last_depth // TILE_K) * TILE_K // 2 * self.b_pack_row

    @property
    def pairs_are_padded(self) -> bool:
        return self.pad_to > self.pad_from

    @property
    def last_k0(self) -> int:
        """Where the last block of K begins."""
        return self.spec.k - self._last_depth

    @property
    def _last_depth(self) -> int:
        return self.spec.k - (self.spec.k - 1) // self.schedule.kc * self.schedule.kc

    @property
    def panel(self) -> tuple[PanelVector, ...]:
        return self._panel(self.schedule.nr)

    @property
    def edge_panel(self) -> tuple[PanelVector, ...]:
        return self._panel(self.spec.n % self.schedule.nr)

    def _panel(self, columns: int) -> tuple[PanelVector, ...]:
        return panel(
            columns,
            vectors=self._tile_columns,
            count=TILE_ROWS,
            stride=self.b_strides[2],
            step=TILE_BYTES,
        )

    @property
    def interleave(self) -> str:
        """The shuffle mask that pairs the elements of two rows of 16."""
        return interleave(TILE_ROWS)

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
        return tuple(
            Tile(register=first + c, offset=c * TILE_BYTES) for c in range(self._tile_columns)
        )

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
        if self.spec.n % TILE_ROWS > 1 and not self.b_gathered:
            types = types | {self.row.stored}
        return tuple(sorted(types, key=str))


def plan_amx(spec: Matmul, target: Target, schedule: CpuMatmul) -> AmxPlan:
    """Raises ScheduleError if the schedule is no whole number of tiles or needs too many."""
    if not isinstance(schedule, AmxMatmul):
        raise ScheduleError(
            f"a {schedule.mainloop} schedule does not go with {spec.dtype} on {target.name}; "
            "use AmxMatmul"
        )
    for field, unit in (("mr", TILE_ROWS), ("nr", TILE_ROWS), ("kc", TILE_K)):
        check_multiple(schedule, field, unit, "an AMX tile")
    rows, columns = schedule.mr // TILE_ROWS, schedule.nr // TILE_ROWS
    needed = rows * columns + rows + columns
    if needed > TILE_REGISTERS:
        raise ScheduleError(
            f"mr={schedule.mr} with nr={schedule.nr} needs {needed} tile registers; "
            f"{target.name} has {TILE_REGISTERS}; try mr={2 * TILE_ROWS},nr={2 * TILE_ROWS}"
        )
    compute = vector_for(target, DType.F32, spec.n)
    plan = AmxPlan(
        spec=spec,
        target=target,
        schedule=schedule,
        template="cpu/matmul_amx.ll.j2",
        launches=(matmul_launch(spec, schedule),),
        compute=compute,
        out=Access(dtype=spec.out, compute=compute),
        row=Access(dtype=DType.BF16, compute=Vector(count=TILE_ROWS, scalar="float")),
        run=Access(dtype=DType.BF16, compute=Vector(count=TILE_K, scalar="float")),
    )
    check_stack(target, plan.scratch_bytes)
    return plan
