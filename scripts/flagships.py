"""Build and verify every flagship shape in every type on the NVIDIA targets; write the table.

    python -m scripts.flagships [--on WORD ...] [--write]

Each kernel goes the way of `kgen build` and `kgen verify --on emulator`, with every check on. A
result is remembered by the kernel's instructions, in build/flagships.jsonl: a run that was stopped
goes on where it was, and only kernels that have changed are verified again. `--on` takes those
whose target and spec, in one line, hold all the words. With --write the tables in
docs/flagships.md are rewritten. Exit status 1: a kernel is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kgen
from kgen import pipeline, targets
from kgen.check.static import roofline
from kgen.check.verify.run import verify
from kgen.schedule import GpuMatmul
from kgen.spec import DType, Math, Matmul, text
from kgen.targets.base import Plan, Target
from kgen.targets.cuda import devices
from kgen.targets.cuda.schedule.cost_model import predict
from scripts import documents

RESULTS = documents.ROOT / "build" / "flagships.jsonl"
PAGE = documents.ROOT / "docs" / "flagships.md"

SHAPES = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (1024, 1024, 1024),
    (512, 512, 512),
    (256, 256, 256),
    (1, 4096, 4096),
    (16, 4096, 4096),
    (64, 11008, 4096),
    (2048, 4096, 11008),
    (128, 384, 384),
    (128, 1536, 384),
    (1000, 1000, 1000),
    (127, 131, 113),
    (8192, 8192, 64),
    (64, 64, 8192),
)
#: Targets that get every shape, and those that get a few.
MAIN, OTHERS = ("sm_80", "sm_90a"), ("sm_75", "sm_89", "sm_120")
FEW = ((1024, 1024, 1024), (128, 1536, 384), (1, 4096, 4096), (127, 131, 113))


@dataclass(frozen=True, kw_only=True)
class Case:
    spec: Matmul
    target: Target

    @property
    def name(self) -> str:
        return f"{self.target.name} {text.form(self.spec)}"


def cases(words: Sequence[str] = ()) -> list[Case]:
    """All cases whose name holds all the words, those with the least arithmetic first."""
    found = [
        case
        for names, shapes in ((MAIN, SHAPES), (OTHERS, FEW))
        for name, shape in itertools.product(names, shapes)
        for case in _every_type(targets.find(name), shape)
        if set(words) <= set(case.name.split())
    ]
    return sorted(found, key=lambda case: case.spec.flops)


def _every_type(target: Target, shape: tuple[int, int, int]) -> Iterator[Case]:
    family = targets.family(target.family)
    m, n, k = shape
    for dtype in family.dtypes(Matmul.op, target):
        for way in family.maths(target) if dtype is DType.F32 else (Math.EXACT,):
            yield Case(spec=Matmul(m=m, n=n, k=k, dtype=dtype, math=way), target=target)


def digest_of(plan: Plan) -> str:
    """Of the kernel's instructions: comments are for readers, and change without them."""
    lines = (line.partition("//")[0].strip() for line in pipeline.source(plan).text.splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()


def is_current(case: Case, known: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the kernel's text, as it is now, was verified."""
    found = known.get(case.name)
    if found is None or found["status"] != "passed":
        return False
    return bool(found["source"] == digest_of(pipeline.plan(case.spec, case.target)))


def checked(case: Case, known: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The case's result, from before if the kernel's text is the same."""
    if is_current(case, known):
        return known[case.name]
    plan = pipeline.plan(case.spec, case.target)
    (result,) = verify(kgen.build(case.spec, [case.target]), on="emulator").kernels
    assert isinstance(plan.schedule, GpuMatmul)
    floor = roofline.roofline(case.spec, devices.rates(case.target)).floor
    return {
        "name": case.name,
        "source": digest_of(plan),
        "schedule": plan.schedule.to_json(),
        "fraction": floor / predict(case.spec, case.target, plan.schedule).seconds,
        **result.to_json(),
    }


def remembered(path: Path) -> dict[str, dict[str, Any]]:
    """Results by the names of their cases; the last one of each counts."""
    if not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {record["name"]: record for record in records}


def schedule_words(fields: Mapping[str, Any]) -> str:
    """A schedule in a few words: `mma 128x256x64, warps of 64x64, 3 stages`."""
    words = [f"{fields['mainloop']} " + "x".join(str(fields[f"block_{axis}"]) for axis in "mnk")]
    if "warp_m" in fields:
        words.append(f"warps of {fields['warp_m']}x{fields['warp_n']}")
    if "thread_m" in fields:
        words.append(f"threads of {fields['thread_m']}x{fields['thread_n']}")
    if fields["num_stages"] > 1:
        words.append(f"{fields['num_stages']} stages")
    if fields.get("swap"):
        words.append("operands swapped")
    if fields.get("pingpong"):
        words.append("ping-pong")
    for name, least, what in (
        ("cluster_m", 1, "clusters of {}"),
        ("cluster_n", 1, "clusters of {} side by side"),
        ("num_ctas", 0, "{} persistent CTAs"),
        ("split_k", 1, "k in {} parts"),
    ):
        if fields.get(name, least) > least:
            words.append(what.format(fields[name]))
    if fields.get("one_kernel"):
        words.append("added by the last CTA")
    return ", ".join(words)


def row(record: Mapping[str, Any]) -> str:
    """A line of a target's table."""
    _, _, shape, *rest = record["name"].split()
    ran = record["coverage"]
    part = "all" if ran["workgroups"] == ran["of"] else f"{ran['workgroups']} of {ran['of']}"
    error, bound = record["max_error"], record["tolerance"]
    worst = "exact" if not error else f"{error:.2g} of {bound:.2g}"
    kind = " ".join(rest).replace("math=", "")
    mark = "" if record.get("current", True) else " *"
    return (
        f"| {shape}{mark} | {kind} | {schedule_words(record['schedule'])} | {part} | {worst} "
        f"| {100 * record['fraction']:.0f} % |"
    )


def tables(records: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table for each target."""
    parts = []
    for name in (*MAIN, *OTHERS):
        rows = [row(record) for record in records if record["target"] == name]
        parts += [
            f"### {name}\n",
            "| shape | type | schedule | CTAs run | worst error | of the roofline |",
            "| --- | --- | --- | --- | --- | --: |",
            *rows,
            "",
        ]
    return "\n".join(parts)


def order_in_page(record: Mapping[str, Any]) -> tuple[int, ...]:
    """By shape, in the order above."""
    shape = tuple(map(int, record["name"].split()[2].split("x")))
    return (math.prod(shape), *shape)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", nargs="*", default=[], metavar="WORD")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    known, records = remembered(RESULTS), []
    for case in cases(args.on):
        record = checked(case, known)
        records.append(record)
        if record is not known.get(case.name):
            with RESULTS.open("a") as out:
                out.write(json.dumps(record) + "\n")
        outcome = record["reason"] or row(record)
        print(f"{case.target.name} {record['status']} {record['seconds']} s {outcome}", flush=True)
    bad = [record["name"] for record in records if record["status"] != "passed"]
    print(f"{len(records) - len(bad)} of {len(records)} verified", *bad, sep="\n")
    if args.write and not bad:
        write(PAGE, remembered(RESULTS))
    return int(bool(bad))


def write(page: Path, known: Mapping[str, dict[str, Any]]) -> None:
    """The tables of all that was verified, with marks where the text is another now, and a list of
    what never was."""
    found = cases()
    done = [
        known[case.name] | {"current": is_current(case, known)}
        for case in found
        if case.name in known and known[case.name]["status"] == "passed"
    ]
    missing = [case.name for case in found if case.name not in known]
    lines = [f"The kernels are those of {documents.moment()}.\n"]
    lines.append(tables(sorted(done, key=order_in_page)))
    if missing:
        lines.append(f"Not verified yet: {'; '.join(missing)}.\n")
    documents.put(page, "make flagships", lines)


if __name__ == "__main__":
    sys.exit(main())
