"""elect, dependent grids and setmaxnreg."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault
from kgen.errors import EmulationError
from tests.emulate.ptx.cluster_programs import HEAD, program, result


def test_elect_and_dependent_grids() -> None:
    body = """
  griddepcontrol.wait;
  elect.sync %r3|%p, 0xfffffff0;
  selp.u32 %r4, 100, 0, %p;
  add.u32 %r4, %r4, %r3;
  st.global.u32 [%d], %r4;
  griddepcontrol.launch_dependents;
"""
    guarded = "  and.b32 %r3, %t, 31;\n  setp.lt.u32 %q, %r3, 4;\n  @%q bra over;\n"
    out = result(program(guarded + body + "over:\n"), cluster=1)
    assert (out[:, :32] == np.r_[[0] * 4, 104, [4] * 27]).all()


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        (("dec", 40, "inc", 152), None),
        (("dec", 40, "inc", 240), "deadlock"),
        (("inc", 216, "dec", 40), None),
    ],
)
def test_register_counts(counts: tuple[str, int, str, int], kind: str | None) -> None:
    first, low, second, high = counts
    body = f"""
  setp.ge.u32 %p, %t, 128;
  @%p bra other;
  setmaxnreg.{first}.sync.aligned.u32 {low};
  bra done;
other:
  setmaxnreg.{second}.sync.aligned.u32 {high};
done:
"""
    source = program(body, directives=".maxntid 256, 1, 1\n.minnctapersm 2")
    many = program(body, directives=".maxntid 512, 1, 1\n.minnctapersm 1")
    result(source, threads=256, cluster=1)
    if kind is None:
        result(many, threads=512, cluster=1)
    else:
        with pytest.raises(EmulationFault, match=kind):
            result(many, threads=512, cluster=1)


def test_register_counts_that_do_not_exist() -> None:
    for count in (16, 44, 264):
        with pytest.raises(EmulationError, match="multiple of 8 from 24 to 256"):
            source = HEAD + f"  setmaxnreg.inc.sync.aligned.u32 {count};\n  ret;\n}}\n"
            result(source, threads=128, cluster=1)
    wrong = "  setmaxnreg.inc.sync.aligned.u32 80;\n  setmaxnreg.inc.sync.aligned.u32 40;\n"
    with pytest.raises(EmulationFault, match="increases the 80 registers to 40"):
        result(
            program(wrong, directives=".maxntid 128, 1, 1\n.minnctapersm 1"), threads=128, cluster=1
        )
