"""Compiled templates are cached for other processes, and rendered texts do not depend on the
cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgen import settings

#: Renders a kernel; prints how many templates were compiled, and the text.
PROGRAM = """
import jinja2
compiled = []
compile = jinja2.Environment.compile
jinja2.Environment.compile = lambda self, *a, **k: compiled.append(a) or compile(self, *a, **k)
from kgen import pipeline, targets
from kgen.spec import Elementwise
spec = Elementwise(expression="relu(x)", shapes=((64, 64),))
print(pipeline.source(pipeline.plan(spec, targets.find("vulkan1.3"))).text)
print(len(compiled))
"""


def rendered(cache: Path | str) -> tuple[str, int]:
    """Return the kernel's text from a new process, and the number of templates that it compiled."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {settings.CACHE_HOME: str(cache)},
    )
    assert not done.stderr
    *text, compiled = done.stdout.splitlines()
    return "\n".join(text), int(compiled)


@pytest.mark.integration
def test_templates_are_compiled_once(tmp_path: Path) -> None:
    first, compiled = rendered(tmp_path)
    assert compiled > 1
    assert rendered(tmp_path) == (first, 0)
    (folder,) = (tmp_path / "kgen" / "templates").iterdir()
    assert len([*folder.iterdir()]) == compiled


@pytest.mark.integration
def test_damaged_and_missing_files_are_made_again(tmp_path: Path) -> None:
    first, _ = rendered(tmp_path)
    damaged, removed, *_ = sorted(tmp_path.glob("kgen/templates/*/*"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    removed.unlink()
    assert rendered(tmp_path) == (first, 2)
    assert rendered(tmp_path) == (first, 0)


@pytest.mark.integration
def test_a_place_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    """A file is in the cache folder's place."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    first, compiled = rendered(blocked)
    assert compiled > 1 and rendered(blocked) == (first, compiled)


def test_the_key_changes_with_what_compiled_code_depends_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kgen import render

    keys = {render._compiled_key("3.1.6"), render._compiled_key("3.2.0")}
    for change in ("template_digest", "template_root"):
        with monkeypatch.context() as patched:
            patched.setattr(render, change, lambda: "another")
            keys.add(render._compiled_key("3.1.6"))
    assert len(keys) == 4


@pytest.mark.parametrize("relative", ["", "cache", "./cache"])
def test_where_files_are_kept(relative: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.CACHE_HOME, "/var/cache/me")
    assert settings.cache_folder() == Path("/var/cache/me/kgen")
    monkeypatch.setenv(settings.CACHE_HOME, relative)
    monkeypatch.setenv("HOME", "/home/me")
    assert settings.cache_folder() == Path("/home/me/.cache/kgen")


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(settings.CACHE_HOME, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert settings.cache_folder() is None
