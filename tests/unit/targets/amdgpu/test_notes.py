"""Our MessagePack reader against the msgpack package."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.errors import AssembleError
from kgen.targets.amdgpu.notes import unpack

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=40),
)
VALUES = st.recursive(
    SCALARS,
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=5), v, max_size=4),
    max_leaves=16,
)


@given(VALUES)
def test_reads_what_msgpack_writes(value: Any) -> None:
    assert unpack(msgpack.packb(value)) == value


@pytest.mark.parametrize("length", [15, 16, 31, 32, 255, 256, 65535, 65536])
def test_every_length_format(length: int) -> None:
    for value in ("x" * length, [0] * length, dict.fromkeys(range(length), 0)):
        assert unpack(msgpack.packb(value)) == value


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(AssembleError, match="0xc1"):
        unpack(b"\xc1")
