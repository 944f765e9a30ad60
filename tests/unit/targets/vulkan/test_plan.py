"""Vulkan plans: required device features, covered shapes, and refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen import pipeline
from kgen.errors import KgenError, ScheduleError, TargetError
from kgen.spec import DType, Epilogue, Layout, Matmul, Rowwise, Spec
from kgen.targets.vulkan.plan.declarations import find
from kgen.targets.vulkan.plan.vulkan_plan import fold_grid
from kgen_runtime.launch_limits import VULKAN_GUARANTEED
from tests.specs import relu_of
from tests.unit.targets.vulkan.vulkan_plans import FAMILY, VULKAN11, plan

FLOATS = (DType.F32, DType.F16, DType.BF16)

SHAPES = (
    (1, 1, 1),
    (1, 4096, 4096),
    (4096, 1, 7),
    (127, 131, 113),
    (2, 1 << 20, 9),
    (1 << 20, 1, 3),
)
SPECS: tuple[Spec, ...] = (
    *(Matmul(m=m, n=n, k=k, dtype=d) for (m, n, k), d in product(SHAPES, FLOATS)),
    *(relu_of((n,), dtype=d) for n, d in product((1, 4096, 1000003), FLOATS)),
    *(
        Rowwise(expression="log_softmax(x)", shapes=((r, c),), dtype=d)
        for (r, c), d in product(((7, 1), (33, 1000), (4, 131072)), FLOATS)
    ),
    Rowwise(expression="rms_norm(x)", shapes=((2, 2**24),), dtype=DType.F32),
    Rowwise(expression="argmax(x)", shapes=((70, 33),), dtype=DType.F32),
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_the_heuristics_ask_for_nothing_beyond_the_guarantee(spec: Spec) -> None:
    """Modules for devices without optional features, such as 16-bit storage, need no more
    either."""
    found = plan(spec)
    assert (found, *found.fallbacks)[-1].requires == {"api": "1.3"}
    assert found.num_threads <= 128
    assert found.shared_bytes <= 16384
    assert max(found.launches[0].grid) <= 65535


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_the_grid_is_as_large_as_the_output_and_no_larger(spec: Spec) -> None:
    (launch,) = plan(spec).launches
    assert launch.tile is not None
    for size, extent, axis in zip(
        launch.tile.shape, launch.tile.extent, launch.tile.axes, strict=True
    ):
        assert (1 if axis < 0 else launch.grid[axis]) == -(-size // extent)


def test_the_api_version_is_the_targets() -> None:
    spec = relu_of((3,), dtype=DType.F32)
    assert pipeline.plan(spec, VULKAN11).template == plan(spec).template
    assert plan(spec).requires["api"] == "1.3"


@pytest.mark.parametrize(
    ("spec", "overrides", "limits"),
    [
        (
            Matmul(m=8, n=8, k=8, dtype=DType.F32, beta=1.0, epilogue=(Epilogue.BIAS,)),
            {},
            {"maxPerStageDescriptorStorageBuffers": 5},
        ),
        (
            relu_of((2**25 + 1,), dtype=DType.F32),
            {},
            {"maxStorageBufferRange": 2**27 + 4},
        ),
        (
            relu_of((4096,), dtype=DType.F32),
            {"num_threads": 256},
            {"maxComputeWorkGroupInvocations": 256, "maxComputeWorkGroupSize": 256},
        ),
        (
            # Neither operand is copied along k, so neither is padded.
            Matmul(m=512, n=512, k=512, dtype=DType.F32, layout=Layout.TN),
            {"block_m": 64, "block_n": 64, "block_k": 32, "thread_m": 8, "thread_n": 4},
            {"maxComputeSharedMemorySize": 2 * 2 * 64 * 32 * 4},
        ),
    ],
    ids=["buffers", "range", "invocations", "memory"],
)
def test_what_is_beyond_the_guarantee_is_declared(
    spec: Spec, overrides: dict[str, int], limits: dict[str, int]
) -> None:
    assert plan(spec, **overrides).requires["limits"] == limits


LOG_SOFTMAX = Rowwise(expression="log_softmax(x)", shapes=((2, 9),), dtype=DType.F32)
REFUSED: tuple[tuple[Spec, dict[str, int], str], ...] = (
    (
        Matmul(m=64, n=64, k=64, dtype=DType.F32),
        {"block_m": 96, "thread_m": 4},
        "block_m=96 is not a power of two; try block_m=64 or block_m=128",
    ),
    (Matmul(m=64, n=64, k=64, dtype=DType.F32), {"num_stages": 3}, "try num_stages=2"),
    (
        Matmul(m=64, n=64, k=64, dtype=DType.F32),
        {"block_m": 64, "block_n": 64, "thread_m": 1, "thread_n": 1},
        "4096 invocations per workgroup; vulkan1.3 allows 1024; try thread_m=2,thread_n=2",
    ),
    (
        Matmul(m=64, n=64, k=64, dtype=DType.F32),
        {"block_m": 64, "block_n": 64, "block_k": 512, "thread_m": 8, "thread_n": 4},
        "block_k=512 needs 540672 B of workgroup memory; vulkan1.3 allows 32768; try block_k=16",
    ),
    (
        Matmul(m=64, n=64, k=1024, dtype=DType.S8),
        {"block_k": 256, "block_m": 64, "block_n": 64, "thread_m": 8, "thread_n": 4},
        "block_k=256 needs 67584 B of workgroup memory; vulkan1.3 allows 32768; try block_k=64",
    ),
    (
        Matmul(m=64, n=64, k=1024, dtype=DType.S8),
        {"block_k": 1024},
        "block_k=1024 does not divide evenly among 64 invocations; try block_k=512",
    ),
    (
        Matmul(m=1, n=4096, k=4096, dtype=DType.F32),
        {"slices": 64, "block_n": 256, "thread_n": 32},
        "slices=64 needs 65536 B of workgroup memory; vulkan1.3 allows 32768; try slices=32",
    ),
    (
        Matmul(m=8, n=256, k=64, dtype=DType.F32),
        {"slices": 2, "block_m": 64, "block_n": 256, "thread_m": 16, "thread_n": 32, "block_k": 4},
        "slices=2 needs 131072 B of workgroup memory; vulkan1.3 allows 32768; try slices=1",
    ),
    (
        Matmul(m=65536, n=8, k=8, dtype=DType.F32),
        {"block_m": 1, "thread_m": 1, "block_n": 128, "thread_n": 1},
        "block_m=1 needs 65536 workgroups along one axis of the grid; vulkan1.3 allows 65535; "
        "try block_m=2",
    ),
    (relu_of((6,), dtype=DType.F32), {"vector": 4}, "try vector=2"),
    (relu_of((8,), dtype=DType.F32), {"vector": 8}, "try vector=4"),
    (relu_of((8,), dtype=DType.F32), {"num_threads": 2048}, "try num_threads=128"),
    (LOG_SOFTMAX, {"vector": 2}, "try vector=1"),
    (
        replace(LOG_SOFTMAX, shapes=((2, 131072),)),
        {"resident": 1},
        "resident=1 keeps 1024 values of a row of 131072 in each invocation; the limit is 64; "
        "try resident=0",
    ),
    (
        replace(LOG_SOFTMAX, shapes=((9, 1),)),
        {"num_threads": 64, "rows_per_block": 64},
        "try rows_per_block=32",
    ),
)


@pytest.mark.parametrize(("spec", "overrides", "message"), REFUSED, ids=lambda v: str(v)[:40])
def test_schedules_that_do_not_fit_are_refused(
    spec: Spec, overrides: dict[str, int], message: str
) -> None:
    with pytest.raises(ScheduleError) as caught:
        plan(spec, **overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def advice(error: KgenError) -> dict[str, int]:
    """Return the fields that a message says to try."""
    words = str(error).rpartition("try ")[2].partition(" or ")[0].split(",")
    return {name: int(value) for name, value in (word.split("=") for word in words)}


@pytest.mark.parametrize(
    ("spec", "overrides"),
    [r[:2] for r in REFUSED],
    ids=lambda v: str(v)[:40],
)
def test_the_advice_fits(spec: Spec, overrides: dict[str, int]) -> None:
    """Following the message's remedy a few times leads to a plan."""
    values = dict(overrides)
    for _ in range(4):
        try:
            plan(spec, **values)
            return
        except ScheduleError as error:
            values |= advice(error)
    raise AssertionError(values)


def test_tensors_that_cannot_be_bound_are_refused() -> None:
    with pytest.raises(TargetError, match="4294967295, since maxStorageBufferRange is a 32-bit"):
        plan(Matmul(m=65536, n=32768, k=1, dtype=DType.F16))
    assert plan(Matmul(m=65535, n=32768, k=1, dtype=DType.F16)).requires["limits"] == {
        "maxStorageBufferRange": 65535 * 32768 * 2
    }


@given(st.integers(1, 2**32))
def test_folded_grids_cover_all_blocks(blocks: int) -> None:
    x, y, z = fold_grid(blocks)
    assert z == 1 and x <= 65535 and y <= 65538
    assert blocks <= x * y < blocks + y


def test_declarations_are_those_that_the_text_names() -> None:
    lines = find("%x = OpIAdd %uint %uint_7 %uint_0x10\n%y = OpFMul %float %alpha %float_m0p5", {})
    assert lines == (
        "%uint = OpTypeInt 32 0",
        "%float = OpTypeFloat 32",
        "%float_m0p5 = OpConstant %float -0.5",
        "%uint_7 = OpConstant %uint 7",
        "%uint_0x10 = OpConstant %uint 0x10",
    )
    assert find("%alpha", {"alpha": "0.25"}) == (
        "%float = OpTypeFloat 32",
        "%alpha = OpConstant %float 0.25",
    )


def test_every_target_declares_the_guarantee() -> None:
    for target in FAMILY.targets:
        capabilities: dict[str, Any] = dict(FAMILY.capabilities(target))
        assert capabilities["limits"] == VULKAN_GUARANTEED
        assert FAMILY.dtypes("matmul", target) == (*FLOATS, DType.S8)
        assert FAMILY.dtypes("conv", target) == ()
