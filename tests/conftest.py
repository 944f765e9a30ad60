"""Settings of every test and of the processes that tests start."""

from __future__ import annotations

import gc
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import build_libkgen
from tests import each_value, kept
from tests.unit_tier import GUARD
from tests.wine import Wine

# There is a test process per core; if each multiplied on all cores, they would wait for each other.
# numpy reads this variable on import, and child processes inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# No test uses cached kernels. A cached kernel would hide a bug that a test puts into a template or
# assembler, because it does not change the key; other tests would find it; and times and counts of
# builds would be wrong. Tests of the cache have their own folder.
os.environ["KGEN_CACHE"] = "0"
# `native` is one target with one core on every machine, except in tests/device/cpu/native.
NATIVE = {"x86_64": "x86-64-v3", "aarch64": "aarch64-neon"}.get(platform.machine())
if NATIVE is not None:
    os.environ["KGEN_NATIVE"] = NATIVE


# Examples have no time limit, because a busy machine is slow.
hypothesis.settings.register_profile(
    "kgen", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("kgen")


def pytest_addoption(parser: pytest.Parser) -> None:
    each_value.add_option(parser)
    kept.add_option(parser)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    each_value.select(config, items)


def pytest_configure(config: pytest.Config) -> None:
    """Build libkgen from the sources, before xdist starts its processes."""
    if not hasattr(config, "workerinput"):
        build_libkgen.build()


def pytest_collection_finish() -> None:
    """Exclude all existing objects from garbage collection, which otherwise takes a tenth of the
    tests' time. A test that needs its own garbage gone collects the young generations,
    `gc.collect(1)`: its objects do not become old."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    GUARD.watch(item)
    kept.KEPT.watch(item)
    try:
        return (yield)
    finally:
        GUARD.is_watching = False


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all workers of a run, which contains each worker's own folder."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def wine(folder: Path) -> Wine:
    """Return a runner of Windows programs. Skip the test if Wine is not installed."""
    return Wine(folder)
