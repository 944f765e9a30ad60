"""ctypes binding of libkgen, the C runtime (runtime/c).

The package contains the library in `native/` and opens it on first use. `SIGNATURES` declares all
its functions. `check` raises the error of a call that failed.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from kgen_runtime import errors

#: KGEN_ABI_VERSION of kgen.h, which the library must report.
ABI_VERSION = 1
#: KGEN_BACKEND_VERSION of kgen_backend.h, which the library must report. `SIGNATURES` and the
#: structures of `backends.cpu` and `this_cpu` mirror that header and kgen_reader.h.
BACKEND_VERSION = 2
#: Folder of the library; pathlib takes milliseconds to import.
NATIVE = __file__.removesuffix("libkgen.py") + "native/"
FILE_NAME = {"win32": "kgen.dll", "darwin": "libkgen.dylib"}.get(sys.platform, "libkgen.so")
REMEDY = (
    "install a wheel of kgen-kernels-runtime that is for this system, or, in a checkout, run "
    "python runtime/build_libkgen.py"
)

_int, _size, _text, _address = ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
#: Result and arguments of each function, as declared in kgen.h, kgen_reader.h and kgen_backend.h.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "kgen_abi_version": (_int,),
    "kgen_backend_version": (_int,),
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
    "kgen_pack_matrices": (None, _address, _address, _address, _size, _int),
    "kgen_read_program": (_address, _address, _text),
    "kgen_settle_kernel": (_int, _address, _text, _address, _address),
    "kgen_settle_weights": (None, _address, _address),
    "kgen_state_start": (_int, _address, _text, _address, _address, _int, _address),
    "kgen_session_create_on": (_int, _address, _address, _address, _address, _address),
    "kgen_session_destroy": (None, _address),
    "kgen_session_run": (_int, _address),
    "kgen_session_run_step": (None, _address, _size),
    "kgen_session_step_data": (_address, _address, _size, _size),
    "kgen_session_profile": (_int, _address, _address, _size),
    "kgen_session_input_data": (_address, _address, _text),
    "kgen_session_output_shape": (_int, _address, _text, _address),
    "kgen_session_output_data": (_address, _address, _text),
    "kgen_session_set_state": (_int, _address, _text, _address, _size),
    "kgen_session_get_state": (_int, _address, _text, _address, _size),
    "kgen_session_reset": (None, _address),
    "kgen_jobs_run": (None, _address),
}
#: Error for each kgen_status from 1 on, in the order of kgen.h.
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
    missing, cannot be opened, or has another version."""
    try:
        found = ctypes.CDLL(NATIVE + FILE_NAME)
        _check_version(found, "kgen_abi_version", "ABI", ABI_VERSION)
        _check_version(found, "kgen_backend_version", "backend", BACKEND_VERSION)
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise errors.DeviceError(f"libkgen cannot be opened: {reason}; {REMEDY}") from None
    return found


def _check_version(library: ctypes.CDLL, function: str, kind: str, needed: int) -> None:
    """Raise DeviceError if a library reports another version or none."""
    version = int(getattr(library, function)()) if hasattr(library, function) else 0
    if version != needed:
        raise errors.DeviceError(
            f"{FILE_NAME} has {kind} version {version}; this runtime needs {needed}; {REMEDY}"
        )


def last_error() -> str:
    """Return the message of this thread's last failed call."""
    return str(library().kgen_last_error().decode(errors="replace"))


def check(status: int) -> None:
    """Raise the error of a call's status with libkgen's message; do nothing if the status is 0."""
    if status != 0:
        raise _ERRORS[status - 1](last_error())
