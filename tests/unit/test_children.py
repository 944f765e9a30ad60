"""Child processes end with their parent, also if it is killed."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from kgen.parallel import children
from tests.unit.runtime.test_isolate import broken, needs_x86_64

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and prctl are Linux's")

CODEGEN = Path(__file__).parents[2] / "codegen"
#: Patience with a process that starts, or that should end.
SECONDS = 60.0


def stat_of(process: int) -> tuple[str, int]:
    """Return state and parent (proc(5)); a zombie's for a process that is gone."""
    try:
        state, parent, *_ = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "Z", 0
    return state, int(parent)


def lives(process: int) -> bool:
    return stat_of(process)[0] != "Z"


def descendants(process: int) -> set[int]:
    everyone = {int(folder.name) for folder in Path("/proc").glob("[0-9]*")}
    parents = {child: stat_of(child)[1] for child in everyone if lives(child)}
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def wait_until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


class Victim:
    """A process that is killed once it has children."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments], stdout=subprocess.DEVNULL, start_new_session=True
        )
        self.children: set[int] = set()

    def kill_with(self, count: int, word: str) -> None:
        """Kill it when it has a number of children with `word` in their commands, a moment
        later."""

        def there() -> bool:
            assert self.process.poll() is None
            found = {c for c in descendants(self.process.pid) if word in command_of(c)}
            self.children |= found
            return len(found) >= count

        wait_until(there)
        time.sleep(0.5)
        self.process.kill()
        self.process.wait()

    def has_left_nothing(self) -> bool:
        wait_until(lambda: not any(map(lives, self.children)))
        return True


@pytest.fixture
def victim() -> Iterator[Callable[..., Victim]]:
    found: list[Victim] = []

    def start(*arguments: str) -> Victim:
        found.append(Victim(*arguments))
        return found[-1]

    yield start
    for each in found:
        each.process.kill()
        each.process.wait()
        for child in filter(lives, each.children):
            os.kill(child, signal.SIGKILL)


@pytest.mark.integration
@needs_x86_64
def test_a_worker_ends_with_a_verify_that_is_killed(
    victim: Callable[..., Victim], tmp_path: Path
) -> None:
    path = broken("hang").save(tmp_path / "hang.kgen")
    verify = victim("-m", "kgen", "verify", str(path))
    verify.kill_with(1, "kgen.check.execute.worker")
    assert verify.has_left_nothing()


@pytest.mark.integration
def test_a_worker_outlives_the_thread_that_started_it() -> None:
    code = (
        "import threading, time\n"
        "from kgen.check.execute.isolate import Worker\n"
        "found = []\n"
        "thread = threading.Thread(target=lambda: found.append(Worker('reference')))\n"
        "thread.start(); thread.join(); time.sleep(0.2)\n"
        "print(found[0].ask(('unload',), 60.0)); found[0].close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "('done',)\n", done.stderr


@pytest.mark.integration
def test_a_program_of_others_ends_with_us(victim: Callable[..., Victim]) -> None:
    code = (
        "import subprocess\n"
        "from kgen.parallel import children\n"
        "subprocess.run(['sleep', '600'], preexec_fn=children.tied())\n"
    )
    parent = victim("-c", code)
    parent.kill_with(1, "sleep 600")
    assert parent.has_left_nothing()


@pytest.mark.integration
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_ends_with_us(victim: Callable[..., Victim], method: str, tmp_path: Path) -> None:
    """Processes may be started in any way, and wait for work."""
    script = tmp_path / "pool_of_two.py"
    script.write_text(
        "import multiprocessing, time\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from kgen.parallel import children\n"
        "if __name__ == '__main__':\n"
        f"    context = multiprocessing.get_context({method!r})\n"
        "    with ProcessPoolExecutor(2, context, children.end_with_pool) as pool:\n"
        "        list(pool.map(time.sleep, [0.5, 0.5])); time.sleep(600)\n"
    )
    parent = victim(str(script))
    parent.kill_with(2, "pool_of_two" if method == "fork" else "multiprocessing")
    assert parent.has_left_nothing()


#: The worker of a device watches its pipe, LLVM's process ties itself, and the others end by
#: themselves in seconds.
UNTIED = [
    "kgen/check/execute/isolate.py: subprocess.Popen",
    "kgen/check/static/disassemble.py: subprocess.run",
    "kgen/targets/amdgpu/assemble.py: subprocess.Popen",
    "kgen/targets/cuda/assemble.py: subprocess.run",
    "kgen/targets/vulkan/assemble.py: subprocess.run",
    "kgen/tune/local_cpu.py: subprocess.run",
]


@pytest.mark.integration
def test_code_generation_ends_with_us(victim: Callable[..., Victim]) -> None:
    code = (
        "import os, subprocess, sys\n"
        "from kgen.targets.amdgpu.assemble import CHILD\n"
        "command = [sys.executable, '-I', str(CHILD), str(os.getpid())]\n"
        "subprocess.Popen(command, stdin=subprocess.PIPE).wait()\n"
    )
    parent = victim("-c", code)
    parent.kill_with(1, "codegen.py")
    assert parent.has_left_nothing()


#: Functions that start processes, and the argument that ties these to us.
TIES = {
    "subprocess.run": "preexec_fn",
    "subprocess.Popen": "preexec_fn",
    "ProcessPoolExecutor": "initializer",
    "Pool": "initializer",
}


@cache
def calls_that_start_processes() -> list[tuple[Path, str, ast.Call]]:
    """Return calls in kgen's code that start processes, each with its file and the function's
    name."""
    return [
        (path.relative_to(CODEGEN), name, node)
        for path in sorted(CODEGEN.rglob("*.py"))
        if "Pool" in (text := path.read_text()) or "subprocess" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in TIES
    ]


def test_everything_that_is_started_is_tied() -> None:
    """Programs that may run for ever, and pools, end with kgen."""
    untied = [
        f"{path}: {name}"
        for path, name, call in calls_that_start_processes()
        if TIES[name] not in {keyword.arg for keyword in call.keywords}
    ]
    assert sorted(untied) == UNTIED


def test_python_is_started_without_the_current_folder() -> None:
    """`children.python` and -I leave it out."""
    named = [
        str(path.relative_to(CODEGEN))
        for path in sorted(CODEGEN.rglob("*.py"))
        if "sys.executable" in path.read_text()
    ]
    assert named == ["kgen/parallel/children.py", "kgen/targets/amdgpu/assemble.py"]
    assert children.python([])[0][1] == "-P"
    assert '[sys.executable, "-I",' in (CODEGEN / named[1]).read_text()


def test_pools_fork() -> None:
    """Python's other start methods run `python -c`, with the current folder on its path."""
    pools = [ast.unparse(call) for _, name, call in calls_that_start_processes() if "Pool" in name]
    assert len(pools) == 2
    assert all("children.forking()" in pool for pool in pools)
