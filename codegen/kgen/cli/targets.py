"""`kgen targets`: what can be built, and how far each of it is proven."""

from __future__ import annotations

import argparse

from kgen.cli.output import print_json, print_table


def configure(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    from kgen import targets
    from kgen.support import support_table

    rows = support_table()
    native = targets.find("native")
    features = sorted(native.features)
    if args.json:
        print_json({"targets": rows, "native": {"arch": native.arch, "features": features}})
        return 0
    ops = list(rows[0]["ops"])
    table = [
        (
            *(r["target"], r["family"], r["arch"]),
            *(" ".join(r["ops"][o]) for o in ops),
            *(" ".join(r["math"]) or None, r["proof"]),
        )
        for r in rows
    ]
    print_table(("target", "family", "arch", *ops, "--math", "proven by"), table)
    print(f"native: the CPU of this machine: {native.arch} with {' '.join(features)}")
    return 0
