"""Importing the runtime loads no numpy, driver or build tool before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "runtime"
HEAVY = ("numpy", "jinja2", "llvmlite", "vulkan", "cuda", "ml_dtypes", "kgen")


def loaded(code: str) -> set[str]:
    """Return the heavy packages that a new interpreter has loaded after running the code."""
    report = f"{code}\nimport sys\nprint(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True, cwd=RUNTIME
    )
    return set(done.stdout.split())


def test_import_is_light() -> None:
    assert loaded("import kgen_runtime") == set()


def test_public_names_resolve() -> None:
    assert "cuda" not in loaded(
        "import kgen_runtime\n"
        "for name in kgen_runtime.__all__:\n"
        "    value = getattr(kgen_runtime, name).__name__\n"
        "    assert value.rpartition('.')[2].lower() == name.lower()\n"
        "    assert name in dir(kgen_runtime)"
    )


def test_unknown_names_do_not() -> None:
    import kgen_runtime

    with pytest.raises(AttributeError, match="has no attribute 'loads'"):
        _ = kgen_runtime.loads  # type: ignore[attr-defined]


def test_a_named_device_loads_only_its_own_driver() -> None:
    code = "from kgen_runtime.select import open_device; open_device('reference').close()"
    assert not loaded(code) & {"vulkan", "cuda", "llvmlite", "jinja2", "kgen"}
