"""Products of f32 with a narrower B on GPUs, executed, and models whose weights are narrowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import kgen
import kgen_runtime
from kgen.check.model.narrow import ROUNDED, products_of, weights_of
from kgen.check.model.steps import ProgramResult, verify_program
from kgen.check.model.truth import truth
from kgen.check.verify.run import opened
from kgen.cli.main import main
from kgen.graph.rewrites.narrow import in_bf16, in_s8
from kgen.spec import Conv2d, Layout, Matmul
from kgen.spec.choices import WIDENED, BType
from kgen_runtime import blocks
from tests.device.vulkan.vulkan_support import open_vulkan
from tests.emulate.one_schedule import verify
from tests.onnx_models import DECODER, DECODER_STATES, EXPORTED, Maker, mlp

#: Tiles of either order with odd rows, which go by single bytes, and NVIDIA's skinny GEMM.
CASES: list[dict[str, Any]] = [
    {"m": 3, "n": 33, "k": 29, "layout": Layout.NT},
    {"m": 17, "n": 20, "k": 35, "layout": Layout.TN, "batch": 2, "batch_stride_b": 0},
    {"m": 1, "n": 64, "k": 272},
    {"m": 2, "n": 72, "k": 256, "layout": Layout.NT, "ldb": 272},
]
#: A 3x3 kernel, a strided one and groups, with weights in both orders.
CONVOLUTIONS: list[dict[str, Any]] = [
    {"input": (1, 5, 5, 6), "weights": (19, 5, 3, 3), "padding": 1, "weight_layout": "hwio"},
    {"input": (2, 8, 7, 5), "weights": (12, 8, 3, 2), "stride": 2},
    {"input": (1, 12, 5, 4), "weights": (8, 6, 3, 3), "groups": 2, "padding": 1},
]
SHAPES = {"x": (5, 13)}


@pytest.mark.parametrize(
    ("name", "b_dtype"),
    [
        pytest.param(name, b_dtype, marks=[] if b_dtype in few else pytest.mark.slow)
        for name, few in (
            ("sm_80", (BType.BF16, BType.S8)),
            ("gfx942", (BType.S8,)),
            ("gfx1100", (BType.BF16,)),
            ("vulkan1.3", WIDENED),
        )
        for b_dtype in WIDENED
    ],
)
def test_a_narrow_b(name: str, b_dtype: BType) -> None:
    if name.startswith("vulkan"):
        open_vulkan().close()
    scaled: dict[str, Any] = {"epilogue": "x * scale"} if b_dtype is BType.S8 else {}
    both: dict[str, Any] = {"dtype": "f32", "b_dtype": b_dtype, **scaled}
    specs = [Matmul(**both, **case) for case in CASES]
    convolutions = [Conv2d(**both, **case) for case in CONVOLUTIONS]
    report = verify(kgen.build([*specs, *convolutions], [name]))
    statuses = [kernel.status for kernel in report.kernels]
    assert statuses == ["passed"] * (len(CASES) + len(CONVOLUTIONS))


def test_what_a_target_lacks_is_refused() -> None:
    spec = Matmul(m=2, n=32, k=32, dtype="f32", b_dtype="s4", layout="nt")
    with pytest.raises(kgen.KgenError, match="b_dtype=s4 is not supported by sm_80 with dtype"):
        kgen.build(spec, ["sm_80"])


# -- models --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "mlp.onnx"
    onnx.save(mlp("batch"), file)
    return file


def verified(path: Path, weights: str, targets: list[str], **shapes: Any) -> list[ProgramResult]:
    bundle = kgen.compile_model(path, targets, weights=weights, **shapes).bundle  # type: ignore[arg-type]
    assert weights_of(bundle.manifest.kernels) == weights
    expected = truth(path, bundle.manifest.programs[0], weights=weights)
    with opened(bundle) as reader:
        return [verify_program(reader, p, expected) for p in bundle.manifest.programs]


@pytest.mark.parametrize("weights", ["bf16", "s8", "s4"])
def test_a_model_with_narrow_weights(model: Path, weights: str) -> None:
    """The result is that of the model with rounded weights, not of the original."""
    targets = ["native"] if weights == "s4" else ["native", "sm_80", "gfx942"]
    for found in verified(model, weights, targets, shapes=SHAPES):
        assert found.passed, (found.target, found.first_wrong, found.outputs, found.reason)
        (deviation,) = found.deviation.values()
        assert 1e-4 < deviation < {"bf16": 0.01, "s8": 0.03, "s4": 0.3}[weights]


def test_weights_of_4_bits_are_packed_beside_any_activations(tmp_path: Path) -> None:
    """Activations may be transposed, which kernels with blocks along K do not support: they are
    copied."""
    maker = Maker()
    turned = maker.add("Transpose", maker.input("x", (2, 64, 3)), perm=[0, 2, 1])
    numbers = np.random.default_rng(3).standard_normal((64, 40)).astype(np.float32)
    product = maker.add("MatMul", turned, maker.constant(numbers))
    onnx.save(maker.model(product), tmp_path / "m.onnx")
    (found,) = verified(tmp_path / "m.onnx", "s4", ["native"])
    assert found.passed, (found.first_wrong, found.outputs, found.reason)
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["native"], weights="s4").bundle
    assert bundle.manifest.kernels[-1].key == "matmul_6x40x64_f32_nt_by_s4_packedb"


def test_other_weights_are_not_what_a_model_computes(model: Path) -> None:
    """The bound is that of f32; weights that are rounded in another way exceed it by far."""
    bundle = kgen.compile_model(model, ["native"], weights="s8", shapes=SHAPES).bundle
    (program,) = bundle.manifest.programs
    with opened(bundle) as reader:
        found = verify_program(reader, program, truth(model, program))
    wrong = found.first_wrong
    assert not found.passed and wrong is not None and (wrong.error or 0.0) > 100.0


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["s8", "s4"])
def test_an_encoder_with_narrow_weights(weights: str) -> None:
    (found,) = verified(EXPORTED["dynamo"], weights, ["native"])
    assert found.passed, (found.first_wrong, found.outputs, found.reason)


def convolutions() -> onnx.ModelProto:
    """Return convolutions of one and of several positions, strided, grouped, per channel, with
    positions that see only padding; and two before a normalization, one folded and one that is
    also an output."""
    m = Maker()
    x = m.input("x", (1, 8, 5, 64))
    x = m.add("Relu", m.add("Conv", x, m.weight(16, 8, 3, 3), m.weight(16), pads=[1, 1, 1, 1]))
    y = m.add("Conv", x, m.weight(16, 1, 3, 3), group=16, pads=[1, 1, 1, 1])
    x = m.add("Add", m.add("Conv", y, m.weight(16, 16, 1, 1)), x)
    x = m.add("Conv", x, m.weight(16, 16, 1, 1), strides=[2, 1])
    x = m.add("Conv", x, m.weight(16, 4, 3, 1), group=4)
    x = m.add("Conv", x, m.weight(16, 16, 3, 3), dilations=[4, 1], pads=[4, 1, 4, 1])
    x = m.add("Conv", x, m.weight(8, 16, 1, 2), strides=[1, 2])
    norm = [m.constant(np.abs(m.rng.standard_normal(8)) + 0.5) for _ in range(4)]
    x = m.add("BatchNormalization", x, *norm)
    x = m.add("Conv", x, m.weight(8, 8, 1, 1))
    return m.model(x, m.add("BatchNormalization", x, *norm))


@pytest.mark.parametrize("weights", ["bf16", "s8"])
def test_convolutions(tmp_path: Path, weights: str) -> None:
    """Convolutions that sum several channels have narrow weights."""
    onnx.save(convolutions(), tmp_path / "m.onnx")
    for found in verified(tmp_path / "m.onnx", weights, ["x86-64-v3", "sm_80", "gfx942"]):
        assert found.passed, (found.target, found.first_wrong, found.outputs, found.reason)
        narrow = sum(f"by_{weights}" in step.kernel for step in found.steps)
        assert narrow == 5, [step.kernel for step in found.steps]


@pytest.mark.parametrize("weights", ["bf16", "s8"])
def test_a_tied_table(tmp_path: Path, weights: str) -> None:
    """A decoder's embedding table is in its bundle once, narrow, and its last product reads it
    unpacked."""
    proto = onnx.load(DECODER["step"])
    tensors = {t.name: t for t in proto.graph.initializer}
    table = numpy_helper.to_array(tensors["embed.weight"])
    tensors["permute"].CopyFrom(numpy_helper.from_array(table.T.copy(), "permute"))
    onnx.save(proto, tmp_path / "step.onnx")
    path, states = tmp_path / "step.onnx", DECODER_STATES
    (found,) = verified(path, weights, ["native"], states=states)
    assert found.passed, (found.first_wrong, found.outputs, found.reason)
    bundle = kgen.compile_model(path, ["native"], weights=weights, states=states).bundle  # type: ignore[arg-type]
    (program,) = bundle.manifest.programs
    uses: dict[str, list[str]] = {}
    for step in program.steps:
        for name in step.bindings.values():
            place = program.by_name[name].place
            if place.kind == "weights" and program.by_name[name].shape == (50, 48):
                uses.setdefault(place.name, []).append(step.kernel.partition("_")[0])
    ((reads, others),) = uses.values()
    assert others == "matmul" and reads != "matmul"
    data = b"".join(array.tobytes() for array in bundle.weights.values())
    narrow = in_bf16(table) if weights == "bf16" else in_s8(table.T)[0].T
    assert data.count(narrow.tobytes()) == 1 and table.tobytes() not in data


#: How much larger one channel of activations is than the others.
OUTLIER = 256.0
#: Products whose input is such a norm.
READING = [["q"], ["k"], ["v"], ["gate"], ["up"]]


def test_a_decoder_with_outliers(tmp_path: Path) -> None:
    """A single channel has far larger activations, as in language models, and no weight reads
    it; the other channels keep their digits."""
    proto = onnx.load(DECODER["step"])
    for tensor in proto.graph.initializer:
        array = numpy_helper.to_array(tensor).copy()
        if "norm" in tensor.name:
            array[5] *= OUTLIER
        elif tensor.name == "permute":
            array[5] = 0.0
        elif tensor.name.split(".")[-2:-1] in READING:
            array[:, 5] = 0.0
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    onnx.save(proto, tmp_path / "step.onnx")
    (found,) = verified(tmp_path / "step.onnx", "s8", ["native"], states=DECODER_STATES)
    assert found.passed, (found.first_wrong, found.outputs, found.reason)


def test_on_the_command_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compile", str(model), "--shape", "x=5x13", "-o", str(tmp_path / "m.kgen")]
    assert main([*words, "--target", "native", "--weights", "s4", "--verify"]) == 0
    out = capsys.readouterr().out
    assert "native/main: rounding of operands changes softmax5_0 by 3." in out
    for target, weights, message in (
        ("sm_80", "s4", "weights=s4 is not supported on sm_80; take bf16, f16, s8"),
        ("x86-64-v3", "f16", "weights=f16 is not supported; take one of bf16, s8, s4"),
        ("x86-64-v3", "s5", "weights=s5 is unknown; known are bf16, f16, s8, s4"),
    ):
        assert main([*words, "--target", target, "--weights", weights]) == 2
        assert message in capsys.readouterr().err
    for more, message in (
        (["--products", "s8"], "products=s8 is not supported; take one of bf16, f16"),
        (["--products", "f16", "--weights", "bf16"], "weights=bf16 and products=f16 exclude each"),
    ):
        assert main([*words, "--target", "native", *more]) == 2
        assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return products with constants and of two values, whose operands have other consumers,
    too."""
    m = Maker()
    x = m.input("x", (2, 16, 32))
    q, k, v = (m.add("MatMul", x, m.weight(32, 32)) for _ in range(3))
    scores = m.add("MatMul", q, m.add("Transpose", k, perm=[0, 2, 1]))
    mixed = m.add("MatMul", m.add("Softmax", scores), v)
    h = m.add("Add", m.linear(mixed, 32, 32), x)
    h = m.add("LayerNormalization", h, m.weight(32), m.weight(32))
    h = m.add("Add", m.linear(m.add("Relu", m.linear(h, 32, 64)), 64, 32), h)
    file = tmp_path_factory.mktemp("model") / "attention.onnx"
    onnx.save(m.model(h), file)
    return file


@pytest.mark.parametrize(("dtype", "target"), [("bf16", "sm_80"), ("f16", "gfx942")])
def test_products_in_16_bits(attention: Path, dtype: str, target: str) -> None:
    """Kernels write their results in 16 bits for the next product, and the model with rounded
    operands is computed."""
    bundle = kgen.compile_model(attention, ["native", target], products=dtype).bundle  # type: ignore[arg-type]
    kernels = bundle.manifest.kernels
    assert products_of(kernels) == dtype and weights_of(kernels) is None
    products = [kernel.spec for kernel in kernels if kernel.op == "matmul"]
    assert {spec["dtype"] for spec in products} == {dtype}
    assert {spec["out_dtype"] for spec in products} == {dtype, "f32"}
    # Of all that is multiplied only the input, which others need, and the norm are copies.
    program = bundle.manifest.programs[0]
    assert sum("cast" in step.kernel for step in program.steps) == 2
    expected = truth(attention, program, products=dtype)
    with opened(bundle) as reader:
        for one in bundle.manifest.programs:
            found = verify_program(reader, one, expected)
            assert found.passed, (found.target, found.first_wrong, found.outputs, found.reason)
            (deviation,) = found.deviation.values()
            assert 1e-5 < deviation < {"bf16": 0.01, "f16": 0.002}[dtype]
        plain = verify_program(reader, program, truth(attention, program))
    assert not plain.passed


@pytest.mark.parametrize("seed", [2, 5])
def test_an_operand_that_is_a_step_of_16_bits_off(attention: Path, seed: int) -> None:
    """With these seeds, f32 and f64 round one operand to different 16-bit neighbours. The
    outputs then move by far more than f32 rounding, but within the bound."""
    bundle = kgen.compile_model(attention, ["native"], products="bf16").bundle
    (program,) = bundle.manifest.programs
    expected = truth(attention, program, products="bf16", seed=seed)
    assert 0.005 < max(expected.moved.values()) < 0.05
    assert not truth(attention, program, seed=seed).moved
    with opened(bundle) as reader:
        found = verify_program(reader, program, expected)
    assert found.passed, found.outputs


def test_weights_that_are_not_finite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proto = mlp("batch")
    tensor = next(t for t in proto.graph.initializer if len(t.dims) == 2)
    array = onnx.numpy_helper.to_array(tensor).copy()
    array[1, 1] = np.nan
    tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    onnx.save(proto, tmp_path / "nan.onnx")
    words = ["compile", str(tmp_path / "nan.onnx"), "--target", "native", "--shape", "x=5x13"]
    assert main([*words, "--weights", "s8", "-o", str(tmp_path / "m.kgen")]) == 2
    assert "hold NaN or infinity, which s8 lacks" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--weights", "s4"], "weights=s4: the model has no constant matrix of f32 that a"),
        (["--products", "bf16"], "products=bf16: the model has no MatMul or Gemm of f32"),
    ],
)
def test_a_model_that_is_narrow_itself(
    options: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that changes nothing is reported."""
    m = Maker()
    weights = m.constant(np.ones((3, 4)), np.float16)
    y = m.add("MatMul", m.input("x", (2, 3), onnx.TensorProto.FLOAT16), weights)
    onnx.save(m.model(y, dtype=onnx.TensorProto.FLOAT16), tmp_path / "m.onnx")
    words = ["compile", str(tmp_path / "m.onnx"), "--target", "native"]
    assert main([*words, *options, "-o", str(tmp_path / "m.kgen")]) == 2
    assert why in capsys.readouterr().err


def test_quantised_weights_come_out_as_they_were() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(-127, 128, (64, 33)).astype(np.int8)
    numbers[rng.integers(0, 64, 33), np.arange(33)] = 127
    scales = rng.random(33).astype(np.float32) * 0.01
    found, own = in_s8(numbers * scales)
    assert np.array_equal(found, numbers)
    np.testing.assert_allclose(own, scales, rtol=2e-7)
    # A block whose farthest number is -8 scales, as Q4_0 makes them.
    packed = blocks.rounded(rng.standard_normal((7, 70)).astype(np.float32))
    assert np.array_equal(blocks.rounded(in_f32(packed, 70)), packed)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_weights_of_4_bits_keep_their_numbers(kind: type[np.floating[Any]]) -> None:
    """Some blocks have no -8, as in halves of longer blocks; one has only zeros."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(-5, 6, (40, 64))
    # The farthest number of each block, and a second one that no other scale has as a multiple.
    numbers[:, ::32], numbers[:, 1::32] = rng.choice([-8, -7, -6, 6, 7], (40, 2)), 5
    numbers[3, 32:] = 0
    scales = rng.uniform(0.01, 0.1, (40, 2)).astype(np.float16)
    weights = (numbers * np.repeat(scales, 32, 1).astype(np.float32)).astype(kind)
    made = in_f32(blocks.rounded(weights.astype(np.float32)), 64)
    np.testing.assert_allclose(made, weights, rtol=0 if kind is np.float32 else 2**-9)
    assert np.array_equal(made, ROUNDED["s4"](weights.astype(np.float64)))


@pytest.mark.parametrize("zeros", ["whole", "fractions"])
def test_weights_of_4_bits_keep_their_zero_points(zeros: str) -> None:
    """The last block of a row is partial; a row with other numbers is rounded again, without
    zero points."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 16, (40, 70))
    scales = rng.uniform(0.01, 0.1, (40, 3)).astype(np.float16).astype(np.float32)
    points = rng.uniform(0, 15, (40, 3)).astype(np.float32)
    points = np.rint(points) if zeros == "whole" else points
    every = [np.repeat(each, 32, 1)[:, :70] for each in (scales, points)]
    weights = ((numbers - every[1]) * every[0]).astype(np.float32)
    weights[7, 40] += 0.003
    packed, added = blocks.rounded_and_added(weights)
    made = in_f32(packed, 70) + np.repeat(added, 32, 1)[:, :70]
    others = np.arange(40) != 7
    np.testing.assert_allclose(made[others], weights[others], rtol=0, atol=2e-7)
    assert (added[others] != 0.0).any(axis=1).all() and not added[7].any()
    assert np.array_equal(packed[7], blocks.rounded(weights)[7])
    np.testing.assert_allclose(made, ROUNDED["s4"](weights.astype(np.float64)), rtol=0, atol=2e-7)


def in_bits(style: str, k: int, n: int, block: int) -> tuple[onnx.ModelProto, Any]:
    """Return a model of one product with 4-bit weights and zero points, and the weights."""
    m, count, rng = Maker(opset=21), -(-k // block), np.random.default_rng(2)
    x = m.input("x", (3, k))
    numbers = rng.integers(0, 16, (n, count, block)).astype(np.uint8)
    points = rng.integers(0, 16, (n, count)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (n, count)).astype(np.float16).astype(np.float32)
    wide = (numbers - points[..., None].astype(np.float64)) * scales[..., None]
    if style == "MatMulNBits":
        halves = np.pad(points, ((0, 0), (0, count % 2)))
        given = numbers[..., ::2] | numbers[..., 1::2] << 4, scales
        inputs = [*given, halves[:, ::2] | halves[:, 1::2] << 4]
        names = [m.constant(array, array.dtype) for array in inputs]
        sizes = {"K": k, "N": n, "bits": 4, "block_size": block}
        y = m.add(style, x, *names, domain="com.microsoft", **sizes)
    else:
        u4 = ml_dtypes.uint4
        rows = numbers.reshape(n, -1)[:, :k].astype(u4), scales, points.astype(u4)
        names = [m.constant(array.T, array.dtype) for array in rows]
        y = m.add("MatMul", x, m.add("DequantizeLinear", *names, axis=0, block_size=block))
    return m.model(y), wide.reshape(n, -1)[:, :k]


@pytest.mark.parametrize(
    ("style", "k", "block"),
    [
        *(("MatMulNBits", 256, 128), ("MatMulNBits", 70, 32), ("QDQ", 96, 32)),
        *(("MatMulNBits", 72, 16), ("QDQ", 96, 16)),
    ],
)
def test_a_model_with_zero_points_of_4_bits(style: str, k: int, block: int, tmp_path: Path) -> None:
    """Weights stay in 4 bits, with a 16-bit scale and an f32 number for each block of 32, and
    the result is the model's."""
    proto, weights = in_bits(style, k, 40, block)
    onnx.save(proto, tmp_path / "m.onnx")
    (found,) = verified(tmp_path / "m.onnx", "s4", ["x86-64-v3"])
    assert found.passed, (found.first_wrong, found.outputs, found.reason)
    assert max(found.deviation.values()) < 1e-6
    bundle = kgen.compile_model(tmp_path / "m.onnx", ["x86-64-v3"], weights="s4").bundle
    (program,) = bundle.manifest.programs
    stored = sum({weight.file: weight.nbytes for weight in program.weights}.values())
    assert stored <= 48 * -(-k // min(block, 32)) * (16 + 2 + 4) + 128
    bundle.save(tmp_path / "m.kgen")
    x = np.random.default_rng(4).standard_normal((3, k)).astype(np.float32)
    with kgen_runtime.load(tmp_path / "m.kgen", device="cpu", num_threads=1) as loaded:
        y = loaded.program.run(x=x)
    np.testing.assert_allclose(y, x.astype(np.float64) @ weights.T, rtol=0, atol=2e-5)


def in_f32(packed: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    split = packed.reshape(len(packed), -1, blocks.BLOCK_BYTES)
    scales = split[:, :, :2].copy().view("<f2").astype(np.float32)
    halves = np.concatenate([split[:, :, 2:] & 15, split[:, :, 2:] >> 4], axis=-1)
    return ((halves.astype(np.float32) - 8) * scales).reshape(len(packed), -1)[:, :count]


def test_weights_are_rounded_to_the_nearest() -> None:
    """The kernels and the check round columns of zeros, of one number and of a partial block
    alike."""
    rng = np.random.default_rng(0)
    columns = (rng.standard_normal((5, 75)) * np.float32(0.1)).astype(np.float32)
    columns[1], columns[2, 3:], columns[3, :40] = 0.0, 0.0, 0.0
    numbers, scales = in_s8(columns.T)
    found = numbers.astype(np.float64) * scales.astype(np.float64)
    assert np.array_equal(found.T, ROUNDED["s8"](columns.astype(np.float64)))
    assert np.all(np.abs(found.T - columns) <= scales[:, None] * 0.50001)
    found = in_f32(blocks.rounded(columns), 75)
    assert np.array_equal(found, ROUNDED["s4"](columns.astype(np.float64)))
