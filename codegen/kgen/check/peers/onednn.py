"""oneDNN peers: primitive and memory created once, weights row-major or in oneDNN's own layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from kgen.check.peers import dnnl
from kgen.check.peers.peer import Peer
from kgen.check.tensors import Bytes, empty_buffer, strided_bits
from kgen.errors import DeviceError
from kgen.spec.epilogue import steps_of
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry, TensorParam

Matrix = tuple[tuple[int, ...], tuple[int, ...]]


def onednn(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    return _peer("onednn", entry, buffers, device)


def onednn_packed(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return a peer whose weights were reordered once to the layout that oneDNN chooses."""
    return _peer("onednn-packed", entry, buffers, device)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Limit the threads of oneDNN's OpenMP library, which is not PyTorch's."""
    try:
        library = dnnl.dnnl().library
    except DeviceError:
        yield
        return
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(count)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


def _peer(name: str, entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    steps = _post_operations(name, entry, device)
    library = dnnl.dnnl()
    params = {p.name: p for p in entry.inputs}
    a, b, out = params["a"], params["b"], entry.output
    src = library.layout(*_multiplied(a, entry.spec["layout"][0]), a.dtype)
    shape, strides = _multiplied(b, entry.spec["layout"][1])
    given = library.layout(shape, strides, b.dtype)
    weights = library.any_layout(shape, b.dtype) if name == "onednn-packed" else given
    dst = library.layout(out.shape, out.strides, out.dtype)
    bias = None
    if "bias" in params:
        bias = library.layout((1, shape[1]), (shape[1], 1), params["bias"].dtype)
    attributes = library.post_operations(steps)
    primitive, taken = library.matmul(src, weights, bias, dst, attributes)

    # Keep the buffers alive as long as the peer, because the library holds their addresses.
    result, packed = empty_buffer(out.nbytes), empty_buffer(library.nbytes(taken))
    memory = {
        dnnl.SRC: library.memory(src, buffers["a"].ctypes.data),
        dnnl.WEIGHTS: library.memory(taken, packed.ctypes.data),
        dnnl.DST: library.memory(dst, result.ctypes.data),
    }
    in_place = library.memory(given, buffers["b"].ctypes.data)
    if name == "onednn-packed":
        library.reorder(given, in_place, taken, memory[dnnl.WEIGHTS])
    else:
        memory[dnnl.WEIGHTS] = in_place
    if bias is not None:
        memory[dnnl.BIAS] = library.memory(bias, buffers["bias"].ctypes.data)
    arguments = library.arguments(memory)
    execute = library.library["dnnl_primitive_execute"]
    run = partial(execute, primitive, library.stream, len(arguments), arguments)
    return Peer(
        name=name, run=run, result=lambda: strided_bits(result, out), keep=(buffers, packed)
    )


def _multiplied(param: TensorParam, layout: str) -> Matrix:
    """Return the shape and strides of an operand after its transposition."""
    step = -1 if layout == "t" else 1
    return param.shape[::step], param.strides[::step]


def _post_operations(name: str, entry: KernelEntry, device: DeviceInfo) -> list[str]:
    """Return the epilogue's steps without the bias, which is an argument. Raises DeviceError."""
    spec = entry.spec
    if device.backend != "cpu" or entry.op != "matmul" or spec["batch"] > 1:
        raise DeviceError(f"against={name} supports single matmuls on CPUs; try against=torch")
    chain = steps_of(spec["epilogue"])
    steps = ["an expression"] if chain is None else list(chain)
    if steps[:1] == ["bias"]:
        steps = steps[1:]
    plain = spec["alpha"] == 1.0 and spec["beta"] == 0.0 and not spec["scales"]
    known = {entry.output.dtype, *(p.dtype for p in entry.inputs)} <= dnnl.DTYPES.keys()
    if not plain or not known or not set(steps) <= dnnl.ELTWISE.keys():
        raise DeviceError(f"against={name} does not support {entry.key}; try against=torch")
    return steps
