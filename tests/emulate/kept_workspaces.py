"""Workspaces that keep their contents from one launch to the next, as in a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.check.execute import executor
from kgen.check.execute import runners as execute
from kgen_runtime.manifest import KernelEntry


def keep(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray[Any, Any]]:
    """Give all later launches the workspaces of the first one; return the dictionary that holds
    them."""
    held: dict[str, np.ndarray[Any, Any]] = {}

    def kept(entry: KernelEntry) -> dict[str, np.ndarray[Any, Any]]:
        if not held:
            held.update(executor.workspaces(entry))
        return held

    monkeypatch.setattr(execute, "workspaces", kept)
    return held
