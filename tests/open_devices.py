"""Verification on devices that stay open, so that kernels need no process each."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any

from kgen.bundle import Bundle
from kgen.check.execute.isolate import IsolatedDevices
from kgen.check.verify import run as verification
from kgen.check.verify.run import VerificationReport

_DEVICES = IsolatedDevices()
atexit.register(_DEVICES.close)


def verify(bundle: Path | Bundle, **options: Any) -> VerificationReport:
    return verification.verify(bundle, devices=_DEVICES, **options)
