"""Kernels for Metal: SPIR-V that spirv-cross translates. Nothing here executes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kgen
import kgen_runtime
from kgen.errors import AssembleError
from kgen.spec.text import parse
from kgen.targets.vulkan import msl
from tests import needs
from tests.device.vulkan.support_table import lines
from tests.specs import relu_of


def test_every_module_is_translated(tmp_path: Path) -> None:
    """A part of the support table: a kernel's entry point, with its arguments as the first buffers
    in their order; its threadgroup stands in the manifest."""
    needs.program("spirv-cross", "spirv-cross")
    specs = [parse(line) for line in list(lines())[::4]]
    bundle = kgen.build(specs, targets=["metal3"])
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


def test_the_program_is_missing_or_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.program("spirv-cross", "spirv-cross")
    with pytest.raises(AssembleError, match=r"spirv-cross refuses k: .*; build it for vulkan1.1"):
        msl.translate(b"no module at all", "k")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(AssembleError, match=r"spirv-cross is missing.*apt install spirv-cross"):
        kgen.build(relu_of((7,), dtype="f32"), targets=["metal3"], cache=False)
