"""Every row-wise function on all four families, over shapes, types and schedules."""

from __future__ import annotations

import itertools

import pytest

import kgen
from kgen.check.execute.runners import Emulation
from kgen.emulate.schedules import SCHEDULES
from kgen.ops import Expression, RowFacts, functions, row_function
from kgen.ops.registry import _FUNCTIONS
from kgen.spec import DType, Rowwise
from kgen_runtime.expressions.definitions import REDUCTIONS
from tests import needs
from tests.acceptance.test_elementwise import BUT_AMD
from tests.device.vulkan.vulkan_support import open_vulkan
from tests.open_devices import verify

pytestmark = pytest.mark.acceptance

DTYPES = (DType.F32, DType.F16, DType.BF16)
#: Executed only where the CPU has its instructions: emulation of its vectors takes long.
AVX512 = "x86-64-v4+bf16"
#: One target of each family; the others differ in what they have of it, see COMPOSITIONS.
FAMILIES = ("sm_80", "gfx942", "vulkan1.3", "native", AVX512)
OTHERS = (
    *(
        "sm_75",
        "sm_90a",
        "sm_120",
        "gfx90a",
        "gfx950",
        "gfx1030",
        "gfx1100",
        "gfx1201",
        "vulkan1.1",
    ),
    *("x86-64", "x86-64-v3", "aarch64-neon"),
)
#: No whole number of any vector; rows enough for every kind of special row in one run.
ODD = (67, 131)
Shape = tuple[int, ...]
#: Residuals, weights, masks, and what they are of: a row's, a column's, a head's, a group's.
COMPOSITIONS: tuple[tuple[str, tuple[Shape, ...], Shape], ...] = (
    ("layer_norm(x, scale, shift)", ((67, 96), (96,), (96,)), (-1,)),
    ("rms_norm(x + residual, scale)", ((67, 160), (67, 160), (160,)), (-1,)),
    (
        "softmax(where(column <= row, x * 0.125 + mask, -inf))",
        ((2, 3, 16, 16), (2, 1, 1, 16)),
        (-1,),
    ),
    ("layer_norm(x, scale, shift)", ((2, 3, 4, 10), (3, 4, 1), (3, 4, 1)), (-2, -1)),
    ("mean(x) * scale", ((67, 9), (67, 1)), (-1,)),
    ("amax(x) - amin(x)", ((5, 3, 7),), (-2, -1)),
    ("x / (l2(x) + 1e-6)", ((67, 33),), (-1,)),
    ("argmax(silu(x))", ((67, 40),), (-1,)),
    ("h = x + residual; out = rms_norm(h, scale)", ((67, 96), (67, 96), (96,)), (-1,)),
    ("m = mean(x); s = rsqrt(var(x) + 1e-5); out = (x - m) * s * scale", ((67, 33), (33,)), (-1,)),
    ("softmax(x)", ((2, 7, 5, 9),), (1,)),
    ("sum(x)", ((131, 67),), (0,)),
    ("layer_norm(x, scale, shift)", ((2, 3, 8, 5), (3, 1, 1), (3, 1, 1)), (0, 2, 3)),
    ("m = amax(x); out = log_softmax(x * scale)", ((300, 3, 33), (300, 1, 1)), (0,)),
    ("argmin(where(column <= row, x, inf))", ((2, 17, 16),), (1,)),
    ("h = x * scale; out = layer_norm(h)", ((5, 7, 3), (3,)), (0, 1)),
)
#: Outputs that are constants or inputs: of rows, of their elements, and where another phase takes
#: the same constant.
FOLDED = (
    "softmax(x) ** 0",
    "h = softmax(x) ** 0; x + h",
    "sum(x) ** 0 * 3",
    "sum(x ** 0)",
    "h = x ** 0; g = x; softmax(x + 1) * h",
    "m = amax(x) ** 0; out = softmax(x) * m",
)
#: Columns from 1 to what the longest rows have, around vectors, warps and resident rows.
SHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((1,), (-1,)),
    ((64, 1), (-1,)),
    ((65, 2), (-1,)),
    ((17, 31), (-1,)),
    ((17, 33), (-1,)),
    ((16, 257), (-1,)),
    ((11, 1023), (-1,)),
    ((7, 1025), (-1,)),
    ((9, 13, 7), (-3, -2, -1)),
    ((1, 4099), (-1,)),
)


def check(specs: list[Rowwise], target: str, *, schedules: int = 1, **schedule: int) -> None:
    """Verify all kernels, in an emulator under this number of thread schedules."""
    if target.startswith("vulkan"):
        open_vulkan().close()
    if target == AVX512:
        needs.cpu(target)
    bundle = kgen.build(specs, [target], schedule=schedule)
    report = verify(bundle, emulation=Emulation(schedules=schedules))
    wrong = [f"{k.kernel}: {k.reason}" for k in report.kernels if k.status != "passed"]
    assert not wrong and len(report.kernels) == len(specs)


def composition(number: int, dtype: DType) -> Rowwise:
    text, shapes, axes = COMPOSITIONS[number]
    return Rowwise(expression=text, shapes=shapes, dtype=dtype, axes=axes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", BUT_AMD)
def test_every_function(target: str, dtype: DType) -> None:
    names = [name for name, function in functions().items() if function.rowwise]
    check([Rowwise(expression=f"{n}(x)", shapes=(ODD,), dtype=dtype) for n in names], target)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "gfx942", "vulkan1.1", "x86-64"])
def test_the_larger_of_an_element_and_a_sum(target: str) -> None:
    """sm_75 computes a maximum by several instructions, which need registers."""
    texts = ("max(sum(x), x)", "min(x * 1, sum(x)) + max(amax(x), mean(x))")
    check([Rowwise(expression=text, shapes=((5, 33),), dtype="f32") for text in texts], target)


@pytest.mark.parametrize("target", OTHERS)
def test_compositions_on_other_targets(target: str) -> None:
    """Each composition in one type; half of them under qemu, where each run starts a process."""
    numbers = range(0, len(COMPOSITIONS), 2 if target.startswith("aarch64") else 1)
    check(
        [composition(n, d) for n, d in zip(numbers, itertools.cycle(DTYPES), strict=False)], target
    )


@pytest.mark.parametrize("target", FAMILIES)
def test_compositions(target: str) -> None:
    """Each composition in two types, others on the next family, so that all three occur. Single
    functions run in all types, above."""
    first = FAMILIES.index(target)
    specs = [
        composition(number, dtype)
        for number in range(len(COMPOSITIONS))
        for turn, dtype in enumerate(DTYPES, first + number)
        if turn % 3
    ]
    check(specs, target, schedules=SCHEDULES)


@pytest.mark.parametrize("target", FAMILIES)
def test_constants_and_inputs_as_outputs(target: str) -> None:
    """Resident rows, streamed rows and columns that no function reduces."""
    shapes = itertools.cycle(((ODD, -1), ((2, 17000), -1), ((900, 33), 0)))
    specs = [
        Rowwise(expression=text, shapes=(shape,), dtype=dtype, axes=(axis,))
        for (text, dtype), (shape, axis) in zip(
            itertools.product(FOLDED, DTYPES[:2]), shapes, strict=False
        )
    ]
    check(specs, target)


@pytest.mark.parametrize("target", FAMILIES)
def test_shapes_and_output_types(target: str) -> None:
    types = itertools.cycle((d, o) for d in DTYPES for o in DTYPES)
    specs = [
        Rowwise(expression=text, shapes=(shape,), dtype=dtype, out_dtype=out, axes=axes)
        for text, (shape, axes) in zip(itertools.cycle(("softmax(x)", "var(x)")), SHAPES)
        for dtype, out in [next(types)]
    ]
    check(specs, target)


@pytest.mark.parametrize("target", FAMILIES)
def test_long_rows(target: str) -> None:
    norm = Rowwise(
        expression="layer_norm(x, scale, shift)", shapes=((1, 131072), (131072,), (131072,))
    )
    folds = Rowwise(
        expression="s = sum(x); m = amax(x); i = argmin(x)", shapes=((1, 131071),), dtype="bf16",
        out_dtypes=("f32", "bf16", "s64"),
    )  # fmt: skip
    check([norm, folds], target)


@pytest.mark.parametrize("cluster", [1, 2, 8])
def test_clusters(cluster: int) -> None:
    check(
        [
            Rowwise(expression="layer_norm(x, scale, shift)", shapes=((3, 2057), *[(2057,)] * 2)),
            Rowwise(expression="argmax(x)", shapes=((3, 2057),)),
        ],
        "sm_90a",
        schedules=SCHEDULES,
        num_threads=64,
        cluster=cluster,
    )


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        ("sm_80", {"resident": 0, "num_threads": 64, "rows_per_block": 2, "vector": 1}),
        ("sm_80", {"num_threads": 64, "rows_per_block": 1, "vector": 1}),
        ("gfx942", {"resident": 0, "num_threads": 128, "rows_per_block": 4, "vector": 1}),
        ("gfx1100", {"resident": 0, "num_threads": 64, "rows_per_block": 1, "vector": 1}),
        ("vulkan1.3", {"resident": 0, "num_threads": 64, "rows_per_block": 2, "vector": 1}),
        ("native", {"unroll": 3}),
    ],
)
def test_schedules(target: str, fields: dict[str, int]) -> None:
    """Every phase in a loop, several rows to a block, rows across warps and CTAs."""
    check([composition(number, DType.F32) for number in range(len(COMPOSITIONS))], target, **fields)


def test_a_new_function_runs_on_all_families() -> None:
    """A new function needs an entry of a few lines, and its definition."""

    @row_function(reduces=True)
    def contrast(row: RowFacts, x: Expression) -> Expression:
        return (row.max(x) - row.min(x)) / (row.max(x) + row.min(x))

    REDUCTIONS["contrast"] = lambda m, x: (
        (m.largest(x) - m.smallest(x)) / (m.largest(x) + m.smallest(x))
    )
    try:
        for target in (*FAMILIES[:-1], *needs.executed([AVX512])):
            check([Rowwise(expression="contrast(x * x)", shapes=((67, 50),), dtype="f32")], target)
    finally:
        del REDUCTIONS["contrast"], _FUNCTIONS["contrast"]
