"""The AMD targets: one row each, and the limits of launches that plans ask for.

Sources: :mod:`kgen_runtime.launch_limits`; AMD's ISA manuals (CDNA2 for gfx90a, CDNA3 for gfx942,
CDNA4 for gfx950, RDNA2 for gfx1030, RDNA3 for gfx1100, RDNA4 for gfx1201) and LLVM's AMDGPUUsage.

Features:

  - ``mfma``: V_MFMA_F32_32X32X8 and 16X16X16 on f16; ``mfma-bf16-1k`` the same shapes on bf16.
  - ``mfma-double-k``: V_MFMA_F32_32X32X16 and 16X16X32 on f16 and bf16 (CDNA4).
  - ``packed-bf16``: V_CVT_PK_BF16_F32 (CDNA4).
  - ``global-load-lds-16``: GLOBAL_LOAD_LDS_DWORDX4; ``ds-read-tr16``: DS_READ_B64_TR_B16 (CDNA4).
  - ``mfma-i8-words``: 32X32X8 and 16X16X16 on s8, with operands of four (CDNA2); ``mfma-8bit``:
    32X32X16 and 16X16X32 on s8, with operands of eight (CDNA3, CDNA4); ``mfma-double-k`` adds
    operands of 16.
  - ``mfma-f8f6f4``: V_MFMA_F32_32X32X64_F8F6F4 and 16X16X128 on e4m3 and e5m2 (CDNA4);
    ``mfma-fnuz``: 32X32X16 and 16X16X32 on e4m3fnuz and e5m2fnuz (CDNA3).
  - ``mfma`` also has 32X32X2 and 16X16X4 on f32; ``mfma-xf32``: 32X32X4 and 16X16X8 on f32 rounded
    to 11 bits (CDNA3 alone).
  - ``dot2-f16``, ``dot4-i8``: V_DOT2_F32_F16 and V_DOT4_I32_I8, if they are the fastest products.
  - ``wmma-gfx11``, ``wmma-gfx12``: V_WMMA_F32_16X16X16 on f16 and bf16, V_WMMA_I32_16X16X16 on s8;
    gfx12 also on e4m3 and e5m2. The two generations distribute fragments over lanes differently.
  - ``global-load-tr-16``: GLOBAL_LOAD_TR_B128; ``split-barriers``: S_BARRIER_SIGNAL separate from
    S_BARRIER_WAIT (RDNA4).
  - ``preloaded-arguments``: kernel arguments are in scalar registers when a kernel starts. LLVM
    adds a prologue that loads them if the firmware does not.
  - ``real-true16``: LLVM allocates the halves of registers separately (gfx11).
"""

from __future__ import annotations

from kgen.targets.base import Target
from kgen_runtime.launch_limits import amdgpu_limits

#: Fourth word of a buffer's resource, by the lanes of a wave: raw 32-bit data; on RDNA also the
#: resource level, which gfx10 requires, and the range check of raw buffers (OOB_SELECT 3). Source:
#: the ISA manuals, "Buffer Resource Descriptor"; MLIR's `amdgpu.fat_raw_buffer_cast` is the same.
BUFFER_FLAGS = {64: 0x27000, 32: 0x31027000}


def _target(
    name: str, *, compute_units: int, lds_banks: int = 32, load_offset: int, features: str
) -> Target:
    launch = amdgpu_limits(name)
    assert launch.registers is not None
    return Target(
        name=name,
        family="amdgpu",
        arch=name,
        subgroup=launch.registers.lanes,
        features=frozenset(features.split()),
        limits={
            "threads": launch.workgroup,
            "shared_memory": launch.shared_memory,
            "lds_banks": lds_banks,
            "load_offset": load_offset,
            "buffer_flags": BUFFER_FLAGS[launch.registers.lanes],
            "registers": launch.registers.per_thread,
            "compute_units": compute_units,
            "grid_threads": launch.grid_threads,
            "grid_y": launch.grid[1],
            "grid_z": launch.grid[2],
        },
    )


#: Limits of the targets.
#:
#: - `registers`: per lane, VGPRs and on CDNA the AccVGPRs of the same unified file.
#: - `load_offset`: largest immediate offset of a global load, in bytes.
#: - `buffer_flags`: fourth word of a buffer's resource.
#: - `compute_units`: those of the largest product (MI250X per die, MI300X, MI355X, RX 6900 XT,
#:   RX 7900 XTX, RX 9070 XT). Only the choice of a schedule depends on them.
TARGETS = (
    _target(
        "gfx90a",
        compute_units=110,
        load_offset=2**12 - 1,
        features="preloaded-arguments mfma mfma-bf16-1k mfma-i8-words",
    ),
    _target(
        "gfx942",
        compute_units=304,
        load_offset=2**12 - 1,
        features="preloaded-arguments mfma mfma-bf16-1k mfma-8bit mfma-fnuz mfma-xf32",
    ),
    _target(
        "gfx950",
        compute_units=256,
        lds_banks=64,
        load_offset=2**12 - 1,
        features="preloaded-arguments mfma mfma-bf16-1k mfma-double-k mfma-8bit mfma-f8f6f4 "
        "global-load-lds-16 ds-read-tr16 packed-bf16",
    ),
    _target("gfx1030", compute_units=80, load_offset=2**11 - 1, features="dot2-f16 dot4-i8"),
    _target("gfx1100", compute_units=96, load_offset=2**12 - 1, features="wmma-gfx11 real-true16"),
    _target(
        "gfx1201",
        compute_units=64,
        load_offset=2**23 - 1,
        features="wmma-gfx12 global-load-tr-16 split-barriers",
    ),
)
