"""Emulators import nothing that plans kernels: a shared mistake would stay unseen."""

from __future__ import annotations

import ast
from pathlib import Path

import kgen.emulate

#: What devices launch at most is data about them, not about how kernels are planned.
LAUNCHES = ("kgen_runtime.launch_limits", "kgen_runtime.values", "kgen_runtime.manifest.Launch")
#: Memory and files of the host.
HOST = ("kgen.host_memory", "kgen_runtime.files")
ALLOWED = ("kgen.emulate", "kgen.errors", *LAUNCHES, *HOST)


def imported(path: Path) -> list[str]:
    """Return the modules of kgen that a file imports, anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.split(".")[0] in ("kgen", "kgen_runtime")]


def test_emulators_import_only_themselves() -> None:
    assert kgen.emulate.__file__ is not None
    files = list(Path(kgen.emulate.__file__).parent.rglob("*.py"))
    assert len(files) > 20
    for path in files:
        for name in imported(path):
            assert name.startswith(ALLOWED), f"{path.name} imports {name}"
