"""Every command and option with bad input: one line, exit status 2."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgen
from kgen.cli.commands import completion
from kgen.cli.main import COMMANDS, main, parser
from tests.specs import relu_of

#: Words that make each command a good one; files are in the folder of the test.
GOOD: dict[str, tuple[str, ...]] = {
    "build": ("--shape", "8x8x8", "--target", "vulkan1.3"),
    "compile": ("m.onnx", "--target", "vulkan1.3"),
    "inspect": ("x.kgen",),
    "verify": ("x.kgen",),
    "run": ("x.kgen",),
    "profile": ("x.kgen",),
    "report": ("x.kgen",),
    "bench": ("x.kgen",),
    "tune": ("--shape", "8x8x8", "--target", "vulkan1.3"),
    "bundle merge": ("x.kgen", "-o", "y.kgen"),
    "check": ("x.kgen",),
    "perf check": ("--budgets", "b.toml"),
    "perf update": ("--budgets", "b.toml"),
    "perf add": ("relu 8 f16", "--target", "sm_80", "--why", "it matters"),
    "perf diff": ("x.kgen", "x.kgen"),
    "emulate": ("k.ptx", "--entry", "f", "--grid", "1", "--block", "1"),
    "cache": (),
    "devices": (),
    "targets": (),
    "completion": ("bash",),
}


def leaves(
    found: argparse.ArgumentParser, path: str = ""
) -> Iterator[tuple[str, list[argparse.Action]]]:
    """Yield every command that runs, with its arguments."""
    below = [a for a in found._actions if isinstance(a, argparse._SubParsersAction)]
    if not below:
        yield path, found._actions
    for action in below:
        for name, child in action.choices.items():
            yield from leaves(child, f"{path} {name}".strip())


LEAVES = dict(leaves(parser({name for name, _ in COMMANDS})))
OPTIONS = [
    (command, action.option_strings[-1], action)
    for command, actions in LEAVES.items()
    for action in actions
    if action.option_strings and action.nargs != 0
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    return kgen.build(relu_of((8,)), "vulkan1.3")


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Return the message of a refused command, which must be one line and the command's only
    effect."""
    before = sorted(Path().iterdir())
    try:
        status = main(argv)
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    out, err = capsys.readouterr()
    assert (status, out) == (2, ""), (argv, out, err)
    assert re.fullmatch(r"kgen[a-z ]*: [^\n]+\n", err), err
    assert len(err) < 500 and "Traceback" not in err and "Errno" not in err, err
    assert "; " in err or "? " in err, f"no remedy: {err}"
    assert sorted(Path().iterdir()) == before
    return err


def test_every_command_is_here() -> None:
    assert set(GOOD) == set(LEAVES)


@pytest.mark.parametrize("command", GOOD)
def test_an_option_that_there_is_not(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, *command.split(), *GOOD[command], "--jsom")
    assert (
        said
        == f"kgen {command}: --jsom is unknown; did you mean --json? see kgen {command} --help\n"
    )
    # Before what is missing, of which it may be the mistyped name.
    assert "--jsom is unknown" in refusal(capsys, *command.split(), "--jsom=3")


@pytest.mark.parametrize("command", GOOD)
def test_a_word_too_many(
    command: str, capsys: pytest.CaptureFixture[str], bundle: kgen.Bundle
) -> None:
    bundle.save("x.kgen")
    said = refusal(capsys, *command.split(), *GOOD[command], "surplus")
    assert "surplus" in said


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, option, action in OPTIONS],
)
def test_an_option_without_its_value(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, *command.split(), *GOOD[command], option)
    assert f"{option} needs a value, " in said
    if option.startswith("--"):
        said = refusal(capsys, *command.split(), *GOOD[command], f"{option}=--")
        assert f"{option} needs a value, " in said


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, option, action in OPTIONS if action.type is int],
)
@pytest.mark.parametrize("value", ["x", "", "1.5"])
def test_what_is_no_number(
    command: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, *command.split(), *GOOD[command], f"{option}={value}")
    assert option in said and f"{value!r} is not an integer; give one such as" in said


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (command, option)
        for command, option, action in OPTIONS
        if action.choices is not None or option in completion._values()
    ],
)
@pytest.mark.parametrize("value", ["nothing", "", "a,,b"])
def test_what_is_none_of_the_names(
    command: str, option: str, value: str, capsys: pytest.CaptureFixture[str], bundle: kgen.Bundle
) -> None:
    bundle.save("x.kgen")
    Path("b.toml").write_text("[defaults]\n")
    if (option, value) in {("--epilogue", ""), ("--scales", ""), ("--against", "")}:
        return  # none of them
    refusal(capsys, *command.split(), *GOOD[command], f"{option}={value}")


@pytest.mark.parametrize("command", [c for c, words in GOOD.items() if words])
def test_what_is_required(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    refusal(capsys, *command.split())


READERS = [
    c for c, words in GOOD.items() if "x.kgen" in words or "b.toml" in words or c == "emulate"
]


@pytest.mark.integration
@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("what", ["absent", "a folder", "nothing", "text", "bytes", "a pipe"])
def test_a_file_that_is_none(
    command: str, what: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    names = [word for word in GOOD[command] if word in ("x.kgen", "b.toml", "k.ptx")]
    for name in set(names):
        path = folder / name
        if what == "a folder":
            path.mkdir()
        elif what == "a pipe":
            path.symlink_to(os.devnull)
        elif what != "absent":
            content = {"nothing": b"", "text": b"no bundle\n", "bytes": bytes(range(256))}
            path.write_bytes(content[what])
    if command.startswith("perf") and what in ("nothing", "a pipe"):
        return  # a file of no budgets
    said = refusal(capsys, *command.split(), *GOOD[command])
    assert names[0] in said or "no entry point f in the PTX text" in said


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("biuld --shape 1x1x1", "kgen: biuld is unknown; did you mean build? known are build, "),
        ("build --shpae 1x1x1", "kgen build: --shpae is unknown; did you mean --shape? see kgen "),
        ("--verison", "kgen: --verison is unknown; did you mean --version? see kgen --help"),
        ("perf chekc", "kgen perf: chekc is unknown; did you mean check? known are check, update"),
        ("verify x.kgen --on emu", "--on emu is unknown; did you mean emulator? known are auto, "),
        ("compile m.onnx --target sm_80 -o ''", "output='' is not a file name; name the file to"),
        ("report x.kgen -o ''", "output='' is not a file name; name the file to write"),
        ("verify x.kgen --seeds 0", "--seeds 0 is not an integer of 1 or more; give one such as 2"),
        ("completion tcsh", "tcsh is unknown; known are bash, zsh, fish"),
        ("build --shape 8x8x8 --target sm_08", "target=sm_08 is unknown; try sm_89, sm_86, sm_80"),
        ("build --target sm_80", "no kernel is given; pass --shape 1024x1024x1024, or a quoted"),
        ("build 8x8x8 --target sm_80", "8x8x8 is not a kernel; pass --shape MxNxK, or a quoted"),
        ("build 'relu 8 f16' --dtype f32 --target sm_80", "--dtype needs --shape; for a quoted"),
        ("build 'relu 8x f16' --target sm_80", "'relu 8x f16': shape=8x: '' is not an integer"),
        ("build 'relu 8 f61' --target sm_80", "dtype=f61 is unknown; did you mean f64?"),
        (
            "build 'matmul 8x8x8 f16 bacth=2' --target sm_80",
            "bacth is not an option of matmul; did",
        ),
        ("build 'rleu 8 f16' --target sm_80", "op=rleu is unknown; did you mean relu?"),
        ("build 'relu 8 f16' --constant b --target native", "--constant needs --shape"),
    ],
)
def test_what_is_said(argv: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refusal(capsys, *shlex.split(argv))
