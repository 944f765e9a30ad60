"""Print the tests that a change needs: python -m scripts.changed_tests [--base COMMIT]

A change is every file that differs from the base, in commits, in the working tree and untracked.
The base is the merge base with main, or HEAD where no branch has that name; on main itself the
change is the working tree.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ALL = ("tests",)
STYLE = ("tests/style",)
DOCUMENTS = ("tests/packaging", "tests/benchmarks")
RENDERED = ("tests/golden", "tests/acceptance")
NVIDIA = (
    "tests/unit/targets/cuda",
    "tests/assemble/test_cuda*.py",
    "tests/assemble/test_hopper*.py",
    "tests/emulate/kernels",
    "tests/emulate/mutations",
    *RENDERED,
)
AMD = (
    "tests/unit/targets/amdgpu",
    "tests/assemble/test_amdgpu*.py",
    "tests/emulate/kernels",
    "tests/emulate/mutations",
    *RENDERED,
)
CPU = (
    "tests/unit/targets/cpu",
    "tests/assemble/test_cpu*.py",
    "tests/device/cpu",
    "tests/emulate/kernels",
    *RENDERED,
)
VULKAN = (
    "tests/unit/targets/vulkan",
    "tests/assemble/test_vulkan*.py",
    "tests/assemble/test_metal.py",
    "tests/device/vulkan",
    *RENDERED,
)
GPUS = ("tests/unit/targets/contraction", *dict.fromkeys((*NVIDIA, *AMD, *VULKAN)))
KERNELS = ("tests/unit", "tests/assemble", "tests/device", "tests/emulate/kernels", *RENDERED)
RUNTIME = ("tests/packaging", "tests/unit", "tests/device")

#: Tests of each source folder; the longest path that fits counts. tests/style reads every file.
TESTS = {
    ".": ALL,
    ".ci": ("tests/packaging/test_makefile.py",),
    "benchmarks": DOCUMENTS,
    "codegen/kgen": ALL,
    "codegen/kgen/cache": ("tests/unit",),
    "codegen/kgen/check": ("tests/unit/check", "tests/unit/cli", "tests/emulate/check"),
    "codegen/kgen/check/execute": ("tests/unit", "tests/device/vulkan"),
    "codegen/kgen/cli": ("tests/unit/cli", "tests/packaging"),
    "codegen/kgen/emulate": ("tests/emulate", "tests/unit/cli"),
    "codegen/kgen/graph": ("tests/unit/graph", "tests/emulate/programs", "tests/conformance"),
    "codegen/kgen/ops": KERNELS,
    "codegen/kgen/order": ("tests/unit/graph", "tests/unit/runtime"),
    "codegen/kgen/parallel": ("tests/unit",),
    "codegen/kgen/report": ("tests/unit/graph", "tests/unit/cli"),
    "codegen/kgen/schedule": KERNELS,
    "codegen/kgen/spec": (*KERNELS, "tests/packaging"),
    "codegen/kgen/targets": KERNELS,
    "codegen/kgen/targets/amdgpu": AMD,
    "codegen/kgen/targets/attention": (*NVIDIA, *AMD),
    "codegen/kgen/targets/contraction": GPUS,
    "codegen/kgen/targets/cpu": CPU,
    "codegen/kgen/targets/cuda": NVIDIA,
    "codegen/kgen/targets/rows": KERNELS,
    "codegen/kgen/targets/tuning": KERNELS,
    "codegen/kgen/targets/vulkan": VULKAN,
    "codegen/kgen/tune": ("tests/unit/tune", "tests/unit/cli", "tests/device"),
    "docs": DOCUMENTS,
    "examples": DOCUMENTS,
    "generated": ("tests/golden",),
    "runtime": RUNTIME,
    "runtime/c": RUNTIME,
    "runtime/kgen_runtime": RUNTIME,
    "scripts": ("tests/packaging",),
    "templates": RENDERED,
    "templates/amdgpu": AMD,
    "templates/cpu": CPU,
    "templates/llvm": (*AMD, *CPU),
    "templates/ptx": NVIDIA,
    "templates/spirv": VULKAN,
}
#: Files of the root folder that only documents and the packaging tests read.
READ_ONLY = frozenset({"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"})


def tests_of(path: str) -> tuple[str, ...]:
    """Return the test paths, some of them patterns, for a changed file."""
    file = PurePosixPath(path)
    if file.parts[0] == "tests":
        return (path,) if file.name.startswith("test_") else (str(file.parent),)
    if path in READ_ONLY:
        return DOCUMENTS
    return next(TESTS[str(folder)] for folder in file.parents if str(folder) in TESTS)


def selected(paths: list[str]) -> list[str]:
    """Return the existing test files and folders, without those inside another one of the list."""
    patterns = {*STYLE, *(pattern for path in paths for pattern in tests_of(path))}
    found = {file.relative_to(ROOT) for pattern in patterns for file in ROOT.glob(pattern)}
    return sorted(str(path) for path in found if not found.intersection(path.parents))


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"git {' '.join(words)}: {' '.join(done.stderr.split())[:300]}")
    return done.stdout.splitlines()


def default_base() -> str:
    is_there = bool(git("branch", "--list", "main"))
    return git("merge-base", "HEAD", "main")[0] if is_there else "HEAD"


def changed(base: str | None) -> list[str]:
    """Return the paths that differ from the base, including deleted and untracked ones."""
    base = base or default_base()
    return sorted(
        {
            *git("diff", "--name-only", "--no-renames", base),
            *git("ls-files", "--others", "--exclude-standard"),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the tests that a change needs.")
    parser.add_argument("--base", help="commit to compare with; default: merge base with main")
    print(*selected(changed(parser.parse_args().base)))


if __name__ == "__main__":
    main()
