"""Matrix instructions: their shapes, intrinsics, and the distribution of operands over lanes.

Source: AMD's ISA manuals, "Matrix Arithmetic Instructions" (CDNA), "Wave Matrix Multiply
Accumulate" (RDNA) and "V_DOT2_F32_F16" (RDNA2), checked against AMD's matrix instruction
calculator.

A is M x K, B is K x N, D is M x N. Lane l holds a part of row l % M of A and a part of column l % N
of B. Its result register r holds the element of D at row
``register_rows[r] + lane_rows * (l // N)`` and column ``l % N``. A lane's elements of A and of B
have the same depths. Any permutation of K that both operands share gives the same product; kernels
load consecutive depths.

On processors without matrix cores, the dot products of M x N lanes take their place: lane l
multiplies row l // N of A by column l % N of B and holds that element of D.
"""

from __future__ import annotations

from dataclasses import replace

from kgen.spec import Math, Matmul
from kgen.spec.choices import FNUZ
from kgen.targets.base import Target
from kgen.targets.llvm_ir import FloatType, VectorType
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Bytes of a slot of LDS, which is the widest access of a lane.
SLOT_BYTES = 16


@frozen
class MatrixInstruction:
    """Matrix instruction for one dtype. `elements` and `registers` count per lane.

    Elements of 8 bits are `packed` four to a 32-bit word. A lane holds words, and `operand` may be
    another type of as many bits.
    """

    name: str
    feature: str
    dtype: DType
    m: int
    n: int
    k: int
    elements: int
    operand: str
    intrinsic: str
    packed: int = 1
    #: Operand before A and before B in the call: WMMA's sign of integers.
    sign: str = ""
    #: Operands after D in the call: MFMA's cbsz, abid and blgp (no broadcast, no permutation). For
    #: f8f6f4, the formats of A and B, and scales, where zeros mean no scale.
    modifiers: str = ""
    #: The upper half of the wave repeats the lower half's operands (gfx11).
    replicated: bool = False
    #: The instruction is a dot product per lane: lane l has row l // N of A.
    by_lane: bool = False
    math: Math = Math.EXACT
    #: Wait states before other instructions may read D, if these are more than the 19 for which
    #: LLVM checks (LLVM 22, GCNHazardRecognizer.cpp, checkMAIVALUHazards); else 0.
    late_by: int = 0
    lane_rows: int
    register_rows: tuple[int, ...]

    @property
    def registers(self) -> int:
        return len(self.register_rows)

    @property
    def has_registers(self) -> bool:
        """Whether an accumulator is a vector of several registers."""
        return self.registers > 1

    @property
    def sums(self) -> DType:
        return DType.S32 if self.dtype.is_integer else DType.F32

    @property
    def sums_type(self) -> FloatType:
        """IR type of an accumulator: a vector if operands are vectors of one element."""
        kind = VectorType if self.operand.startswith("<1 ") else FloatType
        return kind(dtype=self.sums, lanes=self.registers)

    @property
    def accumulator(self) -> str:
        return str(self.sums_type)

    @property
    def element(self) -> str:
        """IR type of an element of a fragment, such as `half`, or `i32` if elements are packed."""
        if self.packed > 1:
            return "i32"
        return self.operand.rpartition(" x ")[2].rstrip(">")

    @property
    def lanes(self) -> int:
        """Elements of a fragment."""
        return self.elements // self.packed

    @property
    def fragment(self) -> str:
        """IR type of a fragment."""
        return f"<{self.lanes} x {self.element}>"

    @property
    def casts_fragments(self) -> bool:
        """Whether `operand` is another type than a fragment."""
        return self.operand != self.fragment

    @property
    def slot_k(self) -> int:
        """Consecutive depths in a slot of LDS."""
        return SLOT_BYTES // self.dtype.itemsize

    @property
    def signature(self) -> str:
        sign = ["i1 immarg"] if self.sign else []
        behind = [f"{part.split()[0]} immarg" for part in self.modifiers.split(", ")[1:]]
        return ", ".join([*sign, self.operand, *sign, self.operand, self.accumulator, *behind])

    @property
    def whole_depth(self) -> bool:
        """Whether a lane holds all depths of its row and column."""
        return self.replicated or self.by_lane

    def lane_groups(self, wave: int) -> int:
        """Return the number of lane groups of a wave, which hold different depths of the same
        rows."""
        return 1 if self.whole_depth else wave // self.m

    def lane_row(self, lane: int) -> int:
        """Return the row of A that a lane holds."""
        return lane // self.n if self.by_lane else lane % self.m

    def lane_column(self, lane: int) -> int:
        """Return the column of B and of D that a lane holds."""
        return lane % self.n

    def lane_depth(self, lane: int) -> int:
        """Return the lane group of a lane."""
        return 0 if self.whole_depth else lane // self.m


def _mfma(
    feature: str, dtype: DType, size: int, k: int, element: str, suffix: str
) -> MatrixInstruction:
    # 32 x 32: both halves of the wave alternate every four rows. 16 x 16: a quarter has four rows.
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


def _mfma_f32(size: int, k: int) -> MatrixInstruction:
    """Return MFMA on f32, whose lanes have one element."""
    like = _mfma("mfma", DType.F32, size, k, "float", "f32")
    return replace(like, operand="float")


def _mfma_xf32(size: int, k: int) -> MatrixInstruction:
    """Return MFMA on f32 rounded to 11 bits (CDNA3 ISA, "XF32")."""
    like = _mfma("mfma-xf32", DType.F32, size, k, "float", ".xf32")
    return replace(like, name=f"{like.name} xf32", math=Math.TF32)


def _dot(feature: str, dtype: DType, k: int, operand: str, intrinsic: str) -> MatrixInstruction:
    """Return the dot product per lane of 32-bit words, in a wave of 4 x 8 lanes."""
    return MatrixInstruction(
        name=f"dot{k} 4x8x{k}",
        feature=feature,
        dtype=dtype,
        m=4,
        n=8,
        k=k,
        elements=k,
        operand=operand,
        intrinsic=f"llvm.amdgcn.{intrinsic}",
        packed=k if dtype.itemsize == 1 else 1,
        # Sums wrap, as those of the reference would.
        modifiers=", i1 false",
        by_lane=True,
        lane_rows=1,
        register_rows=(0,),
    )


#: Names of the 8-bit types in LLVM's intrinsics.
BYTES = {
    DType.S8: "i8",
    DType.E4M3: "fp8",
    DType.E5M2: "bf8",
    DType.E4M3FNUZ: "fp8",
    DType.E5M2FNUZ: "bf8",
}


def _mfma_bytes(feature: str, dtype: DType, size: int, k: int, operand: str) -> MatrixInstruction:
    """Return MFMA on operands of 8 bits."""
    like, name = _mfma(feature, DType.F16, size, k, "half", ""), BYTES[dtype]
    suffix = f".{name}" if dtype.is_integer else f".{name}.{name}"
    result = "i32" if dtype.is_integer else "f32"
    # The intrinsics of gfx90a have no dot before the type.
    dot = suffix if operand != "i32" else name
    return replace(
        like,
        dtype=dtype,
        operand=operand,
        packed=4,
        intrinsic=f"llvm.amdgcn.mfma.{result}.{size}x{size}x{k}{dot}",
    )


def _mfma_f8f6f4(dtype: DType, size: int, k: int) -> MatrixInstruction:
    """Return MFMA of gfx950 that multiplies fp8 at the full rate, without scales."""
    like = _mfma("mfma-f8f6f4", DType.F16, size, k, "half", "")
    kind = 0 if dtype is DType.E4M3 else 1
    return replace(
        like,
        name=f"{like.name} f8f6f4",
        dtype=dtype,
        operand="<8 x i32>",
        packed=4,
        intrinsic=f"llvm.amdgcn.mfma.scale.f32.{size}x{size}x{k}.f8f6f4.v8i32.v8i32",
        modifiers=f", i32 {kind}, i32 {kind}, i32 0, i32 0, i32 0, i32 0",
        late_by=20 if size == 32 else 0,
    )


def _wmma_bytes(feature: str, dtype: DType) -> MatrixInstruction:
    """Return WMMA on operands of 8 bits."""
    like, name = _wmma(feature, DType.F16, "half"), BYTES[dtype]
    words = like.elements // 4
    if dtype.is_integer:
        intrinsic = f"llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v{words}i32"
    else:
        intrinsic = f"llvm.amdgcn.wmma.f32.16x16x16.{name}.{name}.v8f32.v{words}i32"
    return replace(
        like,
        dtype=dtype,
        operand=f"<{words} x i32>",
        packed=4,
        sign="i1 true, " if dtype.is_integer else "",
        # Sums wrap, as those of the reference would.
        modifiers=", i1 false" if dtype.is_integer else "",
        intrinsic=intrinsic,
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


#: All instructions, the best first: the largest depth, then the largest tile, which needs the
#: fewest operand loads per product.
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
    _mfma_bytes("mfma-double-k", DType.S8, 32, 32, "<4 x i32>"),
    _mfma_bytes("mfma-double-k", DType.S8, 16, 64, "<4 x i32>"),
    _mfma_bytes("mfma-8bit", DType.S8, 32, 16, "i64"),
    _mfma_bytes("mfma-8bit", DType.S8, 16, 32, "i64"),
    *(_mfma_bytes("mfma-fnuz", d, 32, 16, "i64") for d in FNUZ),
    *(_mfma_bytes("mfma-fnuz", d, 16, 32, "i64") for d in FNUZ),
    _mfma_bytes("mfma-i8-words", DType.S8, 32, 8, "i32"),
    _mfma_bytes("mfma-i8-words", DType.S8, 16, 16, "i32"),
    *(
        _mfma_f8f6f4(d, size, k)
        for d in (DType.E4M3, DType.E5M2)
        for size, k in ((32, 64), (16, 128))
    ),
    _mfma_f32(32, 2),
    _mfma_f32(16, 4),
    _mfma_xf32(32, 4),
    _mfma_xf32(16, 8),
    _dot("dot2-f16", DType.F16, 2, "<2 x half>", "fdot2"),
    _dot("dot4-i8", DType.S8, 4, "i32", "sdot4"),
    _wmma_bytes("wmma-gfx11", DType.S8),
    *(_wmma_bytes("wmma-gfx12", d) for d in (DType.S8, DType.E4M3, DType.E5M2)),
)


#: Multiply-adds of f32, by which lanes that have no matrix instruction multiply in attention.
LANE_FMA = MatrixInstruction(
    name="fma 4x8x1",
    feature="",
    dtype=DType.F32,
    m=4,
    n=8,
    k=1,
    elements=1,
    operand="<1 x float>",
    intrinsic="llvm.fma.v1f32",
    by_lane=True,
    lane_rows=1,
    register_rows=(0,),
)


def available(
    target: Target, dtype: DType, math: Math = Math.EXACT
) -> tuple[MatrixInstruction, ...]:
    """Return the target's matrix instructions for a dtype, the best first; empty if it has none."""
    return tuple(
        i for i in INSTRUCTIONS if target.has(i.feature) and (i.dtype, i.math) == (dtype, math)
    )


def of_waves(target: Target, dtype: DType) -> tuple[MatrixInstruction, ...]:
    """Return the target's matrix instructions for a dtype whose lanes share their operands."""
    return tuple(i for i in available(target, dtype) if not i.by_lane)


def of_attention(target: Target, dtype: DType) -> tuple[MatrixInstruction, ...]:
    """Return the instructions of both products of attention, the best first; empty if there are
    none."""
    if dtype is DType.E4M3:  # widened
        return of_waves(target, DType.F16) if available(target, dtype) else ()
    found = of_waves(target, dtype)
    return found or ((LANE_FMA,) if dtype is DType.F32 else ())


def instructions_of(spec: Matmul, target: Target) -> tuple[MatrixInstruction, ...]:
    """Return the target's matrix instructions for a matmul, the best first; empty if it has
    none."""
    return available(target, spec.dtype, spec.math)
