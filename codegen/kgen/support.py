"""The support table: target x operation x dtype, and how the tests prove it."""

from __future__ import annotations

from typing import Any

from kgen import targets
from kgen.spec import OPS


def support_table() -> list[dict[str, Any]]:
    """One row per named target: `ops` maps each operation to its dtypes; `proof` says how the
    test suite executes it: on a device (or qemu), or in the emulator of its text."""
    return [
        {
            "target": target.name,
            "family": target.family,
            "arch": target.arch,
            "ops": {op.op: [d.value for d in family.dtypes(op.op, target)] for op in OPS},
            "proof": family.proof(target),
        }
        for family in targets.families()
        for target in family.targets
    ]
