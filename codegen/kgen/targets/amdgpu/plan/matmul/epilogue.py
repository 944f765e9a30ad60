"""Epilogue of a matmul: the expression on accumulators, its stores and their bounds."""

from __future__ import annotations

import dataclasses
from functools import cached_property

from kgen.schedule import GpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.amdgpu.expressions import (
    DIVISION_ULPS,
    INEXACT,
    AmdgpuRenderer,
    exponentials,
    remainders,
    rounding,
)
from kgen.targets.amdgpu.float8 import Float8
from kgen.targets.batch import BatchTerm, batch_terms
from kgen.targets.contraction.implicit_gemm import vector_terms
from kgen.targets.epilogue import ACCUMULATOR, EpilogueArgument, FusedEpilogue
from kgen.targets.expressions import Rendered
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import Remainder
from kgen_runtime.values import frozen

#: Largest buffer in bytes: 32-bit offsets reach as many bytes after it, which are out of range.
MAX_BUFFER = 2**31
MAKE_BUFFER = (
    "ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)"
)


@frozen
class EpiloguePlan:
    """Epilogue of a matmul, in pieces of `value.lanes` neighbouring columns of one row.

    The output and the operands of its shape are buffers. The hardware checks their bounds: outside
    of them, stores do nothing and loads return zero. Rows past the last are out of bounds by their
    address; the kernel moves the addresses of columns past the last out of bounds. Only a tile that
    is too large for 32-bit offsets needs branches.
    """

    spec: Matmul
    value: FloatType
    block_m: int
    block_n: int
    ragged_rows: bool
    ragged_columns: bool

    @property
    def out(self) -> FloatType:
        return FloatType(dtype=self.spec.out, lanes=self.value.lanes)

    @property
    def sums(self) -> FloatType:
        """Type of a piece of accumulators."""
        return self.value.of(self.spec.accumulate)

    @property
    def converts_sums(self) -> bool:
        """Whether accumulators are integers, and the epilogue computes in f32."""
        return self.sums != self.value

    @property
    def rounds(self) -> bool:
        """Whether results are converted before a store, and full operands after a load."""
        return self.out != self.value

    @property
    def casts_words(self) -> bool:
        """Whether a piece of the output is stored as words of another type."""
        return self.out.words != self.out

    @property
    def float8(self) -> Float8:
        """Conversion of a piece of an 8-bit output."""
        return Float8(type=self.out)

    @property
    def row_bytes(self) -> int:
        return self.row_stride * self.out.dtype.itemsize

    @property
    def block_bytes(self) -> int:
        """Bytes from the first row of a block tile to the end of its last row."""
        return self.block_m * self.row_bytes

    @property
    def outside(self) -> int:
        """Offset that is outside of every block, also after a row's offset is added: -2**31."""
        return -MAX_BUFFER

    @property
    def is_buffer(self) -> bool:
        return self.block_bytes < MAX_BUFFER

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names in the kernel of the output and of the arguments of its shape."""
        return (*(a.stem for a in self.fused.full), "out")

    @property
    def guarded(self) -> bool:
        """Whether accesses to pieces need branches."""
        return not self.is_buffer and (self.ragged_rows or self.ragged_columns)

    @cached_property
    def fused(self) -> FusedEpilogue:
        return FusedEpilogue(spec=self.spec)

    def stored(self, argument: EpilogueArgument) -> FloatType:
        """Return the type of a piece of an argument in memory: one element if constant along n."""
        lanes = self.value.lanes if argument.varies_along_n else 1
        return FloatType(dtype=argument.dtype, lanes=lanes)

    def wide(self, argument: EpilogueArgument) -> FloatType:
        """Return the type of an epilogue operand after its conversion to f32."""
        return dataclasses.replace(self.stored(argument), dtype=self.value.dtype)

    def widens(self, argument: EpilogueArgument) -> bool:
        """Return whether an operand is converted to f32."""
        return argument.dtype is not self.value.dtype

    def repeats(self, argument: EpilogueArgument) -> bool:
        """Return whether one element of an operand serves several columns."""
        return self.value.is_vector and not argument.varies_along_n

    @property
    def row_stride(self) -> int:
        return self.spec.out_strides[1]

    @property
    def batch_terms(self) -> tuple[BatchTerm, ...]:
        return batch_terms(self.spec, "c")

    def vector_terms(self, argument: EpilogueArgument) -> tuple[BatchTerm, ...]:
        """Return the terms of a vector along n or m, in elements."""
        return vector_terms(self.spec, argument.extent, 1)

    def finished(self, piece: str, row: str, column: str, accumulators: str) -> Rendered:
        """Return the lines that apply the epilogue to a piece.

        The arguments are the names by which the template calls values that depend on the piece, on
        its row, on its column, and its accumulators.
        """
        e = self.fused
        values = {
            ACCUMULATOR: accumulators,
            **{a.name: f"{piece}.{a.stem}" for a in e.full},
            **{a.name: f"{column}.{a.stem}" for a in e.by_column},
            **{a.name: f"{row}.{a.stem}" for a in e.by_row},
            **{a.name: f"%{a.stem}.all" for a in e.numbers},
        }
        return self._renderer.render(e.expression, values, f"{piece}.finished")

    @property
    def _renderer(self) -> AmdgpuRenderer:
        return AmdgpuRenderer(type=self.value)

    @property
    def declarations(self) -> tuple[str, ...]:
        """Declarations of the intrinsics that the epilogue calls."""
        found = [
            *self._renderer.declarations(self.fused.expression),
            *rounding(self.value, self.out),
        ]
        if self.out.is_float8:
            found += self.float8.declarations
        if self.is_buffer:
            t = self.out.words
            found.append(MAKE_BUFFER)
            found.append(
                f"void @llvm.amdgcn.raw.ptr.buffer.store.{t.suffix}"
                f"({t}, ptr addrspace(8), i32, i32, i32 immarg)"
            )
            if self.fused.full:
                found.append(
                    f"{t} @llvm.amdgcn.raw.ptr.buffer.load.{t.suffix}"
                    "(ptr addrspace(8), i32, i32, i32 immarg)"
                )
            if self.ragged_rows:
                found.append("i32 @llvm.umin.i32(i32, i32)")
        return tuple(dict.fromkeys(found))

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        return remainders(self.fused.primitives)

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        return exponentials((self.value, self.fused.primitives))

    @property
    def division_ulps(self) -> str:
        """Permitted error of divisions and roots in ulps, as an LLVM literal; empty if the epilogue
        has none."""
        return f"{DIVISION_ULPS:e}" if self.fused.primitives & set(INEXACT) else ""


def epilogue(spec: Matmul, schedule: GpuMatmul, lanes: int) -> EpiloguePlan:
    return EpiloguePlan(
        spec=spec,
        # Accumulators of s32 may be the output; otherwise the epilogue computes in f32.
        value=FloatType(dtype=DType.S32 if spec.out is DType.S32 else DType.F32, lanes=lanes),
        block_m=schedule.block_m,
        block_n=schedule.block_n,
        ragged_rows=spec.m % schedule.block_m != 0,
        ragged_columns=spec.n % schedule.block_n != 0,
    )
