"""Peak rates of one well-known GPU per target, for predictions; products are dense.

Sources:

- AMD's data sheets of MI250X (one of its two dies), MI300X, MI355X, RX 6900 XT, RX 7900 XTX and
  RX 9070 XT.
- L2: "AMD CDNA 2 Architecture" and "AMD CDNA 3 Architecture" (white papers). A channel reads 128
  bytes per clock. A die of CDNA 2 has 32 channels; each of the 8 dies of CDNA 3 has 16.
- Infinity Cache: the CDNA 3 white paper.

The caches of MI355X are assumed to equal those of MI300X. The rates of RDNA's L2 are not published.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.targets.base import Target
from kgen.targets.device import Rates
from kgen_runtime.values import frozen

CHANNEL_BYTES = 128


@frozen
class Device:
    """Rates and sizes of a GPU.

    `flops` are per clock and CU, by type. `channels` of L2 are 0 if they are not published. Each of
    the `dies` has an L2, which reads `fabric` bytes per second; 0 if it reads from DRAM directly.
    """

    name: str
    units: int
    clock: float
    dram: float
    channels: int
    flops: Mapping[str, int]
    dies: int = 1
    fabric: float = 0.0

    @property
    def rates(self) -> Rates:
        return Rates(
            device=self.name,
            units=self.units,
            flops={name: count * self.units * self.clock for name, count in self.flops.items()},
            dram=self.dram,
            l2=self.channels * CHANNEL_BYTES * self.clock or None,
        )


def _device(
    name: str,
    units: int,
    clock: float,
    dram: float,
    channels: int = 0,
    dies: int = 1,
    fabric: float = 0.0,
    **flops: int,
) -> Device:
    return Device(
        name=name,
        units=units,
        clock=clock,
        dram=dram,
        channels=channels,
        flops=flops,
        dies=dies,
        fabric=fabric,
    )


DEVICES: Mapping[str, Device] = {
    "gfx90a": _device(
        "MI250X, one die", 110, 1.7e9, 1.638e12, 32, f32=256, f16=1024, bf16=1024, s8=1024
    ),
    "gfx942": _device(
        "MI300X", 304, 2.1e9, 5.3e12, 128, 8, 17.2e12, f32=256, tf32=1024, f16=2048, bf16=2048,
        s8=4096, e4m3fnuz=4096, e5m2fnuz=4096,
    ),
    "gfx950": _device(
        "MI355X", 256, 2.4e9, 8.0e12, 128, 8, 17.2e12, f32=256, f16=4096, bf16=4096, s8=8192,
        e4m3=8192, e5m2=8192,
    ),
    "gfx1030": _device("RX 6900 XT", 80, 2.25e9, 512e9, f32=128, f16=256, s8=512),
    "gfx1100": _device("RX 7900 XTX", 96, 2.5e9, 960e9, f32=256, f16=512, bf16=512, s8=512),
    "gfx1201": _device(
        "RX 9070 XT", 64, 2.97e9, 640e9, f32=256, f16=1024, bf16=1024, s8=2048, e4m3=2048,
        e5m2=2048,
    ),
}  # fmt: skip


def device_of(target: Target) -> Device:
    return DEVICES[target.arch]


def rates(target: Target) -> Rates:
    return device_of(target).rates
