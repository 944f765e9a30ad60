"""Budget files (`perf_budgets.toml`): parser and checks; each error names its line.

::

    [toolchain]                    # the packages that the static numbers hold for
    ptxas = "nvidia-cuda-nvcc-cu12==12.9.86"

    [defaults]                     # for every kernel that has the metric
    spills = 0

    [[budget]]
    kernel = "matmul 1024x1024x1024 f16 +bias+relu"      # see kgen.spec.text
    target = "sm_80"
    schedule = { num_stages = 4 }                        # optional
    why = "flagship of the small transformer"
    static = { registers = 128 }
    emulated = { global_sectors = 1114624 }
    measured = { against = "torch", ratio = 1.0, by_core = { "Zen 4" = 1.5 } }
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from kgen import pipeline, targets
from kgen.check.gate import foreign, metrics
from kgen.check.gate.foreign import ForeignEntry, ForeignLaunch
from kgen.check.gate.limits import BudgetLimit
from kgen.check.gate.metrics import Tier
from kgen.check.gate.toml_spans import TextSpan, places
from kgen.check.peers import PEERS
from kgen.check.profile import COUNTED, FAMILIES
from kgen.errors import BudgetError, KgenError
from kgen.schedule import Overrides
from kgen.spec import Spec
from kgen.spec.text import parse
from kgen.targets.base import Plan, Target
from kgen.targets.cpu.cores import cores
from kgen_runtime.values import frozen

TABLES = ("toolchain", "defaults", "budget")
#: Keys of an entry for a kernel that kgen builds, with their meaning.
MEANINGS = {
    "kernel": "operation, sizes, dtype, then options by the names of the spec's fields "
    "(`layout=nt`, `lda=1032`, `batch=8`, `alpha=0.5`, `out=f32`; `log` for a log-softmax), then "
    "epilogue steps, each after a `+`",
    "target": "a target of `kgen targets`; not `native`",
    "schedule": "schedule fields to set; optional",
    "why": "what the kernel is for; required, also for a file",
    Tier.STATIC.value: "budgets of static metrics; names with a dot may be tables: "
    "`static = { radv = { registers = 128 } }`",
    Tier.EMULATED.value: "budgets of emulated metrics: kernels of NVIDIA, AMD and CPUs; also "
    "for a file",
    Tier.MEASURED.value: "`against`: the library to compare with; `ratio`; `by_core`: ratios of "
    "named CPU cores, which replace `ratio` there",
}
KEYS = tuple(MEANINGS)
#: Keys of `measured` that are not metrics.
AGAINST, BY_CORE = "against", "by_core"
#: Upper limit of TOML's integers; Python also reads longer ones.
INTEGERS = 2**63


@frozen
class BudgetEntry:
    """Kernel with its budgets. `against` is the library of its measured ratio."""

    kernel: str
    spec: Spec
    target: Target
    schedule: Overrides
    why: str
    limits: tuple[BudgetLimit, ...]
    against: str | None
    line: int

    @property
    def name(self) -> str:
        fields = " ".join(f"{k}={v}" for k, v in self.schedule.items())
        return f"{self.target.name}: {self.kernel}{f' [{fields}]' if fields else ''}"

    @property
    def target_name(self) -> str:
        return self.target.name

    @property
    def identity(self) -> object:
        """Value that is equal for entries of one kernel."""
        return self.spec, self.target.name, tuple(sorted(self.schedule.items()))

    @property
    def is_emulated(self) -> bool:
        """Whether an emulator counts the kernel.

        GPU kernels always are. CPU kernels take longer, so they need an emulated budget of their
        own.
        """
        own = (limit for limit in self.limits if not limit.default)
        asks = any(limit.metric.tier is Tier.EMULATED for limit in own)
        return asks or self.target.family in FAMILIES

    def plan(self) -> Plan:
        return pipeline.plan_with(self.spec, self.target, self.schedule)

    def on(self, core: str) -> BudgetEntry:
        """Return the entry with the limits for a CPU core."""
        return replace(self, limits=tuple(limit.on(core) for limit in self.limits))


AnyEntry = BudgetEntry | ForeignEntry


@frozen
class Budgets:
    """Budget file, checked as far as possible without building kernels."""

    path: Path
    text: str
    toolchain: Mapping[str, str]
    entries: tuple[AnyEntry, ...]


def load(path: str | os.PathLike[str]) -> Budgets:
    """Read a budget file. Raises BudgetError, naming the line, for any mistake in it."""
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise BudgetError(
            f"budgets={path} cannot be read: {reason}; name another file with --budgets"
        ) from None
    return parse_text(text, Path(path))


def parse_text(text: str, path: Path) -> Budgets:
    """Parse the text of a budget file; `path` is for messages."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+), column \d+\)", str(error))
        at = int(line[1]) if line else text.count("\n") + 1
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise BudgetError(f"{path}:{at}: not TOML: {reason}; correct that line") from None
    except ValueError:  # The number has more digits than Python converts; the error names no line.
        digits = re.search(r"\d{1000}", text)
        at = text.count("\n", 0, digits.start() if digits else None) + 1
        raise BudgetError(
            f"{path}:{at}: not TOML: a number has more than a thousand digits; shorten it"
        ) from None
    return _BudgetReader(path=path, text=text, data=data).budgets()


class _BudgetReader:
    """Converter of parsed TOML. Every method raises BudgetError with a line."""

    def __init__(self, *, path: Path, text: str, data: dict[str, Any]) -> None:
        self._path, self._text, self._data = path, text, data
        self._places = places(text)

    def budgets(self) -> Budgets:
        for name in self._data:
            if name not in TABLES:
                self._refuse(f"table {name} is unknown; known are {', '.join(TABLES)}", name)
        rows = self._data.get("budget", [])
        if not isinstance(rows, list) or not rows:
            self._refuse("the file has no [[budget]]; add one with kgen perf add", "budget")
        entries = [self._entry(i, row) for i, row in enumerate(rows)]
        self._refuse_duplicates(entries)
        return Budgets(
            path=self._path, text=self._text, toolchain=self._toolchain(), entries=tuple(entries)
        )

    def _toolchain(self) -> dict[str, str]:
        table = self._table(self._data.get("toolchain", {}), "toolchain")
        for name, package in table.items():
            if not isinstance(package, str) or not re.fullmatch(r"[\w.-]+==[\w.]+", package):
                self._refuse(f"{name} must be a pip requirement, NAME==VERSION", "toolchain", name)
        return dict(table)

    def _entry(self, i: int, row: dict[str, Any]) -> AnyEntry:
        at = ("budget", i)
        if "file" in self._table(row, *at):
            return self._foreign(row, *at)
        for key in self._table(row, *at):
            if key not in KEYS:
                self._refuse(f"key {key} is unknown; known are {', '.join(KEYS)}", *at, key)
        kernel, target_name, why = (self._string(row, key, *at) for key in KEYS[:2] + KEYS[3:4])
        spec = self._read("kernel", lambda: parse(kernel), *at)
        target = self._read("target", lambda: targets.find(target_name), *at)
        if target_name == "native":
            self._refuse(
                "target=native differs between machines; name a target such as x86-64-v3",
                *at,
                "target",
            )
        schedule = self._schedule(row.get("schedule", {}), *at)
        self._read("kernel", lambda: pipeline.plan_with(spec, target, schedule), *at)
        return BudgetEntry(
            kernel=" ".join(kernel.split()),
            spec=spec,
            target=target,
            schedule=schedule,
            why=" ".join(why.split()),
            limits=self._limits(row, target, *at),
            against=self._against(row.get("measured"), *at),
            line=self._places[at].line,
        )

    def _foreign(self, row: dict[str, Any], *at: str | int) -> ForeignEntry:
        known = (*foreign.KEYS, "why", Tier.EMULATED.value)
        for key in row:
            if key not in known:
                self._refuse(
                    f"key {key} is unknown beside file=; known are {', '.join(known)}", *at, key
                )
        fields: dict[str, Any] = {key: self._string(row, key, *at) for key in foreign.REQUIRED}
        arguments = row.get("arguments", [])
        if not isinstance(arguments, list) or not all(isinstance(a, str) for a in arguments):
            self._refuse("arguments must be a list of strings", *at, "arguments")
        fields["arguments"] = tuple(arguments)
        if "cluster" in row:
            fields["cluster"] = self._string(row, "cluster", *at)
        if type(shared := row.get("dynamic_shared", 0)) is not int or shared < 0:
            self._refuse(
                "dynamic_shared must be a number of bytes, an integer of 0 or more",
                *at,
                "dynamic_shared",
            )
        fields["dynamic_shared"] = shared
        limits = self._limits(row, None, *at)
        return ForeignEntry(
            launch=self._read("file", lambda: ForeignLaunch(**fields), *at),
            folder=self._path.parent,
            why=" ".join(self._string(row, "why", *at).split()),
            limits=tuple(limit for limit in limits if limit.metric.tier is Tier.EMULATED),
            line=self._places[at].line,
        )

    def _read(self, key: str, make: Any, *at: str | int) -> Any:
        """Return what `make` returns; an error gets the line of a key."""
        try:
            return make()
        except KgenError as error:
            self._refuse(str(error), *at, key)

    def _schedule(self, table: Any, *at: str | int) -> Overrides:
        for name, value in self._table(table, *at, "schedule").items():
            if name != "mainloop" and type(value) is not int:
                self._refuse(f"{name} must be an integer", *at, "schedule", name)
        return dict(table)

    def _limits(
        self, row: dict[str, Any], target: Target | None, *at: str | int
    ) -> tuple[BudgetLimit, ...]:
        """Return the entry's own limits, and the defaults that it does not override.

        `target` is None for a foreign kernel.
        """
        own = []
        for tier in Tier:
            table = self._table(row.get(tier.value, {}), *at, tier.value)
            is_counted = target is None or target.family in COUNTED
            if tier is Tier.EMULATED and table and not is_counted:
                assert target is not None
                self._refuse(
                    f"no emulator runs {target.name} kernels; leave out emulated", *at, tier
                )
            for keys, value in _numbers(table):
                limit = self._limit(keys, value, *at, tier.value)
                if limit.metric.tier is not tier:
                    kind = f"a metric of the {limit.metric.tier} tier"
                    reason = f"{limit.metric.name} is {kind}, not of {tier}; move it there"
                    self._refuse(reason, *at, tier.value, *keys)
                if target is not None and limit.metric is metrics.RATIO:
                    limit = replace(limit, by_core=self._by_core(table, target, *at, tier.value))
                own.append(limit)
        named = {limit.metric for limit in own}
        return (*own, *(d for d in self._defaults() if d.metric not in named))

    def _by_core(
        self, measured: Mapping[str, Any], target: Target, *at: str | int
    ) -> dict[str, BudgetLimit]:
        """Return the limits of the measured ratio for named CPU cores."""
        table = self._table(measured.get(BY_CORE, {}), *at, BY_CORE)
        if table and target.family != "cpu":
            self._refuse(
                f"{BY_CORE} applies to CPU targets; give {target.name} one ratio", *at, BY_CORE
            )
        for core in table:
            if core not in cores():
                names = ", ".join(sorted(cores()))
                self._refuse(f"core={core} is unknown; known are {names}", *at, BY_CORE, core)
        return {
            core: replace(
                self._limit((metrics.RATIO.name,), value, *at),
                core=core,
                place=self._place((*at, BY_CORE, core)),
            )
            for core, value in table.items()
        }

    def _defaults(self) -> list[BudgetLimit]:
        table = self._table(self._data.get("defaults", {}), "defaults")
        found = [self._limit(k, v, "defaults", default=True) for k, v in _numbers(table)]
        for limit in found:
            if limit.metric is metrics.RATIO:
                self._refuse(
                    "ratio cannot be a default; put it into a [[budget]], beside against",
                    "defaults",
                    "ratio",
                )
        return found

    def _limit(
        self, keys: tuple[str, ...], value: Any, *table: str | int, default: bool = False
    ) -> BudgetLimit:
        name, at = ".".join(keys), (*table, *keys)
        try:
            metric = metrics.find(name)
        except BudgetError as error:
            self._refuse(str(error), *at)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._refuse(f"{name} must be a number", *at)
        if not 0 <= value < INTEGERS:
            reason = f"{name}={str(value)[:24]} is out of range; give 0 or more, below 2^63"
            self._refuse(reason, *at)
        return BudgetLimit(metric=metric, value=value, place=self._place(at), default=default)

    def _against(self, table: Any, *at: str | int) -> str | None:
        if table is None:
            return None
        against = self._string(table, AGAINST, *at, "measured")
        if against not in PEERS:
            known = ", ".join(PEERS)
            self._refuse(f"against={against} is unknown; known are {known}", *at, "measured")
        if metrics.RATIO.name not in table:
            self._refuse("measured needs a ratio beside against", *at, "measured")
        return against

    def _string(self, table: Any, key: str, *at: str | int) -> str:
        value = self._table(table, *at).get(key)
        if not isinstance(value, str) or not value.strip():
            self._refuse(f"{key} is missing; it must be a string that is not empty", *at)
        return value

    def _table(self, value: Any, *at: str | int) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._refuse(f"{at[0] if at[-1] == 0 else at[-1]} must be a table", *at)
        return dict(value)

    def _refuse_duplicates(self, entries: list[AnyEntry]) -> None:
        first: dict[object, AnyEntry] = {}
        for i, entry in enumerate(entries):
            if (other := first.setdefault(entry.identity, entry)) is not entry:
                self._refuse(
                    f"{entry.name} already has a budget on line {other.line}; merge the two",
                    "budget",
                    i,
                )

    def _place(self, at: tuple[str | int, ...]) -> TextSpan:
        """Return the place of a key, or of the nearest table around it."""
        while at and at not in self._places:
            at = at[:-1]
        return self._places.get(at, TextSpan(line=1, start=0, stop=0))

    def _refuse(self, reason: str, *at: str | int) -> NoReturn:
        raise BudgetError(f"{self._path}:{self._place(at).line}: {reason}")


def _numbers(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the metrics of a table with their keys; an unquoted load.global has two keys."""
    for key, value in table.items():
        if key == BY_CORE:
            continue
        if isinstance(value, dict):
            yield from (((key, *rest), number) for rest, number in _numbers(value))
        elif key != AGAINST:
            yield (key,), value
