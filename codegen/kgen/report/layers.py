"""Layered layout of a directed acyclic graph: boxes in layers, edges from top to bottom.

The steps are those of Sugiyama, Tagawa and Toda ("Methods for Visual Understanding of Hierarchical
System Structures", 1981):

1. Each node's layer is the length of the longest path to it.
2. An edge across several layers bends in each; all edges of a source share its bends.
3. Nodes of a layer are sorted by the mean position of their neighbours.
4. Positions minimise the weighted squares of the edges' horizontal lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen_runtime.values import frozen

Point = tuple[float, float]
#: Gap between boxes of a layer, gap between layers, and width of a bend.
BESIDE, BETWEEN, BEND = 24.0, 34.0, 10.0
#: Passes over all layers that sort them, and that position their nodes.
SWEEPS, PASSES = 12, 200
#: Weights of edges between two boxes, a box and a bend, and two bends, from E. Gansner et
#: al., "A Technique for Drawing Directed Graphs" (1993).
STRAIGHT = (1.0, 2.0, 8.0)


@frozen
class DrawnLayers:
    """Layered drawing of a graph.

    `boxes` are upper left corners; `edges` are the bends from the middle of the source's lower side
    to the middle of the sink's upper side.
    """

    boxes: tuple[Point, ...]
    edges: Mapping[tuple[int, int], tuple[Point, ...]]
    width: float
    height: float


def layout(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> DrawnLayers:
    """Return the layout of boxes of the given widths and heights. An edge must go to a box of a
    higher number."""
    edges = sorted(set(edges))
    layer = _layers(len(sizes), edges)
    graph = _Bent(layer, edges)
    rows = graph.ordered()
    widths = [w for w, _ in sizes] + [BEND] * (len(graph.layer) - len(sizes))
    centres = _centres(rows, graph, widths, len(sizes))
    heights = [max(sizes[n][1] if n < len(sizes) else 0.0 for n in row) for row in rows]
    tops = [sum(heights[:i]) + BETWEEN * i for i in range(len(rows))]
    left = min((centres[n] - widths[n] / 2 for n in range(len(widths))), default=0.0)
    right = max((centres[n] + widths[n] / 2 for n in range(len(widths))), default=0.0)

    def middle(n: int, *, lower: bool) -> Point:
        height = sizes[n][1] if n < len(sizes) else heights[graph.layer[n]] * lower
        return centres[n] - left, tops[graph.layer[n]] + height * lower

    return DrawnLayers(
        boxes=tuple(
            (centres[n] - left - w / 2, tops[graph.layer[n]]) for n, (w, _) in enumerate(sizes)
        ),
        edges={
            (u, v): (
                middle(u, lower=True),
                *(p for n in bends for p in (middle(n, lower=False), middle(n, lower=True))),
                middle(v, lower=False),
            )
            for (u, v), bends in graph.bends.items()
        },
        width=right - left,
        height=(tops[-1] + heights[-1]) if rows else 0.0,
    )


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return each node's layer: the longest path to it. Sources are right above a first reader."""
    layer = [0] * count
    for u, v in edges:  # sorted by source, so the layer of u is final
        layer[v] = max(layer[v], layer[u] + 1)
    sinks = {v for _, v in edges}
    below: dict[int, int] = {}
    for u, v in edges:
        below[u] = min(below.get(u, layer[v]), layer[v])
    for n in below.keys() - sinks:
        layer[n] = below[n] - 1
    return layer


class _Bent:
    """The graph with an additional node, a bend, in each layer that edges of a source cross."""

    def __init__(self, layer: Sequence[int], edges: Sequence[tuple[int, int]]) -> None:
        self.layer = list(layer)
        self.above: list[list[int]] = [[] for _ in layer]
        self.below: list[list[int]] = [[] for _ in layer]
        self.bends: dict[tuple[int, int], tuple[int, ...]] = {}
        made: dict[tuple[int, int], int] = {}
        for u, v in edges:
            path, last = list[int](), u
            for row in range(layer[u] + 1, layer[v]):
                if (u, row) not in made:
                    made[u, row] = self._node(row)
                    self._join(last, made[u, row])
                last = made[u, row]
                path.append(last)
            self._join(last, v)
            self.bends[u, v] = tuple(path)

    def _node(self, row: int) -> int:
        self.layer.append(row)
        self.above.append([])
        self.below.append([])
        return len(self.layer) - 1

    def _join(self, u: int, v: int) -> None:
        self.below[u].append(v)
        self.above[v].append(u)

    def ordered(self) -> list[list[int]]:
        """Return each layer's nodes from left to right, in an order with few crossings."""
        rows: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        for n, number in enumerate(self.layer):
            rows[number].append(n)
        best, fewest = [list(row) for row in rows], self._crossings(rows)
        place = {n: at for row in rows for at, n in enumerate(row)}
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            near = self.above if down else self.below
            for row in rows if down else reversed(rows):
                row.sort(key=lambda n: _mean([place[m] for m in near[n]], place[n]))
                place |= {n: at for at, n in enumerate(row)}
            if (found := self._crossings(rows)) < fewest:
                best, fewest = [list(row) for row in rows], found
        return best

    def _crossings(self, rows: Sequence[Sequence[int]]) -> int:
        place = {n: at for row in rows for at, n in enumerate(row)}
        count = 0
        for row in rows:
            ends = [(place[n], place[m]) for n in row for m in self.below[n]]
            count += sum(
                (a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[:i]
            )
        return count


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _centres(
    rows: Sequence[Sequence[int]], graph: _Bent, widths: Sequence[float], boxes: int
) -> list[float]:
    """Return the middle of each node. Edges are horizontally short; those between bends are nearly
    vertical."""
    centres = [0.0] * len(widths)
    ends = [  # per node: the other ends of its edges, with weights
        [(m, STRAIGHT[(n >= boxes) + (m >= boxes)]) for m in graph.above[n] + graph.below[n]]
        for n in range(len(widths))
    ]
    for row in rows:
        _put(row, [0.0] * len(row), [1.0] * len(row), widths, centres)
    for sweep in range(PASSES):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            weights = [sum(w for _, w in ends[n]) for n in row]
            wanted = [
                sum(w * centres[m] for m, w in ends[n]) / weight if weight else centres[n]
                for n, weight in zip(row, weights, strict=True)
            ]
            _put(row, wanted, [weight or 1.0 for weight in weights], widths, centres)
    return centres


def _put(
    row: Sequence[int],
    wanted: Sequence[float],
    weights: Sequence[float],
    widths: Sequence[float],
    centres: list[float],
) -> None:
    """Set the `centres` of a layer's nodes, as near as possible to the `wanted` ones, in the same
    order and with gaps between. Least squares, by pooling adjacent violators."""
    offsets, at = [], 0.0
    for i, n in enumerate(row):
        if i:
            at += (widths[row[i - 1]] + widths[n]) / 2 + BESIDE
        offsets.append(at)
    pools: list[tuple[float, float, int]] = []  # mean, weight, count
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            m, w, c = pools.pop()
            mean, weight, count = (m * w + mean * weight) / (w + weight), w + weight, c + count
        pools.append((mean, weight, count))
    means = (mean for mean, _, count in pools for _ in range(count))
    for n, offset, mean in zip(row, offsets, means, strict=True):
        centres[n] = mean + offset
