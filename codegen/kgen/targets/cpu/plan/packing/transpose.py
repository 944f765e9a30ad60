"""In-register transposes of A, 16 bytes wide: read along M, transposed, packed along K."""

from __future__ import annotations

from kgen.spec import DType
from kgen.targets.cpu.plan.packing.panel import Side, Stage, transpose_sides, zip_stages
from kgen.targets.cpu.plan.vectors import Access, Vector
from kgen_runtime.values import frozen

#: Of a row: wider vectors are interleaved in parts of 16 bytes only (Intel SDM volume 2, VPUNPCKL).
TRANSPOSE_BYTES = 16


@frozen
class RegisterTranspose:
    """As many rows as a row has elements.

    `stride` and `pack_row` are the bytes from one row to the next in A and in packed A; `packed`
    is a transposed row there.
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
    dtype: DType, *, packed: str, stride: int, pack_row: int
) -> RegisterTranspose:
    """`packed` is LLVM's type of an element of packed A."""
    compute = Vector(count=TRANSPOSE_BYTES // dtype.itemsize, scalar="float")
    return RegisterTranspose(
        access=Access(dtype=dtype, compute=compute),
        packed=compute.of(packed),
        stride=stride,
        pack_row=pack_row,
    )
