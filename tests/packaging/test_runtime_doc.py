"""The examples of docs/runtime.md run, in turn, as they stand there."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import pytest

from kgen_runtime import errors

PAGE = (Path(__file__).parents[2] / "docs" / "runtime.md").read_text()


def test_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    for block in blocks:
        exec(compile(block, "docs/runtime.md", "exec"), scope)
    printed = capsys.readouterr().out
    other = "aarch64-neon" if platform.machine() == "x86_64" else "x86-64-v3"
    assert f"{other}/matmul_32x128x384_f32_nn_bias_relu: " in printed
    scope["kernels"].close()


def test_the_errors_exist() -> None:
    table = PAGE[PAGE.index("| class | when |") :]
    named = re.findall(r"`([A-Z]\w+)`", table)
    assert named and all(issubclass(getattr(errors, name), errors.KgenError) for name in named)
