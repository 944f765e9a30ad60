"""Build the runtime's sdist and its wheels: python -m scripts.runtime_wheels FOLDER [PLATFORM...].

The platforms are those of runtime/build_libkgen.py; the default is all of them. zig compiles
libkgen for each system, so that one machine makes every wheel, each time with the same bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import build_libkgen

RUNTIME = Path(__file__).parents[1] / "runtime"
#: The build backend, called as pip does. It returns the file's name.
BACKEND = "import sys, hatchling.build; print(hatchling.build.build_{}(sys.argv[1]))"


def build(folder: Path, target: str, platform: str = "", source: Path = RUNTIME) -> Path:
    """Build one distribution, `wheel` or `sdist`, from a source tree, and return its path. Without
    a platform, the wheel is this machine's."""
    command = [sys.executable, "-c", BACKEND.format(target), str(folder)]
    environment: Mapping[str, str] = os.environ | {"KGEN_WHEEL": platform}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return folder / done.stdout.splitlines()[-1]


def main(words: list[str]) -> None:
    folder = Path(words[0]).resolve()
    print(build(folder, "sdist"))
    for platform in words[1:] or build_libkgen.TRIPLES:
        print(build(folder, "wheel", platform), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m scripts.runtime_wheels FOLDER [PLATFORM...]")
    main(sys.argv[1:])
