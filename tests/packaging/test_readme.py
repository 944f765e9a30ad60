"""README names commands that exist."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_command_of_the_readme_exists() -> None:
    from kgen.cli.main import COMMANDS

    text = (ROOT / "README.md").read_text()
    used = {line.split()[1] for line in text.splitlines() if line.startswith(".venv/bin/kgen ")}
    assert used and used <= {name for name, _ in COMMANDS}
