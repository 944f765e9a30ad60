"""Plans of Vulkan products: division of K-tiles and tiles, edges, the epilogue."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.vulkan.plan.matmul.matrix import widths_of
from kgen.targets.vulkan.plan.matmul.staging import StagedOperand
from tests.unit.targets.vulkan.vulkan_plans import (
    VULKAN13,
    VULKAN_CPU,
    fma_plan,
    matmul_plan,
    plan,
    text,
    unstaged_plan,
)


def copied(o: StagedOperand) -> dict[tuple[int, int], int]:
    """Return (edge, k) of all elements of a K-tile that the invocations store, and their places
    in workgroup memory, as the template computes them."""
    places: dict[tuple[int, int], int] = {}
    width, m = o.matrix.width, o.matrix
    for thread in range(o.num_threads):
        if o.idle and thread >= o.accesses:
            continue
        inner = thread & o.first_mask
        outer = (thread >> o.first_log2) & o.outer_mask
        for copy in o.copies:
            along = {"edge": o.edge_place(copy), "k": o.k_place(copy)}
            if m.k_inner:
                edge, k = outer + along["edge"], (inner + along["k"]) * width
            else:
                edge, k = (inner + along["edge"]) * width, outer + along["k"]
            first_k = (inner * width if m.k_inner else outer) * o.pitch
            group = first_k + edge // o.group + copy.shared
            for piece in o.pieces:
                for number in piece.members:
                    key = (edge, k + number) if m.k_inner else (edge + number, k)
                    component = edge % o.group + number - piece.number
                    component += 0 if o.in_groups else piece.component
                    at = (group + piece.distance) * o.group + component
                    assert key not in places
                    places[key] = at
    return places


TILES: tuple[dict[str, int], ...] = (
    {},
    {"block_m": 16, "block_n": 16, "block_k": 8, "thread_m": 4, "thread_n": 2},
    {"block_m": 1, "block_n": 128, "block_k": 16, "thread_m": 1, "thread_n": 1},
    {"block_m": 128, "block_n": 1, "block_k": 2, "thread_m": 4, "thread_n": 1},
    {"block_m": 64, "block_n": 8, "block_k": 4, "thread_m": 16, "thread_n": 8},
)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
@pytest.mark.parametrize("overrides", TILES, ids=str)
@pytest.mark.parametrize("layout", Layout)
def test_each_element_of_a_k_tile_is_copied_once(
    layout: Layout, overrides: dict[str, int], dtype: DType
) -> None:
    found = fma_plan(Matmul(m=304, n=200, k=104, layout=layout, dtype=dtype), **overrides)
    for o in (found.a, found.b):
        places = copied(o)
        assert set(places) == set(product(range(o.side.block), range(o.block_k)))
        for (edge, k), at in places.items():
            assert at == k * o.pitch * o.group + edge
        assert o.shared.length * o.group > max(places.values())
        transposed = layout.b_transposed if o.name == "b" else not layout.a_transposed
        assert o.matrix.k_inner == transposed


@pytest.mark.parametrize("overrides", TILES, ids=str)
def test_each_output_of_a_tile_belongs_to_one_invocation(overrides: dict[str, int]) -> None:
    found = matmul_plan(Matmul(m=300, n=200, k=100), **overrides)
    m, n = found.outputs.m, found.outputs.n
    outputs = [
        (thread // n.threads * m.group + i, thread % n.threads * n.group + j)
        for thread in range(found.num_threads)
        for _, i in m.values
        for _, j in n.values
    ]
    tile = product(range(found.schedule.block_m), range(found.schedule.block_n))
    assert sorted(outputs) == list(tile)


@given(st.integers(1, 65536))
def test_the_phases_make_up_k(k: int) -> None:
    found = fma_plan(Matmul(m=16, n=16, k=k, dtype=DType.F32))
    phases = [p for p in (found.main, found.tail) if p is not None]
    assert sum(p.k_tiles * p.steps for p in phases) == k


@pytest.mark.parametrize(
    ("dtype", "n", "width"),
    [
        (DType.F32, 4096, 4),
        (DType.F32, 4098, 2),
        (DType.F32, 4099, 1),
        (DType.F16, 4096, 8),
        (DType.BF16, 4094, 2),
        (DType.F16, 4099, 1),
    ],
)
def test_accesses_are_as_wide_as_the_shape_allows(dtype: DType, n: int, width: int) -> None:
    found = fma_plan(Matmul(m=1024, n=n, k=64, dtype=dtype))
    assert found.b.matrix.width == width
    assert found.b.matrix.width in widths_of(dtype)
    needs_16bit = "storageBuffer16BitAccess" in found.requires.get("features", [])
    assert needs_16bit == (width == 1 and dtype is not DType.F32)
    assert (found, *found.fallbacks)[-1].requires == {"api": "1.3"}


def test_a_leading_dimension_narrows_accesses() -> None:
    found = fma_plan(Matmul(m=64, n=64, k=64, dtype=DType.F32, lda=66, ldb=65))
    assert (found.a.matrix.width, found.b.matrix.width) == (2, 1)


@pytest.mark.parametrize("target", [VULKAN13, VULKAN_CPU], ids=lambda t: t.name)
@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize(("m", "n"), [(1, 300), (300, 1), (5, 37), (8, 8)])
def test_an_unstaged_product_loads_each_element_it_multiplies(
    m: int, n: int, layout: Layout, target: object
) -> None:
    assert target in (VULKAN13, VULKAN_CPU)
    chosen = VULKAN13 if target is VULKAN13 else VULKAN_CPU
    found = unstaged_plan(Matmul(m=m, n=n, k=40, dtype=DType.F32, layout=layout), chosen)
    steps = found.schedule.block_k
    for o in (found.a, found.b):
        loaded = {f"main_{o.name}{load.name}" for load in o.loads(steps)}
        used = {
            o.load("main", value, step)
            for value in range(o.side.per_thread)
            for step in range(steps)
        }
        assert used == loaded
    threads = {
        (thread // found.tile_threads, thread % found.tile_threads)
        for thread in range(found.num_threads)
    }
    assert len(threads) == found.schedule.slices * found.tile_threads


def test_slices_are_side_by_side_where_memory_is_contiguous_along_k() -> None:
    nt, nn = (
        unstaged_plan(Matmul(m=1, n=4096, k=4096, dtype=DType.F32, layout=layout))
        for layout in (Layout.NT, Layout.NN)
    )
    assert nt.slices_inside and nt.schedule.slices == 32
    assert not nn.slices_inside and nn.schedule.slices == 8


def clamps(spec: Matmul, **overrides: int) -> list[str]:
    """Return the lines that keep an index inside a matrix, except those of the next K-tile."""
    lines = text(spec, **overrides).splitlines()
    return [line for line in lines if "UMin" in line and "%next_k_tile" not in line]


def test_a_shape_of_whole_tiles_has_no_edge_code() -> None:
    spec = Matmul(m=64, n=128, k=32, dtype=DType.F32)
    whole = text(spec, **TILES[1])
    assert "tail" not in whole and "stored" not in whole and not clamps(spec, **TILES[1])


@pytest.mark.parametrize(
    ("shape", "clamped", "guards"),
    [((63, 64, 32), "%a_edge", 4), ((64, 63, 32), "%b_edge", 8), ((64, 64, 33), "%last_", 0)],
)
def test_an_edge_brings_its_own_code_only(
    shape: tuple[int, int, int], clamped: str, guards: int
) -> None:
    m, n, k = shape
    spec = Matmul(m=m, n=n, k=k, dtype=DType.F32)
    found = clamps(spec, **TILES[1])
    assert found and all(clamped in line for line in found)
    assert text(spec, **TILES[1]).count("OpSelectionMerge %stored") == guards


def test_helper_functions_are_those_in_use() -> None:
    epilogue = (Epilogue.SILU, Epilogue.BIAS)
    spec = Matmul(m=8, n=8, k=8, dtype=DType.BF16, out_dtype=DType.F16, epilogue=epilogue)
    assert plan(spec).functions == ("narrow_f16", "exp2", "epilogue")
    odd = replace(spec, n=7, ldb=None, ldc=None)
    assert plan(odd).functions == ("widen_bf16", "widen_f16", "narrow_f16", "exp2", "epilogue")
    assert plan(Matmul(m=8, n=8, k=8, dtype=DType.F32)).functions == ()


def test_the_epilogue_keeps_its_order() -> None:
    spec = Matmul(
        m=8,
        n=8,
        k=8,
        alpha=0.5,
        beta=2.0,
        epilogue=(Epilogue.RELU, Epilogue.RESIDUAL, Epilogue.RELU, Epilogue.BIAS),
    )
    fused = matmul_plan(spec).epilogue.fused
    assert fused.line == "relu(relu(fma(c, 2, A @ B * 0.5)) + residual) + bias"
    assert [(a.name, a.extent) for a in fused.arguments] == [
        ("c", "mxn"),
        ("residual", "mxn"),
        ("bias", "n"),
    ]
