"""A seed repeats a run, with the same counts and faults; other seeds give the same counts.
Rendered kernels of both families; nvcc's kernels are in test_ptx_traffic.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from kgen.emulate import EmulationFault, Fault, LaunchReport
from tests.emulate.mutations.amdgpu import products as amdgpu_products
from tests.emulate.mutations.amdgpu import rows as amdgpu_rows
from tests.emulate.mutations.hopper import gemm, ring
from tests.emulate.mutations.mutation import CLEAN, Mutation, Program
from tests.emulate.mutations.ptx import products as ptx_products
from tests.emulate.mutations.ptx import rows as ptx_rows

PROGRAMS = (
    ptx_products.tensor_product,
    ptx_rows.softmax,
    gemm.gemm_cluster,
    ring.sum_ring,
    amdgpu_products.mfma_product,
    amdgpu_rows.softmax,
)
#: What a loop that polls an mbarrier does, as often as the order of warps makes it.
POLLS = {"instructions", "lane_instructions", "barrier", "control"}
RACES = [
    mutation
    for module in (ptx_products, gemm, amdgpu_products)
    for mutation in module.MUTATIONS
    if mutation.expected == "race"
][::4]


def report(program: Program, seed: int) -> LaunchReport:
    found, results = program.execute(program.source, seed)
    assert results == CLEAN and found is not None
    return dataclasses.replace(found, seconds=0)


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_the_same_seed_counts_the_same_twice(make: Callable[[], Program]) -> None:
    program = make()
    first = report(program, 7)
    assert report(program, 7) == first
    assert first.instructions > 0


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_other_seeds_count_the_same(make: Callable[[], Program]) -> None:
    program = make()

    def counted(seed: int) -> dict[str, int]:
        counters = report(program, seed).counters
        return {name: count for name, count in counters.items() if name not in POLLS}

    assert counted(0) == counted(7)


@pytest.mark.parametrize("mutation", RACES, ids=lambda mutation: mutation.name)
def test_the_same_seed_finds_the_same_fault_twice(mutation: Mutation) -> None:
    program, text = mutation.program(), mutation.apply()

    def fault(seed: int) -> Fault:
        with pytest.raises(EmulationFault) as found:
            program.execute(text, seed)
        return found.value.fault

    assert fault(5) == fault(5)
