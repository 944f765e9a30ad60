"""The C runtime, compiled once for all test processes, plain and with sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.device.cpu.c_runtime.compiled import (
    PLAIN,
    SANITIZED,
    THREADS,
    WRAPPED,
    Driver,
    compiled,
)


@pytest.fixture(scope="session")
def plain(folder: Path) -> Driver:
    """Optimised, every warning an error."""
    return Driver(compiled(folder, "driver", PLAIN))


@pytest.fixture(scope="session")
def sanitized(folder: Path) -> Driver:
    """With the sanitizers of addresses and of undefined behaviour."""
    return Driver(compiled(folder, "driver", SANITIZED))


@pytest.fixture(scope="session")
def raced(folder: Path) -> Driver:
    """With the sanitizer of threads, which some kernels' layout of memory stops at its start."""
    driver = Driver(compiled(folder, "driver", THREADS))
    if "FATAL: ThreadSanitizer" in (said := driver.ask("", "").stderr):
        pytest.skip(said.splitlines()[0])
    return driver


@pytest.fixture(scope="session")
def fuzz(folder: Path) -> Path:
    return compiled(folder, "fuzz", SANITIZED, linking=WRAPPED)
