"""Selection of cases in which each value of each parameter of a test appears.

A test run for another CPU needs no combinations: a target's kernels are the same machine code on
every CPU, and no test depends on the CPU (`tests/packaging/test_hermetic.py`). The run only shows
which tests require instructions without `needs.cpu`, for which one case per value suffices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
OPTION = "--each-value-once"


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, action="store_true", help="few cases: each value of each parameter")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the other cases if the option is given."""
    if not config.getoption(OPTION):
        return
    chosen = {item.nodeid for item in covering([(item, *_case(item)) for item in items])}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def covering(cases: Sequence[tuple[T, str, Mapping[str, str]]]) -> list[T]:
    """Items with values that no earlier item of the same test has. A case is an item, its test, and
    the text of each parameter's value; an item without parameters is always chosen."""
    seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
    chosen = []
    for item, test, values in cases:
        found = set(values.items())
        if not found or found - seen[test]:
            chosen.append(item)
        seen[test] |= found
    return chosen


def _case(item: pytest.Item) -> tuple[str, Mapping[str, str]]:
    spec = getattr(item, "callspec", None)
    return item.nodeid.partition("[")[0], {
        name: repr(value) for name, value in (spec.params if spec is not None else {}).items()
    }
