"""The matrix instructions: their shapes, their intrinsics, and which lane holds what.

Source: AMD's ISA manuals, "Matrix Arithmetic Instructions" (CDNA) and "Wave Matrix Multiply
Accumulate" (RDNA), checked against AMD's matrix instruction calculator.

A is M x K, B is K x N, D is M x N; l is the lane. A lane holds part of row l % M of A, part of
column l % N of B, and in result register r the element of D at row
``register_rows[r] + lane_rows * (l // N)`` and column ``l % N``. A lane's elements of A and of B
have the same depths, and any permutation of K that both share gives the same product: kernels load
consecutive depths.
"""

from __future__ import annotations

from kgen.targets.base import Target
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen


@frozen
class MatrixInstruction:
    """One instruction on one dtype. `elements` and `registers` are per lane."""

    name: str
    feature: str
    dtype: DType
    m: int
    n: int
    k: int
    elements: int
    operand: str
    intrinsic: str
    #: Operands behind D in the call: MFMA's cbsz, abid and blgp (no broadcast, no permutation).
    modifiers: str = ""
    #: gfx11: the upper half of the wave repeats the lower half's operands.
    replicated: bool = False
    lane_rows: int
    register_rows: tuple[int, ...]

    @property
    def registers(self) -> int:
        return len(self.register_rows)

    @property
    def accumulator(self) -> str:
        return f"<{self.registers} x float>"

    @property
    def element(self) -> str:
        """The IR type of one operand element: `<4 x half>` holds `half`."""
        return self.operand.split(" x ")[1].rstrip(">")

    @property
    def signature(self) -> str:
        types = [self.operand, self.operand, self.accumulator]
        return ", ".join(types + ["i32 immarg"] * self.modifiers.count("i32"))

    def lane_groups(self, wave: int) -> int:
        """Parts of the wave that hold different depths of one row."""
        return 1 if self.replicated else wave // self.m


def _mfma(
    feature: str, dtype: DType, size: int, k: int, element: str, suffix: str
) -> MatrixInstruction:
    # 32 x 32: four rows in turn from each half of the wave. 16 x 16: four rows per quarter.
    rows = tuple(8 * (r // 4) + r % 4 for r in range(16)) if size == 32 else (0, 1, 2, 3)
    elements = size * k // 64
    return MatrixInstruction(
        name=f"mfma {size}x{size}x{k}",
        feature=feature,
        dtype=dtype,
        m=size,
        n=size,
        k=k,
        elements=elements,
        operand=f"<{elements} x {element}>",
        intrinsic=f"llvm.amdgcn.mfma.f32.{size}x{size}x{k}{suffix}",
        modifiers=", i32 0, i32 0, i32 0",
        lane_rows=4,
        register_rows=rows,
    )


def _wmma(feature: str, dtype: DType, element: str) -> MatrixInstruction:
    replicated = feature == "wmma-gfx11"
    elements = 16 if replicated else 8
    operand_suffix = f"v{elements}{element.replace('half', 'f16')}"
    return MatrixInstruction(
        name="wmma 16x16x16",
        feature=feature,
        dtype=dtype,
        m=16,
        n=16,
        k=16,
        elements=elements,
        operand=f"<{elements} x {element}>",
        intrinsic=f"llvm.amdgcn.wmma.f32.16x16x16.{dtype}.v8f32.{operand_suffix}",
        replicated=replicated,
        # gfx11: even rows in the lower half of the wave, odd rows in the upper. gfx12: rows 0-7
        # and 8-15.
        lane_rows=1 if replicated else 8,
        register_rows=tuple(2 * r if replicated else r for r in range(8)),
    )


#: The best first: the largest depth, then the largest tile (fewer operand loads per product).
INSTRUCTIONS = (
    _mfma("mfma-double-k", DType.F16, 32, 16, "half", ".f16"),
    _mfma("mfma-double-k", DType.F16, 16, 32, "half", ".f16"),
    _mfma("mfma-double-k", DType.BF16, 32, 16, "bfloat", ".bf16"),
    _mfma("mfma-double-k", DType.BF16, 16, 32, "bfloat", ".bf16"),
    _mfma("mfma", DType.F16, 32, 8, "half", "f16"),
    _mfma("mfma", DType.F16, 16, 16, "half", "f16"),
    _mfma("mfma-bf16-1k", DType.BF16, 32, 8, "i16", "bf16.1k"),
    _mfma("mfma-bf16-1k", DType.BF16, 16, 16, "i16", "bf16.1k"),
    _wmma("wmma-gfx11", DType.F16, "half"),
    _wmma("wmma-gfx11", DType.BF16, "i16"),
    _wmma("wmma-gfx12", DType.F16, "half"),
    _wmma("wmma-gfx12", DType.BF16, "i16"),
)


def available(target: Target, dtype: DType) -> tuple[MatrixInstruction, ...]:
    """What the target has for a dtype, the best first; empty if it has none."""
    return tuple(i for i in INSTRUCTIONS if target.has(i.feature) and i.dtype is dtype)
