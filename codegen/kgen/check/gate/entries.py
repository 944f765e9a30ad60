"""New entries of a budget file: a kernel's current numbers as TOML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from kgen import targets
from kgen.check.gate.budgets import AnyEntry, parse_text
from kgen.check.gate.foreign import ForeignEntry, ForeignLaunch
from kgen.check.gate.metrics import METRICS, BudgetSide, Metric, Tier
from kgen.check.gate.tighten import format_number
from kgen.check.gate.toml_spans import places
from kgen.check.gate.values import Values
from kgen.errors import BudgetError
from kgen.schedule import Overrides

#: Beginning of a new budget file.
BEGINNING = """\
# Budgets of each kernel, checked by `kgen perf check`.

[toolchain] # packages that the static numbers hold for

[defaults] # for every kernel that has the metric
spills = 0
hot_loop_spills = 0
bank_conflicts = 0
findings = 0
"""


def draft(kernel: str, target: str, schedule: Overrides, why: str) -> str:
    """Return an entry without numbers."""
    lines = ["[[budget]]", f"kernel = {_quoted(kernel)}", f"target = {_quoted(target)}"]
    if schedule:
        lines.append(f"schedule = {_table(schedule)}")
    return "\n".join([*lines, f"why = {_quoted(why)}", ""])


def foreign_draft(launch: ForeignLaunch, why: str) -> str:
    """Return an entry of a foreign kernel without numbers."""
    fields = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in launch.fields())
    return "\n".join(["[[budget]]", *fields, f"why = {_quoted(why)}", ""])


def existing(path: Path) -> str:
    """Return the text of a budget file, or of a new one. Raises BudgetError."""
    try:
        return path.read_text() if path.exists() else BEGINNING
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise BudgetError(
            f"budgets={path} cannot be read: {reason}; name another file with --budgets"
        ) from None


def read_draft(text: str, draft: str, path: Path) -> AnyEntry:
    """Return the entry that a draft describes, with the defaults of the file.

    Raises BudgetError, also if the file has the entry already.
    """
    return parse_text(_joined(text, draft), path).entries[-1]


def numbers(entry: AnyEntry, values: Values) -> Iterator[str]:
    """Yield a draft's lines of metrics, one per tier.

    They hold the headline metrics, and metrics that exceed their default.
    """
    defaults = {limit.metric.name: limit.value for limit in entry.limits}
    for tier in (Tier.STATIC, Tier.EMULATED):
        found = {
            metric.name: metric.rounded(values.numbers[metric.name])
            for metric in METRICS
            if metric.tier is tier
            and metric.name in values.numbers
            and _belongs(metric, values.numbers[metric.name], defaults.get(metric.name))
        }
        if found:
            yield f"{tier} = {_table(found)}\n"


def _belongs(metric: Metric, value: float, default: float | None) -> bool:
    if default is not None:
        return not metric.keeps(value, default)
    # A lower limit of 0 limits nothing.
    return metric.headline and (metric.bound is BudgetSide.MAXIMUM or value > 0)


def appended(text: str, entries: Mapping[str, AnyEntry]) -> str:
    """Return the text of a file with these entries appended, and their tools' versions."""
    for entry in entries.values():
        text = _with_tools(text, entry)
    for added in entries:
        text = _joined(text, added)
    return text


def _joined(text: str, entry: str) -> str:
    return f"{text.rstrip()}\n\n{entry}"


def _with_tools(text: str, entry: AnyEntry) -> str:
    """Add the versions of the entry's tools to a text that lacks them."""
    if isinstance(entry, ForeignEntry):
        return text
    for tool in targets.family(entry.target.family).toolchain():
        found = places(text)
        if ("toolchain", tool.name) in found:
            continue
        if ("toolchain",) not in found:
            text = f"{text.rstrip()}\n\n[toolchain]\n"
            found = places(text)
        end = text.find("\n", found["toolchain",].stop) + 1
        text = f"{text[:end]}{tool.name} = {_quoted(tool.package)}\n{text[end:]}"
    return text


def _table(fields: Mapping[str, float | str]) -> str:
    return "{ " + ", ".join(f"{k} = {_value(v)}" for k, v in fields.items()) + " }"


def _value(value: float | str) -> str:
    return _quoted(value) if isinstance(value, str) else format_number(value)


def _quoted(text: str) -> str:
    """Return a TOML basic string, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)
