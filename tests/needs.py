"""What a test needs of the machine. Where that is absent it skips with the reason; in CI, where it
can be installed, it fails."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from typing import Any, NoReturn

import pytest


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
