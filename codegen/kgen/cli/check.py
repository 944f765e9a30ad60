"""`kgen check`: will a bundle run there?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from kgen.cli.output import print_json, print_table
from kgen_runtime.manifest import ArtifactEntry, KernelEntry


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.kgen")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--arch", metavar="A", help="any device of a target: sm_86, gfx942, ...")
    where.add_argument("--device", metavar="D", help="a device here: cuda:1, vulkan, cpu, ...")


def run(args: argparse.Namespace) -> int:
    """Every kernel of the bundle must have code that runs there, for some target.

    The code that would run is read, so that a damaged file is an IntegrityError here and not there.
    """
    from kgen_runtime.bundle import BundleFile

    with BundleFile(args.file) as bundle:
        place, formats, refusal = _device(args.device) if args.arch is None else _arch(args.arch)
        best: dict[str, Answer] = {}
        for entry in bundle.manifest.kernels:
            answer = _answer(entry, place, formats, refusal)
            if answer.code is not None:
                bundle.read(answer.code)
            if entry.key not in best or answer.rank > best[entry.key].rank:
                best[entry.key] = answer
    runs = all(answer.rank for answer in best.values())
    if args.json:
        print_json({"place": place, "runs": runs, "kernels": [a.to_json() for a in best.values()]})
    else:
        rows = [(a.kernel, a.target, a.text) for a in best.values()]
        print_table(("kernel", "best target", f"on {place}"), rows)
    return 0 if runs else 1


Refusal = Callable[[ArtifactEntry], str | None]

RUNS, RUNS_COMPILED = 2, 1


@dataclass(frozen=True, kw_only=True)
class Answer:
    """For one kernel: `rank` 0 is no, and `text` says why and what to do.

    `code` is what would run there.
    """

    kernel: str
    target: str
    rank: int
    text: str
    code: ArtifactEntry | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "kernel": self.kernel,
            "target": self.target,
            "runs": self.rank > 0,
            "answer": self.text,
        }


def _device(name: str | None) -> tuple[str, tuple[str, ...], Refusal]:
    """A device here; by default the best one that is not software."""
    from kgen.errors import DeviceError
    from kgen_runtime.select import devices, open_device

    if name is None:
        usable = [d.id for d in devices() if d.kind != "software"]
        if not usable:
            raise DeviceError("no device here; name a target with --arch")
        name = usable[0]
    backend = open_device(name)
    try:
        place = f"{backend.info.id} ({backend.info.name})"
        return place, backend.formats, backend.refuses
    finally:
        backend.close()


def _arch(name: str) -> tuple[str, tuple[str, ...], Refusal]:
    """Any device of a target, which need not be here."""
    from kgen import targets
    from kgen_runtime.select import backend_class

    target = targets.find(name)
    family = targets.family(target.family)
    backend = backend_class(family.backend)
    able = family.capabilities(target)
    return name, backend.formats, lambda artifact: backend.refusal(artifact, able)


def _answer(entry: KernelEntry, place: str, formats: tuple[str, ...], refusal: Refusal) -> Answer:
    reason = f"no code for {place}; build for it too, see kgen targets"
    for artifact in sorted(
        (a for a in entry.artifacts if a.format in formats and a.role != "source"),
        key=lambda a: formats.index(a.format),
    ):
        refused = refusal(artifact)
        if refused is None:
            rank = RUNS_COMPILED if artifact.role == "portable" else RUNS
            text = "ok after driver JIT" if rank == RUNS_COMPILED else "ok"
            return Answer(
                kernel=entry.key, target=entry.target.name, rank=rank, text=text, code=artifact
            )
        reason = refused
    return Answer(kernel=entry.key, target=entry.target.name, rank=0, text=f"no: {reason}")
