"""Locks of the runtime are free after an exception or Ctrl-C in their holder."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kgen_runtime.locks import Lock
from tests.unit.runtime.fakes import in_a_child

pytestmark = pytest.mark.integration

INTERRUPTED = """
import signal
from kgen_runtime.locks import Lock

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
lock, interrupts = Lock(), 0
while interrupts < 500:
    try:
        signal.setitimer(signal.ITIMER_REAL, 100e-6)
        while True:
            with lock.lock:
                pass
    except KeyboardInterrupt:
        interrupts += 1
        assert not lock.lock.locked(), interrupts
"""


@pytest.mark.skipif(os.name == "nt", reason="timers are POSIX's")
def test_ctrl_c_leaves_a_lock_free() -> None:
    """Half of the interrupts come while the lock is acquired or released."""
    subprocess.run([sys.executable, "-c", INTERRUPTED], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_has_a_lock_anew() -> None:
    lock = Lock()

    def check() -> None:
        assert not lock.lock.locked()
        with lock.lock:
            pass

    with lock.lock:
        assert in_a_child(check) == 0
        assert lock.lock.locked()
