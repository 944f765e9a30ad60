"""Checks of the waits and hazards that AMD's hardware leaves to the machine code, in LLVM's text.

A wave goes on while its loads are under way, and some results may be read only a number of
instructions later: waits and no-ops in the code see to both. :func:`check` finds what they miss, on
every path through the code. That the text is the machine code, an assembler says in the tests.
"""

from __future__ import annotations

from kgen.check.static.amdgpu.decode import decoded
from kgen.check.static.amdgpu.flow import Finding
from kgen.check.static.amdgpu.hazards import hazards
from kgen.check.static.amdgpu.waits import missing_waits
from kgen.check.static.machine_code import parse_assembly


def check(text: str, arch: str) -> list[Finding]:
    """Missing waits and hazards of a kernel's assembly, in order; empty if it is right."""
    code = decoded(parse_assembly(text))
    found = [*missing_waits(code, arch), *hazards(code, arch)]
    return sorted(found, key=lambda finding: finding.at)
