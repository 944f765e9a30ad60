"""Software prefetches of CPU kernels: the emulator counts prefetches outside of all buffers."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import emulate, pipeline, targets
from kgen.bundle import pack
from kgen.check import profile
from kgen.check.gate import values
from kgen.check.verify.run import opened
from kgen.emulate.llvm.exec.launch import Argument
from kgen.schedule import Schedule
from kgen.spec import Spec, text
from kgen.targets.cpu.plan.tiles.tiled import TiledPlan

#: Reads 4 elements and prefetches `%ahead` bytes past each.
STREAM = """
define void @stream(ptr %x, i64 %ahead) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, 4
  br i1 %more, label %body, label %end
body:
  %at = getelementptr float, ptr %x, i64 %i
  %later = getelementptr i8, ptr %at, i64 %ahead
  call void @llvm.prefetch.p0(ptr %later, i32 0, i32 3, i32 1)
  %value = load float, ptr %at, align 4
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""


@pytest.mark.parametrize(
    ("ahead", "outside"), [(-4, 1), (0, 0), (4, 1), (15, 3), (16, 4), (-13, 4), (1 << 30, 4)]
)
def test_prefetches_outside_of_buffers_are_counted(ahead: int, outside: int) -> None:
    """An instruction is dead if none of its prefetches reaches a buffer."""
    dead = 4 if outside == 4 else 0
    arguments: list[Argument] = [np.zeros(4, np.float32), np.int64(ahead)]
    report = emulate.run(
        STREAM, language="llvm", entry="stream", grid=(1, 1, 1), block=(1, 1, 1),
        arguments=arguments, profile=True,
    )  # fmt: skip
    assert report.counters["prefetch"] == 4
    assert report.counters["dead_prefetches"] == dead
    assert report.counters["prefetches_outside"] == outside
    (line,) = (counts for counts in report.lines.values() if counts.kind == "prefetch")
    assert (line.issued, line.dead_prefetches) == (4, dead)
    assert line.prefetches_outside == outside


#: Kernels that prefetch, or whose prefetches would all be past the end of a small operand.
KERNELS = {
    "x86-64-v4": (
        "matmul 1x40x33 f32 b_dtype=bf16 constant=b",
        "softmax 1x70 f32",
    ),
    "x86-64-v3": (
        "matmul 2x33x128 f32 b_dtype=s8 constant=b",
        "matmul 2x70x33 f32 constant=b",
        "matmul 64x64x128 f32",
        "matmul 2x8x512 f32 layout=nt",
        "relu 1x100 f32",
        "relu 3x1000 f32",
        "sum 1x600 f32",
    ),
    "x86-64-v4+vnni": ("matmul 1x20x24 f32 b_dtype=s8 constant=b", "matmul 2x70x32 s8"),
}


def counted(spec: Spec, schedule: Schedule, target: str) -> dict[str, float]:
    """Return the gate's counts for a kernel."""
    built = pack([pipeline.kernel(spec, targets.find(target), schedule)])
    with opened(built) as reader:
        found = profile.profile_kernel(reader, reader.manifest.kernels[0])
    assert found.reason is None
    return values.counted(found.launches)


@pytest.mark.parametrize(
    ("target", "kernel"), [(target, kernel) for target in KERNELS for kernel in KERNELS[target]]
)
def test_few_prefetches_are_past_the_end(target: str, kernel: str) -> None:
    """A loop that prefetches some steps ahead exceeds the buffer in its last steps."""
    spec = text.parse(kernel)
    numbers = counted(spec, pipeline.schedule_for(spec, targets.find(target), {}), target)
    assert numbers["dead_prefetches"] == 0
    assert numbers.get("prefetches_outside_share", 0) <= 25


#: Shapes and blocks of products whose tiles of rows share the next block of K: many tiles and few,
#: tiles of several lines, blocks narrower than B, remainders of rows, columns and K.
STREAMED = (
    ("x86-64", "matmul 32x64x64 f32", {"mr": 2, "nr": 16, "mc": 32, "kc": 32, "nc": 32}),
    ("x86-64", "matmul 9x40x50 f32", {"mr": 2, "nr": 8, "mc": 6, "kc": 16, "nc": 24}),
    ("x86-64-v3", "matmul 12x64x64 f32", {"mr": 6, "nr": 16, "mc": 12, "kc": 8, "nc": 64}),
    ("x86-64-v4", "matmul 4x128x48 f32", {"mr": 2, "nr": 64, "mc": 4, "kc": 16, "nc": 128}),
    ("aarch64-neon", "matmul 30x48x60 f32", {"mr": 3, "nr": 12, "mc": 30, "kc": 20, "nc": 48}),
)


@pytest.mark.parametrize(("target", "kernel", "blocks"), STREAMED)
def test_tiles_that_share_the_next_block_of_k_reach_it(
    target: str, kernel: str, blocks: dict[str, int]
) -> None:
    spec = text.parse(kernel)
    in_place = {"pack_a": 0, "pack_b": 0, "tasks_per_pass": 1}
    schedule = pipeline.schedule_for(spec, targets.find(target), blocks | in_place)
    planned = pipeline.plan(spec, targets.find(target), schedule)
    assert isinstance(planned, TiledPlan)
    assert planned.ahead.is_block
    numbers = counted(spec, schedule, target)
    # The last block but one fetches rows behind a shorter last one, and shares are rounded up.
    missing = -planned.spec.k % blocks["kc"] / planned.spec.k
    assert numbers["prefetch"] > 0
    assert numbers["prefetches_outside_share"] <= 100 * missing + 1
