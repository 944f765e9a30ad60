"""`kgen profile`: time each step of a bundle's program."""

from __future__ import annotations

import argparse

from kgen.cli import programs
from kgen.cli.output import print_json, print_table


def configure(parser: argparse.ArgumentParser) -> None:
    programs.configure(parser)


def run(args: argparse.Namespace) -> int:
    """Time the steps; inputs that are not given are zeros (integers) or normally distributed."""
    given = programs.arrays(args.input)
    with programs.loaded(args) as program:
        times = program.profile(programs.filled(program, given))
        device, name = program.backend.info, program.entry.qualified_name
    total = sum(step.seconds for step in times)
    if args.json:
        print_json(
            {
                "program": name,
                "device": device.id,
                "seconds": total,
                "steps": [vars(step) for step in times],
            }
        )
        return 0
    rows = [
        (i, t.seconds * 1e6, _share(t.seconds, total), t.kernel, " ".join(t.nodes) or "-")
        for i, t in enumerate(times)
    ]
    print_table(("step", "us", "share", "kernel", "nodes"), rows)
    print()
    kernels: dict[str, list[float]] = {}
    for step in times:
        kernels.setdefault(step.kernel, []).append(step.seconds)
    ranked = sorted(kernels.items(), key=lambda item: -sum(item[1]))
    print_table(
        ("kernel", "steps", "us", "share"),
        [(key, len(s), sum(s) * 1e6, _share(sum(s), total)) for key, s in ranked],
    )
    print(f"\n{name} on {device.id} ({device.name}): {total * 1e6:.1f} us in {len(times)} steps")
    return 0


def _share(seconds: float, total: float) -> str:
    return f"{seconds / total:.1%}" if total else "-"
