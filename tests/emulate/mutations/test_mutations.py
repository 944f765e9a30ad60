"""Every seeded bug gets the verdict that its table names; without the bug, no seed finds any.

How to read and extend the suite:

- `mutation.py`: what a program and a mutation are. A mutation is a regular expression over the
  text of a kernel that is right, and what stands in its place: one bug.
- `ptx/`, `amdgpu/`: bugs in kernels as the templates render them, with `templates.py`.
- `hopper/`, `amdgpu/copies.py`: bugs in kernels written by hand, kept in `../data`, for what
  no template uses yet.
- `every_data_set/`: bugs in the values that kernels compute, which run on every data set of verify.
- `command_line/`: bugs in machine code, which `kgen verify` runs on the device that there is.
- `uncaught.py`: bugs that the emulators let pass today, each with the reason.

`bugs(program, verdict, (name, pattern, replacement), ...)` adds some: name the verdict that the bug
must have, before you look at what it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from kgen.emulate import EmulationFault
from kgen.emulate.report import FAULTS, WARNINGS
from kgen.emulate.schedules import SCHEDULES
from tests.emulate.llvm.llvm_kernels import verified
from tests.emulate.mutations.mutation import CLEAN, WRONG_RESULT, Mutation, Program
from tests.emulate.mutations.uncaught import UNCAUGHT
from tests.emulate.ptx.ptxas import assemble_all

#: The other schedules of verification. Seed 0 is that of every other test here.
SEEDS = tuple(range(1, SCHEDULES))
#: Turns of the loops of a PTX program before it is taken to run for ever.
MOST_TURNS = 2000


def modules(*rooms: str) -> tuple[ModuleType, ...]:
    """Import the modules of the folders beside this file."""
    return tuple(
        import_module(f"tests.emulate.mutations.{room}.{path.stem}")
        for room in rooms
        for path in sorted(Path(__file__).with_name(room).glob("*.py"))
    )


#: By family: the modules of its kernels.
FAMILIES = {"ptx": modules("ptx", "hopper"), "amdgpu": modules("amdgpu")}
#: Smallest number of mutations with each verdict in each family.
AT_LEAST = 4
#: Verdicts that a family has no mutations of, and why.
EXEMPT = {
    "ptx": {
        "poison": "integers of PTX wrap, and nothing promises that they do not",
        "warning: same-value-write": "what must be strictly right is run so; see test_ptx_warnings",
        "warning: order-by-collective": "the same",
        "warning: nearly-same-value-write": "it is a race in PTX",
    },
    "amdgpu": {
        "pending-wgmma": "there is no wgmma",
        "missing-wgmma-fence": "there is no wgmma",
        "missing-proxy-fence": "there are no proxies",
        "transaction-count": "there are no mbarriers",
        "trap": "it stands for code that LLVM has proved unreachable, and operands of rare "
        "intrinsics; no template has either",
        "warning: proxy-read-overwritten": "there are no proxies",
        "warning: missing-proxy-fence": "there are no proxies",
        "warning: same-value-write": "what must be strictly right is run so; see test_races",
        "warning: nearly-same-value-write": "what must be strictly right is run so",
        "warning: order-by-collective": "it is a race",
    },
}
#: Modules of programs that the emulators run under several seeds, and of others.
SCHEDULED = [module for modules in FAMILIES.values() for module in modules]
EVERY_DATA_SET = modules("every_data_set")
COMMAND_LINE = modules("command_line")
MODULES = [*SCHEDULED, *EVERY_DATA_SET, *COMMAND_LINE]
PROGRAMS = [program for module in MODULES for program in module.PROGRAMS]
MUTATIONS = [mutation for module in MODULES for mutation in module.MUTATIONS]
ALL = (*MUTATIONS, *UNCAUGHT)
ROOMS = {
    program: module.__name__.split(".")[-2] for module in MODULES for program in module.PROGRAMS
}


def name(item: Mutation | Callable[[], Program]) -> str:
    program = item.program if isinstance(item, Mutation) else item
    bug = [item.name] if isinstance(item, Mutation) else []
    return "-".join([ROOMS[program], program.__name__, *bug])


@pytest.fixture(autouse=True)
def loops_soon_have_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the iterations of loops to a number that right programs never reach."""
    monkeypatch.setattr("kgen.emulate.ptx.most_turns", lambda memory: MOST_TURNS)


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_the_program_itself_is_clean(program: Callable[[], Program]) -> None:
    right = program()
    assert right.verdict(right.source) == CLEAN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "seeds"),
    [
        pytest.param(program, getattr(module, "SEEDS", SEEDS), id=name(program))
        for module in SCHEDULED
        for program in module.PROGRAMS
    ],
)
def test_no_seed_finds_anything_in_the_program_itself(
    program: Callable[[], Program], seeds: tuple[int, ...]
) -> None:
    right = program()
    assert {right.verdict(right.source, seed) for seed in seeds} == {CLEAN}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=name)
def test_the_bug_is_found(mutation: Mutation) -> None:
    assert mutation.verdict() == mutation.expected


@pytest.mark.parametrize("mutation", UNCAUGHT, ids=name)
def test_what_is_not_caught_today(mutation: Mutation) -> None:
    """If a case fails, an emulator has improved: move the bug to the tables of bugs that are
    caught."""
    assert mutation.why
    assert mutation.verdict() == CLEAN


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for m in SCHEDULED for p in m.PROGRAMS], ids=name)
def test_compilers_take_the_bugs(program: Callable[[], Program]) -> None:
    """Assemblers accept every bug, so only execution can find it."""
    right = program()
    bugs = [mutation.apply() for mutation in ALL if mutation.program is program]
    if right.language == "ptx":
        assemble_all(bugs, right.arch)
    else:
        for bug in bugs:
            verified(bug)


def test_compilers_have_every_bug() -> None:
    assert {mutation.program for mutation in ALL} <= set(PROGRAMS)


def test_a_fault_names_the_instruction_and_its_line() -> None:
    for mutation in [m for m in MUTATIONS if m.expected in FAULTS][:5]:
        text = mutation.apply()
        with pytest.raises(EmulationFault) as caught:
            mutation.program().execute(text, 0)
        fault = caught.value.fault
        assert fault.instruction.split("(")[0] in " ".join(
            text.splitlines()[fault.line - 1].split()
        )
        assert fault.lanes


@pytest.mark.parametrize("family", FAMILIES)
def test_at_least_four_bugs_of_every_class(family: str) -> None:
    bugs = [mutation for module in FAMILIES[family] for mutation in module.MUTATIONS]
    found = Counter(mutation.expected for mutation in bugs)
    known = {*FAULTS, WRONG_RESULT, *(f"warning: {kind}" for kind in WARNINGS)}
    assert found.keys() == known - EXEMPT[family].keys()
    assert min(found.values()) >= AT_LEAST, found


def test_every_bug_has_a_name_of_its_own() -> None:
    names = Counter(name(mutation) for mutation in MUTATIONS)
    assert names.most_common(1)[0][1] == 1
    assert len(names) >= 40
