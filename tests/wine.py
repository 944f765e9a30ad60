"""Windows programs, run under Wine."""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import needs

WINE = "/usr/lib/wine/wine64"
#: Wine says that it is Windows 7 unless told otherwise; Python 3.11 needs Windows 8.
VERSION = ("reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f")


class Wine:
    """Wine, with its registry and files in a folder that processes share."""

    def __init__(self, folder: Path) -> None:
        if platform.machine() != "x86_64":
            pytest.skip(f"Wine runs programs for x86-64; this CPU is {platform.machine()}")
        needs.debian("wine64", None if Path(WINE).exists() else "wine64 is not installed")
        self.prefix = folder / "wine"
        with (folder / "wine.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.prefix.exists():
                self.run(VERSION, cwd=folder).check_returncode()

    def run(self, words: Sequence[object], cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program with its arguments, and return its output, whose lines end in `\\n`."""
        return subprocess.run(
            [WINE, *map(str, words)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            cwd=cwd,
            env=os.environ | {"WINEDEBUG": "-all", "WINEPREFIX": str(self.prefix)},
            timeout=600,
        )
