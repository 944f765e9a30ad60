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

# Test processes are as many as cores: where each multiplied on all of them, they would wait for
# each other. numpy reads this when it is imported; what tests start inherits it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Kernels are built where a test builds them: one that was kept would hide a bug that a test puts
# into a template or assembler, which the key does not see, be found by other tests, and make times
# and counts of builds those of reading a file. Tests of the cache have a folder of their own.
os.environ["KGEN_CACHE"] = "0"
# `native` is one target with one core everywhere; only tests/device/cpu/native/ sees the CPU.
NATIVE = {"x86_64": "x86-64-v3", "aarch64": "aarch64-neon"}.get(platform.machine())
if NATIVE is not None:
    os.environ["KGEN_NATIVE"] = NATIVE


# A busy machine is slow: examples have no time limit.
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
    """libkgen is that of the sources; processes of xdist find it built."""
    if not hasattr(config, "workerinput"):
        build_libkgen.build()


def pytest_collection_finish() -> None:
    """Exclude all objects that exist by now from the search for cycles, which takes a tenth of all
    tests' time and then runs less often."""
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
    """Return a folder for all workers of a run, whose own folders lie in it."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def wine(folder: Path) -> Wine:
    """Runs Windows programs. The test skips where Wine is not installed."""
    return Wine(folder)
