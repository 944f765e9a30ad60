"""ONNX files: read a model, its external data and sparse constants; refuse broken files."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
from onnx import external_data_helper as external
from onnx import helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.adapters import adapt
from kgen.graph.reading.contributed import write_out
from kgen.graph.reading.functions import every, inlined
from kgen.graph.reading.order import arrange
from kgen.graph.reading.tensors import MOST_AXES, MOST_BYTES, NARROW, size_of, tensors

#: Most bytes of a model's sparse constants in dense form.
MOST_DENSE = 256 << 20


def make_dense(model: onnx.ModelProto) -> None:
    """Convert a model's sparse constants to dense ones in place.

    Raises GraphError for constants that are too large, or whose indices do not fit their shape.
    """
    left = MOST_DENSE
    for sparse in model.graph.sparse_initializer:
        dense = _dense(sparse, sparse.values.name, left)
        left -= len(dense.raw_data)
        model.graph.initializer.append(dense)
    del model.graph.sparse_initializer[:]
    functions = (every(function.node) for function in model.functions)
    for node in (*every(model.graph.node), *chain.from_iterable(functions)):
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "sparse_value":
                dense = _dense(attribute.sparse_tensor, node.output[0], left)
                left -= len(dense.raw_data)
                attribute.CopyFrom(helper.make_attribute("value", dense))


def _dense(sparse: onnx.SparseTensorProto, name: str, left: int) -> onnx.TensorProto:
    shape = tuple(sparse.dims)
    try:
        values = numpy_helper.to_array(sparse.values)
        indices = numpy_helper.to_array(sparse.indices).astype(np.int64)
    except Exception as error:
        raise GraphError(
            f"sparse constant {name} cannot be read: {error}; export it again"
        ) from None
    too_large = math.prod(shape) * values.itemsize > left
    if min(shape, default=0) < 0 or len(shape) > MOST_AXES or too_large:
        shown = "x".join(map(str, shape[:MOST_AXES]))
        raise GraphError(
            f"sparse constant {name} has the shape {shown}; sparse constants may have "
            f"{MOST_DENSE >> 20} MiB as dense ones, and {MOST_AXES} axes, so export it as a dense "
            "one"
        )
    # Indices are flat, with one number per value, or have one number per axis.
    by_axis = indices.ndim == 2 and indices.shape[1] == len(shape)
    sizes = np.asarray(shape if by_axis else [math.prod(shape)], np.int64)
    places = indices.reshape(-1, len(sizes))
    if len(places) != values.size or (places < 0).any() or (places >= sizes).any():
        raise GraphError(
            f"sparse constant {name} has indices that do not fit its {values.size} values and its "
            f"shape {'x'.join(map(str, shape))}; export it as a dense one"
        )
    found = np.zeros(shape, values.dtype)
    flat = np.ravel_multi_index(tuple(places.T), tuple(sizes)) if values.size else []
    found.reshape(-1)[flat] = values.reshape(-1)
    return numpy_helper.from_array(found, name)


#: Largest protocol buffer, in bytes: its lengths are signed 32-bit numbers.
MOST_OF_FILE = 2 << 30


#: Model: the path of an ONNX file, its bytes, or its protocol buffer.
Source: TypeAlias = str | os.PathLike[str] | bytes | onnx.ModelProto


def shown(source: Source) -> str:
    """Return the name of a model for messages."""
    return str(Path(source)) if isinstance(source, str | os.PathLike) else type(source).__name__


def read(source: Source) -> onnx.ModelProto:
    """Read a model, inline its functions, sort its nodes and load its external data.

    A given ModelProto is not modified. Raises GraphError.
    """
    name = shown(source)
    if isinstance(source, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(source)
    else:
        model = parsed(source if isinstance(source, bytes) else _bytes_of(Path(source)), name)
    if not model.graph.output or not model.opset_import:
        raise GraphError(
            f"model={name} is not an ONNX file: it has no graph with outputs; export it again"
        )
    _load_external(
        model, None if isinstance(source, bytes | onnx.ModelProto) else Path(source), name
    )
    try:
        model = inlined(model)
        write_out(model)
        adapt(model)
        arrange(model)
    except GraphError as error:
        raise GraphError(f"model={name}: {error}") from None
    make_dense(model)
    return model


def parsed(data: bytes, name: str) -> onnx.ModelProto:
    """Parse the bytes of a file. Raises GraphError."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:  # The protobuf packages raise errors without a common base.
        raise GraphError(
            f"model={name} is not an ONNX file, or is truncated; export or copy it again"
        ) from None
    return model


def _bytes_of(file: Path) -> bytes:
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise GraphError(f"model={file} is not a file; give an ONNX file")
        if found.st_size >= MOST_OF_FILE:
            raise GraphError(
                f"model={file} has {found.st_size} bytes; {MOST_OF_FILE} is the limit; export the "
                "model with its data beside it"
            )
        return file.read_bytes()
    except OSError as error:
        raise GraphError(
            f"model={file} cannot be read: {error.strerror}; give an ONNX file"
        ) from None


def _load_external(model: onnx.ModelProto, file: Path | None, name: str) -> None:
    """Load external data, from files in the model's folder only."""
    found = [(t, size_of(t), external.uses_external_data(t)) for t in tensors(model)]
    if sum(nbytes for _, nbytes, is_beside in found if is_beside) > MOST_BYTES:
        raise GraphError(
            f"model={name}: its constants have more than {MOST_BYTES >> 30} GiB together, "
            "which is the limit; use a smaller model"
        )
    for tensor, nbytes, is_beside in found:
        if is_beside and file is None:
            raise GraphError(
                f"model={name}: the data of {tensor.name} are in a file of their own; give the "
                "path of the model, or a model with its data"
            )
        if is_beside and file is not None:
            given = {entry.key: entry.value for entry in tensor.external_data}
            tensor.raw_data = _data_beside(tensor.name, given, nbytes, file)
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
        elif tensor.raw_data and len(tensor.raw_data) != nbytes and tensor.data_type not in NARROW:
            raise GraphError(
                f"model={name}: {tensor.name} has {len(tensor.raw_data)} bytes, and its shape "
                f"needs {nbytes}; export the model again"
            )


def _data_beside(name: str, given: Mapping[str, str], nbytes: int, file: Path) -> bytes:
    """Return a tensor's bytes from a file beside the model. Raises GraphError."""
    location = given.get("location", "")
    place = _beside(location, file)
    if place is None:
        raise GraphError(
            f"model={file}: the data of {name} are in {location!r}, outside of the model's folder; "
            "export the model again with its data beside it"
        )
    data = b""
    try:
        offset, length = int(given.get("offset", 0)), int(given.get("length", nbytes))
        # Check the claimed size against the file before allocating memory.
        if nbytes == length > 0 <= offset and place.stat().st_size - offset >= nbytes:
            with place.open("rb") as source:
                source.seek(offset)
                data = source.read(nbytes)
    except OSError as error:
        raise GraphError(
            f"model={file}: {location}, which has the data of {name}, cannot be read: "
            f"{error.strerror}; put it beside the model"
        ) from None
    except ValueError:  # The offset or the length is not a number.
        pass
    if len(data) != nbytes:
        raise GraphError(
            f"model={file}: {location} does not hold the {nbytes} bytes of {name}; export or copy "
            "the model again"
        )
    return data


def _beside(location: str, file: Path) -> Path | None:
    """Return the path of a file beside the model, else None.

    If the model is a symbolic link, the folder of its target counts as well: a download cache links
    a model and its data into one folder.
    """
    try:
        folders = (file.parent.resolve(), file.resolve().parent)
        places = [(folder / location).resolve() for folder in folders]
    except (OSError, RuntimeError, ValueError):  # A loop of links, or a NUL in the name.
        return None
    if not location or Path(location).is_absolute():
        return None
    place = next((place for place in places if place.exists()), places[0])
    return None if {*folders}.isdisjoint(place.parents) else place
