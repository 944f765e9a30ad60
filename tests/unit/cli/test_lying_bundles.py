"""Bundles that load but contain wrong data: each command prints one line and no traceback."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import kgen
from kgen.check.execute import runners
from kgen.check.execute.executor import Unavailable
from kgen.check.execute.isolate import IsolatedDevices
from kgen.check.profile import profile_kernel
from kgen.check.static import machine_code, source_lines
from kgen.cli.main import main
from kgen.errors import BundleError, KgenError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.schema import manifest_json
from tests.manifests import from_json
from tests.specs import relu_of
from tests.unit.runtime.bundle.zips import archive

pytestmark = pytest.mark.integration

TARGETS = ("x86-64-v3", "gfx942", "sm_80", "vulkan1.1")
TEXTS = ("llvm-ir", "ptx", "spirv-asm")


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    return kgen.build([relu_of((8, 3), dtype="f32")], list(TARGETS))


@pytest.fixture(scope="module")
def whole(bundle: kgen.Bundle) -> Any:
    return json.loads(json.dumps(manifest_json.to_json(bundle.manifest)))


def of_target(whole: Any, target: str) -> Any:
    kernels = [k for k in whole["kernels"] if k["target"]["name"] == target]
    return copy.deepcopy(whole | {"kernels": kernels})


def write(data: Any, files: dict[str, bytes], path: Path) -> Path:
    named = {a["file"] for kernel in data["kernels"] for a in kernel["artifacts"]}
    path.write_bytes(archive(data, {n: d for n, d in files.items() if n in named}))
    return path


def without_text(whole: Any, bundle: kgen.Bundle, target: str, path: Path) -> Path:
    """Return a bundle whose sources are not UTF-8, with the right digests."""
    data, files = of_target(whole, target), dict(bundle.files)
    bad = b"\xff\xfe; no text"
    for artifact in data["kernels"][0]["artifacts"]:
        if artifact["format"] in TEXTS:
            files[artifact["file"]] = bad
            artifact |= {"nbytes": len(bad), "sha256": hashlib.sha256(bad).hexdigest()}
    return write(data, files, path)


#: Everything that reads a kernel's text.
READERS: dict[str, Callable[[BundleFile], Any]] = {
    "instructions": lambda b: machine_code.instructions(b, b.manifest.kernels[0]),
    "lines": lambda b: source_lines.locate(b, b.manifest.kernels[0]),
    "emulator": lambda b: runners._emulator(
        b, b.manifest.kernels[0], cast(IsolatedDevices, None), runners.Emulation()
    ),
    "profile": lambda b: profile_kernel(b, b.manifest.kernels[0]),
    "source": lambda b: b.source(b.manifest.kernels[0]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reader", READERS)
def test_a_source_that_is_no_text(
    bundle: kgen.Bundle, whole: Any, target: str, reader: str, tmp_path: Path
) -> None:
    path = without_text(whole, bundle, target, tmp_path / "no-text.kgen")
    with BundleFile(path) as opened:
        try:
            READERS[reader](opened)
        except (KgenError, Unavailable) as error:
            assert "\n" not in str(error) and len(str(error)) <= 500


@pytest.mark.parametrize("requires", [{}, {"arch": "x86_64", "features": ["no_such"]}])
def test_code_of_no_known_features(
    bundle: kgen.Bundle, whole: Any, tmp_path: Path, requires: Any
) -> None:
    data = of_target(whole, "x86-64-v3")
    for artifact in data["kernels"][0]["artifacts"]:
        artifact["requires"] = requires
    path = write(data, dict(bundle.files), tmp_path / "no-features.kgen")
    with BundleFile(path) as opened:
        for reader in READERS.values():
            try:
                reader(opened)
            except (KgenError, Unavailable) as error:
                assert "\n" not in str(error) and len(str(error)) <= 500


def test_a_kernel_without_text_is_not_profiled(
    bundle: kgen.Bundle, whole: Any, tmp_path: Path
) -> None:
    data = of_target(whole, "sm_80")
    kernel = data["kernels"][0]
    kernel["artifacts"] = [a for a in kernel["artifacts"] if a["format"] not in TEXTS]
    if not kernel["artifacts"]:
        pytest.skip("ptxas is not installed: the kernel is text alone")
    path = write(data, dict(bundle.files), tmp_path / "no-source.kgen")
    with BundleFile(path) as opened:
        found = profile_kernel(opened, opened.manifest.kernels[0])
    assert found.reason == "the bundle holds no PTX or LLVM IR text of the kernel"


@pytest.mark.parametrize("value", [-1, None, ["1"], {}, 1.5, True])
def test_provenance_is_text(whole: Any, value: Any) -> None:
    """A number in place of text made `kgen bundle merge` fail."""
    with pytest.raises(BundleError, match=r"manifest\.provenance\.llvm: expected str"):
        from_json(whole | {"provenance": {"llvm": value}})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("command", ["inspect", "check", "verify", "profile", "report"])
def test_a_command_prints_no_traceback(
    bundle: kgen.Bundle,
    whole: Any,
    target: str,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = without_text(whole, bundle, target, tmp_path / "no-text.kgen")
    assert main([command, str(path)]) in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err
