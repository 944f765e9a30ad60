"""kgen: a compile-time generator of fixed-shape GPU and CPU kernels.

>>> import kgen
>>> spec = kgen.Matmul(m=1024, n=1024, k=1024, dtype="bf16", epilogue=("bias", "relu"))
>>> kgen.build(spec, targets=["sm_80", "gfx942"]).save("mlp.kgen")
"""

from __future__ import annotations

from kgen.bundle import Bundle
from kgen.pipeline import build
from kgen.spec import DType, Epilogue, Layout, Matmul, Relu, Softmax

__version__ = "0.1.0"

__all__ = ["Bundle", "DType", "Epilogue", "Layout", "Matmul", "Relu", "Softmax", "build"]
