"""Sums that pass through out between blocks of K, where scratch has no room for them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kgen import pipeline
from kgen.schedule import CpuMatmul
from kgen.spec import DType, Epilogue, Layout, Matmul, Operand
from kgen.targets.base import Target
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan
from tests.device.cpu.cpu_support import check, here, target

#: So little scratch that small blocks of sums leave it, while copies of A and B have room.
STACK = 16384
BLOCKS = CpuMatmul(mr=4, nr=16, mc=48, kc=32, nc=112)


def small(found: Target) -> Target:
    return dataclasses.replace(found, limits={**found.limits, "stack_bytes": STACK})


def product(m: int = 41, n: int = 101, k: int = 77, **fields: Any) -> Matmul:
    return Matmul(m=m, n=n, k=k, **({"dtype": DType.F32} | fields))


def is_in_out(spec: Matmul, schedule: CpuMatmul = BLOCKS) -> bool:
    plan = pipeline.plan(spec, small(target("x86-64-v3")), schedule)
    assert isinstance(plan, TiledPlan)
    return plan.sums_in_out


def test_where_sums_are() -> None:
    """In out only where scratch has no room for them, and out holds them as they are."""
    assert is_in_out(product(epilogue=(Epilogue.BIAS, Epilogue.GELU)))
    assert not is_in_out(product(n=16), BLOCKS.override(nc=16))
    assert not is_in_out(product(k=32))
    for fields in ({"beta": 1.0}, {"epilogue": (Epilogue.RESIDUAL,)}, {"out_dtype": DType.F16}):
        with pytest.raises(Exception, match="bytes of scratch"):
            is_in_out(product(**fields))


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("x86-64", Layout.NT),
        ("x86-64-v3", Layout.NN),
        ("x86-64-v3", Layout.TT),
        ("x86-64-v4", Layout.NN),
        ("x86-64-v4", Layout.TN),
    ],
)
def test_products(name: str, layout: Layout) -> None:
    """The last block of K shorter, the last columns a part of a vector, one left over in the last
    vector; several tasks and one; an epilogue that reads by rows and columns."""
    found = small(here(name))
    blocks = BLOCKS if found.has("fma") else BLOCKS.override(mr=2)
    for n in (101, 97):
        check(product(n=n, layout=layout, batch=2), found, blocks)
    check(product(layout=layout, epilogue=(Epilogue.BIAS, Epilogue.GELU)), found, blocks)
    many = blocks.override(mc=16, nc=288)
    check(product(n=603, k=64, layout=layout, ldc=611), found, many)
    if layout is Layout.NN:
        check(product(alpha=0.5), found, blocks.override(pack_a=0, nc=112, mc=84))
        check(product(constant=(Operand.B,)), found, blocks.override(pack_b=0))
        check(product(dtype=DType.F64), found, blocks.override(mr=2, nr=8, kc=16))
        check(product(dtype=DType.BF16, out_dtype=DType.F32), found, blocks)


def test_a_large_b_that_many_rows_use_takes_it() -> None:
    for name in ("x86-64-v3", "x86-64-v4"):
        plan = pipeline.plan(product(128, 768, 3072), target(name))
        assert isinstance(plan, TiledPlan) and plan.sums_in_out, name
        plan = pipeline.plan(product(128, 128, 128), target(name))
        assert isinstance(plan, TiledPlan) and not plan.sums_in_out, name
