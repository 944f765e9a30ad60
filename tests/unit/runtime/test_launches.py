"""Every stage (planning, packing, check, verification, emulation) refuses a kernel that its
device would not launch."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import bundle, emulate, pipeline, targets
from kgen.check.verify.run import verify
from kgen.cli.main import main
from kgen.errors import AssembleError, DeviceError, EmulationError, KgenError, ScheduleError
from kgen.schedule import SplitMatmul, WgmmaMatmul
from kgen.spec import DType, Layout, Math, Matmul, Rowwise, Spec
from kgen.targets.base import BuiltKernel, Plan, Target
from kgen.targets.cuda.plan import cuda_plan as cuda_base
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan
from kgen.targets.vulkan.spirv.usage import workgroup_usage
from kgen_runtime import launch_limits
from kgen_runtime.launch_limits import Limits, kernel_refusal, limits_of
from kgen_runtime.manifest import Launch
from tests.specs import relu_of, softmax_of
from tests.unit.runtime.drivers.fake_cuda import installed

SM_75, SM_80 = targets.find("sm_75"), targets.find("sm_80")
TARGETS = [target for family in targets.families() for target in family.targets]
#: Sizes that limits bind at, beside any others.
SIDES = (1, 3, 16, 17, 64, 100, 128, 256, 1000, 1024, 4096, 8192, 65536, 100_000, 1 << 20, 10**7)
#: Elements of a tensor at most: more than any device has memory for.
MOST = 2**36


def specs(rng: random.Random, target: Target, dtype: DType) -> Iterator[Spec]:
    """Yield products of any shape, type and layout of the target, and element-wise and row-wise
    kernels."""
    family = targets.family(target.family)
    while True:
        op = rng.choices(("matmul", "softmax", "relu"), weights=(8, 1, 1))[0]
        if dtype not in family.dtypes(op, target):
            op = "matmul"
        m, n, k = (rng.choice(SIDES) if rng.random() < 0.5 else rng.randint(1, 3000) for _ in "mnk")
        batch = rng.choice((1, 1, 1, 2, 16, 1000, 65535))
        spec: Spec
        if op == "softmax":
            spec = softmax_of(m, min(n, 1 << 17), dtype=dtype)
        elif op == "relu":
            spec = relu_of((m, n), dtype=dtype)
        else:
            math = rng.choice(family.maths(target)) if dtype is DType.F32 else Math.EXACT
            m, n, k = min(m, 1 << 20), min(n, 1 << 20), min(k, 65536)
            layout = rng.choice(list(Layout))
            spec = Matmul(m=m, n=n, k=k, batch=batch, dtype=dtype, layout=layout, math=math)
        if all(p.extent <= MOST for p in spec.parameters) and _is_supported(spec, target):
            yield spec


def _is_supported(spec: Spec, target: Target) -> bool:
    try:
        targets.family(target.family).check_support(spec, target)
    except KgenError:
        return False
    return True


class Refused:
    """Recorder of plans that the launch check refused, not their own checks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reasons: list[str] = []
        monkeypatch.setattr(targets.base, "refusal", self._refusal)

    def _refusal(self, launch: Launch, limits: Limits) -> str | None:
        why = launch_limits.refusal(launch, limits)
        if why is not None:
            self.reasons.append(f"{launch.entry_point}: {why}")
        return why


def check_shape(spec: Spec, target: Target, refused: Refused, *, every: bool) -> None:
    """Check that the default schedule fits, and that for `every` candidate a plan's own checks
    find what the launch check finds. Only a grid that is too long is left to the launch check:
    other tiles are chosen then."""
    pipeline.plan(spec, target)
    if every:
        targets.family(target.family).candidates(spec, target)
    known = [why for why in refused.reasons if "of the grid" not in why]
    assert not known, f"{target.name} {spec.key}: {known[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: str(target.name))
def test_every_main_loop_launches(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Refused(monkeypatch)
    rng = random.Random(75)
    for dtype in targets.family(target.family).dtypes("matmul", target):
        shapes = specs(rng, target, dtype)
        for i in range(8):
            check_shape(next(shapes), target, refused, every=i == 0)


def test_stream_k_counts_its_ticket() -> None:
    """On sm_75, 65536 bytes of tiles leave no room for the ticket; smaller tiles do."""
    spec = Matmul(m=1024, n=1024, k=1024, dtype="f16")
    launch = pipeline.plan(spec, SM_75).launches[0]
    assert launch.dynamic_shared_memory <= 65536
    with pytest.raises(ScheduleError, match=r"num_stages=2 needs 65552 B .* sm_75 allows 65536; "):
        pipeline.plan(spec, SM_75, FULL)
    smaller = FULL.override(block_k=32)
    assert pipeline.plan(spec, SM_75, smaller).launches[0].grid == (40, 1, 1)


@pytest.mark.parametrize("stages", [2, 3, 4, 5, 6])
def test_stream_k_by_warpgroups_counts_its_ticket(stages: int) -> None:
    """The check counts the plan's memory to the byte."""
    target = targets.find("sm_90a")
    spec = Matmul(m=2048, n=2304, k=1024, dtype="bf16")
    schedule = WgmmaMatmul(
        block_m=128, block_n=128, block_k=64, num_stages=stages, consumers=2, num_workgroups=132,
        group_m=4, tma_store=stages % 2 == 0, stream_k=True,
    )  # fmt: skip
    plan = pipeline.plan(spec, target, schedule)
    needed = plan.launches[0].dynamic_shared_memory
    roomy, tight = (
        dataclasses.replace(target, limits={**target.limits, "dynamic_shared_memory": limit})
        for limit in (needed, needed - 8)
    )
    assert pipeline.plan(spec, roomy, plan.schedule).launches == plan.launches
    with pytest.raises(ScheduleError, match=f"needs {needed} B of shared memory"):
        pipeline.plan(spec, tight, plan.schedule)


# -- plans that understate ------------------------------------------------------------------------

#: The schedule that sm_75 had for 1024 x 1024 x 1024: two stages of 32 KiB, and a ticket.
FULL = SplitMatmul(
    block_m=128, block_n=128, block_k=64, warp_m=64, warp_n=32, num_stages=2,
    num_workgroups=40, group_m=6, stream_k=True,
)  # fmt: skip
SPEC = Matmul(m=1024, n=1024, k=1024, dtype="f16")
BEYOND = "65552 bytes of shared memory; sm_75 allows 65536; try fewer stages or a smaller block"


@pytest.fixture(scope="module")
def understated() -> Iterator[tuple[BuiltKernel, kgen.Bundle]]:
    """Return a kernel of a plan without limits, in a bundle that was not checked."""
    with pytest.MonkeyPatch.context() as blind:
        blind.setattr(cuda_base, "check_shared", lambda *_, **__: None)
        with pytest.raises(ScheduleError, match=BEYOND):
            pipeline.plan(SPEC, SM_75, FULL)
        blind.setattr(targets.base, "refusal", lambda *_: None)
        kernel = pipeline.kernel(SPEC, SM_75, FULL)
        with pytest.raises(ScheduleError, match=f"sm_75/{SPEC.key}: {BEYOND}"):
            bundle.pack([kernel])
        blind.setattr(bundle, "kernel_refusal", lambda *_: None)
        yield kernel, bundle.pack([kernel])


@pytest.mark.integration
def test_check_refuses_it(
    understated: tuple[BuiltKernel, kgen.Bundle], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(understated[1].save(tmp_path / "x.kgen"))
    assert main(["check", path, "--arch", "sm_75"]) == 1
    assert BEYOND in capsys.readouterr().out
    assert main(["check", path, "--arch", "sm_80"]) == 0  # whose driver compiles the PTX


@pytest.mark.integration
def test_verify_refuses_it(understated: tuple[BuiltKernel, kgen.Bundle]) -> None:
    (result,) = verify(understated[1], on="emulator").kernels
    assert result.status == "failed" and BEYOND in str(result.reason)


def run(kernel: BuiltKernel, **options: Any) -> emulate.LaunchReport:
    launch = kernel.plan.launches[0]
    tensors = {p.name: np.zeros(p.extent, p.dtype.storage) for p in kernel.plan.parameters}
    tensors |= {w.name: np.zeros(w.nbytes, np.uint8) for w in kernel.plan.workspaces}
    return emulate.run(
        kernel.source.text,
        language="ptx",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[tensors[name] for name in launch.arguments],
        dynamic_shared=launch.dynamic_shared_memory,
        workgroups=[],
        **options,
    )


@pytest.mark.integration
def test_the_emulator_of_ptx_refuses_it(understated: tuple[BuiltKernel, kgen.Bundle]) -> None:
    with pytest.raises(EmulationError, match=f"{SPEC.key}: {BEYOND}"):
        run(understated[0])
    assert run(understated[0], arch="sm_80").workgroups_run == 0


LDS = """
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [{words} x i32] poison, align 4
@other = internal addrspace(3) global [9999 x i32] poison, align 4

define amdgpu_kernel void @f(ptr addrspace(1) %out) #0 {{
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(3) @tile, i32 %lane
  store i32 1, ptr addrspace(3) %at, align 4
  ret void
}}

declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = {{ "target-cpu"="{cpu}" }}
"""


def lds(words: int, cpu: str, **launch: Any) -> emulate.LaunchReport:
    options: dict[str, Any] = {"grid": (1, 1, 1), "block": (64, 1, 1), **launch}
    text = LDS.format(words=words, cpu=cpu)
    arguments = [np.zeros(1, np.int32)]
    return emulate.run(text, language="llvm", entry="f", arguments=arguments, **options)


@pytest.mark.integration
def test_the_emulator_of_llvm_ir_refuses_what_a_device_would() -> None:
    """LDS of other kernels in the module does not count."""
    assert lds(16384, "gfx942").workgroups_run == 1
    with pytest.raises(
        EmulationError, match="f: 65540 bytes of shared memory; gfx942 allows 65536"
    ):
        lds(16385, "gfx942")
    assert lds(16385, "gfx950").workgroups_run == 1
    with pytest.raises(EmulationError, match=r"65600 bytes .*65536 static, 64 dynamic"):
        lds(16384, "gfx942", dynamic_shared=64)
    with pytest.raises(EmulationError, match="f: 2048 threads per workgroup; gfx942 allows 1024"):
        lds(64, "gfx942", block=(1024, 2, 1))
    with pytest.raises(EmulationError, match="65536 workgroups along y of the grid; gfx942 allows"):
        lds(64, "gfx942", grid=(1, 65536, 1), workgroups=[(0, 0, 0)])


@pytest.mark.integration
def test_a_launch_that_has_less_than_its_code_uses_fails_verification() -> None:
    """No assembler reports how much dynamic shared memory code uses; execution shows it."""
    spec = Matmul(m=256, n=128, k=128, dtype="f16")
    kernel = pipeline.kernel(spec, SM_80, FULL.override(num_workgroups=2, group_m=1))
    launch = kernel.plan.launches[0]
    assert launch.dynamic_shared_memory == 65552
    less = dataclasses.replace(launch, dynamic_shared_memory=65536)
    kernel = dataclasses.replace(kernel, plan=_with_launch(kernel.plan, less))
    (result,) = verify(bundle.pack([kernel]), on="emulator").kernels
    assert result.status == "failed" and "out-of-bounds" in str(result.reason)


def _with_launch(plan: Plan, launch: Launch) -> Plan:
    return dataclasses.replace(plan, launches=(launch,))


# -- where heuristics once chose what did not fit --------------------------------------------------


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize(("m", "n", "dtype"), [(16, 65536, DType.F64), (32, 30000, DType.F32)])
def test_streamed_products_fit_the_stack_of_amx_targets(
    m: int, n: int, dtype: DType, layout: Layout
) -> None:
    """Partial sums that fill the stack leave room for the copy of A."""
    for name in ("x86-64-amx", "x86-64-amx+fp16"):
        spec = Matmul(m=m, n=n, k=65536, dtype=dtype, layout=layout)
        assert pipeline.plan(spec, targets.find(name)).launches


def test_relu_of_more_than_a_grid_does_more_in_a_thread() -> None:
    spec = relu_of((10**7, 1 << 20), dtype="f32")
    (launch,) = pipeline.plan(spec, targets.find("sm_120")).launches
    assert launch.grid[0] <= 2**31 - 1


# -- what Vulkan's modules say --------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        Matmul(m=100, n=70, k=33, dtype="f16", epilogue=("bias", "gelu")),
        Rowwise(expression="softmax(x)", shapes=((7, 5000),), dtype="bf16"),
        relu_of((100,), dtype="f32"),
    ],
    ids=lambda spec: str(spec.op),
)
def test_modules_say_what_their_workgroups_take(spec: Spec) -> None:
    """The bundle's numbers come from the module, and equal those of the plan."""
    target = targets.find("vulkan1.3")
    kernel = pipeline.kernel(spec, target)
    plan = kernel.plan
    assert isinstance(plan, VulkanPlan)
    assert kernel.assembled.resources.shared_memory == plan.shared_bytes
    found = workgroup_usage(kernel.assembled.artifacts[0].data)
    assert found.local_size == plan.launches[0].block
    narrow = dataclasses.replace(plan.launches[0], block=(32, 1, 1))
    with pytest.raises(AssembleError, match=r"LocalSize .* the launch's block \(32, 1, 1\)"):
        targets.family("vulkan").assemble(kernel.source, _with_launch(plan, narrow))


def test_vulkan_is_held_to_what_its_code_declares() -> None:
    """A workgroup of 256 exceeds the guaranteed limit, so the artifact must require it."""
    spec, target = relu_of((4096,), dtype="f32"), targets.find("vulkan1.3")
    schedule = pipeline.schedule_for(spec, target, {"num_threads": 256})
    packed = bundle.pack([pipeline.kernel(spec, target, schedule)])
    (entry,) = packed.manifest.kernels
    assert kernel_refusal(entry, limits_of(entry)) is None
    silent = tuple(dataclasses.replace(a, requires={"api": "1.3"}) for a in entry.artifacts)
    entry = dataclasses.replace(entry, artifacts=silent)
    why = "256 threads along x of a workgroup; vulkan1.3 allows 128; try 128 or fewer"
    assert kernel_refusal(entry, limits_of(entry)) == why


# -- where a kernel was not built for --------------------------------------------------------------


@pytest.mark.integration
def test_machine_code_that_its_chip_cannot_launch_is_refused_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """sm_86 runs code of sm_80, but has 99 KiB of shared memory instead of 163; the fake driver
    reports 64."""
    schedule = SplitMatmul(
        block_m=128, block_n=128, block_k=64, warp_m=64, warp_n=64, num_stages=4
    )  # fmt: skip
    kernel = pipeline.kernel(Matmul(m=512, n=512, k=512, dtype="f16"), SM_80, schedule)
    path = str(bundle.pack([kernel]).save(tmp_path / "x.kgen"))
    assert main(["check", path, "--arch", "sm_80"]) == 0
    capsys.readouterr()
    assert main(["check", path, "--arch", "sm_86"]) == 1
    assert "no: 131072 bytes of shared memory; sm_86 allows 101376" in capsys.readouterr().out
    with installed(monkeypatch) as driver:
        driver.capability = (8, 6)
        with pytest.raises(DeviceError, match="131072 bytes of shared memory; sm_86 allows 65536"):
            kgen_runtime.load(path, device="cuda:0")


@pytest.mark.integration
def test_ptx_counts_the_shared_variables_that_a_kernel_names() -> None:
    text = """
.version 7.0
.target sm_75
.address_size 64
.shared .align 4 .b8 other[40000];
.visible .entry f()
{
    .shared .align 4 .b8 mine[MINE];
    .reg .u32 %at;
    mov.u32 %at, mine;
    ret;
}
"""
    options: dict[str, Any] = {"entry": "f", "grid": (1, 1, 1), "block": (32, 1, 1)}
    options |= {"language": "ptx", "arguments": []}
    assert emulate.run(text.replace("MINE", "49152"), **options).workgroups_run == 1
    with pytest.raises(EmulationError, match="f: 49156 bytes of static shared memory; sm_75 all"):
        emulate.run(text.replace("MINE", "49156"), **options)
