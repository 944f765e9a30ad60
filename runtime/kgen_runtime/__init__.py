"""kgen_runtime: load a bundle of fixed-shape kernels next to a model and launch them.

>>> import kgen_runtime
>>> kernels = kgen_runtime.load("mlp.kgen")      # picks the best device here
>>> y = kernels.matmul(x, w, bias)               # CPU: numpy or any host DLPack array
>>> xd = kernels.to_device(x)                    # GPU: the copies are explicit

Importing this package loads neither numpy nor any driver: everything is fetched on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgen_runtime.array import Array
    from kgen_runtime.backend import DeviceInfo
    from kgen_runtime.dtypes import DType
    from kgen_runtime.errors import KgenError
    from kgen_runtime.kernel import Kernel
    from kgen_runtime.kernels import Kernels, load
    from kgen_runtime.select import Devices, devices

__all__ = [
    "Array",
    "DType",
    "DeviceInfo",
    "Devices",
    "Kernel",
    "Kernels",
    "KgenError",
    "devices",
    "load",
]

#: Where each public name lives.
_HOME = {
    "Array": "array",
    "DType": "dtypes",
    "DeviceInfo": "backend",
    "Devices": "select",
    "Kernel": "kernel",
    "Kernels": "kernels",
    "KgenError": "errors",
    "devices": "select",
    "load": "kernels",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
