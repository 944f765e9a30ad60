"""Validation of SPIR-V modules before a driver reads them: a malformed one may crash the process.

SPIR-V 1.6, section 2.3 "Physical Layout of a SPIR-V Module and Instruction".
"""

from __future__ import annotations

import struct
from collections.abc import Collection

#: First word of a module, in memory order.
MAGIC = (0x07230203).to_bytes(4, "little")
HEADER_WORDS = 5
#: Newest version that kgen writes, encoded as in the second word.
NEWEST = 0x00010600
#: OpEntryPoint: its opcode, and the words before its name.
ENTRY_POINT, BEFORE_NAME = 15, 3


def malformed(code: bytes, entry_points: Collection[str]) -> str | None:
    """Return why these bytes are not a module with these entry points, or None.

    Instructions must follow each other without gaps and end at the end of the module.
    """
    if code[:4] != MAGIC or len(code) % 4 or len(code) < 4 * HEADER_WORDS:
        return "is not a SPIR-V module"
    words = struct.unpack(f"<{len(code) // 4}I", code)
    if words[1] > NEWEST:
        version = f"{words[1] >> 16}.{words[1] >> 8 & 0xFF}"
        return f"is SPIR-V {version}; the newest supported version is 1.6"
    found, at = set(), HEADER_WORDS
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if not 0 < length <= len(words) - at:
            return f"is not a SPIR-V module: word {at} begins an instruction of {length} words"
        if opcode == ENTRY_POINT:
            name = code[4 * (at + BEFORE_NAME) : 4 * (at + length)]
            found.add(name.partition(b"\0")[0].decode(errors="replace"))
        at += length
    if missing := sorted(set(entry_points) - found):
        return f"has no entry point {missing[0]}"
    return None
