"""What a test needs of the machine. Where that is absent it skips with the reason; in CI, where it
can be installed, it fails."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kgen.settings import drivers_folder

ROOT = Path(__file__).parents[1]
SYSTEM_PACKAGES = ROOT / "scripts" / "system-packages.sh"


def absent(reason: str, *, by_apt: bool = False) -> NoReturn:
    """`reason` says what is missing and how to get it; `by_apt`, which not every system has."""
    if os.environ.get("CI") and (not by_apt or shutil.which("apt-get")):
        pytest.fail(reason)
    pytest.skip(reason)


def module(name: str) -> Any:
    """One of the packages of the `dev` extra."""
    try:
        return import_module(name)
    except ImportError as error:
        absent(f"{error}; pip install '.[dev]'")


def debian(package: str, missing: str | None) -> None:
    """One of the Debian packages that `make setup` installs; `missing` says what of it is not here,
    if anything. A package that `make setup` does not install fails the test wherever it runs."""
    if package not in system_packages():
        pytest.fail(f"a test needs {package}, which {SYSTEM_PACKAGES.name} does not install")
    if missing is not None:
        absent(f"{missing}; apt install {package}", by_apt=True)


def driver(tree: str) -> Path:
    """One of the folders that `scripts/fetch_drivers.py` unpacks (`make drivers`)."""
    folder = drivers_folder() / tree
    if not (folder / "installed").is_file():
        absent(f"{folder} is not here; make drivers", by_apt=True)
    return folder


def program(name: str, package: str) -> None:
    """A program of a Debian package."""
    debian(package, None if shutil.which(name) else f"{name} is not installed")


def system_packages() -> list[str]:
    """The Debian packages that `make setup` installs."""
    listed = SYSTEM_PACKAGES.read_text().split('packages="', 1)[1].split('"', 1)[0]
    return [line.split()[0] for line in listed.splitlines() if line]
