"""What is said of a bar: reached, or missed by how much, and its bottleneck.

A kernel is named with its value and, in brackets, that of a kernel at the ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scripts.bench_cpu.judge import Standing, Statistic, Verdict

#: What a ceiling is in a sentence.
CEILINGS = {
    "peak": "arithmetic at the measured peak",
    "tiles": "arithmetic on tiles that are loaded",
    "read": "reading at the measured bandwidth",
    "copy": "copying at the measured bandwidth",
    "convert": "widening, one multiplication and rounding",
    "two cores": "what two cores gained on arithmetic alone",
    "two cores reading": "reading by two cores at once",
}


def sentence(verdict: Verdict) -> str:
    """The verdict, for a cell of a table."""
    if verdict.value is None:
        return "not measured"
    if verdict.reached:
        return "reached"
    text = f"missed by {verdict.missed_by:.0%}"
    if verdict.is_noise:
        return f"{text}, within the noise"
    if verdict.bar.statistic is Statistic.MEAN:
        return f"{text}; out of reach" if verdict.out_of_reach else f"{text}; not reached"
    beyond, missed = len(verdict.beyond_reach), len(verdict.missed)
    if not beyond:
        return f"{text}; {missed} of {len(verdict.standings)} not reached"
    if beyond == missed:
        return f"{text}; {missed} of {len(verdict.standings)}, out of reach"
    return f"{text}; {missed} of {len(verdict.standings)}, {beyond} of them out of reach"


def lines(found: Sequence[Verdict]) -> list[str]:
    """A paragraph for each bar that is missed: shapes, their bottleneck, what is left."""
    missed = [verdict for verdict in found if verdict.value is not None and not verdict.reached]
    return [f"- **{v.bar.title}**, {threshold(v)}: {' '.join(_reasons(v))}" for v in missed]


def threshold(verdict: Verdict) -> str:
    bar = verdict.bar
    held = "at most" if bar.statistic is Statistic.MOST else f"{bar.statistic}, at least"
    return f"{held} {bar.threshold:g}{bar.unit}"


def _reasons(verdict: Verdict) -> Iterator[str]:
    bar = verdict.bar
    if bar.statistic is Statistic.MEAN:
        yield from _of_a_mean(verdict)
    else:
        beyond = verdict.beyond_reach
        for ceiling in dict.fromkeys(standing.binds for standing in beyond):
            bound = [standing for standing in beyond if standing.binds == ceiling]
            yield f"*Out of reach*, by {CEILINGS[str(ceiling)]}: {_named(verdict, bound)}."
        left = [standing for standing in verdict.missed if standing not in beyond]
        if left:
            yield f"*Not reached*: {_named(verdict, left)}."
    if bar.note:
        yield bar.note


def _of_a_mean(verdict: Verdict) -> Iterator[str]:
    bar, value, best = verdict.bar, verdict.value, verdict.at_ceiling
    assert value is not None
    if best is None:
        yield f"*Not reached*: {value:.2f}{bar.unit}."
    elif verdict.out_of_reach:
        yield f"*Out of reach*: {value:.2f}{bar.unit}, at the ceilings {best:.2f}{bar.unit}."
    else:
        yield (
            f"*Not reached*: {value:.2f}{bar.unit}, at the ceilings {best:.2f}{bar.unit}. Furthest "
            f"from them: {_named(verdict, _furthest(verdict))}."
        )


def _furthest(verdict: Verdict) -> list[Standing]:
    """The kernels of a mean with the most to gain."""

    def gain(standing: Standing) -> float:
        return (standing.at_ceiling or 0.0) / standing.value

    return sorted(verdict.standings, key=gain, reverse=True)[:4]


def _named(verdict: Verdict, standings: Sequence[Standing]) -> str:
    rests = {_words(found.kernel)[1] for found in verdict.standings}
    return ", ".join(_one(verdict, found, is_short=len(rests) == 1) for found in standings)


def _words(kernel: str) -> tuple[str, str]:
    """A product's sizes, and type and layout; of all else its name alone."""
    op, _, rest = kernel.partition("_")
    if op != "matmul":
        return kernel, ""
    sizes, _, rest = rest.partition("_")
    return (sizes, rest) if sizes else (op, "")


def _one(verdict: Verdict, standing: Standing, *, is_short: bool) -> str:
    """Type and layout are left out where all kernels of the bar have the same."""
    unit = verdict.bar.unit
    name, rest = _words(standing.kernel)
    text = f"{name if is_short or not rest else f'{name} {rest}'} {standing.value:.2f}{unit}"
    remarks = []
    if standing.at_ceiling is not None:
        remarks.append(f"{standing.at_ceiling:.2f}{unit}")
    if standing.noise > abs(1 - standing.value / verdict.bar.threshold):
        remarks.append(f"noise {standing.noise:.0%}")
    return f"{text} ({', '.join(remarks)})" if remarks else text
