"""No CPU kernel accesses a byte outside its buffers: guard pages are on both sides of each."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kgen.targets.cpu import FAMILY
from tests import needs
from tests.device.cpu.cpu_support import require_qemu

ROOT = Path(__file__).parents[3]
X86 = tuple(target.name for target in FAMILY.targets if target.arch == "x86_64")


def run_guarded(name: str, count: int, seed: int = 0, missing: int = 0) -> str:
    """Return how the child ended; empty if it completed everything."""
    found = FAMILY.find(name)
    assert found is not None
    if found.arch == "aarch64":
        require_qemu()
    else:
        needs.cpu(name)
    command = [sys.executable, "-m", "tests.device.cpu.guarded", name]
    command += [str(number) for number in (count, seed, missing)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    last = done.stdout.splitlines()[-1] if done.stdout else "no kernel"
    if done.returncode < 0:
        return f"{signal.Signals(-done.returncode).name} in {last}"
    return f"{last}: {done.stderr}"


def test_no_access_outside_any_buffer_under_qemu() -> None:
    for name in ("aarch64-neon", "aarch64-neon+dotprod"):
        assert not run_guarded(name, 16)


@pytest.mark.slow
@pytest.mark.parametrize("name", X86)
def test_no_access_outside_any_buffer(name: str) -> None:
    """Each target has other cases: errors in shared templates show on any of them."""
    assert not run_guarded(name, 80, seed=1 + X86.index(name))


@pytest.mark.slow
def test_no_access_outside_any_buffer_of_many_under_qemu() -> None:
    assert not run_guarded("aarch64-neon", 50, seed=1)


@pytest.mark.parametrize("name", ["x86-64-v3", "aarch64-neon"])
def test_one_byte_outside_is_found_and_named(name: str) -> None:
    found = run_guarded(name, 1, missing=1)
    assert "SIGSEGV" in found
    assert re.search(r"\w+_(f32|f16|bf16|s32)(_|\b)", found), found
