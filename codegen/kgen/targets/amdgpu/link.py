"""Link the object file of one kernel into the code object that the HIP runtime loads.

The result equals that of `ld.lld -shared`: a test compares symbols, notes, constants and code. The
ROCm loader reads section headers, ``.symtab`` and the loadable segments (AMDGPUUsage, "Code
Object").
"""

from __future__ import annotations

import struct

from kgen.targets import elf_image
from kgen.targets.elf_image import FileLayout, relative32, relative64

EM_AMDGPU = 224
#: Kernels are aligned to 256 bytes, which their descriptors promise.
LAYOUT = FileLayout(page=0x1000, code_alignment=256, has_phdr=True)


def low32(data: bytearray, at: int, value: int, position: int) -> None:
    struct.pack_into("<I", data, at, value - position & 0xFFFFFFFF)


def high32(data: bytearray, at: int, value: int, position: int) -> None:
    struct.pack_into("<I", data, at, value - position >> 32 & 0xFFFFFFFF)


#: R_AMDGPU_REL32, REL64, REL32_LO and REL32_HI (AMDGPUUsage, "Relocation Records").
WRITERS = {EM_AMDGPU: {4: relative32, 5: relative64, 10: low32, 11: high32}}


def link(data: bytes) -> bytes:
    """Return the loadable code object. Raises AssembleError for code that is not self-contained."""
    return elf_image.link(data, LAYOUT, WRITERS)
