"""`kgen devices`: list the devices of this machine, and why other backends are unavailable."""

from __future__ import annotations

import argparse

from kgen.cli.output import print_json, print_table


def configure(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    import kgen_runtime

    found = kgen_runtime.devices()
    if args.json:
        print_json(
            {
                "devices": [
                    {
                        "id": d.id,
                        "backend": d.backend,
                        "name": d.name,
                        "kind": d.kind,
                        "capabilities": dict(d.capabilities),
                    }
                    for d in found.devices
                ],
                "unavailable": dict(found.unavailable),
            }
        )
        return 0
    print_table(("device", "kind", "name"), [(d.id, d.kind, d.name) for d in found.devices])
    for backend, reason in found.unavailable.items():
        print(f"{backend}: {reason}")
    return 0
