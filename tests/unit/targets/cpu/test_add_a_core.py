"""The page on adding a CPU core, followed step by step."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kgen.targets.cpu.cores import core_from, core_name, cores
from kgen.targets.cpu.limits import V3_FEATURES
from tests.fake_cpu import FakeCpu

PAGE = Path(__file__).parents[4] / "docs" / "add-a-core.md"


def block(language: str) -> str:
    """Return the page's only block of a language."""
    text = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert isinstance(found, str)
    return found


@pytest.mark.integration
def test_the_core_of_the_page_is_recognised_and_builds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fake_cpu: FakeCpu
) -> None:
    ((name, table),) = tomllib.loads(block("toml")).items()
    core = core_from(name, table)
    monkeypatch.setitem(cores(), name, core)
    ((family, (numbers,)),) = core.models.items()
    for number in numbers:
        fake_cpu.set("x86_64", frozenset(V3_FEATURES), (core.vendor, family, number))
        assert core_name() == name
    exec(compile(block("python"), str(PAGE), "exec"), {})
    assert "'origin': 'model'" in capsys.readouterr().out
