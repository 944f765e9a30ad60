"""Vulkan matmuls on a real driver: exact whole numbers, epilogues, conversions, and extremes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from kgen.schedule import FmaMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.spec.epilogue import steps_of
from kgen.targets.base import BuiltKernel
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import NUMPY, Values, build, run

FLOATS = (DType.F32, DType.F16, DType.BF16)


def whole_numbers(spec: Matmul, low: int = -4, high: int = 4) -> dict[str, Values]:
    """Return small whole numbers for each input; products and sums are exact in f32."""
    generator = np.random.default_rng(1)
    return {
        p.name: generator.integers(low, high, p.extent, endpoint=True).astype(NUMPY[p.dtype])
        for p in spec.parameters
        if p.role == "input"
    }


def strided(spec: Matmul, name: str, data: Values) -> Values:
    """Return a flat tensor as (batch, rows, cols), or (cols) for the bias, in float64."""
    p = spec.parameter(name)
    wide = data.astype(np.float64)
    view = as_strided(wide, p.shape, [s * wide.itemsize for s in p.strides])
    return view if name == "bias" or view.ndim == 3 else view[np.newaxis]


def expected(spec: Matmul, inputs: dict[str, Values]) -> Values:
    """Return alpha A B + beta C with the epilogue, in float64."""
    a, b = strided(spec, "a", inputs["a"]), strided(spec, "b", inputs["b"])
    a = a.swapaxes(1, 2) if spec.layout.a_transposed else a
    b = b.swapaxes(1, 2) if spec.layout.b_transposed else b
    x: Values = spec.alpha * (a @ b) + np.zeros((spec.batch, 1, 1))
    if spec.beta:
        x = x + spec.beta * strided(spec, "c", inputs["c"])
    for step in steps_of(spec.epilogue) or ():
        match step:
            case Epilogue.BIAS | Epilogue.RESIDUAL:
                x = x + strided(spec, step, inputs[step])
            case Epilogue.RELU:
                x = np.where(np.isnan(x), x, np.maximum(x, 0.0))
            case Epilogue.GELU:
                x = x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
            case Epilogue.GELU_TANH:
                x = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
            case Epilogue.SILU:
                with np.errstate(over="ignore"):
                    x = x / (1 + np.exp(-x))
    return x


def check_exact(vulkan: VulkanBackend, spec: Matmul, kernel: BuiltKernel) -> None:
    """Check that every output is the exact result, rounded once."""
    inputs = whole_numbers(spec)
    got = run(vulkan, kernel, inputs)
    result = strided(spec, "out", got)
    wanted = expected(spec, inputs)
    if spec.out is DType.S8:
        wanted = np.rint(wanted).clip(-128, 127)
    wanted = wanted.astype(NUMPY[spec.out])
    np.testing.assert_array_equal(result, wanted.astype(np.float64))


SHAPES = ((1, 1, 1), (16, 16, 16), (1, 300, 200), (300, 1, 33), (127, 131, 113))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(vulkan: VulkanBackend, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    spec = Matmul(m=m, n=n, k=k, dtype=DType.F32)
    check_exact(vulkan, spec, build(spec))


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_targets_and_types(vulkan: VulkanBackend, dtype: DType, target: str) -> None:
    spec = Matmul(m=65, n=66, k=67, dtype=dtype)
    check_exact(vulkan, spec, build(spec, target))


ODD: dict[str, Any] = {"m": 65, "n": 66, "k": 67}
CHAIN = (Epilogue.BIAS, Epilogue.RELU, Epilogue.RESIDUAL, Epilogue.RELU)
VARIANTS = {
    **{layout.value: Matmul(**ODD, layout=layout) for layout in Layout},
    "batch": Matmul(**ODD, batch=3),
    "shared-a": Matmul(**ODD, batch=3, batch_stride_a=0, layout=Layout.TT),
    "shared-b": Matmul(**ODD, batch=3, batch_stride_b=0, dtype=DType.F32),
    "leading-dimensions": Matmul(**ODD, lda=71, ldb=80, ldc=69, beta=1.0),
    "interleaved": Matmul(
        **ODD, batch=2, ldc=132, batch_stride_c=66, epilogue=(Epilogue.RESIDUAL,)
    ),
    "alpha-beta": Matmul(**ODD, alpha=-0.5, beta=2.0, dtype=DType.BF16),
    "to-f32": Matmul(**ODD, dtype=DType.BF16, out_dtype=DType.F32, beta=1.0),
    "bf16-to-f16": Matmul(**ODD, dtype=DType.BF16, out_dtype=DType.F16, beta=1.0),
    "f32-to-bf16": Matmul(**ODD, dtype=DType.F32, out_dtype=DType.BF16, epilogue=(Epilogue.BIAS,)),
    "chain": Matmul(**ODD, epilogue=CHAIN, layout=Layout.NT),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(vulkan: VulkanBackend, name: str) -> None:
    check_exact(vulkan, VARIANTS[name], build(VARIANTS[name]))


SCHEDULES = (
    FmaMatmul(block_m=16, block_n=16, block_k=8, thread_m=4, thread_n=2),
    FmaMatmul(block_m=1, block_n=128, block_k=16, thread_m=1, thread_n=1),
    FmaMatmul(block_m=128, block_n=1, block_k=4, thread_m=1, thread_n=1),
    FmaMatmul(block_m=64, block_n=64, block_k=16, thread_m=8, thread_n=4),
    FmaMatmul(block_m=8, block_n=8, block_k=1, thread_m=8, thread_n=8),
    FmaMatmul(block_m=32, block_n=64, block_k=32, thread_m=2, thread_n=4),
    FmaMatmul(block_m=16, block_n=32, block_k=8, thread_m=4, thread_n=8, num_stages=2),
    FmaMatmul(block_m=4, block_n=4, block_k=2, thread_m=4, thread_n=2, num_stages=2),
)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: f"{s.block_m}x{s.block_n}")
def test_schedules(vulkan: VulkanBackend, schedule: FmaMatmul) -> None:
    """A is copied along M, B along N and along K; there may be more invocations than elements."""
    layout = Layout.TT if schedule.block_k == 16 else Layout.NN
    spec = Matmul(m=37, n=150, k=45, dtype=DType.F32, layout=layout)
    check_exact(vulkan, spec, build(spec, schedule=schedule))


@pytest.mark.parametrize("step", [Epilogue.GELU, Epilogue.GELU_TANH, Epilogue.SILU])
def test_activations(vulkan: VulkanBackend, step: Epilogue) -> None:
    """The error is absolute, on the scale of x, from the unsaturated range to beyond it."""
    spec = Matmul(m=1, n=20001, k=1, dtype=DType.F32, epilogue=(step,))
    inputs = {"a": np.ones(1), "b": np.linspace(-20, 20, 20001)}
    got = run(vulkan, build(spec), inputs).astype(np.float64)
    wanted = expected(spec, {n: v.astype(np.float32) for n, v in inputs.items()}).reshape(-1)
    assert np.max(np.abs(got - wanted) / (1e-30 + np.abs(inputs["b"]))) < 4e-7


@pytest.mark.parametrize("step", [Epilogue.GELU, Epilogue.GELU_TANH, Epilogue.SILU])
def test_activations_of_extremes(vulkan: VulkanBackend, step: Epilogue) -> None:
    """No intermediate result overflows, and NaN stays NaN."""
    x = np.array([1e4, 1e20, 3e38, -1e4, -1e20, -3e38, 0.0, 1e-30, np.nan], np.float32)
    spec = Matmul(m=1, n=x.size, k=1, dtype=DType.F32, epilogue=(step,))
    got = run(vulkan, build(spec), {"a": np.ones(1), "b": x})
    np.testing.assert_array_equal(got[:3], x[:3])
    np.testing.assert_allclose(got[3:8], 0.0, atol=1e-6)
    assert np.isnan(got[8])


def test_relu_keeps_nan(vulkan: VulkanBackend) -> None:
    x = np.array([np.nan, -np.nan, -1.0, -np.inf, np.inf, 2.0, 0.0], np.float32)
    spec = Matmul(m=1, n=x.size, k=1, dtype=DType.F32, epilogue=(Epilogue.RELU,))
    got = run(vulkan, build(spec), {"a": np.ones(1), "b": x})
    np.testing.assert_array_equal(got, [np.nan, np.nan, 0, 0, np.inf, 2, 0])


def hard_to_round() -> Values:
    """Return f32 numbers around every f16 and bf16 number, ties, and random bits."""
    halves = np.arange(0x10000, dtype=np.uint16).view(np.float16).astype(np.float32)
    bits = np.concatenate([halves.view(np.uint32), np.arange(0x10000) << 16])
    random = np.random.default_rng(2).integers(0, 2**32, 2**16)
    near = [bits + middle + d for middle in (0, 0x1000, 0x8000) for d in (-1, 0, 1)]
    joined = (np.concatenate([*near, random]) & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    # Subnormal f32 may be flushed to zero on the way in, which Vulkan allows.
    normal = (np.abs(joined) >= 2.0**-126) | (joined == 0) | np.isnan(joined)
    return np.resize(joined[normal], 16 * 65536)


@pytest.mark.parametrize("out", [DType.F16, DType.BF16])
def test_stores_round_to_nearest_even(vulkan: VulkanBackend, out: DType) -> None:
    """Results have the bits of numpy and ml_dtypes, with subnormals, overflow and NaN."""
    x = hard_to_round()
    spec = Matmul(m=1, n=65536, k=1, batch=16, dtype=DType.F32, out_dtype=out, batch_stride_a=0)
    got = run(vulkan, build(spec), {"a": np.ones(1), "b": x})
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = x.astype(NUMPY[out])
    nan = np.isnan(x)
    assert np.isnan(got[nan].astype(np.float32)).all()
    np.testing.assert_array_equal(got[~nan].view(np.uint16), wanted[~nan].view(np.uint16))


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize("operand", ["b", "c"])
def test_loads_widen_exactly(vulkan: VulkanBackend, dtype: DType, operand: str) -> None:
    """Every 16-bit number except NaN is unchanged after B, and after C."""
    bits = np.arange(0x10000, dtype=np.uint16)
    x = bits.view(NUMPY[dtype])
    zero = np.zeros(bits.size, NUMPY[dtype])
    beta = 1.0 if operand == "c" else 0.0
    spec = Matmul(m=1, n=bits.size // 2, k=1, batch=2, batch_stride_a=0, dtype=dtype, beta=beta)
    inputs = {"a": np.ones(1), "b": x if operand == "b" else zero, "c": x}
    got = run(vulkan, build(spec), inputs).astype(np.float32)
    wanted = x.astype(np.float32)
    if dtype is DType.BF16:
        # f32 arithmetic may flush what is subnormal in f32 too.
        wanted[np.abs(wanted) < 2.0**-126] = got[np.abs(wanted) < 2.0**-126]
    np.testing.assert_array_equal(got, wanted)


def test_mutations_are_seen(vulkan: VulkanBackend) -> None:
    """The checks above find a kernel without its barriers, or with one wrong instruction."""
    spec = Matmul(m=65, n=66, k=67, dtype=DType.F32)
    kernel = build(spec, schedule=dataclasses.replace(SCHEDULES[0], num_stages=2))
    check_exact(vulkan, spec, kernel)
    for old, new in (
        ("OpControlBarrier %uint_2 %uint_2 %uint_264", "OpNop"),
        ("%tail_m0 %tail_b0 %tail_sum", "%tail_m1 %tail_b0 %tail_sum"),
        ("OpStore %out_m1_n0_0_to", "; OpStore %out_m1_n0_0_to"),
        ("OpULessThan %bool %row_first %uint_65", "OpULessThan %bool %row_first %uint_64"),
        (
            "%main_next_stage = OpBitwiseAnd %uint %main_k_tile_next",
            "%main_next_stage = OpBitwiseAnd %uint %main_k_tile",
        ),
        ("%first_a_at0 = OpIAdd %uint %a_edge0", "%first_a_at0 = OpIAdd %uint %uint_1"),
    ):
        assert old in kernel.source.text
        broken = with_module(kernel, assemble(kernel.source.text.replace(old, new), (1, 6)))
        with pytest.raises(AssertionError):
            check_exact(vulkan, spec, broken)


def with_module(kernel: BuiltKernel, module: bytes) -> BuiltKernel:
    machine, source, *_ = kernel.assembled.artifacts
    artifacts = (dataclasses.replace(machine, data=module), source)
    assembled = dataclasses.replace(kernel.assembled, artifacts=artifacts)
    return dataclasses.replace(kernel, assembled=assembled)
