"""What the environment decides on the machine that builds: what is kept, and where.

It is read by the runtime's settings, which decide the same. Nothing here changes what is built.
"""

from __future__ import annotations

from kgen_runtime import settings
from kgen_runtime.settings import CACHE as CACHE
from kgen_runtime.settings import CACHE_DIR as CACHE_DIR
from kgen_runtime.settings import CACHE_HOME as CACHE_HOME
from kgen_runtime.settings import cache_folder as cache_folder


def keeps_kernels() -> bool:
    """Whether finished kernels are kept and found again: not where $KGEN_CACHE is 0."""
    return settings.keeps_what_is_compiled()
