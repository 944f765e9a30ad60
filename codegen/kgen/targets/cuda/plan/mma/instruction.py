"""Matrix instructions by element type: their depth, and the conversion of operands.

Every instruction reads 32 bytes of k per step and row: two registers of A for each eight rows and
two of B for each eight columns (PTX ISA, "Matrix Fragments for mma.m16n8k8" and its neighbours).
"""

from __future__ import annotations

from kgen.spec import DType, Math, Matmul
from kgen.targets.base import Target
from kgen_runtime.values import frozen

#: Bytes of k per step and row, and per register of a fragment.
STEP_BYTES = 32


@frozen
class MatrixInstruction:
    """Instruction mma.sync with `rows` of m and `depth` of k; elements have `itemsize` bytes in
    shared memory.

    - `rounds`: operands are rounded to the instruction's type in registers.
    - `splits`: the error of that rounding is rounded too, and multiplied in two more products.
    - `short_sums`: the instruction adds with fewer bits than f32.
    - `made_of_f16`: ptxas replaces the instruction by conversions and instructions on f16.
    """

    name: str
    feature: str
    itemsize: int
    depth: int
    rows: int = 16
    rounds: bool = False
    splits: bool = False
    short_sums: bool = False
    made_of_f16: bool = False

    @property
    def step(self) -> int:
        """Elements of k per step."""
        return STEP_BYTES // self.itemsize

    @property
    def half(self) -> int:
        """Distance in k from one register to the next."""
        return self.step // 2

    @property
    def products(self) -> int:
        """Instructions for each 16x8 product of fragments, for all of a step's k."""
        return self.step // self.depth * (16 // self.rows) * (3 if self.splits else 1)


@frozen
class WarpgroupInstruction:
    """Instruction wgmma on operands of type `element` and 32 bytes of k; accumulators have type
    `sums`.

    - `either_major`: operands may be contiguous along m (or n).
    - `signs`: the instruction has factors of 1 or -1.
    - `column_step`: numbers of columns above 24 are multiples of it; up to 24, of 8 (PTX ISA,
      "wgmma.mma_async").
    - `short_sums`: as in :class:`MatrixInstruction`.
    """

    element: str
    itemsize: int
    sums: str = "f32"
    either_major: bool = False
    signs: bool = True
    column_step: int = 8
    short_sums: bool = False

    @property
    def depth(self) -> int:
        """Elements of k."""
        return STEP_BYTES // self.itemsize

    def name(self, columns: int) -> str:
        shape = f"m64n{columns}k{self.depth}"
        types = f"{self.sums}.{self.element}.{self.element}"
        return f"wgmma.mma_async.sync.aligned.{shape}.{types}"

    def takes(self, columns: int) -> bool:
        """Return whether the instruction exists with this number of columns."""
        return columns % (8 if columns <= SMALL_COLUMNS else self.column_step) == 0


#: Every wgmma exists with each multiple of 8 columns up to this number.
SMALL_COLUMNS = 24


def warpgroup_instruction_of(spec: Matmul) -> WarpgroupInstruction | None:
    """Return the wgmma that multiplies the spec's operands, with sums in the spec's type; None if
    there is none."""
    dtype = spec.dtype
    if dtype in (DType.F16, DType.BF16):
        return WarpgroupInstruction(element=dtype, itemsize=2, either_major=True)
    if dtype in (DType.E4M3, DType.E5M2):
        return WarpgroupInstruction(element=dtype, itemsize=1, short_sums=True)
    if dtype is DType.S8:
        return WarpgroupInstruction(
            element=dtype, itemsize=1, sums="s32", signs=False, column_step=16
        )
    if dtype is DType.F32 and spec.math is Math.TF32:
        return WarpgroupInstruction(element="tf32", itemsize=4)
    return None


def instruction_of(spec: Matmul, target: Target) -> MatrixInstruction | None:
    """Return the instruction that multiplies the spec's operands on the target, with sums in the
    spec's type; None if there is none."""
    found = _wanted(spec, target)
    return found if found is not None and target.has(found.feature) else None


def _wanted(spec: Matmul, target: Target) -> MatrixInstruction | None:
    dtype = spec.dtype
    if dtype is DType.F32 and spec.math is not Math.EXACT:
        return MatrixInstruction(
            name="mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            feature="tf32_mma",
            itemsize=4,
            depth=8,
            rounds=True,
            splits=spec.math is Math.TF32X3,
        )
    if dtype is DType.S8:
        shape = "m16n8k32" if target.has("s8_mma_m16n8k32") else "m8n8k16"
        return MatrixInstruction(
            name=f"mma.sync.aligned.{shape}.row.col.s32.s8.s8.s32",
            feature=f"s8_mma_{shape}",
            itemsize=1,
            depth=32 if shape == "m16n8k32" else 16,
            rows=16 if shape == "m16n8k32" else 8,
        )
    if dtype in (DType.E4M3, DType.E5M2):
        return MatrixInstruction(
            name=f"mma.sync.aligned.m16n8k32.row.col.f32.{dtype}.{dtype}.f32",
            feature="fp8_mma",
            itemsize=1,
            depth=32,
            short_sums=target.has("fp8_tensor_cores"),
            made_of_f16=not target.has("fp8_tensor_cores"),
        )
    if dtype not in (DType.F16, DType.BF16):
        return None
    deep = target.has("mma_m16n8k16")
    depth = 16 if deep else 8
    feature = "bf16_mma" if dtype is DType.BF16 else f"mma_m16n8k{depth}"
    return MatrixInstruction(
        name=f"mma.sync.aligned.m16n8k{depth}.row.col.f32.{dtype}.{dtype}.f32",
        feature=feature,
        itemsize=2,
        depth=depth,
    )
