"""The microarchitecture of this CPU's cores, by the numbers that CPUID gives.

Sources: Intel SDM volume 4, table 2-1 ("CPUID signature values of DisplayFamily_DisplayModel");
AMD's revision guides and processor programming references, by ranges of models.
"""

from __future__ import annotations

from collections.abc import Collection

from kgen.targets.cpu.limits import AMX_CORE, V3_CORE, V4_CORE
from kgen_runtime.cpu_features import cpu_features, cpu_identity

INTEL, AMD = "GenuineIntel", "AuthenticAMD"
#: Models of Intel's family 6. Hybrid processors are listed by their fast cores.
INTEL_MODELS: dict[str, Collection[int]] = {
    "Haswell": (0x3C, 0x3D, 0x3F, 0x45, 0x46, 0x47, 0x4F, 0x56),
    "Skylake": (0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6),
    "Skylake-SP": (0x55,),
    "Sunny Cove": (0x6A, 0x6C, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7),
    "Golden Cove": (0x8F, 0x97, 0x9A, 0xAD, 0xAE, 0xB7, 0xBA, 0xBF, 0xCF),
}
#: Models of AMD's families. Zen 5 in laptops does multiply-adds of 64 bytes as Zen 4 does.
AMD_MODELS: dict[int, dict[str, Collection[int]]] = {
    0x17: {"Zen": range(0x30), "Zen 2": range(0x30, 0x100)},
    0x19: {
        "Zen 3": (*range(0x10), *range(0x20, 0x60)),
        "Zen 4": (*range(0x10, 0x20), *range(0x60, 0x100)),
    },
    0x1A: {
        "Zen 5": (*range(0x20), *range(0x40, 0x60)),
        "Zen 4": (*range(0x20, 0x40), *range(0x60, 0x100)),
    },
}


def core_name() -> str:
    """Of this CPU; one that is not listed is taken for its vendor's newest of its instructions.

    A hypervisor may give the number of another model, but no instruction that the core lacks:
    SERIALIZE, which is of no use to a kernel and is never disabled, came with Golden Cove.
    """
    vendor, family, model = cpu_identity()
    features = cpu_features()
    wide = "avx512f" in features
    if vendor == INTEL:
        if "serialize" in features:
            return AMX_CORE
        return _listed(INTEL_MODELS, model) or (AMX_CORE if wide else "Skylake")
    if vendor == AMD:
        newest = V4_CORE if wide else V3_CORE
        return _listed(AMD_MODELS.get(family, {}), model) or newest
    return V4_CORE if wide else V3_CORE


def _listed(models: dict[str, Collection[int]], model: int) -> str | None:
    return next((name for name, found in models.items() if model in found), None)
