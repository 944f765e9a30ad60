"""Clocks of LDS and L1 for a wave's access, by hand."""

from __future__ import annotations

import pytest

from kgen import targets
from kgen.targets.amdgpu import FAMILY


@pytest.mark.parametrize(
    ("name", "opcode", "operands", "clocks"),
    [
        # Four SIMDs of a CU, 64 lanes of 16 bytes each, 128 bytes of LDS and 64 of L1 per clock.
        ("gfx942", "ds_read_b128", "v[0:3], v4", (32.0, 0.0)),
        ("gfx942", "ds_write2_b64", "v4, v[0:1], v[2:3]", (32.0, 0.0)),
        ("gfx942", "ds_write_b16_d16_hi", "v0, v1", (4.0, 0.0)),
        ("gfx942", "global_load_dwordx4", "v[0:3], v4, s[0:1]", (0.0, 64.0)),
        ("gfx942", "buffer_load_ushort", "v0, v4, s[0:3], 0 offen", (0.0, 8.0)),
        # Reads of twice the width; a copy straight to LDS.
        ("gfx950", "ds_read_b64_tr_b16", "v[0:1], v4", (8.0, 0.0)),
        ("gfx950", "ds_write_b128", "v4, v[0:3]", (32.0, 0.0)),
        ("gfx950", "buffer_load_dwordx4", "v148, s[16:19], 0 offen lds", (32.0, 64.0)),
        # The four SIMDs of a WGP, which has twice as much of both; 32 lanes.
        ("gfx1100", "ds_load_b128", "v[0:3], v4", (8.0, 0.0)),
        ("gfx1201", "global_load_b128", "v[0:3], v4, s[0:1]", (0.0, 16.0)),
        ("gfx1201", "v_wmma_f32_16x16x16_f16", "v[0:7], v[8:11], v[12:15], v[0:7]", (0.0, 0.0)),
    ],
)
def test_memory_cycles(name: str, opcode: str, operands: str, clocks: tuple[float, float]) -> None:
    assert FAMILY.memory_cycles(targets.find(name), opcode, operands) == clocks
