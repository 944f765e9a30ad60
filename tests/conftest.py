"""What holds for every test."""

from __future__ import annotations

import os

# Test processes are as many as cores: where each multiplied on all of them, they would wait for
# each other. numpy reads this when it is imported; what tests start inherits it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
