"""Picture of a program's data flow, as SVG: a box per step, arrows from producers to consumers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kgen.report.flow import flow
from kgen.report.layers import Point, layout
from kgen.report.markup import Markup, shortened, tag
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.program import Program, Step

#: Width and height of a box in pixels, and characters per line of its text.
WIDTH, HEIGHT, CHARACTERS = 250.0, 40.0, 34
END_HEIGHT, MARGIN, RADIUS = 24.0, 16.0, 4.0
#: Colours of boxes by the kind of operation, with the words of the legend.
KINDS: Mapping[str, tuple[str, str]] = {
    "matmul": ("#dbe8fb", "product"),
    "rowwise": ("#dff2e1", "row-wise"),
    "elementwise": ("#fdeed3", "element-wise, copy"),
    "end": ("#ececec", "input, output"),
}
INK, FAINT, HOT = "#1d2733", "#66727f", "#d2483b"
STYLE = (
    f"text{{font:12px system-ui,sans-serif;fill:{INK}}}"
    f".n{{font-size:10px;fill:{FAINT}}}.e{{fill:none;stroke:#8d99a6;stroke-width:1.3}}"
    ".r{text-anchor:end}.m{text-anchor:middle}"
)


def picture(
    program: Program, kernels: Mapping[str, KernelEntry], shares: Sequence[float] = ()
) -> Markup:
    """Return a self-contained SVG; `shares` are the steps' fractions of the total time."""
    found = flow(program, kernels)
    inputs = [v.name for v in program.inputs]
    outputs = [v.name for v in program.outputs]
    steps = range(len(inputs), len(inputs) + len(program.steps))
    count = steps.stop + len(outputs)
    sizes = [(WIDTH, HEIGHT if n in steps else END_HEIGHT) for n in range(count)]
    edges = [(inputs.index(name), steps[number]) for number, name in found.inputs]
    edges += [(steps[writer], steps[reader]) for writer, reader in found.reads]
    edges += [(steps[number], steps.stop + outputs.index(name)) for number, name in found.outputs]
    placed = layout(sizes, edges)
    boxes = []
    for n, corner in enumerate(placed.boxes):
        if n in steps:
            number = n - steps.start
            step = program.steps[number]
            entry = kernels[f"{program.target}/{step.kernel}"]
            share = shares[number] if shares else None
            boxes.append(_step(corner, number, step, entry, share))
        else:
            value = (program.inputs + program.outputs)[n if n < steps.start else n - len(steps)]
            shape = "×".join(map(str, value.shape)) or "scalar"
            boxes.append(_end(corner, value.name, f"{value.dtype} {shape}"))
    legend, across = _legend()
    width = max(placed.width, across) + 2 * MARGIN
    height = placed.height + 2 * MARGIN + END_HEIGHT
    top = MARGIN + END_HEIGHT
    return tag(
        "svg",
        tag("title", f"{program.qualified_name}: {len(program.steps)} steps"),
        tag("style", Markup(STYLE)),
        tag("rect", width=width, height=height, fill="#ffffff"),
        legend,
        tag(
            "g",
            [tag("path", class_="e", d=_curve(points)) for points in placed.edges.values()],
            boxes,
            transform=f"translate({MARGIN:g} {top:g})",
        ),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
    )


def title_of(entry: KernelEntry) -> str:
    """Return a short title of a kernel: its outermost operation and its output."""
    name = entry.op
    if name == kind_of(entry) and "expression" in entry.spec:
        name = re.split(r"\W", entry.spec["expression"].lstrip("(-"))[0]
    shape = "×".join(map(str, entry.output.shape)) or "scalar"
    return f"{name} {shape} {entry.output.dtype}"


def kind_of(entry: KernelEntry) -> str:
    return str(entry.spec.get("op", "elementwise"))


def _step(at: Point, number: int, step: Step, entry: KernelEntry, share: float | None) -> Markup:
    """Draw a step: a box with its kernel, its nodes, and its share of the time (number and bar)."""
    x, y = at
    colour = KINDS.get(kind_of(entry), KINDS["elementwise"])[0]
    nodes = ", ".join(step.nodes)
    first = step.nodes[0] if step.nodes else ""
    more = f" +{len(step.nodes) - 1}" if len(step.nodes) > 1 else ""
    room = CHARACTERS - (0 if share is None else 8)
    shown = [
        tag("title", f"step {number}: {step.kernel}; nodes {nodes}"),
        tag("rect", x=x, y=y, width=WIDTH, height=HEIGHT, rx=RADIUS, fill=colour, stroke="#9aa7b4"),
        tag("text", shortened(f"{number}  {title_of(entry)}", room), x=x + 8, y=y + 16),
        tag(
            "text",
            shortened(first, CHARACTERS + 4 - len(more)) + more,
            class_="n",
            x=x + 8,
            y=y + 31,
        ),
    ]
    if share is not None:
        shown += [
            tag("text", f"{share:.1%}", class_="r", x=x + WIDTH - 8, y=y + 16),
            tag("rect", x=x, y=y + HEIGHT - 4, width=WIDTH * share, height=4, fill=HOT),
        ]
    return tag("g", shown)


def _end(at: Point, name: str, kind: str) -> Markup:
    x, y = at
    colour = KINDS["end"][0]
    radius = END_HEIGHT / 2
    return tag(
        "g",
        tag("title", f"{name}: {kind}"),
        tag(
            "rect", x=x, y=y, width=WIDTH, height=END_HEIGHT, rx=radius, fill=colour,
            stroke="#9aa7b4",
        ),
        tag(
            "text", shortened(f"{name}  {kind}", CHARACTERS), class_="m", x=x + WIDTH / 2, y=y + 16
        ),
    )  # fmt: skip


def _legend() -> tuple[list[Markup], float]:
    """Return the legend and its width."""
    found, x = [], MARGIN
    for colour, word in KINDS.values():
        found += [
            tag("rect", x=x, y=8.0, width=14, height=14, rx=3, fill=colour, stroke="#9aa7b4"),
            tag("text", word, x=x + 20, y=19.0),
        ]
        x += 34 + 7 * len(word)
    return found, x - MARGIN


def _curve(points: Sequence[Point]) -> str:
    """Return the path of an arrow through these points, vertical at each of them."""
    (x, y), *others = points
    words = [f"M{x:.1f} {y:.1f}"]
    for next_x, next_y in others:
        if abs(next_x - x) < 0.05:
            words.append(f"V{next_y:.1f}")
        else:
            middle = (y + next_y) / 2
            words.append(
                f"C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}"
            )
        x, y = next_x, next_y
    # The head of the arrow.
    words.append(f"M{x - 3.5:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{x + 3.5:.1f} {y - 6:.1f}")
    return "".join(words)
