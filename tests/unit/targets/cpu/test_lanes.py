"""Rows of B interleaved within lanes, and the resulting order of columns."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline
from kgen.schedule import BlockedMatmul
from kgen.spec import DType, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.kernels.dot import DotPlan
from kgen.targets.cpu.plan.packing.lanes import column_order, unpacks
from kgen.targets.cpu.schedule.cost_model import best


@pytest.mark.parametrize("group", [2, 4])
@pytest.mark.parametrize(("lanes", "lane"), [(1, 16), (2, 16), (4, 16), (4, 8)])
def test_groups_of_columns_are_where_the_order_says(group: int, lanes: int, lane: int) -> None:
    width = lanes * lane
    values = {f"r{k}": [(k, column) for column in range(width)] for k in range(group)}
    results = [f"g{i}" for i in range(group)]
    for step in unpacks(list(values), results, count=width, lane=lane):
        both = values[step.x] + values[step.y]
        values[step.result] = [both[int(i)] for i in re.findall(r"i32 (\d+)", step.mask)]
    found = [element for name in results for element in values[name]]
    groups = [found[at : at + group] for at in range(0, len(found), group)]
    order = column_order(width, lane=lane, group=group)
    for column in range(width):
        assert groups[order[column]] == [(k, column) for k in range(group)]


def test_few_rows_take_rows_of_b_in_whole_vectors() -> None:
    """The tile holds all rows of A, and several adjacent rows of B."""
    target = FAMILY.find("x86-64-v4+vnni")
    assert target is not None
    for m in (2, 4):
        spec = Matmul(m=m, n=4096, k=4096, dtype=DType.S8)
        schedule = best(spec, target, {"mr": m, "nr": 64, "kc": 8 * m, "pack_b": 0}, "dot")
        planned = pipeline.plan(spec, target, schedule)
        assert isinstance(planned, DotPlan)
        assert isinstance(planned.schedule, BlockedMatmul)
        assert planned.interleaving is not None
        assert planned.interleaving.moves_columns
