"""Environment variables of the build machine: the kernel cache, the drivers folder and CI.

The runtime's settings read the cache's variable. No setting changes what is built.
"""

from __future__ import annotations

import os
from pathlib import Path

from kgen_runtime import settings
from kgen_runtime.settings import CACHE as CACHE
from kgen_runtime.settings import CACHE_DIR as CACHE_DIR
from kgen_runtime.settings import CACHE_HOME as CACHE_HOME
from kgen_runtime.settings import cache_folder as cache_folder

#: Folder of the Vulkan drivers that `make drivers` unpacks; by default .drivers of the checkout.
DRIVERS = "KGEN_DRIVERS"
#: Variable set by CI services, where a check that cannot run is a failure.
CI = "CI"


def keeps_kernels() -> bool:
    """Whether built kernels are cached: not if $KGEN_CACHE is 0."""
    return settings.keeps_what_is_compiled()


def drivers_folder() -> Path:
    """Return $KGEN_DRIVERS, or else .drivers of the checkout with this file."""
    named = os.environ.get(DRIVERS)
    return Path(named).absolute() if named else Path(__file__).parents[2] / ".drivers"


def in_ci() -> bool:
    """Whether a CI service runs this: $CI is neither empty nor a word for no."""
    return os.environ.get(CI, "").lower() not in ("", "0", "false", "no")
