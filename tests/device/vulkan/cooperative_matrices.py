"""Kernels with cooperative matrices, executed by lavapipe 26, which has matrices of 8x8x8.

A test module defines the checks: `cooperative(vulkan)` checks kernels, and `faults()` returns specs
with changes of their modules, each of which `check_exact` must detect. A test starts this program
on the driver:

    python -m tests.device.vulkan.cooperative_matrices MODULE cooperative|faults
"""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import build, open_vulkan
from tests.drivers import LAVAPIPE, LAYER_LOG

TARGET = "vulkan1.3+coopmat"
#: Pairs of a text in a module and its replacement.
Changes = tuple[tuple[str, str], ...]


def check(module: str, folder: Path) -> None:
    """Check that kernels are exact, and that the newest validation layer reports nothing."""
    LAVAPIPE.python("-m", __name__, module, "cooperative", layer=folder)
    log = folder / LAYER_LOG
    assert (log.read_text() if log.exists() else "") == ""


def check_faults(module: str) -> None:
    """Check that each fault is detected."""
    expected = sum(len(changes) for _, changes in import_module(module).faults())
    out = LAVAPIPE.python("-m", __name__, module, "faults").stdout
    assert out.count("seen:") == expected > 0, out


def seek_faults(vulkan: VulkanBackend, module: ModuleType) -> None:
    """Print the changes that make a result wrong."""
    for spec, changes in module.faults():
        kernel = build(spec, TARGET)
        *_, machine, source = kernel.assembled.artifacts
        text = source.data.decode()
        for old, new in changes:
            assert old in text, old
            broken = dataclasses.replace(machine, data=assemble(text.replace(old, new), (1, 6)))
            assembled = dataclasses.replace(kernel.assembled, artifacts=(broken, source))
            try:
                module.check_exact(vulkan, spec, dataclasses.replace(kernel, assembled=assembled))
            except AssertionError:
                print("seen:", old)


def main(name: str, what: str) -> None:
    vulkan, module = open_vulkan(), import_module(name)
    if what == "faults":
        seek_faults(vulkan, module)
    else:
        module.cooperative(vulkan)
    vulkan.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
