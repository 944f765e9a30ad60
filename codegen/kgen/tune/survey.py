"""Survey a core: measure a grid of matmuls for some minutes, where the choice is least certain.

Uncertainty of a kernel adds three parts, each from 0 to 1:

- distance to the nearest kernel of its class that was measured
- disagreement: by how much the model predicts that the schedules of the nearest measured kernels
  are slower here than its own best one
- error: by how much the model's choice was slower than the fastest schedule at the nearest kernel

A step draws some kernels at random and measures the least certain one. A kernel whose choice is
nearly as fast as the fastest schedule gets no row. If the file is full, only kernels are drawn
whose row nobody measured: the row goes if the choice without it is as fast. Finally rows are
removed without which the same schedules are chosen.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from kgen import targets
from kgen.errors import SpecError, TargetError
from kgen.schedule import Schedule
from kgen.spec import DType, Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.choose import (
    REACH,
    adapted,
    class_of,
    distance,
    nearest,
    schedule_fields,
    sizes_of,
)
from kgen.targets.tuning.file import TunedRow
from kgen.tune.record import EXPORTED
from kgen.tune.search import without_origin
from kgen.tune.tuner import Tuner

MINUTES = 60.0
#: Sizes of the grid: powers of two, and their halves more.
ROWS = (1, *(n for i in range(1, 11) for n in (2**i, 3 * 2 ** (i - 1))), 2048)
COLUMNS = (*(n for i in range(6, 13) for n in (2**i, 3 * 2 ** (i - 1))), 8192)
#: Largest kernel: a race of it takes seconds.
MOST_FLOPS, MOST_BYTES = 2**33, 2**28
#: Kernels that a step compares, of at most so many draws, and those that workers measure at a time.
DRAWN, MOST_DRAWN, BATCH = 16, 1000, 16
SEED = 1
#: How much more often kernels of these layouts are drawn: models have them.
WEIGHTS = {Layout.NN: 4, Layout.NT: 2}


@dataclass
class Survey:
    """A survey of the target of a tuner, which records what it measures."""

    tuner: Tuner
    drawn: random.Random = dataclasses.field(default_factory=lambda: random.Random(SEED))

    def run(self) -> int:
        """Measure until the tuner's time is over; return the number of kernels measured."""
        self.tuner.check()
        classes = list(classes_of(self.tuner.target))
        # A resumed survey draws other kernels than those at which the first one began.
        file = self.tuner.file
        self.drawn.seed(SEED + file.count + sum(map(len, file.checked.values())))
        done = 0
        size = 1 if self.tuner.executor is None else BATCH
        while self.tuner.has_time:
            drawn = dict.fromkeys(self.next(classes) for _ in range(size))
            specs = [spec for spec in drawn if spec is not None]
            if not specs:
                break
            for spec, choice, found in self.tuner.measured(specs):
                self.tuner.keep(spec, choice, found, is_needed=False)
                done += 1
        self.thin(classes)
        self.tuner.file.save()
        return done

    def next(self, classes: list[Matmul]) -> Matmul | None:
        """Return the least certain of some kernels; None if all that were drawn are done."""
        file, known, found = self.tuner.file, self.tuner.commit, list[Matmul]()
        # Kernels that are measured at the same time may all need a row.
        has_room = file.has_room(1 if self.tuner.executor is None else BATCH)
        for _ in range(MOST_DRAWN):
            spec = self.draw(classes) if has_room else self.draw_known(classes)
            if spec is not None and not file.is_done(
                class_of(spec, self.tuner.target), sizes_of(spec), known
            ):
                found.append(spec)
            if len(found) == DRAWN:
                break
        return max(found, key=self.uncertainty, default=None)

    def draw(self, classes: list[Matmul]) -> Matmul | None:
        """Return a random kernel of the grid; None if it is too large."""
        (one,) = self.drawn.choices(classes, [WEIGHTS.get(each.layout, 1) for each in classes])
        m, n, k = (self.drawn.choice(sizes) for sizes in (ROWS, COLUMNS, COLUMNS))
        if 2 * m * n * k > MOST_FLOPS:
            return None
        spec = resized(one, m, n, k)
        return spec if spec is None or spec.bytes_moved <= MOST_BYTES else None

    def draw_known(self, classes: list[Matmul]) -> Matmul | None:
        """Return a random kernel of those with a row."""
        (one,) = self.drawn.choices(classes)
        known = [*self.tuner.file.rows.get(class_of(one, self.tuner.target), {})]
        return resized(one, *self.drawn.choice(known)) if known else None

    def uncertainty(self, spec: Matmul) -> float:
        """Return how uncertain the choice for a kernel is, from 0 to 3."""
        file, target = self.tuner.file, self.tuner.target
        name, sizes = class_of(spec, target), sizes_of(spec)
        known = {row.sizes: row.gain or 1.0 for row in file.rows.get(name, {}).values()
                 if file.kind(row) != EXPORTED}  # fmt: skip
        known |= dict.fromkeys(file.checked.get(name, {}), 1.0)
        if not known:
            return 2.0  # nothing is known: as uncertain as a far kernel at which the model erred
        near = min(known, key=lambda each: distance(each, sizes))
        away = min(distance(near, sizes), REACH) / REACH
        error = min(abs(math.log2(known[near])), 1.0) * (1 - away)
        return away + self.disagreement(spec) + error

    def disagreement(self, spec: Matmul) -> float:
        """Return log2 of the predicted time of the neighbours' schedules over the model's best."""
        target = self.tuner.target
        family = targets.family(target.family)
        model = family.predicted(spec, target, family.choose(spec, target))
        worst = 0.0
        for each in nearest(spec, target, self.tuner.tunings(spec)):
            if (schedule := adapted(spec, target, each)) is None:
                continue
            found = family.predicted(spec, target, schedule)
            if model is not None and found is not None:
                worst = max(worst, min(abs(math.log2(found.seconds / model.seconds)), 1.0))
            elif is_other(schedule, family.choose(spec, target)):
                worst = max(worst, 0.5)
        return worst

    def thin(self, classes: list[Matmul]) -> None:
        """Remove rows without which the same schedule is chosen, exported ones and those of the
        least gain first. A row is put back if later removals change the choice without it."""
        file, removed = self.tuner.file, list[tuple[Matmul, TunedRow]]()
        for one in classes:
            rows = file.rows.get(class_of(one, self.tuner.target), {})
            for row in sorted(rows.values(), key=lambda row: row.gain or 0.0):
                spec = resized(one, *row.sizes)
                if spec is not None and self.follows(spec, row):
                    del rows[row.sizes]
                    removed.append((spec, row))
        for spec, row in reversed(removed):
            name = class_of(spec, self.tuner.target)
            if not self.follows(spec, row):
                file.rows[name][row.sizes] = row
            elif file.kind(row) != EXPORTED:
                file.check(name, row.sizes, file.sources[row.source])

    def follows(self, spec: Matmul, row: TunedRow) -> bool:
        """Return whether the schedule of a row is chosen without it."""
        return schedule_fields(self.tuner.current(spec).schedule) == dict(row.fields)


def classes_of(target: Target) -> Iterator[Matmul]:
    """Yield a matmul of each class that the target supports: types, layouts, packed weights."""
    family = targets.family(target.family)
    dtypes = family.dtypes(Matmul.op, target)
    types: list[dict[str, object]] = [{"dtype": dtype} for dtype in dtypes]
    types += [{"dtype": DType.F32, "b_dtype": narrow} for narrow in family.narrow(target)]
    for fields in types:
        for layout in Layout:
            for constant in ((), ("b",)) if family.packs_ahead else ((),):
                try:
                    spec = Matmul(
                        m=64,
                        n=64,
                        k=64,
                        layout=layout,
                        constant=constant,
                        **fields,  # type: ignore[arg-type]
                    )
                    family.check_support(spec, target)
                except (SpecError, TargetError):
                    continue
                yield spec


def resized(spec: Matmul, m: int, n: int, k: int) -> Matmul | None:
    """Return the matmul with other sizes and no gaps; None if it does not exist."""
    fields = {
        "dtype": spec.dtype, "b_dtype": spec.b_dtype, "layout": spec.layout,
        "constant": spec.constant,
    }  # fmt: skip
    try:
        return Matmul(m=m, n=n, k=k, **fields)  # type: ignore[arg-type]
    except SpecError:
        return None


def is_other(one: Schedule, other: Schedule) -> bool:
    return without_origin(one) != without_origin(other)
