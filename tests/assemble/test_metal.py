"""Kernels for Metal: SPIR-V that spirv-cross translates. Nothing here executes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kgen
import kgen_runtime
from kgen.bundle import pack
from kgen.errors import AssembleError
from kgen.targets.vulkan import assemble
from tests import needs
from tests.device.vulkan.support_table import specs
from tests.device.vulkan.vulkan_support import build
from tests.specs import relu_of


def test_every_module_is_translated(tmp_path: Path) -> None:
    """Every operation of the support table: the entry point has the kernel's arguments as its first
    buffers, in order, and the manifest has its threadgroup size."""
    needs.program("spirv-cross", "spirv-cross")
    bundle = pack([build(spec, "metal3") for spec in specs()])
    for entry in bundle.manifest.kernels:
        (code,) = (a for a in entry.artifacts if a.format == "msl")
        text = bundle.files[code.file].decode()
        for launch in entry.launches:
            signature = re.search(rf"kernel void {launch.entry_point}\((.*)\)", text)
            assert signature is not None, entry.name
            buffers = re.findall(r"\[\[buffer\((\d+)\)\]\]", signature[1])
            assert buffers == [str(i) for i in range(len(launch.arguments))]
            assert launch.block[1:] == (1, 1)
    path = bundle.save(tmp_path / "x.kgen")
    with pytest.raises(kgen_runtime.KgenError, match="no kernel of this bundle"):
        kgen_runtime.load(path, device="cpu")


def test_modules_whose_elements_share_words_are_translated() -> None:
    """These modules store by atomic instructions, which MSL supports."""
    needs.program("spirv-cross", "spirv-cross")
    atomic = 0
    for spec in specs()[::3]:
        artifacts = build(spec, "vulkan1.1").assembled.artifacts
        for module in (a for a in artifacts if a.extension == "words.spv"):
            atomic += b"atomic_fetch_xor_explicit" in assemble.translate(module.data, spec.key)
    assert atomic > 10


def test_the_program_is_missing_or_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.program("spirv-cross", "spirv-cross")
    with pytest.raises(
        AssembleError,
        match=r"spirv-cross rejects k: .*; build it for vulkan1\.1",
    ):
        assemble.translate(b"no module at all", "k")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        AssembleError,
        match="spirv-cross, which translates relu_7_f32 for Metal, is not installed; apt install "
        "spirv-cross",
    ):
        kgen.build(relu_of((7,), dtype="f32"), targets=["metal3"], cache=False)
