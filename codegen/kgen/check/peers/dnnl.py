"""Binding by ctypes of the part of oneDNN's C API that matrix products and convolutions need.

The API is that of version 3 (libdnnl.so.3, which PyPI's onednn-cpu-gomp puts into the environment's
lib). Numbers of enumerations are those of dnnl_types.h.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_float, c_int, c_int64, c_void_p
from functools import cache, partial
from pathlib import Path
from typing import Any

from kgen.errors import DeviceError
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

LIBRARY = "libdnnl.so.3"
DTYPES = {DType.F16: 1, DType.BF16: 2, DType.F32: 3, DType.S32: 4, DType.S8: 5}
#: dnnl_alg_kind_t of post-operations.
ELTWISE = {"relu": 0x20, "gelu": 0x31, "gelu_tanh": 0x2B, "silu": 0x2C}
#: Arguments of a primitive (DNNL_ARG_*).
SRC, WEIGHTS, BIAS, DST = 1, 33, 41, 17
CPU, DEFAULT_STREAM, TAG_ANY, UNIMPLEMENTED = 1, 1, 1, 3
#: dnnl_query_t of the layouts that a primitive takes.
QUERIES = {SRC: 129, WEIGHTS: 131, DST: 133}
FORWARD_INFERENCE, CONVOLUTION_DIRECT = 96, 1

Descriptor = c_void_p


class DnnlArgument(ctypes.Structure):
    """Structure `dnnl_exec_arg_t` of oneDNN."""

    _fields_ = (("arg", c_int), ("memory", c_void_p))


class Version(ctypes.Structure):
    """First fields of dnnl_version_t."""

    _fields_ = (("major", c_int), ("minor", c_int), ("patch", c_int))


@frozen
class DnnlPrimitive:
    """Operation, and the layouts by argument that it requires."""

    handle: c_void_p
    layouts: Mapping[int, Descriptor]


class Dnnl:
    """Library with one CPU engine and one stream."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self._engine, self.stream = c_void_p(), c_void_p()
        self.check("engine_create", byref(self._engine), CPU, c_int64(0))
        self.check("stream_create", byref(self.stream), self._engine, DEFAULT_STREAM)

    @property
    def version(self) -> str:
        self.library.dnnl_version.restype = ctypes.POINTER(Version)
        found = self.library.dnnl_version().contents
        return f"{found.major}.{found.minor}.{found.patch}"

    def check(self, name: str, *arguments: object) -> None:
        """Call a function. Raises DeviceError if it fails."""
        status = self.library[f"dnnl_{name}"](*arguments)
        if status == UNIMPLEMENTED:
            raise DeviceError(
                "oneDNN supports no such operation on these dtypes on this CPU; try against=torch"
            )
        if status:
            raise DeviceError(
                f"dnnl_{name} of oneDNN failed with status {status}; try against=torch"
            )

    def layout(self, shape: Sequence[int], strides: Sequence[int], dtype: DType) -> Descriptor:
        """Return a memory descriptor; strides are in elements."""
        steps = _dims(strides)
        return self._descriptor("memory_desc_create_with_strides", shape, dtype, steps)

    def any_layout(self, shape: Sequence[int], dtype: DType) -> Descriptor:
        """Return a memory descriptor whose layout the primitive chooses."""
        return self._descriptor("memory_desc_create_with_tag", shape, dtype, TAG_ANY)

    def _descriptor(
        self, create: str, shape: Sequence[int], dtype: DType, order: object
    ) -> Descriptor:
        found = c_void_p()
        self.check(create, byref(found), len(shape), _dims(shape), DTYPES[dtype], order)
        return found

    def memory(self, layout: Descriptor, address: int) -> c_void_p:
        found = c_void_p()
        self.check("memory_create", byref(found), layout, self._engine, c_void_p(address))
        return found

    def post_operations(self, steps: Sequence[str]) -> c_void_p:
        """Return the attributes of a primitive with these post-operations."""
        operations, attributes = c_void_p(), c_void_p()
        self.check("post_ops_create", byref(operations))
        for step in steps:
            alpha, beta = c_float(step == "silu"), c_float(0)
            self.check("post_ops_append_eltwise", operations, ELTWISE[step], alpha, beta)
        self.check("primitive_attr_create", byref(attributes))
        self.check("primitive_attr_set_post_ops", attributes, operations)
        self.check("post_ops_destroy", operations)
        return attributes

    def matmul(
        self, a: Descriptor, b: Descriptor, bias: Descriptor | None, c: Descriptor, attr: c_void_p
    ) -> DnnlPrimitive:
        return self._primitive("matmul_primitive_desc_create", a, b, bias, c, attr)

    def convolution(
        self,
        a: Descriptor,
        b: Descriptor,
        bias: Descriptor | None,
        c: Descriptor,
        axes: Sequence[Sequence[int]],
        attr: c_void_p,
    ) -> DnnlPrimitive:
        """Return a convolution. `axes` are stride, dilation less 1, and padding in front of and
        behind each spatial axis."""
        kind = (FORWARD_INFERENCE, CONVOLUTION_DIRECT)
        create = "convolution_forward_primitive_desc_create"
        return self._primitive(create, *kind, a, b, bias, c, *map(_dims, axes), attr)

    def _primitive(self, create: str, *arguments: object) -> DnnlPrimitive:
        description, primitive = c_void_p(), c_void_p()
        self.check(create, byref(description), self._engine, *arguments)
        query = self.library["dnnl_primitive_desc_query_md"]
        query.restype = c_void_p
        layouts = {name: c_void_p(query(description, what, 0)) for name, what in QUERIES.items()}
        self.check("primitive_create", byref(primitive), description)
        return DnnlPrimitive(handle=primitive, layouts=layouts)

    def runner(
        self, primitive: DnnlPrimitive, memory: Mapping[int, c_void_p]
    ) -> Callable[[], object]:
        """Return a call that computes; memory is by argument."""
        arguments = self.arguments(memory)
        execute = self.library["dnnl_primitive_execute"]
        return partial(execute, primitive.handle, self.stream, len(arguments), arguments)

    def nbytes(self, layout: Descriptor) -> int:
        size = self.library["dnnl_memory_desc_get_size"]
        size.restype = ctypes.c_size_t
        return int(size(layout))

    def reorder(self, source: Descriptor, a: c_void_p, target: Descriptor, b: c_void_p) -> None:
        """Copy memory `a` of one layout into `b` of another."""
        description, primitive = c_void_p(), c_void_p()
        self.check(
            "reorder_primitive_desc_create",
            *(byref(description), source, self._engine, target, self._engine, None),
        )
        self.check("primitive_create", byref(primitive), description)
        arguments = self.arguments({SRC: a, DST: b})
        self.check("primitive_execute", primitive, self.stream, len(arguments), arguments)
        self.check("stream_wait", self.stream)

    @staticmethod
    def arguments(by_number: Mapping[int, c_void_p]) -> Any:
        """Return the arguments of a primitive's execution."""
        pairs = [DnnlArgument(arg=number, memory=memory) for number, memory in by_number.items()]
        return (DnnlArgument * len(pairs))(*pairs)


def _dims(sizes: Sequence[int]) -> Any:
    return (c_int64 * len(sizes))(*sizes)


@cache
def dnnl() -> Dnnl:
    """Return the loaded library. Raises DeviceError if it is not installed."""
    installed = Path(sys.prefix, "lib", LIBRARY)
    try:
        return Dnnl(ctypes.CDLL(str(installed) if installed.exists() else LIBRARY))
    except OSError:
        raise DeviceError(
            f"oneDNN's C library is not installed ({LIBRARY}); pip install onednn-cpu-gomp"
        ) from None
