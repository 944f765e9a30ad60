"""Order in which diverged lanes run.

Of diverged lanes, those at the lowest position run first. Lanes reconverge where their paths join
if all positions before the join are lower than it, and all positions after it are higher. So the
order must keep the blocks of a loop together, and have everything after a loop later. That is a
weak topological order (F. Bourdoncle, "Efficient chaotic iteration strategies with widenings",
1993): strongly connected components in topological order; in each component, its header, then the
other nodes, ordered in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence


def weak_topological_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes that node 0 reaches, in weak topological order."""
    return list(_order(successors, [0], range(len(successors))))


def _order(
    successors: Sequence[Sequence[int]], roots: Sequence[int], among: Collection[int]
) -> Iterator[int]:
    for component in reversed(_components(successors, roots, among)):
        header, *body = component
        yield header
        if body:
            inside = set(body)
            entries = [node for node in successors[header] if node in inside]
            yield from _order(successors, entries + body, inside)


def _components(
    successors: Sequence[Sequence[int]], roots: Sequence[int], among: Collection[int]
) -> list[list[int]]:
    """Return the strongly connected components, each after all components that it reaches, and with
    its first-found node first.

    This is R. Tarjan's algorithm without recursion, because a kernel may have thousands of blocks
    in a chain.
    """
    found: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[list[int]] = []
    path: list[tuple[int, Iterator[int]]] = []

    def enter(node: int) -> None:
        found[node] = lowest[node] = len(found)
        stack.append(node)
        on_stack.add(node)
        path.append((node, iter(successors[node])))

    for root in roots:
        if root not in found:
            enter(root)
        while path:
            node, rest = path[-1]
            for successor in rest:
                if successor not in among:
                    continue
                if successor not in found:
                    enter(successor)
                    break
                if successor in on_stack:
                    lowest[node] = min(lowest[node], found[successor])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == found[node]:
                    start = stack.index(node)
                    components.append(stack[start:])
                    on_stack.difference_update(stack[start:])
                    del stack[start:]
    return components
