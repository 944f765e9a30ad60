"""Machine code of CPU kernels; libkgen maps it, once for a whole bundle."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence

from kgen_runtime import libkgen


class _Object(ctypes.Structure):
    """kgen_object of kgen_backend.h."""

    _fields_ = (("data", ctypes.c_char_p), ("nbytes", ctypes.c_uint64))


class _Function(ctypes.Structure):
    """kgen_function of kgen_backend.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("object", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
    )


class MappedCode:
    """Shared objects that are mapped readable and executable until the last reference is dropped.

    Profilers show `name` for the mapping. `addresses` are the addresses of the functions.
    """

    def __init__(
        self, objects: Sequence[bytes], functions: Sequence[tuple[str, int]], name: str
    ) -> None:
        """Map objects and find functions. `functions` has each function's name and the number of
        its object. Raises DeviceError for an object that cannot be mapped or lacks a function."""
        mapped = (_Object * len(objects))(*(_Object(data, len(data)) for data in objects))
        wanted = (_Function(function.encode(), number) for function, number in functions)
        found = (_Function * len(functions))(*wanted)
        code = ctypes.c_void_p()
        library = libkgen.library()
        libkgen.check(
            library.kgen_code_map(
                mapped, len(mapped), found, len(found), name.encode(), ctypes.byref(code)
            )
        )
        # Not at exit: Python threads may execute the code until the process ends.
        weakref.finalize(self, library.kgen_code_unmap, code).atexit = False
        self.addresses = [function.address for function in found]
