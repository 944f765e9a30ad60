"""Free parts of a block of memory, against a set of bytes; and the file of compiled pipelines."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen_runtime import settings
from kgen_runtime.backends.vulkan import pipeline_cache
from kgen_runtime.backends.vulkan.pipeline_cache import PipelineCache
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


class Driver:
    """Part of the `vulkan` package that a pipeline cache uses; it compiles `data`."""

    VK_INCOMPLETE = 5

    def __init__(self, data: bytes) -> None:
        self.data, self.initial = data, b""
        self.ffi = SimpleNamespace(
            NULL=None,
            new=lambda kind, value=None: [0] if kind == "size_t *" else value or b"",
            buffer=lambda data, size: self.data,
        )
        self.lib = SimpleNamespace(vkGetPipelineCacheData=self._get)

    def _get(self, device: object, handle: object, size: list[int], data: object) -> int:
        size[0] = len(self.data)
        return 0

    def vkGetPhysicalDeviceProperties(self, physical: object) -> object:
        return SimpleNamespace(vendorID=1, deviceID=2, driverVersion=3, pipelineCacheUUID=b"four")

    def VkPipelineCacheCreateInfo(self, **fields: Any) -> None:
        self.initial = fields["pInitialData"]

    def vkDestroyPipelineCache(self, *_: object) -> None:
        pass


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Driver:
    made = Driver(b"compiled")
    monkeypatch.setattr(pipeline_cache, "driver", lambda: made)
    monkeypatch.setattr(pipeline_cache, "call", lambda *_: object())
    monkeypatch.setattr(pipeline_cache, "check", lambda *_: None)
    monkeypatch.setenv(settings.CACHE, "1")
    monkeypatch.setenv(settings.CACHE_DIR, str(tmp_path))
    return made


def given_to(driver: Driver) -> bytes:
    """Return the data that a new process gives to the driver, which compiles the same again."""
    PipelineCache(None, None).keep()
    return driver.initial


def test_what_was_compiled_is_given_to_the_next_process(driver: Driver, tmp_path: Path) -> None:
    assert given_to(driver) == b""
    assert given_to(driver) == b"compiled"
    assert [path.name for path in (tmp_path / "vulkan").iterdir()] == ["1-2-3-666f7572"]


def test_what_others_may_have_written_is_not_given_to_the_driver(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_to(driver)
    (path,) = (tmp_path / "vulkan").iterdir()
    for mode in (0o620, 0o602, 0o666):
        path.chmod(mode)
        assert given_to(driver) == b"", oct(mode)
        assert given_to(driver) == b"compiled", "it is written again, and one's own"
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert given_to(driver) == b""


def test_what_was_damaged_is_not_given_to_the_driver(driver: Driver, tmp_path: Path) -> None:
    given_to(driver)
    (path,) = (tmp_path / "vulkan").iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"D")
    assert given_to(driver) == b""


def test_a_folder_that_cannot_be_written_keeps_nothing(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "vulkan").write_text("in the way")
    assert given_to(driver) == given_to(driver) == b""


def test_a_file_is_written_only_when_the_driver_has_compiled_more(
    driver: Driver, tmp_path: Path
) -> None:
    given_to(driver)
    (path,) = (tmp_path / "vulkan").iterdir()
    first = path.stat().st_ino
    given_to(driver)
    assert path.stat().st_ino == first
    driver.data += b" more"
    given_to(driver)
    assert given_to(driver) == b"compiled more"


def test_nothing_is_kept_where_the_environment_says_so(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.CACHE, "0")
    assert given_to(driver) == given_to(driver) == b""
    assert list(tmp_path.iterdir()) == []
