"""Rates of one well-known server processor per target, for rooflines: all cores at base clock.

Cores, clocks and memory channels are from the vendors' data sheets:

- x86-64: Intel Xeon X5690;
- x86-64-v3 and x86-64-v4: AMD EPYC 7763 and 9654;
- x86-64-amx: Intel Xeon Platinum 8480+;
- aarch64-neon: Ampere Altra Q80-30.

Arithmetic units per core are from the vendors' optimisation guides:

- Westmere: one multiplier and one adder of 4 floats;
- Zen 3: two multiply-add units of 8 floats; Zen 4 splits 16 floats over the same two;
- Neoverse N1: two multiply-add units of 4 floats;
- AMX: 1024 bf16 multiply-adds per cycle (Intel's Optimization Reference Manual, "Intel AMX").

Memory bandwidth is channels times 8 bytes times transfers per second.
"""

from __future__ import annotations

from kgen.targets.base import Target
from kgen.targets.device import Rates


def _device(device: str, cores: int, clock: float, dram: float, **per_clock: int) -> Rates:
    return Rates(
        device=device,
        units=cores,
        flops={name: count * cores * clock for name, count in per_clock.items()},
        dram=dram,
    )


def rates(target: Target) -> Rates:
    """Return the rates of the whole processor."""
    if target.arch == "aarch64":
        return _device("Altra Q80-30", 80, 3.0e9, 204.8e9, f64=8, f32=16)
    if not target.has("fma"):
        return _device("Xeon X5690", 6, 3.46e9, 32e9, f64=4, f32=8)
    if not target.has("avx512f"):
        return _device("EPYC 7763", 64, 2.45e9, 204.8e9, f64=16, f32=32)
    if not target.has("amx_tile"):
        fast = _offered(target, avx512_bf16=("bf16", 64), avx512_vnni=("s8", 128))
        return _device("EPYC 9654", 96, 2.4e9, 460.8e9, f64=16, f32=32, **fast)
    fast = _offered(target, amx_bf16=("bf16", 2048), amx_fp16=("f16", 2048), amx_int8=("s8", 4096))
    return _device("Xeon Platinum 8480+", 56, 2.0e9, 307.2e9, f64=32, f32=64, **fast)


def _offered(target: Target, **by_feature: tuple[str, int]) -> dict[str, int]:
    return dict(rate for feature, rate in by_feature.items() if target.has(feature))
