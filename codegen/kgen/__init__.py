"""kgen: a compile-time generator of fixed-shape GPU and CPU kernels.

>>> import kgen
>>> spec = kgen.Matmul(m=1024, n=1024, k=1024, dtype="bf16", epilogue=("bias", "relu"))
>>> kgen.build(spec, targets=["sm_80", "gfx942"]).save("mlp.kgen")
>>> kgen.verify("mlp.kgen").passed
>>> kgen.compile_model("encoder.onnx", targets=["native"]).save("encoder.kgen")
>>> kgen.load("encoder.kgen").program.run(x=x)
"""

from __future__ import annotations

from kgen_runtime import __version__ as __version__
from kgen_runtime import lazy

TYPE_CHECKING = False  # importing typing would take longer than the rest of this module
if TYPE_CHECKING:
    from kgen import errors
    from kgen.building import build
    from kgen.bundle import Bundle
    from kgen.check.verify.run import verify
    from kgen.errors import KgenError
    from kgen.graph.compile import compile_model
    from kgen.spec import (
        Attention,
        Conv2d,
        DType,
        Elementwise,
        Epilogue,
        Layout,
        Math,
        Matmul,
        Rowwise,
    )
    from kgen_runtime.kernels import load

__all__ = [
    "Attention", "Bundle", "Conv2d", "DType", "Elementwise", "Epilogue", "KgenError", "Layout",
    "Math", "Matmul", "Rowwise", "build", "compile_model", "errors", "load", "verify",
]  # fmt: skip

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    _OTHERS = {
        "Bundle": "kgen.bundle",
        "KgenError": "kgen.errors",
        "build": "kgen.building",
        "compile_model": "kgen.graph.compile",
        "errors": "kgen.errors",
        "load": "kgen_runtime.kernels",
        "verify": "kgen.check.verify.run",
    }
    __getattr__, __dir__ = lazy.attributes(__name__, dict.fromkeys(__all__, "kgen.spec") | _OTHERS)
