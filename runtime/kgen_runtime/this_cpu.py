"""CPU of this machine, as libkgen reports it."""

from __future__ import annotations

import ctypes
from functools import cache

from kgen_runtime import libkgen
from kgen_runtime.values import frozen


@frozen
class Cpu:
    """CPU: architecture and features by Linux's names, and vendor, family and model from CPUID.

    A feature is listed if the CPU supports it, the system lets this process use it, and the
    environment does not disable it (:mod:`kgen_runtime.settings`).
    """

    arch: str
    name: str
    vendor: str
    family: int
    model: int
    features: frozenset[str]


class _Facts(ctypes.Structure):
    """kgen_cpu_facts of kgen_backend.h."""

    _fields_ = (
        ("arch", ctypes.c_char * 16),
        ("name", ctypes.c_char * 64),
        ("vendor", ctypes.c_char * 16),
        ("features", ctypes.c_char * 512),
        *((name, ctypes.c_int64) for name in ("family", "model")),
    )


@cache
def this_cpu() -> Cpu:
    """Return this machine's CPU, cached. Raises DeviceError if libkgen cannot be opened."""
    return describe()


def describe() -> Cpu:
    """Return this machine's CPU as libkgen reports it now."""
    found = _Facts()
    libkgen.check(libkgen.library().kgen_cpu_describe(ctypes.byref(found)))
    return Cpu(
        arch=found.arch.decode(),
        name=found.name.decode(errors="replace") or "CPU",
        vendor=found.vendor.decode(errors="replace"),
        family=found.family,
        model=found.model,
        features=frozenset(found.features.decode().split()),
    )


def core_count() -> int:
    """Return the number of CPUs that this process may use now. A child process may have fewer than
    its parent."""
    return int(libkgen.library().kgen_cpu_count())
