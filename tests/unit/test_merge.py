"""Merged bundles have each kernel once; and refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.cli.main import main
from kgen.errors import BundleError, IntegrityError
from kgen.merge import merge
from kgen.spec import Matmul
from kgen_runtime.bundle import BundleFile
from tests.specs import relu_of
from tests.unit.runtime.bundle.test_bundle import rewrite

pytestmark = pytest.mark.integration

SPEC = Matmul(m=3, n=21, k=13, dtype="f32")
CONSTANT = dataclasses.replace(SPEC, constant=("b",))
A, B = (np.random.default_rng(0).standard_normal(s).astype("f") for s in ((3, 13), (13, 21)))


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Return a GPU's bundle and a CPU's, both with the same constant."""
    gpu = kgen.build([relu_of((7,)), CONSTANT], ["sm_80", "vulkan1.1"], constants={"b": B})
    cpu = kgen.build([SPEC, CONSTANT], ["x86-64", "aarch64-neon"], constants={"b": B})
    return [gpu.save(tmp_path / "gpu.kgen"), cpu.save(tmp_path / "cpu.kgen")]


def names(path: Path) -> list[str]:
    with BundleFile(path) as bundle:
        return [entry.name for entry in bundle.manifest.kernels]


def test_all_kernels_and_all_bytes(parts: list[Path], tmp_path: Path) -> None:
    merged = merge(parts).save(tmp_path / "all.kgen")
    assert names(merged) == [*names(parts[0]), *names(parts[1])]
    with BundleFile(merged) as whole:
        for path in parts:
            with BundleFile(path) as part:
                for entry in part.manifest.kernels:
                    assert entry in whole.manifest.kernels
                    for file in entry.files:
                        assert whole.read(file) == part.read(file)
    with kgen_runtime.load(merged, device="cpu") as kernels:
        np.testing.assert_allclose(kernels.matmul(A), A @ B, rtol=1e-5, atol=1e-5)


def test_it_says_what_every_part_was_made_with(parts: list[Path]) -> None:
    provenance = merge(parts).manifest.provenance
    for path in parts:
        with BundleFile(path) as part:
            assert provenance.items() >= part.manifest.provenance.items()


def test_a_kernel_of_both_is_taken_once(parts: list[Path], tmp_path: Path) -> None:
    merged = merge([parts[0], parts[1], parts[0]])
    assert [e.name for e in merged.manifest.kernels] == [*names(parts[0]), *names(parts[1])]
    alone = merge([parts[0]]).save(tmp_path / "alone.kgen")
    assert alone.read_bytes() == parts[0].read_bytes()


def test_kernels_of_one_name_that_differ(parts: list[Path], tmp_path: Path) -> None:
    other = kgen.build(CONSTANT, ["sm_80"], constants={"b": 2 * B}).save(tmp_path / "other.kgen")
    with pytest.raises(
        BundleError, match=r"other.kgen: sm_80/matmul_.* differs from the kernel of that"
    ):
        merge([parts[0], other])


def test_a_damaged_part(parts: list[Path]) -> None:
    rewrite(parts[1], "x86-64/matmul_3x21x13_f32_nn.so", b"other")
    with pytest.raises(IntegrityError, match="was changed after it was built"):
        merge(parts)


def test_the_command(parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "all.kgen"
    assert main(["bundle", "merge", *map(str, parts), "-o", str(out)]) == 0
    assert names(out) == [*names(parts[0]), *names(parts[1])]
    assert f"wrote {out}" in capsys.readouterr().out
    assert main(["bundle", "merge", str(parts[0]), "no.kgen", "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("kgen bundle merge: no.kgen: cannot read") and error.count("\n") == 1
