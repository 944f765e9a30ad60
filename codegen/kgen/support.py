"""The support table: target x operation x dtype, and how the tests prove it."""

from __future__ import annotations

from typing import Any

from kgen import targets
from kgen.spec import OPS, Math


def support_table() -> list[dict[str, Any]]:
    """Rows of the support table, one per named target.

    `ops` maps each operation to its dtypes. `math` are the ways to multiply f32 besides the exact
    one, `conv_math` those of conv2d. `narrow` are the types that B may have beside an A of f32.
    `proof` says how the test suite executes the target: on a device (or qemu), or in the emulator
    of its text.
    """
    return [
        {
            "target": target.name,
            "family": target.family,
            "arch": target.arch,
            "ops": {op.op: [d.value for d in family.dtypes(op.op, target)] for op in OPS},
            "math": [m.value for m in family.maths(target) if m is not Math.EXACT],
            "conv_math": ["winograd"] if family.has_winograd else [],
            "narrow": [b.value for b in family.narrow(target)],
            "proof": family.proof(target),
        }
        for family in targets.families()
        for target in family.targets
    ]
