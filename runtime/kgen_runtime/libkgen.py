"""libkgen, the C runtime (runtime/c), bound with ctypes.

The package contains the library in `native/`, and opens it on first use. `SIGNATURES` alone
declares its functions. `check` raises the error of a call that failed.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from kgen_runtime import errors

#: KGEN_ABI_VERSION of kgen.h, which the library must report.
ABI_VERSION = 1
#: Folder of the library; pathlib takes milliseconds to import.
NATIVE = __file__.removesuffix("libkgen.py") + "native/"
FILE_NAME = {"win32": "kgen.dll", "darwin": "libkgen.dylib"}.get(sys.platform, "libkgen.so")
REMEDY = (
    "install a wheel of kgen-kernels-runtime that is for this system, or, in a checkout, run "
    "python runtime/build_libkgen.py"
)

_int, _size, _text, _address = ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
#: Result and arguments of each function, as kgen.h, kgen_reader.h and kgen_backend.h declare it.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "kgen_abi_version": (_int,),
    "kgen_version": (_text,),
    "kgen_last_error": (_text,),
    "kgen_read": (_int, _text, _text, _size, _text, _int, _address),
    "kgen_close": (None, _address),
    "kgen_manifest_text": (_address, _address, _address),
    "kgen_manifest_check": (_int, _text, _size),
    "kgen_file_data": (_int, _address, _text, ctypes.c_int64, _text, _int, _address),
    "kgen_copy_check": (_int, _address, _text, _text, ctypes.c_int64, _text),
    "kgen_cpu_describe": (_int, _address),
    "kgen_cpu_count": (_int,),
    "kgen_cpu_request_tiles": (_int,),
    "kgen_code_map": (_int, _address, _size, _address, _size, _text, _address),
    "kgen_code_unmap": (None, _address),
    "kgen_pool_create": (_address, _int),
    "kgen_jobs_run": (None, _address),
    "kgen_jobs_profile": (None, _address, _address, _size, _address),
}
#: Error of each kgen_status from 1 on, in the order of kgen.h.
_ERRORS = (
    errors.ArgumentError,
    errors.ArgumentError,
    errors.BundleError,
    errors.IntegrityError,
    errors.VersionError,
    errors.DeviceError,
    errors.OutOfMemory,
)


#: kgen_status of a path that does not exist.
NOT_FOUND = 2


@cache
def library() -> ctypes.CDLL:
    """Return the open library with its functions declared. Raises DeviceError if the library is
    missing, cannot be opened, or has another ABI version."""
    try:
        found = ctypes.CDLL(NATIVE + FILE_NAME)
        version = int(found.kgen_abi_version())
        if version != ABI_VERSION:
            raise errors.DeviceError(
                f"{FILE_NAME} has ABI version {version}; this runtime needs {ABI_VERSION}; {REMEDY}"
            )
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise errors.DeviceError(f"libkgen cannot be opened: {reason}; {REMEDY}") from None
    return found


def last_error() -> str:
    """Return the message of this thread's last call that failed."""
    return str(library().kgen_last_error().decode(errors="replace"))


def check(status: int) -> None:
    """Raise the error of a call's status, with libkgen's message; do nothing if it is 0."""
    if status != 0:
        raise _ERRORS[status - 1](last_error())
