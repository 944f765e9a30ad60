"""What the environment decides, all of it: it is read here and nowhere else."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

#: Features that the CPU is to be taken not to have: names of /proc/cpuinfo, `*` for any letters,
#: with commas or blanks between them.
DISABLED_CPU_FEATURES = "KGEN_DISABLE_CPU_FEATURES"


def enabled(features: frozenset[str]) -> frozenset[str]:
    """Those of a CPU's features that the environment does not disable."""
    disabled = os.environ.get(DISABLED_CPU_FEATURES, "").replace(",", " ").split()
    return frozenset(
        name for name in features if not any(fnmatchcase(name, each) for each in disabled)
    )
