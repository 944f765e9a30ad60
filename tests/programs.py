"""Small program for tests of the writer, the runtime and the commands: an MLP with a residual
and layer norm, as the compiler would write it, and its results in f64."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import kgen
from kgen import bundle, pipeline, targets
from kgen.constants import stored
from kgen.program import weight
from kgen.repeated_steps import with_repeats
from kgen.spec import ConstantOperand, Spec
from kgen.targets.base import BuiltKernel
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import Manifest
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.schema.manifest_json import to_json
from kgen_runtime.schema.program import Place, PlaceKind, Program, Step, Value

if TYPE_CHECKING:
    import onnx

Array = npt.NDArray[Any]
ROWS, WIDE, INNER = 5, 24, 40
#: The arena of the MLP: the inner activation, then the sum.
SUM_AT = 1024


def value(
    name: str, shape: tuple[int, ...], kind: PlaceKind, place: str = "", offset: int = 0
) -> Value:
    """Return a packed f32 value; inputs, outputs and weights have the names of their memories."""
    return Value(
        name=name,
        dtype=DType.F32,
        shape=shape,
        strides=packed_strides(shape),
        place=Place(kind=kind, name=place if kind in ("arena", "state") else name, offset=offset),
    )


def parameters(seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    shapes = {"w1": (WIDE, INNER), "b1": (INNER,), "w2": (INNER, WIDE), "b2": (WIDE,)}
    shapes |= {"gamma": (WIDE,), "beta": (WIDE,)}
    return {name: rng.standard_normal(shape).astype("f") for name, shape in shapes.items()}


def answer(x: Array, given: Mapping[str, Array]) -> Array:
    """Return the MLP's result in f64."""
    p = {name: array.astype(np.float64) for name, array in given.items()}
    h = x.astype(np.float64) @ p["w1"] + p["b1"]
    h = 0.5 * h * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
    y = h @ p["w2"] + p["b2"] + x
    centred = y - y.mean(1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    return np.asarray(normed * p["gamma"] + p["beta"])


def specs(packs: bool) -> dict[str, Spec]:
    """Return the MLP's kernels by what they compute; with `packs` their weights are prepacked."""
    constant = (ConstantOperand.B,) if packs else ()
    return {
        "up": kgen.Matmul(
            m=ROWS, n=INNER, k=WIDE, dtype="f32", epilogue=("bias", "gelu"), constant=constant
        ),
        "down": kgen.Matmul(
            m=ROWS, n=WIDE, k=INNER, dtype="f32", epilogue=("bias", "residual"), constant=constant
        ),
        "norm": kgen.Rowwise(
            expression="layer_norm(x, weight, bias)",
            shapes=((ROWS, WIDE), (WIDE,), (WIDE,)),
            dtype="f32",
        ),
    }


def mlp(
    target: str, given: Mapping[str, Array] | None = None
) -> tuple[Program, list[BuiltKernel], dict[str, Array]]:
    """Return the program for a target, its kernels, and its weights by file."""
    given = parameters() if given is None else given
    found = targets.find(target)
    kernels = {
        role: pipeline.kernel(spec, found)
        for role, spec in specs(targets.family(found.family).packs_ahead).items()
    }
    arrays = dict(given)
    values = [
        value("x", (ROWS, WIDE), "input"),
        value("out", (ROWS, WIDE), "output"),
        value("h", (ROWS, INNER), "arena"),
        value("y", (ROWS, WIDE), "arena", offset=SUM_AT),
        *(value(n, given[n].shape, "weights") for n in ("b1", "b2", "gamma", "beta")),
    ]
    for role, matrix in (("up", "w1"), ("down", "w2")):
        param = next(p for p in kernels[role].plan.parameters if p.name == "b")
        arrays[matrix] = np.frombuffer(stored(param, given[matrix]), "f4")
        packed = value(matrix, param.shape, "weights")
        values.append(dataclasses.replace(packed, strides=param.strides))
    steps = [
        ("up", {"a": "x", "b": "w1", "bias": "b1", "out": "h"}, ("MatMul_0", "Gelu_1")),
        ("down", {"a": "h", "b": "w2", "bias": "b2", "residual": "x", "out": "y"}, ("MatMul_2",)),
        ("norm", {"x": "y", "weight": "gamma", "bias": "beta", "out": "out"}, ("LayerNorm_3",)),
    ]
    weights = {n: weight(n, array) for n, array in arrays.items()}
    program = Program(
        name="main",
        target=found.name,
        inputs=(values[0],),
        outputs=(values[1],),
        values=tuple(values),
        weights=tuple(weights.values()),
        arena_bytes=SUM_AT + 4 * ROWS * WIDE,
        steps=tuple(
            Step(kernel=kernels[role].plan.spec.key, bindings=bindings, nodes=nodes)
            for role, bindings, nodes in steps
        ),
    )
    files = {weights[n].file: array for n, array in arrays.items()}
    return program, list(kernels.values()), files


def mlp_bundle(*names: str, programs: tuple[str, ...] = ("main",)) -> kgen.Bundle:
    """Return a bundle of the MLP for several targets, once for each of these names."""
    made = [mlp(name) for name in names]
    return bundle.pack(
        [kernel for _, kernels, _ in made for kernel in kernels],
        programs=[dataclasses.replace(p, name=name) for p, _, _ in made for name in programs],
        weights={file: array for _, _, files in made for file, array in files.items()},
    )


#: Time steps, batch, units and input size of the recurrent layer.
TIME, BATCH, UNITS, SIZE = 9, 2, 3, 2


def gru_model() -> onnx.ModelProto:
    """Return a GRU with an initial state `h`; its outputs are all states, and the last one."""
    from tests.onnx_models import Maker

    m = Maker(opset=17)
    x, h = m.input("x", (TIME, BATCH, SIZE)), m.input("h", (1, BATCH, UNITS))
    weights = m.weight(1, 3 * UNITS, SIZE), m.weight(1, 3 * UNITS, UNITS), m.weight(1, 6 * UNITS)
    outputs = m.add("GRU", x, *weights, "", h, outputs=2, hidden_size=UNITS, linear_before_reset=1)
    return m.model(*outputs)


def gru_bundle(target: str) -> kgen.Bundle:
    """Return a GRU whose state `h` continues in the next run: one output, and steps that repeat."""
    model = gru_model()
    states = {"h": model.graph.output[1].name}
    return kgen.compile_model(model, [target], states=states).bundle


def counted_bundle(target: str) -> kgen.Bundle:
    """Return a program of two outputs whose sizes depend on data, with room for 3 elements each."""
    from onnx import TensorProto

    from tests.onnx_models import Maker

    m = Maker()
    x = m.input("x", (7,))
    places, values = m.add("NonZero", x), m.add("Unique", x)
    proto = m.model(places, values, dtype=TensorProto.INT64)
    proto.graph.output[1].type.tensor_type.elem_type = TensorProto.FLOAT
    return kgen.compile_model(proto, [target], capacities={places: 3, values: 3}).bundle


def repeating(manifest: Manifest) -> Any:
    """Return the JSON of a manifest as it is written, with repeated steps listed once."""
    programs = tuple(map(with_repeats, manifest.programs))
    return json.loads(json.dumps(to_json(dataclasses.replace(manifest, programs=programs))))
