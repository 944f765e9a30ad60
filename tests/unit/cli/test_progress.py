"""Progress of a verification: kernel, data set and remaining time."""

from __future__ import annotations

import re
import time

import pytest

import kgen
from kgen.check.verify import progress
from kgen.check.verify.progress import Progress
from kgen.check.verify.run import verify
from kgen.spec import DType, Matmul


class Clock:
    """Time that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def test_what_is_left_follows_what_was_measured(clock: Clock) -> None:
    told = Progress(None, 2)
    told.kernel("sm_80/x")
    assert told.line() == "verifying 1 of 2: sm_80/x"
    told.expect(10.0)
    told.data_set("random")
    assert told.line() == "verifying 1 of 2, about 30 s left of it: sm_80/x: random data"
    clock.now += 4
    assert "about 26 s left" in told.line()
    clock.now += 11  # Five seconds longer than expected: so will the others be.
    assert "about 30 s left" in told.line()
    clock.now += 5  # Twice as long.
    told.data_set("whole-number")
    assert told.line() == "verifying 1 of 2, about 40 s left of it: sm_80/x: whole-number data"
    told.kernel("native/x")
    assert told.line() == "verifying 2 of 2: native/x"
    told.expect(1.0)
    told.data_set("random")
    assert "about 6 s left" in told.line()


def test_it_is_told_every_second_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TICK_SECONDS", 0.01)
    lines: list[str] = []
    with Progress(lines.append, 1) as told:
        told.kernel("x")
        end = time.monotonic() + 30
        while len(lines) < 3 and time.monotonic() < end:
            time.sleep(0.01)
    count = len(lines)
    assert count >= 3
    time.sleep(0.05)
    assert len(lines) == count


@pytest.mark.integration
def test_verify_on_the_emulator_says_what_is_left() -> None:
    bundle = kgen.build(Matmul(m=16, n=16, k=16, dtype=DType.F32), targets=["sm_80", "x86-64-v3"])
    lines: list[str] = []
    assert verify(bundle, on="emulator", progress=lines.append).passed
    name = "x86-64-v3/matmul_16x16x16_f32_nn"
    assert f"verifying 2 of 2: {name}" in lines
    line = re.compile(rf"verifying 2 of 2, about \d+ s left of it: {name}: whole-number data")
    assert any(map(line.fullmatch, lines))
