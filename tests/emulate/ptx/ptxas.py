"""The vendor's assembler, which accepts every program of the tests."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from kgen.errors import AssembleError
from kgen.targets.cuda.assemble import ptxas


@cache
def _assembler() -> Path | None:
    try:
        return ptxas()
    except AssembleError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        return None


def assemble(source: str, arch: str = "sm_90a") -> None:
    """Fail unless the assembler takes the PTX. Nothing happens where there is no assembler."""
    assembler = _assembler()
    if assembler is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "test.ptx")
        text.write_text(source)
        done = subprocess.run(
            [assembler, f"-arch={arch}", "-O0", "-o", str(Path(folder, "test.cubin")), str(text)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr


#: What a module has once.
_ONCE = re.compile(r"^\s*\.(?:version|target|address_size|extern)\b.*\n", re.MULTILINE)
_ENTRY = re.compile(r"(\.entry\s+)(\w+)")
#: A table, by its name; registers may have the same one behind a %.
_TABLE = re.compile(r"^\.global\b.*?(\w+)\[", re.MULTILINE)


def assemble_all(sources: Iterable[str], arch: str = "sm_90a") -> None:
    """Assemble many texts, those with the same heading in one run: a small text takes little more
    than the start of the assembler. An error names its line in the joined text."""
    modules: dict[str, list[str]] = {}
    for number, source in enumerate(sources):
        heading = "".join(_ONCE.findall(source))
        text = _ENTRY.sub(rf"\1\2_{number}", _ONCE.sub("", source))
        for table in _TABLE.findall(text):
            text = re.sub(rf"(?<![%\w]){table}\b", f"{table}_{number}", text)
        modules.setdefault(heading, []).append(text)
    for heading, texts in modules.items():
        assemble(heading + "".join(texts), arch)
