"""Fit the coefficients of the CPU cost model: cycles per event, on the core of this machine.

    python -m benchmarks.fit [--minutes 20] [--seed 0] [--write]

Random GEMMs of the types and layouts of the support table are timed with some of the model's best
candidates and some random ones, in turn, in one thread, with warm and with cold caches.
Non-negative least squares on relative errors then gives the cycles of each event, which do not fall
from a cache level to the next. The faster a candidate, the more its error counts, and a factor
common to all candidates of a GEMM counts little, because only the ranks of the fastest ones matter.
The program prints the cycles with the regret of the fitted model: the time of its first candidate
over that of the fastest one measured.
`--write` stores them in `codegen/kgen/targets/cpu/schedule/coefficients.toml`.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from benchmarks.machine import ROOT, commit, this_machine, today
from benchmarks.results import geometric_mean
from kgen import pipeline
from kgen.errors import KgenError
from kgen.schedule import AmxMatmul
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.targets import find
from kgen.targets.base import Target
from kgen.targets.cpu.cores import core_of
from kgen.targets.cpu.schedule import cost_model
from kgen.targets.cpu.schedule.space import MatmulSpace, spaces
from kgen.tune.pairing import DeviceRace, TimingCondition

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
#: Multiply-adds at most, and candidates of each main loop: best ones and random ones.
LARGEST, BEST, RANDOM = 1.2e9, 3, 5
#: Sweeps of the coordinate descent, and rounds that fit a factor of each GEMM.
SWEEPS, ROUNDS = 2000, 6
#: Weight of a factor that all candidates of a GEMM have in common: only their ranks matter.
COMMON = 0.2
CONDITIONS = (TimingCondition(), TimingCondition(is_cold=True))
EVENTS = tuple(name for term in cost_model.data()["events"].values() for name in term)


def _beyond() -> Any:
    """Return the matrix from what each cache level adds to the cycles of an event to its cycles,
    arithmetic first: a farther level is never cheaper, however few measurements have the event."""
    names, levels = ["", *EVENTS], cost_model.PLACES
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
    warm and with cold caches."""

    kind: str
    mainloop: str
    counts: tuple[cost_model.EventCounts, ...]
    cycles: tuple[float, ...]


def specs(random: Random) -> Iterator[Matmul]:
    """Yield random GEMMs without end: half of them f32, half with sizes of a multiple of 64, and a
    third with a B that only memory holds."""
    while True:
        dtype, b_dtype, layout, packed = random.choice(
            OPERANDS[: random.choice((1, len(OPERANDS)))]
        )
        m = random.choice((*ROWS, int(2 ** random.uniform(0, 11))))
        least, most = (10.5, 2 * LARGEST) if random.random() < 1 / 3 else (5, LARGEST)
        n, k = (int(2 ** random.uniform(least, 13)) for _ in "nk")
        if random.random() < 0.5:
            n, k = (max(side // 64 * 64, 64) for side in (n, k))
        if m * n * k <= most:
            constant = (ConstantOperand.B,) if packed else ()
            yield Matmul(
                m=m, n=n, k=k, dtype=dtype, layout=layout, constant=constant,
                b_dtype=b_dtype,  # type: ignore[arg-type]
            )  # fmt: skip


def measured(spec: Matmul, target: Target, random: Random) -> list[Timed]:
    """Time some candidates of each main loop in turn."""
    chosen: list[tuple[MatmulSpace, int]] = []
    for space in spaces(spec, target):
        order = np.argsort(cost_model.predict(spec, target, space).seconds)
        rows = {*order[:BEST], *random.choices(order[: len(order) // 4 + 1].tolist(), k=RANDOM)}
        chosen += [(space, int(row)) for row in sorted(map(int, rows))]
    plans = [pipeline.plan(spec, target, space.schedule(row)) for space, row in chosen]
    clock, race = core_of(target).clock, DeviceRace()
    seconds = zip(*(race(plans, condition) for condition in CONDITIONS), strict=True)
    return [
        Timed(
            kind=kind_of(space, target),
            mainloop=space.schedule(row).mainloop,
            counts=tuple(
                cost_model.counts_of(
                    spec, target, space.where(_only(space, row)), is_cold=condition.is_cold
                )
                for condition in CONDITIONS
            ),
            cycles=tuple(clock * each for each in taken),
        )
        for (space, row), taken in zip(chosen, seconds, strict=True)
    ]


def _only(space: MatmulSpace, row: int) -> Any:
    return np.arange(len(space)) == row


def kind_of(space: MatmulSpace, target: Target) -> str:
    return "amx" if space.kind is AmxMatmul else str(target.limits["vector_bytes"])


class Fit:
    """Least squares on the candidates of one kind, for given cycles of a line from the last-level
    cache and from memory."""

    def __init__(
        self, groups: Sequence[Sequence[Timed]], kind: str, lines: tuple[float, float]
    ) -> None:
        self.lines = lines
        found = [[timed for timed in group if timed.kind == kind] for group in groups]
        rows = [
            (number, condition, timed)
            for number, group in enumerate(found)
            for condition in range(len(CONDITIONS))
            for timed in group
        ]
        self.mainloops = np.array([timed.mainloop for _, _, timed in rows])
        self.cycles = np.array([timed.cycles[condition] for _, condition, timed in rows])
        self.events = np.array([_row(timed.counts[c], lines) for _, c, timed in rows])
        #: Number of each row's race: the candidates of a GEMM under one condition.
        self.races = np.array([number * len(CONDITIONS) + c for number, c, _ in rows])
        self.solution = self._solve()

    def _solve(self) -> Any:
        """Return the cycles of arithmetic and of each event."""
        weights, wanted = np.ones(len(self.cycles)), np.ones(len(self.cycles))
        races = [np.flatnonzero(self.races == race) for race in np.unique(self.races)]
        for race in races:
            weights[race] = self.cycles[race].min() / self.cycles[race]
        a = self.events @ BEYOND * (weights / self.cycles)[:, None]
        scale = np.linalg.norm(a, axis=0) + 1e-12
        a /= scale
        gram, found = a.T @ a, np.zeros(len(scale))
        for _ in range(ROUNDS):
            right = a.T @ (weights * wanted)
            for _ in range(SWEEPS):
                for i in range(len(found)):
                    step = (right[i] - gram[i] @ found) / (gram[i, i] + 1e-12)
                    found[i] = max(0.0, found[i] + step)
            ratios = a @ found
            for race in races:
                factor = ratios[race].sum() / weights[race].sum()
                wanted[race] = COMMON + (1 - COMMON) * factor
        return BEYOND @ (found / scale)

    @property
    def errors(self) -> dict[str, float]:
        """Standard deviation of log(predicted / measured) among the candidates of a race: `error`
        of all, and of each main loop."""
        ratios = np.log(self.events @ self.solution / self.cycles)
        for race in np.unique(self.races):
            ratios[self.races == race] -= ratios[self.races == race].mean()
        found = {"error": float(np.sqrt((ratios**2).mean()))}
        for mainloop in np.unique(self.mainloops):
            own = ratios[self.mainloops == mainloop]
            found[f"error_{mainloop}"] = float(np.sqrt((own**2).mean()))
        return found

    @property
    def regret(self) -> float:
        """Geometric mean of the first candidate's time over the fastest one's, both the geometric
        mean of warm and cold caches."""
        predicted, measured = np.log(self.events @ self.solution), np.log(self.cycles)
        ratios = []
        for number in np.unique(self.races // len(CONDITIONS)):
            rows = [np.flatnonzero(self.races == number * len(CONDITIONS) + c)
                    for c in range(len(CONDITIONS))]  # fmt: skip
            first = np.argmin(sum(predicted[own] for own in rows))
            times = sum(measured[own] for own in rows) / len(CONDITIONS)
            ratios.append(np.exp(times[first] - times.min()))
        return geometric_mean(ratios)


def _row(counts: cost_model.EventCounts, lines: tuple[float, float]) -> list[float]:
    """Return arithmetic with what reading B takes longer, and the number of each event."""
    busy = float(np.ravel(counts.arithmetic)[0])
    transfer = sum(cycles * count for cycles, count in zip(lines, counts.lines, strict=True))
    waits = max(float(np.ravel(transfer)[0]) - busy, 0.0)
    found = (counts.events.get(name, 0.0) for name in EVENTS)
    return [busy + waits, *(float(np.ravel(count)[0]) for count in found)]


def written(core: str, kind: str, table: Mapping[str, float], source: str) -> None:
    """Replace the coefficients of a core in the file."""
    text = FILE.read_text(encoding="utf-8")
    lines = "".join(f"{name} = {value:.3g}\n" for name, value in table.items())
    section = f'[cores."{core}".{kind}]\n# {source}\n{lines}\n'
    old = re.compile(rf'\[cores\."{core}"\.{kind}\]\n(?:[^\[\n].*\n)*\n?')
    text = old.sub(section, text) if old.search(text) else f"{text.rstrip()}\n\n{section}"
    FILE.write_text(text.rstrip() + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20, help="time to measure (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="store the coefficients")
    args = parser.parse_args()
    random, target, groups = Random(args.seed), find("native"), list[list[Timed]]()
    end = time.monotonic() + 60 * args.minutes
    for spec in specs(random):
        if time.monotonic() >= end:
            break
        try:
            groups.append(measured(spec, target, random))
        except KgenError as error:
            print(f"{spec.key}: {error}")
    for kind in sorted({timed.kind for group in groups for timed in group}):
        tried = [(l3, memory) for l3 in (2.0, 3.2, 4.5) for memory in (3.0, 5.8, 8.0)]
        best = min((Fit(groups, kind, lines) for lines in tried), key=lambda fit: fit.regret)
        found = best.solution
        table = dict(zip(EVENTS, found[1:] / found[0], strict=True))
        table |= {"l3_line": best.lines[0], "memory_line": best.lines[1], **best.errors}
        print(f"{target.device}, {kind}: {len(groups)} GEMMs, regret {best.regret:.3f}")
        print("\n".join(f"  {name} = {value:.3g}" for name, value in table.items()))
        if args.write:
            options = f"--minutes {args.minutes:g} --seed {args.seed}"
            source = f"measured on {this_machine().cpu}, {today()}, commit {commit()}: {options}"
            written(target.device, kind, table, source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
