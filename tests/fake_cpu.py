"""A CPU of the test's choice in place of this machine's."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

import pytest

from kgen.targets.cpu import host
from kgen_runtime import cpu_features, settings


class FakeCpu:
    """A machine whose kernel lists what `set` and `cache` say, and nothing of the real one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._patch = monkeypatch
        self.cpuinfo, self.caches = folder / "cpuinfo", folder / "caches"
        self.caches.mkdir()
        for name in (settings.NATIVE, settings.DISABLED_CPU_FEATURES):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(cpu_features, "CPUINFO", self.cpuinfo)
        monkeypatch.setattr(host, "CACHE", self.caches)
        self.allow_tiles()
        forget()

    def set(
        self, arch: str, features: Iterable[str], identity: tuple[str, int, int] = ("", 0, 0)
    ) -> None:
        """`identity`: vendor, family and model, as CPUID tells them."""
        self._patch.setattr(platform, "machine", lambda: arch)
        vendor, family, model = identity
        self.write(
            f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t: {model}\n"
            f"flags\t: {' '.join(features)}\n"
        )

    def write(self, cpuinfo: str) -> None:
        self.cpuinfo.write_text(cpuinfo)
        forget()

    def allow_tiles(self, allowed: bool = True, cpuid: int = 0) -> None:
        """Whether Linux gives AMX tile state to this process; what CPUID answers."""
        self._patch.setattr(cpu_features, "may_use_tiles", lambda: allowed)
        self._patch.setattr(cpu_features, "cpuid_eax", lambda *_: cpuid)
        forget()

    def cache(self, index: int, kind: str, level: int, size: str) -> None:
        folder = self.caches / f"index{index}"
        folder.mkdir()
        for name, value in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{value}\n")


def forget() -> None:
    """Make the next question about the CPU read its files again."""
    cpu_features.cpu_features.cache_clear()
    cpu_features.cpu_name.cache_clear()
    cpu_features.cpu_identity.cache_clear()
