"""How long LDS and L1 are busy with a wave's access.

LDS moves 128 bytes per clock of a CU (256 in reads on gfx950) and L1 64 (CDNA3 and CDNA4 white
papers, RDNA3 manual). On RDNA the four SIMDs that share LDS are those of a WGP, two CUs. Bank
conflicts and sectors that are loaded twice come on top: the emulator counts these.
"""

from __future__ import annotations

import re

from kgen.targets.base import Target

SIMDS, WORD = 4, 4
#: Of a CU, in a clock.
LDS_BYTES, L1_BYTES = 128, 64
#: By the banks of LDS: what reads move more.
WIDER_READS = {64: 2}
#: ds_read_b128, ds_load_2addr_b64, ds_write2_b32, ...
_LDS = re.compile(r"ds_(read|load|write|store)(2|_2addr)?(?:st64|_stride64)?_[bui](\d+)(?:_|$)")
_MEMORY = re.compile(r"(?:global|buffer|flat)_load_(?:lds_)?(\w+)")
_DWORDS = re.compile(r"dword(?:x(\d))?$")
_BITS = re.compile(r"[bui](\d+)$")


def memory_cycles(target: Target, opcode: str, operands: str) -> tuple[float, float]:
    """Clocks of LDS and of L1, if all SIMDs that share them do the same, for each of them."""
    units = 1 if target.subgroup == 64 else 2
    lanes = target.subgroup * SIMDS / units
    if match := _LDS.match(opcode):
        nbytes = int(match[3]) / 8 * (2 if match[2] else 1)
        reads = match[1] in ("read", "load")
        rate = LDS_BYTES * (WIDER_READS.get(target.limits["lds_banks"], 1) if reads else 1)
        return lanes * nbytes / rate, 0.0
    if match := _MEMORY.match(opcode):
        nbytes = _bytes(match[1])
        straight = re.search(r"\blds\b", operands) is not None
        return lanes * nbytes / LDS_BYTES * straight, lanes * nbytes / L1_BYTES
    return 0.0, 0.0


def _bytes(width: str) -> float:
    """Return the bytes per lane that an opcode's suffix names: dwordx4, b128, ushort, u16."""
    if words := _DWORDS.match(width):
        return WORD * int(words[1] or 1)
    if bits := _BITS.search(width):
        return int(bits[1]) / 8
    return 1 if "byte" in width else 2
