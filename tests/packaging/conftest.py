"""Distributions of the runtime, built once for all test processes."""

from __future__ import annotations

import fcntl
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts import runtime_wheels
from tests import needs


@pytest.fixture(scope="session")
def distributions(folder: Path) -> Mapping[str, Path]:
    """Return the runtime's wheels by platform, and its sdist."""
    needs.module("ziglang")
    made = folder / "distributions"
    with (folder / "distributions.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            making = folder / "making"
            making.mkdir()
            runtime_wheels.main([str(making)])
            making.rename(made)
    found = {path.stem.split("-")[-1]: path for path in made.glob("*.whl")}
    (sdist,) = made.glob("*.tar.gz")
    return found | {"sdist": sdist}
