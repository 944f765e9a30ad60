"""Software prefetches of CPU kernels: the emulator counts those that never reach a buffer."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import emulate, pipeline, targets
from kgen.bundle import pack
from kgen.check import profile
from kgen.check.verify.run import opened
from kgen.emulate.llvm.exec.launch import Argument
from kgen.spec import text

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
    ("ahead", "dead"), [(-4, 0), (0, 0), (15, 0), (16, 4), (-13, 4), (1 << 30, 4)]
)
def test_prefetches_are_dead_if_none_reaches_a_buffer(ahead: int, dead: int) -> None:
    arguments: list[Argument] = [np.zeros(4, np.float32), np.int64(ahead)]
    report = emulate.run(
        STREAM, language="llvm", entry="stream", grid=(1, 1, 1), block=(1, 1, 1),
        arguments=arguments, profile=True,
    )  # fmt: skip
    assert report.counters["prefetch"] == 4
    assert report.counters["dead_prefetches"] == dead
    (line,) = (counts for counts in report.lines.values() if counts.kind == "prefetch")
    assert (line.issued, line.dead_prefetches) == (4, dead)


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


@pytest.mark.parametrize(
    ("target", "kernel"), [(target, kernel) for target in KERNELS for kernel in KERNELS[target]]
)
def test_no_kernel_prefetches_only_past_the_end(target: str, kernel: str) -> None:
    spec, on = text.parse(kernel), targets.find(target)
    built = pack([pipeline.kernel(spec, on, pipeline.schedule_for(spec, on, {}))])
    with opened(built) as reader:
        found = profile.profile_kernel(reader, reader.manifest.kernels[0])
    assert found.reason is None
    assert profile.merged(found.launches)["dead_prefetches"] == 0
