"""Budgets of foreign kernels: files of PTX, counted by the emulator, added and held by the gate."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.check.gate import budgets
from kgen.check.gate.foreign import ForeignLaunch, relative
from kgen.cli.main import main
from kgen.errors import BudgetError

ROOT = Path(__file__).parents[4]
#: PTX that nvcc wrote; each thread counts the steps of one number to 1.
KERNELS = ROOT / "tests/emulate/data/kernels.ptx"
LAUNCH = ["--entry", "collatz", "--grid", "4x1", "--block", "32"]
ARGUMENTS = ["--arg", "in:n.npy", "--arg", "out:i32:100:s.npy", "--arg", "i32:100"]
MAP = 'tensormap:{"tensor": "in:d/a.npy", "box": [64]}'
WHY = ["--why", "hot kernel of the solver"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(KERNELS, tmp_path)
    np.save(tmp_path / "n.npy", np.arange(1, 101, dtype=np.uint32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add(*more: str) -> int:
    return main(["perf", "add", "kernels.ptx", *LAUNCH, *ARGUMENTS, *WHY, *more])


def counted(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the counts of `kgen emulate`."""
    capsys.readouterr()
    command = ["emulate", "kernels.ptx", *LAUNCH, *ARGUMENTS, "--profile", "--json"]
    assert main(command) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["counters"]
    return found


@pytest.mark.integration
def test_a_file_is_added_and_held(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add("--write") == 0, capsys.readouterr()
    text = (folder / "perf_budgets.toml").read_text()
    assert 'file = "kernels.ptx"' in text and 'arguments = ["in:n.npy", "out:i32:100"' in text
    expected = counted(capsys)
    (entry,) = budgets.load(folder / "perf_budgets.toml").entries
    limits = {limit.metric.name: limit.value for limit in entry.limits}
    assert limits["instructions"] == expected["instructions"] > 0
    assert limits["bank_conflicts"] == 0
    assert main(["perf", "check"]) == 0, capsys.readouterr()
    assert "ptx: collatz of kernels.ptx" in capsys.readouterr().out


@pytest.mark.integration
def test_a_broken_budget_names_the_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The budget is one instruction below the kernel's count: exit status 1."""
    assert add("--write") == 0
    number = counted(capsys)["instructions"]
    path = folder / "perf_budgets.toml"
    path.write_text(path.read_text().replace(f" = {number}", f" = {number - 1}"))
    assert main(["perf", "check", "--target", "ptx"]) == 1
    out = capsys.readouterr().out
    assert f"instructions is {number}, the budget is at most {number - 1}" in out
    assert main(["perf", "update"]) == 1  # which is broken, and nothing has room
    capsys.readouterr()
    assert main(["perf", "check", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["entries"]
    assert (found["kernel"], found["target"]) == ("collatz of kernels.ptx", "ptx")


@pytest.mark.integration
def test_a_fault_is_a_check_that_failed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kernel's array is too short: exit status 1, and the fault with its line."""
    assert add("--write") == 0
    np.save(folder / "n.npy", np.arange(1, 51, dtype=np.uint32))
    capsys.readouterr()
    assert main(["perf", "check", "--summary", "s.md"]) == 1
    out, error = capsys.readouterr()
    (line,) = [words for words in out.splitlines() if "out-of-bounds: global load" in words]
    number = int(re.findall(r"in collatz, line (\d+): `ld\.global", line)[0])
    assert "ld.global" in KERNELS.read_text().splitlines()[number - 1]
    (entry,) = budgets.load(folder / "perf_budgets.toml").entries
    assert f"perf_budgets.toml line {entry.line}:" in line
    assert "guard the access by the size of the array" in line
    assert "0 budgets of 1 kernel: 1 with a fault" in out and not error
    assert line.strip() in (folder / "s.md").read_text()
    assert main(["perf", "check", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["entries"]
    assert not found["passed"] and found["fault"].startswith("out-of-bounds")
    assert main(["perf", "update", "--write"]) == 1
    assert "out-of-bounds" in capsys.readouterr().out


@pytest.mark.integration
def test_an_instruction_that_is_not_known_is_no_fault(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was checked: exit status 2, in one line."""
    assert add("--write") == 0
    path = folder / "kernels.ptx"
    path.write_text(path.read_text().replace("ld.global.", "frob.global."))
    capsys.readouterr()
    assert main(["perf", "check"]) == 2
    error = capsys.readouterr().err
    assert "the emulator does not know `frob.global" in error and error.count("\n") == 1


#: AMDGPU LLVM IR that clang wrote; one workgroup multiplies 16 x 16 numbers.
AMD = ROOT / "tests/emulate/data/amd/kernels.gfx90a.O2.ll"
AMD_ARGUMENTS = ["--arg", "in:a.npy", "--arg", "in:b.npy", "--arg", "out:f32:16x16", "--arg"]


@pytest.fixture
def amd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(AMD, tmp_path / "k.ll")
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.ones((16, 16), np.float32))
    monkeypatch.chdir(tmp_path)
    launch = ["--entry", "matmul_tiled", "--grid", "1", "--block", "256"]
    command = ["perf", "add", "k.ll", *launch, *AMD_ARGUMENTS, "i32:16", *WHY, "--write"]
    assert main(command) == 0
    return tmp_path


@pytest.mark.integration
def test_an_amd_file_is_held(amd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both matrices are read once; each doubled barrier breaks the budget."""
    (entry,) = budgets.load(amd / "perf_budgets.toml").entries
    assert (entry.target_name, entry.kernel) == ("llvm", "matmul_tiled of k.ll")
    limits = {limit.metric.name: limit.value for limit in entry.limits}
    assert limits["global_load_bytes"] == 2 * 16 * 16 * 4
    assert main(["perf", "check"]) == 0, capsys.readouterr()
    path = amd / "k.ll"
    barrier = "  tail call void @llvm.amdgcn.s.barrier()\n"
    path.write_text(path.read_text().replace(barrier, 2 * barrier))
    capsys.readouterr()
    assert main(["perf", "check", "--target", "llvm"]) == 1
    out = capsys.readouterr().out
    before = int(limits["barriers"])
    assert f"barriers is {2 * before}, the budget is at most {before}" in out
    assert "llvm: matmul_tiled of k.ll" in out and "@llvm.amdgcn.s.barrier()" in out


@pytest.mark.integration
def test_a_race_of_an_amd_file_is_a_check_that_failed(
    amd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = amd / "k.ll"
    text = path.read_text()
    path.write_text(text.replace("  tail call void @llvm.amdgcn.s.barrier()\n", ""))
    capsys.readouterr()
    assert main(["perf", "check"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"race: .* in matmul_tiled, line \d+: ", out)


@pytest.mark.integration
def test_files_are_found_from_the_budgets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are relative to the file of budgets, wherever the command runs."""
    (folder / "gate").mkdir()
    assert add("--write", "--budgets", "gate/b.toml") == 0
    text = (folder / "gate/b.toml").read_text()
    assert 'file = "../kernels.ptx"' in text and '"in:../n.npy"' in text
    monkeypatch.chdir("/")
    assert main(["perf", "check", "--budgets", str(folder / "gate/b.toml")]) == 0
    assert not (folder / "gate/unwritten.npy").exists()


def test_tensor_maps_and_outputs_move_too() -> None:
    launch = ForeignLaunch(
        file="d/k.ptx", entry="e", grid="1", block="32",
        arguments=("inout:d/a.npy:b.npy", MAP, "u32:4"),
    )  # fmt: skip
    moved = relative(launch, Path("d"))
    assert (moved.file, moved.arguments[0], moved.arguments[2]) == ("k.ptx", "inout:a.npy", "u32:4")
    assert json.loads(moved.arguments[1].partition(":")[2])["tensor"] == "in:a.npy"


GOOD = """
[[budget]]
file = "kernels.ptx"
entry = "collatz"
grid = "4"
block = "32"
why = "w"
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('entry = "collatz"\n', ""), "b.toml:2: entry is missing"),
        (
            (".ptx", ".cu"),
            "b.toml:3: file=kernels.cu: this is source code: compile to PTX with nvcc -ptx",
        ),
        (('"4"', '"4x"'), "grid 4x is not one to three integers of 1 or more; give X"),
        (("why", "static = { registers = 1 }\nwhy"), "static is unknown beside file=; known are"),
        (("why", "arguments = [1]\nwhy"), "arguments must be a list of strings"),
        (("why", "dynamic_shared = -1\nwhy"), "dynamic_shared must be a number of bytes"),
        (("why", 'target = "sm_80"\nwhy'), "target is unknown beside file="),
    ],
)
def test_what_is_no_entry(change: tuple[str, str], message: str) -> None:
    with pytest.raises(BudgetError, match=message):
        budgets.parse_text(GOOD.replace(*change), Path("b.toml"))


@pytest.mark.integration
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kernels.ptx", *WHY], "kernels.ptx needs --entry, as for kgen emulate; add it"),
        (
            ["kernels.ptx", *LAUNCH, "--target", "sm_80", *WHY],
            "--target does not apply to the file kernels.ptx",
        ),
        (["relu 64 f32", *WHY], "relu 64 f32 has no target; add --target sm_80"),
        (
            ["relu 64 f32", *WHY, "--grid", "1", "--target", "sm_80"],
            "--grid describes the launch of a .ptx or .ll file",
        ),
        (["none.ptx", *LAUNCH, *WHY], "none.ptx cannot be read: No such file"),
        (
            ["kernels.ptx", *LAUNCH, *ARGUMENTS[:-1], "i32:101", *WHY],
            "out-of-bounds: global load in collatz_param_0",
        ),
    ],
)
def test_what_cannot_be_added(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["perf", "add", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
