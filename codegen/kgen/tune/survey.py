"""Survey of a core: measure a grid of matmuls for some minutes, where the choice is least certain.

The uncertainty of a kernel adds three parts, each from 0 to 1:

- distance to the nearest measured kernel of its class
- disagreement: how much slower than its own best schedule the model predicts the schedules of the
  nearest measured kernels
- error: how much slower than the fastest schedule the model's choice was at the nearest kernel

A step draws some kernels at random and measures the least certain one. A kernel whose choice is
nearly as fast as the fastest schedule gets no row. If the file is full, only kernels with
unmeasured rows are drawn: the row is removed if the choice without it is as fast. Finally, rows are
removed that do not change the choice.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from kgen import targets
from kgen.errors import SpecError, TargetError
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
#: Sizes of the grid: powers of two, and 1.5 times these.
ROWS = (1, *(n for i in range(1, 11) for n in (2**i, 3 * 2 ** (i - 1))), 2048)
COLUMNS = (*(n for i in range(6, 13) for n in (2**i, 3 * 2 ** (i - 1))), 8192)
#: Limits of a kernel, so that a race takes seconds.
MOST_FLOPS, MOST_BYTES = 2**33, 2**28
#: Kernels that a step compares, most draws for them, and kernels that workers measure at a time.
DRAWN, MOST_DRAWN, BATCH = 16, 1000, 16
SEED = 1
#: Relative frequency of layouts in the draw: those that models use come more often.
WEIGHTS = {Layout.NN: 4, Layout.NT: 2}


@dataclass
class Survey:
    """Survey of the target of a tuner, which records the measurements."""

    tuner: Tuner
    drawn: random.Random = dataclasses.field(default_factory=lambda: random.Random(SEED))

    def run(self) -> int:
        """Measure until the tuner's time is over; return the number of kernels measured."""
        self.tuner.check()
        classes = list(classes_of(self.tuner.target))
        # A resumed survey draws other kernels than the first one at its start.
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
        """Return the least certain of several drawn kernels; None if all of them are done."""
        file, known, found = self.tuner.file, self.tuner.commit, list[Matmul]()
        # Kernels that are measured at the same time may each need a row.
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
        """Return the uncertainty of the choice for a kernel, from 0 to 3."""
        file, target = self.tuner.file, self.tuner.target
        name, sizes = class_of(spec, target), sizes_of(spec)
        known = {row.sizes: row.gain or 1.0 for row in file.rows.get(name, {}).values()
                 if file.kind(row) != EXPORTED}  # fmt: skip
        known |= dict.fromkeys(file.checked.get(name, {}), 1.0)
        if not known:
            return 2.0  # nothing is known: as uncertain as a far kernel with a wrong model
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
            elif without_origin(schedule) != without_origin(family.choose(spec, target)):
                worst = max(worst, 0.5)
        return worst

    def thin(self, classes: list[Matmul]) -> None:
        """Remove rows that do not change the choice, exported ones and least gains first.

        A row is put back if later removals change the choice without it.
        """
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
        """Whether the schedule of a row is chosen without it."""
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
    """Return the matmul with other sizes and packed tensors; None if it is not valid."""
    fields = {
        "dtype": spec.dtype, "b_dtype": spec.b_dtype, "layout": spec.layout,
        "constant": spec.constant,
    }  # fmt: skip
    try:
        return Matmul(m=m, n=n, k=k, **fields)  # type: ignore[arg-type]
    except SpecError:
        return None
