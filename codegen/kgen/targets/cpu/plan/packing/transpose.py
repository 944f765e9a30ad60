"""In-register transposes, 16 bytes wide: of A read along M, or B along N, packed along K."""

from __future__ import annotations

from kgen.spec import DType
from kgen.targets.cpu.plan.packing.panel import Side, Stage, transpose_sides, zip_stages
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Of a row: wider vectors are interleaved in parts of 16 bytes only (Intel SDM volume 2, VPUNPCKL).
TRANSPOSE_BYTES = 16


@frozen
class RegisterTranspose:
    """Transposition of a square block: as many rows as a row has elements.

    `stride` and `pack_row` are the bytes from one row to the next in the matrix and where it is
    packed; `packed` is a transposed row there.
    """

    access: Access
    packed: Vector
    stride: int
    pack_row: int

    @property
    def size(self) -> int:
        return self.access.compute.count

    @property
    def widens(self) -> bool:
        return self.packed != self.access.stored

    @property
    def sides(self) -> tuple[Side, ...]:
        return transpose_sides(self.size, self.size, self.stride, self.pack_row)

    @property
    def stages(self) -> tuple[Stage, ...]:
        return zip_stages(self.size)


def register_transpose(
    dtype: DType, *, stride: int, pack_row: int, packed: str = ""
) -> RegisterTranspose:
    """`packed` is LLVM's type of a packed element, if not the stored one."""
    access = Access(
        dtype=dtype, compute=Vector(count=TRANSPOSE_BYTES // dtype.itemsize, scalar="float")
    )
    return RegisterTranspose(
        access=access,
        packed=access.stored.of(packed) if packed else access.stored,
        stride=stride,
        pack_row=pack_row,
    )
