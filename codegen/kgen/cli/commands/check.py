"""`kgen check`: whether a bundle runs on a device or target, and with which kernels."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kgen.cli.output import print_json, print_table
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.backend import Described
    from kgen_runtime.manifest import KernelEntry
    from kgen_runtime.schema.program import Program
    from kgen_runtime.select import ProgramChoice, SelectedKernel

#: Meaning of exit status 1.
FAILED = "the bundle does not run on the device or target"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.kgen", help="bundle to read")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--arch", metavar="A", help="check for a target: sm_86, gfx942, ...")
    where.add_argument(
        "--device", metavar="D",
        help="check for a device of this machine: cuda:1, vulkan, cpu, ... (default: the best)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Check that every kernel and program of the bundle has code that runs on the device.

    The code that would run is read, so that a damaged file raises IntegrityError.
    """
    from kgen.bundle_file import SpecifiedBundle
    from kgen_runtime.select import best_entries, best_programs

    with SpecifiedBundle(args.file) as bundle:
        place, device = _device(args.device) if args.arch is None else _arch(args.arch)
        entries = bundle.manifest.kernels
        choices, skipped = best_entries(device, entries, place)
        for choice in choices.values():
            for artifact in choice.code.values():
                bundle.read(artifact)
        programs = bundle.manifest.programs
        found, others_of_programs = best_programs(device, programs, entries, place)
        for program in found.values():
            for weight in program.program.weights:
                bundle.weight(weight, check=True)
    # Kernels for other kinds of device need no reason.
    near = [e for e in entries if any(a.format in device.backend.formats for a in e.artifacts)]
    answers = []
    # Programs answer for their kernels: those of one target run all or not at all.
    inside = {name for program in programs for name in program.kernels}
    alone = [entry for entry in entries if entry.key in choices or entry.name not in inside]
    for key in dict.fromkeys(entry.key for entry in alone):
        alike = [entry for entry in near if entry.key == key]
        answers.append(_answer(key, choices.get(key), alike, skipped, place))
    others = {e.name: skipped[e.name] for e in near if e.key in choices and e.name in skipped}
    skipped |= others_of_programs
    answers += [
        _program_answer([p for p in programs if p.name == name], found, near, skipped, place)
        for name in dict.fromkeys(program.name for program in programs)
    ]
    runs = all(answer.runs for answer in answers)
    if args.json:
        kernels = [vars(answer) for answer in answers]
        print_json({"place": place, "runs": runs, "kernels": kernels, "skipped": skipped})
    else:
        rows = [(a.kernel, a.target, a.answer) for a in answers]
        print_table(("kernel", "best target", f"on {place}"), rows)
        if others:
            print("\nnot chosen:")
        for name, reason in others.items():
            print(f"  {name}: {reason}")
    return 0 if runs else 1


@frozen
class Answer:
    """Answer for one kernel: its best target, or why none runs and what to do."""

    kernel: str
    target: str | None
    runs: bool
    answer: str


def _answer(
    key: str,
    choice: SelectedKernel | None,
    near: Sequence[KernelEntry],
    skipped: Mapping[str, str],
    place: str,
) -> Answer:
    if choice is not None:
        compiled = any(artifact.role == "portable" for artifact in choice.code.values())
        text = "ok, compiled by the driver when loaded" if compiled else "ok"
        return Answer(kernel=key, target=choice.entry.target.name, runs=True, answer=text)
    if not near:
        text = f"no: the bundle has no code for {place}; build for it too (see kgen targets)"
        return Answer(kernel=key, target=None, runs=False, answer=text)
    first = near[0]
    text = f"no: {skipped[first.name]}"
    return Answer(kernel=key, target=first.target.name, runs=False, answer=text)


def _program_answer(
    alike: Sequence[Program],
    found: Mapping[str, ProgramChoice],
    near: Sequence[KernelEntry],
    skipped: Mapping[str, str],
    place: str,
) -> Answer:
    """Return the answer for a program, which may exist for several targets."""
    name = alike[0].name
    if (choice := found.get(name)) is not None:
        artifacts = [a for kernel in choice.kernels.values() for a in kernel.code.values()]
        compiled = any(artifact.role == "portable" for artifact in artifacts)
        target: str | None = choice.program.target
        text = "ok, compiled by the driver when loaded" if compiled else "ok"
    else:
        names = {entry.name for entry in near}
        first = next((p for p in alike if names & {*p.kernels}), None)
        target = None if first is None else first.target
        text = f"no: the bundle has no code for {place}; compile for it too (see kgen targets)"
        if first is not None:
            text = f"no: {skipped[first.qualified_name]}"
    return Answer(kernel=f"program {name}", target=target, runs=choice is not None, answer=text)


def _device(name: str | None) -> tuple[str, Described]:
    """Return a device of this machine; by default the best one that is not software."""
    from kgen.errors import DeviceError
    from kgen_runtime.select import devices, open_device

    if name is None:
        usable = [d.id for d in devices() if d.kind != "software"]
        if not usable:
            raise DeviceError("this machine has no device; name a target with --arch")
        name = usable[0]
    backend = open_device(name)
    try:
        return f"{backend.info.id} ({backend.info.name})", backend.described
    finally:
        backend.close()


def _arch(name: str) -> tuple[str, Described]:
    """Return the capabilities of a target's devices; none need be present."""
    from kgen import targets
    from kgen_runtime.backend import Described
    from kgen_runtime.select import backend_class

    target = targets.find(name)
    family = targets.family(target.family)
    backend = backend_class(family.backend)
    return name, Described(backend=backend, capabilities=family.capabilities(target))
