"""Module variables that an entry point does not use: they neither block it nor take memory."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import run
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import HEADER

_MODULE = (
    HEADER
    + """
.func (.param .b32 back) twice (.param .b32 given)
{{
  .reg .b32 %r<2>;
  ld.param.b32 %r0, [given];
  add.u32 %r0, %r0, %r0;
  st.param.b32 [back], %r0;
  ret;
}}
.global .align 8 .u64 {name} = {value};
.global .align 4 .u32 nested[2][2] = {{{{1, 2}}, {{3, 4}}}};
.shared .align 4 .b8 unused[{shared}];
.visible .entry clean(.param .u64 out)
{{
  .reg .b32 %r<4>; .reg .b64 %d<4>;
  {{ {{ {{ .reg .b32 %deep; mov.u32 %deep, 5; }} }} }}
  ld.param.u64 %d0, [out];
  ld.global.u32 %r1, [nested+8];
  st.global.u32 [%d0], %r1;
  ret;
}}
.visible .entry user(.param .u64 out)
{{
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  ld.global.u64 %d1, [{name}];
  st.global.u32 [%d0], %d1;
  ret;
}}
"""
)


def _run(entry: str, **module: object) -> int:
    source = _MODULE.format(**{"name": "table", "value": "7", "shared": 64} | module)
    out = np.zeros(1, np.uint32)
    run(
        source, language="ptx", entry=entry, grid=(1, 1, 1), block=(1, 1, 1), arguments=[out]
    )  # fmt: skip
    return int(out[0])


@pytest.mark.parametrize("value", ["generic(nested)", "twice", "nested+4", "0xFF(nested)"])
def test_an_initial_value_blocks_only_those_who_use_it(value: str) -> None:
    assert _run("clean", value=value) == 3
    with pytest.raises(EmulationError, match=r"initial value of table: .*does not use it"):
        _run("user", value=value)


def test_an_unused_array_takes_no_shared_memory() -> None:
    assert _run("clean", shared=10**12) == 3


def test_a_value_that_is_read() -> None:
    assert _run("user") == 7


def test_elements_that_a_variable_has_no_room_for() -> None:
    with pytest.raises(EmulationError, match="initial value of table has 16 bytes"):
        _run("user", value="{1, 2}")
