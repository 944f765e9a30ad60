"""docs/reference/python-runtime.md: its tables name what exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import kgen_runtime
from kgen_runtime import errors, settings
from kgen_runtime.calls.program import LoadedProgram
from kgen_runtime.select import BACKENDS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "python-runtime.md").read_text()


def first_column(header: str) -> list[str]:
    """Names in the first column of the table that has this header."""
    rows = PAGE.split(f"| {header} |\n", 1)[1].split("\n\n")[0].splitlines()[1:]
    return [name for row in rows for name in re.findall(r"`(\w+)", row.split(" | ")[0])]


def test_the_errors_exist() -> None:
    named = first_column("class | raised for")
    assert len(named) > 8
    assert all(issubclass(getattr(errors, name), errors.KgenError) for name in named)


def test_all_arguments_of_load_are_listed() -> None:
    assert first_column("argument | value") == [*inspect.signature(kgen_runtime.load).parameters]


def test_all_devices_are_listed() -> None:
    assert {*first_column("device | chosen by default | needs")} == {*BACKENDS}


def test_all_members_are_listed() -> None:
    """Public members of what `load` returns and of a program; those for our own code aside."""
    kernels = {*first_column("member of the result | meaning"), "get", "items", "keys", "values"}
    public = {name for name in dir(kgen_runtime.Kernels) if not name.startswith("_")}
    assert public - kernels == set()
    program = {*first_column("member | meaning"), "close"}
    own = {name for name in vars(LoadedProgram) if not name.startswith("_")}
    assert own - {f"{tensors}_names" for tensors in ("input", "output", "state")} == program


def test_all_variables_of_the_environment_are_listed() -> None:
    named = {name for name in first_column("variable | meaning") if name.startswith("KGEN_")}
    values = {value for value in vars(settings).values() if isinstance(value, str)}
    assert named == {value for value in values if value.startswith("KGEN_")}
