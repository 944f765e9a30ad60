"""Cases of ONNX's own backend test suite, with the values that ONNX expects."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import numpy_helper
from onnx.backend.test import loader

Array = np.ndarray[Any, Any]
#: Kinds of the suite that need no download.
KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
SEED = 0
#: Element types of the core group.
CORE_TYPES = frozenset(
    {
        *(T.DOUBLE, T.FLOAT, T.FLOAT16, T.BFLOAT16),
        *(T.INT8, T.UINT8, T.INT32, T.INT64, T.BOOL),
    }
)
#: Parts of names of operators with random results, and of those on sequences and optionals.
RANDOM = ("Bernoulli", "Multinomial", "Random")
CONTAINERS = ("Sequence", "SplitToSequence", "ConcatFromSequence", "Optional")
#: Operators whose first input is a number or a shape as well: exporters write it as a constant, and
#: the shape of the result depends on it.
OF_NUMBERS = frozenset(
    {
        *("BlackmanWindow", "ConstantOfShape", "HammingWindow", "HannWindow"),
        *("MelWeightMatrix", "Range"),
    }
)
#: Name under which a case of several operators is listed.
SEVERAL = "several operators"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model, its inputs and its expected outputs, in the model's order."""

    name: str
    kind: str
    model: onnx.ModelProto
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    rtol: float
    atol: float

    @property
    def has_only_tensors(self) -> bool:
        """Whether every input and output is a tensor, and not a sequence or an optional."""
        return all(isinstance(value, np.ndarray) for value in (*self.inputs, *self.outputs))

    @property
    def operator(self) -> str:
        """The operator that a case tests. A function body counts for its operator, which is part of
        the case's name."""
        name = re.sub(r"_expanded.*", "", self.name)
        if name != self.name and name in _operators:
            return _operators[name]
        nodes = [node for node in self.model.graph.node if node.op_type != "Constant"]
        if len(nodes) > 1 or not nodes:
            return SEVERAL if nodes else "Constant"
        domain = f"{nodes[0].domain}." if nodes[0].domain else ""
        return f"{domain}{nodes[0].op_type}"

    @property
    def is_core(self) -> bool:
        """Whether the case is in the core group: tensors of core types, and nothing random, for
        training, or in sequences."""
        kinds = [value.type for value in (*self.model.graph.input, *self.model.graph.output)]
        names = [node.op_type for node in self.model.graph.node]
        return (
            all(kind.tensor_type.elem_type in CORE_TYPES for kind in kinds)
            and not any(name.startswith((*RANDOM, *CONTAINERS)) for name in names)
            and "training" not in self.name
            and all("training" not in node.domain for node in self.model.graph.node)
        )

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs without initializer."""
        known = {tensor.name for tensor in self.model.graph.initializer}
        return [value.name for value in self.model.graph.input if value.name not in known]

    def with_constants(self) -> Case | None:
        """Return the case with all inputs but the first as initializers (OF_NUMBERS: all inputs);
        None if that changes nothing."""
        names = self.input_names
        kept = 0 if self.operator in OF_NUMBERS else 1
        if len(names) <= kept or not self.has_only_tensors:
            return None
        model = copy.deepcopy(self.model)
        for name, array in zip(names[kept:], self.inputs[kept:], strict=True):
            model.graph.initializer.append(numpy_helper.from_array(array, name))
        return Case(
            name=self.name, kind=self.kind, model=model, inputs=self.inputs[:kept],
            outputs=self.outputs, rtol=self.rtol, atol=self.atol,
        )  # fmt: skip


#: Operators of the cases that are not function bodies, by name.
_operators: dict[str, str] = {}


def collected(kinds: Sequence[str] = KINDS) -> list[Case]:
    """Return all cases of these kinds, sorted by kind and name. SEED gives the data of nodes."""
    state = np.random.get_state()
    np.random.seed(SEED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Data of some nodes overflow on purpose.
            tests = [test for kind in kinds for test in loader.load_model_tests(kind=kind)]
    finally:
        np.random.set_state(state)
    found = [case for test in tests for case in _cases(test)]
    _operators.update((c.name, c.operator) for c in found if "_expanded" not in c.name)
    return sorted(found, key=lambda case: (case.kind, case.name))


def _cases(test: Any) -> Iterator[Case]:
    def case(model: onnx.ModelProto, inputs: Sequence[Any], outputs: Sequence[Any]) -> Case:
        return Case(
            name=test.name, kind=test.kind, model=model, inputs=[_array(v) for v in inputs],
            outputs=[_array(v) for v in outputs], rtol=test.rtol, atol=test.atol,
        )  # fmt: skip

    if test.model_dir is None:
        for inputs, outputs in test.data_sets:
            yield case(test.model, inputs, outputs)
        return
    folder = Path(test.model_dir)
    model = onnx.load(folder / "model.onnx")
    for data in sorted(folder.glob("test_data_set*")):
        inputs, outputs = (
            [
                _read(file, value.type)
                for value, file in zip(values, _numbered(data, role), strict=False)
            ]
            for role, values in (("input", model.graph.input), ("output", model.graph.output))
        )
        yield case(model, inputs, outputs)


def _numbered(folder: Path, role: str) -> list[Path]:
    return sorted(folder.glob(f"{role}_*.pb"), key=lambda file: int(file.stem.split("_")[1]))


def _read(file: Path, kind: onnx.TypeProto) -> Any:
    if not kind.HasField("tensor_type"):
        return None  # Only tensors are compared.
    return onnx.TensorProto.FromString(file.read_bytes())


def _array(value: Any) -> Any:
    """Return a numpy array for a tensor; anything else unchanged."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value
