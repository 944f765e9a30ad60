"""The AMD targets: one row each, with what its hardware has and the source of every number.

Sources: AMD's ISA manuals (CDNA2 for gfx90a, CDNA3 for gfx942, CDNA4 for gfx950, RDNA2 for gfx1030,
RDNA3 for gfx1100, RDNA4 for gfx1201) and LLVM's AMDGPUUsage.

Features:

- ``mfma``: V_MFMA_F32_32X32X8 and 16X16X16 on f16; ``mfma-bf16-1k`` the same shapes on bf16.
- ``mfma-double-k``: V_MFMA_F32_32X32X16 and 16X16X32 on f16 and bf16 (CDNA4).
- ``wmma-gfx11``, ``wmma-gfx12``: V_WMMA_F32_16X16X16 on f16 and bf16. The two generations spread a
  fragment over the lanes in different ways.
"""

from __future__ import annotations

from kgen.targets.base import Target

#: A dimension of the grid, counted in threads, is a 32-bit number in the dispatch packet (HSA
#: Platform System Architecture, "Kernel dispatch packet").
MAX_GRID_THREADS = 2**32 - 1
#: What HIP allows for the second and third dimension of the grid, in workgroups.
MAX_GRID_YZ = 65535
#: Threads of a workgroup: the limit of the amdgpu-flat-work-group-size attribute.
MAX_THREADS = 1024

KIB = 1024


def _target(
    name: str,
    *,
    subgroup: int,
    compute_units: int,
    registers: int,
    lds: int,
    lds_banks: int = 32,
    features: str,
) -> Target:
    return Target(
        name=name,
        family="amdgpu",
        arch=name,
        subgroup=subgroup,
        features=frozenset(features.split()),
        limits={
            "threads": MAX_THREADS,
            "shared_memory": lds,
            "lds_banks": lds_banks,
            "registers": registers,
            "compute_units": compute_units,
        },
    )


#: `registers` are those of one lane: VGPRs, and on CDNA AccVGPRs of the same unified file.
#: `compute_units` are those of the largest product (MI250X per die, MI300X, MI355X, RX 6900 XT,
#: RX 7900 XTX, RX 9070 XT); only the choice of a schedule looks at them.
TARGETS = (
    _target(
        "gfx90a",
        subgroup=64,
        compute_units=110,
        registers=512,
        lds=64 * KIB,
        features="mfma mfma-bf16-1k",
    ),
    _target(
        "gfx942",
        subgroup=64,
        compute_units=304,
        registers=512,
        lds=64 * KIB,
        features="mfma mfma-bf16-1k",
    ),
    _target(
        "gfx950",
        subgroup=64,
        compute_units=256,
        registers=512,
        lds=160 * KIB,
        lds_banks=64,
        features="mfma mfma-bf16-1k mfma-double-k",
    ),
    _target(
        "gfx1030",
        subgroup=32,
        compute_units=80,
        registers=256,
        lds=64 * KIB,
        features="",
    ),
    _target(
        "gfx1100",
        subgroup=32,
        compute_units=96,
        registers=256,
        lds=64 * KIB,
        features="wmma-gfx11",
    ),
    _target(
        "gfx1201",
        subgroup=32,
        compute_units=64,
        registers=256,
        lds=64 * KIB,
        features="wmma-gfx12",
    ),
)
