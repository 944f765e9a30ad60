"""`kgen build --explain`: which schedules were compared, by what, and which one was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgen.cli.output import print_table

if TYPE_CHECKING:
    from kgen.targets.base import BuiltKernel

#: Candidates that a reader gets to see; --json has all.
SHOWN = 8


def explanation(kernel: BuiltKernel) -> dict[str, Any]:
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


def print_explanation(kernel: BuiltKernel) -> None:
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
        return "set by --schedule"
    if chosen["origin"] == "tuned":
        return "the fastest that --tune measured"
    if not candidates:
        return "chosen by a rule, without a cost model"
    first, least = candidates[0], min(each["seconds"] for each in candidates)
    if first["schedule"] != chosen or first["seconds"] == least:
        return "the fastest by the cost model"
    return "by the cost model, within its error of the fastest"


def _print_candidates(chosen: dict[str, Any], candidates: list[dict[str, Any]]) -> None:
    """Times in microseconds, terms in the model's clocks. Of the schedules, what they differ in."""
    first, taken = candidates[0], _fields(chosen)
    shown = candidates[:SHOWN]
    shown += [each for each in candidates[SHOWN:] if _fields(each["schedule"]) == taken]
    differing = _differing([each["schedule"] for each in shown])
    header = ["", "schedule", "predicted us", *first["terms"], *first["notes"]]
    rows = [
        [
            "->" if _fields(each["schedule"]) == taken else "",
            _fields({k: v for k, v in each["schedule"].items() if k in differing}),
            each["seconds"] * 1e6,
            *each["terms"].values(),
            *each["notes"].values(),
        ]
        for each in shown
    ]
    print_table(header, rows)
    if len(candidates) > len(shown):
        print(
            f"and {len(candidates) - len(shown)} more that the cost model predicts to be slower; "
            "--json lists them"
        )


def _differing(schedules: list[dict[str, Any]]) -> set[str]:
    """Names of the fields that not all schedules have alike."""
    names = {name for schedule in schedules for name in schedule}
    return {name for name in names if len({schedule.get(name) for schedule in schedules}) > 1}


def _fields(schedule: dict[str, Any]) -> str:
    """mainloop=mma,block_m=128,...: what --schedule takes."""
    given = {k: int(v) if isinstance(v, bool) else v for k, v in schedule.items() if k != "origin"}
    return ",".join(f"{k}={v}" for k, v in given.items())
