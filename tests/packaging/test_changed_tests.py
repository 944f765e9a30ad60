"""Tests that `make test CHANGED=1` selects for a changed path."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import changed_tests

ROOT = Path(__file__).parents[2]
#: Folders whose direct subfolders each have a row.
PARENTS = ("codegen/kgen", "codegen/kgen/targets", "runtime", "templates")


@pytest.mark.parametrize("parent", PARENTS)
def test_every_source_folder_has_a_row(parent: str) -> None:
    folders = {file.parent for file in (ROOT / parent).rglob("*") if file.is_file()}
    children = {f.relative_to(ROOT / parent).parts[0] for f in folders if f != ROOT / parent}
    named = {f"{parent}/{child}" for child in children if child != "__pycache__"}
    assert named and named <= set(changed_tests.TESTS)


def test_every_top_folder_has_a_row() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    folders = {path.split("/")[0] for path in tracked if "/" in path} - {"tests", "codegen"}
    assert folders <= {row.split("/")[0] for row in changed_tests.TESTS}


@pytest.mark.parametrize("row", changed_tests.TESTS)
def test_every_row_names_tests_that_exist(row: str) -> None:
    for pattern in changed_tests.TESTS[row]:
        assert list(ROOT.glob(pattern)), pattern


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("codegen/kgen/cli/commands/build.py", "tests/packaging tests/style tests/unit/cli"),
        ("codegen/kgen/pipeline.py", "tests"),
        ("tests/unit/cli/test_main.py", "tests/style tests/unit/cli/test_main.py"),
        ("tests/unit/cli/support.py", "tests/style tests/unit/cli"),
        ("tests/conftest.py", "tests"),
        ("tests/unit/test_deleted.py", "tests/style"),
        ("README.md", "tests/benchmarks tests/packaging tests/style"),
        ("generated/sm_80/x.ptx", "tests/golden tests/style"),
        ("codegen/kgen/emulate/ptx/memory/spaces.py", "tests/emulate tests/style tests/unit/cli"),
    ],
)
def test_selected(path: str, expected: str) -> None:
    assert " ".join(changed_tests.selected([path])) == expected


def test_without_a_change_the_style_is_checked() -> None:
    assert changed_tests.selected([]) == ["tests/style"]


def test_paths_inside_another_are_left_out() -> None:
    assert changed_tests.selected(
        ["tests/unit/cli/test_main.py", "Makefile", "pyproject.toml"]
    ) == ["tests"]


def test_untracked_files_belong_to_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes are commits since the base, the working tree, and untracked files."""

    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("old", "edited", "kept"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "base")
    git("checkout", "-b", "topic")
    (tmp_path / "committed").write_text("new")
    git("add", ".")
    git("commit", "-m", "topic")
    (tmp_path / "old").unlink()
    (tmp_path / "edited").write_text("other")
    (tmp_path / "untracked").write_text("new")
    monkeypatch.setattr(changed_tests, "ROOT", tmp_path)
    assert changed_tests.changed(None) == ["committed", "edited", "old", "untracked"]
    assert changed_tests.changed("topic") == ["edited", "old", "untracked"]
    git("branch", "-m", "main", "trunk")
    assert changed_tests.changed(None) == ["edited", "old", "untracked"]
