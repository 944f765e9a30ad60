"""Vulkan kernels on WebGPU devices: naga reads their SPIR-V, lavapipe executes it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.bundle import pack
from kgen.spec.text import parse
from kgen_runtime.backend import Code, choose_code
from kgen_runtime.backends.webgpu import WebgpuBackend, package
from kgen_runtime.errors import ArgumentError, DeviceError, DeviceMismatchError
from tests import needs, remainders
from tests.device.vulkan.runtime.test_runtime import check_that_a_wait_ends
from tests.device.vulkan.support_table import executed, specs
from tests.device.vulkan.vulkan_support import build, loadable, run
from tests.specs import relu_of

X = np.random.default_rng(0).standard_normal((33, 35)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((35, 34)).astype(np.float32)


@pytest.fixture(scope="module")
def webgpu() -> Iterator[WebgpuBackend]:
    needs.module("wgpu")
    try:
        backend = WebgpuBackend()
    except DeviceError as error:
        needs.debian("mesa-vulkan-drivers", str(error))
        raise
    yield backend
    backend.close()


def test_remainders_are_exact(webgpu: WebgpuBackend) -> None:
    x, y = remainders.pairs(np.float32, subnormal=False)
    found = {
        name: run(webgpu, build(parse(f"{text} {x.size} f32"), "vulkan1.1"), {"x": x, "y": y})
        for name, text in (("cut", "fmod(x,y)"), ("out", "x%y"), ("down", "x//y"))
    }
    remainders.check(x, y, found, flushes=True)


def test_a_bundle(webgpu: WebgpuBackend, tmp_path: Path) -> None:
    """A WebGPU device is used like any other: named, with explicit copies and prepared calls,
    also for f16 rows of whole words."""
    specs = [
        kgen.Matmul(m=33, n=34, k=35, dtype="f32", epilogue=("relu",)),
        kgen.Matmul(m=16, n=16, k=16),
        parse("softmax(x) 33x35 f32"),
        parse("softmax(x) 2x5000 f32"),
        parse("layer_norm(x) 33x35 f32"),
        relu_of((33, 35), dtype="f32"),
    ]
    path = kgen.build(specs, targets=["vulkan1.1", "vulkan1.3"]).save(tmp_path / "x.kgen")
    with kgen_runtime.load(path, device="webgpu") as kernels:
        x, y = kernels.to_device(X), kernels.to_device(Y)
        product = kernels.matmul(x, y).numpy()
        np.testing.assert_allclose(product, np.maximum(X @ Y, 0), rtol=1e-4, atol=1e-5)
        half = np.arange(256, dtype=np.float16).reshape(16, 16)
        eye = kernels.to_device(np.eye(16, dtype=np.float16))
        assert (kernels.matmul(kernels.to_device(half), eye).numpy() == half).all()
        wide = np.tile(X.reshape(-1), 9)[:10000].reshape(2, 5000)
        for values in (X, wide):
            e = np.exp(values - values.max(-1, keepdims=True))
            softmax = kernels.softmax(kernels.to_device(values)).numpy()
            np.testing.assert_allclose(softmax, e / e.sum(-1, keepdims=True), rtol=1e-4)
        mean, var = X.mean(-1, keepdims=True), X.var(-1, keepdims=True)
        normal = kernels.layer_norm(x).numpy()
        np.testing.assert_allclose(normal, (X - mean) / np.sqrt(var + 1e-5), rtol=1e-3, atol=1e-4)
        out = kernels.relu(x)
        call = kernels.relu.prepare(x, out=out)
        assert (call().numpy() == np.maximum(X, 0)).all()
        with pytest.raises(DeviceMismatchError, match="to_device"):
            kernels.relu(X)


@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3", "vulkan1.3+cpu"])
def test_naga_takes_every_module_of_words(webgpu: WebgpuBackend, target: str) -> None:
    """Each kernel of the support table has a module of words, from which naga makes a pipeline.
    Other targets have a sample."""
    for spec in specs()[:: 1 if target == "vulkan1.3" else 5]:
        bundle = pack([build(spec, target)])
        (entry,) = bundle.manifest.kernels
        chosen, reason = choose_code(webgpu.described, entry)
        assert chosen, f"{spec.key}: {reason}"
        code = {m: Code(artifact=a, data=bundle.files[a.file]) for m, a in chosen.items()}
        webgpu.unload(webgpu.load(entry, code))


@pytest.mark.parametrize("nbytes", [0, 1, 3, 4, 1003])
def test_copies_of_any_size(webgpu: WebgpuBackend, nbytes: int) -> None:
    """Parts of a buffer are copied without bytes beyond them, although WebGPU copies whole
    words."""
    buffer = webgpu.alloc(2048)
    whole = np.random.default_rng(2).integers(0, 256, 2048).astype(np.uint8)
    webgpu.copy_to_device(buffer, whole)
    part = webgpu.view(webgpu.view(buffer, 256, 1792), 513, nbytes)
    whole[769 : 769 + nbytes] = 7
    webgpu.copy_to_device(part, np.full(nbytes, 7, np.uint8))
    back, piece = np.empty(2048, np.uint8), np.empty(nbytes, np.uint8)
    webgpu.copy_from_device(back, buffer)
    webgpu.copy_from_device(piece, part)
    webgpu.free(buffer)
    assert (back == whole).all() and (piece == 7).all()


#: Accesses of halves and bytes that share words with those of other invocations.
SHARED_WORDS = (
    "x*2 21 f16",
    "x*2 5x3 s8",
    "where(x,y,x) 3x7,3x7 bool",
    "amax(x) 7x5 f16",
    "matmul 9x7x5 f16 +bias+relu",
    "matmul 7x5x9 s8",
    "matmul 7x5x9 s8 out=f16",
)
#: Instructions of signed integers, which naga takes for those of unsigned ones unless told.
SIGNED = (
    "abs(x)-min(x,y)+max(x,2) 32 s32",
    "x//y+x%y 32 s32",
    "clip(x,-3,9) 32 s8",
    "cast(x,f32)*y 32,32 s32,f32",
    "cast(x,s64)*y 32,32 s32,s64",
    "x//y-cast(x,s32) 32 s64",
    "gather(x,y) 5x4,3 f32,s32",
    "matmul 8x8x16 s8",
    "matmul 8x8x16 f32 b_dtype=s8",
    "amax(x) 4x32 s32",
)


@pytest.mark.parametrize("line", [*SHARED_WORDS, *SIGNED])
def test_what_naga_could_mistake(webgpu: WebgpuBackend, line: str) -> None:
    kernel = build(parse(line), "vulkan1.1")
    shares = "words.spv" in [a.extension for a in kernel.assembled.artifacts]
    assert shares == (line in SHARED_WORDS)
    assert executed(webgpu, kernel) == {"wrong": []}


@pytest.mark.parametrize("ending", ["hang", "ctrl-c"])
def test_a_wait_ends(webgpu: WebgpuBackend, ending: str, tmp_path: Path) -> None:
    """A product of 2048 takes lavapipe seconds; the wait ends before."""
    n = {"hang": 2048, "ctrl-c": 1024}[ending]
    check_that_a_wait_ends("webgpu", ending, "1", n, tmp_path)


def test_four_threads(webgpu: WebgpuBackend) -> None:
    kernel, results = build(relu_of((1000,), dtype="f32")), list[bool]()

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal(1000).astype(np.float32)
        for _ in range(5):
            results.append(bool((run(webgpu, kernel, {"x": x}) == np.maximum(x, 0)).all()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


def test_what_is_refused(webgpu: WebgpuBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each error is one line; nothing is prepared for a kernel that naga refuses."""
    with pytest.raises(
        DeviceError, match=r"webgpu:99 does not exist; this machine has \d+ WebGPU devices"
    ):
        WebgpuBackend(99)
    with pytest.raises(ArgumentError, match="stream=7: the webgpu backend has no streams"):
        webgpu.synchronize(7)
    entry, code = loadable(build(relu_of((3,), dtype="f16")))  # the first module, of several
    with pytest.raises(DeviceError, match=r"relu_3_f16: it needs storageBuffer16BitAccess"):
        webgpu.load(entry, code)
    entry, code = loadable(build(relu_of((4,), dtype="f32")))
    main = code["main"]
    # The last two instructions are gone, OpReturnValue and OpFunctionEnd.
    cut = {"main": Code(artifact=main.artifact, data=main.data[:-12])}
    with pytest.raises(DeviceError, match=r"relu_4_f32: naga refuses its SPIR-V: .+") as caught:
        webgpu.load(entry, cut)
    assert "\n" not in str(caught.value)
    text = {"main": Code(artifact=main.artifact, data=b"text")}
    with pytest.raises(DeviceError, match=r"relu_4_f32: .*spv is not a SPIR-V module; rebuild it"):
        webgpu.load(entry, text)
    with pytest.raises(DeviceError):
        webgpu.alloc(1 << 45)
    package.wgpu.cache_clear()
    monkeypatch.setitem(sys.modules, "wgpu", None)
    for use in (WebgpuBackend, WebgpuBackend.devices):
        with pytest.raises(DeviceError, match="pip install wgpu"):
            use()
    monkeypatch.undo()
    package.wgpu.cache_clear()


def test_a_closed_device_and_a_forked_child(tmp_path: Path) -> None:
    needs.module("wgpu")
    path = kgen.build(relu_of((3,), dtype="f32"), targets=["vulkan1.1"]).save(tmp_path / "x.kgen")
    done = subprocess.run(
        [sys.executable, "-c", FORKING, str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


FORKING = """
import os, signal, sys, numpy as np, kgen_runtime
def load(): return kgen_runtime.load(sys.argv[1], device="webgpu")
kernels, x = load(), np.array([-1, 0, 2], np.float32)
xd = kernels.to_device(x)
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    for use in (xd.numpy, lambda: kernels.relu(xd), kernels.synchronize, load):
        try:
            use()
        except kgen_runtime.KgenError as error:
            assert "webgpu: the driver does not work in a forked process" in str(error), error
        else:
            os._exit(1)
    kernels.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert (kernels.relu(xd).numpy() == [0, 0, 2]).all()
kernels.close()
kernels.close()
try:
    kernels.relu(xd)
except kgen_runtime.KgenError:
    sys.exit(0)
sys.exit(1)
"""
