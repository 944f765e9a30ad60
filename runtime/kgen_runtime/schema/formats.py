"""Formats of artifacts: the families whose devices run them, and their content.

`make reference` writes the table into runtime/c/manifest_schema.h and
docs/reference/bundle-format.md.
"""

from __future__ import annotations

from collections.abc import Mapping

FORMATS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "cubin": (
        ("cuda",),
        "machine code: ELF from ptxas; runs on the same major compute capability, same or later "
        "minor",
    ),
    "ptx": (
        ("cuda",),
        "portable: text that the driver compiles for the same or a later GPU; PTX of a target with "
        "suffix `a` runs on that target only",
    ),
    "hsaco": (("amdgpu",), "machine code: linked code object (ET_DYN) for one gfx architecture"),
    "spirv": (("vulkan",), "portable: SPIR-V module that the driver compiles"),
    "spirv-asm": (("vulkan",), "source: rendered kernel, to read"),
    "msl": (
        ("vulkan",),
        "portable (metal3): Metal Shading Language, for an application that hands it to Metal",
    ),
    "elf-x86_64": (
        ("cpu",),
        "machine code: shared object without undefined symbols, writable data or relocations",
    ),
    "elf-aarch64": (("cpu",), "machine code: likewise, for aarch64"),
    "llvm-ir": (("amdgpu", "cpu"), "source: rendered kernel, to read and to emulate"),
}
