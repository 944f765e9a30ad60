"""The CPU of this machine: its detected features, and kernels for it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import targets
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen_runtime import settings
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.this_cpu import Cpu, describe, this_cpu
from tests.open_devices import verify
from tests.specs import relu_of, softmax_of

X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="an instruction of x86-64")
#: A product of each kind that some CPU has instructions for, and both kinds of streams.
SPECS = (
    *(Matmul(m=33, n=70, k=37, dtype=d) for d in (DType.F32, DType.F16, DType.BF16, DType.S8)),
    Matmul(m=17, n=41, k=67, dtype=DType.BF16, constant=(ConstantOperand.B,)),
    Matmul(m=2, n=70, k=129, dtype=DType.S8, layout=Layout.NT),
    Matmul(m=3, n=33, k=64, dtype=DType.F32, b_dtype="s4", layout=Layout.NT, constant=("b",)),
    relu_of((70001,), dtype=DType.F32),
    softmax_of(9, 203, dtype=DType.BF16),
)


def test_native_is_this_machine() -> None:
    found = targets.find("native")
    assert found.arch == platform.machine()
    assert found.features <= this_cpu().features
    listed = subprocess.run(
        [sys.executable, "-m", "kgen", "targets", "--json"], capture_output=True, text=True
    )
    assert set(json.loads(listed.stdout)["native"]["features"]) == found.features


def test_kernels_for_this_machine() -> None:
    """Every kernel that is built for `native` runs here with the right result."""
    report = verify(kgen.build(SPECS, ["native"]))
    assert [result.status for result in report.kernels] == ["passed"] * len(SPECS)
    assert {result.executed_on for result in report.kernels} == {CpuBackend().info.name}


def test_a_program_for_this_machine(tmp_path: Path) -> None:
    model = Path(__file__).parents[4] / "examples" / "encoder.onnx"
    bundle = kgen.compile_model(model, ["native"]).bundle
    with kgen_runtime.load(bundle.save(tmp_path / "m.kgen"), device="cpu") as kernels:
        entry = kernels.program.entry
        given = {v.name: np.ones(v.shape, v.dtype.storage) for v in entry.inputs}
        assert np.isfinite(np.asarray(kernels.program.run(given))).all()


@pytest.fixture
def whole_cpu() -> Iterator[Cpu]:
    """Return the CPU, including features that the environment disables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(settings.DISABLED_CPU_FEATURES, raising=False)
        yield describe()


@X86_64
def test_the_cpu_is_the_one_that_linux_shows(whole_cpu: Cpu) -> None:
    pairs = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    shown: dict[str, str] = {}
    for key, _, value in pairs:
        shown.setdefault(key.strip(), value.strip())
    assert whole_cpu.arch == platform.machine()
    assert (whole_cpu.name, whole_cpu.vendor) == (shown["model name"], shown["vendor_id"])
    assert (str(whole_cpu.family), str(whole_cpu.model)) == (shown["cpu family"], shown["model"])
    # Linux never lists amx_fp16, and old versions not SERIALIZE.
    assert whole_cpu.features - {"amx_fp16", "serialize"} <= set(shown["flags"].split())


def test_a_process_that_is_held_to_one_cpu_makes_no_threads() -> None:
    every = os.sched_getaffinity(0)
    assert CpuBackend().num_threads == len(every)
    os.sched_setaffinity(0, {min(every)})
    try:
        assert CpuBackend().num_threads == CpuBackend().info.capabilities["cores"] == 1
    finally:
        os.sched_setaffinity(0, every)
