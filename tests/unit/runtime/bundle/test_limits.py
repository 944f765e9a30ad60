"""Limits of a manifest that readers of bundles accept."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import kgen
from kgen_runtime import manifest
from kgen_runtime.errors import BundleError
from kgen_runtime.schema import manifest_json, program
from kgen_runtime.schema.limits import COUNTED, LIMITS
from kgen_runtime.schema.manifest_json import to_json
from scripts.reference import manifest_schema
from tests.manifests import from_json
from tests.specs import relu_of


def test_the_header_of_c_is_the_table() -> None:
    text = manifest_schema.HEADER.read_text()
    assert text == manifest_schema.header(), "run make reference"


def test_every_list_of_a_manifest_is_counted() -> None:
    """Exceptions are texts for people, and lists that `json_values` limits."""
    uncounted = {
        "Resources.findings",
        "Tolerance.flushed_outputs",
        "Step.nodes",
        "Step.after",
        "Launch.grid",
        "Launch.block",
        "Launch.cluster",
        "KernelEntry.spec",
        "KernelEntry.schedule",
        "ArtifactEntry.requires",
        "Manifest.provenance",
    }
    found = set()
    for module in (manifest, program):
        for cls in vars(module).values():
            if isinstance(cls, type) and dataclasses.is_dataclass(cls):
                for field in dataclasses.fields(cls):
                    if str(field.type).startswith(("tuple", "Mapping", "Extent3")):
                        found.add(f"{cls.__name__}.{field.name}")
    assert found == uncounted | set(COUNTED)
    assert set(COUNTED.values()) <= set(LIMITS)


@pytest.mark.integration
def test_a_bundle_that_no_reader_takes_is_not_written(tmp_path: Path) -> None:
    bundle = kgen.build([relu_of((4, 8), dtype="f32")], ["x86-64-v3"])
    (kernel,) = bundle.manifest.kernels
    many = dataclasses.replace(kernel, launches=kernel.launches * 65)
    with pytest.raises(BundleError, match=r"launches: 65 entries; the limit is 64 \(launches\)"):
        from_json(to_json(dataclasses.replace(bundle.manifest, kernels=(many,))))
    large = dataclasses.replace(bundle.manifest, provenance={"x": "x" * (16 << 20)})
    with pytest.raises(BundleError, match="more than 16777216 bytes"):
        dataclasses.replace(bundle, manifest=large).save(tmp_path / "never.kgen")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 32 + b"]" * 32, ""),
        (b"[" * 33 + b"]" * 33, "more than 32 levels"),
        (b'["' + b"[" * 99 + b'"]', ""),
        (b'["\\"' + b"[" * 99 + b'"]', ""),
        (b'["\\\\", ' + b"[" * 33, "more than 32 levels"),
        (b"[" + b"0," * (2**20 - 2) + b"0]", ""),
        (b"[" + b"0," * (2**20 - 1) + b"0]", "more than 1048576 values"),
        (b"[" + b'"a,[",' * (2**19) + b"0]", ""),
        (b'["' + b"," * 2**20 + b'"]', ""),
        (b'["' + b'\\"' * 70_000 + b"," * 2**21, ""),
        (b"]" * 2**20, ""),
    ],
)
def test_what_stands_in_texts_is_not_counted(text: bytes, message: str) -> None:
    with pytest.raises(BundleError) as refused:
        manifest_json.check(text)
    assert ("has more than" in str(refused.value)) == bool(message)
    assert message in str(refused.value)
