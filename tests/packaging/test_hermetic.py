"""Tests do not depend on the CPU of the machine: only the listed files query it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
#: `needs.py` skips what the CPU cannot execute, `conftest.py` names the target that `native` stands
#: for, and the folder's tests are those of the machine itself. `test_systems.py` compares two ways
#: to ask for the CPU, `test_machine.py` describes it. `on_windows.py` hides a feature. The others
#: are of a CPU of their choice (`fake_cpu.py`).
MAY_ASK = (
    "needs.py",
    "conftest.py",
    "device/cpu/native/",
    "device/cpu/c_runtime/test_systems.py",
    "benchmarks/test_machine.py",
    "packaging/on_windows.py",
    "fake_cpu.py",
    "unit/cli/test_targets.py",
    "unit/targets/cpu/test_add_a_core.py",
    "unit/targets/cpu/test_host.py",
    "unit/targets/cpu/test_missing_features.py",
    "unit/targets/cpu/test_cores.py",
)
#: Words of code that tells something of this machine's CPU, or changes what is told.
ASKS = re.compile(
    r"\b(core_name|cache_sizes|this_machine|lscpu|as-avx2"
    r"|as-avx512|KGEN_NATIVE|KGEN_DISABLE_CPU_FEATURES|DISABLED_CPU_FEATURES|settings\.NATIVE)\b"
    r"|\bthis_cpu\(\)|\bkgen_runtime(\.| import )[^\n]*\bthis_cpu\b"
    r"|\btargets\.cpu(\.| import )[^\n]*\bhost\b|\b(check_runs_here)\("
    r"|\bCpuBackend\b[^\n]*\bcapabilities\b|/proc/cpuinfo|/sys/devices/system/cpu"
)


def test_no_test_asks_for_the_cpu_of_this_machine() -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in others()
        for number, line in enumerate(text.splitlines(), 1)
        if ASKS.search(line)
    ]
    assert not found, "\n".join(
        ["name a target, or move the test to tests/device/cpu/native/:", *found]
    )


def others() -> Iterator[tuple[str, str]]:
    """Yield name and text of each file that must not query the CPU."""
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        if not name.startswith(MAY_ASK) and path != Path(__file__):
            yield name, path.read_text()


@pytest.mark.parametrize(
    "line",
    [
        "if 'avx512f' not in this_cpu().features:",
        "from kgen_runtime.this_cpu import describe",
        "from kgen.targets.cpu.host import native",
        "from kgen.targets.cpu import cores, host",
        "monkeypatch.setenv('KGEN_DISABLE_CPU_FEATURES', 'avx512*')",
        "subprocess.run(['scripts/as-avx2.sh', 'kgen', 'verify'])",
        "monkeypatch.delenv('KGEN_NATIVE')",
        "text = Path('/proc/cpuinfo').read_text()",
    ],
)
def test_a_test_that_asks_is_found(line: str) -> None:
    assert ASKS.search(line)


def test_a_cpu_of_its_own_is_what_a_test_of_the_host_uses() -> None:
    """Files that may query the CPU because they replace it do replace it."""
    for name in MAY_ASK[-5:]:
        assert "fake_cpu: FakeCpu" in (TESTS / name).read_text()
