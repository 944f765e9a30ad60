"""The microarchitecture of this CPU's cores, by the numbers that CPUID gives."""

from __future__ import annotations

from kgen.targets.cpu.limits import AMX_CORE, V3_CORE, V4_CORE
from kgen.targets.cpu.schedule.cores import cores
from kgen_runtime.this_cpu import this_cpu

INTEL, AMD = "GenuineIntel", "AuthenticAMD"


def core_name() -> str:
    """Return the core of this CPU, or its vendor's newest of its instructions if it is not listed.

    A hypervisor may give the number of another model, but no instruction that the core lacks:
    SERIALIZE, which is of no use to a kernel and is never disabled, came with Golden Cove.
    """
    here = this_cpu()
    wide = "avx512f" in here.features
    if here.vendor == INTEL and "serialize" in here.features:
        return AMX_CORE
    for core in cores().values():
        if core.has_model(here.vendor, here.family, here.model):
            return core.name
    if here.vendor == INTEL:
        return AMX_CORE if wide else "Skylake"
    return V4_CORE if wide else V3_CORE
