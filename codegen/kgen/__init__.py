"""kgen: a compile-time generator of fixed-shape GPU and CPU kernels.

>>> import kgen
>>> spec = kgen.Matmul(m=1024, n=1024, k=1024, dtype="bf16", epilogue=("bias", "relu"))
>>> kgen.build(spec, targets=["sm_80", "gfx942"]).save("mlp.kgen")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgen.bundle import Bundle
    from kgen.errors import KgenError
    from kgen.pipeline import build
    from kgen.spec import DType, Epilogue, Layout, Matmul, Relu, Softmax

__version__ = "0.1.0"

__all__ = [
    "Bundle",
    "DType",
    "Epilogue",
    "KgenError",
    "Layout",
    "Matmul",
    "Relu",
    "Softmax",
    "build",
]

#: Where each public name lives; imported when it is first asked for, so that `kgen --help` is fast.
_HOMES = {"Bundle": "kgen.bundle", "KgenError": "kgen.errors", "build": "kgen.pipeline"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'kgen' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "kgen.spec")), name)
    globals()[name] = value
    return value
