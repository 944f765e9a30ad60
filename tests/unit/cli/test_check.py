"""kgen check: entries that would run on a device, and the reason for each other one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kgen
import kgen_runtime
from kgen.cli.main import main
from tests.specs import relu_of

pytestmark = pytest.mark.integration

TARGETS = ["x86-64-v3", "x86-64-v4", "native", "aarch64-neon", "sm_80"]
KEY = "relu_100_f32"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    spec = relu_of((100,), dtype="f32")
    path = tmp_path_factory.mktemp("check") / "x.kgen"
    return str(kgen.build(spec, targets=TARGETS).save(path))


def check(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    status = main(["check", *argv])
    return status, capsys.readouterr().out


def test_it_says_what_the_runtime_takes(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    with kgen_runtime.load(bundle, device="cpu") as kernels:
        taken, skipped = kernels[KEY].entry.target.name, kernels.skipped
    status, out = check(capsys, bundle, "--device", "cpu", "--json")
    found = json.loads(out)
    assert status == 0 and found["runs"]
    assert found["kernels"] == [{"kernel": KEY, "target": taken, "runs": True, "answer": "ok"}]
    assert found["skipped"].keys() == skipped.keys()


def test_the_best_of_a_target_and_why_not_the_others(
    bundle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = check(capsys, bundle, "--arch", "x86-64-v4")
    assert status == 0
    assert f"{KEY}  x86-64-v4    ok\n" in out
    assert f"  x86-64-v3/{KEY}: x86-64-v4 is better for x86-64-v4\n" in out
    assert f"  aarch64-neon/{KEY}: aarch64-neon/{KEY}.so is for aarch64, not for x86_64" in out
    assert "sm_80" not in out, "nobody expects it to run on a CPU"


@pytest.mark.parametrize(
    ("arch", "reason"),
    [
        ("gfx942", "-  no: the bundle has no code for gfx942; build for it too (see kgen targets)"),
        ("sm_75", "sm_80        no: ptx for compute capability 8.0 does not run on 7.5; build for"),
    ],
)
def test_nothing_runs_there(
    arch: str, reason: str, bundle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = check(capsys, bundle, "--arch", arch)
    assert status == 1 and reason in out
    assert "not taken" not in out
    assert not json.loads(check(capsys, bundle, "--arch", arch, "--json")[1])["runs"]


def test_a_damaged_file_is_refused(
    bundle: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Path(bundle).read_bytes()
    broken = tmp_path / "x.kgen"
    broken.write_bytes(data.replace(b".entry", b".entri"))
    assert main(["check", str(broken), "--arch", "sm_90a"]) == 2
    assert "was changed after it was built" in capsys.readouterr().err
