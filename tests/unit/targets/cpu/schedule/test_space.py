"""Schedule candidates that the cost model ranks are legal and complete."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kgen import targets
from kgen.errors import KgenError
from kgen.schedule import BlockedMatmul, CpuMatmul
from kgen.spec import ConstantOperand, Conv2d, DType, Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import implicit_gemm
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.schedule.space import MatmulSpace, spaces

NAMES = [target.name for target in FAMILY.targets]
EXTENTS = st.one_of(st.integers(1, 40), st.integers(1, 3000))
#: Rows of each space that are planned, besides the first and the last one.
SAMPLE = 6
ZERO = np.zeros(1)
PACKED: dict[str, object] = {"constant": ("b",)}


@st.composite
def specs(draw: st.DrawFn) -> tuple[Matmul, Target]:
    """Draw a product that the target supports."""
    target = targets.find(draw(st.sampled_from(NAMES)))
    b_dtype = draw(st.sampled_from([None, None, "bf16", "s8", "s4"]))
    types = [DType.F32] if b_dtype else FAMILY.dtypes("matmul", target)
    fields = {
        "b_dtype": b_dtype,
        "constant": ("b",) if b_dtype or draw(st.booleans()) else (),
        "epilogue": draw(st.sampled_from([(), ("bias", "relu")])),
        "batch": draw(st.sampled_from([1, 1, 3])),
    }
    try:
        spec = Matmul(
            m=draw(EXTENTS),
            n=draw(EXTENTS),
            k=draw(EXTENTS),
            dtype=draw(st.sampled_from(types)),
            layout=draw(st.sampled_from(list(Layout))),
            **fields,  # type: ignore[arg-type]
        )
        FAMILY.check_support(spec, target)
    except KgenError:
        assume(False)
    return spec, target


def sampled(space: MatmulSpace, seed: int) -> list[BlockedMatmul]:
    rows = np.random.default_rng(seed).integers(0, len(space), SAMPLE)
    return [space.schedule(int(row)) for row in (0, len(space) - 1, *rows)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=specs(), seed=st.integers(0, 1 << 30))
def test_every_candidate_plans(case: tuple[Matmul, Target], seed: int) -> None:
    spec, target = case
    found = list(spaces(spec, target))
    assert found
    for schedule in itertools.chain.from_iterable(sampled(space, seed) for space in found):
        assert FAMILY.plan(spec, target, schedule).schedule == schedule


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=specs())
def test_candidates_are_distinct_and_in_the_order_of_their_fields(
    case: tuple[Matmul, Target],
) -> None:
    spec, target = case
    for space in spaces(spec, target):
        names = [field.name for field in dataclasses.fields(space.kind)]
        order = [names.index(name) for name in space.columns if name in names]
        assert order == sorted(order)
        table = np.stack(list(space.columns.values()), axis=1)
        assert len(np.unique(table, axis=0)) == len(space)


@pytest.mark.parametrize(
    ("name", "dtype", "fields", "mainloops"),
    [
        ("x86-64-v3", "f32", {}, {"blis", "ahead", "split-k", "outer"}),
        ("x86-64-v3", "f32", {"layout": "nt"}, {"blis", "inner"}),
        ("x86-64-v3", "f32", PACKED, {"blis", "ahead"}),
        ("x86-64-v4+bf16", "bf16", {}, {"blis", "ahead", "split-k", "dot", "outer"}),
        ("x86-64-v4+vnni", "s8", {}, {"dot", "outer"}),
        ("x86-64-v4+vnni", "s8", {"layout": "nt"}, {"dot", "inner"}),
        ("x86-64-amx", "bf16", {}, {"blis", "ahead", "split-k", "dot", "amx", "outer"}),
        ("x86-64-v3", "f32", {**PACKED, "b_dtype": "s4", "layout": "nt"}, {"limbs"}),
        ("x86-64-v4+vnni", "f32", {**PACKED, "b_dtype": "s8"}, {"limbs"}),
        ("aarch64-neon", "f32", {}, {"blis", "ahead", "split-k", "outer"}),
    ],
)
def test_every_main_loop_has_candidates(
    name: str, dtype: str, fields: dict[str, object], mainloops: set[str]
) -> None:
    spec = Matmul(m=4, n=512, k=1024, dtype=dtype, **fields)  # type: ignore[arg-type]
    found = {
        space.schedule(int(row)).mainloop
        for space in spaces(spec, targets.find(name))
        for extreme in (np.argmin, np.argmax)
        for row in [extreme(space.columns.get("ahead", ZERO))]
    }
    assert found == mainloops
    for mainloop in mainloops:
        assert list(spaces(spec, targets.find(name), mainloop=mainloop))


def test_a_prepacked_transposed_b_has_candidates_of_k_side_by_side() -> None:
    """With a small N, B is transposed first, for inner products."""
    spec = Matmul(m=64, n=2, k=512, dtype="f32")
    (inner,) = spaces(spec, targets.find("x86-64-v3"), mainloop="inner")
    assert (inner.columns["pack_b"] == 1).all()


@pytest.mark.parametrize(
    ("mainloop", "fields"),
    [
        ("blis", {"mr": 3, "nr": 16, "pack_b": 0}),
        ("blis", {"kc": 96, "sums_in_out": 0}),
        ("ahead", {"ahead": 4096, "pack_b": 1, "level": 2}),
        ("split-k", {"split_k": 3}),
        ("outer", {"parts": 2, "prefetch": 0}),
        ("dot", {"mr": 2, "nr": 32}),
    ],
)
def test_fixed_fields_keep_their_value(mainloop: str, fields: dict[str, int]) -> None:
    target = targets.find("x86-64-v4+bf16")
    dtype = DType.BF16 if mainloop == "dot" else DType.F32
    spec = Matmul(m=6, n=192, k=1000 if mainloop != "blis" else 960, dtype=dtype)
    found = list(spaces(spec, target, fields, mainloop))
    assert found
    for space in found:
        for name, value in fields.items():
            assert (space.columns[name] == value).all()
        for schedule in sampled(space, seed=0):
            assert FAMILY.plan(spec, target, schedule)


def test_a_fixed_value_that_is_illegal_leaves_no_candidate() -> None:
    spec, target = Matmul(m=6, n=192, k=960, dtype="f32"), targets.find("x86-64-v3")
    assert not list(spaces(spec, target, {"mr": 40, "nr": 16}, "blis"))
    assert not list(spaces(spec, target, {}, "amx"))


def test_two_vectors_of_half_a_line_are_candidates() -> None:
    """The candidates are outer products in halves and by words."""
    spec, target = Matmul(m=2, n=512, k=1024, dtype="bf16"), targets.find("x86-64-v4+bf16")
    (outer,) = spaces(spec, target, mainloop="outer")
    pairs = set(zip(outer.columns["halves"].tolist(), outer.columns["words"].tolist(), strict=True))
    assert pairs == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_amx_takes_all_of_a_k_that_is_no_multiple_of_a_tile() -> None:
    """Blocks of K need partial sums on the stack, which very many rows exceed."""
    target = targets.find("x86-64-amx")
    for m in (64, 1 << 20):
        spec = Matmul(m=m, n=1, k=33, dtype="bf16", constant=(ConstantOperand.B,))
        (amx,) = spaces(spec, target, mainloop="amx")
        assert amx.columns["kc"].max() == 64
        assert FAMILY.plan(spec, target, FAMILY.choose(spec, target))


def test_a_small_stack_leaves_candidates_that_fit() -> None:
    spec, target = Matmul(m=300, n=2000, k=2000, dtype="f32"), targets.find("x86-64-v3")
    small = dataclasses.replace(target, limits={**target.limits, "stack_bytes": 24 << 10})
    found = list(spaces(spec, small))
    assert found and sum(map(len, found)) < sum(map(len, spaces(spec, target)))
    for schedule in itertools.chain.from_iterable(sampled(space, seed=0) for space in found):
        assert FAMILY.plan(spec, small, schedule)


@given(
    rows=st.lists(
        st.tuples(*[st.sampled_from([0, 1, 7, 64])] * 3, *[st.integers(0, 2**40)] * 3), min_size=1
    ),
    repeats=st.integers(1, 3),
)
def test_candidates_are_distinct_and_in_order(rows: list[tuple[int, ...]], repeats: int) -> None:
    """Rows are those of numpy's unique, also if a row's number needs more than 63 bits."""
    table = np.array(rows * repeats, np.int64)
    columns = {str(i): column for i, column in enumerate(table.T)}
    found = MatmulSpace(kind=CpuMatmul, columns=columns).where(np.ones(len(table), bool))
    assert np.array_equal(np.stack([*found.columns.values()], axis=1), np.unique(table, axis=0))


def test_blocks_of_k_do_not_cut_segments_of_windows_anywhere() -> None:
    """A row of a 3x3 kernel with 64 channels is a segment of 192 elements: blocks of K are whole
    segments, or equal parts of one."""
    target = targets.find("x86-64-v4")
    spec = implicit_gemm(Conv2d(input=(1, 64, 32, 32), weights=(64, 64, 3, 3), dtype="f32"))
    (space,) = spaces(spec, target, {"pack_a": 1}, "blis")
    depths = {int(kc) for kc in space.columns["kc"]}
    assert {192, 384, 576} <= depths
    assert all(kc % 192 == 0 or 192 % kc == 0 for kc in depths), depths
    product = Matmul(m=spec.m, n=spec.n, k=spec.k, dtype="f32", layout="nt")
    (space,) = spaces(product, target, {"pack_a": 1}, "blis")
    assert 288 in space.columns["kc"]
