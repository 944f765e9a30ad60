"""The free parts of a block, against a set of bytes; and the file of what a driver has compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen_runtime.backends.vulkan.pipeline_cache import read, write
from kgen_runtime.backends.vulkan.ranges import FreeRanges

WHOLE = 64


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 20)), max_size=60))
def test_ranges_never_meet_and_come_back(steps: list[tuple[bool, int]]) -> None:
    free, taken, bytes_free = FreeRanges(WHOLE), [], set(range(WHOLE))
    for take, n in steps:
        if take:
            start = free.take(n)
            fits = any({*range(i, i + n)} <= bytes_free for i in range(WHOLE))
            assert (start is not None) == fits
            if start is not None:
                assert {*range(start, start + n)} <= bytes_free
                bytes_free -= {*range(start, start + n)}
                taken.append((start, n))
        elif taken:
            start, n = taken.pop(n % len(taken))
            free.give(start, n)
            bytes_free |= {*range(start, start + n)}
    for start, n in taken:
        free.give(start, n)
    assert free.is_whole and free.take(WHOLE) == 0 and not free.is_whole


def test_what_was_damaged_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    assert read(path) == b""
    write(path, b"compiled")
    assert read(path) == b"compiled" and [p.name for p in path.parent.iterdir()] == ["file"]
    sound = path.read_bytes()
    for broken in (sound[:-1], sound[:10], b"", sound[:-1] + b"D", b"x" + sound[1:]):
        path.write_bytes(broken)
        assert read(path) == b""


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    write(tmp_path / "file" / "cache", b"compiled")
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    write(tmp_path / "file", b"compiled")
    assert list(tmp_path.iterdir()) == []
