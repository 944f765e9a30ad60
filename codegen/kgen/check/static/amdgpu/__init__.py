"""Hazard checker for AMDGPU code: missing waits and wait states, in LLVM's assembly text.

A wave continues while its loads are in flight, and some results may be read only a number of
instructions later. The hardware does not check either; waits and no-ops in the code must.
:func:`check` finds missing ones on every path through the code. Tests assemble the text to show
that it is the machine code.
"""

from __future__ import annotations

from kgen.check.static.amdgpu.decode import decoded
from kgen.check.static.amdgpu.flow import Finding
from kgen.check.static.amdgpu.hazards import hazards
from kgen.check.static.amdgpu.waits import missing_waits
from kgen.check.static.machine_code import parse_assembly


def check(text: str, arch: str) -> list[Finding]:
    """Return missing waits and hazards of a kernel's assembly, in order; empty if it is correct."""
    code = decoded(parse_assembly(text))
    found = [*missing_waits(code, arch), *hazards(code, arch)]
    return sorted(found, key=lambda finding: finding.at)
