"""Vulkan relu and softmax on a real driver, for every bit pattern and every kind of row."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kgen.schedule import GpuRows, GpuStream
from kgen.spec import DType, Elementwise, Rowwise
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import NUMPY, Values, build, run
from tests.specs import relu_of

FLOATS = (DType.F32, DType.F16, DType.BF16)


def check_relu(
    vulkan: VulkanBackend, spec: Elementwise, x: Values, schedule: GpuStream | None
) -> None:
    """Check the bits: x, or 0 if x is negative or -0."""
    got = run(vulkan, build(spec, schedule=schedule), {"x": x})
    wide = x.astype(np.float32)
    negative = ~np.isnan(wide) & np.signbit(wide)
    bits = np.uint32 if spec.dtype is DType.F32 else np.uint16
    np.testing.assert_array_equal(got.view(bits), np.where(negative, 0, x.view(bits)))


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize("vector", [1, 2, 4])
def test_relu_of_every_16_bit_pattern(vulkan: VulkanBackend, dtype: DType, vector: int) -> None:
    x = np.arange(0x10000, dtype=np.uint16).view(NUMPY[dtype])
    schedule = GpuStream(num_threads=128, vector=vector, unroll=8 // vector)
    check_relu(vulkan, relu_of((x.size,), dtype=dtype), x, schedule)


@pytest.mark.parametrize("shape", [(1,), (3, 5, 7), (1000003,), (128, 4)], ids=str)
def test_relu_of_f32(vulkan: VulkanBackend, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    bits = np.random.default_rng(3).integers(0, 2**32, size).astype(np.uint32)
    special = np.array([0x7FC00000, 0xFFC00000, 0x80000000, 0xFF800000, 0x7F800001], np.uint32)
    bits[: min(size, 5)] = special[:size]
    check_relu(vulkan, relu_of(shape, dtype=DType.F32), bits.view(np.float32), None)


def test_relu_in_a_grid_of_two_dimensions(vulkan: VulkanBackend) -> None:
    """There are more workgroups than one dimension holds; the grid's last row is partial."""
    x = np.random.default_rng(4).standard_normal(65535 * 2 * 2 + 77).astype(np.float32)
    check_relu(vulkan, relu_of((x.size,), dtype=DType.F32), x, GpuStream(num_threads=2, vector=1))


def rowwise(
    *, rows: int, cols: int, dtype: DType, out_dtype: DType | None = None, log: bool = False
) -> Rowwise:
    text = "log_softmax(x)" if log else "softmax(x)"
    return Rowwise(expression=text, shapes=((rows, cols),), dtype=dtype, out_dtype=out_dtype)


def softmax(x: Values, log: bool) -> Values:
    """Return softmax along the last axis in float64; a row with NaN or +inf, or only -inf, is
    NaN."""
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        shifted = x - x.max(axis=1, keepdims=True)
        sums = np.exp(shifted).sum(axis=1, keepdims=True)
        result: Values = shifted - np.log(sums) if log else np.exp(shifted) / sums
    return result


def check_softmax(
    vulkan: VulkanBackend,
    spec: Rowwise,
    x: Values,
    schedule: GpuRows | None = None,
    target: str = "vulkan1.3",
) -> None:
    got = run(vulkan, build(spec, target, schedule), {"x": x}).reshape(spec.rows, spec.cols)
    log = spec.call_name == "log_softmax"
    wanted = softmax(x.astype(NUMPY[spec.dtype]).reshape(spec.rows, spec.cols), log)
    with np.errstate(over="ignore"):
        rounded = wanted.astype(NUMPY[spec.out]).astype(np.float64)
    wanted = np.where(np.isinf(rounded), rounded, wanted)
    rounding = float(spec.out.unit_roundoff) + 2.0**-18
    smallest = float(spec.out.smallest_subnormal)
    np.testing.assert_allclose(
        got.astype(np.float64),
        wanted,
        rtol=rounding,
        atol=max(smallest / 2, 1e-38) + 1e-6 * log,
    )


@pytest.mark.parametrize("log", [False, True], ids=["softmax", "log"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(7, 1), (33, 1000), (5, 301)], ids=str)
def test_softmax(vulkan: VulkanBackend, shape: tuple[int, int], dtype: DType, log: bool) -> None:
    x = np.random.default_rng(5).standard_normal(shape[0] * shape[1]) * 3
    spec = rowwise(rows=shape[0], cols=shape[1], dtype=dtype, log=log)
    check_softmax(vulkan, spec, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_long_rows(vulkan: VulkanBackend, dtype: DType) -> None:
    """Rows are read three times; outputs are subnormal in f16."""
    x = np.random.default_rng(6).standard_normal(2 * 131072)
    check_softmax(vulkan, rowwise(rows=2, cols=131072, dtype=dtype), x, target="vulkan1.1")


@pytest.mark.parametrize("resident", [0, 1])
@pytest.mark.parametrize(
    ("threads", "rows", "vector"), [(1, 1, 1), (64, 64, 2), (64, 4, 4), (128, 1, 2), (8, 2, 1)]
)
def test_softmax_schedules(
    vulkan: VulkanBackend, threads: int, rows: int, vector: int, resident: int
) -> None:
    """Schedules cover one lane, as many rows as invocations, rows beyond the last, and lanes beyond
    the row's end."""
    schedule = GpuRows(num_threads=threads, rows_per_block=rows, vector=vector, resident=resident)
    x = np.random.default_rng(7).standard_normal(67 * 20)
    check_softmax(vulkan, rowwise(rows=67, cols=20, dtype=DType.F32), x, schedule)


ROWS = {
    "nan": [0.0, np.nan, 1.0, 2.0],
    "negative nan": [0.0, -np.nan, 1.0, 2.0],
    "infinity": [0.0, np.inf, 1.0, -np.inf],
    "two infinities": [np.inf, np.inf, 0.0, 0.0],
    "only -infinity": [-np.inf] * 4,
    "some -infinity": [-np.inf, 1.0, 2.0, -np.inf],
    "one finite": [-np.inf, -3.0, -np.inf, -np.inf],
    "largest": [6e4, 6e4, -6e4, 0.0],
    "far apart": [-6e4, 0.0, -100.0, -80.0],
    "negative": [-1.0, -2.0, -3.0, -4.0],
}


@pytest.mark.parametrize("log", [False, True], ids=["softmax", "log"])
@pytest.mark.parametrize("resident", [0, 1])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_special_rows(
    vulkan: VulkanBackend, dtype: DType, resident: int, log: bool
) -> None:
    x = np.array(list(ROWS.values()))
    spec = rowwise(rows=x.shape[0], cols=4, dtype=dtype, log=log)
    schedule = GpuRows(num_threads=8, rows_per_block=4, vector=1, resident=resident)
    check_softmax(vulkan, spec, x, schedule)


def test_softmax_of_the_largest_f32(vulkan: VulkanBackend) -> None:
    """The difference to the maximum overflows, and the result does not."""
    x = np.array([[3e38, -3e38, 3e38, 0.0], [-3e38, -3e38, -3.4e38, -np.inf]])
    check_softmax(vulkan, rowwise(rows=2, cols=4, dtype=DType.F32), x)


def test_softmax_between_types(vulkan: VulkanBackend) -> None:
    x = np.random.default_rng(8).standard_normal(9 * 70)
    check_softmax(vulkan, rowwise(rows=9, cols=70, dtype=DType.BF16, out_dtype=DType.F32), x)
    check_softmax(vulkan, rowwise(rows=9, cols=70, dtype=DType.F32, out_dtype=DType.F16), x)


FOLDED = {
    "short rows": ("sum(x)", (200, 70), ()),
    "side by side": ("sum(x)", (6, 50, 70), (1,)),
    "far apart": ("sum(x)", (2, 300, 128), (1,)),
    "two folds": ("amax(x) - amin(x)", (3, 40000), ()),
    "in integers": ("amax(x)", (9, 3000), ()),
}


@pytest.mark.parametrize("name", FOLDED)
def test_folds_by_shuffles(vulkan: VulkanBackend, name: str) -> None:
    """Lanes combine values by shuffles inside subgroups, through memory between them, or without
    shuffles."""
    text, shape, axes = FOLDED[name]
    dtype = DType.S32 if name == "in integers" else DType.F32
    spec = Rowwise(expression=text, shapes=(shape,), dtype=dtype, axes=axes or (-1,))
    kernel = build(spec)
    x = np.random.default_rng(9).integers(-9, 10, shape)
    found = {"sum(x)": x.sum(axes or -1), "amax(x)": x.max(-1)}
    wanted = found.get(text, x.max(-1) - x.min(-1)).reshape(-1)
    assert "OpGroupNonUniformShuffleXor" in kernel.source.text
    for each in (kernel, build(spec, "vulkan1.1")):
        np.testing.assert_array_equal(run(vulkan, each, {"x": x}), wanted)


def test_mutations_of_folds_are_seen(vulkan: VulkanBackend) -> None:
    """Mutations: no barrier, no shuffle, a missing subgroup, values of another row."""
    spec = Rowwise(expression="sum(x)", shapes=((9, 3000),), dtype=DType.F32)
    kernel = build(spec)
    x = np.random.default_rng(10).integers(-9, 10, (9, 3000))
    for old, new in (
        ("OpControlBarrier %uint_2 %uint_2 %uint_264", "OpNop"),
        ("%sum_of_lanes_value %sum_of_lanes_distance", "%sum_of_lanes_value %uint_0"),
        ("%sum_of_lanes_start %uint_128", "%sum_of_lanes_start %uint_0"),
        ("%uint_1 %sum_of_lanes_entry", "%uint_2 %sum_of_lanes_entry"),
    ):
        assert old in kernel.source.text, old
        module = assemble(kernel.source.text.replace(old, new), (1, 6))
        machine, source, *_ = kernel.assembled.artifacts
        artifacts = (dataclasses.replace(machine, data=module), source)
        broken = dataclasses.replace(
            kernel, assembled=dataclasses.replace(kernel.assembled, artifacts=artifacts)
        )
        assert (run(vulkan, broken, {"x": x}) != x.sum(-1)).any(), old


def test_rows_that_take_more_turns_than_lavapipe_has(vulkan: VulkanBackend) -> None:
    """Lavapipe silently ends a loop after 65,535 iterations."""
    cols = 8400001
    spec = Rowwise(expression="sum(x)", shapes=((cols,),), dtype=DType.F32)
    assert run(vulkan, build(spec), {"x": np.ones(cols, np.float32)}) == cols


@pytest.mark.parametrize("text", ["softmax(x)", "log_softmax(x)", "layer_norm(x)", "var(x)"])
def test_rows_of_one_column(vulkan: VulkanBackend, text: str) -> None:
    """x - x is NaN for infinity and NaN; drivers replace it by 0."""
    x = np.array([1.0, np.nan, -np.inf, 3e38, np.inf], np.float32)
    spec = Rowwise(expression=text, shapes=((x.size, 1),), dtype=DType.F32)
    finite = 1.0 if text == "softmax(x)" else 0.0
    np.testing.assert_array_equal(
        run(vulkan, build(spec), {"x": x}), np.where(np.isfinite(x), finite, np.nan)
    )


def test_a_number_less_itself(vulkan: VulkanBackend) -> None:
    x = np.array([1.0, np.nan, -np.inf, 3e38, np.inf, -0.0], np.float32)
    spec = Elementwise(expression="x - x", shapes=(x.shape,), dtype=DType.F32)
    wanted = np.where(np.isfinite(x), 0.0, np.nan)
    np.testing.assert_array_equal(run(vulkan, build(spec), {"x": x}), wanted)


def test_rows_of_one_value(vulkan: VulkanBackend) -> None:
    x = np.array([1.0, np.nan, -np.inf, 3e38, np.inf], np.float32)
    spec = Rowwise(expression="softmax(x) * y", shapes=((5, 1), (5, 8)), dtype=DType.F32)
    got = run(vulkan, build(spec), {"x": x, "y": np.ones((5, 8), np.float32)}).reshape(5, 8)
    wanted = np.where(np.isfinite(x), 0.125, np.nan)[:, None]
    np.testing.assert_array_equal(got, np.broadcast_to(wanted, got.shape))
