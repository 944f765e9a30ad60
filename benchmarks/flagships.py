"""Build and verify every flagship shape in every type on the NVIDIA targets.

    python -m benchmarks.flagships [--on WORD ...]

Each kernel is built as `kgen build` does it and verified as `kgen verify --on emulator` does it,
with every check on. A kernel whose instructions are those of a row in the newest file is not
verified again, so that an interrupted run can be continued. `--on` selects the cases whose target
and spec, as one text, contain all the words. Exit status 1: a kernel is wrong.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import kgen
from benchmarks import suite
from benchmarks.machine import Machine
from benchmarks.results import Row, newest
from kgen import pipeline, targets
from kgen.check.static import roofline
from kgen.check.verify.run import verify
from kgen.schedule import GpuMatmul
from kgen.spec import DType, Math, Matmul, text
from kgen.targets.base import Plan, Target
from kgen.targets.cuda import devices
from kgen.targets.cuda.schedule.cost_model import predict

SUITE, MACHINE = "flagships", Machine(name="emulator")

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
#: Targets with every shape, and targets with a few shapes.
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
    """Return the cases whose name has all the words, those with the least arithmetic first."""
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
    """Return a digest of the kernel's instructions, without comments."""
    lines = (line.partition("//")[0].strip() for line in pipeline.source(plan).text.splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()


def schedule_words(fields: Mapping[str, Any]) -> str:
    """Return a schedule in a few words: `mma 128x256x64, warps of 64x64, 3 stages`."""
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
        ("num_workgroups", 0, "{} persistent CTAs"),
        ("split_k", 1, "k in {} parts"),
    ):
        if fields.get(name, least) > least:
            words.append(what.format(fields[name]))
    if fields.get("one_kernel"):
        words.append("added by the last CTA")
    return ", ".join(words)


def checked(case: Case, known: Mapping[str, Row]) -> Row:
    """Verify a case, or return its row if the kernel's instructions are the same."""
    plan = pipeline.plan(case.spec, case.target)
    digest, old = digest_of(plan), known.get(case.name)
    if old is not None and old.values.get("instructions") == digest:
        return old
    (result,) = verify(kgen.build(case.spec, [case.target]), on="emulator").kernels
    found = result.to_json()
    assert isinstance(plan.schedule, GpuMatmul)
    floor = roofline.roofline(case.spec, devices.rates(case.target)).floor
    values: dict[str, float | str] = {
        "status": found["status"],
        "schedule": schedule_words(plan.schedule.to_json()),
        "instructions": digest,
        "predicted_over_roofline": floor / predict(case.spec, case.target, plan.schedule).seconds,
    }
    if (ran := found.get("coverage")) is not None:
        values |= {"ctas": ran["workgroups"], "ctas_in_grid": ran["of"]}
    for name, field in (("max_error", "max_error"), ("tolerance", "tolerance")):
        if found.get(field) is not None:
            values[name] = found[field]
    if found.get("reason"):
        values["reason"] = found["reason"]
    return Row(table=case.target.name, work=text.form(case.spec), values=values)


def main() -> int:
    parser = suite.options(__doc__)
    parser.add_argument("--on", nargs="*", default=[], metavar="WORD")
    args = parser.parse_args()
    old = newest(SUITE, MACHINE.name)
    known = {f"{row.table} {row.work}": row for row in old.rows} if old else {}
    run = suite.Run(SUITE, args, versions={}, machine=MACHINE)
    for case in cases(args.on):
        if not run.has(case.target.name, text.form(case.spec)):
            run.add(checked(case, known))
    bad = [row for row in run.results.rows if row.values["status"] != "passed"]
    print(f"{len(run.results.rows) - len(bad)} of {len(run.results.rows)} verified: {run.path}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
