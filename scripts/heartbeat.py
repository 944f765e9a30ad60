#!/usr/bin/env python3
"""Run a command that may be silent for long, and print a line every few seconds until it ends.

scripts/heartbeat.py "installing packages" pip install --quiet ...
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence

#: Seconds between two lines.
INTERVAL = 5


def run(
    what: str,
    command: Sequence[str],
    interval: float = INTERVAL,
    say: Callable[[str], None] = print,
    *,
    shows: bool = True,
) -> int:
    """Run the command and return its exit status; `say` gets a line every `interval` seconds.

    Without `shows`, the standard output of the command is dropped.
    """
    with subprocess.Popen(command, stdout=None if shows else subprocess.DEVNULL) as process:
        for turn in itertools.count(1):
            try:
                return process.wait(interval)
            except subprocess.TimeoutExpired:
                say(f"{what}: {turn * interval:g} s")
    raise AssertionError("a process ends or goes on")


def say_at_once(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:], say=say_at_once))
