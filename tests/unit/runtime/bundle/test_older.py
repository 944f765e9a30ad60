"""Bundles of older versions of kgen are loaded, run and verified."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.check.verify.run import verify
from kgen.errors import BundleError
from kgen_runtime.manifest import SCHEMA_VERSIONS, KernelEntry
from kgen_runtime.schema.manifest_json import to_json
from kgen_runtime.schema.migrations import renewed
from kgen_runtime.schema.spec_tensors import check_spec
from tests.manifests import from_json
from tests.programs import ROWS, WIDE, answer, parameters
from tests.specs import relu_of, softmax_of

pytestmark = pytest.mark.integration
DATA = Path(__file__).parents[3] / "data"


def older(kernel: KernelEntry) -> KernelEntry:
    """Return relu as older versions wrote it, as an operation of its own."""
    spec = {"op": "relu", "dtype": "f32", "shape": [3, 5]}
    return dataclasses.replace(kernel, spec=spec)


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    new = kgen.build(relu_of((3, 5), "f32"), ["x86-64", "sm_80"])
    kernels = tuple(map(older, new.manifest.kernels))
    return dataclasses.replace(new, manifest=dataclasses.replace(new.manifest, kernels=kernels))


def test_a_relu_of_its_own_is_loaded_and_run(bundle: kgen.Bundle, tmp_path: Path) -> None:
    x = np.array([[1, -1, -0.0, np.nan, -np.inf]] * 3, np.float32)
    with kgen_runtime.load(bundle.save(tmp_path / "x.kgen"), device="cpu") as kernels:
        y = kernels.relu(x)
        np.testing.assert_array_equal(y, [[1, 0, 0, np.nan, 0]] * 3)
        assert not np.signbit(y[:, 2]).any()
        assert list(kernels) == ["relu_3x5_f32"]
    with kgen_runtime.load(tmp_path / "x.kgen", device="reference") as kernels:
        np.testing.assert_array_equal(kernels.relu(kernels.to_device(x)).numpy(), y)


def test_it_is_verified(bundle: kgen.Bundle) -> None:
    manifest = from_json(to_json(bundle.manifest))
    assert [k.spec["op"] for k in manifest.kernels] == ["elementwise"] * 2
    report = verify(dataclasses.replace(bundle, manifest=manifest))
    assert [k.status for k in report.kernels] == ["passed"] * 2


def test_its_spec_is_checked_as_before(bundle: kgen.Bundle) -> None:
    data = to_json(bundle.manifest)
    data["kernels"][0]["spec"]["shape"] = [3, 6]
    with pytest.raises(BundleError, match=r"its spec requires input x \[3, 6\] f32"):
        check_spec(from_json(data).kernels[0])


def test_axes_that_were_counted_from_the_last_one() -> None:
    spec = kgen.Rowwise(expression="mean(x)", shapes=((2, 3, 5),), dtype="f32", axes=(1, 2))
    new = kgen.build(spec, ["x86-64"])
    data = to_json(new.manifest)
    assert data["kernels"][0]["key"] == "mean_2x3x5_axes2_f32"
    data["kernels"][0]["spec"]["axes"] = 2
    (kernel,) = from_json(data).kernels
    assert kernel.spec == new.manifest.kernels[0].spec
    data["kernels"][0]["spec"]["axes"] = 4
    with pytest.raises(BundleError, match="its spec requires"):
        check_spec(from_json(data).kernels[0])


def test_a_softmax_of_its_own_is_a_row_wise_expression(tmp_path: Path) -> None:
    new = kgen.build(softmax_of(3, 5, dtype="f32"), ["x86-64", "sm_80"])
    spec = {"op": "softmax", "dtype": "f32", "rows": 3, "cols": 5, "out_dtype": "f32", "log": False}
    kernels = tuple(dataclasses.replace(k, spec=spec) for k in new.manifest.kernels)
    bundle = dataclasses.replace(new, manifest=dataclasses.replace(new.manifest, kernels=kernels))
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    with kgen_runtime.load(bundle.save(tmp_path / "x.kgen"), device="cpu") as loaded:
        np.testing.assert_allclose(loaded.softmax(x).sum(axis=1), 1.0, rtol=1e-6)
    manifest = from_json(to_json(bundle.manifest))
    assert [k.spec for k in manifest.kernels] == [to_json(k.spec) for k in new.manifest.kernels]
    report = verify(dataclasses.replace(bundle, manifest=manifest))
    assert [k.status for k in report.kernels] == ["passed"] * 2


def test_others_stay_as_they_are(bundle: kgen.Bundle) -> None:
    for spec in ({"op": "relu"}, {"op": ["relu"]}, {}, {"op": "matmul", "shape": [1], "dtype": 1}):
        kernel = dataclasses.replace(bundle.manifest.kernels[0], spec=spec)
        assert renewed(kernel) is kernel


def test_a_bundle_of_each_schema_version_is_kept_and_runs() -> None:
    """Version 1 had no programs, and relu was an operation of its own. Version 3 has tensors of no
    elements, outputs whose size depends on data, and recurrent layers whose steps are listed
    once. Version 4 has 16-bit integers."""
    paths = {version: DATA / f"schema_{version}.kgen" for version in SCHEMA_VERSIONS}
    with kgen_runtime.load(paths[1], device="cpu") as kernels:
        x = np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5)
        np.testing.assert_array_equal(kernels.relu(x), np.maximum(x, 0))
    with kgen_runtime.load(paths[2], device="cpu", verify="all") as kernels:
        x = np.random.default_rng(0).standard_normal((ROWS, WIDE)).astype("f")
        found = kernels.program.run(x=x)
    np.testing.assert_allclose(found, answer(x, parameters()), rtol=2e-5, atol=2e-5)
    with kgen_runtime.load(paths[3], device="cpu") as kernels:
        x = np.array([[0, 4, 0], [3, 0, 2]], np.float32)
        three = kernels.program.run(past=x[:0], x=x)
    np.testing.assert_array_equal(three["present"], -x)
    assert three["none"].shape == (0, 3) and three["places"].shape == (2, 3)
    with kgen_runtime.load(paths[4], device="cpu", verify="all") as kernels:
        image = np.array([0, 5, 40000, 65535], np.uint16)
        centred = kernels.program.run(x=image)
    np.testing.assert_array_equal(centred, image.astype(int) - 32768)
    assert centred.dtype == np.int16
    x = np.random.default_rng(0).standard_normal((9, 2, 2)).astype("f")
    results = []
    for device in ("cpu", "reference"):
        path = DATA / "schema_3_repeats.kgen"
        with kgen_runtime.load(path, device=device, verify="all") as kernels:
            results.append(kernels.program.run(x=x))
    np.testing.assert_allclose(results[0], results[1], rtol=2e-5, atol=2e-5)
