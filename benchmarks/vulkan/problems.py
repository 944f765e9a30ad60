"""Problems of the comparison, in the languages of the peers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]

MATMUL = """
func.func @f(%a: tensor<{m}x{k}x{t}>, %b: tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}x{t}> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{m}x{n}xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %sum = linalg.matmul ins(%a, %b : tensor<{m}x{k}x{t}>, tensor<{k}x{n}x{t}>)
                       outs(%start : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  {end}
  return %out : tensor<{m}x{n}x{t}>
}}
"""
SOFTMAX = """
func.func @f(%x: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
  %empty = tensor.empty() : tensor<{0}x{1}xf32>
  %out = linalg.softmax dimension(1) ins(%x : tensor<{0}x{1}xf32>)
                                     outs(%empty : tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32>
  return %out : tensor<{0}x{1}xf32>
}}
"""
RELU = """
func.func @f(%x: tensor<{0}xf32>) -> tensor<{0}xf32> {{
  %zero = arith.constant dense<0.0> : tensor<{0}xf32>
  %out = arith.maximumf %x, %zero : tensor<{0}xf32>
  return %out : tensor<{0}xf32>
}}
"""


@dataclass(frozen=True)
class Problem:
    """Operation with its sizes and type."""

    op: str
    sizes: tuple[int, ...]
    dtype: str = "f32"

    @property
    def name(self) -> str:
        return f"{self.op} {'x'.join(map(str, self.sizes))} {self.dtype}"

    @property
    def file(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def kernel(self) -> str:
        """Text that kgen reads."""
        sizes = "x".join(map(str, self.sizes))
        if self.op == "attention":
            return f"attention q={sizes},k={sizes} {self.dtype}"
        return f"{self.op if self.op == 'matmul' else f'{self.op}(x)'} {sizes} {self.dtype}"

    @property
    def out_shape(self) -> tuple[int, ...]:
        return self.sizes[:2] if self.op == "matmul" else self.sizes

    @property
    def flops(self) -> int:
        return 2 * int(np.prod(self.sizes)) if self.op == "matmul" else 0

    @property
    def mlir(self) -> str:
        if self.op == "relu":
            return RELU.format(*self.sizes)
        if self.op == "softmax":
            return SOFTMAX.format(*self.sizes)
        m, n, k = self.sizes
        end = "%out = tensor.cast %sum : tensor<{m}x{n}xf32> to tensor<{m}x{n}xf32>"
        if self.dtype == "f16":
            end = "%out = arith.truncf %sum : tensor<{m}x{n}xf32> to tensor<{m}x{n}xf16>"
        return MATMUL.format(m=m, n=n, k=k, t=self.dtype, end=end.format(m=m, n=n))

    @cached_property
    def inputs(self) -> list[Values]:
        random = np.random.default_rng(0)
        shapes = [self.sizes]
        if self.op == "matmul":
            m, n, k = self.sizes
            shapes = [(m, k), (k, n)]
        dtype = np.float16 if self.dtype == "f16" else np.float32
        return [random.uniform(-1, 1, shape).astype(dtype) for shape in shapes]

    @cached_property
    def expected(self) -> Values:
        first = self.inputs[0].astype(np.float32)
        if self.op == "relu":
            return np.maximum(first, 0)
        if self.op == "softmax":
            e = np.exp(first - first.max(-1, keepdims=True))
            found: Values = e / e.sum(-1, keepdims=True)
            return found
        found = first @ self.inputs[1].astype(np.float32)
        return found


PROBLEMS: tuple[Problem, ...] = (
    Problem("matmul", (512, 512, 512)),
    Problem("matmul", (1024, 1024, 1024)),
    Problem("matmul", (197, 768, 768)),
    Problem("matmul", (1, 4096, 4096)),
    Problem("matmul", (1024, 1024, 1024), "f16"),
    Problem("softmax", (1000, 1000)),
    Problem("relu", (2**22,)),
)
