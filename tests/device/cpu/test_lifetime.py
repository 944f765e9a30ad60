"""Memory of bundles in long-running programs: what loading takes, and when it is released."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.spec import DType, Matmul
from kgen_runtime.backends.cpu.code import MappedCode
from kgen_runtime.errors import DeviceError
from tests.programs import ROWS, WIDE, mlp_bundle
from tests.specs import relu_of, softmax_of

SPECS = (
    relu_of((100,), dtype=DType.F32),
    softmax_of(4, 100, dtype=DType.F32),
    Matmul(m=8, n=8, k=8, dtype=DType.F32),
    Matmul(m=160, n=160, k=160, dtype=DType.F32),
)
X = np.linspace(-1, 1, 100, dtype=np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kgen.build(SPECS, targets=["native"]).save(tmp_path_factory.mktemp("b") / "four.kgen")


def files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def code_mappings() -> list[str]:
    """Return the mappings of kernels' machine code."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in lines if "/memfd:native/" in line]


def test_a_bundle_is_one_mapping_and_no_open_file(path: Path) -> None:
    before = files(), len(code_mappings())
    with kgen_runtime.load(path, device="cpu") as kernels:
        assert (files(), len(code_mappings())) == (before[0], before[1] + 1)
        (new,) = code_mappings()[before[1] :] or code_mappings()[-1:]
        assert " r-xp " in new and "native/relu_100_f32+softmax_4x100_f32+matmul_8x8x8" in new
        assert (kernels.relu(X) == np.maximum(X, 0)).all()
    assert (files(), len(code_mappings())) == before


def test_bundles_that_are_dropped_are_given_back(path: Path) -> None:
    kgen_runtime.load(path, device="cpu")
    before = files(), len(code_mappings())
    for _ in range(100):
        kgen_runtime.load(path, device="cpu")
    assert (files(), len(code_mappings())) == before


def test_closing_gives_the_file_back(tmp_path: Path) -> None:
    """Loaded objects still exist after closing; the file can be replaced, which Windows refuses
    for a mapped file."""
    path = mlp_bundle("x86-64-v3").save(tmp_path / "mlp.kgen")
    x = np.ones((ROWS, WIDE), "f")

    def mappings() -> int:
        return Path("/proc/self/maps").read_text().count(str(path))

    with kgen_runtime.load(path, device="cpu") as kernels:
        kernels.program.run(x=x)
        assert mappings() == 1
    assert mappings() == 0
    with pytest.raises(DeviceError, match="main: the bundle was closed; load it again"):
        kernels.program.run(x=x)


def test_what_is_used_is_kept(path: Path) -> None:
    """An operation, a kernel or a prepared call keeps its code; closing releases it."""
    before = len(code_mappings())
    relu = kgen_runtime.load(path, device="cpu").relu
    call = relu.prepare(X)
    del relu
    assert len(code_mappings()) == before + 1
    assert (call() == np.maximum(X, 0)).all()
    del call
    assert len(code_mappings()) == before
    kernels = kgen_runtime.load(path, device="cpu")
    call = kernels.relu.prepare(X)
    kernels.close()
    assert len(code_mappings()) == before
    with pytest.raises(DeviceError, match="relu_100_f32: the bundle was closed; load it again"):
        call()


CLOSING = """
import sys, threading, time, numpy as np, kgen_runtime
from kgen_runtime.errors import DeviceError
a = np.ones((160, 160), np.float32)
for number in range(12):
    kernels = kgen_runtime.load(sys.argv[1], device="cpu", num_threads=2)
    kernel = kernels[[key for key in kernels if "160" in key][0]]
    call, done, wrong = kernel.prepare(a, a), [], []
    def work(run):
        try:
            while True:
                wrong.extend([] if (run() == 160).all() else [number])
        except DeviceError as error:
            done.append(str(error))
    runs = [call, call, lambda: kernel(a, a), lambda: kernels.matmul(a, a)][:number % 4 + 1]
    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads: thread.start()
    time.sleep(0.002 * number)
    kernels.close()
    assert not [line for line in open("/proc/self/maps") if "matmul" in line] or threads
    for thread in threads: thread.join()
    assert not wrong and len(done) == len(runs), (wrong, done)
    assert all("the bundle was closed" in message for message in done), done
    assert not [line for line in open("/proc/self/maps") if "matmul" in line]
"""


def test_closing_while_threads_are_in_calls(path: Path) -> None:
    command = [sys.executable, "-c", CLOSING, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


FEW_FILES = """
import resource, sys, kgen_runtime
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = [kgen_runtime.load(sys.argv[1], device="cpu") for _ in range(100)]
print(len(held))
"""


def test_bundles_may_be_more_than_files(path: Path) -> None:
    command = [sys.executable, "-c", FEW_FILES, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("100\n", "")


@pytest.fixture(scope="module")
def code() -> bytes:
    bundle = kgen.build(SPECS[0], targets=["native"])
    return next(data for name, data in bundle.files.items() if name.endswith(".so"))


def changed(code: bytes, offset: int, format: str, value: int) -> bytes:
    data = bytearray(code)
    struct.pack_into(format, data, offset, value)
    return bytes(data)


#: Of the program headers' first (read-only) and third (the dynamic section's) entry.
FIRST, THIRD = 64, 64 + 2 * 56


def test_code_that_is_none_is_refused(code: bytes) -> None:
    (dynamic,) = struct.unpack_from("<Q", code, THIRD + 8)
    broken = {
        b"": "it is not a shared object",
        b"MZ" + code: "it is not a shared object",
        code[:200]: "its headers are damaged",
        code[:-1000]: "it is truncated",
        changed(code, 16, "<H", 1): "it is not a shared object",
        changed(code, 18, "<H", 8): "it is not for",
        changed(code, FIRST + 40, "<Q", 2**62): "a segment is larger in memory than in the file",
        changed(code, FIRST + 16, "<Q", 2**62): "a segment is larger in memory than in the file",
        changed(code, FIRST + 8, "<Q", 2**63): "it is truncated",
        changed(code, dynamic, "<Q", 7): "it needs a dynamic loader",
        changed(code, dynamic + 8, "<Q", 2**40): "its tables are outside of the file",
    }
    for data, message in broken.items():
        with pytest.raises(DeviceError, match=f"^native/x: its code cannot be mapped: .*{message}"):
            MappedCode([data], [("relu_100_f32", 0)], "native/x")
    with pytest.raises(DeviceError, match="native/x: its code has no function softmax"):
        MappedCode([code], [("relu_100_f32", 0), ("softmax", 0)], "native/x")


def test_damaged_code_is_refused_or_mapped(code: bytes) -> None:
    """Changing any byte of headers and tables never crashes, and gives no other error."""
    for offset in range(1000):
        for bits in (0x01, 0x80):
            data = bytearray(code)
            data[offset] ^= bits
            try:
                MappedCode([bytes(data)], [("relu_100_f32", 0)], "native/x")
            except DeviceError as error:
                assert "\n" not in str(error)
