"""kgen tune --device: on lavapipe, and on a CUDA driver that only adds tensors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kgen
from kgen import targets
from kgen.cli.main import main
from kgen.spec import Matmul
from kgen.targets.choose import How, choose
from kgen.targets.tuning.file import read
from kgen.tune import local_cpu, pairing
from tests.drivers import LAVAPIPE
from tests.unit.runtime.drivers.fake_cuda import installed

SHAPE = ("--shape", "16x16x16")
SPEC = Matmul(m=16, n=16, k=16)


def test_a_vulkan_device(tmp_path: Path) -> None:
    """Schedules that differ in one field are measured, and a build uses the fastest."""
    path = tmp_path / "vulkan.toml"
    words = ("tune", "--device", "vulkan", *SHAPE, "--target", "vulkan1.3", "-o", str(path))
    done = LAVAPIPE.python("-m", "kgen", *words, "--json")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert list(kernel["gains"]) == ["warm, all threads"] and kernel["seconds"] > 0
    own = read(path)
    assert own.core == "vulkan1.3"
    found = choose(SPEC, targets.find("vulkan1.3"), own)
    assert found.how is How.MEASURED and found.taken is not None
    assert "llvmpipe" in found.taken.source.machine
    bundle = kgen.build(SPEC, "vulkan1.3", tuning=own)
    assert bundle.manifest.kernels[0].schedule["origin"] == "tuned"


def test_a_cuda_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ranked candidates of the device's target are built, loaded and launched."""
    path = tmp_path / "cuda.toml"
    monkeypatch.setattr(pairing, "ROUNDS", 1)
    monkeypatch.setattr(pairing, "ON_DEVICE", pairing.ON_DEVICE[:1])
    with installed(monkeypatch) as driver:
        driver.capability = (8, 0)
        # Launches have other arguments than the kernel that the fake driver computes.
        monkeypatch.setattr(driver, "do_cuLaunchKernel", lambda *arguments: None)
        assert local_cpu.target_of("cuda:0").name == "sm_80"
        loaded = len(driver.modules)
        words = ["tune", "--device", "cuda:0", "--shape", "64x64x64", "-o", str(path), "--json"]
        assert main(words) == 0
        assert len(driver.modules) - loaded > 10
        assert driver.named("cuLaunchKernel") and not driver.memory
    found = json.loads(capsys.readouterr().out)
    assert (found["target"], found["rows"]) == ("sm_80", 1)
    source = next(iter(read(path).sources.values()))
    assert (source.machine, source.conditions) == ("Fake GPU 100", "warm, all threads")


def test_a_device_of_another_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--device", "cpu", *SHAPE, "--target", "sm_80"]) == 2
    assert capsys.readouterr().err == (
        "kgen tune: target=sm_80: its kernels run on cuda, not on cpu; name a device with --device "
        "cuda\n"
    )
