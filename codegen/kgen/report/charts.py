"""Charts of a report, as SVG: kernels under their roofline, and the arena over the steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen.report.figures import Ceilings, KernelWork
from kgen.report.flow import Flow
from kgen.report.markup import Markup, tag
from kgen.report.picture import FAINT, HOT, INK, KINDS, kind_of

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900.0, 380.0, 64.0, 16.0, 16.0, 42.0
INNER, DEEP = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
STYLE = (
    f"text{{font:11px system-ui,sans-serif;fill:{INK}}}.a{{fill:{FAINT}}}"
    ".r{text-anchor:end}.m{text-anchor:middle}.g{stroke:#e4e8ec;stroke-width:1}"
)
#: Colours of the arena's blocks, used in turn.
COLOURS = ("#7aa6e0", "#8ccf94", "#f0b766", "#c79be0", "#e58f86", "#7fcfd0", "#b8b36a", "#9aa7b4")


def _chart(name: str, *parts: object) -> Markup:
    return tag(
        "svg",
        tag("title", name),
        tag("style", Markup(STYLE)),
        parts,  # type: ignore[arg-type]
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )


def roofline(works: Sequence[KernelWork], ceilings: Ceilings) -> Markup:
    """Return a chart of flops per second over flops per byte, both logarithmic. Each circle is a
    kernel; its area is the kernel's share of the time."""
    shown = [work for work in works if work.rate and work.intensity > 0]
    slowest = list(ceilings.bandwidths.values())[-1]
    most = max(ceilings.flops.values())
    ridge = most / slowest
    intensities = [ridge, *(work.intensity for work in shown)]
    x0, x1 = math.floor(math.log10(min(intensities))), math.ceil(math.log10(max(intensities) * 1.5))
    lowest = min([*(work.rate or 1.0 for work in shown), min(ceilings.flops.values()) / 10])
    y0, y1 = math.floor(math.log10(lowest)), math.ceil(math.log10(most * 1.2))

    def x(value: float) -> float:
        return LEFT + INNER * (math.log10(value) - x0) / (x1 - x0)

    def y(value: float) -> float:
        return TOP + DEEP * (y1 - math.log10(value)) / (y1 - y0)

    grid = []
    for power in range(x0, x1 + 1):
        at = x(10.0**power)
        grid += [tag("line", class_="g", x1=at, x2=at, y1=TOP, y2=TOP + DEEP)]
        grid += [tag("text", f"{10.0**power:g}", class_="a m", x=at, y=TOP + DEEP + 16)]
    for power in range(y0, y1 + 1):
        at = y(10.0**power)
        grid += [tag("line", class_="g", x1=LEFT, x2=LEFT + INNER, y1=at, y2=at)]
        grid += [tag("text", rate(10.0**power, ""), class_="a r", x=LEFT - 6, y=at + 4)]
    grid += [
        tag("text", "flops per byte", class_="a m", x=LEFT + INNER / 2, y=HEIGHT - 6),
        tag("text", "flop/s", class_="a", x=LEFT + 4, y=TOP + 12),
    ]
    lines = []
    for i, (name, bandwidth) in enumerate(ceilings.bandwidths.items()):
        start = max(10.0**x0, 10.0**y0 / bandwidth)
        end = most / bandwidth
        if start < end:
            lines += [
                tag(
                    "line", x1=x(start), y1=y(start * bandwidth), x2=x(end), y2=y(most),
                    stroke=INK, stroke_width=1.2,
                ),
                tag(
                    "text", f"{name} {rate(bandwidth, 'B/s')}",
                    transform=_along(
                        0.05 + 0.3 * i, x(start), y(start * bandwidth), x(end), y(most)
                    ),
                ),
            ]  # fmt: skip
    for operands, flops in ceilings.flops.items():
        first = x(max(10.0**x0, flops / max(ceilings.bandwidths.values())))
        lines += [
            tag(
                "line", x1=first, y1=y(flops), x2=LEFT + INNER, y2=y(flops),
                stroke=INK, stroke_width=1.2,
            ),
            tag(
                "text", f"arithmetic in {operands} {rate(flops, 'flop/s')}", class_="r",
                x=LEFT + INNER, y=y(flops) - 5,
            ),
        ]  # fmt: skip
    total = sum((work.seconds or 0.0) * work.steps for work in shown) or 1.0
    dots = []
    for number, work in enumerate(works, 1):
        if not work.rate or work.intensity <= 0:
            continue
        part = (work.seconds or 0.0) * work.steps / total
        across, up = x(work.intensity), y(work.rate)
        radius = 5 + 18 * math.sqrt(part)
        colour = KINDS.get(kind_of(work.entry), KINDS["elementwise"])[0]
        dots += [
            tag(
                "circle",
                tag("title", f"{work.entry.key}: {rate(work.rate, 'flop/s')}"),
                cx=across, cy=up, r=radius, fill=colour, fill_opacity=0.85, stroke=HOT,
            ),
            tag("text", number, class_="m", x=across, y=up + 4),
        ]  # fmt: skip
    return _chart("kernels under the roofline", grid, lines, dots)


def _along(part: float, x0: float, y0: float, x1: float, y1: float) -> str:
    """Return the `transform` of a text along a line and just above it. The text starts at the
    fraction `part` of the line."""
    angle = math.degrees(math.atan2(y1 - y0, x1 - x0))
    x, y = x0 + (x1 - x0) * part, y0 + (y1 - y0) * part - 5
    return f"translate({x:.1f} {y:.1f}) rotate({angle:.1f})"


def memory(flow: Flow, steps: int, arena: int) -> Markup:
    """Return a chart of the arena: steps on the x axis, bytes on the y axis."""
    per, high = INNER / max(steps, 1), DEEP / max(arena, 1)
    blocks = []
    for number, block in enumerate(flow.blocks):
        blocks.append(
            tag(
                "rect",
                tag(
                    "title",
                    f"{block.value}: {bytes_(block.end - block.start)} at {block.start}, "
                    f"steps {block.first} to {block.last}",
                ),
                x=LEFT + per * block.first,
                y=TOP + DEEP - high * block.end,
                width=per * (block.last + 1 - block.first),
                height=high * (block.end - block.start),
                fill=COLOURS[number % len(COLOURS)],
                stroke="#ffffff",
                stroke_width=0.7,
            )
        )
    axes = []
    for part in range(5):
        at = TOP + DEEP * (1 - part / 4)
        axes += [tag("line", class_="g", x1=LEFT, x2=LEFT + INNER, y1=at, y2=at)]
        axes += [tag("text", bytes_(arena * part // 4), class_="a r", x=LEFT - 6, y=at + 4)]
    for number in range(0, steps, max(1, steps // 12)):
        at = LEFT + per * (number + 0.5)
        axes += [tag("text", number, class_="a m", x=at, y=TOP + DEEP + 16)]
    axes += [tag("text", "step", class_="a m", x=LEFT + INNER / 2, y=HEIGHT - 6)]
    return _chart("arena memory by step", axes, blocks)


def rate(value: float, unit: str) -> str:
    """Return a number with a decimal prefix, such as 12.3 G."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}".rstrip()
    return f"{value:.3g} {unit}".rstrip()


def bytes_(count: int) -> str:
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"
