"""Cached files are read as they were written, and no others are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from kgen.cache.generations import GENERATIONS, Generation
from kgen_runtime.file_cache import FileCache

KEY, NAME, DATA = "key", "lib.mma.j2", b"code" * 1000


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    """Return a cache with one file."""
    cache = Generation(tmp_path / "folder", KEY)
    cache.write(NAME, DATA)
    return cache


@pytest.fixture
def path(cache: FileCache, tmp_path: Path) -> Path:
    return tmp_path / "folder" / KEY / NAME


def test_what_is_written_is_read(cache: FileCache, path: Path) -> None:
    assert cache.read(NAME) == DATA
    assert Generation(path.parents[1], KEY).read(NAME) == DATA
    assert [file.name for file in path.parent.iterdir()] == [NAME], "no temporary file is left"


def test_what_was_not_written_is_none(cache: FileCache, path: Path) -> None:
    assert cache.read("other.j2") is None
    assert Generation(path.parents[1], "other").read(NAME) is None


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 5000])
def test_a_damaged_file_is_none(cache: FileCache, path: Path, damage: bytes) -> None:
    path.write_bytes(damage)
    assert cache.read(NAME) is None
    cache.write(NAME, DATA)
    assert cache.read(NAME) == DATA


@pytest.mark.parametrize("place", [0, 40, -1])
def test_a_changed_byte_is_seen(cache: FileCache, path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert cache.read(NAME) is None


def test_what_another_user_may_have_written_is_none(
    cache: FileCache, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o666)
    assert cache.read(NAME) is None
    cache.write(NAME, DATA)
    assert cache.read(NAME) == DATA
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert cache.read(NAME) is None


def test_a_file_in_the_place_of_another_is_none(cache: FileCache, path: Path) -> None:
    cache.write("other", b"other data")
    path.write_bytes(path.with_name("other").read_bytes())
    assert cache.read(NAME) is None and cache.read("other") == b"other data"


@pytest.mark.parametrize("umask", [0, 0o002, 0o022, 0o077])
def test_files_are_private(umask: int, tmp_path: Path) -> None:
    """With any umask, cached files can be read again, and no other user can write them."""
    cache = FileCache(tmp_path / "folder")
    old = os.umask(umask)
    try:
        cache.write(NAME, DATA)
    finally:
        os.umask(old)
    assert cache.read(NAME) == DATA
    assert (tmp_path / "folder" / NAME).stat().st_mode & 0o077 == 0
    assert (tmp_path / "folder").stat().st_mode & 0o077 == 0


def test_a_pipe_is_none(cache: FileCache, path: Path) -> None:
    """A pipe is not a cached file, and nothing waits for it."""
    path.unlink()
    os.mkfifo(path)
    assert cache.read(NAME) is None


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    """A file is in the folder's place, so not even root can create it."""
    (tmp_path / "folder").write_text("not a folder")
    cache = Generation(tmp_path / "folder", KEY)
    cache.write(NAME, DATA)
    assert cache.read(NAME) is None


def test_a_folder_in_the_place_of_a_file_is_none(cache: FileCache, path: Path) -> None:
    path.unlink()
    path.mkdir()
    cache.write(NAME, DATA)
    assert cache.read(NAME) is None
    assert [file.name for file in path.parent.iterdir()] == [NAME]


def test_readers_never_see_a_part_of_what_others_write(cache: FileCache) -> None:
    contents = [bytes([i]) * 200_000 for i in range(3)]
    cache.write(NAME, contents[0])

    def write(data: bytes) -> None:
        for _ in range(50):
            cache.write(NAME, data)

    writers = [threading.Thread(target=write, args=(data,)) for data in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert cache.read(NAME) in contents
    for writer in writers:
        writer.join()


def test_old_generations_are_removed(tmp_path: Path) -> None:
    for i in range(GENERATIONS + 3):
        Generation(tmp_path, f"key{i}").write(NAME, DATA)
        os.utime(tmp_path / f"key{i}", (i, i))
    left = {folder.name for folder in tmp_path.iterdir()}
    assert left == {f"key{i}" for i in range(3, GENERATIONS + 3)}
