"""Cycles that a wave's access occupies LDS and L1.

LDS of a CU moves 128 bytes per clock (256 in reads on gfx950), and L1 moves 64 (CDNA3 and CDNA4
white papers, RDNA3 manual). On RDNA, the four SIMDs of a WGP, which is two CUs, share LDS. Bank
conflicts and repeated sectors are not included; the emulator counts them.
"""

from __future__ import annotations

import re

from kgen.targets.base import Target

SIMDS, WORD = 4, 4
#: Bytes per clock of a CU's LDS and L1.
LDS_BYTES, L1_BYTES = 128, 64
#: Factor by which reads of LDS are faster, by the number of banks.
WIDER_READS = {64: 2}
#: ds_read_b128, ds_load_2addr_b64, ds_write2_b32, ...
_LDS = re.compile(r"ds_(read|load|write|store)(2|_2addr)?(?:st64|_stride64)?_[bui](\d+)(?:_|$)")
_MEMORY = re.compile(r"(?:global|buffer|flat)_load_(?:lds_)?(\w+)")
_DWORDS = re.compile(r"dword(?:x(\d))?$")
_BITS = re.compile(r"[bui](\d+)$")


def memory_cycles(target: Target, opcode: str, operands: str) -> tuple[float, float]:
    """Return the clocks of LDS and of L1 per SIMD, if all SIMDs that share them execute the same
    access."""
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
