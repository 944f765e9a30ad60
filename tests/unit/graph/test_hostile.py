"""Broken and hostile models: each is refused in one line, in bounded memory, and leaves no file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.onnx_models import EXPORTED, ROOT
from tests.unit.graph.hostile import CASES

#: Seconds of the processor that a refusal takes at most; the others take hundredths.
LONGEST = 20.0


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the outcome of each model, all compiled in one process."""
    folder = tmp_path_factory.mktemp("models") / "inner"
    folder.mkdir()
    (folder.parent / "secret.bin").write_bytes(bytes(12))
    with (folder / "sparse.bin").open("wb") as file:
        file.truncate(1 << 30)
    for name, (make, _) in CASES.items():
        model = make()
        data = model if isinstance(model, bytes) else model.SerializeToString()
        (folder / f"{name}.onnx").write_bytes(data)
    whole = EXPORTED["dynamo"].read_bytes()
    for bit in range(len(whole).bit_length()):
        (folder / f"cut-{bit}.onnx").write_bytes(whole[: 1 << bit])
    command = [sys.executable, "-m", "tests.unit.graph.hostile", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def refused(one: dict[str, Any]) -> str:
    """Return the line that refuses a model."""
    assert one["status"] == 2, one["status"]
    assert one["err"].startswith("kgen compile: ") and one["err"].count("\n") == 1
    assert one["left"] == [] and one["seconds"] < LONGEST
    return str(one["err"])


@pytest.mark.integration
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_model(found: dict[str, dict[str, Any]], name: str) -> None:
    words = CASES[name][1]
    if words is None:
        assert found[name]["status"] == 0, found[name]
    else:
        assert words in refused(found[name])


@pytest.mark.integration
def test_a_model_cut_anywhere(found: dict[str, dict[str, Any]]) -> None:
    cut = {name: refused(one) for name, one in found.items() if name.startswith("cut-")}
    assert len(cut) > 15
    assert all("is not an ONNX file" in line or "node " in line for line in cut.values())


def test_what_is_no_file(tmp_path: Path) -> None:
    import os

    from kgen.errors import GraphError
    from kgen.graph.reading.onnx_file import read

    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        ("pipe", "is not a file"),
        (".", "Is a directory"),
        ("/dev/zero", "is not a file"),
    ):
        with pytest.raises(GraphError, match=why):
            read(tmp_path / path)
