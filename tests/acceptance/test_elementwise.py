"""Every function of the scalar language on all four families, over shapes and types."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

import kgen
from kgen import pipeline, targets
from kgen.check.execute.runners import Emulation
from kgen.emulate.schedules import SCHEDULES
from kgen.ops import functions
from kgen.ops.parse import MOST_OUTPUTS
from kgen.spec import DType, Elementwise
from kgen.targets.cuda.plan.elementwise import ElementwisePlan as CudaElementwise
from kgen.targets.vulkan.plan.elementwise import ElementwisePlan as VulkanElementwise
from tests import needs
from tests.device.vulkan.vulkan_support import open_vulkan
from tests.open_devices import verify
from tests.unit.ops.ops_in_numpy import call_of

pytestmark = pytest.mark.acceptance

DTYPES = (DType.F32, DType.F16, DType.BF16)
#: Executed only where the CPU has its instructions: emulation of its vectors takes long.
AVX512 = "x86-64-v4+bf16"
#: One target of each family; the others differ in what they have of it, see COMPOSITIONS.
FAMILIES = ("sm_80", "gfx942", "vulkan1.3", "native", AVX512)
#: Of AMD's targets every function, type and view is in test_amdgpu_optimised.py.
BUT_AMD = tuple(family for family in FAMILIES if family != "gfx942")
#: Functions that round are computed in f32, whatever the type; CPUs compute only the digits of it.
COMPUTED_ALIKE = ("sm_80", "vulkan1.3")
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
#: No whole number of any vector, and more than one workgroup of the smallest.
ODD = (3, 347)
COMPOSITIONS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("silu(gate) * up", (ODD,)),
    ("gelu(x + bias) * scale + residual", ((5, 64), (64,), (1,), (5, 64))),
    ("where(x > y, tanh(x) % y, -max(x, y))", ((7, 1), (1, 13))),
    ("relu(x)", ((1,),)),
    ("round(x * 3) + floor(y) + trunc(x)", ((2, 3, 1, 5), (3, 4, 5))),
    ("exp(x) + log(abs(y)) + sin(x) * rsqrt(abs(y) + 1)", ((4, 1, 8), (4, 6, 8))),
    ("clip(x, -0.5, 0.5) if isnan(y) | isinf(y) else min(x, y)", (ODD,)),
)
#: Without any rounding: computed on elements as they are stored, as far as a family can.
STORED: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("x", (ODD,)),
    ("x", ((1,),)),
    ("-abs(x)", (ODD,)),
    ("relu(x)", (ODD,)),
    ("clip(x, -1, 6)", (ODD,)),
    ("max(x, min(y, 2))", (ODD, (1,))),
    ("where(isnan(x), y, relu(x))", ((7, 64), (64,))),
    ("where(x > y, x, -y)", ((1031,), (1,))),
    ("round(x) if floor(x) == x else -x", (ODD,)),
)
#: Outputs that are constants or inputs, by themselves and among what others are made of.
FOLDED: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("x ** 0", (ODD,)),
    ("h = x ** 0; x + h", (ODD,)),
    ("h = x + 1; o = x ** 0; p = x; q = y ** 0 * 3", (ODD, (1,))),
)
#: A call of each function of elements.
CALLS = [call_of(name) for name, function in functions().items() if not function.rowwise]
#: Rounded, exact, with functions and a choice.
BINARY = ("x * y + 1", "max(x, -y)", "silu(x) * y if x < y else tanh(y)")
#: 1, primes, one below and one above a vector, each side broadcast, up to eight dimensions.
SHAPES = (
    ((1,), (1,)),
    ((7,), (1,)),
    ((17,), (17,)),
    ((1,), (1031,)),
    ((1023,), (1023,)),
    ((2049,), (1,)),
    ((4, 15), (15,)),
    ((4, 16), (16,)),
    ((3, 17), (3, 1)),
    ((1, 33), (31, 1)),
    ((2, 3, 4), (3, 1)),
    ((2, 1, 2, 1, 2, 1, 2, 3), (2, 1, 2, 1, 2, 1)),
    ((5, 1, 7), (1, 3, 1)),
    ((2, 40000), (40000,)),
)


def check(specs: list[Elementwise], target: str, *, schedules: int = 1, **schedule: int) -> None:
    """Verify all kernels, in an emulator under this number of thread schedules."""
    if target.startswith("vulkan"):
        open_vulkan().close()
    if target == AVX512:
        needs.cpu(target)
    bundle = kgen.build(specs, [target], schedule=schedule)
    report = verify(bundle, emulation=Emulation(schedules=schedules))
    wrong = [f"{k.kernel}: {k.reason}" for k in report.kernels if k.status != "passed"]
    assert not wrong and len(report.kernels) == len(specs)


def of_several_outputs(
    calls: Iterable[str], dtype: DType, shape: tuple[int, ...] = ODD
) -> list[Elementwise]:
    """Return the fewest kernels in which each call is an output. Calls of a kernel share inputs,
    and agree in whether they give bool and are exact, so each is computed as in a kernel of its
    own."""
    alike: dict[object, list[str]] = {}
    for call in calls:
        alone = Elementwise(expression=call, shapes=(shape,), dtype=dtype)
        alike.setdefault((alone.inputs, alone.out, alone.is_exact), []).append(call)
    parts = (
        found[first : first + MOST_OUTPUTS]
        for found in alike.values()
        for first in range(0, len(found), MOST_OUTPUTS)
    )
    formulas = ("; ".join(f"o{i} = {call}" for i, call in enumerate(part)) for part in parts)
    return [Elementwise(expression=text, shapes=(shape,), dtype=dtype) for text in formulas]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", BUT_AMD)
def test_every_function(target: str, dtype: DType) -> None:
    """Each function is an output with its own verdict. One thread schedule suffices, because these
    kernels differ only in arithmetic. Equal arithmetic runs in f32, which has the smallest
    tolerance."""
    calls = CALLS
    if target in COMPUTED_ALIKE and dtype is not DType.F32:
        calls = [call for call in calls if alone(call, dtype).is_exact]
    specs = of_several_outputs(calls, dtype)
    assert sum(len(spec.outputs) for spec in specs) == len(calls)
    check(specs, target, schedules=1)


@pytest.mark.parametrize("target", COMPUTED_ALIKE)
def test_functions_that_round_are_computed_alike_in_every_type(target: str) -> None:
    """Expressions are equal for all types, and so is the rendering of each step."""
    for call in CALLS:
        specs = [alone(call, dtype) for dtype in DTYPES]
        if not any(spec.is_exact for spec in specs):
            assert len({(spec.result_calls, arithmetic(spec, target)) for spec in specs}) == 1, call


def alone(call: str, dtype: DType) -> Elementwise:
    return Elementwise(expression=call, shapes=(ODD,), dtype=dtype)


def arithmetic(spec: Elementwise, target: str) -> object:
    """Return the rendered steps of an expression."""
    plan = pipeline.plan(spec, targets.find(target))
    if isinstance(plan, VulkanElementwise):
        return type(plan.renderer)
    assert isinstance(plan, CudaElementwise)
    return plan.type, plan.rest_type


@pytest.mark.parametrize("target", OTHERS)
def test_compositions_on_other_targets(target: str) -> None:
    specs = [
        Elementwise(expression=text, shapes=shapes, dtype=dtype)
        for (text, shapes), dtype in zip(COMPOSITIONS, itertools.cycle(DTYPES), strict=False)
    ]
    check(specs, target, schedules=SCHEDULES)


@pytest.mark.parametrize("target", FAMILIES)
def test_elements_as_they_are_stored(target: str) -> None:
    check(
        [
            Elementwise(expression=text, shapes=shapes, dtype=dtype)
            for (text, shapes), dtype in itertools.product(STORED + FOLDED, DTYPES)
        ],
        target,
    )


@pytest.mark.parametrize("target", OTHERS)
def test_elements_as_they_are_stored_on_other_targets(target: str) -> None:
    """bf16, which the fewest targets support, and f16. Under qemu, where each run starts a process,
    cases alternate."""
    types = (DType.BF16, DType.F16)
    texts = STORED[2:6]
    under_qemu = target.startswith("aarch64")
    cases = zip(texts, types * 2, strict=True) if under_qemu else itertools.product(texts, types)
    check(
        [
            Elementwise(expression=text, shapes=shapes, dtype=dtype)
            for (text, shapes), dtype in cases
        ],
        target,
    )


@pytest.mark.parametrize("target", FAMILIES)
def test_compositions(target: str) -> None:
    check(
        [
            Elementwise(expression=text, shapes=shapes, dtype=dtype)
            for (text, shapes), dtype in itertools.product(COMPOSITIONS, DTYPES)
        ],
        target,
    )


@pytest.mark.parametrize("target", FAMILIES)
def test_shapes_and_output_types(target: str) -> None:
    types = [(d, o) for d in DTYPES for o in DTYPES]
    check(
        [
            Elementwise(expression=text, shapes=shapes, dtype=dtype, out_dtype=out)
            for shapes, (dtype, out), text in zip(
                SHAPES, itertools.cycle(types), itertools.cycle(BINARY), strict=False
            )
        ],
        target,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", AVX512])
def test_outputs_past_the_caches(target: str, dtype: DType) -> None:
    specs = [
        Elementwise(expression="x + y", shapes=shapes, dtype=dtype, out_dtype=out)
        for shapes in (((4099,),), ((64,), (1,)), ((67, 251),))
        for out in (DType.F32, DType.BF16)
    ]
    # Three tasks of the largest.
    check(specs, target, nontemporal=1, task=8192)


@pytest.mark.parametrize(("target", "vector"), [("sm_80", 1), ("gfx942", 1), ("vulkan1.3", 1)])
def test_several_accesses_of_a_thread(target: str, vector: int) -> None:
    specs = [
        Elementwise(expression="x + y", shapes=shapes)
        for shapes in (((5003,),), ((41, 61), (61,)), ((41, 61), (41, 1)))
    ]
    check(specs, target, vector=vector, unroll=4)
