"""Views, copies, gathers and scatters on all four families: verified with poison around every
input."""

from __future__ import annotations

import itertools

import pytest

from kgen.spec import DType, Elementwise, text
from tests.acceptance.test_elementwise import AVX512, BUT_AMD, DTYPES, FAMILIES, OTHERS, check
from tests.acceptance.test_rowwise import check as check_rows

pytestmark = pytest.mark.acceptance

Shapes = tuple[tuple[int, ...], ...]
#: Inputs that are looked at otherwise: every element is there.
VIEWS: tuple[tuple[str, Shapes], ...] = (
    ("permute(x, 1, 0)", ((37, 70),)),
    ("silu(permute(x, 0, 2, 1)) * up", ((2, 9, 16), (2, 16, 9))),
    ("x + transpose(x)", ((24, 24),)),
    ("permute(x, 7, 0, 6, 1, 5, 2, 4, 3)", ((2, 3, 1, 2, 1, 3, 2, 8),)),
    ("slice(x, 1, 1, 6, 2) + y", ((4, 7), (3,))),
    ("slice(x, 0, inf, -inf, -1)", ((37, 16),)),
    ("slice(x, 1, inf, -inf, -1) * 2", ((5, 64),)),
    ("slice(x, 0, 1, 1030)", ((1031,),)),
    ("expand(x, 5, 7, 16)", ((7, 1),)),
)
#: Copies with places that no element of an input is at.
COPIES: tuple[tuple[str, Shapes], ...] = (
    ("pad(x, 1, 1, 2, -1)", ((4, 5),)),
    ("pad(pad(x, 0, 1, 1), 1, 8, 16)", ((4, 32),)),
    ("pad(slice(x, 1, inf, -inf, -1), 0, 2, 1, inf)", ((5, 64),)),
    ("slice(pad(x, 0, 3, 3), 0, inf, -inf, -1)", ((5, 16),)),
    ("permute(pad(x, -1, 1, 1), 1, 0)", ((4, 5),)),
    ("concat(x, silu(y), axis=0)", ((4, 5), (3, 5))),
    ("concat(x, y, z, axis=-1)", ((9, 16), (9, 24), (9, 8))),
    ("concat(x, y, 0) * 2", ((1031,), (8,))),
    ("concat(concat(x, y, 0), transpose(z), 1)", ((3, 7), (2, 7), (33, 5))),
)
GATHERS: tuple[tuple[str, Shapes], ...] = (
    ("gather(table, index)", ((10, 16), (3, 7))),
    ("gather(table, index) * scale", ((5, 33), (13,), (33,))),
    ("gather(table, index)", ((1,), (33,))),
    ("gather(permute(table, 1, 0), index, axis=1)", ((10, 8), (3, 2))),
    ("concat(gather(table, index), y, 0)", ((11, 8), (5,), (3, 8))),
    ("gather(gather(table, rows), columns, axis=-1)", ((11, 9), (5,), (3,))),
)
#: Rows that are next to one another in their table, and rows that are not; elements.
SCATTERS: tuple[tuple[str, Shapes], ...] = (
    ("scatter(table, index, rows)", ((12, 3, 8), (1,), (3, 8))),
    ("scatter(table, index, silu(rows) * scale, axis=1)", ((3, 20, 8), (1,), (3, 1, 8), (8,))),
    ("scatter(table, index, slice(rows, 0, 1, 10), 1)", ((9, 7), (4,), (11, 4))),
    ("scatter(table, index, transpose(rows), -2)", ((2, 31, 33), (2, 3), (33, 3))),
)
#: Outputs that share what they read, or take views of one another.
SEVERAL: tuple[tuple[str, Shapes], ...] = (
    ("h = x + transpose(r); out = silu(h) * slice(y, 0, 1, inf)", ((5, 33), (33, 5), (6, 33))),
    ("g = pad(gather(t, i) * s, 1, 8, 0); out = g * w", ((9, 24), (7,), (24,), (7, 32))),
    ("a = gather(t, i); b = a * s; a + gather(t, i)", ((9, 24), (7,), (24,))),
    ("h = slice(x, 0, 3, 4); out = concat(y, x, 0) - h", ((16, 17), (8, 17))),
    ("out = x * y; h = out; k = slice(out, 1, inf, -inf, -1)", ((9, 40), (9, 40))),
)


def specs(cases: tuple[tuple[str, Shapes], ...], types: tuple[DType, ...]) -> list[Elementwise]:
    """Return each case in one of the types, in turn."""
    turns = zip(cases, itertools.cycle(types), strict=False)
    return [Elementwise(expression=e, shapes=s, dtype=dtype) for (e, s), dtype in turns]


def gathers() -> list[Elementwise]:
    """Return gathers with indices of 32 and 64 bits in turn; the first two cases with both."""
    both = (DType.S32, DType.S64)
    return [
        Elementwise(expression=expression, shapes=shapes, dtype=DTYPES[i % 3], index_dtype=index)
        for i, (expression, shapes) in enumerate(GATHERS)
        for index in (both if i < 2 else both[i % 2 :][:1])
    ]


@pytest.mark.parametrize("target", FAMILIES)
def test_views_and_copies(target: str) -> None:
    check(specs(VIEWS + COPIES, DTYPES), target, schedules=1)


@pytest.mark.parametrize("target", FAMILIES)
def test_gathers(target: str) -> None:
    check(gathers(), target, schedules=1)


@pytest.mark.parametrize("target", FAMILIES)
def test_scatters(target: str) -> None:
    """Rows that no index names keep their values, and an index out of range writes nothing."""
    check(specs(SCATTERS, DTYPES), target, schedules=1)
    check(specs(SCATTERS[1:2], DTYPES[1:]), target, schedules=1)


@pytest.mark.parametrize("target", FAMILIES)
def test_several_outputs(target: str) -> None:
    check(specs(SEVERAL, DTYPES), target, schedules=1)


@pytest.mark.parametrize("target", OTHERS)
def test_on_other_targets(target: str) -> None:
    # A gather too; each kernel is a process of its own under qemu.
    cases = VIEWS[1:2] + SEVERAL[1:2]
    cases += () if target == "aarch64-neon" else COPIES[1:2]
    check(specs(cases, DTYPES), target, schedules=1)


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3"])
def test_several_accesses_of_a_thread(target: str) -> None:
    """Each thread makes several accesses; the last block is partial."""
    large = [
        Elementwise(expression=expression, shapes=shapes)
        for expression, shapes in (
            ("concat(transpose(x), y, 0)", ((61, 41), (3, 61))),
            ("gather(table, index)", ((41, 61), (50,))),
        )
    ]
    check(large, target, schedules=1, vector=1, unroll=4)


def test_tasks_of_a_cpu() -> None:
    """Kernels have several tasks of rows or elements; the last one is partial."""
    rows = (("permute(x, 1, 0)", ((30, 41),)), ("pad(x, 1, 3, 2)", ((30, 41),)))
    check(specs(rows, (DType.F32, DType.F16)), "native", task=7)
    elements = (("slice(x, 0, 3, 3003)", ((3003,),)), ("slice(x, 0, 1, 3003, 3)", ((3003,),)))
    check(specs(elements, (DType.BF16, DType.F16)), "native", task=256, unroll=1)
    check(specs(elements, (DType.F32,)), "native", task=256, unroll=1, nontemporal=1)


@pytest.mark.parametrize("target", BUT_AMD)
def test_other_types(target: str) -> None:
    """Copies of integers, of which an index may be one too."""
    types = [DType.S8, DType.S32, DType.BOOL, DType.U8, DType.S64]
    types += [DType.F64] if target in ("native", AVX512) else []
    cases: tuple[tuple[str, Shapes], ...] = (
        ("concat(transpose(x), y, 1)", ((13, 8), (8, 19))),
        ("pad(slice(x, 0, inf, -inf, -1), 0, 1, 2, 1)", ((3, 16),)),
        ("gather(table, index)", ((9, 16), (11,))),
    )
    # Each type in two of them.
    turns = [(cases[(i + turn) % 3], t) for i, t in enumerate(types) for turn in (0, 1)]
    check(
        [Elementwise(expression=e, shapes=s, dtype=dtype) for (e, s), dtype in turns],
        target,
        schedules=1,
    )


#: Rows of inputs that are looked at through views: neighbouring columns or rows next to one
#: another, or neither; a part of each row, an input twice, elements that serve many rows.
ROWS = (
    "amax(permute(x,1,0)+b) 70x37,37x1 f32",
    "softmax(transpose(x)) 3x33x17 bf16",
    "layer_norm(slice(x,1,3,40),w) 9x70,37 f16",
    "sum(x*transpose(x)) 33x33 f32",
    "s=var(transpose(slice(x,0,1,inf)));transpose(slice(x,0,1,inf))+row-y 31x9,1x30 s8,f32 out=f32",
    "rms_norm(slice(x,1,2,70,3),w) 5x70,23 f16",
    "softmax(expand(slice(x,1,2,3),5,4,9)) 5x7x9 bf16 axes=1",
    "sum(permute(x,2,0,1)*column) 9x13x21 f32 axes=1,2",
)


@pytest.mark.parametrize("target", FAMILIES)
def test_rows(target: str) -> None:
    check_rows([text.parse(each) for each in ROWS], target)  # type: ignore[misc]


@pytest.mark.parametrize("target", FAMILIES[:3])
def test_streamed_rows(target: str) -> None:
    longer = (
        "softmax(permute(x,1,0)) 1031x9 f32",
        "layer_norm(slice(x,1,1,1041)) 5x2000 bf16",
    )
    found = [text.parse(each) for each in longer]
    check_rows(found, target, resident=0, num_threads=64)  # type: ignore[arg-type]


@pytest.mark.parametrize("target", OTHERS)
def test_rows_of_other_targets(target: str) -> None:
    """Each target gets another sample."""
    first = OTHERS.index(target) % 4
    check_rows([text.parse(each) for each in ROWS[first::4]], target)  # type: ignore[misc]
