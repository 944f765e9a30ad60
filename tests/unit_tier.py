"""Guard of `make unit`: its tests use no assembler, emulator, driver, socket or process.

The tier is tests/unit and tests/style without tests that are marked `integration` or `slow`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
FOLDERS = tuple(f"{TESTS / name}/" for name in ("unit", "style"))
MARK = "integration"
PROCESSES = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}
)
SOCKETS = frozenset({"socket.connect", "socket.bind", "socket.sendto"})
DRIVERS = ("libcuda", "libamdhip64", "libvulkan", "libwgpu", "libdnnl")


class Guard:
    """Fail the running test if it leaves the tier; watch nothing between tests."""

    def __init__(self) -> None:
        self.is_watching = False
        self._is_installed = False

    def watch(self, item: pytest.Item) -> None:
        self.is_watching = str(item.path).startswith(FOLDERS) and not item.get_closest_marker(MARK)
        if self.is_watching and not self._is_installed:
            self._install()

    def _install(self) -> None:
        from llvmlite.binding import TargetMachine

        from kgen.emulate import llvm, ptx

        self._is_installed = True
        sys.addaudithook(self._audit)
        for owner, name, does in (
            (TargetMachine, "emit_object", "generates machine code"),
            (TargetMachine, "emit_assembly", "generates machine code"),
            (ptx, "run", "runs the PTX emulator"),
            (llvm, "run", "runs the LLVM emulator"),
        ):
            setattr(owner, name, self._guarded(getattr(owner, name), does))

    def _guarded(self, function: Callable[..., Any], does: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def guarded(*arguments: Any, **options: Any) -> Any:
            if self.is_watching:
                refuse(does)
            return function(*arguments, **options)

        return guarded

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_watching:
            return
        if event in PROCESSES:
            refuse(f"starts a process ({event} {str(arguments[0])[:80] if arguments else ''})")
        if event in SOCKETS:
            refuse(f"opens a socket ({event})")
        if event == "ctypes.dlopen" and Path(str(arguments[0])).name.startswith(DRIVERS):
            refuse(f"loads a driver ({arguments[0]})")


def refuse(does: str) -> None:
    pytest.fail(f"a unit test {does}: mark it with pytest.mark.{MARK}", pytrace=False)


GUARD = Guard()
