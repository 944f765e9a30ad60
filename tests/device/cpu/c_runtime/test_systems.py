"""The layer between libkgen and the operating system: its callers, and its CPU features."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import kgen
from kgen.targets.cpu.limits import LLVM_FEATURES
from kgen_runtime import settings
from tests import needs
from tests.device.cpu.c_runtime.compiled import PLAIN, SOURCES, compiled, compiler, run
from tests.specs import relu_of

#: Headers of ISO C, and of the compiler, that are the same on every system.
PORTABLE = {
    "cpuid.h",
    "float.h",
    "immintrin.h",
    "math.h",
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
}
LAYER = {"os.h", "os_posix.c", "os_windows.c"}
#: ISO C, but not the same on every system, or not for every path of a file.
SYSTEM_CALLS = r"\b(fopen|getenv|time|clock|system|remove|rename|open|mmap|syscall|pthread_\w+)\("
FILES = sorted(p for p in SOURCES.iterdir() if p.suffix in (".c", ".h") and p.name not in LAYER)
#: Features that are seen on x86-64 and on AArch64.
ARM = {"fp", "asimd", "asimddp"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_the_layer_calls_the_system(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    included = set(re.findall(r"#include <(.+)>", text))
    assert included <= PORTABLE
    assert not re.search(SYSTEM_CALLS, text)
    if path.name not in ("internal.h", "kgen.h"):
        assert not re.search(r"_WIN32|__APPLE__|__linux__|__unix__", text)


def supported(command: list[str], environment: dict[str, str] | None = None) -> set[str]:
    """Return the features of targets that libkgen finds."""
    done = subprocess.run(
        [*command, *LLVM_FEATURES],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_process_keeps_its_signals(folder: Path, tmp_path: Path) -> None:
    """A program may open no large file, and waits for a signal that a worker must not take."""
    made = kgen.build(relu_of((1000, 1001), dtype="f32"), ["x86-64-v3"])
    path = made.save(tmp_path / "relu.kgen")
    program = compiled(folder, "process", PLAIN)
    done = subprocess.run([program, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


#: Program that counts CPUs as on a machine of four.
COUNT_CPUS = """
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "os.h"
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *allowed)
{
    (void)process;
    memset(allowed, 0, size);
    for (size_t i = 0; i < 4; i++)
        CPU_SET(i, allowed);
    return 0;
}
int main(void) { printf("%d", kgen_os_cpu_count()); return 0; }
"""
#: Groups of a process in both versions; the controller cpuset has a group of its own.
NEW, OLD = "0::/outer/inner\n", "5:cpuset:/sets\n4:cpu,cpuacct:/outer/inner\n1:name=systemd:/\n"
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"
QUOTAS: list[tuple[str, dict[str, str], int]] = [
    (NEW, {}, 4),
    (NEW, {"cpu.max": "max 100000"}, 4),
    (NEW, {"cpu.max": "100000 100000"}, 1),
    (NEW, {"outer/cpu.max": "25000 100000", "outer/inner/cpu.max": "9900000 100000"}, 1),
    (NEW, {"outer/inner/cpu.max": "100000 100000"}, 1),
    (NEW, {"other/cpu.max": "100000 100000"}, 4),
    (NEW, {f"cpu/outer/{QUOTA}": "50000", f"cpu/outer/{PERIOD}": "50000"}, 4),
    (OLD, {f"cpu/{QUOTA}": "-1", f"cpu/{PERIOD}": "100000"}, 4),
    (OLD, {f"cpu/{QUOTA}": "50000", f"cpu/{PERIOD}": "50000"}, 1),
    (OLD, {f"cpu/outer/{QUOTA}": "50001", f"cpu/outer/{PERIOD}": "50000"}, 2),
    (OLD, {f"cpu/outer/inner/{QUOTA}": "9", f"cpu/outer/inner/{PERIOD}": "50000"}, 1),
    (OLD, {f"cpu/sets/{QUOTA}": "50000", f"cpu/sets/{PERIOD}": "50000"}, 4),
]


def test_a_container_limits_the_threads(tmp_path: Path) -> None:
    """Quotas of a process's control groups, and of the groups around them, are read beside the
    affinity, in folders of the test."""
    groups, own = tmp_path / "groups", tmp_path / "own"
    (tmp_path / "count.c").write_text(COUNT_CPUS)
    sources = [str(tmp_path / "count.c"), str(SOURCES / "os_posix.c")]
    places = [f'-DKGEN_CGROUPS="{groups}"', f'-DKGEN_OWN_CGROUPS="{own}"']
    flags = ["-D_GNU_SOURCE", *places, f"-I{SOURCES}", "-pthread"]
    run([compiler(), *PLAIN, *flags, *sources, "-o", str(tmp_path / "count")])
    for listed, files, limit in QUOTAS:
        own.write_text(listed)
        groups.mkdir()
        for name, text in files.items():
            (groups / name).parent.mkdir(parents=True, exist_ok=True)
            (groups / name).write_text(text + "\n")
        found = subprocess.run([tmp_path / "count"], capture_output=True, text=True, check=True)
        assert int(found.stdout) == limit, (listed, files)
        shutil.rmtree(groups)


@pytest.fixture(scope="module")
def features(folder: Path) -> str:
    return str(compiled(folder, "features", PLAIN))


def test_every_feature_of_a_target_is_known() -> None:
    """The other architecture's table is read as text."""
    text = (SOURCES / "cpu.c").read_text()
    known = re.findall(r'\{"(\w+)"', text)
    # SERIALIZE tells one core from another (kgen.targets.cpu.cores); no kernel needs it.
    assert sorted(known) == sorted([*LLVM_FEATURES, "serialize"])
    assert set(known[-3:]) == ARM


def test_the_features_are_those_of_linux(features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AMX is left out: Linux lists it, but may deny it to this process."""
    monkeypatch.delenv(settings.DISABLED_CPU_FEATURES, raising=False)
    text = Path("/proc/cpuinfo").read_text()
    listed = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    assert listed is not None
    found = {name for name in supported([features]) if not name.startswith("amx_")}
    assert found == {n for n in listed[1].split() if n in LLVM_FEATURES and n[:4] != "amx_"}
    assert found & {"sse2", "asimd"}


def test_the_environment_hides_features(features: str) -> None:
    found = supported([features], {"KGEN_DISABLE_CPU_FEATURES": "avx*, s?e2\tamx_*,asim*d"})
    assert found == {
        name
        for name in supported([features], {"KGEN_DISABLE_CPU_FEATURES": ""})
        if not name.startswith(("avx", "amx_")) and name not in ("sse2", "asimd")
    }
    assert not supported([features], {"KGEN_DISABLE_CPU_FEATURES": "*"})


@pytest.mark.parametrize(
    ("cpu", "has", "lacks"),
    [
        ("Nehalem", {"sse4_2", "popcnt"}, {"avx", "avx2", "fma", "movbe"}),
        ("Haswell", {"avx2", "fma", "f16c", "abm", "bmi2", "movbe"}, {"avx512f", "avx_vnni"}),
        ("Haswell,-xsave", {"sse4_2", "bmi2"}, {"avx", "avx2", "fma", "f16c"}),
        ("Haswell,-avx2", {"avx", "fma"}, {"avx2"}),
    ],
)
def test_cpuid_decides(features: str, cpu: str, has: set[str], lacks: set[str]) -> None:
    """The emulated CPU has features that /proc/cpuinfo does not list; without XSAVE there is no
    AVX."""
    if platform.machine() != "x86_64":
        pytest.skip(f"this CPU is {platform.machine()}")
    needs.program("qemu-x86_64", "qemu-user")
    found = supported(["qemu-x86_64", "-cpu", cpu, features])
    assert found >= has and not found & lacks
