"""Distributions of the runtime, built once for all test processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts import runtime_wheels
from tests import needs


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The runtime's wheels by platform, and its sdist."""
    needs.module("ziglang")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    made = shared / "distributions"
    with (shared / "distributions.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            making = shared / "making"
            making.mkdir()
            runtime_wheels.main([str(making)])
            making.rename(made)
    found = {path.stem.split("-")[-1]: path for path in made.glob("*.whl")}
    (sdist,) = made.glob("*.tar.gz")
    return found | {"sdist": sdist}
