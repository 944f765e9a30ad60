"""Tests in this folder see the CPU of this machine, whichever it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kgen_runtime import settings


@pytest.fixture(autouse=True, scope="module")
def this_cpu() -> Iterator[None]:
    """Make `native` stand for this machine, here and in child processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(settings.NATIVE, raising=False)
        yield
