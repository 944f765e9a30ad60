"""`kgen build --explain`: the origin of a schedule, measured neighbours, and the cost model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgen.cli.output import number, print_table

if TYPE_CHECKING:
    from kgen.targets.base import BuiltKernel, Plan
    from kgen.targets.choose import Neighbour
    from kgen.targets.tuning.file import Tuning

#: Most candidates in the table; --json has all.
SHOWN = 8
TERM_UNIT = "clock cycles"
#: Meaning of the terms of all cost models.
LEGEND: Mapping[str, str] = {
    "products": "multiply-adds",
    "arithmetic": "multiply-adds, loop steps and register tiles",
    "shared": "shared-memory traffic",
    "lds": "LDS traffic",
    "l1": "L1 traffic",
    "issue": "instructions",
    "latency": "waiting for loads",
    "l2": "L2 traffic",
    "fabric": "traffic between dies",
    "dram": "memory traffic",
    "output": "storing the output",
    "out": "storing the output",
    "reduction": "adding the slices of split-k",
    "parts": "adding the split-k slices",
    "a": "reading A again",
    "b": "reading B again",
    "memory": "reading B or the image first",
    "packing": "packing A and B",
    "sums": "moving partial sums",
    "rows": "reading rows of the image again",
    "tasks": "starting tasks",
}


def explanation(kernel: BuiltKernel, tuning: Tuning | None = None) -> dict[str, Any]:
    """Return the explanation of a schedule as JSON values.

    It has the schedule's origin, the nearest measured rows, times, candidates with their terms,
    best first, and remarks. `tuning` is the user's file.
    """
    from kgen import targets
    from kgen.targets.choose import measured_in, nearest, tunings_of

    plan = kernel.plan
    spec, target = plan.operation, plan.target
    family = targets.family(target.family)
    ranked = family.candidates(spec, target)
    tunings = tunings_of(target, tuning)
    choice = measured_in(spec, target, tunings)
    near = nearest(spec, target, tunings) if choice is None else choice.neighbours
    taken = None
    if choice is not None and plan.schedule.origin is choice.schedule.origin:
        taken = choice.taken
    return {
        "chosen": plan.schedule.to_json(),
        "how": _how(plan.schedule.origin, taken, bool(ranked)),
        "neighbours": [_neighbour(each, is_taken=each is taken) for each in near],
        "times": _times(plan, taken),
        "candidates": [
            {
                "schedule": candidate.schedule.to_json(),
                "seconds": candidate.seconds,
                "terms": dict(candidate.terms),
                "notes": dict(candidate.notes),
            }
            for candidate in ranked
        ],
        "unit": TERM_UNIT,
        "remarks": list(family.remarks(plan)),
    }


def _how(origin: str, taken: Neighbour | None, is_ranked: bool) -> str:
    """Return the origin of a schedule: user, measured, neighbour, model or rule."""
    if origin == "user":
        return "user"
    if origin == "tuned":
        return "neighbour" if taken is not None and taken.distance else "measured"
    return "model" if is_ranked else "rule"


def _neighbour(each: Neighbour, *, is_taken: bool) -> dict[str, Any]:
    source = each.source
    return {
        "taken": is_taken,
        "sizes": list(each.row.sizes),
        "distance": each.distance,
        "gain": each.row.gain,
        "seconds": each.row.seconds,
        "source": {"file": each.tuning.name, **vars(source)},
        "schedule": dict(each.row.fields),
    }


def _times(plan: Plan, taken: Neighbour | None) -> list[dict[str, Any]]:
    """Return floor, predicted and measured time in seconds, if known, with their assumptions."""
    from kgen import targets
    from kgen.check.static.roofline import roofline_of

    found = []
    if (line := roofline_of(plan.operation, plan.target)) is not None:
        text = f"{line.device}: peak arithmetic, every tensor read from memory once"
        found.append({"time": "floor", "seconds": line.floor, "assumes": text})
    family = targets.family(plan.target.family)
    if (model := family.predicted(plan.operation, plan.target, plan.schedule)) is not None:
        text = f"cost model of {family.core(plan.target)}"
        found.append({"time": "predicted", "seconds": model.seconds, "assumes": text})
    if taken is not None and not taken.distance and taken.row.seconds is not None:
        text = f"{taken.source.machine}: {taken.source.timed_under}"
        found.append({"time": "measured", "seconds": taken.row.seconds, "assumes": text})
    return found


def print_explanation(kernel: BuiltKernel, tuning: Tuning | None = None) -> None:
    found = explanation(kernel, tuning)
    chosen, candidates = found["chosen"], found["candidates"]
    print(f"{kernel.name}: {_fields(chosen)} ({_reason(found)})")
    for remark in found["remarks"]:
        print(f"  {remark}")
    if found["times"]:
        print_table(
            ("time", "us", "assumes"),
            [(each["time"], each["seconds"] * 1e6, each["assumes"]) for each in found["times"]],
        )
    if found["neighbours"]:
        _print_neighbours(found["neighbours"])
    if candidates:
        _print_candidates(chosen, candidates)
        _print_legend(candidates)
    print()


def _reason(found: dict[str, Any]) -> str:
    how, candidates = found["how"], found["candidates"]
    if how == "user":
        return "set by --schedule"
    taken = next((each for each in found["neighbours"] if each["taken"]), None)
    if taken is not None:
        source = taken["source"]
        where = f"{source['machine']}, {source['day']}, commit {source['commit']}"
        if source["kind"] != "measured":
            where = f"{source['kind']}, commit {source['commit']}"
        if how == "measured":
            return f"measured: the row of the same sizes; {where}"
        return f"neighbour: the nearest measured row, adapted; {where}"
    if how == "measured":
        return "measured by kgen tune"
    if how == "rule":
        return "chosen by a rule, without a cost model"
    first, least = candidates[0], min(each["seconds"] for each in candidates)
    if first["schedule"] != found["chosen"] or first["seconds"] == least:
        return "model: the fastest by the cost model"
    return "model: by the cost model, within its error of the fastest"


def _print_neighbours(neighbours: list[dict[str, Any]]) -> None:
    """Print the nearest rows; a distance is the norm of log2 of the ratios of sizes."""
    rows = [
        (
            "->" if each["taken"] else "",
            "x".join(map(str, each["sizes"])),
            each["distance"],
            "-" if each["gain"] is None else f"{number(each['gain'])}x",
            each["source"]["file"],
            each["source"]["kind"],
            _fields(each["schedule"]),
        )
        for each in neighbours
    ]
    print_table(("", "row", "distance", "over the model", "file", "kind", "schedule"), rows)


def _print_legend(candidates: list[dict[str, Any]]) -> None:
    """Print the unit of the terms, and what each one counts."""
    terms = [f"{name} = {LEGEND[name]}" for name in candidates[0]["terms"] if name in LEGEND]
    print(f"terms in {TERM_UNIT}{': ' * bool(terms)}{'; '.join(terms)}")


def _print_candidates(chosen: dict[str, Any], candidates: list[dict[str, Any]]) -> None:
    """Print candidates: times in microseconds, terms in clock cycles, and differing fields."""
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
    names = {name for schedule in schedules for name in schedule}
    return {name for name in names if len({schedule.get(name) for schedule in schedules}) > 1}


def _fields(schedule: dict[str, Any]) -> str:
    """Return a schedule as --schedule accepts it: mainloop=mma,block_m=128,..."""
    given = {k: int(v) if isinstance(v, bool) else v for k, v in schedule.items() if k != "origin"}
    return ",".join(f"{k}={v}" for k, v in given.items())
