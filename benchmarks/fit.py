"""Fit the coefficients of the CPU cost model: cycles per event, on the core of this machine.

    python -m benchmarks.fit [--minutes 60] [--seed 0] [--target native] [--timings FILE] [--write]

Random GEMMs are timed with the schedules of their nearest neighbours in the tuning file, some of
the model's best candidates and some random ones, in turn, in one thread, with warm and with cold
caches. A third of them have the types and layouts of the support table, a third are f32 with the
sizes of benchmarks.regret, and a third are products of the attention heads that
benchmarks.fused_attention draws. `--target` names the instructions; core and caches are those of
this machine.
`--timings` adds the times to a file and fits all times in it: after a change of the model's events,
`--minutes 0` fits them again. `--events '*_rows'` fits these events only, and keeps the stored
cycles of the others.

Gradient descent finds the cycles of each event, which do not fall from a cache level to the next.
It minimises the regret of the model (the time of its first candidate over that of the fastest one
measured), smoothed over candidates whose predictions are close, and the relative errors.
`error` is how much slower than the model's first candidate a neighbour's schedule may be predicted
to be, at distance 1, so that choosing the neighbour has the least regret.
`--write` stores all in `codegen/kgen/targets/cpu/schedule/coefficients.toml`.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import math
import re
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.fused_attention import Written, drawn
from benchmarks.machine import ROOT, commit, this_machine, today
from benchmarks.regret import random_gemm
from benchmarks.results import geometric_mean
from kgen import pipeline
from kgen.errors import KgenError
from kgen.schedule import AmxMatmul, BlockedMatmul, Schedule
from kgen.spec import ConstantOperand, DType, Layout, Matmul, text
from kgen.targets import find
from kgen.targets.base import Target
from kgen.targets.choose import adapted, nearest, schedule_fields, schedule_of, tunings_of
from kgen.targets.contraction.candidate_table import Space
from kgen.targets.cpu.cores import coefficients, core_of, fitted
from kgen.targets.cpu.schedule import cost_model
from kgen.targets.cpu.schedule.space import spaces
from kgen.tune.pairing import DeviceRace, TimingCondition
from kgen.tune.search import without_origin

FILE = ROOT / "codegen/kgen/targets/cpu/schedule/coefficients.toml"
ROWS = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 20, 24, 32, 48, 64, 100, 128, 200, 256, 384, 512, 1000)
#: Operands of the kernels: type, type of B, layout, and whether B is prepacked.
OPERANDS: tuple[tuple[DType, str | None, Layout, bool], ...] = (
    (DType.F32, None, Layout.NN, False),
    (DType.F32, None, Layout.NN, True),
    (DType.F32, None, Layout.NT, False),
    (DType.BF16, None, Layout.NN, False),
    (DType.BF16, None, Layout.NN, True),
    (DType.S8, None, Layout.NN, False),
    (DType.S8, None, Layout.NN, True),
    (DType.F32, "bf16", Layout.NN, True),
)
#: Most multiply-adds, and candidates per main loop: best ones and random ones.
LARGEST, BEST, RANDOM = 1.2e9, 3, 5
#: Steps of the gradient descent, and its rates at the beginning and at the end.
STEPS, RATES = 1500, (0.05, 0.005)
#: Difference of log(predicted time) within which the regret is smoothed, and weights of relative
#: errors and of an error that all candidates of a GEMM have in common: their ranks matter most.
SMOOTHED, ERRORS, COMMON = 0.05, 1.0, 0.2
#: Cycles of a line from the last-level cache and from memory that are tried.
LINES = ((2.0, 5.8), (2.0, 8.0), (3.2, 5.8), (3.2, 8.0), (4.5, 8.0))
#: Values of `error` that are tried.
TOLERANCES = (0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24)
#: Rounds of timing under each condition, on fresh buffers; a candidate's least time counts.
RACES = 2
CONDITIONS = (TimingCondition(), TimingCondition(is_cold=True))
#: Level from which B is first read: the second-level cache, the last-level cache, or memory.
PLACES = ("l2", "far", "memory")
EVENTS = tuple(name for term in fitted()["events"].values() for name in term)
#: Column of the calls of a kernel, whose cycles are fitted but not stored: programs call without
#: Python. Further columns are arithmetic, whose name is empty, and the events.
CALL = "call"
COLUMNS = ("", *EVENTS, CALL)


def _beyond() -> Any:
    """Return the matrix that turns the cycles that each cache level adds to an event into the
    event's cycles, arithmetic first. No addition is negative, so no farther level is cheaper."""
    names, levels = COLUMNS, PLACES
    found = np.eye(len(names))
    for row, name in enumerate(names):
        stem, _, level = name.rpartition("_")
        nearer = levels[: levels.index(level)] if level in levels else ()
        for column in (names.index(each) for n in nearer if (each := f"{stem}_{n}") in names):
            found[row, column] = 1
    return found


BEYOND = _beyond()


@dataclass(frozen=True, kw_only=True)
class Timed:
    """A measured candidate: its counts, and the cycles of a call at the core's nominal clock, with
    warm and with cold caches, both for one element of the batch; the part of a call that is for one
    element; for a neighbour's schedule its distance and log(gain)."""

    kind: str
    counts: tuple[cost_model.EventCounts, ...]
    cycles: tuple[float, ...]
    calls: float = 1.0
    neighbour: tuple[float, float] | None = None


def specs(random: Random) -> Iterator[Matmul]:
    """Yield random GEMMs without end: one of each kind in turn."""
    attentions = drawn(random)
    while True:
        yield _gemm(random)
        yield random_gemm(random, DType.F32)
        yield _of_heads(random, next(attentions))


def _gemm(random: Random) -> Matmul:
    """Return a random GEMM: half are f32, half have multiples of a power of two as sizes, as models
    have, and a third have a B that exceeds the caches."""
    while True:
        dtype, b_dtype, layout, packed = random.choice(
            OPERANDS[: random.choice((1, len(OPERANDS)))]
        )
        m = random.choice((*ROWS, int(2 ** random.uniform(0, 11))))
        least, most = (10.5, 2 * LARGEST) if random.random() < 1 / 3 else (5, LARGEST)
        n, k = (int(2 ** random.uniform(least, 13)) for _ in "nk")
        if random.random() < 0.5:
            unit = 2 ** random.randint(6, 12)
            n, k = (max(side // unit, 1) * unit for side in (n, k))
        if m * n * k <= most:
            constant = (ConstantOperand.B,) if packed else ()
            return Matmul(
                m=m, n=n, k=k, dtype=dtype, layout=layout, constant=constant,
                b_dtype=b_dtype,  # type: ignore[arg-type]
            )  # fmt: skip


def _of_heads(random: Random, attention: Written) -> Matmul:
    """Return a product of written-out attention, batched over heads: the scores, or their product
    with the values. Positions come before heads in all operands but the scores."""
    heads, size = attention.batch * attention.heads, attention.size
    scores = Matmul(
        m=attention.queries, n=attention.keys, k=size, batch=heads, dtype=DType.F32,
        layout=Layout.NT, lda=heads * size, batch_stride_a=size,
        ldb=heads * size, batch_stride_b=size,
    )  # fmt: skip
    values = Matmul(
        m=attention.queries, n=size, k=attention.keys, batch=heads, dtype=DType.F32,
        ldb=heads * size, batch_stride_b=size, ldc=heads * size, batch_stride_c=size,
    )  # fmt: skip
    return random.choice((scores, values))


def target_here(name: str) -> Target:
    """Return a target with the core and the caches of this machine."""
    target, here = find(name), find("native")
    caches = {size: here.limits[size] for size in ("l1_bytes", "l2_bytes", "l3_bytes")}
    return dataclasses.replace(target, device=here.device, limits={**target.limits, **caches})


def measured(spec: Matmul, target: Target, random: Random) -> dict[str, Any]:
    """Time neighbours' schedules and some candidates of each main loop in turn. Return the kernel's
    text and a row of each schedule: fields, seconds, and distance and gain of a neighbour."""
    chosen: dict[Schedule, tuple[float, float | None] | None] = {}
    for near in nearest(spec, target, tunings_of(target)):
        if near.distance and (schedule := adapted(spec, target, near)) is not None:
            chosen.setdefault(without_origin(schedule), (near.distance, near.row.gain))
    for space in spaces(spec, target):
        order = np.argsort(cost_model.predict(spec, target, space).seconds)
        rows = {*order[:BEST], *random.choices(order[: len(order) // 4 + 1].tolist(), k=RANDOM)}
        for row in sorted(map(int, rows)):
            chosen.setdefault(without_origin(space.schedule(row)), None)
    plans, race = [pipeline.plan(spec, target, each) for each in chosen], DeviceRace()
    races = [[race(plans, condition) for _ in range(RACES)] for condition in CONDITIONS]
    seconds = zip(*(map(min, zip(*each, strict=True)) for each in races), strict=True)
    timed = zip(map(schedule_fields, chosen), seconds, chosen.values(), strict=True)
    return {"work": text.form(spec), "rows": [list(row) for row in timed]}


def counted(found: Mapping[str, Any], target: Target) -> list[Timed]:
    """Return the candidates of a measured kernel with the counts of the model."""
    spec, clock, timed = text.parse(found["work"]), core_of(target).clock, []
    assert isinstance(spec, Matmul)
    for fields, seconds, near in found["rows"]:
        schedule = schedule_of(spec, target, fields)
        if not isinstance(schedule, BlockedMatmul) or not all(map(math.isfinite, seconds)):
            continue
        space = Space.of(schedule)
        counts = tuple(
            cost_model.counts_of(spec, target, space, is_cold=condition.is_cold)
            for condition in CONDITIONS
        )
        timed.append(
            Timed(
                kind="amx" if space.kind is AmxMatmul else str(target.limits["vector_bytes"]),
                counts=counts,
                cycles=tuple(clock * each / spec.batch for each in seconds),
                calls=1 / spec.batch,
                neighbour=near and (near[0], math.log(near[1] or 1.0)),
            )
        )
    return timed


class Fit:
    """Cycles of each event that rank the candidates of one kind best, for given cycles of a line
    from the last-level cache and from memory."""

    def __init__(
        self,
        groups: Sequence[Sequence[Timed]],
        kind: str,
        lines: tuple[float, float],
        stored: Any = None,
        free: Collection[str] = COLUMNS[1:],
    ) -> None:
        self.lines = lines
        found = [[timed for timed in group if timed.kind == kind] for group in groups]
        self.timed = [timed for group in found for timed in group]
        #: Rows of the candidates of each GEMM, and the number of each row's GEMM.
        self.gemms = np.repeat(np.arange(len(found)), [len(group) for group in found])
        _, self.gemms = np.unique(self.gemms, return_inverse=True)
        self.events = [
            np.array([[*_row(timed.counts[c], lines), timed.calls] for timed in self.timed])
            for c in range(len(CONDITIONS))
        ]
        self.cycles = np.log([timed.cycles for timed in self.timed]).T
        times = self.cycles.mean(0)
        #: log(time / least time) of each candidate.
        self.slower = times - self._of_gemms(np.minimum, times, np.inf)
        #: Whether an event is fitted; the others have their stored cycles.
        self.free = np.array([name in free for name in COLUMNS])
        self.solution = self._solve(stored)

    @classmethod
    def of_table(
        cls,
        groups: Sequence[Sequence[Timed]],
        kind: str,
        table: Mapping[str, float],
        free: Collection[str] = (),
    ) -> Fit:
        """Fit the `free` events, with the cycles of a table for the others."""
        stored = np.array([1.0, *(table.get(name, 0.0) for name in COLUMNS[1:])])
        return cls(groups, kind, (table["l3_line"], table["memory_line"]), stored, free)

    def _of_gemms(self, combine: Any, values: Any, start: float) -> Any:
        """Combine the values of all candidates of each GEMM; return one value per candidate."""
        found = np.full(self.gemms.max() + 1, start)
        combine.at(found, self.gemms, values)
        return found[self.gemms]

    def _solve(self, stored: Any) -> Any:
        """Return the cycles of each column; those of arithmetic are 1."""
        if not self.free.any():
            return stored
        events = [each @ BEYOND for each in self.events]
        scale = np.mean(
            [e / np.exp(c)[:, None] for e, c in zip(events, self.cycles, strict=True)], axis=(0, 1)
        )
        used = scale > 0
        logs = np.log(0.02 / np.where(used, scale, 1.0))
        if stored is not None:
            kept = np.log(np.maximum(np.linalg.solve(BEYOND, stored), 1e-9))
            logs, used = np.where(self.free, logs, kept), used | ~self.free
        logs[0] = 0.0
        weights = np.exp(-2 * self.slower)
        weights /= self._of_gemms(np.add, weights, 0.0)
        first, second = np.zeros_like(logs), np.zeros_like(logs)
        for step in range(STEPS):
            found = np.where(used, np.exp(logs), 0.0)
            slope = self._slope(events, found, weights) * found * self.free
            first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
            rate = RATES[0] + (RATES[1] - RATES[0]) * step / STEPS
            mean, square = first / (1 - 0.9 ** (step + 1)), second / (1 - 0.99 ** (step + 1))
            logs -= rate * mean / (np.sqrt(square) + 1e-9)
        return BEYOND @ np.where(used, np.exp(logs), 0.0)

    def _slope(self, events: Sequence[Any], found: Any, weights: Any) -> Any:
        """Return the derivative of the minimised function with respect to each event's cycles."""
        predicted = [each @ found for each in events]
        score = -np.mean(np.log(predicted), axis=0) / SMOOTHED
        share = np.exp(score - self._of_gemms(np.maximum, score, -np.inf))
        share /= self._of_gemms(np.add, share, 0.0)
        regret = self.slower - self._of_gemms(np.add, share * self.slower, 0.0)
        slope = np.zeros_like(found)
        for own, cycles, measured in zip(events, predicted, self.cycles, strict=True):
            error = np.log(cycles) - measured
            common = self._of_gemms(np.add, weights * error, 0.0)
            error = weights * (error - (1 - COMMON) * common)
            slope += ((ERRORS * error - share * regret / SMOOTHED / 2) / cycles) @ own
        return slope

    @property
    def predicted(self) -> Any:
        """Return log(predicted cycles), the mean over warm and cold caches."""
        return np.mean([np.log(each @ self.solution) for each in self.events], axis=0)

    @property
    def regret(self) -> float:
        """Return the geometric mean of the first candidate's time over the fastest one's. Times are
        geometric means over warm and cold caches."""
        return self.regret_beside(0.0)

    def regret_beside(self, tolerance: float) -> float:
        """Return the regret if neighbours are chosen as `kgen.targets.choose` does: the nearest one
        that is not predicted to be slower by more than its gain and `tolerance` / distance."""
        predicted, ratios = self.predicted, []
        for gemm in range(self.gemms.max() + 1):
            rows = np.flatnonzero(self.gemms == gemm)
            chosen = first = rows[np.argmin(predicted[rows])]
            near = ((each.neighbour, row) for row in rows if (each := self.timed[row]).neighbour)
            for (distance, gain), row in sorted(near) if tolerance else ():
                if predicted[row] - predicted[first] <= tolerance / distance + gain:
                    chosen = row
                    break
            ratios.append(np.exp(self.slower[chosen]))
        return geometric_mean(ratios)

    @property
    def table(self) -> dict[str, float]:
        """Return the coefficients in the form of the file."""
        found = {n: c for n, c in zip(EVENTS, self.solution[1:-1], strict=True) if c > 0}
        error = min(TOLERANCES, key=self.regret_beside)
        return {**found, "l3_line": self.lines[0], "memory_line": self.lines[1], "error": error}


def _row(counts: cost_model.EventCounts, lines: tuple[float, float]) -> list[float]:
    """Return the arithmetic plus the excess of reading B, and the number of each event."""
    busy = float(np.ravel(counts.arithmetic)[0])
    transfer = sum(cycles * count for cycles, count in zip(lines, counts.lines, strict=True))
    waits = max(float(np.ravel(transfer)[0]) - busy, 0.0)
    found = (counts.events.get(name, 0.0) for name in EVENTS)
    return [busy + waits, *(float(np.ravel(count)[0]) for count in found)]


def written(
    core: str, kind: str, table: Mapping[str, float], source: str, *, keeps_source: bool = False
) -> None:
    """Replace the coefficients of a core in the file; with `keeps_source`, add to their source."""
    text = FILE.read_text(encoding="utf-8")
    lines = "".join(f"{name} = {value:.3g}\n" for name, value in table.items())
    old = re.compile(rf'\[cores\."{core}"\.{kind}\]\n((?:#.*\n)*)(?:[^\[\n].*\n)*\n?')
    found = old.search(text)
    before = found[1] if found and keeps_source else ""
    section = f'[cores."{core}".{kind}]\n{before}# {source}\n{lines}\n'
    text = old.sub(lambda _: section, text) if found else f"{text.rstrip()}\n\n{section}"
    FILE.write_text(text.rstrip() + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60, help="time to measure (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="native", help="instructions (%(default)s)")
    parser.add_argument("--timings", type=Path, help="file of times to extend and to fit")
    parser.add_argument("--events", default="*", help="pattern of the events to fit (%(default)s)")
    parser.add_argument("--write", action="store_true", help="store the coefficients")
    args = parser.parse_args()
    random, target, found = Random(args.seed), target_here(args.target), list[dict[str, Any]]()
    if args.timings and args.timings.exists():
        found += map(json.loads, args.timings.read_text(encoding="utf-8").splitlines())
    end = time.monotonic() + 60 * args.minutes
    for spec in specs(random):
        if time.monotonic() >= end:
            break
        try:
            found.append(measured(spec, target, random))
        except KgenError as error:
            print(f"{spec.key}: {error}")
    if args.timings:
        lines = "".join(f"{json.dumps(each)}\n" for each in found)
        args.timings.write_text(lines, encoding="utf-8")
    groups = [counted(each, target) for each in found]
    for kind in sorted({timed.kind for group in groups for timed in group}):
        known = coefficients(target, AmxMatmul if kind == "amx" else BlockedMatmul)
        stored, free = Fit.of_table(groups, kind, known), fnmatch.filter(EVENTS, args.events)
        fits = [Fit(groups, kind, lines) for lines in LINES if len(free) == len(EVENTS)]
        fits = fits or [Fit.of_table(groups, kind, known, free)]
        best = min(fits, key=lambda fit: fit.regret)
        table = best.table
        for name, fit in (("stored", stored), ("fitted", best)):
            limit = fit.table["error"]
            print(f"{target.device}, {kind}: {len(groups)} GEMMs, {name} cycles: regret "
                  f"{fit.regret:.3f}, with the tuning file and error {limit:g} "
                  f"{fit.regret_beside(limit):.3f}")  # fmt: skip
        print("\n".join(f"  {name} = {value:.3g}" for name, value in table.items()))
        if args.write:
            options = f"--minutes {args.minutes:g} --seed {args.seed} --target {args.target}"
            options += f" --events {args.events}" * (len(free) < len(EVENTS))
            source = (
                f"measured on {this_machine().cpu}, {today()}, commit {commit()}: {options}, "
                f"{len(groups)} GEMMs"
            )
            written(target.device, kind, table, source, keeps_source=len(free) < len(EVENTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
