"""Verification under one schedule, for tests of many shapes.

Mutations run the right kernels under 5 schedules, and the acceptance matrix its small shapes under
the default number.
"""

from __future__ import annotations

from pathlib import Path

from kgen.bundle import Bundle
from kgen.check.execute.runners import Emulation, On
from kgen.check.verify.run import VerificationReport
from tests import open_devices


def verify(bundle: Path | Bundle, *, on: On = "auto") -> VerificationReport:
    return open_devices.verify(bundle, on=on, emulation=Emulation(schedules=1))
