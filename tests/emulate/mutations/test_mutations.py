"""Every seeded bug is found, as the kind of fault that it is; without it, no seed finds any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from kgen.emulate import EmulationFault
from tests.emulate.llvm_kernels import verified
from tests.emulate.mutations import (
    amdgpu_products,
    amdgpu_rows,
    ptx_products,
    ptx_rows,
)
from tests.emulate.mutations.mutation import CLEAN, Mutation, Program
from tests.emulate.mutations.uncaught import UNCAUGHT
from tests.emulate.ptxas import assemble

SEEDS = 20
#: By family: the modules of its kernels.
FAMILIES = {
    "ptx": (ptx_products, ptx_rows),
    "amdgpu": (amdgpu_products, amdgpu_rows),
}
MODULES = [module for modules in FAMILIES.values() for module in modules]
PROGRAMS = [program for module in MODULES for program in module.PROGRAMS]
MUTATIONS = [mutation for module in MODULES for mutation in module.MUTATIONS]


def name(item: Mutation | Callable[[], Program]) -> str:
    program = item.program if isinstance(item, Mutation) else item
    family = program.__module__.rpartition(".")[2].partition("_")[0]
    bug = [item.name] if isinstance(item, Mutation) else []
    return "-".join([family, program.__name__, *bug])


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_no_seed_finds_anything_in_the_program_itself(program: Callable[[], Program]) -> None:
    right = program()
    outcomes = Counter(right.outcome(right.source, seed) for seed in range(SEEDS))
    assert outcomes == {CLEAN: SEEDS}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=name)
def test_the_bug_is_found(mutation: Mutation) -> None:
    assert mutation.outcome() == mutation.expected


@pytest.mark.parametrize("mutation", UNCAUGHT, ids=name)
def test_what_is_not_caught_today(mutation: Mutation) -> None:
    """When one of these fails, an emulator has become better: move it to the caught ones."""
    assert mutation.why
    assert mutation.outcome() == CLEAN


@pytest.mark.parametrize("mutation", (*MUTATIONS, *UNCAUGHT), ids=name)
def test_compilers_take_the_bug(mutation: Mutation) -> None:
    """Nothing but running it can find it."""
    program = mutation.program()
    if program.language == "ptx":
        assemble(mutation.apply(), program.arch)
    else:
        verified(mutation.apply())


def test_a_fault_names_the_instruction_and_its_line() -> None:
    for mutation in MUTATIONS[:5]:
        text = mutation.apply()
        with pytest.raises(EmulationFault) as caught:
            mutation.program().execute(text, 0)
        fault = caught.value.fault
        assert fault.instruction.split("(")[0] in " ".join(
            text.splitlines()[fault.line - 1].split()
        )
        assert fault.lanes


def test_at_least_four_bugs_of_every_class_in_each_family() -> None:
    for modules in FAMILIES.values():
        bugs = [mutation for module in modules for mutation in module.MUTATIONS]
        found = Counter(mutation.expected for mutation in bugs)
        assert min(found.values()) >= 4, found
    assert len({name(mutation) for mutation in MUTATIONS}) == len(MUTATIONS) >= 40
