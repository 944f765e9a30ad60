"""What the cost model knows of one core, by the instructions that a target has.

Each is a core of the processor that :mod:`kgen.targets.cpu.devices` names for the target. Of those
with AVX-512, Zen 4 does two multiply-adds of half a vector each in a cycle; servers of Intel's do
two whole ones, and have not been measured. Caches are the target's own.
"""

from __future__ import annotations

from kgen.targets.base import Target
from kgen_runtime.values import frozen


@frozen
class Core:
    """Vectors per cycle that are multiplied and added, and that are loaded; cycles from a
    multiply-add to the next that needs its result; cycles per second."""

    multiply_adds: float
    loads: float
    latency: float
    clock: float


#: Software optimization guides of AMD for Zen 3 (56665) and Zen 4 (57647), "Floating-point unit"
#: and "Load-store unit"; Intel's and Arm's optimization guides for the others. The clock is that of
#: one busy core.
AVX2 = Core(multiply_adds=2, loads=2, latency=4, clock=3.7e9)
AVX512 = Core(multiply_adds=1, loads=1.5, latency=4, clock=3.7e9)
SSE = Core(multiply_adds=1, loads=1, latency=7, clock=3.4e9)
NEON = Core(multiply_adds=2, loads=2, latency=4, clock=3.0e9)


def core_of(target: Target) -> Core:
    if target.arch == "aarch64":
        return NEON
    if target.has("avx512f"):
        return AVX512
    return AVX2 if target.has("fma") else SSE
