"""Requirements of a test on the machine. A test skips with the reason where one is not met; in CI
it fails if the requirement can be installed. No other module of the tests asks for the CPU."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kgen import targets
from kgen.settings import drivers_folder
from kgen.targets.base import Target
from kgen_runtime import settings
from kgen_runtime.this_cpu import this_cpu

ROOT = Path(__file__).parents[1]
SYSTEM_PACKAGES = ROOT / "scripts" / "system-packages.sh"


def absent(reason: str, *, by_apt: bool = False) -> NoReturn:
    """Skip the test, or in CI fail; `reason` says what is missing and how to get it. `by_apt`:
    apt-get can install it."""
    if os.environ.get("CI") and (not by_apt or shutil.which("apt-get")):
        pytest.fail(reason)
    pytest.skip(reason)


def module(name: str) -> Any:
    """Import a package of the `dev` extra."""
    try:
        return import_module(name)
    except ImportError as error:
        absent(f"{error}; pip install '.[dev]'")


def debian(package: str, missing: str | None) -> None:
    """Require a Debian package that `make setup` installs; `missing` names its missing part, if
    any. A package that `make setup` does not install fails the test wherever it runs."""
    if package not in system_packages():
        pytest.fail(f"a test needs {package}, which {SYSTEM_PACKAGES.name} does not install")
    if missing is not None:
        absent(f"{missing}; apt install {package}", by_apt=True)


def driver(tree: str) -> Path:
    """Return a folder that `scripts/fetch_drivers.py` unpacks (`make drivers`)."""
    folder = drivers_folder() / tree
    if not (folder / "installed").is_file():
        absent(f"{folder} is not here; make drivers", by_apt=True)
    return folder


def program(name: str, package: str) -> None:
    """Require a program of a Debian package."""
    debian(package, None if shutil.which(name) else f"{name} is not installed")


def system_packages() -> list[str]:
    """Return the Debian packages that `make setup` installs."""
    listed = SYSTEM_PACKAGES.read_text().split('packages="', 1)[1].split('"', 1)[0]
    return [line.split()[0] for line in listed.splitlines() if line]


#: The widest target of each kind of x86-64 CPU: AVX2, AVX-512 and AMX.
LEVELS = ("x86-64-v3", "x86-64-v4+bf16+vnni", "x86-64-amx+fp16")
#: The levels that not every CPU in CI executes.
WIDE = LEVELS[1:]


def cpu(name: str) -> Target:
    """Return the CPU target if this machine executes it; else skip the test."""
    found = targets.find(name)
    if (lacks := _lacks(found)) is not None:
        pytest.skip(f"{name}: {lacks}")
    return found


def native(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `native` stand for the CPU target in one test, if this machine executes it."""
    cpu(name)
    monkeypatch.setenv(settings.NATIVE, name)


def executed(names: Iterable[str]) -> list[str]:
    """Return the CPU targets that this machine executes."""
    return [name for name in names if _lacks(targets.find(name)) is None]


def _lacks(target: Target) -> str | None:
    if target.arch != (machine := platform.machine()):
        return f"this CPU is {machine}"
    missing = sorted(target.features - this_cpu().features)
    return f"this CPU has no {', '.join(missing)}" if missing else None
