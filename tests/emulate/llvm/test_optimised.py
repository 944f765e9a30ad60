"""kgen's AMD kernels after LLVM's passes at every level: results keep their bits, and repeated
runs their counters."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm
import numpy as np
import pytest

from kgen import emulate, pipeline
from kgen.emulate import LaunchReport
from kgen.spec import DType, Epilogue, Layout, Matmul, Rowwise, Spec
from kgen.targets.amdgpu import FAMILY
from kgen.targets.base import BuiltKernel
from tests.emulate.llvm.llvm_kernels import Array
from tests.specs import relu_of

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
SPECS: dict[str, Spec] = {
    "matmul": Matmul(m=33, n=17, k=40, layout=Layout.NT, epilogue=tuple(Epilogue)),
    "matmul-f32": Matmul(m=17, n=18, k=19, dtype=DType.F32, beta=0.5),
    "relu": relu_of((1003,), dtype=DType.BF16),
    "log_softmax": Rowwise(expression="log_softmax(x)", shapes=((3, 100),)),
}


@cache
def kernel_of(name: str, target: str) -> BuiltKernel:
    found = FAMILY.find(target)
    assert found is not None
    return pipeline.kernel(SPECS[name], found)


def after_passes(source: str, cpu: str, level: int) -> str:
    llvm.initialize_all_targets()
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu=cpu)
    module = llvm.parse_assembly(source)
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return str(module)


def execute(kernel: BuiltKernel, text: str, seed: int = 0) -> tuple[list[Array], LaunchReport]:
    """Return all buffers after a run on the same data, and the report."""
    random = np.random.default_rng(1)
    buffers: dict[str, Array] = {}
    for parameter in kernel.plan.spec.parameters:
        values = random.integers(-3, 4, parameter.extent).astype(np.float32)
        if parameter.dtype == DType.BF16:
            buffers[parameter.name] = (values.view(np.uint32) >> 16).astype(np.uint16)
        else:
            buffers[parameter.name] = values.astype(
                np.float16 if parameter.dtype == DType.F16 else np.float32
            )
    (launch,) = kernel.plan.launches
    report = emulate.run(
        text,
        language="llvm",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[buffers[name] for name in launch.arguments],
        profile=True,
        seed=seed,
    )
    return list(buffers.values()), report


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("target", TARGETS)
def test_results_stay_the_same(target: str, name: str) -> None:
    kernel = kernel_of(name, target)
    expected, _ = execute(kernel, kernel.source.text)
    for level in range(4):
        text = after_passes(kernel.source.text, target, level)
        assert level == 0 or text != kernel.source.text
        got, _ = execute(kernel, text)
        for before, after in zip(expected, got, strict=True):
            np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", SPECS)
def test_a_run_repeats_itself(name: str, seed: int) -> None:
    """Runs of one seed give equal bits and counts, by line too. So do runs of different seeds,
    because these kernels do not wait."""
    kernel = kernel_of(name, "gfx942")
    first, one = execute(kernel, kernel.source.text, seed)
    again, two = execute(kernel, kernel.source.text, seed)
    assert [b.tobytes() for b in first] == [b.tobytes() for b in again]
    assert one.counters == two.counters and one.lines == two.lines
    other, three = execute(kernel, kernel.source.text, seed + 1)
    assert [b.tobytes() for b in first] == [b.tobytes() for b in other]
    assert one.counters == three.counters
