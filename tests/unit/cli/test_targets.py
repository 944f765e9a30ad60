"""Targets on the command line: accepted spellings, and their table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgen.targets import FAMILIES, families
from tests.fake_cpu import FakeCpu
from tests.unit.cli.test_main import build, run


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_code_without_an_emulator_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *build(op="relu", shape="9", target="vulkan1.1", output="x.kgen"))[0] == 0
    status, out, _ = run(capsys, "verify", "x.kgen", "--on", "emulator")
    reason = (
        "vulkan1.1 kernels have no emulator; run this on a machine with a device or driver for them"
    )
    assert status == 1
    assert out.splitlines()[-1] == f"vulkan1.1/relu_9_f16: not executed: {reason}"


@pytest.mark.integration
def test_lists_and_names_in_other_spellings(capsys: pytest.CaptureFixture[str]) -> None:
    """Spaces between targets, and f32 written as float32."""
    fp8 = build(target="sm_89, sm_90a", dtype="f8e4m3", out_dtype="f8e4m3", output="x.kgen")
    status, out, _ = run(capsys, *fp8, "--json")
    assert status == 0
    assert [(k["kernel"], k["target"]) for k in json.loads(out)["kernels"]] == [
        ("matmul_16x16x16_e4m3_nn", "sm_89"),
        ("matmul_16x16x16_e4m3_nn", "sm_90a"),
    ]


def test_targets_are_listed_on_a_cpu_that_is_none_of_them(
    capsys: pytest.CaptureFixture[str], fake_cpu: FakeCpu
) -> None:
    fake_cpu.set("riscv64", ())
    status, out, _ = run(capsys, "targets")
    assert status == 0 and "x86-64-v4+bf16" in out
    assert out.splitlines()[-1].startswith("target=native: this machine is riscv64; kernels are")
    assert "riscv64" in json.loads(run(capsys, "targets", "--json")[1])["native"]["reason"]


def test_the_table_says_what_native_stands_for(
    capsys: pytest.CaptureFixture[str], fake_cpu: FakeCpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cpu.set("x86_64", {"sse2"})
    last = run(capsys, "targets")[1].splitlines()[-1]
    assert last == "native: the CPU of this machine: x86_64 with sse2"
    monkeypatch.setenv("KGEN_NATIVE", "aarch64-neon")
    last = run(capsys, "targets")[1].splitlines()[-1]
    assert last == "native: aarch64-neon ($KGEN_NATIVE): aarch64 with asimd fp"


def test_names_of_targets_begin_as_their_family_says() -> None:
    """A prefix determines the only family that may know a name."""
    for family in families():
        prefixes = FAMILIES[family.name]
        assert all(target.name.startswith(prefixes) for target in family.targets)
        assert all(
            not p.startswith(FAMILIES[f]) for p in prefixes for f in FAMILIES if f != family.name
        )
