"""README says what kgen targets says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_support_table_is_generated() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "readme_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_of_the_readme_exists() -> None:
    from kgen.cli.main import COMMANDS

    text = (ROOT / "README.md").read_text()
    used = {line.split()[1] for line in text.splitlines() if line.startswith(".venv/bin/kgen ")}
    assert used and used <= {name for name, _ in COMMANDS}
