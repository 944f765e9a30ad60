"""Both runtimes choose the same code for the CPU of this machine, with all and with disabled
features."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kgen
import kgen_runtime
from tests.device.cpu.c_runtime.compiled import Driver
from tests.specs import relu_of


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of kernels for every CPU and for GPUs, and of a program."""
    names = ["sm_80", "x86-64", "x86-64-v3", "x86-64-v4", "x86-64-amx", "aarch64-neon", "native"]
    spec = kgen.Matmul(m=8, n=24, k=20, dtype="f32", epilogue=("bias", "relu"))
    path = tmp_path_factory.mktemp("several") / "several.kgen"
    kgen.build([spec, relu_of((9,), dtype="f32")], names).save(path)
    return path


def by_python(path: Path) -> tuple[list[str], set[str]]:
    with kgen_runtime.load(path, device="cpu") as kernels:
        chosen = [f"kernel {k.entry.target.name} {k.key}" for k in kernels.values()]
        return chosen, {f"skipped {name}: {why}" for name, why in kernels.skipped.items()}


@pytest.mark.parametrize(
    "disabled", ["", "avx512*, amx*", "avx*,amx_* fma", "f16c", "amx_tile avx512_bf16"]
)
def test_the_same_choice_as_python(
    sanitized: Driver, several: Path, disabled: str, tmp_path: Path
) -> None:
    """C and Python choose the same code for every kernel, and give the same reasons against all
    others."""
    code = (
        "import sys, json; from pathlib import Path\n"
        "from tests.device.cpu.native.test_choice import by_python\n"
        "chosen, skipped = by_python(Path(sys.argv[1]))\n"
        "print(json.dumps([chosen, sorted(skipped)]))"
    )
    environment = {"KGEN_DISABLE_CPU_FEATURES": disabled}
    done = subprocess.run(
        [sys.executable, "-c", code, str(several)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[4],
    )
    assert done.returncode == 0, done.stderr
    chosen, skipped = json.loads(done.stdout)
    lines = sanitized.done(several, "list", environment=environment).splitlines()
    assert [line for line in lines if line.startswith("kernel")] == chosen and len(chosen) == 2
    assert sorted(line for line in lines if line.startswith("skipped")) == skipped
    assert len(skipped) == 12


def test_nothing_that_runs_here(sanitized: Driver, tmp_path: Path) -> None:
    path = tmp_path / "x.kgen"
    kgen.build([relu_of((9,), dtype="f32")], ["sm_80", "x86-64-v4"]).save(path)
    refusal = sanitized.refused(
        path, "list", environment={"KGEN_DISABLE_CPU_FEATURES": "avx512f avx2"}
    )
    assert re.fullmatch(
        rf"6: {path}: this CPU runs no kernel of this bundle: x86-64-v4/relu_9_f32.so needs "
        r"(avx\w+, )*avx512f(, avx\w+)*, which the CPU lacks; build for native or for a "
        r"lower level, such as x86-64",
        refusal,
    )
