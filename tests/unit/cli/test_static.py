"""`kgen inspect --static`: figures of every kernel, as text and as JSON."""

from __future__ import annotations

import json
import re

import pytest

from kgen.cli.main import main

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def bundle(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    targets = "sm_80,gfx942,x86-64-v3,vulkan1.3"
    argv = ["build", "--shape", "256x256x512", "--target", targets, "-o", "b.kgen", "--json"]
    assert main(argv) == 0


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    capsys.readouterr()
    assert main(["inspect", "b.kgen", "--static", *argv]) == 0
    return capsys.readouterr().out


def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys)
    cuda, amd, cpu, vulkan = out.strip().split("\n\n")
    for words in ("bytes spilled", "HMMA", "per SM", "limited by", "A100", "FLOP/byte", "floor"):
        assert words in cuda, words
    assert re.search(r"prediction +[\d.]+ us at best, \d+ % of the roofline; limited by \w+", cuda)
    for words in ("scalar ones per wave", "v_mfma", "waves per SIMD", "MI300X", "not measured"):
        assert words in amd, words
    assert "no spills in the loop" in cpu and "one Zen 3 core" in cpu
    assert "prediction     none: no emulator counts" in cpu
    assert "spills in the loop" not in vulkan and "the driver compiles it again" in vulkan
    assert (
        "multiply-adds" in vulkan
        and "prediction     none: no rates are known for a device of vulkan1.3" in vulkan
    )


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = json.loads(printed(capsys, "--json"))["kernels"]
    assert [kernel["kernel"].partition("/")[0] for kernel in kernels] == [
        "sm_80", "gfx942", "x86-64-v3", "vulkan1.3",
    ]  # fmt: skip
    for kernel in kernels:
        assert kernel["hot_loop"]["work"] > 0 and kernel["metrics"]["hot_loop_spills"] == 0
        assert sum(kernel["opcodes"].values()) >= kernel["hot_loop"]["instructions"]
    cuda, amd, cpu, vulkan = kernels
    for gpu in (cuda, amd):
        assert gpu["occupancy"]["warps"] == gpu["metrics"]["occupancy"]
        assert gpu["prediction"]["seconds"] == max(gpu["prediction"]["terms"].values())
        assert gpu["prediction"]["fraction"] <= 1 and gpu["roofline"]["binds"] == "memory"
    assert cpu["roofline"]["floor"] > 0 and cpu["prediction"] is None
    assert vulkan["roofline"] is None and "no rates are known" in vulkan["reason"]
