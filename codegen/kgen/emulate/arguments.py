"""Parser of the `--arg` options of `kgen emulate`: kernel arguments, and the files of outputs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.wording import shorten
from kgen.errors import EmulationError, SpecError
from kgen.host_memory import available_memory
from kgen_runtime.files import check_plain
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen.emulate.tensor_map import TensorMap

Array = npt.NDArray[Any]

#: Scalars and element types by name; 16-bit floats without a numpy type are given as u16.
DTYPES = {
    "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
    "f16": "f2", "f32": "f4", "f64": "f8",
}  # fmt: skip
#: Value of each byte of an output before the kernel runs: NaN in every float format.
UNWRITTEN = 0xFF
#: Most dimensions of an output: numpy's limit.
MAX_DIMENSIONS = 32 if np.__version__.startswith("1.") else 64
#: Most digits of an integer; Python's own limit is about 4000.
MOST_DIGITS = 100
#: Largest --seeds; more would not end in practice.
MOST_SEEDS = 1_000_000_000
#: Element types of tensor maps for those of numpy.
_MAP_DTYPES = {
    "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64", "i4": "s32", "i8": "s64",
    "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip
#: Characters of an argument that a message shows.
MOST_SHOWN = 120
#: Kinds of `--arg`: the value that the kernel receives, and the file that is written afterwards.
MEANINGS = {
    "in:a.npy": ("a pointer to the bytes of the array, and no more", "-"),
    "inout:a.npy:b.npy": ("a pointer to the bytes of the array", "b.npy"),
    "out:f32:64x64:c.npy": (
        "a pointer to an array whose bytes are all 0xFF, which is NaN in every float format",
        "c.npy",
    ),
    "i32:1024": (f"a number by value: {', '.join(DTYPES)}", "-"),
    "tensormap:JSON": ("a tensor map (CUtensorMap, PTX)", "the file of its tensor"),
}
#: Forms of the arguments that write a file.
FORMS = {
    "inout": "inout:FILE:FILE, as in inout:a.npy:b.npy",
    "out": "out:TYPE:SHAPE:FILE, as in out:f32:64x64:c.npy",
}
#: Fields of a tensor map's JSON besides `tensor`.
_MAP_FIELDS = ("dtype", "shape", "box", "strides", "element_strides", "swizzle", "fill")


@frozen
class EmulatedArgument:
    """Kernel argument of `kgen emulate`, its array if it has one, and the file written after the
    run.
    """

    value: Array | np.generic | TensorMap
    array: Array | None = None
    output: Path | None = None


def parse(texts: Sequence[str]) -> list[EmulatedArgument]:
    """Parse all `--arg`s, in order. Raises SpecError."""
    found: list[EmulatedArgument] = []
    for text in texts:
        kind, _, rest = text.partition(":")
        if kind == "tensormap":
            found.append(_tensor_map(rest, text, found))
        elif kind in ("in", "inout", "out"):
            found.append(_tensor(text))
        else:
            found.append(EmulatedArgument(value=_scalar(kind, rest, text)))
    return found


def _tensor(text: str) -> EmulatedArgument:
    """Parse a tensor: in:a.npy, inout:a.npy:b.npy or out:f32:64x64:c.npy."""
    kind, _, rest = text.partition(":")
    output = None
    if kind == "in":
        array = _load(rest)
    elif kind == "inout":
        source, _, target = rest.partition(":")
        array, output = _load(source), _output(target, text)
    elif kind == "out":
        name, extents, target = [*rest.split(":", 2), "", ""][:3]
        dtype, shape = _dtype(name, text), _shape(extents, text)
        output = _output(target, text)
        array = _unwritten(shape, dtype, text)
    else:
        raise _unknown(text)
    return EmulatedArgument(value=array, array=array, output=output)


def _unwritten(shape: list[int], dtype: np.dtype[Any], text: str) -> Array:
    """Return an output before the kernel runs. Raises SpecError if there is no memory for it."""
    if len(shape) > MAX_DIMENSIONS:
        raise SpecError(
            f"--arg {_shown(text)} has {len(shape)} dimensions; at most {MAX_DIMENSIONS} are "
            "allowed; merge some of them"
        )
    wanted, limit = math.prod(shape) * dtype.itemsize, available_memory()
    try:
        if wanted > limit:
            raise MemoryError
        array = np.full(wanted, UNWRITTEN, np.uint8)
    except MemoryError:
        raise SpecError(
            f"--arg {_shown(text)} needs {wanted} bytes of memory; {limit} are available here; use "
            "a smaller shape"
        ) from None
    return array.view(dtype).reshape(shape)


def _scalar(kind: str, rest: str, text: str) -> np.generic:
    dtype = _dtype(kind, text)
    try:
        value: np.generic = dtype.type(float(rest) if dtype.kind == "f" else int(rest, 0))
    except (ValueError, OverflowError):
        values, example = "a number", "0.5"
        if dtype.kind != "f":
            limits = np.iinfo(dtype)
            values, example = f"an integer from {limits.min} to {limits.max}", "64"
        raise SpecError(
            f"--arg {_shown(text)}: {kind} takes {values}, as in {kind}:{example}"
        ) from None
    return value


def _tensor_map(rest: str, text: str, before: Sequence[EmulatedArgument]) -> EmulatedArgument:
    """Parse tensormap:{"tensor": "in:a.npy", "box": [64, 128], ...}, innermost dimension first.

    `tensor` may also be the number of an earlier argument, from 0, whose array is used.
    """
    from kgen.emulate.tensor_map import TensorMap

    try:
        fields = dict(json.loads(rest))
        tensor = fields.pop("tensor")
    except (ValueError, TypeError, KeyError):
        raise SpecError(
            f"--arg {_shown(text)} is not tensormap: and a JSON object with a tensor, as in "
            'tensormap:{"tensor": "in:a.npy", "box": [64, 64]}'
        ) from None
    if unknown := fields.keys() - set(_MAP_FIELDS):
        raise SpecError(
            f"--arg {_shown(text)}: field {_shown(sorted(unknown)[0])} is unknown; known are "
            f"tensor, {', '.join(_MAP_FIELDS)}"
        )
    output = None
    if isinstance(tensor, str):
        given = _tensor(tensor)
        array, output = given.array, given.output
    else:
        earlier = isinstance(tensor, int) and 0 <= tensor < len(before)
        array = before[tensor].array if earlier else None
    if array is None:
        raise SpecError(
            f"--arg {_shown(text)}: tensor={_shown(str(tensor))} is not the number, from 0, of an "
            "earlier argument with an array"
        )
    fields.setdefault("dtype", _MAP_DTYPES.get(array.dtype.str[1:]))
    fields.setdefault("shape", array.shape[::-1])
    try:
        value = TensorMap(buffer=array, **fields)
    except (EmulationError, TypeError) as error:
        raise SpecError(f"--arg {_shown(text)}: {error}") from None
    return EmulatedArgument(value=value, array=array, output=output)


def _dtype(name: str, text: str) -> np.dtype[Any]:
    if name not in DTYPES:
        raise _unknown(text)
    return np.dtype(DTYPES[name])


def _unknown(text: str) -> SpecError:
    return SpecError(
        f"--arg {_shown(text)} is unknown; give in:FILE, inout:FILE:FILE, out:TYPE:SHAPE:FILE, "
        f"tensormap:JSON or TYPE:VALUE, with TYPE one of {' '.join(DTYPES)}"
    )


def _output(name: str, text: str) -> Path:
    path, shown = Path(name), _shown(text)
    if not name:
        form = FORMS[text.partition(":")[0]]
        raise SpecError(f"--arg {shown} names no output file; the form is {form}")
    if path.is_dir():
        raise SpecError(f"--arg {shown}: {_shown(name)} is a folder; name a file")
    if not path.parent.is_dir():
        raise SpecError(f"--arg {shown}: there is no folder {_shown(str(path.parent))}; make it")
    try:
        check_plain(path)
    except OSError as error:
        raise SpecError(f"--arg {shown}: {reason(error)}; name another file") from None
    return path


def _shape(extents: str, text: str) -> list[int]:
    """Parse sizes such as `64x64`. Raises SpecError."""
    sizes = extents.split("x")
    if not all(re.fullmatch(rf"0*[1-9]\d{{0,{MOST_DIGITS - 1}}}", n, re.ASCII) for n in sizes):
        raise SpecError(
            f"--arg {_shown(text)}: shape {_shown(extents) or repr(extents)} is not integers "
            f"of 1 or more joined by x; the form is {FORMS['out']}"
        )
    return [int(n) for n in sizes]


def _shown(text: str) -> str:
    """Return an argument, shortened for a message."""
    return shorten(text, MOST_SHOWN)


def _load(name: str) -> Array:
    try:
        return np.ascontiguousarray(np.load(name, allow_pickle=False))
    except OSError as error:
        why = reason(error)
        raise SpecError(f"--arg {_shown(name)} cannot be read: {why}; name a .npy file") from None
    except MemoryError as error:
        shown = _shown(name)
        raise SpecError(f"--arg {shown} cannot be read: {error}; pass a smaller array") from None
    except ValueError:
        # numpy's message would advise to allow pickles.
        raise SpecError(
            f"--arg {_shown(name)} is not a .npy file; write one with numpy.save"
        ) from None


def whole(name: str, text: str, least: int) -> int:
    """Parse an integer of at least `least`. Raises SpecError."""
    if len(text) > MOST_DIGITS:
        shown = f"{text[:MOST_DIGITS]}..."
        raise SpecError(
            f"--{name} {shown} is not an integer of up to {MOST_DIGITS} digits; give fewer"
        )
    if not text.isascii() or not text.isdecimal() or int(text) < least:
        raise SpecError(
            f"--{name} {text or repr(text)} is not an integer of {least} or more; give one such as "
            f"{least + 1}"
        )
    return int(text)


def number_of_seeds(text: str) -> int:
    """Return the number of `--seeds`. Raises SpecError."""
    if (found := whole("seeds", text, 1)) > MOST_SEEDS:
        raise SpecError(f"--seeds {text} is above the limit of {MOST_SEEDS}; give fewer")
    return found


def reason(error: Exception) -> str:
    """Return the reason of a file's error, in words."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8 text"
    return getattr(error, "strerror", None) or str(error)
