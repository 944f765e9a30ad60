"""Small ONNX models for tests, and a graph's calls run by the scalar reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kgen.graph.fusing.fuse import fuse
from kgen.graph.ir import ConvolutionKernels
from kgen.graph.lowering.calls import Lowered
from kgen.graph.lowering.lower import lower
from kgen.graph.operators import OPERATORS, graph_of
from kgen.graph.reading.definitions import OPERATORS as DEFINED
from kgen.graph.reading.importer import imported
from kgen.graph.rewrites.normalizations import folded
from kgen_runtime.backends.reference import output_elements
from kgen_runtime.reference.elements import elements
from kgen_runtime.reference.numbers import write

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[1]
#: What real exporters make of one encoder of two layers, torch.onnx.export(dynamo=...).
EXPORTED = {
    "torchscript": ROOT / "tests/data/encoder_torchscript.onnx",
    "dynamo": ROOT / "examples/encoder.onnx",
}
#: A decoder of two layers, as examples/smollm2.py exports it: a step with caches of 12 places, and
#: a prefill of 7 tokens.
DECODER = {name: ROOT / f"tests/data/decoder_{name}.onnx" for name in ("step", "prefill")}
DECODER_STATES = {"past.*": "present.*"}
ENCODER_SHAPES = {"input_ids": (1, 7), "attention_mask": (1, 7), "token_type_ids": (1, 7)}


class Maker:
    """Model that is built node by node; constants get names of their own."""

    def __init__(self, opset: int = 17, seed: int = 0) -> None:
        self.opset, self.rng = opset, np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: int = T.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def weight(self, *shape: int, scale: float = 0.2) -> str:
        return self.constant(self.rng.standard_normal(shape) * scale)

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        number = len(self.nodes)
        names = [f"{operator.lower()}{number}_{i}" for i in range(outputs)]
        node = helper.make_node(operator, inputs, names, name=f"/{operator}{number}", **attributes)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        product = self.add("MatMul", x, self.weight(inputs, outputs))
        return str(self.add("Add", product, self.weight(outputs)))

    def model(self, *outputs: str, dtype: int = T.FLOAT) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "main",
            self.inputs,
            [helper.make_tensor_value_info(name, dtype, None) for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])


def mlp(
    rows: int | str = 5, inputs: int = 13, hidden: int = 24, outputs: int = 3
) -> onnx.ModelProto:
    """Return two layers with relu and softmax."""
    m = Maker()
    x = m.add("Relu", m.linear(m.input("x", (rows, inputs)), inputs, hidden))
    return m.model(m.add("Softmax", m.linear(x, hidden, outputs), axis=-1))


def defined(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """Return the results of onnx's reference, which may overflow or be NaN."""
    with np.errstate(all="ignore"):
        found: list[Array] = ReferenceEvaluator(model).run(None, dict(inputs))
    return found


def run(lowered: Lowered, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs' elements; the scalar reference computes each call from its
    specification."""
    memory = {
        b.id: np.full(b.elements, 99, b.dtype.storage)
        if b.dtype.is_integer
        else np.full(b.elements, np.nan, b.dtype.storage)
        for b in lowered.buffers.values()
    }
    for name, buffer in lowered.inputs.items():
        if buffer in memory:
            memory[buffer][:] = inputs[name].reshape(-1)
    for buffer, array in lowered.constants.items():
        memory[buffer][:] = array.reshape(-1)
    for call in lowered.calls:
        spec = call.spec.to_json()
        buffers: dict[str, memoryview] = {}
        for param in call.spec.parameters:
            binding = call.bindings[param.name]
            start = binding.offset * param.dtype.itemsize
            data = memory[binding.buffer].view(np.uint8)[start : start + param.nbytes]
            assert data.nbytes == param.nbytes, (call, param)
            buffers[param.name] = data.data
        outputs = [param for param in call.spec.parameters if param.role == "output"]
        given = dict(buffers)
        for out in outputs:
            del given[out.name]
        for out in outputs:
            element = elements(spec, given, out.name)
            for index, offset in output_elements(spec, out):
                write(buffers[out.name], offset, out.dtype, element(index))
    return {name: memory[buffer] for name, buffer in lowered.outputs.items()}


def lowered(
    m: Maker, *outputs: str, dtype: int = T.FLOAT, depthwise: bool = False
) -> tuple[Lowered, onnx.ModelProto]:
    """Return a model's calls, and the model. `depthwise`: the target has depthwise kernels."""
    model = m.model(*outputs, dtype=dtype)
    graph = graph_of(
        folded(imported(model, {}, OPERATORS)),
        convolves=ConvolutionKernels(depthwise=depthwise),
    )
    return lower(fuse(graph)), model


def reference(model: onnx.ModelProto, **inputs: Array) -> Any:
    """Return the first output by onnx's reference, and our definitions where it lacks some."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model, new_ops=list(DEFINED)).run(None, inputs)[0]
