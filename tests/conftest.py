"""What holds for every test."""

from __future__ import annotations

import gc
import os

# Test processes are as many as cores: where each multiplied on all of them, they would wait for
# each other. numpy reads this when it is imported; what tests start inherits it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """What is there by now stays: the search for cycles, a tenth of all tests' time, leaves it out
    and comes less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
