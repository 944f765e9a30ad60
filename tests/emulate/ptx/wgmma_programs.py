"""Kernels of one warpgroup around a wgmma. Operands are placed in shared memory where the test
says, element by element by PTX ISA 9.7.15.5.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from kgen.emulate import run
from tests.emulate.ptx.ptx_kernels import Array
from tests.emulate.ptx.ptxas import assemble

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
B_AT = 16384


@dataclass(frozen=True, kw_only=True)
class Place:
    """Place of an operand: bytes of swizzle (0 for none), byte offsets, the inner index."""

    span: int
    leading: int
    stride: int
    mn_major: bool = False

    @property
    def descriptor(self) -> int:
        mode = {0: 0, 128: 1, 64: 2, 32: 3}[self.span]
        return self.leading >> 4 << 16 | self.stride >> 4 << 32 | mode << 62

    def byte(self, row: int, k: int, size: int) -> int:
        """Return the byte of an element, before the swizzle of its 16-byte chunk."""
        pitch = self.span or 16
        if not self.mn_major:
            chunk, within = divmod(k * size, 16)
            apart = chunk * (16 if self.span else self.leading)
            at = row // 8 * self.stride + row % 8 * pitch + apart + within
        elif self.span:
            wide, within = divmod(row * size, self.span)
            at = wide * self.leading + k // 8 * self.stride + k % 8 * self.span + within
        else:
            at = row // 8 * self.stride + k // 8 * self.leading + k % 8 * 16 + row % 8 * 2
        turn = {0: 0, 32: at >> 7 & 1, 64: at >> 7 & 3, 128: at >> 7 & 7}[self.span]
        return at ^ turn << 4

    def put(self, memory: bytearray, start: int, matrix: Array) -> None:
        """Write a matrix [row, k] at a start that is a multiple of 1024."""
        size = matrix.dtype.itemsize
        for (row, k), value in np.ndenumerate(matrix):
            at = start + self.byte(row, k, size)
            memory[at : at + size] = np.asarray(value, matrix.dtype).tobytes()


def program(
    name: str,
    n: int,
    *,
    immediates: str,
    a_registers: bool = False,
    accumulate: int = 1,
    body: str = "",
) -> str:
    """Return a program of one warpgroup: shared memory from `image`, C and D as each thread's
    registers."""
    d_type = name.split(".")[-3]
    count = n // 4 if d_type == "f16" else n // 2
    kind = "f32" if d_type == "f32" else "b32"
    d = "{" + ", ".join(f"%acc{i}" for i in range(count)) + "}"
    a = "{%a0, %a1, %a2, %a3}" if a_registers else "%desc_a"
    loads = "".join(f"  ld.global.b32 %acc{i}, [%c+{4 * i}];\n" for i in range(count))
    stores = "".join(f"  st.global.b32 [%c+{4 * i}], %acc{i};\n" for i in range(count))
    product = f"  {name} {d}, {a}, %desc_b, %scale{immediates};\n"
    steps = body or (
        "  wgmma.fence.sync.aligned;\nPRODUCT"
        "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
    )
    source = f""".version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k(.param .u64 image, .param .u64 c, .param .u64 a, .param .u64 da, .param .u64 db)
{{
  .reg .pred %done, %scale;
  .reg .b32 %t, %at, %i, %r, %a<4>;
  .reg .b64 %image, %c, %a, %d, %desc_a, %desc_b;
  .reg .{kind} %acc<{count}>;
  ld.param.u64 %image, [image];
  ld.param.u64 %c, [c];
  ld.param.u64 %a, [a];
  ld.param.u64 %desc_a, [da];
  ld.param.u64 %desc_b, [db];
  mov.u32 %t, %tid.x;
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 4, %at;
  mad.wide.u32 %image, %t, 4, %image;
  mov.u32 %i, 0;
fill:
  ld.global.u32 %r, [%image];
  st.shared.u32 [%at], %r;
  add.u64 %image, %image, 512;
  add.u32 %at, %at, 512;
  add.u32 %i, %i, 512;
  setp.lt.u32 %done, %i, 65536;
  @%done bra fill;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mad.wide.u32 %c, %t, {4 * count}, %c;
  mad.wide.u32 %a, %t, 16, %a;
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%a];
{loads}  setp.eq.u32 %scale, {accumulate}, 1;
{steps.replace("PRODUCT", product)}{stores}  ret;
}}
"""
    assemble(source)
    return source


def launch(
    source: str, image: bytearray, c: Array, a: Array, descriptors: tuple[int, int], **options: Any
) -> None:
    run(
        source,
        language="ptx",
        entry="k",
        grid=(1, 1, 1),
        block=(128, 1, 1),
        arguments=[
            np.frombuffer(bytes(image), np.uint8),
            c,
            a,
            np.uint64(descriptors[0]),
            np.uint64(descriptors[1] | B_AT >> 4),
        ],
        dynamic_shared=65536,
        **options,
    )


def d_position(thread: int, i: int) -> tuple[int, int]:
    """Return the row and column of element i of a thread's D."""
    warp, lane = divmod(thread, 32)
    return 16 * warp + lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + lane % 4 * 2 + i % 2


def fragment(matrix: Array, position: Callable[[int, int], tuple[int, int]], count: int) -> Array:
    at = np.array([[position(t, i) for i in range(count)] for t in range(128)])
    return np.ascontiguousarray(matrix[at[..., 0], at[..., 1]])


K_MAJOR = {span: Place(span=span, leading=16, stride=8 * span) for span in (32, 64, 128)}
K_MAJOR[0] = Place(span=0, leading=128, stride=256)
#: 64 and up to 256 rows: chunks of a k, or of eight rows, one after the other.
MN_MAJOR = {
    span: Place(span=span, leading=16 * span, stride=8 * span, mn_major=True)
    for span in (32, 64, 128)
}
MN_MAJOR[0] = Place(span=0, leading=4096, stride=128, mn_major=True)
