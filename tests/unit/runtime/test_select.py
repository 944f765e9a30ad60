"""Choice of a device and of the best code for every kernel on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import kgen_runtime
from kgen_runtime import select
from kgen_runtime.backend import Backend, DeviceInfo
from kgen_runtime.errors import ArgumentError, BundleError, DeviceError, IntegrityError
from kgen_runtime.manifest import ArtifactEntry
from tests.unit.runtime.fakes import AbsentFake, FakeBackend, HostFake, OpaqueFake, entry, save


class Software(OpaqueFake):
    kind: ClassVar[str] = "software"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, type[Backend]]:
    """Simulate a machine with a CPU and no GPU driver; tests add other backends."""
    here: dict[str, type[Backend]] = {"cuda": AbsentFake, "hip": AbsentFake, "cpu": HostFake}
    here["vulkan"] = Software

    def backend_class(name: str) -> type[Backend]:
        return here[name]

    monkeypatch.setattr(select, "BACKENDS", ("cuda", "hip", "vulkan", "cpu"))
    monkeypatch.setattr(select, "backend_class", backend_class)
    return here


def test_registry() -> None:
    for name in select.BACKENDS:
        cls = select.backend_class(name)
        assert cls.name == name and issubclass(cls, Backend)
    with pytest.raises(ArgumentError, match=r"device=tpu is unknown; known are cuda, hip, vulkan"):
        select.backend_class("tpu")


@pytest.mark.integration
def test_devices_of_this_machine() -> None:
    found = kgen_runtime.devices()
    named = {info.backend for info in found}
    assert {"cpu", "reference"} <= named
    assert named | set(found.unavailable) == set(select.BACKENDS)
    assert not named & set(found.unavailable)
    for reason in found.unavailable.values():
        assert reason and "\n" not in reason


def test_devices_say_why_not(machine: dict[str, type[Backend]]) -> None:
    found = select.devices()
    assert [info.id for info in found] == ["vulkan:0", "cpu:0"]
    assert found.unavailable == {"cuda": "no driver here", "hip": "no driver here"}


def test_automatic_never_takes_software(machine: dict[str, type[Backend]]) -> None:
    assert select.select([entry()]).backend.info.id == "cpu:0"
    machine["vulkan"] = OpaqueFake
    assert select.select([entry()]).backend.info.id == "vulkan:0"


def test_named_device(machine: dict[str, type[Backend]]) -> None:
    assert select.select([entry()], device="vulkan").backend.info.id == "vulkan:0"
    assert select.select([entry()], device="cpu:0").backend.info.id == "cpu:0"
    with pytest.raises(DeviceError, match=r"device=cpu:1 does not exist; this machine has cpu:0"):
        select.select([entry()], device="cpu:1")
    with pytest.raises(ArgumentError, match=r"device=cpu:x: x is not a number; write cpu:0"):
        select.select([entry()], device="cpu:x")
    index: Any = 0
    with pytest.raises(ArgumentError, match=r"device=0 is not a device id; give one such as"):
        select.select([entry()], device=index)
    with pytest.raises(DeviceError, match="no driver here"):
        select.select([entry()], device="cuda")


def test_without_a_number_the_device_that_runs_most(machine: dict[str, type[Backend]]) -> None:
    """Software drivers come last unless they run more; a device number is obeyed."""

    class Three(OpaqueFake):
        @classmethod
        def devices(cls) -> tuple[DeviceInfo, ...]:
            kinds: tuple[tuple[str, list[str]], ...] = (
                ("gpu", []),
                ("software", ["f"]),
                ("gpu", ["f"]),
            )
            return tuple(
                DeviceInfo(backend="vulkan", index=i, name="", kind=kind, capabilities={"has": has})
                for i, (kind, has) in enumerate(kinds)
            )

        def __init__(self, index: int = 0) -> None:
            super().__init__(index)
            self.info = self.devices()[index]

        @staticmethod
        def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
            missing = set(artifact.requires.get("features", ())) - {*capabilities.get("has", ())}
            return f"it needs {missing}" if missing else None

    machine["vulkan"] = Three
    needs_f = entry()
    needs_f = dataclasses.replace(
        needs_f,
        artifacts=tuple(
            dataclasses.replace(a, requires={"features": ["f"]}) for a in needs_f.artifacts
        ),
    )
    assert select.select([needs_f], device="vulkan").backend.info.index == 2
    assert select.select([entry()], device="vulkan").backend.info.index == 0
    assert select.open_device("vulkan").info.index == 0
    with pytest.raises(DeviceError, match=r"vulkan:0 runs no kernel of this bundle: it needs"):
        select.select([needs_f], device="vulkan:0")


def test_num_threads_is_for_the_cpu(machine: dict[str, type[Backend]]) -> None:
    with pytest.raises(
        ArgumentError, match=r"num_threads=2 applies to the CPU only; leave it out for vulkan"
    ):
        select.open_device("vulkan", num_threads=2)
    with pytest.raises(ArgumentError, match=r"num_threads=0 is out of range; give 1 to 1024"):
        select.open_device("cpu", num_threads=0)


def test_a_device_that_runs_everything_comes_first(machine: dict[str, type[Backend]]) -> None:
    opened: list[FakeBackend] = []

    class Gpu(OpaqueFake):
        formats: ClassVar[tuple[str, ...]] = ("spirv",)

        def __init__(self, index: int = 0) -> None:
            super().__init__(index)
            opened.append(self)

    machine["vulkan"] = Gpu
    one = entry(format="spirv", target="vulkan1")
    both = [one, entry(), entry(key="second")]
    found = select.select(both)
    assert found.backend.info.id == "cpu:0" and len(found.choices) == 2
    assert opened[0].closed
    assert select.select([one, entry()]).backend.info.id == "vulkan:0"
    # With nothing better, a device that runs a part will do.
    assert len(select.select([one, entry(key="second", format="ptx")]).choices) == 1


def test_nothing_runs_it(machine: dict[str, type[Backend]]) -> None:
    with pytest.raises(DeviceError) as error:
        select.select([entry(requires={"features": ["z"]})])
    assert str(error.value) == (
        "no device here runs a kernel of this bundle (cuda: no driver here; hip: no driver here; "
        "vulkan: only a software device exists; name it to use it; cpu: needs z); "
        "build it for a target of this machine, such as native"
    )
    with pytest.raises(DeviceError, match=r"cpu runs no kernel of this bundle: needs z"):
        select.select([entry(requires={"features": ["z"]})], device="cpu")


def test_no_driver_is_looked_for_without_code_for_it(
    machine: dict[str, type[Backend]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine["cuda"], "devices", lambda: pytest.fail("looked for"))
    monkeypatch.setattr(machine["cuda"], "formats", ("ptx",))
    assert select.select([entry()]).backend.info.id == "cpu:0"
    with pytest.raises(DeviceError, match="cuda: the bundle has no ptx; "):
        select.select([entry(format="spirv")])


def test_the_best_entry_for_this_device(machine: dict[str, type[Backend]]) -> None:
    entries = [
        entry(target="plain"),
        entry(target="best", requires={"features": ["x", "y"]}),
        entry(target="too-new", requires={"features": ["x", "y", "z"]}),
        entry(target="good", requires={"features": ["x"]}),
        entry(target="translated", format="slow-fake", requires={"features": ["x", "y"]}),
    ]
    found = select.select(entries)
    assert [choice.entry.target.name for choice in found.choices] == ["best"]
    assert found.skipped == {
        "plain/add_kernel": "best is better for cpu:0",
        "too-new/add_kernel": "needs z",
        "good/add_kernel": "best is better for cpu:0",
        "translated/add_kernel": "best is better for cpu:0",
    }


def test_the_best_artifact_of_an_entry(machine: dict[str, type[Backend]]) -> None:
    """Machine code is preferred to code that a driver must compile, in any order."""
    code, portable = entry(), entry(format="slow-fake")
    for artifacts in (
        (*code.artifacts, *portable.artifacts),
        (*portable.artifacts, *code.artifacts),
    ):
        (choice,) = select.select([dataclasses.replace(code, artifacts=artifacts)]).choices
        assert [artifact.format for artifact in choice.code.values()] == ["fake"]


def test_a_tie_goes_to_the_earlier_entry(machine: dict[str, type[Backend]]) -> None:
    found = select.select([entry(target="first"), entry(target="second")])
    assert [choice.entry.target.name for choice in found.choices] == ["first"]
    assert found.skipped == {"second/add_kernel": "first is as good for cpu:0 and precedes it"}


def test_several_devices_of_one_driver(machine: dict[str, type[Backend]]) -> None:
    class Two(OpaqueFake):
        @classmethod
        def devices(cls) -> tuple[DeviceInfo, ...]:
            return tuple(
                DeviceInfo(
                    backend=cls.name, index=i, name="", kind="gpu", capabilities={"age": age}
                )
                for i, age in enumerate((9, 1))
            )

        @staticmethod
        def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
            return "too old" if capabilities["age"] > 5 else None

    machine["vulkan"] = Two
    assert select.select([entry()]).backend.info.id == "vulkan:1"
    with pytest.raises(DeviceError, match=r"vulkan:0 runs no kernel of this bundle: too old"):
        select.select([entry()], device="vulkan:0")


def test_load(machine: dict[str, type[Backend]], tmp_path: Path) -> None:
    path = save(tmp_path / "a.kgen", entry(), entry(key="ptx", format="other"))
    with kgen_runtime.load(path) as loaded:
        kernels: Any = loaded  # "add" is no operation of kgen's
        x = np.ones((3, 5), np.float32)
        np.testing.assert_array_equal(kernels.add(x, x), x + x)
        assert kernels.device.id == "cpu:0"
        assert kernels.skipped == {"fake1/ptx": "the bundle has no code for the cpu backend"}


def test_load_checks_digests_first(machine: dict[str, type[Backend]], tmp_path: Path) -> None:
    path = save(tmp_path / "a.kgen", entry())
    path.write_bytes(path.read_bytes().replace(b"machine code", b"machine c0de"))
    with pytest.raises((IntegrityError, BundleError)):
        kgen_runtime.load(path)
    with pytest.raises(BundleError, match=r"none\.kgen: cannot read"):
        kgen_runtime.load(tmp_path / "none.kgen")
