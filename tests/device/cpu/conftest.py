"""The C runtime, compiled once for all test processes, plain and with sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgen
from tests.device.cpu.c_runtime.compiled import (
    PLAIN,
    SANITIZED,
    THREADS,
    WRAPPED,
    Driver,
    compiled,
)
from tests.onnx_models import DECODER, DECODER_STATES


@pytest.fixture(scope="session")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a decoder's step with caches of 12 tokens, 2x12x8 f32, as states."""
    made = kgen.compile_model(DECODER["step"], ["x86-64-v3"], states=DECODER_STATES).bundle
    return made.save(tmp_path_factory.mktemp("decoder") / "decoder.kgen")


@pytest.fixture(scope="session")
def plain(folder: Path) -> Driver:
    """Return the driver, compiled with optimisation; warnings are errors."""
    return Driver(compiled(folder, "driver", PLAIN))


@pytest.fixture(scope="session")
def sanitized(folder: Path) -> Driver:
    """Return the driver with the sanitizers of addresses and of undefined behaviour."""
    return Driver(compiled(folder, "driver", SANITIZED))


@pytest.fixture(scope="session")
def raced(folder: Path) -> Driver:
    """Return the driver with the thread sanitizer, which cannot start on some systems."""
    driver = Driver(compiled(folder, "driver", THREADS))
    if "FATAL: ThreadSanitizer" in (said := driver.ask("", "").stderr):
        pytest.skip(said.splitlines()[0])
    return driver


@pytest.fixture(scope="session")
def fuzz(folder: Path) -> Path:
    return compiled(folder, "fuzz", SANITIZED, linking=WRAPPED)
