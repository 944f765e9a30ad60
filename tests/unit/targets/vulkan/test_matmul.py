"""Plans of Vulkan products: how K-tiles and tiles are shared out, edges, the epilogue."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.vulkan.plan.operand import Operand
from tests.unit.targets.vulkan.vulkan_plans import matmul_plan, plan, text


def copied(o: Operand) -> list[tuple[int, int]]:
    """(edge, k) of all elements of a K-tile that the invocations store, as the template says it."""
    places = []
    for thread in range(o.num_threads):
        if o.idle and thread >= o.elements:
            continue
        first = {
            o.inner: thread & o.inner_mask,
            o.outer: (thread >> o.outer_shift) & o.outer_mask,
        }
        for copy in o.copies:
            edge = first[o.edge] + o.edge_places[copy.edge]
            k = first["k"] + o.k_places[copy.k]
            assert first["k"] * o.pitch + first[o.edge] + copy.shared == k * o.pitch + edge
            places.append((edge, k))
    return places


TILES: tuple[dict[str, int], ...] = (
    {},
    {"block_m": 16, "block_n": 16, "block_k": 8, "thread_m": 4, "thread_n": 2},
    {"block_m": 1, "block_n": 128, "block_k": 16, "thread_m": 1, "thread_n": 1},
    {"block_m": 128, "block_n": 1, "block_k": 2, "thread_m": 4, "thread_n": 1},
    {"block_m": 64, "block_n": 8, "block_k": 4, "thread_m": 16, "thread_n": 8},
)


@pytest.mark.parametrize("overrides", TILES, ids=str)
@pytest.mark.parametrize("layout", Layout)
def test_each_element_of_a_k_tile_is_copied_once(layout: Layout, overrides: dict[str, int]) -> None:
    found = matmul_plan(Matmul(m=300, n=200, k=100, layout=layout), **overrides)
    for o in found.operands:
        wanted = set(product(range(o.edge_block), range(o.block_k)))
        places = copied(o)
        assert set(places) == wanted
        assert len(places) == len(wanted)
        assert o.shared.length >= (o.block_k - 1) * o.pitch + o.edge_block
        assert o.k_inner == (layout.b_transposed if o.name == "b" else not layout.a_transposed)


@pytest.mark.parametrize("overrides", TILES, ids=str)
def test_each_output_of_a_tile_belongs_to_one_invocation(overrides: dict[str, int]) -> None:
    found = matmul_plan(Matmul(m=300, n=200, k=100), **overrides)
    outputs = [
        (thread // found.b.threads + m, thread % found.b.threads + n)
        for thread in range(found.num_threads)
        for _, m in found.a.values
        for _, n in found.b.values
    ]
    tile = product(range(found.schedule.block_m), range(found.schedule.block_n))
    assert sorted(outputs) == list(tile)


@given(st.integers(1, 65536))
def test_the_phases_make_up_k(k: int) -> None:
    found = matmul_plan(Matmul(m=8, n=8, k=k, dtype=DType.F32))
    phases = [p for p in (found.main, found.tail) if p is not None]
    assert sum(p.k_tiles * p.steps for p in phases) == k
    assert phases[0].overwrites == (phases[0].k_tiles > 1)


def test_a_shape_of_whole_tiles_has_no_edge_code() -> None:
    whole = text(Matmul(m=64, n=128, k=32, dtype=DType.F32), **TILES[1])
    assert "OpSelectionMerge" not in whole and "UMin" not in whole and "tail" not in whole


@pytest.mark.parametrize(
    ("shape", "clamps", "guards"),
    [((63, 64, 32), "%a_row", 8), ((64, 63, 32), "%b_row", 8), ((64, 64, 33), "%tail_", 0)],
)
def test_an_edge_brings_its_own_code_only(
    shape: tuple[int, int, int], clamps: str, guards: int
) -> None:
    m, n, k = shape
    found = text(Matmul(m=m, n=n, k=k, dtype=DType.F32), **TILES[1])
    assert all(clamps in line for line in found.splitlines() if "UMin" in line)
    assert found.count("OpSelectionMerge") == guards


def test_helper_functions_are_those_in_use() -> None:
    epilogue = (Epilogue.SILU, Epilogue.BIAS)
    spec = Matmul(m=8, n=8, k=8, dtype=DType.BF16, out_dtype=DType.F16, epilogue=epilogue)
    assert plan(spec).functions == ("widen_bf16", "widen_f16", "narrow_f16", "epilogue")
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
