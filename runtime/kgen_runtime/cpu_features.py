"""What this CPU can do, in the kernel's words (/proc/cpuinfo)."""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from itertools import takewhile

from kgen_runtime import settings

CPUINFO = "/proc/cpuinfo"

#: arch_prctl(2): the state components that a process may ask for (Linux,
#: Documentation/arch/x86/xstate.rst).
SYS_ARCH_PRCTL = 158
ARCH_GET_XCOMP_SUPP = 0x1021
XFEATURE_XTILEDATA = 18
#: CPUID leaf 7, subleaf 1, EAX (Intel SDM, volume 2, CPUID).
AMX_FP16_BIT = 21
#: u32 f(u32 leaf, u32 subleaf): EAX of CPUID. push rbx; mov eax, edi; mov ecx, esi; cpuid; pop rbx;
#: ret.
CPUID_EAX = bytes.fromhex("53 89f8 89f1 0fa2 5b c3")


@cache
def cpu_features() -> frozenset[str]:
    """The flags (x86) or features (Arm) of the first CPU; empty where the kernel does not say.

    Linux leaves out what it does not enable: a CPU with AVX-512 whose state the kernel does not
    save has no avx512f here, so a listed feature can be used. Of AMX, whose state a process must
    ask for, nothing is here if it would be refused; amx_fp16, which Linux never lists, the CPU is
    asked for. What the environment disables (:mod:`kgen_runtime.settings`) is left out too.
    """
    for key, value in _first_cpu():
        if key in ("flags", "Features"):
            return settings.enabled(_with_tiles(frozenset(value.split())))
    return frozenset()


def _with_tiles(listed: frozenset[str]) -> frozenset[str]:
    if "amx_tile" not in listed:
        return listed
    if not may_use_tiles():
        return frozenset(name for name in listed if not name.startswith("amx_"))
    return listed | {"amx_fp16"} if cpuid_eax(7, 1) >> AMX_FP16_BIT & 1 else listed


def may_use_tiles() -> bool:
    """Whether Linux gives AMX tile state to a process that asks for it; nothing is asked for yet.

    It does not in a container that allows no arch_prctl.
    """
    supported = ctypes.c_uint64()
    libc = ctypes.CDLL(None)
    failed = libc.syscall(SYS_ARCH_PRCTL, ARCH_GET_XCOMP_SUPP, ctypes.byref(supported))
    return not failed and bool(supported.value >> XFEATURE_XTILEDATA & 1)


def cpuid_eax(leaf: int, subleaf: int) -> int:
    """EAX of the CPUID instruction, 0 where this process may not run code that it brings; x86-64
    only."""
    import numpy as np

    file = os.memfd_create("kgen-cpuid", os.MFD_CLOEXEC)
    try:
        os.write(file, CPUID_EAX)
        code = mmap.mmap(
            file, len(CPUID_EAX), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC
        )
    except OSError:
        return 0
    finally:
        os.close(file)
    address = np.frombuffer(code, np.uint8).ctypes.data
    function = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)(address)
    return int(function(leaf, subleaf))


@cache
def cpu_name() -> str:
    """The model name, as far as the kernel tells."""
    for key, value in _first_cpu():
        if key in ("model name", "Model"):
            return value
    return "CPU"


@cache
def cpu_identity() -> tuple[str, int, int]:
    """Vendor, family and model of an x86-64 CPU, as CPUID tells them; no vendor elsewhere."""
    found = dict(_first_cpu())
    try:
        return found["vendor_id"], int(found["cpu family"]), int(found["model"])
    except (KeyError, ValueError):
        return "", 0, 0


def _first_cpu() -> list[tuple[str, str]]:
    try:
        with open(CPUINFO) as file:  # noqa: PTH123 (pathlib takes milliseconds to import)
            # No further: of each CPU there is a paragraph, and the system takes its time for each.
            lines = list(takewhile(str.strip, file))
    except OSError:
        return []
    pairs = (line.partition(":") for line in lines)
    return [(key.strip(), value.strip()) for key, _, value in pairs]
