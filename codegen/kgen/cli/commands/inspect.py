"""`kgen inspect`: show a bundle's manifest, kernel sources, machine code or program graph."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from typing import Any

from kgen.bundle_file import SpecifiedBundle
from kgen.cli.bundles import find_kernel
from kgen.cli.output import print_json, print_table
from kgen.errors import SpecError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import KernelEntry, Launch
from kgen_runtime.schema.manifest_json import to_json
from kgen_runtime.schema.program import Program


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.kgen", help="bundle to read")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--source", metavar="KERNEL", help="print a kernel's source text")
    what.add_argument("--disassemble", metavar="KERNEL", help="print a kernel's machine code")
    what.add_argument(
        "--static",
        action="store_true",
        help="analyse the machine code: registers, occupancy, hot loop, roofline",
    )
    what.add_argument(
        "--graph", action="store_true", help="draw a program's steps into the SVG file of -o"
    )
    parser.add_argument(
        "--program", metavar="NAME",
        help="with --graph: name of the program, if the bundle has several",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE.svg", help="with --graph: the file to write"
    )


def run(args: argparse.Namespace) -> int:
    if args.graph:
        return _graph(args)
    for name in ("program", "output"):
        if getattr(args, name) is not None:
            raise SpecError(f"--{name} {getattr(args, name)} needs --graph; add it")
    with SpecifiedBundle(args.file) as bundle:
        name = args.disassemble if args.source is None else args.source
        if name is not None:
            entry = find_kernel(bundle.manifest, name)
            if args.source is not None:
                text = bundle.source(entry)[1]
            else:
                from kgen.check.static.disassemble import disassemble

                text = disassemble(bundle, entry)
            if args.json:
                print_json({"kernel": entry.name, "text": text})
            else:
                sys.stdout.write(text)
        elif args.static:
            from kgen.cli import static

            return static.run(bundle, as_json=args.json)
        else:
            if args.json:
                print_json(to_json(bundle.manifest))
            else:
                _print(bundle)
            _check_files(bundle)
    return 0


def _graph(args: argparse.Namespace) -> int:
    from kgen.bundle import check_output, writing
    from kgen.cli.programs import program_of
    from kgen.report.picture import picture

    if args.output is None:
        raise SpecError("--graph needs the name of a file to write; add -o graph.svg")
    output = check_output(args.output)
    with SpecifiedBundle(args.file) as bundle:
        program = program_of(bundle.manifest, args.program)
        kernels = {entry.name: entry for entry in bundle.manifest.kernels}
        drawn = picture(program, kernels)
    with writing(output) as file:
        file.write(drawn.encode())
    if args.json:
        found = {"graph": args.output, "program": program.qualified_name}
        print_json(found | {"steps": len(program.steps)})
    else:
        print(f"wrote {args.output}: {program.qualified_name}, {len(program.steps)} steps")
    return 0


def _check_files(bundle: BundleFile) -> None:
    """Check the digests of all files. Raises IntegrityError for the first damaged one.

    It runs after the manifest is printed, which is complete even if a file is damaged.
    """
    for entry in bundle.manifest.kernels:
        for file in entry.files:
            bundle.read(file)
    for program in bundle.manifest.programs:
        for weight in program.weights:
            bundle.weight(weight, check=True)


def _print(bundle: BundleFile) -> None:
    for entry in bundle.manifest.kernels:
        print(entry.name)
        if formula := _formula(entry):
            print(f"  computes {formula}")
        for p in entry.parameters:
            shape = "x".join(map(str, p.shape))
            print(f"  {p.role:<7} {p.name:<9} {p.dtype:<5} {shape}  strides {list(p.strides)}")
            if p.packing is not None:
                matrix = "x".join(map(str, p.packing.shape))
                order = f"panels of {p.packing.width} columns, {p.packing.depth} k interleaved"
                print(f"  packed  {p.name:<9} of {matrix} in {order}")
        for constant in entry.constants:
            print(f"  stored  {constant.parameter:<9} {constant.nbytes} bytes  {constant.file}")
        print(f"  schedule {_fields(entry.schedule)}")
        used = {k: v for k, v in vars(entry.resources).items() if isinstance(v, int)}
        print(f"  uses     {_fields(used)}")
        for finding in entry.resources.findings or ():
            print(f"  finding  {finding}")
        for m in entry.tensor_maps:
            box = "x".join(map(str, m.box))
            print(f"  map      {m.name:<9} of {m.tensor} in boxes of {box}  swizzle {m.swizzle} B")
        for launch in entry.launches:
            print(f"  launch   {launch.entry_point} {_extents(launch)}")
    for program in bundle.manifest.programs:
        _print_program(program)
    print()
    print_table(
        ("file", "format", "role", "bytes", "requires"),
        [
            (a.file, a.format, a.role, a.nbytes, _fields(a.requires))
            for entry in bundle.manifest.kernels
            for a in entry.artifacts
        ],
    )
    print()
    for name, version in bundle.manifest.provenance.items():
        print(f"{name}  {version}")


def _formula(entry: KernelEntry) -> str:
    """Return the formula that a kernel computes, or "" for a spec of another version of kgen."""
    from kgen.spec import from_json

    try:
        return from_json(entry.spec).formula
    except SpecError:
        return ""


def _print_program(program: Program) -> None:
    print(f"\n{program.qualified_name}")
    for value in (*program.inputs, *program.visible_outputs):
        shape = "x".join(map(str, value.shape)) or "()"
        print(f"  {value.place.kind:<7} {value.name:<9} {value.dtype:<5} {shape}")
    for state in program.states:
        print(f"  state   {state.name:<9} {state.nbytes} bytes, {state.output} to {state.input}")
    weights = sum({weight.file: weight.nbytes for weight in program.weights}.values())
    print(f"  arena   {program.arena_bytes} bytes  weights {weights} bytes")
    places = {value.name: str(value.place) for value in program.values}
    rows = []
    for number, step in enumerate(program.steps):
        bindings = ", ".join(f"{p}={n} ({places[n]})" for p, n in step.bindings.items())
        after = " ".join(map(str, step.after)) or "-"
        rows.append((number, step.kernel, after, " ".join(step.nodes) or "-", bindings))
    print_table(("step", "kernel", "after", "nodes", "bindings"), rows)


def _extents(launch: Launch) -> str:
    """Return the sizes of a launch as text, with cluster and dynamic shared memory if used."""
    sizes = {"grid": launch.grid, "block": launch.block}
    if math.prod(launch.cluster) > 1:
        sizes["cluster"] = launch.cluster
    words = [f"{name} {'x'.join(map(str, size))}" for name, size in sizes.items()]
    if launch.dynamic_shared_memory:
        words.append(f"dynamic shared memory {launch.dynamic_shared_memory} B")
    return " ".join(words)


def _fields(fields: Mapping[str, Any]) -> str:
    """Return name=value pairs: switches as 0 and 1, versions with dots, lists with commas."""

    def shown(value: Any) -> str:
        if isinstance(value, list):
            numbers = all(isinstance(v, int) for v in value)
            return ("." if numbers else ",").join(map(str, value))
        return str(int(value) if isinstance(value, bool) else value)

    return " ".join(f"{k}={shown(v)}" for k, v in fields.items() if v != {}) or "-"
