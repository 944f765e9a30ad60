"""Settings of the build machine from the environment: the cache and its folder.

The runtime's settings read the environment. Nothing here changes what is built.
"""

from __future__ import annotations

import os
from pathlib import Path

from kgen_runtime import settings
from kgen_runtime.settings import CACHE as CACHE
from kgen_runtime.settings import CACHE_DIR as CACHE_DIR
from kgen_runtime.settings import CACHE_HOME as CACHE_HOME
from kgen_runtime.settings import cache_folder as cache_folder

#: The folder of the Vulkan drivers that `make drivers` unpacks; the checkout's own is .drivers.
DRIVERS = "KGEN_DRIVERS"
#: What CI services set: what cannot be checked is a failure there.
CI = "CI"


def keeps_kernels() -> bool:
    """Whether finished kernels are kept and found again: not where $KGEN_CACHE is 0."""
    return settings.keeps_what_is_compiled()


def drivers_folder() -> Path:
    """$KGEN_DRIVERS, else .drivers of the checkout that this file is part of."""
    named = os.environ.get(DRIVERS)
    return Path(named).absolute() if named else Path(__file__).parents[2] / ".drivers"


def in_ci() -> bool:
    """Whether a CI service runs this: $CI is neither empty nor a word for no."""
    return os.environ.get(CI, "").lower() not in ("", "0", "false", "no")
