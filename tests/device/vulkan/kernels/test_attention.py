"""Attention of Vulkan on a real driver: every option and remainder, against the reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest

from kgen import pipeline, targets
from kgen.bundle import pack
from kgen.check.verify.run import verify
from kgen.errors import ScheduleError
from kgen.spec import Attention, DType
from kgen.targets.base import BuiltKernel
from kgen.targets.vulkan import FAMILY
from kgen.targets.vulkan.spirv import assemble
from kgen_runtime.backends.vulkan import VulkanBackend
from tests import attention_specs
from tests.attention_specs import BOTTOM, options
from tests.device.vulkan.kernels.test_matmul import with_module
from tests.device.vulkan.vulkan_support import Values, run

attention = partial(attention_specs.attention, dtype="f32")
V13 = targets.find("vulkan1.3")
#: Blocks that are shorter than most rows of scores, and several queries for each invocation.
SMALL = {"block_q": 8, "block_k": 16, "thread_q": 2, "thread_k": 2}
#: Queries whose invocations lavapipe executes in several parts.
WIDE = {"block_q": 4, "block_k": 32, "thread_q": 2, "thread_k": 1}


def built(
    spec: Attention, schedule: Mapping[str, int | str], target: str = V13.name
) -> BuiltKernel:
    return pipeline.assembled(pipeline.plan_with(spec, targets.find(target), schedule))


def check(spec: Attention, schedule: Mapping[str, int | str], target: str = V13.name) -> None:
    report = verify(pack([built(spec, schedule, target)]))
    assert report.passed, [kernel.reason for kernel in report.kernels]


#: Remainders of queries, keys and heads; every option; what the heuristics choose.
CASES = {
    **options("f32"),
    "window beyond the keys": attention(130, 20, 16, window=4, dtype="f16", out_dtype="f32"),
    "mask of keys": attention(
        9, 74, 8, batch=2, heads=2, mask=(2, 1, 1, 74), mask_dtype="f32", dtype="f16"
    ),
    "one query, one key": attention(1, 1, 40, dtype="f16"),
    "one query of a group": attention(1, 129, 128, heads=3, dtype="bf16", **BOTTOM),
    "5 queries": attention(5, 127, 40, heads=2, dtype="bf16", **BOTTOM, kv_length=True),
    "5 queries, one key": attention(5, 1, 128, causal=True),
    "16 queries": attention(16, 129, 40, heads=4, kv_heads=2, batch=2, causal=True, lse=True),
    "16 queries, one key": attention(16, 1, 64, dtype="bf16"),
    "17 queries": attention(17, 127, 128, dtype="f16", heads=2, layout="bshd", lse=True),
    "128 queries": attention(128, 129, 64, heads=2, dtype="f16", **BOTTOM),
    "128 queries, one key": attention(128, 1, 40),
    "large head": attention(9, 40, 256, heads=2, dtype="f16"),
    "window behind": attention(33, 170, 24, heads=2, **BOTTOM, window=20),
    "mask of 16 bits": attention(20, 37, 8, mask=(20, 37), dtype="f16", causal=True),
    "boolean mask": attention(17, 37, 16, heads=2, mask=(2, 17, 37), mask_dtype="bool", lse=True),
    "boolean mask of queries": attention(20, 37, 8, mask=(20, 1), mask_dtype="bool"),
    "odd size": attention(9, 40, 19, out=5, dtype="f16"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_options_and_remainders(vulkan: VulkanBackend, name: str) -> None:
    check(CASES[name], {})


@pytest.mark.parametrize(
    "fields",
    [
        SMALL,
        {"block_q": 16, "block_k": 8, "thread_q": 4, "thread_k": 8},
        {"block_q": 1, "block_k": 64, "thread_q": 1, "thread_k": 1},
        {"block_q": 64, "block_k": 4, "thread_q": 2, "thread_k": 1},
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_blocks(vulkan: VulkanBackend, fields: dict[str, int], dtype: str) -> None:
    """Blocks with queries of several heads; invocations with and without all accesses."""
    spec = attention(
        19, 45, 12, heads=4, kv_heads=2, batch=2, out=20, dtype=dtype, **BOTTOM, kv_length=True
    )
    check(spec, fields)


@pytest.mark.parametrize("size", [1, 8, 12, 16, 48])
def test_pages(vulkan: VulkanBackend, size: int) -> None:
    """Pages of one key, and blocks of keys within a page and across pages."""
    spec = attention(
        5, 96, 12, heads=4, kv_heads=2, batch=3, out=20, page_size=size, pages=200 // size,
        **BOTTOM, window=60,
    )  # fmt: skip
    check(spec, SMALL)


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r"(%k\d_entry = OpIAdd %uint) %table_row", r"\1 %uint_0"),
        (r"(%k\d_column = OpUDiv %uint) %key\d_read", r"\1 %block_key"),
        (r"(%v_in_page = OpUMod %uint) %value_key", r"\1 %step"),
        (r"(%v_base = OpIMul %uint) %v_page", r"\1 %k0_page"),
        (r"(%v_page = OpExtInst .*) %v_positive", r"\1 %uint_0"),
    ],
)
def test_mutations_of_pages_are_seen(vulkan: VulkanBackend, pattern: str, new: str) -> None:
    spec = attention(5, 48, 8, batch=2, page_size=12, pages=9)
    kernel = built(spec, SMALL)
    text, count = re.subn(pattern, new, kernel.source.text)
    assert count and not verify(pack([with_module(kernel, assemble(text, (1, 6)))])).passed


def test_pages_of_any_strides(vulkan: VulkanBackend) -> None:
    fields = attention(
        1, 96, 16, heads=6, kv_heads=3, dtype="f16", page_size=32, kv_layout="bhsd",
        v_strides=(1700, 560, 17), mask=(1, 96), lse=True,
    )  # fmt: skip
    check(fields, {})


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3+coopmat", "vulkan1.3+cpu"])
def test_other_targets(vulkan: VulkanBackend, target: str) -> None:
    spec = attention(9, 70, 32, heads=2, dtype="f16", **BOTTOM, mask=(9, 70), lse=True)
    check(spec, {"mainloop": "unstaged", **SMALL}, target)


def test_a_grid_that_continues_in_y(vulkan: VulkanBackend) -> None:
    """There are more workgroups than a grid has along x; the last ones have no rows."""
    spec = attention(1, 2, 8, batch=3, heads=30001, kv_heads=30001, dtype="f16")
    kernel = built(spec, {"block_q": 1, "block_k": 4, "thread_q": 1, "thread_k": 1})
    assert kernel.plan.launches[0].grid == (45002, 2, 1)
    assert verify(pack([kernel])).passed


def data(spec: Attention) -> dict[str, Values]:
    generator = np.random.default_rng(0)
    return {
        p.name: generator.standard_normal(p.shape).astype(np.float32)
        for p in spec.parameters
        if p.dtype is DType.F32 and not p.is_output
    }


def test_scores_of_any_size_and_masked_rows(vulkan: VulkanBackend) -> None:
    """Scores up to 1e4, rows of -infinity, and a later block with the maximum."""
    spec = attention(4, 64, 16, mask=(4, 64), scale=1.0)
    given = data(spec)
    given["q"] *= 2000.0
    given["k"][0, 0, 60] *= 4.0
    mask = given["mask"] = np.zeros((4, 64), np.float32)
    mask[1], mask[2, :40], mask[3] = -np.inf, -np.inf, np.finfo(np.float32).min
    out = run(vulkan, built(spec, SMALL), given).reshape(4, 16)
    q, k, v = (given[name][0, 0].astype(np.float64) for name in "qkv")
    scores = q @ k.T + mask
    assert np.abs(scores[0]).max() > 1e4
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights @ v / weights.sum(1, keepdims=True)
    assert np.all(out[1] == 0.0)
    for row in (0, 2, 3):
        np.testing.assert_allclose(out[row], expected[row], rtol=2e-2, atol=1e-3)


#: Bugs: a pattern, what replaces it, and the number of the one occurrence (None: all).
MUTATIONS: dict[str, tuple[str, str, int | None]] = {
    "no barrier behind maxima": ("OpControlBarrier .*", "OpNop", 0),
    "no barrier behind weights": ("OpControlBarrier .*", "OpNop", 1),
    "no barrier behind sums": ("OpControlBarrier .*", "OpNop", 2),
    "results not rescaled": (
        r"(%scaled_\w+) = OpFMul %float (%acc_\w+) %shrink_q\d", r"\1 = OpCopyObject %float \2",
        None,
    ),
    "sums not rescaled": (
        r"(%total_q\d_0) = OpFMul %float (%\w+) %\w+", r"\1 = OpCopyObject %float \2", None
    ),
    "stale maximum": (r"(%below_\w+ = .*) %max_(q\d)_next", r"\1 %max_\2", None),
    "maximum of one lane": (r"(%is_maxima_lane = .*) %uint_32", r"\1 %uint_1", None),
    "sum of one lane": (r"(%is_totals_lane = .*) %uint_32", r"\1 %uint_1", None),
    "mask off by one": (r"(%before_\w+ =) OpULessThan ", r"\1 OpULessThanEqual ", None),
    "window off by one": (r"(%behind_\w+ =) OpUGreaterThanEqual ", r"\1 OpUGreaterThan ", None),
    "weights of another query": (
        r"(%weight_q1_at = OpIAdd %uint) %weights_row1", r"\1 %weights_row0", None
    ),
    "last values not read": (r"(%steps_left = OpISub .*) %block_key", r"\1 %block_key_later", None),
    "length of another element": (r"(%length_ptr = .*) %batch", r"\1 %uint_0", None),
    "results not divided": (
        r"(%share_q\d) = OpFDiv %float %float_1 .*", r"\1 = OpCopyObject %float %float_1", None
    ),
}  # fmt: skip


def test_mutations_are_seen(vulkan: VulkanBackend) -> None:
    spec = attention(
        21, 100, 16, batch=2, heads=2, kv_heads=2, scale=1.0, **BOTTOM, window=60, kv_length=True
    )
    kernel, given = built(spec, WIDE), data(spec)
    given["q"][:, :, ::2] *= 30.0
    given["kv_length"] = np.array([100, 87], np.int32)
    expected = _expected(given).astype(np.float32)

    def is_right(of: BuiltKernel) -> bool:
        with np.errstate(invalid="ignore"):
            return bool(np.allclose(run(vulkan, of, given), expected, rtol=1e-3, atol=1e-4))

    assert is_right(kernel)
    for name, (pattern, new, number) in MUTATIONS.items():
        text = kernel.source.text
        found = list(re.finditer(pattern, text))
        assert found, name
        for match in reversed(found if number is None else found[number : number + 1]):
            text = text[: match.start()] + match.expand(new) + text[match.end() :]
        if "%block_key_later" in text:
            text = text.replace(
                "%steps_left =", "%block_key_later = OpIAdd %uint %block_key %uint_1\n%steps_left ="
            )
        assert not is_right(with_module(kernel, assemble(text, (1, 6)))), name


def _expected(given: dict[str, Values]) -> Values:
    """Return the attention of the mutations' options in float64, flat."""
    q, k, v = (given[name].astype(np.float64) for name in "qkv")
    scores = q @ k.swapaxes(2, 3)
    query, key = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    for b, length in enumerate(given["kv_length"]):
        position = query + length - q.shape[2]
        kept = (key <= position) & (key > position - 60) & (key < length)
        scores[b, :, ~kept] = -np.inf
    weights = np.exp(scores - scores.max(3, keepdims=True))
    result: Values = weights @ v / weights.sum(3, keepdims=True)
    return result.reshape(-1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"block_k": 48, "thread_k": 1}, "block_k=48 is not a power of two; try block_k=32"),
        ({"thread_q": 1, "block_k": 256}, "invocations per workgroup; vulkan1.3 allows 1024; try"),
        ({"block_q": 128, "thread_q": 8, "block_k": 128, "thread_k": 8}, "try block_q=32"),
        ({"thread_q": 32, "thread_k": 1}, "thread_q=32 gives an invocation 160 sums; the limit is"),
        ({"thread_q": 3}, "block_q=32 is not a multiple of thread_q=3"),
    ],
)
def test_schedules_that_do_not_fit(fields: dict[str, int], message: str) -> None:
    whole = {"block_q": 32, "block_k": 32, "thread_q": 4, "thread_k": 2} | fields
    with pytest.raises(ScheduleError) as error:
        pipeline.plan_with(attention(256, 2048, 128), V13, whole)
    assert message in str(error.value)
    assert len(str(error.value)) <= 500


def test_loops_that_are_too_long() -> None:
    spec = attention(1, 65535 * 128 + 1, 1, out=1, dtype="f16")
    with pytest.raises(ScheduleError, match=r"into 65536 blocks; .* try block_k=256"):
        pipeline.plan_with(spec, V13, {})


@pytest.mark.parametrize("size", [16, 40, 128, 256])
@pytest.mark.parametrize("rows", [(1, 1), (1, 8), (16, 4), (512, 96)])
def test_what_the_heuristics_choose_fits(rows: tuple[int, int], size: int) -> None:
    queries, heads = rows
    spec = attention(queries, 512, size, heads=heads, kv_heads=1, dtype="f16")
    assert FAMILY.plan(spec, V13, FAMILY.choose(spec, V13)).shared_bytes <= 16384  # type: ignore[attr-defined]
