"""Keys of kernels: short, valid identifiers, and unique within a bundle."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

import kgen
import kgen_runtime
from kgen.cli.main import main
from kgen.errors import BundleError
from kgen.graph.compile import compile_model
from kgen.merge import merge
from kgen.spec import Elementwise, Matmul, Rowwise, Spec, from_json
from kgen.spec.keys import digest, unique_keys
from kgen_runtime.manifest import Manifest
from tests.onnx_models import Maker

X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)


def scaled(factor: float, name: str = "x") -> Elementwise:
    return Elementwise(expression=f"{name} * {factor}", shapes=((4, 8),), dtype="f32")


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        (
            Rowwise(
                expression="layer_norm(x0, x1, x2, 9.999999960041972e-13)",
                shapes=((128, 384), (1, 384), (1, 384)),
                dtype="f32",
            ),
            "layer_norm_128x384_f32",
        ),
        (
            Rowwise(expression="x * w * rsqrt(mean(x * x) + 1e-5)", shapes=((3, 8),)),
            "mul_rsqrt_add_mean_3x8_f16",
        ),
        (
            Rowwise(expression="x / l2(x)", shapes=((3, 8),), axes=(0,)),
            "div_l2_3x8_axis0_f16",
        ),
        (
            Elementwise(
                expression="h = x + y; out = sigmoid(h)", shapes=((8,),), out_dtypes=("f32", "f16")
            ),
            "add_sigmoid_8_f16_to_f32_f16",
        ),
        (Elementwise(expression="permute(x, 1, 0)", shapes=((3, 8),)), "permute_8x3_f16"),
        (Elementwise(expression="permute(relu(x), 1, 0)", shapes=((3, 8),)), "relu_8x3_f16"),
        (Elementwise(expression="x", shapes=((3, 8),)), "copy_3x8_f16"),
        (
            Elementwise(
                expression="softplus(hard_swish(leaky_relu(elu(gelu(sigmoid(tanh(x)))))))",
                shapes=((8,),),
            ),
            "softplus_hard_swish_leaky_relu_8_f16",
        ),
        (
            Matmul(m=4, n=8, k=16, epilogue="x * scale / 4", epilogue_shapes=("scale=n",)),
            "matmul_4x8x16_f16_nn_div_mul",
        ),
    ],
)
def test_a_key_has_functions_and_shape(spec: Spec, key: str) -> None:
    assert spec.key == key and key.isidentifier()


def test_alike_specs_get_a_digest_and_others_none() -> None:
    two, three, other = scaled(2), scaled(3), Elementwise(expression="x + y", shapes=((4,),))
    keys = unique_keys([two, other, three, two])
    assert keys == {
        two: f"mul_4x8_f32_{digest(two.to_json())}",
        three: f"mul_4x8_f32_{digest(three.to_json())}",
        other: "add_4_f16",
    }
    assert len({*keys.values()}) == 3
    assert unique_keys([three, two])[two] == keys[two], "the order of the specs does not matter"


def consistent(manifest: Manifest) -> None:
    """Check that a bundle's keys belong to its specs, and that files are named by keys."""
    pairs = {(entry.key, from_json(entry.spec)) for entry in manifest.kernels}
    assert len(pairs) == len(dict(pairs)) == len({spec for _, spec in pairs})
    for entry in manifest.kernels:
        assert all(a.file.startswith(f"{entry.name}.") for a in entry.artifacts)


@pytest.mark.integration
def test_a_bundle_of_kernels_with_one_key() -> None:
    bundle = kgen.build([scaled(2), scaled(3)], ["x86-64", "sm_80"])
    consistent(bundle.manifest)
    for entry in bundle.manifest.kernels:
        assert entry.launches[0].entry_point == "mul_4x8_f32"
        assert entry.spec["expression"] in ("mul(x, 2)", "mul(x, 3)")
    with kgen_runtime.load(bundle.to_bytes(), device="cpu") as kernels:
        for factor in (2, 3):
            key = f"mul_4x8_f32_{digest(scaled(factor).to_json())}"
            np.testing.assert_array_equal(kernels[key](X), X * np.float32(factor))


def test_one_spec_twice_is_refused() -> None:
    with pytest.raises(BundleError, match="x86-64/mul_4x8_f32 is requested twice"):
        kgen.build([scaled(2), scaled(2)], ["x86-64"])


def model(path: Path, *factors: float) -> Path:
    """Model that multiplies inputs a, b, ... by constants."""
    m = Maker(opset=18)
    made = [
        m.add("Mul", m.input(name, (4, 8)), m.constant(np.float32(factor)))
        for name, factor in zip("ab", factors, strict=False)
    ]
    onnx.save(m.model(*made), path)
    return path


@pytest.mark.integration
def test_a_program_of_kernels_with_one_key(tmp_path: Path) -> None:
    compiled = compile_model(model(tmp_path / "m.onnx", 2, 3), ["x86-64"])
    consistent(compiled.bundle.manifest)
    with kgen_runtime.load(compiled.to_bytes(), device="cpu") as kernels:
        found = kernels.program.run(a=X, b=X + 1)
    np.testing.assert_array_equal([*found.values()], [X * np.float32(2), (X + 1) * np.float32(3)])


@pytest.mark.integration
def test_merged_bundles_keep_kernels_with_one_key_apart(tmp_path: Path) -> None:
    flat = Elementwise(expression="x * 7", shapes=((32,),), dtype="f32")
    parts = [
        kgen.build([scaled(2), flat], ["x86-64"]),
        kgen.build([scaled(3)], ["x86-64", "sm_80"]),
        kgen.build([scaled(3), scaled(2)], ["x86-64"]),
        compile_model(model(tmp_path / "m.onnx", 5), ["x86-64"]).bundle,
    ]
    merged = merge([part.save(tmp_path / f"{n}.kgen") for n, part in enumerate(parts)])
    consistent(merged.manifest)
    three = f"mul_4x8_f32_{digest(scaled(3).to_json())}"
    names = [entry.name for entry in merged.manifest.kernels]
    assert names[:4] == [
        "x86-64/mul_4x8_f32",
        "x86-64/mul_32_f32",
        f"x86-64/{three}",
        f"sm_80/{three}",
    ]
    assert len(names) == 5 and names[4].startswith("x86-64/mul_32_f32_")
    with kgen_runtime.load(merged.to_bytes(), device="cpu") as kernels:
        np.testing.assert_array_equal(kernels["mul_4x8_f32"](X), X * np.float32(2))
        np.testing.assert_array_equal(kernels[three](X), X * np.float32(3))
        np.testing.assert_array_equal(kernels.program.run(a=X), X * np.float32(5))


@pytest.mark.integration
def test_commands_show_one_name_and_the_formula(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = compile_model(model(tmp_path / "m.onnx", 2, 3), ["x86-64"])
    path, page = compiled.save(tmp_path / "m.kgen"), tmp_path / "report.html"
    keys = {entry.key for entry in compiled.bundle.manifest.kernels}
    shown = {}
    for command in (["inspect"], ["profile"], ["verify"], ["report", "-o", str(page)]):
        assert main([command[0], str(path), *command[1:]]) == 0
        shown[command[0]] = capsys.readouterr().out
    shown["report"] = page.read_text()
    for text in shown.values():
        assert keys == {*re.findall(r"mul_32_f32_\w+", text)}
    for formula in ("out = x0 * 2", "out = x0 * 3"):
        assert f"  computes {formula}\n" in shown["inspect"]
        assert f'title="{formula}"' in shown["report"]
