#!/usr/bin/env python3
"""Build one matmul for four targets and verify what this machine can execute: make demo.

Vulkan kernels need a driver, which the demo does not install. Without a driver, the kernel is only
built, and a line says that it was not executed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts import heartbeat

#: Targets whose kernels every machine executes: CUDA and AMD in emulators, `native` on the CPU.
EVERYWHERE = ("sm_80", "gfx942", "native")
VULKAN = "vulkan1.3"
KGEN = (sys.executable, "-m", "kgen")


def main() -> int:
    parser = argparse.ArgumentParser(description="Build and verify one matmul.")
    parser.add_argument("--shape", default="1024x1024x1024")
    parser.add_argument("-o", "--output", default="demo.kgen")
    given = parser.parse_args()
    if (missing := no_vulkan()) is None:
        return build(given.shape, (*EVERYWHERE, VULKAN), given.output, "--verify")
    if status := build(given.shape, EVERYWHERE, given.output, "--verify"):
        return status
    with tempfile.TemporaryDirectory() as folder:
        built = str(Path(folder) / "vulkan.kgen")
        merge = ("bundle", "merge", given.output, built, "-o", given.output)
        status = build(given.shape, (VULKAN,), built, shows=False)
        status = status or kgen("merging", *merge, shows=False)
    if status == 0:
        print(f"added {VULKAN} to {given.output}; its kernel was not executed: {missing}")
    return status


def build(shape: str, targets: tuple[str, ...], output: str, *more: str, shows: bool = True) -> int:
    names = ",".join(targets)
    words = ("build", "--shape", shape, "--target", names, "-o", output, *more)
    return kgen(f"building for {names}", *words, shows=shows)


def kgen(what: str, *words: str, shows: bool = True) -> int:
    """Run a command and return its exit status; without `shows`, its standard output is dropped."""
    return heartbeat.run(what, (*KGEN, *words), say=heartbeat.say_at_once, shows=shows)


def no_vulkan() -> str | None:
    """Return the reason why no Vulkan kernel can be executed here; None if one can."""
    done = subprocess.run((*KGEN, "devices", "--json"), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    if any(device["backend"] == "vulkan" for device in found["devices"]):
        return None
    return str(found["unavailable"].get("vulkan", "no Vulkan device here"))


if __name__ == "__main__":
    sys.exit(main())
