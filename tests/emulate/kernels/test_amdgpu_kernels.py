"""AMD kernels of 8 bits as LLVM's optimiser leaves them, and kernels with other schedules."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import kgen
from kgen import bundle, emulate, pipeline
from kgen.schedule import FmaMatmul, MmaMatmul, Schedule
from kgen.spec import DType, Epilogue, Layout, Matmul
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.codegen import machine_for, optimise
from kgen.targets.base import BuiltKernel, Target
from tests.emulate.one_schedule import verify
from tests.emulate.text_only import with_text
from tests.specs import relu_of

STEPS = tuple(Epilogue)
#: Operands of 8 bits: transposed in squares of bytes or not, finished in f32 or not. K in several
#: tiles and a remainder; several block tiles of s8 and of floats; a type of float in two layouts.
BYTES: tuple[Matmul, ...] = (
    *(Matmul(m=65, n=67, k=136, dtype=DType.S8, layout=layout) for layout in Layout),
    *(
        Matmul(m=33, n=35, k=136, dtype=dtype, layout=layout)
        for dtype, layout in zip((DType.E4M3, DType.E5M2) * 2, Layout, strict=True)
    ),
    Matmul(m=65, n=66, k=67, dtype=DType.E4M3),
    Matmul(m=33, n=34, k=67, dtype=DType.S8, out_dtype=DType.S8, alpha=0.01),
    Matmul(m=32, n=32, k=256, dtype=DType.S8, layout="tn"),
    Matmul(m=32, n=32, k=256, dtype=DType.E4M3, epilogue=STEPS, scales=("a", "b")),
    Matmul(m=33, n=18, k=40, dtype=DType.S8, out_dtype=DType.F16, epilogue=("bias", "relu")),
)


@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
def test_bytes_are_right_before_and_after_the_optimiser(target: Target) -> None:
    known = FAMILY.dtypes("matmul", target)
    kernels = [pipeline.kernel(spec, target) for spec in BYTES if spec.dtype in known]
    if kernels:
        assert not failures(kernels)
        assert not failures([optimised(kernel) for kernel in kernels])
        assert all(k.assembled.resources.spills == 0 for k in kernels)


def optimised(kernel: BuiltKernel) -> BuiltKernel:
    """Return a kernel whose text LLVM has optimised."""
    machine = machine_for(kernel.plan.target.arch)
    source = dataclasses.replace(kernel.source, text=optimise(kernel.source.text, machine))
    return with_text(kernel, source)


def failures(kernels: list[BuiltKernel]) -> list[str]:
    """Return the failure of each kernel that is wrong."""
    results = verify(bundle.pack(kernels)).kernels
    return [f"{r.kernel}: {r.reason}" for r in results if not r.passed]


def test_relu_with_nothing_but_the_rest_in_the_last_workgroup() -> None:
    # 256 threads x 8 elements: two full workgroups, and one element for a third.
    spec = relu_of((4097,), dtype=DType.BF16)
    assert verify(kgen.build(spec, ["gfx90a"])).passed


SCHEDULES: tuple[Schedule, ...] = (
    MmaMatmul(block_m=96, block_n=64, block_k=64, num_stages=1, warp_m=48, warp_n=32),
    MmaMatmul(block_m=64, block_n=128, block_k=32, num_stages=2, warp_m=32, warp_n=64),
    FmaMatmul(block_m=48, block_n=64, block_k=16, num_stages=1, thread_m=3, thread_n=4),
    FmaMatmul(block_m=32, block_n=32, block_k=8, num_stages=2, thread_m=2, thread_n=2),
)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.mainloop)
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_other_schedules_are_right(target: str, schedule: Schedule) -> None:
    found = FAMILY.find(target)
    assert found is not None
    kernels = [
        pipeline.kernel(Matmul(m=97, n=67, k=k, layout=layout), found, schedule)
        for k, layout in ((128, Layout.NT), (100, Layout.TN))
    ]
    assert not failures(kernels)


def test_offsets_beyond_32_bits() -> None:
    """Rows are 2**31 bytes apart; only touched parts of the tensors take memory."""
    target = FAMILY.find("gfx942")
    assert target is not None
    spec = Matmul(m=3, n=17, k=20, lda=2**30, ldc=2**30 + 7)
    plan = pipeline.plan(spec, target)
    buffers = {p.name: np.zeros(p.extent, np.float16) for p in spec.parameters}
    views = {
        p.name: np.lib.stride_tricks.as_strided(
            buffers[p.name], p.shape, [2 * stride for stride in p.strides]
        )
        for p in spec.parameters
    }
    random = np.random.default_rng(0)
    for name in ("a", "b"):
        views[name][...] = random.integers(-3, 4, views[name].shape)
    launch = plan.launches[0]
    emulate.run(
        pipeline.source(plan).text,
        language="llvm",
        entry=launch.entry_point,
        grid=launch.grid,
        block=launch.block,
        arguments=[buffers[name] for name in launch.arguments],
    )
    exact = views["a"].astype(np.float64) @ views["b"].astype(np.float64)
    np.testing.assert_array_equal(views["out"], exact)
