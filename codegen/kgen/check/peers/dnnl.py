"""Binding by ctypes of the part of oneDNN's C API that a matrix product needs.

The API is that of version 2 (libdnnl.so.2, Debian 12's libdnnl2). Its descriptors are plain
structures that the caller owns; they stay opaque, in buffers larger than any of them. Numbers of
enumerations are those of dnnl_types.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_float, c_int, c_int64, c_void_p
from functools import cache
from typing import Any

from kgen.errors import DeviceError
from kgen_runtime.dtypes import DType

LIBRARY = "libdnnl.so.2"
DTYPES = {DType.F16: 1, DType.BF16: 2, DType.F32: 3, DType.S32: 4, DType.S8: 5}
#: dnnl_alg_kind_t of post-operations.
ELTWISE = {"relu": 0x1F, "gelu": 0x30, "gelu_tanh": 0xCF, "silu": 0xDF}
#: Arguments of a primitive (DNNL_ARG_*).
SRC, WEIGHTS, BIAS, DST = 1, 33, 41, 17
CPU, DEFAULT_STREAM, TAG_ANY, UNIMPLEMENTED, QUERY_WEIGHTS_MD = 1, 1, 1, 3, 131
#: Bytes of a descriptor's buffer. The largest, dnnl_matmul_desc_t, has five memory descriptors of
#: about 700 bytes.
DESCRIPTOR_BYTES = 8192

Descriptor = Any


class DnnlArgument(ctypes.Structure):
    """Structure `dnnl_exec_arg_t` of oneDNN."""

    _fields_ = (("arg", c_int), ("memory", c_void_p))


class Version(ctypes.Structure):
    """First fields of dnnl_version_t."""

    _fields_ = (("major", c_int), ("minor", c_int), ("patch", c_int))


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
            raise DeviceError("oneDNN has no matmul of these dtypes on this CPU; try against=torch")
        if status:
            raise DeviceError(
                f"dnnl_{name} of oneDNN failed with status {status}; try against=torch"
            )

    def layout(self, shape: Sequence[int], strides: Sequence[int], dtype: DType) -> Descriptor:
        """Return a memory descriptor; strides are in elements."""
        found = ctypes.create_string_buffer(DESCRIPTOR_BYTES)
        dims, steps = (c_int64 * len(shape))(*shape), (c_int64 * len(shape))(*strides)
        name = "memory_desc_init_by_strides"
        self.check(name, found, len(shape), dims, DTYPES[dtype], steps)
        return found

    def any_layout(self, shape: Sequence[int], dtype: DType) -> Descriptor:
        """Return a memory descriptor whose layout the primitive chooses."""
        found = ctypes.create_string_buffer(DESCRIPTOR_BYTES)
        dims = (c_int64 * len(shape))(*shape)
        self.check("memory_desc_init_by_tag", found, len(shape), dims, DTYPES[dtype], TAG_ANY)
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
            scale, alpha, beta = c_float(1), c_float(step == "silu"), c_float(0)
            self.check("post_ops_append_eltwise", operations, scale, ELTWISE[step], alpha, beta)
        self.check("primitive_attr_create", byref(attributes))
        self.check("primitive_attr_set_post_ops", attributes, operations)
        self.check("post_ops_destroy", operations)
        return attributes

    def matmul(
        self, a: Descriptor, b: Descriptor, bias: Descriptor | None, c: Descriptor, attr: c_void_p
    ) -> tuple[c_void_p, Descriptor]:
        """Return a matmul primitive, and the layout that it requires for its weights."""
        operation = ctypes.create_string_buffer(DESCRIPTOR_BYTES)
        self.check("matmul_desc_init", operation, a, b, bias, c)
        description, primitive = c_void_p(), c_void_p()
        create = "primitive_desc_create"
        self.check(create, byref(description), operation, attr, self._engine, None)
        query = self.library["dnnl_primitive_desc_query_md"]
        query.restype = c_void_p
        weights = c_void_p(query(description, QUERY_WEIGHTS_MD, 0))
        self.check("primitive_create", byref(primitive), description)
        return primitive, weights

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
    def arguments(by_number: dict[int, c_void_p]) -> Any:
        """Return the arguments of a primitive's execution."""
        pairs = [DnnlArgument(arg=number, memory=memory) for number, memory in by_number.items()]
        return (DnnlArgument * len(pairs))(*pairs)


@cache
def dnnl() -> Dnnl:
    """Return the loaded library. Raises DeviceError if it is not installed."""
    try:
        return Dnnl(ctypes.CDLL(LIBRARY))
    except OSError:
        raise DeviceError(
            f"oneDNN's C library is not installed ({LIBRARY}); apt-get install libdnnl-dev"
        ) from None
