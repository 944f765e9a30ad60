"""Variables that the driver provides to a kernel that names certain special registers (PTX ISA 10).

`%envreg1` and `%envreg2` are the high and the low half of the address of a cooperative launch's
workspace in global memory, as used by CUDA's cooperative groups. The workspace holds its size in
bytes, followed by the barrier of grid.sync(), which starts as 0. The registers of reserved shared
memory are offsets of uninitialised bytes.
"""

from __future__ import annotations

from collections.abc import Collection

from kgen_runtime.values import frozen

#: Bytes of each part of reserved shared memory.
_PART = 1024


@frozen
class Implicit:
    """Variable that no text declares; `value` is its initialiser."""

    name: str
    space: str
    size: int
    value: str = ""


@frozen
class Derived:
    """Special register: some bits of an implicit variable's address, or of a number."""

    of: Implicit | None
    add: int = 0
    shift: int = 0


_WORKSPACE = Implicit(name="the workspace of the grid", space="global", size=64, value="64")
_RESERVED = Implicit(name="reserved shared memory", space="shared", size=2 * _PART)
REGISTERS = {
    "%envreg1": Derived(of=_WORKSPACE, shift=32),
    "%envreg2": Derived(of=_WORKSPACE),
    "%reserved_smem_offset_begin": Derived(of=_RESERVED),
    "%reserved_smem_offset_end": Derived(of=_RESERVED, add=2 * _PART),
    "%reserved_smem_offset_cap": Derived(of=None, add=2 * _PART),
    "%reserved_smem_offset_0": Derived(of=_RESERVED),
    "%reserved_smem_offset_1": Derived(of=_RESERVED, add=_PART),
}


def implied(named: Collection[str]) -> list[Implicit]:
    """Return the implicit variables of a kernel, from the names in its instructions."""
    found = {REGISTERS[name].of for name in named if name in REGISTERS}
    return sorted((one for one in found if one is not None), key=lambda one: one.name)
