"""Attention beside PyTorch, ONNX Runtime and OpenVINO: prefills, and steps of decoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import kgen_runtime
from benchmarks.results import Peer, Row, Timing
from kgen.check import peers
from kgen.check.bench import run as bench
from kgen.check.bench import timing
from kgen.check.peers.torch_peers import torch_peer
from kgen.check.tensors import Bytes, decode, strided_bits
from kgen.check.verify import inputs
from kgen.spec import Attention, DType, text
from kgen.spec.attention import Diagonal
from kgen_runtime.kernels import Kernels
from kgen_runtime.manifest import KernelEntry

Array = npt.NDArray[Any]
Sizes = tuple[int, int, int, int]
#: Call of a library, and a function that returns the call's result.
Made = tuple[Callable[[], object], Callable[[], Any]]
#: Shapes of q and k: three prefills; steps of a decoder with 2048 keys, also with grouped heads.
SHAPES: tuple[tuple[Sizes, Sizes], ...] = (
    ((1, 12, 128, 64), (1, 12, 128, 64)),
    ((1, 12, 512, 64), (1, 12, 512, 64)),
    ((8, 16, 1024, 64), (8, 16, 1024, 64)),
    ((1, 32, 1, 128), (1, 32, 2048, 128)),
    ((1, 9, 1, 64), (1, 3, 256, 64)),
)
#: Seconds after which no further round of a kernel starts.
LIMIT = 3.0
OPSET, IR_VERSION = 23, 11


def specs(dtype: DType) -> list[Attention]:
    """Return each shape with and without `causal`. A decoder's query is at the last position."""
    return [
        Attention(q=q, k=k, dtype=dtype, causal=causal, diagonal=diagonal)
        for q, k in SHAPES
        for causal, diagonal in ((False, Diagonal.TOP_LEFT), (True, _diagonal(q, k)))
    ]


def _diagonal(q: Sizes, k: Sizes) -> Diagonal:
    """Return the corner of the scores from which the causal diagonal starts."""
    return Diagonal.TOP_LEFT if q[2] == k[2] else Diagonal.BOTTOM_RIGHT


def measure(spec: Attention, path: Path, table: str, threads: int, rounds: int) -> Row:
    """Time a kernel and the libraries that support it in turn, with the same number of threads."""
    with (
        kgen_runtime.load(path, device="cpu", num_threads=threads) as kernels,
        peers.threads(threads),
    ):
        return _measured(spec, kernels, table, threads, rounds)


def _measured(spec: Attention, kernels: Kernels, table: str, threads: int, rounds: int) -> Row:
    (kernel,) = kernels.values()
    data = next(iter(inputs.data_sets(kernel.entry, 0))).buffers
    out = inputs.output_buffers(kernel.entry, data)
    ours = bench.caller(kernels, kernel, data, out)
    ours()
    output = kernel.entry.output
    expected = decode(strided_bits(out[output.name], output), output.dtype)
    calls, found, apart = [ours], dict[str, Peer](), 0.0
    for name, make in PEERS.items():
        try:
            call, result = make(spec, kernels, kernel.entry, data, threads)
            call()
            values = np.asarray(result(), np.float64).reshape(expected.shape)
        except Exception as error:  # any error of a library
            found[name] = Peer(missing=f"{type(error).__name__}: {error}".splitlines()[0][:150])
        else:
            apart = max(apart, float(abs(values - expected).max()))
            calls.append(call)
            found[name] = Peer()
    rest = timing.rest_of(threads)
    taken = timing.quiet_samples(calls, rounds, LIMIT, rest=rest)
    mine, *others = (Timing.of(times) for times in taken.times)
    timed = (name for name, peer in found.items() if peer.missing is None)
    for name, theirs, times in zip(timed, others, taken.times[1:], strict=True):
        noise = timing.ratio_noise(taken.times[0], times)
        found[name] = Peer(time=theirs, ratio=theirs.median / mine.median, noise=noise)
    return Row(
        table=table,
        work=text.form(spec),
        variant={"threads": threads},
        time=mine,
        peers=found,
        values={"gflops": spec.flops / mine.median / 1e9, "furthest_apart": apart}
        | ({"others": taken.load} if taken.load > timing.LOAD else {}),
    )


def _torch(
    spec: Attention,
    kernels: Kernels,
    entry: KernelEntry,
    data: Mapping[str, Bytes],
    threads: int,
) -> Made:
    import torch

    peer = torch_peer(entry, data, kernels.device)

    def call() -> object:
        with torch.inference_mode():
            return peer.run()

    return call, lambda: peer.run().float().numpy()  # type: ignore[attr-defined]


def _onnxruntime(
    operator: Callable[[Attention], Any],
    spec: Attention,
    kernels: Kernels,
    entry: KernelEntry,
    data: Mapping[str, Bytes],
    threads: int,
) -> Made:
    """Return a session of one operator on inputs and an output that are bound to it."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    model, arrays, unpacked = operator(spec)(_arrays(entry, data))
    providers = ["CPUExecutionProvider"]
    session = ort.InferenceSession(model.SerializeToString(), options, providers=providers)
    binding = session.io_binding()
    for name, array in arrays.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("out", "cpu")
    return (
        partial(session.run_with_iobinding, binding),
        lambda: unpacked(binding.copy_outputs_to_cpu()[0]),
    )


def _arrays(entry: KernelEntry, data: Mapping[str, Bytes]) -> dict[str, Array]:
    if entry.inputs[0].dtype is DType.BF16:
        raise ValueError("ONNX Runtime has no attention of bf16 for CPUs")
    return {p.name: strided_bits(data[p.name], p).view(np.float32) for p in entry.inputs}


def _model(arrays: Mapping[str, Array], node: Any) -> Any:
    from onnx import TensorProto, helper

    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
        for name, array in arrays.items()
    ]
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "attention", given, [out])
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _attention(spec: Attention) -> Callable[[dict[str, Array]], Any]:
    """Return a maker of ONNX's Attention, heads first. A decoder's query attends to all keys."""
    from onnx import helper

    causal = int(spec.causal and spec.queries > 1)

    def make(arrays: dict[str, Array]) -> Any:
        node = helper.make_node("Attention", [*arrays], ["out"], is_causal=causal)
        return _model(arrays, node), arrays, lambda out: out

    return make


def _contributed(spec: Attention) -> Callable[[dict[str, Array]], Any]:
    """Return a maker of ONNX Runtime's MultiHeadAttention, positions first."""
    from onnx import helper

    batch, heads, queries, head = spec.q
    if heads != spec.kv_heads:
        raise ValueError("MultiHeadAttention has no groups of heads")

    def make(arrays: dict[str, Array]) -> Any:
        taken = {
            name: np.ascontiguousarray(each.swapaxes(1, 2)).reshape(batch, -1, heads * head)
            for name, each in arrays.items()
        }
        node = helper.make_node(
            "MultiHeadAttention",
            [*taken],
            ["out"],
            domain="com.microsoft",
            num_heads=heads,
            unidirectional=int(spec.causal and queries > 1),
        )
        shape = (batch, queries, heads, head)
        return _model(taken, node), taken, lambda out: out.reshape(shape).swapaxes(1, 2)

    return make


def _openvino(
    spec: Attention,
    kernels: Kernels,
    entry: KernelEntry,
    data: Mapping[str, Bytes],
    threads: int,
) -> Made:
    """Return a model of ScaledDotProductAttention; heads of a group are queries of one head."""
    import openvino as ov
    from openvino import opset13 as ops

    kind = {DType.F32: ov.Type.f32, DType.BF16: ov.Type.bf16}[spec.dtype]
    if spec.group > 1 and spec.queries > 1:
        raise ValueError("groups of heads are measured with one query")
    batch, _, queries, head = spec.q
    shapes = {p.name: list(p.shape) for p in entry.inputs}
    shapes["q"] = [batch, spec.kv_heads, spec.group * queries, head]
    ports = [ops.parameter(shape, kind, name) for name, shape in shapes.items()]
    causal = spec.causal and queries > 1
    node = ops.scaled_dot_product_attention(*ports, causal=causal)
    model = ov.Model([node], ports)
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": str(spec.dtype),
    }
    request = ov.Core().compile_model(model, "CPU", settings).create_infer_request()
    for number, param in enumerate(entry.inputs):
        bits = strided_bits(data[param.name], param).reshape(shapes[param.name])
        if spec.dtype is DType.F32:
            request.set_input_tensor(number, ov.Tensor(bits.view(np.float32), shared_memory=True))
        else:
            tensor = ov.Tensor(kind, ov.Shape(shapes[param.name]))
            tensor.data.view(np.uint16)[...] = bits
            request.set_input_tensor(number, tensor)

    def result() -> Array:
        found: Array = request.get_output_tensor(0).data
        if found.dtype != np.float32:
            found = decode(found.view(np.uint16), DType.BF16)
        return found

    return request.infer, result


PEERS: Mapping[str, Callable[..., Made]] = {
    "torch": _torch,
    "onnxruntime": partial(_onnxruntime, _attention),
    "onnxruntime-contributed": partial(_onnxruntime, _contributed),
    "openvino": _openvino,
}
