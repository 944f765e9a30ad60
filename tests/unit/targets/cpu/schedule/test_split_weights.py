"""Products by known s8 weights on CPUs without VNNI: as bytes if most groups of weights fit in
16 bits, else as words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen import building, pipeline
from kgen.check.static.hot_loop import innermost, loops_in
from kgen.check.static.machine_code import parse_assembly
from kgen.schedule import DotMatmul, Schedule
from kgen.spec import Conv2d, Layout, Matmul, Spec
from kgen.targets import find
from kgen.targets.cpu.assemble import assembly
from kgen.targets.cpu.plan.packing.split_groups import unfit_groups
from kgen.targets.cpu.schedule.cost_model import SPLIT_COPY, SPLIT_REPLACE, best
from kgen.targets.cpu.schedule.space import spaces

V3 = find("x86-64-v3")
Weights = npt.NDArray[np.int8]


def product(m: int, n: int, k: int, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype="s8", constant=("b",), **fields)


def weights(spread: float, *shape: int) -> Weights:
    """Return normal weights of this standard deviation; uniform ones if it is 0."""
    rng = np.random.default_rng(0)
    wide = rng.normal(0, spread, shape) if spread else rng.integers(-127, 128, shape)
    return np.clip(np.rint(wide), -127, 127).astype(np.int8)


def fits(group: list[int], sign: int) -> bool:
    """Whether no pair of a group saturates, with odd weights unchanged or of opposite sign."""
    (a, b, c, d), least = group, -128
    if sign < 0 and least in (b, d):
        return False
    return max(abs(a + sign * b), abs(c + sign * d)) <= 128


@pytest.mark.parametrize(("k", "n"), [(64, 40), (7, 8), (133, 17)])
def test_groups_that_do_not_fit(k: int, n: int) -> None:
    extremes = np.array([-128, -127, -65, -64, -1, 0, 63, 64, 65, 127], np.int8)
    b = np.random.default_rng(k).choice(extremes, (k, n), p=[0.02] * 4 + [0.42, 0.42] + [0.02] * 4)
    b[: k // 2, : n // 2] = np.where(np.arange(n // 2) % 2, 100, 30)
    rows = np.zeros((-(-k // 4) * 4, n), np.int64)
    rows[:k] = b
    for width, found in zip((8, 16, 24), unfit_groups(b, (8, 16, 24)), strict=True):
        panels = [
            [rows[at : at + 4, column].tolist() for column in range(first, min(first + width, n))]
            for first in range(0, n, width)
            for at in range(0, len(rows), 4)
        ]
        beyond = [not all(fits(group, 1) for group in panel) for panel in panels]
        apart = [not all(fits(group, -1) for group in panel) for panel in panels]
        both = [one and other for one, other in zip(beyond, apart, strict=True)]
        assert found.tolist() == pytest.approx([np.mean(beyond), np.mean(both)])
        assert 0 < sum(both) < len(panels) or len(panels) < 4


def is_split(schedule: Schedule) -> bool:
    return isinstance(schedule, DotMatmul) and schedule.pack_b


def splits(spec: Spec, *known: Weights, name: str = "x86-64-v3") -> bool:
    return is_split(pipeline.plan(spec, find(name), weights=known).schedule)


def test_narrow_weights_are_multiplied_as_bytes() -> None:
    """In either layout, in a batch, and in a convolution; several calls of a kernel count by the
    mean of their weights."""
    spec, narrow, wide = product(196, 256, 512), weights(20, 512, 256), weights(0, 512, 256)
    assert splits(spec, narrow)
    assert not splits(spec, wide)
    assert not splits(spec)
    assert splits(spec, narrow, narrow, narrow, wide) and not splits(spec, narrow, wide, wide)
    # Signs alternate along K, and are random along N.
    alternating = np.outer((-1) ** np.arange(512), np.sign(wide[0] + 0.5)).astype(np.int8) * 100
    turned = product(196, 256, 512, layout=Layout.NT)
    assert splits(turned, alternating.T) and not splits(turned, wide.T)
    two = product(196, 256, 512, batch=2)
    assert splits(two, np.stack((narrow, narrow))) and not splits(two, np.stack((narrow, wide)))
    conv = Conv2d(
        input=(1, 64, 14, 14), weights=(64, 64, 3, 3), dtype="s8", constant=("b",), padding=1,
        weight_layout="hwio",
    )  # fmt: skip
    assert splits(conv, weights(20, 576, 64)) and not splits(conv, weights(0, 576, 64))


def test_others_are_not() -> None:
    """A single row of A reads B only once, and CPUs with VNNI multiply bytes anyway."""
    assert not splits(product(1, 512, 512), weights(20, 512, 512))
    assert not splits(product(196, 256, 512), weights(20, 512, 256), name="x86-64-v3+vnni")


def test_candidates_plan() -> None:
    """Some candidates have all rows in one block, which splits B once."""
    spec = product(49, 200, 300)
    (space,) = spaces(spec, V3, {"pack_b": 1}, "dot")
    for row in range(0, len(space), 61):
        pipeline.plan(spec, V3, space.schedule(row))
    assert {50, 51, 52} <= {*space.columns["mc"].tolist()}


@pytest.mark.integration
@pytest.mark.parametrize(("given", "expected"), [({}, True), ({"pack_b": 0}, False)])
def test_constants_of_a_build_choose_the_schedule(given: dict[str, int], expected: bool) -> None:
    """A field that the user sets does not change."""
    spec, constants = product(196, 256, 512), {"b": weights(20, 512, 256)}
    found = building.build(spec, V3, constants=constants, schedule=given, cache=False)
    assert is_split(found.kernels[0].plan.schedule) == expected


@pytest.mark.parametrize(("spreads", "expected"), [((20, 20), True), ((20, 0, 0), False)])
def test_weights_of_a_model_choose_the_schedule(spreads: tuple[float, ...], expected: bool) -> None:
    """Layers of equal shapes share a kernel, and the weights of each count."""
    pytest.importorskip("onnx")
    from onnx import TensorProto

    from kgen.graph.compile import load, lowered_for, planned
    from tests.onnx_models import Maker

    m, outputs = Maker(), []
    for number, spread in enumerate(spreads):
        x = m.input(f"x{number}", (64, 256), TensorProto.INT8)
        layer = m.constant(np.roll(weights(spread, 256, 256), number), np.int8)
        outputs.append(m.add("MatMulInteger", x, layer))
    found = m.model(*outputs, dtype=TensorProto.INT32)
    plans = planned(lowered_for(load(found, {}), V3), V3).values()
    assert [is_split(plan.schedule) for plan in plans] == [expected] * len(spreads)


@pytest.mark.integration
@pytest.mark.parametrize("vectors", [1, 2, 3])
def test_instructions_of_splitting(vectors: int) -> None:
    """The cost model counts the machine instructions of both loops that split a panel."""
    spec = product(64, 32 * vectors, 512)
    schedule = best(spec, V3, {"pack_b": 1, "nr": 8 * vectors}, "dot")
    source = pipeline.source(pipeline.plan(spec, V3, schedule))
    code = parse_assembly(assembly(source.text, V3.arch, sorted(V3.features)))
    loops = [[code[i].opcode for i in body] for body in innermost([*loops_in(code)])]
    found = sorted(len(body) for body in loops if body.count("vpabsw") == vectors)
    for count, (group, vector) in zip(found, (SPLIT_COPY, SPLIT_REPLACE), strict=True):
        assert count == pytest.approx(group + vector * vectors, rel=0.1)
