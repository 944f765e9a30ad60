"""Reads an ONNX file: the protocol buffer and the data beside it, refused in one line if broken."""

from __future__ import annotations

import math
import os
from pathlib import Path

import onnx
from onnx import external_data_helper as external
from onnx import helper

from kgen.errors import GraphError

#: Bytes that constants of a model may have together.
MOST_BYTES = 16 << 30


def read(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model, its functions inlined. Raises GraphError."""
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise GraphError(
            f"model={file} cannot be read: {error.strerror}; give an ONNX file"
        ) from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:  # the protobuf packages have several errors, of no common base
        raise GraphError(
            f"model={file} is no ONNX file, or is cut short; export the model again"
        ) from None
    if not model.graph.output or not model.opset_import:
        raise GraphError(f"model={file} is no ONNX file: it has no graph with outputs")
    _load_external(model, file)
    if model.functions:
        try:
            model = onnx.inliner.inline_local_functions(model)
        except Exception as error:
            raise GraphError(f"model={file}: its functions cannot be inlined: {error}") from None
    return model


def _load_external(model: onnx.ModelProto, file: Path) -> None:
    """Reads what tensors have in files beside the model's, and nowhere else."""
    folder = file.parent.resolve()
    for tensor in external._get_all_tensors(model):
        if not external.uses_external_data(tensor):
            _check_size(tensor, len(tensor.raw_data), file)
            continue
        given = {entry.key: entry.value for entry in tensor.external_data}
        location = given.get("location", "")
        place = (folder / location).resolve()
        if not location or Path(location).is_absolute() or folder not in place.parents:
            raise GraphError(
                f"model={file}: the data of {tensor.name} lie in {location!r}, outside of the "
                "model's folder; export the model again with its data beside it"
            )
        nbytes = _size(tensor)
        try:
            offset, length = int(given.get("offset", 0)), int(given.get("length", nbytes))
            if offset < 0 or length != nbytes:
                raise ValueError
            with place.open("rb") as source:
                source.seek(offset)
                data = source.read(length)
        except OSError as error:
            raise GraphError(
                f"model={file}: {location}, which has the data of {tensor.name}, cannot be read: "
                f"{error.strerror}; put it beside the model"
            ) from None
        except (ValueError, OverflowError, MemoryError):
            data = b""
        if len(data) != nbytes:
            raise GraphError(
                f"model={file}: {location} does not have the {nbytes} bytes of {tensor.name}; "
                "export the model again"
            )
        tensor.raw_data = data
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


def _size(tensor: onnx.TensorProto) -> int:
    """Bytes of a tensor's elements."""
    try:
        bits = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    except Exception:
        raise GraphError(
            f"tensor {tensor.name} has a type that is unknown: {tensor.data_type}"
        ) from None
    if any(n < 0 for n in tensor.dims) or math.prod(tensor.dims) * bits > MOST_BYTES:
        raise GraphError(
            f"tensor {tensor.name} has the shape {list(tensor.dims)}; {MOST_BYTES >> 30} GiB is "
            "the limit"
        )
    return int(math.prod(tensor.dims) * bits)


def _check_size(tensor: onnx.TensorProto, nbytes: int, file: Path) -> None:
    if nbytes and nbytes != _size(tensor) and tensor.data_type not in _NARROW:
        raise GraphError(
            f"model={file}: {tensor.name} has {nbytes} bytes and not the {_size(tensor)} of its "
            "shape; export the model again"
        )


#: Types of which several elements share a byte.
_NARROW = {
    getattr(onnx.TensorProto, name)
    for name in ("INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2")
    if hasattr(onnx.TensorProto, name)
}
