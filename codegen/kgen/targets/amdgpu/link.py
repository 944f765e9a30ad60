"""Link the object file of one kernel into the code object that the HIP runtime loads.

The result equals that of `ld.lld -shared`: a test compares symbols, notes, constants and code. The
ROCm loader reads section headers, ``.symtab`` and the loadable segments (AMDGPUUsage, "Code
Object").
"""

from __future__ import annotations

import struct

from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.elf import Relocation
from kgen.targets.elf_image import FileLayout, check, shared_object

EM_AMDGPU = 224
#: Kernels are aligned to 256 bytes, which their descriptors promise.
LAYOUT = FileLayout(page=0x1000, code_alignment=256, has_phdr=True)
#: Relocations (AMDGPUUsage, "Relocation Records"), all of them relative: S + A - P.
R_REL32, R_REL64, R_REL32_LO, R_REL32_HI = 4, 5, 10, 11


def link(data: bytes) -> bytes:
    """Return the loadable code object (ET_DYN) of a relocatable object.

    Raises AssembleError for an object that is not self-contained: undefined symbols, writable data
    or a relocation that kernels do not need.
    """
    source = elf.read(data)
    loaded = [s for s in source.sections if s.has(elf.SHF_ALLOC) and s.size]
    check(source, loaded, (EM_AMDGPU,))
    return shared_object(source, loaded, LAYOUT, patch)


def patch(data: bytearray, relocation: Relocation, value: int, position: int) -> None:
    """Resolve a relocation in the bytes of its section: `value` is S + A, `position` P."""
    at, distance = relocation.offset, value - position
    if relocation.type == R_REL64:
        struct.pack_into("<q", data, at, distance)
    elif relocation.type == R_REL32:
        struct.pack_into("<i", data, at, distance)
    elif relocation.type == R_REL32_LO:
        struct.pack_into("<I", data, at, distance & 0xFFFFFFFF)
    elif relocation.type == R_REL32_HI:
        struct.pack_into("<I", data, at, distance >> 32 & 0xFFFFFFFF)
    else:
        name = relocation.symbol.name
        raise AssembleError(f"relocation type {relocation.type} of {name} is not supported")
