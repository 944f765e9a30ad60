"""Quantised models on a CPU with AVX2 and on GPUs, executed, against onnx's reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import kgen
import kgen_runtime
from kgen.check.model.steps import ProgramResult, verify_program
from kgen.check.model.truth import evaluator, truth
from kgen.check.verify.run import opened
from kgen.graph.reading.element_types import FLOATS_8
from kgen.graph.reading.model import Array
from kgen.graph.reading.onnx_file import read
from kgen_runtime.errors import ArgumentError
from tests.quantized_models import MODELS, Quantizer, qdq_mlp

TARGET = "x86-64-v3"


def verified(
    compiled: onnx.ModelProto, model: onnx.ModelProto, target: str = TARGET
) -> ProgramResult:
    """Return the result of a model's program, after a comparison with another model."""
    bundle = kgen.compile_model(compiled, [target]).bundle
    program = bundle.manifest.programs[0]
    with opened(bundle) as reader:
        return verify_program(reader, program, truth(model, program))


@pytest.mark.parametrize("name", MODELS)
def test_values_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    compiled = kgen.compile_model(model, [TARGET])
    (given,) = model.graph.input
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    made = kgen_runtime.load(compiled.save(tmp_path / "model.kgen")).program.run(x=x)
    (expected,) = evaluator(read(model)).run(None, {"x": x})
    # Nothing of these inputs is near to a tie.
    np.testing.assert_allclose(made, expected, rtol=2e-6, atol=2e-6)
    assert np.unique(expected).size > 3


@pytest.mark.parametrize("name", MODELS)
def test_verification_passes(name: str) -> None:
    model = MODELS[name]()
    found = verified(model, model)
    assert found.passed, (found.first_wrong, found.outputs)


def of_16_bits() -> onnx.ModelProto:
    """Differences of u16 and constants, as s16; u16 transposed; s16 as s32."""
    m = Quantizer(opset=21)
    x = m.input("x", (3, 5), T.UINT16)
    wide = m.add("Sub", m.add("Cast", x, to=T.INT32), m.constant(np.arange(5) * 8192, np.int32))
    narrow = m.add("Cast", m.add("Clip", wide, m.constant(-32768, np.int32),
                                 m.constant(32767, np.int32)), to=T.INT16)  # fmt: skip
    other = m.add("Cast", m.input("z", (3, 5), T.INT16), to=T.INT32)
    model = m.finished(narrow, m.add("Transpose", x), other)
    for output, kind in zip(model.graph.output, (T.INT16, T.UINT16, T.INT32), strict=True):
        output.type.tensor_type.elem_type = kind
    return model


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_inputs_and_outputs_of_16_bits(device: str, tmp_path: Path) -> None:
    """The bytes of inputs and outputs are those of numpy's 16-bit types."""
    path = kgen.compile_model(of_16_bits(), [TARGET]).save(tmp_path / "model.kgen")
    limits = [0, 1, 255, 256, 32767, 32768, 65280, 65535]
    x = np.array([*limits, *range(300, 307)], np.uint16).reshape(3, 5)
    with kgen_runtime.load(path, device=device) as kernels:
        narrow, other, wide = kernels.program.run(x=x, z=x.astype(np.int16)).values()
        with pytest.raises(ArgumentError, match="is s16; expected u16"):
            kernels.program.run(x=x.astype(np.int16), z=x.astype(np.int16))
    expected = np.clip(x.astype(np.int32) - np.arange(5) * 8192, -32768, 32767)
    np.testing.assert_array_equal(narrow, expected)
    np.testing.assert_array_equal(other, x.T)
    np.testing.assert_array_equal(wide, x.astype(np.int16))
    assert (narrow.dtype, other.dtype) == (np.int16, np.uint16)


@pytest.mark.parametrize("target", ["sm_80", "vulkan1.1"])
def test_inputs_and_outputs_of_16_bits_on_gpus(target: str) -> None:
    found = verified(of_16_bits(), of_16_bits(), target)
    assert found.passed, (found.reason, found.first_wrong, found.outputs)


def of_float8(kind: int) -> onnx.ModelProto:
    """An 8-bit float x transposed and as f32, and y rounded to its type."""
    m = Quantizer(opset=21)
    x, y = m.input("x", (16, 16), kind), m.input("y", (4, 64))
    made = m.add("Transpose", x), m.add("Cast", x, to=T.FLOAT), m.add("Cast", y, to=kind)
    model = m.finished(*made)
    for output, of in zip(model.graph.output, (kind, T.FLOAT, kind), strict=True):
        output.type.tensor_type.elem_type = of
    return model


def codes(array: Array) -> Array:
    """Return the bytes of 8-bit floats, and 256 for NaN."""
    return np.where(np.isnan(array.astype(np.float32)), 256, array.view(np.uint8))


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("kind", FLOATS_8)
def test_inputs_and_outputs_of_8_bit_floats(device: str, kind: int, tmp_path: Path) -> None:
    """Programs read and write all 256 bytes: both zeros, subnormal numbers, infinities and NaN."""
    path = kgen.compile_model(of_float8(kind), [TARGET]).save(tmp_path / "model.kgen")
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    x = np.arange(256, dtype=np.uint8).reshape(16, 16).view(dtype)
    y = x.astype(np.float32).reshape(4, 64)
    with kgen_runtime.load(path, device=device) as kernels:
        turned, wide, narrow = kernels.program.run(x=x, y=y).values()
        same = kernels.program.run(x=x.view(np.uint8), y=y)
        with pytest.raises(ArgumentError, match=r"x is f32; expected e[45]m[23]"):
            kernels.program.run(x=x.astype(np.float32), y=y)
    assert turned.dtype == narrow.dtype == dtype
    np.testing.assert_array_equal(codes(turned), codes(x.T))
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    is_number = np.isfinite(y)
    np.testing.assert_array_equal(codes(narrow)[is_number], codes(x).reshape(4, 64)[is_number])
    np.testing.assert_array_equal(codes(next(iter(same.values()))), codes(turned))


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("sm_80", T.FLOAT8E4M3FN),
        ("gfx942", T.FLOAT8E5M2FNUZ),
        ("vulkan1.1", T.FLOAT8E5M2),
        (TARGET, T.BFLOAT16),
    ],
)
def test_verification_of_inputs_and_outputs_of_narrow_floats(target: str, kind: int) -> None:
    model = of_float8(kind)
    found = verified(model, model, target)
    assert found.passed, (found.reason, found.first_wrong, found.outputs)


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3"])
def test_convolutions_on_gpus(target: str) -> None:
    """Kernels pad with 0 only, so images are padded with their zero point before."""
    model = MODELS["QOperator CNN with zero points of weights"]()
    found = verified(model, model, target)
    assert found.passed, (found.first_wrong, found.outputs)
    assert [step.kernel.partition("_")[0] for step in found.steps].count("conv2d") == 4


def with_other(model: onnx.ModelProto, number: int, what: str) -> onnx.ModelProto:
    """Return the model with a changed scale or zero point of one of the last QuantizeLinear."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    nodes = [node for node in found.graph.node if node.op_type == "QuantizeLinear"]
    node = nodes[number]
    name = node.input[1 if what == "scale" else 2]
    for tensor in found.graph.initializer:
        if tensor.name == name:
            array = numpy_helper.to_array(tensor)
            other = array * np.float32(1.01) if what == "scale" else array + array.dtype.type(1)
            tensor.CopyFrom(numpy_helper.from_array(other, name))
    return found


@pytest.mark.parametrize("what", ["scale", "zero point"])
def test_verification_finds_a_wrong_quantisation(what: str) -> None:
    model = qdq_mlp()
    assert not verified(with_other(model, 1, what), model).passed
