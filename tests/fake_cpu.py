"""CPU of the test's choice in place of this machine's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from kgen.targets.cpu import host
from kgen_runtime import settings, this_cpu
from kgen_runtime.errors import DeviceError


class FakeCpu:
    """Machine with the features of `set`, as libkgen reports them, and the caches of `cache`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._patch = monkeypatch
        self.caches = folder / "caches"
        self.caches.mkdir()
        for name in (settings.NATIVE, settings.DISABLED_CPU_FEATURES):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(host, "CACHE", self.caches)
        self.set("x86_64", ())

    def set(
        self, arch: str, features: Iterable[str], identity: tuple[str, int, int] = ("", 0, 0)
    ) -> None:
        """Set features; `identity` is CPUID's vendor, family and model."""
        vendor, family, model = identity
        found = this_cpu.Cpu(
            arch=arch,
            name="CPU",
            vendor=vendor,
            family=family,
            model=model,
            features=frozenset(features),
        )
        self._patch.setattr(this_cpu, "describe", lambda: found)
        forget()

    def lose_libkgen(self) -> None:
        """Make every query of the CPU fail, as on a machine without libkgen."""

        def describe() -> this_cpu.Cpu:
            raise DeviceError("libkgen cannot be opened")

        self._patch.setattr(this_cpu, "describe", describe)
        forget()

    def cache(self, index: int, kind: str, level: int, size: str) -> None:
        folder = self.caches / f"index{index}"
        folder.mkdir()
        for name, value in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{value}\n")


def forget() -> None:
    """Make kgen detect the CPU again."""
    this_cpu.this_cpu.cache_clear()
