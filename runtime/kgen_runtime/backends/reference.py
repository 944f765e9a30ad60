"""Reference backend: computes a kernel from its spec in scalar Python and ignores its code.

It is slow (see :mod:`kgen_runtime.reference`) and is used only if selected by name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.errors import DeviceError, OutOfMemory
from kgen_runtime.memory import packing
from kgen_runtime.reference import attended
from kgen_runtime.reference.elements import OPERATIONS, elements
from kgen_runtime.reference.numbers import write
from kgen_runtime.reference.rowwise import row_elements
from kgen_runtime.reference.window_sums import coordinates
from kgen_runtime.schema.spec_tensors import check_spec
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry, TensorParam


@frozen
class ReferenceKernel:
    """Loaded kernel: the spec, the outputs' layout, and the inputs that must be unpacked."""

    name: str
    spec: Mapping[str, Any]
    outputs: tuple[TensorParam, ...]
    packed: tuple[TensorParam, ...] = ()


class ReferenceBackend(Backend):
    """Scalar Python on host memory; buffers are memoryviews."""

    name: ClassVar[str] = "reference"
    #: Every format of machine code: the code is not read.
    formats: ClassVar[tuple[str, ...]] = (
        "elf-x86_64",
        "elf-aarch64",
        "cubin",
        "ptx",
        "hsaco",
        "spirv",
        "msl",
    )

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        return (DeviceInfo(backend=cls.name, index=0, name="scalar Python", kind="software"),)

    def __init__(self, index: int = 0) -> None:
        if index != 0:
            raise DeviceError(
                f"device=reference:{index} does not exist; the only one is reference:0"
            )
        self.info = self.devices()[0]

    def close(self) -> None:
        """Do nothing: the backend holds no resources."""

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        return None

    def alloc(self, nbytes: int) -> memoryview:
        try:
            return memoryview(bytearray(nbytes))
        except (MemoryError, OverflowError):
            raise OutOfMemory(
                f"reference: {nbytes} bytes cannot be allocated; use a smaller shape"
            ) from None

    def free(self, buffer: memoryview) -> None:
        buffer.release()

    def view(self, buffer: memoryview, offset: int, nbytes: int) -> memoryview:
        return buffer[offset : offset + nbytes]

    def borrow(self, host: HostBytes) -> memoryview:
        return host.data

    def copy_to_device(self, buffer: memoryview, host: HostBytes) -> None:
        buffer[: host.nbytes] = host.data

    def copy_from_device(self, host: HostBytes, buffer: memoryview) -> None:
        host.data[:] = buffer[: host.nbytes]

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> ReferenceKernel:
        if entry.spec["op"] not in OPERATIONS:
            raise DeviceError(
                f"{entry.name}: the reference does not support {entry.spec['op']}; "
                f"it has {', '.join(OPERATIONS)}"
            )
        check_spec(entry)
        packed = tuple(param for param in entry.inputs if param.packing is not None)
        return ReferenceKernel(
            name=entry.name, spec=entry.spec, outputs=entry.outputs, packed=packed
        )

    def launch(
        self, kernel: ReferenceKernel, buffers: Mapping[str, Any], stream: int | None = None
    ) -> None:
        if stream is not None:
            raise DeviceError(
                f"stream={stream}: the reference backend has no streams; leave it out"
            )
        written = {output.name for output in kernel.outputs}
        inputs = {name: buffer for name, buffer in buffers.items() if name not in written}
        inputs |= {param.name: unpacked(param, inputs[param.name]) for param in kernel.packed}
        try:
            for output in kernel.outputs:
                element = elements(kernel.spec, inputs, output.name)
                for index, offset in output_elements(kernel.spec, output):
                    write(buffers[output.name], offset, output.dtype, element(index))
        except (ArithmeticError, LookupError, SyntaxError, TypeError, ValueError) as error:
            raise DeviceError(
                f"{kernel.name}: the reference cannot compute its spec ({error!r:.60}); "
                "build the bundle again"
            ) from error

    def unload(self, kernel: ReferenceKernel) -> None:
        """Do nothing: a loaded kernel holds no resources."""

    def synchronize(self, stream: int | None = None) -> None:
        """Return immediately: launches are finished when `launch` returns."""


def unpacked(param: TensorParam, buffer: memoryview) -> memoryview:
    """Return the unpacked matrix of a packed parameter."""
    import numpy as np

    matrix = np.zeros(param.unpacked.nbytes, np.uint8)
    packing.unpack(param, np.frombuffer(buffer, np.uint8), matrix)
    return matrix.data


def output_elements(
    spec: Mapping[str, Any], output: TensorParam
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the index (see :data:`kgen_runtime.reference.numbers.Element`) and the offset of every
    output element."""
    if spec["op"] == "rowwise":
        yield from row_elements(spec, output.name)
        return
    for flat, position in enumerate(itertools.product(*map(range, output.shape))):
        offset = sum(i * stride for i, stride in zip(position, output.strides, strict=True))
        if spec["op"] == "elementwise":
            yield (flat,), offset
        elif spec["op"] == "matmul":
            m, n = output.shape[-2:]
            yield (flat // (m * n), *position[-2:]), offset
        elif spec["op"] == "conv2d":
            yield coordinates(spec, position), offset
        elif spec["op"] == "attention":
            yield attended.coordinates(spec, output.name, position), offset
        else:
            yield position, offset
