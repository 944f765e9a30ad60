"""kgen_runtime: load a bundle of fixed-shape kernels next to a model and launch them.

>>> import kgen_runtime
>>> kernels = kgen_runtime.load("mlp.kgen")      # picks the best device here
>>> y = kernels.matmul(x, w, bias)               # CPU: numpy or any host DLPack array
>>> xd = kernels.to_device(x)                    # GPU: the copies are explicit

Importing this package loads neither numpy nor any driver: both are loaded on first use.
"""

from __future__ import annotations

from kgen_runtime import lazy

# typing.TYPE_CHECKING would import typing, the slowest import of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kgen_runtime import errors
    from kgen_runtime.array import Array
    from kgen_runtime.backend import DeviceInfo
    from kgen_runtime.calls.kernel import Kernel
    from kgen_runtime.dtypes import DType
    from kgen_runtime.errors import KgenError
    from kgen_runtime.kernels import Kernels, load
    from kgen_runtime.select import Devices, devices

#: Version of both packages; the build of the distribution reads it from this line.
__version__ = "0.1.0"

__all__ = [
    "Array", "DType", "DeviceInfo", "Devices", "Kernel", "Kernels", "KgenError", "devices",
    "errors", "load",
]  # fmt: skip

if not TYPE_CHECKING:  # A type checker would otherwise accept any name.
    __getattr__, __dir__ = lazy.attributes(
        __name__,
        {
            "Array": "kgen_runtime.array",
            "DType": "kgen_runtime.dtypes",
            "DeviceInfo": "kgen_runtime.backend",
            "Devices": "kgen_runtime.select",
            "Kernel": "kgen_runtime.calls.kernel",
            "Kernels": "kgen_runtime.kernels",
            "KgenError": "kgen_runtime.errors",
            "devices": "kgen_runtime.select",
            "errors": "kgen_runtime.errors",
            "load": "kgen_runtime.kernels",
        },
    )
