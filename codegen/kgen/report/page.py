"""The report as one HTML file, without scripts or links to other files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgen.errors import BundleError
from kgen.report import charts
from kgen.report.charts import bytes_, rate
from kgen.report.figures import Ceilings, Check, KernelWork, Sizes, Times
from kgen.report.flow import flow
from kgen.report.markup import Content, Markup, tag
from kgen.report.picture import picture, title_of
from kgen.spec import from_json
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.program import Program, Step
from kgen_runtime.values import frozen

STYLE = """
:root{color:#1d2733;background:#f4f6f8;font:15px/1.5 system-ui,sans-serif}
body{margin:0 auto;max-width:1120px;padding:0 20px 60px}
h1{margin:28px 0 4px;font-size:26px}h2{margin:36px 0 8px;font-size:19px}
p{margin:6px 0;max-width:80ch}.faint{color:#66727f}
nav{position:sticky;top:0;background:#f4f6f8;padding:8px 0;border-bottom:1px solid #d9dfe5}
nav a{margin-right:18px;color:#2a62b8;text-decoration:none}
section{background:#fff;border:1px solid #e0e5ea;border-radius:8px}
section{padding:4px 20px 18px;margin:18px 0}
.cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}
.card{background:#fff;border:1px solid #e0e5ea;border-radius:8px;padding:10px 16px;min-width:110px}
.card b{display:block;font-size:20px}
.wide{overflow:auto;max-height:760px}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:3px 10px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid #eef1f4}
th{position:sticky;top:0;background:#fff;white-space:nowrap}
td.number,th.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.bar{width:120px}td.bar div{background:#d2483b;height:10px;margin-top:5px}
td.nodes{max-width:340px;overflow-wrap:anywhere;color:#66727f}
code{font-size:12px;overflow-wrap:anywhere}
svg{max-width:100%;height:auto}.graph svg{max-width:none}
.yes{color:#1e7d32}.no{color:#b3261e}
"""


@frozen
class PageContent:
    bundle: str
    program: Program
    kernels: Mapping[str, KernelEntry]
    others: tuple[Program, ...]
    provenance: Mapping[str, str]
    times: Times | None
    ceilings: Ceilings | None
    works: tuple[KernelWork, ...]
    sizes: Sizes
    checks: tuple[Check, ...]


def page(facts: PageContent) -> str:
    sections = {
        "time": ("Time per step", _times(facts)),
        "graph": ("Graph", _graph(facts)),
        "kernels": ("Kernels and their roofline", _kernels(facts)),
        "memory": ("Memory over the steps", _memory(facts)),
        "sizes": ("Sizes", _sizes(facts)),
        "checks": ("Checks", _checks(facts.checks)),
        "made": ("Made with", _table(("tool", "version"), facts.provenance.items())),
    }
    title = f"{facts.bundle}: {facts.program.qualified_name}"
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width">'),
        tag("title", f"kgen report, {title}"),
        tag("style", Markup(STYLE)),
    )
    body = tag(
        "body",
        tag("h1", title),
        _interface(facts.program),
        _cards(facts),
        tag("nav", [tag("a", name, href=f"#{key}") for key, (name, _) in sections.items()]),
        [
            tag("section", tag("h2", name), content, id=key)
            for key, (name, content) in sections.items()
        ],
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _interface(program: Program) -> Content:
    def words(values: Iterable[object]) -> str:
        return ", ".join(map(str, values))

    def shown(kind: str, values: Sequence[object]) -> Markup:
        return tag("p", f"{kind}: {words(values)}", class_="faint")

    states = [
        _value(s.name, (v := program.by_name[s.input]).dtype, v.shape) for s in program.states
    ]
    return [
        shown("inputs", [_value(v.name, v.dtype, v.shape) for v in program.inputs]),
        shown("outputs", [_value(v.name, v.dtype, v.shape) for v in program.outputs]),
        *([shown("states, kept between runs", states)] if states else []),
    ]


def _value(name: str, dtype: object, shape: Sequence[int]) -> str:
    return f"{name} {dtype} {'×'.join(map(str, shape)) or 'scalar'}"


def _cards(facts: PageContent) -> Markup:
    cards = {"steps": str(len(facts.program.steps)), "kernels": str(len(facts.program.kernels))}
    if facts.times is not None:
        kind = "time per run" if facts.times.measured else "time per run, estimated"
        cards[kind] = _seconds(facts.times.total)
    cards |= {
        "weights": bytes_(facts.sizes.weights),
        "arena": bytes_(facts.sizes.arena),
        "machine code": bytes_(facts.sizes.code),
    }
    return tag(
        "div",
        [
            tag("div", tag("b", value), tag("span", name), class_="card")
            for name, value in cards.items()
        ],
        class_="cards",
    )


def _times(facts: PageContent) -> Content:
    times = facts.times
    if times is None:
        return tag(
            "p",
            "No times are known: this machine does not run the program, and kgen has no published "
            "figures for a device of its target.",
        )
    rows = []
    for number in _by_time(facts.program.steps, times.shares):
        step, seconds, share = (
            facts.program.steps[number], times.seconds[number], times.shares[number]
        )  # fmt: skip
        entry = facts.kernels[f"{facts.program.target}/{step.kernel}"]
        bar = tag("div", style=f"width:{share / (max(times.shares) or 1.0):.1%}")
        rows.append(
            tag(
                "tr",
                tag("td", number, class_="number"),
                tag("td", "-" if seconds is None else _seconds(seconds), class_="number"),
                tag("td", f"{share:.1%}", class_="number"),
                tag("td", bar, class_="bar"),
                tag("td", title_of(entry)),
                tag("td", ", ".join(step.nodes) or "-", class_="nodes"),
            )
        )
    names = ("step", "time", "share", "", "kernel", "nodes")
    numbers = ("step", "time", "share")
    header = [tag("th", name, class_="number" if name in numbers else None) for name in names]
    return [
        tag("p", f"{times.source[:1].upper()}{times.source[1:]}."),
        tag(
            "p",
            "Steps are grouped by kernel; the kernel with the largest total time comes first. "
            "Steps are numbered in the order of execution.",
        ),
        tag("div", tag("table", tag("tr", header), rows), class_="wide"),
    ]


def _by_time(steps: Sequence[Step], shares: Sequence[float]) -> list[int]:
    """Return the steps' numbers, grouped by kernel. Slow groups come first, and slow steps within a
    group."""
    totals: dict[str, float] = {}
    for step, share in zip(steps, shares, strict=True):
        totals[step.kernel] = totals.get(step.kernel, 0.0) + share
    return sorted(
        range(len(steps)), key=lambda n: (-totals[steps[n].kernel], steps[n].kernel, -shares[n], n)
    )


def _graph(facts: PageContent) -> Content:
    shares = facts.times.shares if facts.times is not None else ()
    try:
        drawn = picture(facts.program, facts.kernels, shares)
    except BundleError as error:
        return tag("p", f"{error}.")
    return [
        tag("p", "Arrows go from producers to consumers. Weights are not drawn."),
        tag("div", drawn, class_="wide graph"),
    ]


def _kernels(facts: PageContent) -> Content:
    ceilings = facts.ceilings
    parts: list[Content] = []
    if ceilings is not None and ceilings.flops and any(work.rate for work in facts.works):
        parts += [
            tag(
                "p",
                f"Ceilings: {ceilings.source}. Each circle is a kernel; its area is the kernel's "
                "share of the time. Flops are those of one call, bytes those of its tensors, each "
                "read or written once. Weights are read from the fastest memory that holds all "
                "weights of the program. The arithmetic ceiling is that of the type in which the "
                "kernel multiplies; a kernel that splits f32 into bytes computes several products "
                "for each one.",
            ),
            charts.roofline(facts.works, ceilings),
        ]
        if facts.times is not None and not facts.times.measured:
            least = "Times are estimates; where they reach 100 %, the ceiling is the estimate."
            parts.append(tag("p", least))
    elif ceilings is None:
        parts.append(tag("p", "No ceilings are known for this target."))
    names = ("", "kernel", "calls", "time per call", "flop/s", "B/s", "of ceiling", "limited by")
    rows = []
    for number, work in enumerate(facts.works, 1):
        reached = work.reached(ceilings) if ceilings is not None else None
        rows.append(
            (
                number,
                tag("code", work.entry.key, title=from_json(work.entry.spec).formula),
                work.steps,
                _seconds(work.seconds) if work.seconds else "-",
                rate(work.rate, "") if work.rate and work.flops else "-",
                rate(work.nbytes / work.seconds, "") if work.seconds else "-",
                f"{reached[0]:.0%}" if reached else "-",
                reached[1] if reached else "-",
            )
        )
    parts.append(tag("div", _table(names, rows), class_="wide"))
    return parts


def _memory(facts: PageContent) -> Content:
    try:
        found = flow(facts.program, facts.kernels)
    except BundleError as error:
        return tag("p", f"{error}.")
    count, arena = len(facts.program.steps), facts.program.arena_bytes
    if not arena:
        return tag("p", "The program needs no arena.")
    most = max(found.occupied(step) for step in range(count))
    return [
        tag(
            "p",
            f"The arena has {bytes_(arena)} ({arena} bytes); the step with the most live bytes "
            f"uses {bytes_(most)} ({most} bytes, {most / arena:.0%} of the arena).",
        ),
        charts.memory(found, count, arena),
    ]


def _sizes(facts: PageContent) -> Content:
    sizes = facts.sizes
    rows = [
        ("weights, mapped from the file", sizes.weights),
        ("machine code", sizes.code),
        ("source texts of kernels", sizes.texts),
        ("bundle file", sizes.bundle),
        ("arena, at run time", sizes.arena),
    ]
    parts: list[Content] = [
        _table(("part", "size", "bytes"), [(name, bytes_(n), n) for name, n in rows])
    ]
    if facts.others:
        names = ", ".join(program.qualified_name for program in facts.others)
        parts.append(tag("p", f"Other programs of the bundle: {names}.", class_="faint"))
    return parts


def _checks(checks: Sequence[Check]) -> Markup:
    words = {True: ("passed", "yes"), False: ("failed", "no"), None: ("not done", "faint")}
    rows = [
        (
            check.name,
            tag("span", words[check.passed][0], class_=words[check.passed][1]),
            check.finding,
        )
        for check in checks
    ]
    return _table(("check", "result", "finding"), rows)


def _table(names: Sequence[str], rows: Iterable[Sequence[Content]]) -> Markup:
    """Return a table; columns whose cells all begin with a digit are aligned to the right."""
    rows = [list(row) for row in rows]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(names))]

    def row(element: str, cells: Sequence[Content]) -> Markup:
        return tag(
            "tr",
            [
                tag(element, cell, class_="number" if r else None)
                for cell, r in zip(cells, right, strict=True)
            ],
        )

    return tag("table", row("th", names), [row("td", cells) for cells in rows])


def _is_number(cell: Content) -> bool:
    if isinstance(cell, Markup) or not isinstance(cell, str | int | float):
        return False
    text = str(cell)
    return text == "-" or text[:1].isdigit()


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
