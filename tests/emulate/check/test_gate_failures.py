"""Performance gate on kernels that are made worse on purpose: each change breaks the budget for
it. Budgets are the current numbers, written by `kgen perf add`; then the planner or the rendered
text is changed in one place, and `kgen perf check` must name the right metric."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kgen import bundle, pipeline, targets
from kgen.cli.main import main
from kgen.schedule.matmul import MmaMatmul
from kgen.spec.text import parse
from kgen.targets.base import Plan, Source
from kgen.targets.cuda.plan.staging.tiles import SwizzledTile
from kgen.targets.cuda.schedule import candidates
from tests.emulate.one_schedule import verify

KERNEL = "matmul 512x512x512 f16 +bias+relu"
TARGET = "sm_80"

Edit = Callable[[str], str]


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the kernel's current numbers, after a check that they hold."""
    path = tmp_path_factory.mktemp("today") / "budgets.toml"
    argv = ["perf", "add", KERNEL, "--target", TARGET, "--why", "a test", "--budgets", str(path)]
    assert main([*argv, "--write"]) == 0
    assert main(["perf", "check", "--budgets", str(path)]) == 0
    return path.read_text()


@pytest.fixture
def budgets(today: str, tmp_path: Path) -> Path:
    path = tmp_path / "budgets.toml"
    path.write_text(today)
    return path


def check(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """Return each broken metric of `kgen perf check`, with the source lines that it names."""
    capsys.readouterr()
    status = main(["perf", "check", "--budgets", str(path), "--json"])
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    broken = {
        result["metric"]: [source["text"] for source in result["sources"]]
        for result in entry["results"]
        if result["verdict"] == "BROKEN"
    }
    assert status == (1 if broken else 0)
    return broken


def render_with(monkeypatch: pytest.MonkeyPatch, edit: Edit) -> None:
    """Edit the text of every rendered kernel, as a changed template would."""
    render = pipeline.source

    def edited(plan: Plan) -> Source:
        source = render(plan)
        text = edit(source.text)
        assert text != source.text, "the edit changes nothing"
        return dataclasses.replace(source, text=text)

    monkeypatch.setattr(pipeline, "source", edited)


def is_right() -> bool:
    """Whether the kernel still computes the product."""
    kernel = pipeline.kernel(parse(KERNEL), targets.find(TARGET))
    return verify(bundle.pack([kernel]), on="emulator").passed


def test_the_swizzle_is_removed(
    budgets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SwizzledTile, "mask", 0)
    assert is_right()
    broken = check(budgets, capsys)
    assert set(broken) == {"bank_conflicts", "shared_wavefronts"}
    assert all("ldmatrix" in line for line in broken["bank_conflicts"])


def test_a_stage_is_dropped(budgets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No access count rises, but fewer bytes are in flight at a wait."""
    schedule = pipeline.plan(parse(KERNEL), targets.find(TARGET)).schedule
    assert isinstance(schedule, MmaMatmul) and schedule.num_stages > 2
    fewer = f"schedule = {{ num_stages = {schedule.num_stages - 1} }}"
    budgets.write_text(budgets.read_text().replace("why =", f"{fewer}\nwhy ="))
    broken = check(budgets, capsys)
    assert all("wait_group" in line for line in broken["copies_in_flight"])
    assert not set(broken) & {"global_sectors", "global_load_bytes", "shared_wavefronts"}


def test_an_epilogue_store_is_made_uncoalesced(
    budgets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each store is cut into two, whose lanes leave gaps."""
    store = re.compile(r"(st\.global\S*?)(?:\.v[24])?\.b32 \[(%\w+)\+?(\d*)\], \{?([^;}]+)\}?;")

    def halves(match: re.Match[str]) -> str:
        word, at, offset, values = match.groups()
        lines = ["{ .reg .b16 %half<2>;"]
        for i, value in enumerate(values.split(",")):
            lines.append(f"mov.b32 {{%half0, %half1}}, {value};")
            first = int(offset or 0) + 4 * i
            lines += [f"{word}.b16 [{at}+{first + 2 * j}], %half{j};" for j in (0, 1)]
        return "\n".join([*lines, "}"])

    render_with(monkeypatch, lambda text: store.sub(halves, text))
    assert is_right()
    broken = check(budgets, capsys)
    assert "global_sectors" in broken and "global_load_bytes" not in broken
    assert all("st.global" in line for line in broken["global_sectors"])


def test_registers_are_pushed_over_the_limit(
    budgets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    render_with(monkeypatch, lambda text: re.sub(r"\.minnctapersm \d+", ".minnctapersm 16", text))
    broken = check(budgets, capsys)
    lines = broken["spills"]
    assert "matrix_share" in broken and lines
    assert all(line.endswith(";") for line in lines), "instructions whose registers did not fit"


def test_what_ptxas_warns_of_breaks_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ptxas adds a missing fence of wgmma, and warns of it (C7519)."""
    (tool,) = targets.family("cuda").toolchain()
    path = tmp_path / "budgets.toml"
    path.write_text(
        f'[toolchain]\nptxas = "{tool.package}"\n[defaults]\nfindings = 0\n[[budget]]\n'
        'kernel = "matmul 1024x1024x1024 f16"\ntarget = "sm_90a"\nwhy = "a test"\n'
    )
    argv = ["perf", "check", "--budgets", str(path), "--tier", "static"]
    assert main(argv) == 0
    render_with(monkeypatch, lambda text: re.sub(r"wgmma\.fence\S*;", "", text))
    capsys.readouterr()
    assert main(argv) == 1
    out = capsys.readouterr().out
    assert re.search(r"findings is \d+ warnings, the budget is at most 0", out) and "(C75" in out


def test_a_search_that_predicts_more_breaks_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If all schedules have the same bound, the choice stays the same but the search predicts
    more. An entry with a schedule has no search."""
    (tool,) = targets.family("cuda").toolchain()
    path = tmp_path / "budgets.toml"
    text = (
        f'[toolchain]\nptxas = "{tool.package}"\n[defaults]\nschedules_predicted = 100\n'
        f'[[budget]]\nkernel = "{KERNEL}"\ntarget = "{TARGET}"\nwhy = "a test"\n'
    )
    path.write_text(text)
    assert check(path, capsys) == {}
    monkeypatch.setattr(candidates, "least_seconds", lambda *_: 0.0)
    assert set(check(path, capsys)) == {"schedules_predicted"}
    path.write_text(f"{text}schedule = {{ num_stages = 3 }}\n")
    assert check(path, capsys) == {}


def test_a_redundant_load_is_added(
    budgets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load is volatile, so that the assembler keeps it."""
    load = re.compile(r"^ *ld\.global(\S*\.b32 .*\n)", re.MULTILINE)
    render_with(monkeypatch, lambda text: load.sub(r"ld.volatile.global\1\g<0>", text, count=1))
    assert is_right()
    broken = check(budgets, capsys)
    assert {"global_sectors", "global_load_bytes"} <= set(broken)
    assert all("ld." in line or "cp.async" in line for line in broken["global_load_bytes"])
