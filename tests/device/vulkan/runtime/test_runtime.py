"""Host cost of the Vulkan runtime, and its behaviour when a device does not answer."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import kgen
from kgen.spec import DType, Matmul
from kgen_runtime.backends.vulkan import VulkanBackend
from kgen_runtime.backends.vulkan.recording import MOST_RECORDINGS
from kgen_runtime.errors import ArgumentError, DeviceLost
from tests.device.vulkan.vulkan_support import build, loadable, open_vulkan
from tests.drivers import MOCK, SWIFTSHADER
from tests.specs import relu_of

RELU = relu_of((1000,), dtype=DType.F32)

#: On a driver that does nothing, so that all that counts is the host's work.
ON_THE_MOCK = """
import resource, time, numpy as np, kgen_runtime, sys
from kgen_runtime.backends.vulkan.memory import MemoryKind
from kgen_runtime.backends.vulkan.recording import Recorder
kernels = kgen_runtime.load(sys.argv[1], device="vulkan")
backend, relu = kernels.backend, kernels.relu
x = kernels.to_device(np.ones(1000, np.float32))
out = relu(x)
call = relu.prepare(x, out=out)

written = []
write = Recorder.write
Recorder.write = lambda *arguments: (written.append(1), write(*arguments))

def microseconds(work, count):
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count * 1e6

def most_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def nothing(argument):
    return argument

def calls():
    for _ in range(100):
        nothing(x)

def under(limit, work):
    # In calls of a function that does nothing, as machines differ. The best of short rounds, in
    # turn: others use this machine too.
    rounds = [(microseconds(work, 10), microseconds(calls, 4) / 100) for _ in range(500)]
    best, empty = map(min, zip(*rounds))
    assert best < limit * empty, (best, empty)

under(100, call)
under(400, lambda: relu(x, out=out))
under(800, lambda: relu(x))  # 380 on Zen 3
assert len(written) < 5  # nearly every launch is one that was recorded before
written.clear()
for _ in range(10_000):
    call(); relu(x, out=out)
before = most_memory()
for _ in range(50_000):
    call(); relu(x, out=out)
assert most_memory() - before < 512, most_memory() - before  # KiB, after 10^5 launches
assert not written and len(backend._queue._fences) < 10

kept = [kernels.to_device(np.ones(10, np.float32)) for _ in range(6000)]
assert len(backend._memory.blocks) == 1
del kept
for _ in range(100):
    relu.prepare(x, out=out)()
backend.synchronize()
relu.prepare(x, out=out)
assert len(backend._prepared) < 5 and len(backend._forgotten) < 5

types = [  # of the mock: DEVICE_LOCAL is 1, HOST_VISIBLE 2, HOST_COHERENT 4, HOST_CACHED 8
    t.propertyFlags for t in
    __import__("vulkan").vkGetPhysicalDeviceMemoryProperties(backend._memory._physical).memoryTypes
]
best = {
    kind: types[next(i for flags in kind.candidates() for i in backend._memory._types(63, flags))]
    for kind in MemoryKind
}
assert best[MemoryKind.DOWNLOAD] & 8 and best[MemoryKind.SHARED] & 9 == 9
assert best[MemoryKind.UPLOAD] & 6 == 6
"""


def test_the_hosts_work(tmp_path: Path) -> None:
    """A launch takes at most as long as 400 calls of a Python function; one that allocates its
    result 800, a prepared one 100. Nothing accumulates, and allocations are few."""
    path = kgen.build(RELU, targets=["vulkan1.1"]).save(tmp_path / "x.kgen")
    MOCK.python("-c", ON_THE_MOCK, str(path))


def test_more_buffers_than_recordings_are_kept_for() -> None:
    """A recording is reused for other buffers after its launches have finished, also if the
    memory of the earlier buffers was released."""
    backend = open_vulkan()
    kernel = backend.load(*loadable(build(RELU)))
    x = backend.alloc(4000)
    outs = [backend.alloc(4000) for _ in range(2 * MOST_RECORDINGS + 3)]
    back = np.empty(1000, np.float32)
    for turn in range(2):
        backend.copy_to_device(x, np.full(1000, turn + 1, np.float32).view(np.uint8))
        for out in outs:
            backend.launch(kernel, {"x": x, "out": out})
        for out in outs:
            backend.copy_from_device(back.view(np.uint8), out)
            assert (back == turn + 1).all()
    assert len(kernel.recordings.all()) == MOST_RECORDINGS
    for out in outs:
        backend.free(out)
    large = backend.alloc(2**26)
    backend.launch(kernel, {"x": x, "out": large})
    backend.free(large)
    assert backend._release(backend._memory.unused())
    large = backend.alloc(2**26)
    backend.launch(kernel, {"x": x, "out": large})
    backend.copy_from_device(back.view(np.uint8), large)
    assert (back == 2).all()
    backend.close()


@pytest.mark.parametrize("mapped", [True, False])
def test_four_threads_launch_one_kernel(mapped: bool) -> None:
    """Each thread has its own buffers, prepared and not, so all of them record commands; freed
    memory is reused by other threads."""
    backend = open_vulkan(mapped=mapped)
    kernel = backend.load(*loadable(build(RELU)))
    wrong: list[object] = []

    def work(seed: int) -> None:
        data = np.random.default_rng(seed).standard_normal(1000).astype(np.float32)
        back = np.empty_like(data)
        for turn in range(40):
            x, out = backend.alloc(4000), backend.alloc(4000)
            backend.copy_to_device(x, data.view(np.uint8))
            if turn % 2:
                backend.launch(kernel, {"x": x, "out": out})
            else:
                backend.prepare(kernel, {"x": x, "out": out})()
            backend.copy_from_device(back.view(np.uint8), out)
            if (back != np.maximum(data, 0)).any():
                wrong.append((seed, turn))
            backend.free(x)
            backend.free(out)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    backend.close()
    assert wrong == []


def test_a_lost_device_is_one_clean_error() -> None:
    """Every later call reports the lost device, and closing it raises nothing."""
    backend = open_vulkan()
    kernel = backend.load(*loadable(build(RELU)))
    x, out = backend.alloc(4000), backend.alloc(4000)
    backend._queue._vk_submit = lambda *_: -4  # VK_ERROR_DEVICE_LOST
    replay = backend.prepare(kernel, {"x": x, "out": out})
    host = np.zeros(4000, np.uint8)
    for use in (
        replay,
        lambda: backend.launch(kernel, {"x": x, "out": out}),
        backend.synchronize,
        lambda: backend.copy_to_device(x, host),
        lambda: backend.copy_from_device(host, x),
    ):
        with pytest.raises(DeviceLost, match=r"^vulkan: the device is lost; open it again"):
            use()
    backend.free(x)
    backend.close()


#: A product that takes a software driver a second or more.
LONG = """
import os, signal, sys, time, numpy as np, kgen_runtime
from kgen_runtime.errors import DeviceLost, LaunchError
kernels, n = kgen_runtime.load(sys.argv[1], device=sys.argv[2]), int(sys.argv[3])
a = kernels.to_device(np.ones((n, n), np.float32))
kernels.synchronize()
"""
HANGING = """
seconds = os.environ["KGEN_VULKAN_SECONDS"]
out = kernels.matmul(a, a)
try:
    kernels.synchronize()
except LaunchError as error:
    assert f"did not answer for {seconds} s: a kernel hangs" in str(error)
else:
    sys.exit("it was waited for")
for use in (lambda: kernels.matmul(a, a), kernels.synchronize, out.numpy):
    try:
        use()
    except DeviceLost as error:
        assert f"did not finish within {seconds} s" in str(error)
    else:
        sys.exit("it was used")
kernels.close()
print("done", flush=True)
os._exit(0)  # the driver's threads still compute
"""
INTERRUPTED = """
def interrupt(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
out = kernels.matmul(a, a)
signal.setitimer(signal.ITIMER_REAL, 0.02)
try:
    kernels.synchronize()
except KeyboardInterrupt:
    print("done")
assert (out.numpy() == n).all()
"""


@pytest.mark.parametrize("ending", ["hang", "ctrl-c"])
def test_a_wait_ends(ending: str, tmp_path: Path) -> None:
    open_vulkan().close()
    check_that_a_wait_ends("vulkan", ending, "0.01", 1024, tmp_path)


def check_that_a_wait_ends(device: str, ending: str, seconds: str, n: int, folder: Path) -> None:
    """Check that a kernel beyond the time limit is an error after which nothing waits, and that
    Ctrl-C ends a wait and leaves the device usable."""
    program, seconds = {"hang": (HANGING, seconds), "ctrl-c": (INTERRUPTED, "0")}[ending]
    spec = Matmul(m=n, n=n, k=n, dtype=DType.F32)
    path = kgen.build(spec, targets=["vulkan1.1"]).save(folder / "x.kgen")
    done = subprocess.run(
        [sys.executable, "-c", LONG + program, str(path), device, str(n)],
        capture_output=True,
        text=True,
        env=os.environ | {"KGEN_VULKAN_SECONDS": seconds},
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


@pytest.mark.parametrize("seconds", ["soon", "-1", "nan", "inf"])
def test_a_limit_that_is_none(seconds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_vulkan().close()
    monkeypatch.setenv("KGEN_VULKAN_SECONDS", seconds)
    with pytest.raises(ArgumentError, match="is not a number of seconds"):
        VulkanBackend()


def test_what_is_compiled_is_kept(tmp_path: Path) -> None:
    """Compiled pipelines are stored in a file per driver; a damaged file is replaced."""
    path = kgen.build(RELU, targets=["vulkan1.1"]).save(tmp_path / "x.kgen")
    program = (
        "import sys, kgen_runtime, numpy as np\n"
        "kernels = kgen_runtime.load(sys.argv[1], device='vulkan')\n"
        "assert (kernels.relu(kernels.to_device(np.ones(1000, np.float32))).numpy() == 1).all()\n"
    )
    driver = SWIFTSHADER.with_environment(KGEN_CACHE="1", KGEN_CACHE_DIR=str(tmp_path / "cache"))
    driver.python("-c", program, str(path))
    (kept,) = (tmp_path / "cache" / "vulkan").iterdir()
    sound = kept.read_bytes()
    kept.write_bytes(sound[:40] + b"damaged" + sound[47:])
    driver.python("-c", program, str(path))
    assert len(kept.read_bytes()) == len(sound) and b"damaged" not in kept.read_bytes()
