"""`kgen build --explain`: which schedules were compared, by what, and which one was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgen.cli.output import print_table

if TYPE_CHECKING:
    from kgen.pipeline import Kernel

#: Candidates that a reader gets to see; --json has all.
SHOWN = 8


def explanation(kernel: Kernel) -> dict[str, Any]:
    """Candidates, best first, the schedule that was taken, and remarks on the kernel."""
    from kgen import targets

    plan = kernel.plan
    family = targets.family(plan.target.family)
    ranked = family.candidates(plan.spec, plan.target)
    return {
        "chosen": plan.schedule.to_json(),
        "candidates": [
            {
                "schedule": candidate.schedule.to_json(),
                "seconds": candidate.seconds,
                "terms": dict(candidate.terms),
                "notes": dict(candidate.notes),
            }
            for candidate in ranked
        ],
        "remarks": list(family.remarks(plan)),
    }


def print_explanation(kernel: Kernel) -> None:
    found = explanation(kernel)
    chosen, candidates = found["chosen"], found["candidates"]
    print(f"{kernel.name}: {_fields(chosen)} ({_reason(chosen, candidates)})")
    for remark in found["remarks"]:
        print(f"  {remark}")
    if candidates:
        _print_candidates(chosen, candidates)
    print()


def _reason(chosen: dict[str, Any], candidates: list[dict[str, Any]]) -> str:
    if chosen["origin"] == "user":
        return "--schedule set it"
    return "the fastest by the model" if candidates else "by a rule, without a model"


def _print_candidates(chosen: dict[str, Any], candidates: list[dict[str, Any]]) -> None:
    """Times in microseconds, terms in the model's clocks."""
    first = candidates[0]
    header = ["", "schedule", "predicted us", *first["terms"], *first["notes"]]
    rows = [
        [
            "->" if _fields(each["schedule"]) == _fields(chosen) else "",
            _fields(each["schedule"]),
            each["seconds"] * 1e6,
            *each["terms"].values(),
            *each["notes"].values(),
        ]
        for each in candidates
    ]
    print_table(header, rows[:SHOWN])
    if len(rows) > SHOWN:
        print(f"and {len(rows) - SHOWN} more, slower by the model; --json lists them")


def _fields(schedule: dict[str, Any]) -> str:
    """block_m=128,...: what --schedule takes."""
    return ",".join(f"{k}={v}" for k, v in schedule.items() if k not in ("mainloop", "origin"))
