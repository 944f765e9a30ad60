"""oneDNN peers: primitive and memory created once, weights row-major or in oneDNN's own layout.

A convolution takes its weights, and the images if that is faster, in oneDNN's own layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kgen.check.bench import timing
from kgen.check.peers import dnnl
from kgen.check.peers.peer import Peer, kernels, values
from kgen.check.tensors import Bits, Bytes, empty_buffer, strided_bits
from kgen.errors import DeviceError
from kgen.spec.epilogue import steps_of
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry, TensorParam

Matrix = tuple[tuple[int, ...], tuple[int, ...]]


def onednn(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    return _peer("onednn", entry, buffers, device)


def onednn_packed(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return a peer whose weights were reordered once to the layout that oneDNN chooses."""
    if entry.op == "conv2d":
        return _convolution("onednn-packed", entry, buffers, device)
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
    primitive = library.matmul(src, weights, bias, dst, attributes)
    taken = primitive.layouts[dnnl.WEIGHTS]

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
    return Peer(
        name=name,
        run=library.runner(primitive, memory),
        result=lambda: strided_bits(result, out),
        keep=(buffers, packed),
    )


def _convolution(
    name: str, entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo
) -> Peer:
    """Return the faster of two: images as the kernel has them, or in oneDNN's own layout."""
    steps = _post_operations(name, entry, device)
    made = [_convolved(name, entry, buffers, steps, is_own) for is_own in (False, True)]
    as_given, own = timing.interleaved([peer.run for peer in made], timing.LEAST_ROUNDS)
    return made[own < as_given]


def _convolved(
    name: str,
    entry: KernelEntry,
    buffers: Mapping[str, Bytes],
    steps: Sequence[str],
    is_own: bool,
) -> Peer:
    library, spec, out = dnnl.dnnl(), entry.spec, entry.output
    params = {p.name: p for p in entry.inputs}
    result = empty_buffer(out.nbytes)
    weights = kernels(spec, values(buffers, params["b"]))
    if spec["groups"] > 1:
        weights = weights.reshape(spec["groups"], -1, *weights.shape[1:])
    steps_of_weights = [step // weights.itemsize for step in weights.strides]
    # Each operand's shape, strides and address; images have their channels second.
    given = {
        dnnl.SRC: (*_channels_second(spec, params["a"]), params["a"], buffers["a"]),
        dnnl.WEIGHTS: (weights.shape, steps_of_weights, params["b"], weights),
        dnnl.DST: (*_channels_second(spec, out), out, result),
    }
    plain = {n: library.layout(*tensor[:2], tensor[2].dtype) for n, tensor in given.items()}
    addresses = {n: tensor[3].ctypes.data for n, tensor in given.items()}
    memory = {n: library.memory(plain[n], addresses[n]) for n in given}
    asked = plain | {
        n: library.any_layout(shape, param.dtype)
        for n, (shape, _, param, _) in given.items()
        if is_own or n == dnnl.WEIGHTS
    }
    bias, biases = None, {}
    if "bias" in params:
        bias = library.layout(params["bias"].shape, (1,), params["bias"].dtype)
        biases = {dnnl.BIAS: library.memory(bias, buffers["bias"].ctypes.data)}
    rank = len(spec["stride"])
    axes = (
        spec["stride"],
        [step - 1 for step in spec["dilation"]],
        *(spec["padding"][:rank], spec["padding"][rank:]),
    )
    primitive = library.convolution(
        *(asked[dnnl.SRC], asked[dnnl.WEIGHTS], bias, asked[dnnl.DST]),
        *(axes, library.post_operations(steps)),
    )
    reordered = {n: empty_buffer(library.nbytes(layout)) for n, layout in primitive.layouts.items()}
    taken = {
        n: library.memory(layout, reordered[n].ctypes.data)
        for n, layout in primitive.layouts.items()
    }
    for n in (dnnl.SRC, dnnl.WEIGHTS):
        library.reorder(plain[n], memory[n], primitive.layouts[n], taken[n])

    def plain_result() -> Bits:
        computed = (primitive.layouts[dnnl.DST], taken[dnnl.DST])
        library.reorder(*computed, plain[dnnl.DST], memory[dnnl.DST])
        return strided_bits(result, out)

    return Peer(
        name=name,
        run=library.runner(primitive, taken | biases),
        result=plain_result,
        keep=(buffers, weights, reordered),
    )


def _channels_second(spec: Mapping[str, Any], param: TensorParam) -> Matrix:
    """Return the shape and strides of images with their channels in front of the spatial axes."""
    if spec["layout"] == "nchw":
        return param.shape, param.strides
    shape, strides = ((n[0], n[-1], *n[1:-1]) for n in (param.shape, param.strides))
    return shape, strides


def _multiplied(param: TensorParam, layout: str) -> Matrix:
    """Return the shape and strides of an operand after its transposition."""
    step = -1 if layout == "t" else 1
    return param.shape[::step], param.strides[::step]


def _post_operations(name: str, entry: KernelEntry, device: DeviceInfo) -> list[str]:
    """Return the epilogue's steps without the bias, which is an argument. Raises DeviceError."""
    spec = entry.spec
    convolves = entry.op == "conv2d" and entry.inputs[0].dtype is DType.F32
    if device.backend != "cpu" or not (convolves or (entry.op == "matmul" and spec["batch"] == 1)):
        raise DeviceError(
            f"against={name} supports single matmuls and f32 convolutions on CPUs; "
            "try against=torch"
        )
    chain = steps_of(spec["epilogue"])
    steps = ["an expression"] if chain is None else list(chain)
    if steps[:1] == ["bias"]:
        steps = steps[1:]
    plain = convolves or (spec["alpha"], spec["beta"], len(spec["scales"])) == (1.0, 0.0, 0)
    known = {entry.output.dtype, *(p.dtype for p in entry.inputs)} <= dnnl.DTYPES.keys()
    if not plain or not known or not set(steps) <= dnnl.ELTWISE.keys():
        raise DeviceError(f"against={name} does not support {entry.key}; try against=torch")
    return steps
