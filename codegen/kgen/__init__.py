"""kgen: a compile-time generator of fixed-shape GPU and CPU kernels.

>>> import kgen
>>> spec = kgen.Matmul(m=1024, n=1024, k=1024, dtype="bf16", epilogue=("bias", "relu"))
>>> kgen.build(spec, targets=["sm_80", "gfx942"]).save("mlp.kgen")
"""

from __future__ import annotations

from kgen_runtime import __version__ as __version__
from kgen_runtime import lazy

TYPE_CHECKING = False  # typing's own would take longer than all else here
if TYPE_CHECKING:
    from kgen import errors
    from kgen.building import build
    from kgen.bundle import Bundle
    from kgen.errors import KgenError
    from kgen.graph.compile import compile_model
    from kgen.spec import DType, Elementwise, Epilogue, Layout, Math, Matmul, Rowwise

__all__ = [
    "Bundle",
    "DType",
    "Elementwise",
    "Epilogue",
    "KgenError",
    "Layout",
    "Math",
    "Matmul",
    "Rowwise",
    "build",
    "compile_model",
    "errors",
]

if not TYPE_CHECKING:  # a type checker would believe in any name
    _OTHERS = {
        "Bundle": "kgen.bundle",
        "KgenError": "kgen.errors",
        "build": "kgen.building",
        "compile_model": "kgen.graph.compile",
        "errors": "kgen.errors",
    }
    __getattr__, __dir__ = lazy.attributes(__name__, dict.fromkeys(__all__, "kgen.spec") | _OTHERS)
