"""Messages of faults: both source lines, the array, the lanes, every distinct fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgen import emulate
from kgen.cli.listing import origin
from kgen.cli.main import main
from kgen.emulate import EmulationFault, Fault
from kgen.emulate.report import FAULTS, FIXES
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_order import fault, line_of, words
from tests.emulate.ptx.ptx_programs import program, run

SHARED = ".shared .align 16 .b8 first[128];\n    .shared .align 16 .b8 second[128];"

#: A thread reads its neighbour's word of `{array}`, with no barrier after the writes.
NEIGHBOUR = """
    mov.u32 %r0, {array};
    mad.lo.u32 %r1, %t, 4, %r0;
    st.shared.u32 [%r1], %t;
    xor.b32 %r2, %t, 1;
    mad.lo.u32 %r2, %r2, 4, %r0;
    ld.shared.u32 %r3, [%r2];
"""


def test_a_race_names_the_array_and_both_lines() -> None:
    source = program(
        "    mov.u32 %r9, first;" + NEIGHBOUR.format(array="second"), params=1, shared=SHARED
    )
    found = fault(source, words())
    assert line_of(source, "ld.shared") == f"line {found.line}"
    assert line_of(source, "st.shared") in found.message
    assert found.array == "byte 4 of second"
    assert (found.lanes, found.more_lanes) == (tuple(range(8)), 24)
    assert "lanes 0 to 7 and 24 more," in str(found)
    assert "(byte 4 of second)" in str(found)


@pytest.mark.parametrize("reads", [1, 2])
def test_a_write_over_what_was_read_from_global_memory_names_the_reads_line(reads: int) -> None:
    """A second read is by other threads, so the log keeps the first."""
    load = "    mad.wide.u32 %a1, %t, 4, %p1;\n    ld.global.u32 %r1, [%a1];\n"
    load += "    ld.global.u32 %r9, [%p1+8];\n" * (reads - 1)
    body = load + "    xor.b32 %r2, %t, 1;\n    mad.wide.u32 %a2, %r2, 4, %p1;\n"
    source = program(body + "    st.global.u32 [%a2], %t;\n")
    found = fault(source, words(), words())
    assert found.kind == "race"
    assert line_of(source, "ld.global.u32 %r1, [%a1]") in found.message
    assert found.array == "byte 4 of p1"


def test_a_write_over_a_strong_write_names_its_line() -> None:
    body = """
    atom.global.add.u32 %r1, [%p0+16], 1;
    st.global.u32 [%p0+16], %t;
"""
    source = program(body, params=1)
    found = fault(source, words())
    assert line_of(source, "atom.global") in found.message
    assert found.array == "byte 16 of p0"


def test_a_module_variable_by_its_name() -> None:
    body = "    mov.u64 %a1, counters;\n    st.global.u32 [%a1+4], %t;\n"
    source = program(body, params=1).replace(
        ".visible", ".global .align 8 .u32 other;\n.global .align 4 .u32 counters[4];\n.visible"
    )
    assert fault(source, words(), threads=64).array == "byte 4 of counters"


SEVERAL = (
    NEIGHBOUR.format(array="first")
    + """
    mov.u32 %r8, second;
    ld.shared.u32 %r4, [%r8];
    mad.wide.u32 %a1, %t, 8, %p0;
    st.global.u32 [%a1], %t;
    ld.global.u32 %r5, [%p0+2];
    bar.sync 0;
    st.shared.u32 [%r1], %t;
    ld.shared.u32 %r6, [%r2];
"""
)


def several(**options: int) -> tuple[Fault, ...]:
    source = program(SEVERAL, params=1, shared=SHARED)
    with pytest.raises(EmulationFault) as caught:
        run(source, words(32), **options)
    return caught.value.faults


def test_a_run_tells_of_every_distinct_fault() -> None:
    found = several(most_faults=20)
    assert [fault.kind for fault in found] == [
        "race", "uninitialised-read", "out-of-bounds", "misaligned", "race",
    ]  # fmt: skip
    # Lanes 16 to 31 lie beyond the buffer; the others stored.
    assert (found[2].lanes, found[2].more_lanes) == (tuple(range(16, 24)), 8)
    assert several(most_faults=2) == found[:2]
    assert several() == found[:1]


def test_a_fault_that_nothing_follows_comes_last() -> None:
    source = program(SEVERAL + "    @%q0 bra END;\n    trap;\nEND:\n", params=1, shared=SHARED)
    body = source.replace("    @%q0 bra", "    setp.ne.u32 %q0, %t, 3;\n    @%q0 bra")
    with pytest.raises(EmulationFault) as caught:
        run(body, words(32), most_faults=20)
    assert [fault.kind for fault in caught.value.faults][-1] == "trap"
    assert len(caught.value.faults) == 6


def test_a_loop_that_a_fault_has_spoilt_ends_the_run() -> None:
    """The trip count is read from beyond the buffer."""
    body = """
    ld.global.u32 %r1, [%p0+4096];
    mov.u32 %r2, 0;
AGAIN:
    add.u32 %r2, %r2, 1;
    setp.ne.u32 %q0, %r2, %r1;
    @%q0 bra AGAIN;
"""
    with pytest.raises(EmulationFault) as caught:
        run(program(body, params=1), words(32), most_faults=20)
    assert [fault.kind for fault in caught.value.faults] == ["out-of-bounds"]


def test_every_class_of_fault_has_a_fix() -> None:
    assert FIXES.keys() == FAULTS.keys()


@pytest.mark.parametrize("kind", FAULTS)
def test_a_line_with_the_longest_names_fits(kind: str) -> None:
    word = "long_name_" * 60
    last = (1 << 31) - 1
    found = Fault(
        kind=kind, message=word, entry=word, instruction=word, array=word, line=last,
        workgroup=(last, 65535, 65535), lanes=tuple(range(1000, 1016, 2)), more_lanes=1008,
        address=(1 << 64) - 1, seed=last,
    )  # fmt: skip
    place = origin({last: (Path(word), last)}, last)
    line = f"{found}{place}; {found.fix}"
    assert len(line) <= 500 and "long_name_" in str(found).partition(" in ")[0]
    assert line.endswith(found.fix)


def test_the_command_gives_each_fault_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, data = tmp_path / "several.ptx", tmp_path / "data.npy"
    file.write_text(program(SEVERAL, params=1, shared=SHARED))
    np.save(data, words(32))
    arguments = ["emulate", str(file), "--entry", "f", "--grid", "1", "--block", "32"]
    assert main([*arguments, "--arg", f"in:{data}"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "race", "uninitialised-read", "out-of-bounds", "misaligned", "race",
    ]  # fmt: skip
    for line in lines:
        assert line.endswith("; " + FIXES[line.partition(":")[0]])
        assert len(line) <= 500


def test_the_nearest_entry_points_are_listed_first() -> None:
    names = [f"kernel_{i}" for i in range(40)]
    text = "".join(f".visible .entry {name}()\n{{\n    ret;\n}}\n" for name in names)
    source = f".version 7.0\n.target sm_80\n.address_size 64\n{text}"
    with pytest.raises(EmulationError) as found:
        emulate.run(
            source, language="ptx", entry="kernel39", grid=(1, 1, 1), block=(1, 1, 1), arguments=[]
        )
    said = str(found.value)
    assert said.startswith("no entry point kernel39 in the PTX text; it has kernel_39, kernel_")
    assert said.endswith(" and 35 more")
