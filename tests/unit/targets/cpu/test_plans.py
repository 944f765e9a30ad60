"""CPU plans and rendered text: only the edge code that a shape needs, and exact constants."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from kgen import pipeline
from kgen.schedule import CpuMatmul, DotMatmul, Schedule
from kgen.spec import DType, Layout, Matmul, Spec
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.cpu_plan import CpuPlan, Run, vector_for
from kgen.targets.cpu.plan.math.functions import (
    DOUBLE,
    FLOAT,
    functions_for,
    normal_tail,
)
from kgen.targets.cpu.plan.packing.panel import (
    Stage,
    interleave,
    panel,
    transpose_stages,
    zip_stages,
)
from kgen.targets.cpu.plan.tiles.folds import folds
from kgen.targets.cpu.plan.tiles.tile import tile_heights
from kgen.targets.cpu.plan.vectors import Vector
from kgen.targets.cpu.schedule.cost_model import best
from tests.specs import relu_of, softmax_of


def target(name: str) -> Target:
    found = FAMILY.find(name)
    assert found is not None
    return found


def text(spec: Spec, name: str = "x86-64-v4", schedule: Schedule | None = None) -> str:
    return pipeline.source(pipeline.plan(spec, target(name), schedule)).text


TILE = CpuMatmul(mr=4, nr=32, mc=16, kc=32, nc=64)


def test_a_shape_that_divides_has_no_edge_code() -> None:
    body = text(Matmul(m=32, n=128, k=64, dtype=DType.F32), schedule=TILE)
    for word in ("masked", "%rows", "%columns.whole", "%depth", "remainder panel"):
        assert word not in body
    assert re.findall(r"define internal void @(\w+)", body) == [
        "tile_4x32",
        "tile_4x32_packing",
    ]


@pytest.mark.parametrize(
    ("m", "n", "k", "present", "absent"),
    [
        (33, 128, 64, ("%rows", "@tile_1x32("), ("masked", "%depth", "%columns.whole")),
        (32, 129, 64, ("%columns.whole", "@tile_4x1("), ("%rows", "%depth", "@tile_1x")),
        (32, 128, 65, ("%depth",), ("%rows", "%columns.whole", "remainder panel", "@tile_1x")),
        (32, 96, 64, ("%columns.whole",), ("masked", "remainder panel", "n.tail")),
    ],
)
def test_each_edge_brings_its_own_code(
    m: int, n: int, k: int, present: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    body = text(Matmul(m=m, n=n, k=k, dtype=DType.F32), schedule=TILE)
    assert [word for word in present if word not in body] == []
    assert [word for word in absent if word in body] == []


@pytest.mark.parametrize(
    ("rows", "mr", "heights"),
    [
        (12, 6, [(6, 2)]),
        (31, 6, [(6, 1), (5, 5)]),
        (32, 6, [(6, 2), (5, 4)]),
        (16, 6, [(6, 1), (5, 2)]),
        (31, 8, [(8, 3), (7, 1)]),
        (13, 6, [(6, 2), (1, 1)]),
        (15, 6, [(6, 2), (3, 1)]),
        (5, 6, [(5, 1)]),
        (3, 1, [(1, 3)]),
    ],
)
def test_tiles_are_as_high_as_each_other_where_that_comes_out_even(
    rows: int, mr: int, heights: list[tuple[int, int]]
) -> None:
    assert tile_heights(rows, mr) == heights
    assert sum(height * count for height, count in heights) == rows


def test_streams_have_a_tail_only_where_there_is_one() -> None:
    assert "masked" not in text(relu_of((128,), dtype=DType.F32))
    assert "masked" in text(relu_of((130,), dtype=DType.F32))
    assert "masked" not in text(softmax_of(3, 64, dtype=DType.F16))
    assert "masked" in text(softmax_of(3, 66, dtype=DType.F16))


def test_a_single_element_is_never_a_masked_access() -> None:
    """LLVM 22 turns a masked access to one widened or narrowed i16 into one of 32 bits."""
    one_row = CpuMatmul(mr=1, nr=16, mc=1, kc=1, nc=32)
    assert "masked" not in text(Matmul(m=1, n=17, k=1, dtype=DType.BF16), schedule=one_row)
    for spec in (relu_of((65,), dtype=DType.F16), softmax_of(2, 1, dtype=DType.BF16)):
        assert "masked" not in text(spec)


def test_runs() -> None:
    run = Run(length=100, vector=8, unroll=4)
    assert (run.step, run.unrolled, run.whole, run.tail) == (32, 96, 96, 4)
    assert run.has_unrolled and not run.has_single
    assert Run(length=8, vector=8, unroll=4).has_single
    assert not Run(length=7, vector=8).has_unrolled


def test_vectors_narrow_for_few_columns() -> None:
    v4 = target("x86-64-v4")
    assert [vector_for(v4, DType.F32, n).count for n in (1, 4, 5, 8, 9, 99)] == [4, 4, 8, 8, 16, 16]
    assert vector_for(v4, DType.F64, 1).count == 2


def test_constants_are_exact_bits() -> None:
    vector = Vector(count=4, scalar="float")
    assert vector.splat(0.1) == "splat (float 0x3FB99999A0000000)"
    assert Vector(count=2, scalar="double").splat(0.1) == "splat (double 0x3FB999999999999A)"
    assert vector.integers.splat(7) == "splat (i32 7)"
    assert vector.first(3) == "<i1 1, i1 1, i1 1, i1 0>"


Values = npt.NDArray[np.float64]


def horner(coefficients: Sequence[float] | Sequence[Values], x: Values) -> Values:
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


def test_polynomials_in_exact_arithmetic() -> None:
    """Only approximation errors remain, against math.exp, math.erfc and math.log."""
    r = np.linspace(-math.log(2) / 2, math.log(2) / 2, 2001)
    assert np.max(np.abs(horner(DOUBLE.exp_coefficients, r) / np.exp(r) - 1)) < 5e-16
    assert DOUBLE.ln2_high + DOUBLE.ln2_low == math.log(2)
    z = np.linspace(0, 5, 2001)
    t = 2 / (2 + z)
    erfc = t * np.exp(-z * z + horner(DOUBLE.erfc_coefficients, 2 * t - 1))
    true = np.array([math.erfc(value) for value in z])
    assert np.max(np.abs(erfc / true - 1)) < 1e-14
    u = np.linspace(-0.1716, 0.1716, 501)
    log2 = 2 * np.arctanh(u[u != 0]) / (u[u != 0] * math.log(2))
    assert np.max(np.abs(horner(FLOAT.log2_coefficients, u[u != 0] ** 2) / log2 - 1)) < 3e-8
    r = np.linspace(-0.5, 0.5, 2001)
    assert np.max(np.abs(horner(FLOAT.exp2_coefficients, r) / np.exp2(r) - 1)) < 1.2e-7


@pytest.mark.parametrize(
    ("out", "error"), [(DType.F32, 2.0**-22), (DType.F16, 2.0**-14), (DType.BF16, 2.0**-12)]
)
def test_tails_of_the_normal_distribution(out: DType, error: float) -> None:
    """Errors are relative, in exact arithmetic; from the limit on, z Phi(-z) rounds to zero."""
    tail = normal_tail(out)
    z = np.linspace(0, min(tail.limit, 6.0), 2001)
    power = horner(tail.coefficients, z - tail.center)
    whole = np.rint(power)
    found = horner(tail.power_coefficients, power - whole) * 2.0**whole
    true = np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z])
    allowed = error * (1 + z * z) if out is DType.F32 else error
    assert np.all(np.abs(found / true - 1) < allowed)
    last = tail.limit * math.erfc(tail.limit / math.sqrt(2)) / 2
    assert last < out.smallest_subnormal / 2


@pytest.mark.parametrize(
    ("out", "error"), [(DType.F32, 2.0**-22), (DType.F16, 2.0**-14), (DType.BF16, 2.0**-10.4)]
)
def test_tables_of_the_normal_distribution(out: DType, error: float) -> None:
    """Each entry of the tables holds the error on its whole interval."""
    tail = normal_tail(out)
    assert {len(table) for table in tail.tables} == {16}
    z = np.linspace(0, tail.limit, 8001)
    i = np.rint(z).astype(int)
    power = horner([np.array(c)[i] for c in tail.tables], z - i * tail.tables_are_centered)
    whole = np.rint(power)
    found = horner(tail.power_coefficients, power - whole) * 2.0**whole
    true = np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z])
    allowed = error * (1 + z * z) if out is DType.F32 else error
    assert np.all(np.abs(found / true - 1) < allowed)


def test_tables_are_where_they_are_looked_up() -> None:
    gelu = Matmul(m=8, n=64, k=8, dtype=DType.F32, epilogue=("gelu",))
    assert text(gelu).count("permvar") == 1 + len(normal_tail(DType.F32).tables)
    assert "permvar" not in text(gelu, "x86-64-v3")


@pytest.mark.parametrize(
    ("out", "error"), [(DType.F32, 1.2e-7), (DType.F16, 5.5e-6), (DType.BF16, 1.3e-4)]
)
def test_exponentials_in_exact_arithmetic(out: DType, error: float) -> None:
    """The polynomial has the stated error, and e^0 is 1."""
    found = functions_for(target("x86-64-v4"), Vector(count=16, scalar="float"), out)
    r = np.linspace(-math.log(2) / 2, math.log(2) / 2, 2001)
    off = np.abs(horner(found.exp_coefficients, r) / np.exp(r) - 1)
    assert error / 2 < np.max(off) < error
    assert off[1000] == 0.0
    # ln 2 in one part, by whole n up to 150, against the rounding of x - m.
    assert abs(float(np.float32(found.ln2_high)) - math.log(2)) * 150 < 150 * math.log(2) * 2**-27


def test_features_are_those_of_the_code() -> None:
    amx = target("x86-64-amx")
    plans = {
        d: pipeline.plan(spec := Matmul(m=8, n=8, k=8, dtype=d), amx, best(spec, amx, {}, mainloop))
        for d, mainloop in ((DType.F32, "blis"), (DType.BF16, "amx"), (DType.S8, "amx"))
    }
    features = {d: set(p.features) for d, p in plans.items() if isinstance(p, CpuPlan)}
    assert "amx_tile" not in features[DType.F32]
    assert {"amx_tile", "amx_bf16", "avx512f"} <= features[DType.BF16]


@pytest.mark.parametrize("count", [2, 4, 8, 16])
@pytest.mark.parametrize("stages", [transpose_stages, zip_stages])
def test_stages_transpose(stages: Callable[[int], tuple[Stage, ...]], count: int) -> None:
    """The shuffles, computed by numpy, turn rows into columns."""
    rows = list(np.arange(count * count).reshape(count, count))
    for stage in stages(count):
        before = list(rows)
        for (i, j), (low, high) in stage.moves:
            both = np.concatenate([before[i], before[j]])
            rows[low], rows[high] = both[indices(stage.low)], both[indices(stage.high)]
    assert np.array_equal(rows, np.arange(count * count).reshape(count, count).T)


@pytest.mark.parametrize(
    ("m", "k", "kc", "transposed"),
    [(32, 64, 64, True), (31, 64, 64, False), (33, 79, 64, False), (48, 80, 64, True)],
)
def test_a_transposed_a_is_packed_in_registers_where_all_blocks_have_room(
    m: int, k: int, kc: int, transposed: bool
) -> None:
    spec = Matmul(m=m, n=32, k=k, dtype=DType.S8, layout=Layout.TN)
    body = text(spec, schedule=DotMatmul(mr=4, nr=32, mc=16, kc=kc, nc=32))
    assert ("%pm.4.r15 = shufflevector" in body) == transposed
    assert ("%ps.x = load i8" in body) != transposed


def indices(mask: str) -> list[int]:
    return [int(number) for number in re.findall(r"i32 (\d+)", mask)]


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_folds_add_up_every_vector(width: int) -> None:
    generator = np.random.default_rng(0)
    for count in range(1, width + 1):
        values = {f"v{i}": generator.standard_normal(width) for i in range(count)}
        totals = [values[name].sum() for name in values]
        steps = folds("t", list(values), width)
        for step in steps:
            both = np.concatenate([values[step.x], values.get(step.y or "", np.full(0, np.nan))])
            low, high = indices(step.low), indices(step.high)
            assert (len(values[step.x]), len(low)) == (step.width, step.count)
            values[step.result] = both[low] + both[high]
        assert np.allclose(values[steps[-1].result][:count], totals)


def test_interleave_groups_elements() -> None:
    assert indices(interleave(4, 2)) == [0, 4, 1, 5, 2, 6, 3, 7]
    assert indices(interleave(2, 4)) == [0, 2, 4, 6, 1, 3, 5, 7]


def test_an_edge_panel_says_what_exists() -> None:
    vectors = panel(19, vectors=3, count=8, stride=100, step=32)
    assert [(v.valid, v.masked, not v.valid) for v in vectors] == [
        (8, 0, False),
        (8, 0, False),
        (3, 3, False),
    ]
    assert [(v.start, v.to) for v in vectors] == [(0, 0), (800, 32), (1600, 64)]
    assert vectors[2].lanes == (0, 100, 200)
    assert panel(8, vectors=2, count=8, stride=100, step=32)[1].valid == 0


@pytest.mark.parametrize(
    ("dtype", "name", "half"),
    [
        (DType.F32, "x86-64-v4", "call <8 x float> @llvm.fma.v8f32"),
        (DType.F64, "x86-64-v4", "call <4 x double> @llvm.fma.v4f64"),
        (DType.BF16, "x86-64-v4+bf16", "call <8 x float> @llvm.x86.avx512bf16.dpbf16ps.256"),
        (DType.S8, "x86-64-v4+vnni", "call <8 x i32> @llvm.x86.avx512.vpdpbusd.256"),
        (DType.S8, "x86-64-v4", "call <8 x i32> @llvm.x86.avx2.pmadd.wd"),
    ],
)
def test_a_few_columns_take_half_a_vector(dtype: DType, name: str, half: str) -> None:
    """Columns that fill more than half of a vector take a whole one."""
    count = 64 // max(dtype.itemsize, 4)
    rows, steps = 12, 8
    mainloop = "dot" if dtype in (DType.BF16, DType.S8) else "blis"
    few, many = (
        text(spec, name, best(spec, target(name), {"mr": 6, "nr": 2 * count}, mainloop))
        for more in (0, 1)
        for spec in [Matmul(m=rows, n=8 * count + count // 2 + more, k=steps * 4, dtype=dtype)]
    )
    assert few.count(half) >= rows // 2
    assert half not in many
    assert ".half = " not in text(Matmul(m=rows, n=68, k=8, dtype=DType.F32), "x86-64-v3")


def test_what_sums_start_from_is_found_for_four_rows_at_once() -> None:
    """Remaining rows are computed one by one; the last run of K may be partial."""
    body = text(Matmul(m=10, n=64, k=72, dtype=DType.S8), "x86-64-v4+vnni")
    assert body.count("store <4 x i32> %s.starts") == body.count("store <1 x i32> %sr.starts") == 1
    assert body.count("%s.tail_m3 = ") == body.count("%sr.tail_m0 = ") == 1
    whole = text(Matmul(m=8, n=64, k=64, dtype=DType.S8), "x86-64-v4+vnni")
    assert "%sr." not in whole
    assert "tail" not in whole
