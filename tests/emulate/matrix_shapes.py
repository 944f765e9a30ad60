"""Shapes and types of matrix instructions, the layouts of their operands, and kernels around
them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.emulate.llvm.llvm_kernels import Array, kernel, run


@dataclass(frozen=True, kw_only=True)
class Shape:
    name: str
    cpu: str
    m: int
    k: int
    blocks: int
    types: tuple[str, str, str]
    """Of A, of B, of C and D."""
    kinds: tuple[str, str]
    wave: int = 64

    @property
    def elements(self) -> int:
        return self.m * self.k * self.blocks // self.wave


def minifloat(value: int, kind: str, fnuz: bool) -> int:
    """Return the code of an integer from -3 to 3."""
    fraction, bias = {"fp8": (3, 7), "bf8": (2, 15)}[kind]
    bias += fnuz
    if value == 0:
        return 0
    size = abs(value)
    exponent = 1 if size >= 2 else 0
    rest = (size - (1 << exponent)) << (fraction - exponent)
    return (0x80 if value < 0 else 0) | (bias + exponent) << fraction | rest


def storage(values: Array, kind: str, cpu: str) -> Array:
    """Return integers [lane, element] as bytes in memory order: [lane, bytes...]."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind in ("fp8", "bf8"):
        codes: Array = np.vectorize(lambda v: minifloat(v, kind, cpu == "gfx942"))(values)
        return codes.astype(np.uint8)
    if kind == "iu4":
        pairs = (values & 15).reshape(len(values), -1, 2)
        return (pairs[..., 0] | pairs[..., 1] << 4).astype(np.uint8)
    types = {"f16": np.float16, "f32": np.float32, "xf32": np.float32, "f64": np.float64}
    return values.astype(types.get(kind, np.int8))


def source(s: Shape, call: str, declaration: str) -> str:
    loads = "".join(
        f"""
  %{x}.at = getelementptr {type_}, ptr addrspace(1) %{x}.p, i32 %t
  %{x} = load {type_}, ptr addrspace(1) %{x}.at, align 1"""
        for x, type_ in zip("abc", s.types, strict=True)
    )
    d = s.types[2]
    return kernel(
        f"""{loads}
  %d = call {d} @llvm.amdgcn.{s.name}({call})
  %d.at = getelementptr {d}, ptr addrspace(1) %d.p, i32 %t
  store {d} %d, ptr addrspace(1) %d.at, align 1
  ret void""",
        ", ".join(f"ptr addrspace(1) %{x}.p" for x in "abcd"),
        cpu=s.cpu,
        declarations=f"declare {d} @llvm.amdgcn.{s.name}({declaration})",
    )


def multiply(s: Shape, text: str, arrays: list[Array], **options: Any) -> None:
    block = (s.wave, 1, 1)
    run(text, entry="k", grid=(1, 1, 1), block=block, arguments=arrays, **options)
