"""Rates and sizes of one well-known GPU per target, for the cost model. Only speed depends on them.

Sources: NVIDIA's architecture white papers (T4, A100, GA102, Ada, H100, RTX Blackwell) for SMs,
clocks, tensor-core and DRAM rates and the A100's L2 bandwidth; CUDA C++ Programming Guide 12.9,
"Technical Specifications per Compute Capability", for what an SM holds. The L2 bandwidths of the
others are not published; they are scaled from the A100's 47 bytes per clock and SM, less where the
white paper says that the L2 is narrower.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.targets.base import Target
from kgen.targets.device import Rates
from kgen_runtime.values import frozen

KIB, MIB = 1024, 1024 * 1024
#: Partitions of an SM, each with a scheduler and a tensor core.
PARTITIONS = 4
#: Bytes that an SM's shared memory moves in a clock.
SHARED_BYTES_PER_CLOCK = 128
#: Most bytes that an SM reads from L2 per clock.
L2_BYTES_PER_SM_CLOCK = 64
#: Clocks from a load to its data when these come from DRAM. An idle A100 takes about 570
#: (Abdelkhalik et al., "Demystifying the Nvidia Ampere Architecture ...", HPEC 2022), a busy GPU
#: takes more.
MEMORY_LATENCY = 900


@frozen
class Device:
    """Rates are per clock: multiply-adds per SM (`f16_fmas` on mma.sync with f32 sums, `wgmma_fmas`
    on wgmma where there is one), bytes for the whole GPU. `threads`, `blocks` and `shared` are what
    one SM holds; the system takes `reserved_shared` bytes for each CTA."""

    name: str
    sms: int
    clock: float
    f16_fmas: int
    f32_fmas: int
    dram_bandwidth: float
    l2_bytes: int
    l2_per_clock: int
    threads: int
    blocks: int
    shared: int
    wgmma_fmas: int = 0
    reserved_shared: int = 1024

    @property
    def dram_per_clock(self) -> float:
        return self.dram_bandwidth / self.clock


DEVICES: Mapping[str, Device] = {
    "sm_75": Device(
        name="T4", sms=40, clock=1.59e9, f16_fmas=512, f32_fmas=64, dram_bandwidth=320e9,
        l2_bytes=4 * MIB, l2_per_clock=1280, threads=1024, blocks=16, shared=64 * KIB,
        reserved_shared=0,
    ),
    "sm_80": Device(
        name="A100", sms=108, clock=1.41e9, f16_fmas=1024, f32_fmas=64, dram_bandwidth=1555e9,
        l2_bytes=40 * MIB, l2_per_clock=5120, threads=2048, blocks=32, shared=164 * KIB,
    ),
    "sm_86": Device(
        name="A40", sms=84, clock=1.74e9, f16_fmas=512, f32_fmas=128, dram_bandwidth=696e9,
        l2_bytes=6 * MIB, l2_per_clock=2048, threads=1536, blocks=16, shared=100 * KIB,
    ),
    "sm_89": Device(
        name="L40S", sms=142, clock=2.52e9, f16_fmas=512, f32_fmas=128, dram_bandwidth=864e9,
        l2_bytes=96 * MIB, l2_per_clock=4096, threads=1536, blocks=24, shared=100 * KIB,
    ),
    "sm_90a": Device(
        # Rate of mma.sync, which is below wgmma's: Luo et al., "Benchmarking and Dissecting the
        # Nvidia Hopper GPU Architecture via Microbenchmarking", 2024.
        name="H100", sms=132, clock=1.83e9, f16_fmas=1280, f32_fmas=128, dram_bandwidth=3350e9,
        l2_bytes=50 * MIB, l2_per_clock=5632, threads=2048, blocks=32, shared=228 * KIB,
        wgmma_fmas=2048,
    ),
    "sm_120": Device(
        name="RTX PRO 6000", sms=188, clock=2.6e9, f16_fmas=512, f32_fmas=128,
        dram_bandwidth=1792e9, l2_bytes=128 * MIB, l2_per_clock=6144, threads=1536, blocks=24,
        shared=100 * KIB,
    ),
}  # fmt: skip


def device_of(target: Target) -> Device:
    return DEVICES[target.name]


def rates(target: Target) -> Rates:
    """Return the device's peak rates. 8-bit products run at twice the rate of f16, and tf32 at half
    of it (the white papers named above)."""
    device = device_of(target)
    each = 2 * device.sms * device.clock
    f16 = max(device.f16_fmas, device.wgmma_fmas)
    fmas = {"f32": device.f32_fmas, "f16": f16, "s8": 2 * f16}
    if target.has("bf16_mma"):
        fmas["bf16"] = f16
    if target.has("tf32_mma"):
        fmas["tf32"] = f16 // 2
    if target.has("fp8_mma"):
        fmas |= {"e4m3": 2 * f16, "e5m2": 2 * f16}
    return Rates(
        device=device.name,
        units=device.sms,
        flops={name: count * each for name, count in fmas.items()},
        dram=device.dram_bandwidth,
        l2=device.l2_per_clock * device.clock,
        issues=PARTITIONS * device.sms * device.clock,
        latency=MEMORY_LATENCY / device.clock,
        reach={"HMMA": device.f16_fmas / f16},
    )
