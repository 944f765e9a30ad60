"""Machine, day and commit of a measurement."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import machine


def test_a_commit_says_whether_sources_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes of documents and result files do not count as changes of sources."""
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    assert machine.commit() is None

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("codegen/x.py", "benchmarks/results/x.json", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-m", "first")
    for name in ("README.md", "benchmarks/results/x.json", "benchmarks/results/y.json"):
        (tmp_path / name).write_text("figures")
    found = machine.commit()
    assert found is not None and re.fullmatch("[0-9a-f]{8}", found)
    (tmp_path / "codegen" / "x.py").write_text("2")
    assert machine.commit() == f"{found} with changes"


def test_this_machine() -> None:
    found = machine.this_machine()
    assert found.name == machine.cpu_kind() and found.cores and found.memory_bytes
    assert machine.this_machine(gpu="A GPU (x) 2.0").slug == "a-gpu-x-2.0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", machine.today())
