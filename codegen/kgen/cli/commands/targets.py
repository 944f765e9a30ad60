"""`kgen targets`: list targets, what each supports, and how tests verify it."""

from __future__ import annotations

import argparse
from typing import Any

from kgen.cli.output import print_json, print_table
from kgen.errors import TargetError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--operators",
        action="store_true",
        help="list the ONNX operators that kgen compile supports",
    )


def run(args: argparse.Namespace) -> int:
    if args.operators:
        _print_operators(args.json)
        return 0
    from kgen.support import support_table

    rows = support_table()
    native = _native()
    if args.json:
        print_json({"targets": rows, "native": native})
        return 0
    ops = list(rows[0]["ops"])
    table = [
        (
            *(r["target"], r["family"], r["arch"]),
            *(" ".join(r["ops"][o]) for o in ops),
            *(
                " ".join(r["math"] + r["conv_math"]) or None,
                " ".join(r["narrow"]) or None,
                r["proof"],
            ),
        )
        for r in rows
    ]
    print_table(("target", "family", "arch", *ops, "--math", "--b-dtype", "verified by"), table)
    print("suffixes can be combined: x86-64-v4+bf16+vnni")
    if "reason" in native:
        print(native["reason"])
    else:
        features = " ".join(native["features"])
        print(f"native: {native['stands_for']}: {native['arch']} with {features}")
    return 0


def _print_operators(as_json: bool) -> None:
    from kgen.graph.operators import OPERATORS

    found = sorted(OPERATORS.values(), key=lambda operator: operator.name)
    if as_json:
        print_json(
            {
                "operators": [
                    {
                        "name": o.name,
                        "family": o.family,
                        "becomes": o.becomes,
                        "unsupported": o.unsupported,
                    }
                    for o in found
                ]
            }
        )
        return
    header = ("operator", "family", "becomes", "not supported")
    print_table(header, [(o.name, o.family, o.becomes, o.unsupported or None) for o in found])


def _native() -> dict[str, Any]:
    """Return the target that `native` stands for, or the reason why there is none."""
    from kgen import targets
    from kgen_runtime import settings

    try:
        native = targets.find("native")
    except TargetError as error:
        return {"reason": str(error)}
    name = settings.native_name()
    return {
        "stands_for": "the CPU of this machine" if name is None else f"{name} ($KGEN_NATIVE)",
        "arch": native.arch,
        "features": sorted(native.features),
    }
