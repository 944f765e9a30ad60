"""Kernels that crash or hang are reported as failed, and the next kernel is verified."""

from __future__ import annotations

import dataclasses
import io
import os
import platform
import subprocess
import sys
import time

import pytest

import kgen
from kgen import bundle, pipeline, targets
from kgen.bundle import Bundle
from kgen.check.execute import isolate
from kgen.check.execute.executor import Unavailable
from kgen.check.verify.run import verify
from kgen.spec import DType
from kgen.targets.base import BuiltKernel
from tests.specs import relu_of

needs_x86_64 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the kernels here are x86-64 machine code"
)
pytestmark = needs_x86_64

GOOD, BAD = relu_of((40,), dtype=DType.F32), relu_of((41,), dtype=DType.F32)
BODIES = {
    "crash": "entry:\n  store volatile i32 1, ptr inttoptr (i64 16 to ptr)\n  ret void",
    "trap": "entry:\n  call void @llvm.trap()\n  ret void",
    "hang": "entry:\n  br label %again\nagain:\n  store volatile i32 1, ptr %out\n"
    "  br label %again",
}


def broken(body: str) -> Bundle:
    """Return a bundle of a kernel with this body, and a good one after it."""
    kernel = pipeline.kernel(BAD, targets.find("x86-64-v3"))
    text = (
        'target triple = "x86_64-unknown-linux-gnu"\ndeclare void @llvm.trap()\n'
        f"define void @{BAD.key}(ptr %x, ptr %out, i64 %begin, i64 %end) {{\n{BODIES[body]}\n}}\n"
    )
    source = dataclasses.replace(kernel.source, text=text)
    assembled = targets.family("cpu").assemble(source, kernel.plan)
    bad: BuiltKernel = dataclasses.replace(kernel, source=source, assembled=assembled)
    return bundle.pack([bad, pipeline.kernel(GOOD, targets.find("x86-64-v3"))])


@pytest.mark.integration
def test_devices_that_are_given_stay_open() -> None:
    good = bundle.pack([pipeline.kernel(GOOD, targets.find("x86-64-v3"))])
    with isolate.IsolatedDevices() as devices:
        processes = []
        for _ in range(2):
            assert verify(good, devices=devices).passed
            processes.append(devices.open["cpu"])
        assert processes[0] is processes[1] and not processes[0].ended
        # One that a kernel has ended is no reason for the next to fail.
        report = verify(broken("crash"), devices=devices)
        assert [result.passed for result in report.kernels] == [False, True]
        last = devices.open["cpu"]
        assert last is not processes[0] and not last.ended
    assert last.ended


@pytest.mark.integration
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("crash", "the kernel ended its process with SIGSEGV"),
        ("trap", "the kernel ended its process with SIGILL"),
        ("hang", "the kernel did not end within 2 s"),
    ],
)
def test_a_kernel_that_does_not_come_back_fails(
    body: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolate, "START_SECONDS", 2.0)
    bad, good = verify(broken(body), on="device").kernels
    if bad.status == "not-executed":
        pytest.skip(bad.reason or "")
    assert bad.status == "failed" and bad.reason == f"random data: {reason}"
    assert good.passed, good.reason


@pytest.mark.integration
def test_a_device_that_is_not_here_or_refuses_says_why() -> None:
    entry = kgen.build(GOOD, ["x86-64-v3"]).manifest.kernels[0]
    with isolate.IsolatedDevices() as devices, pytest.raises(Unavailable, match=r"hip|HIP"):
        devices.executor("hip", entry, {})


@pytest.mark.parametrize(
    ("share", "looks"),
    [
        (1.0, 5),  # it computes all the time
        (2.0, 5),  # in two threads
        (0.25, 20),  # others have three quarters of the CPU
        (0.0, 5),  # it waits, for a device that does not answer
    ],
)
def test_time_that_others_have_the_cpu_does_not_count(
    share: float, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit is five seconds of processor time."""
    now = [0.0]

    def select(*arguments: object) -> tuple[list[object], ...]:
        waited = arguments[3]
        assert isinstance(waited, float)
        now.append(now[-1] + waited)
        return ([], [], [])

    monkeypatch.setattr("select.select", select)
    monkeypatch.setattr(isolate, "cpu_seconds", lambda _: share * now[-1])
    assert not isolate.answers_within(0, io.BytesIO(), 5.0)
    assert len(now) - 1 == looks


@pytest.mark.integration
def test_an_answer_is_not_waited_for() -> None:
    code = "import sys; print(1, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert isolate.answers_within(process.pid, process.stdout, 60.0)
        process.kill()


def test_what_a_process_computes_is_counted() -> None:
    before, end = isolate.cpu_seconds(os.getpid()), time.process_time() + 0.1
    while time.process_time() < end:
        pass
    assert 0.05 < isolate.cpu_seconds(os.getpid()) - before < 10
    assert isolate.cpu_seconds(2**30) == 0.0
