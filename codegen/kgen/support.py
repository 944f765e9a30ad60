"""Support table: operations and dtypes of each target, and how the tests prove them."""

from __future__ import annotations

from typing import Any

from kgen import targets
from kgen.spec import OPS, Math


def support_table() -> list[dict[str, Any]]:
    """Return the rows of the support table, one per named target.

    - `ops` maps each operation to its dtypes.
    - `math` lists the ways to multiply f32 apart from the exact one, and `conv_math` those of
      conv2d.
    - `narrow` lists the dtypes that B may have beside an A of f32.
    - `proof` says how the test suite runs the target's kernels: on a device, in qemu, or in an
      emulator of their text.
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
