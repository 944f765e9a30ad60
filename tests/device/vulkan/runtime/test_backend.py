"""The Vulkan backend on a real driver: memory, order, errors, and the validation layer."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.check.bench import run as bench
from kgen.spec import DType, Matmul
from kgen_runtime.backend import Code, SequenceStep
from kgen_runtime.backends.vulkan import VulkanBackend, transfers
from kgen_runtime.backends.vulkan.pipelines import VulkanDevice
from kgen_runtime.backends.vulkan.recording import Recorder
from kgen_runtime.errors import ArgumentError, DeviceError, OutOfMemory
from tests import needs
from tests.device.vulkan.vulkan_support import build, loadable, open_vulkan, run
from tests.specs import relu_of

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module", params=[True, False], ids=["mapped", "staged"])
def vulkan(request: pytest.FixtureRequest) -> Iterator[VulkanBackend]:
    """Open the device with host-visible memory, or with memory that only copies reach, as on a
    discrete GPU."""
    backend = open_vulkan(mapped=request.param)
    yield backend
    backend.close()


def noise(nbytes: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.random.default_rng(1).integers(0, 256, nbytes).astype(np.uint8)


@pytest.mark.parametrize("nbytes", [1, 2, 255, 1000003])
def test_copies_round_trip(vulkan: VulkanBackend, nbytes: int) -> None:
    buffer, data = vulkan.alloc(nbytes), noise(nbytes)
    vulkan.copy_to_device(buffer, data)
    back = np.zeros(nbytes, np.uint8)
    vulkan.copy_from_device(back, buffer)
    vulkan.free(buffer)
    np.testing.assert_array_equal(back, data)


def test_large_copies_go_in_pieces(vulkan: VulkanBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "STAGING_BYTES", 1000)
    test_copies_round_trip(vulkan, 12345)


def test_views_are_parts_of_a_buffer(vulkan: VulkanBackend) -> None:
    buffer, data = vulkan.alloc(2048), noise(2048)
    vulkan.copy_to_device(buffer, data)
    view = vulkan.view(vulkan.view(buffer, 512, 1024), 256, 100)
    vulkan.copy_to_device(view, np.zeros(100, np.uint8))
    data[768:868] = 0
    back = np.empty(2048, np.uint8)
    vulkan.copy_from_device(back, buffer)
    vulkan.free(buffer)
    np.testing.assert_array_equal(back, data)


def test_launches_run_in_order(vulkan: VulkanBackend) -> None:
    """Each product reads the previous one; there are more launches than may be in flight."""
    n = 32
    spec = Matmul(m=n, n=n, k=n, dtype=DType.F32)
    kernel = vulkan.load(*loadable(build(spec)))
    rotation = np.roll(np.eye(n, dtype=np.float32), 1, axis=0)
    buffers = [vulkan.alloc(rotation.nbytes) for _ in range(3)]
    a, *turns = buffers
    vulkan.copy_to_device(a, rotation.reshape(-1).view(np.uint8))
    vulkan.copy_to_device(turns[0], rotation.reshape(-1).view(np.uint8))
    for i in range(100):
        vulkan.launch(kernel, {"a": a, "b": turns[i % 2], "out": turns[(i + 1) % 2]})
    back = np.empty_like(rotation)
    vulkan.copy_from_device(back.reshape(-1).view(np.uint8), turns[0])
    for buffer in buffers:
        vulkan.free(buffer)
    vulkan.unload(kernel)
    np.testing.assert_array_equal(back, np.roll(np.eye(n), 101 % n, axis=0))


def test_threads_may_share_a_device(vulkan: VulkanBackend) -> None:
    spec = relu_of((1000,), dtype=DType.F32)
    results: list[bool] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal(1000).astype(np.float32)
        for _ in range(5):
            results.append(bool((run(vulkan, build(spec), {"x": x}) == np.maximum(x, 0)).all()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


def test_too_much_memory_is_an_error_of_ours(vulkan: VulkanBackend) -> None:
    with pytest.raises(OutOfMemory, match=r"out of (device|host) memory"):
        vulkan.alloc(1 << 45)
    assert run(vulkan, build(relu_of((1,), dtype=DType.F32)), {"x": np.ones(1)}) == 1.0


def test_there_are_no_streams(vulkan: VulkanBackend) -> None:
    with pytest.raises(ArgumentError, match="stream=7"):
        vulkan.synchronize(7)


def test_closing_may_be_done_twice_and_before_a_buffer_is_freed() -> None:
    backend = open_vulkan()
    buffer = backend.alloc(16)
    backend.load(*loadable(build(relu_of((1,), dtype=DType.F32))))
    backend.close()
    backend.close()
    backend.free(buffer)


def test_devices_that_do_not_exist() -> None:
    open_vulkan().close()
    with pytest.raises(DeviceError, match="vulkan:99 does not exist"):
        VulkanBackend(99)


def test_bad_code_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are not a module never reach the driver, which may crash."""
    backend = open_vulkan()
    entry, code = loadable(build(relu_of((1,), dtype=DType.F32)))
    text = {"main": Code(artifact=code["main"].artifact, data=b"text")}
    with pytest.raises(DeviceError, match=r"vulkan1.3/relu_1_f32: .*spv is not a SPIR-V module"):
        backend.load(entry, text)

    def reject(*_: object) -> None:
        raise DeviceError("vulkan: vkCreateComputePipelines: VkErrorUnknown")

    monkeypatch.setattr(VulkanDevice, "pipeline", reject)
    with pytest.raises(DeviceError, match=r"the driver rejects its SPIR-V: .*VkErrorUnknown"):
        backend.load(entry, code)
    backend.close()


def test_a_bundle_runs_through_the_runtime(tmp_path: Path) -> None:
    """Lavapipe runs a bundle if it is named; the automatic choice ignores software drivers."""
    backend = open_vulkan()
    software = backend.info.kind == "software"
    backend.close()
    spec = Matmul(m=33, n=17, k=41, dtype=DType.F32)
    path = kgen.build(spec, targets=["vulkan1.1", "vulkan1.3"]).save(tmp_path / "x.kgen")
    a, b = (np.ones(s, np.float32) for s in ((33, 41), (41, 17)))
    with kgen_runtime.load(path, device="vulkan") as kernels:
        out = kernels.matmul(kernels.to_device(a), kernels.to_device(b))
        np.testing.assert_array_equal(out.numpy(), a @ b)
        assert list(kernels.skipped) == ["vulkan1.1/" + spec.key]
        del out
    if software:
        with pytest.raises(DeviceError, match="only a software device exists"):
            kgen_runtime.load(path)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
def test_a_bundle_is_timed(dtype: DType, tmp_path: Path) -> None:
    """Inputs of every type reach the device."""
    open_vulkan().close()
    path = kgen.build(relu_of((64,), dtype), targets=["vulkan1.3"]).save(tmp_path / "x.kgen")
    (result,) = bench.bench(path, device="vulkan", against=(), rounds=1).kernels
    assert result.seconds > 0 and result.rounds == 1


def test_no_driver_is_said_in_one_line() -> None:
    nowhere = {"VK_ICD_FILENAMES": "/nonexistent.json", "VK_DRIVER_FILES": "/nonexistent.json"}
    program = (
        "from kgen_runtime.backends.vulkan import VulkanBackend\n"
        "from kgen_runtime.errors import DeviceError\n"
        "try: VulkanBackend()\n"
        "except DeviceError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | nowhere
    )
    assert done.returncode == 0, done.stderr
    if "package vulkan is missing" not in done.stdout:
        assert done.stdout.strip().endswith(
            ("apt install mesa-vulkan-drivers", "apt install libvulkan1 mesa-vulkan-drivers")
        )


#: Everything a backend does once, under the layer, with both kinds of memory.
UNDER_THE_LAYER = """
import tempfile, numpy as np, kgen_runtime
from kgen.spec import DType, Elementwise, Epilogue, Matmul, Rowwise
from tests.programs import ROWS, WIDE, mlp_bundle
from tests.device.vulkan.vulkan_support import VulkanBackend, build, run
from kgen_runtime.backends.vulkan.memory import MemoryKind
import sys
specs = [
    Matmul(m=65, n=66, k=67, batch=2, beta=1.0, epilogue=(Epilogue.BIAS, Epilogue.GELU)),
    Matmul(m=1, n=200, k=9, dtype=DType.F32, beta=0.5),
    Matmul(m=9, n=20, k=99, dtype=DType.BF16, out_dtype=DType.F32),
    Rowwise(expression="softmax(x)", shapes=((5, 301),), dtype=DType.F32),
    Rowwise(expression="log_softmax(x)", shapes=((2, 5000),)),
    Elementwise(expression="relu(x)", shapes=((1003,),), dtype=DType.BF16),
]
for mapped in (True, False):
    backend = VulkanBackend(mapped=mapped)
    for spec in specs:
        if spec.dtype is not DType.F32 and not backend.info.capabilities["features"]:
            continue
        inputs = {p.name: np.ones(p.extent) for p in spec.parameters if p.role == "input"}
        for target in ("vulkan1.1", "vulkan1.3"):
            run(backend, build(spec, target), inputs)
    if mapped and len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            path = mlp_bundle("vulkan1.1").save(f"{folder}/mlp.kgen")
            with kgen_runtime.load(path, device="vulkan") as kernels:
                for _ in range(3):
                    assert np.isfinite(kernels.program.run(x=np.ones((ROWS, WIDE), "f"))).all()
    if "leak" in sys.argv:
        backend._memory.new_block(16, MemoryKind.SHARED)
    backend.close()
"""


def under_the_layer(*arguments: str) -> str:
    """Return the messages of the validation layer, including its check of synchronisation."""
    environment = os.environ | {
        "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
        "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-c", UNDER_THE_LAYER, *arguments],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_validation_layer_has_nothing_to_say() -> None:
    open_vulkan().close()
    layer = Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
    missing = None if layer.is_file() else f"{layer} is not here"
    needs.debian("vulkan-validationlayers", missing)
    assert under_the_layer() == ""
    assert "Validation Error" in under_the_layer("leak")


def test_a_sequence_is_recorded_once(
    vulkan: VulkanBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Independent launches have no barrier between them; replays follow one another without a
    wait of the host."""
    entry, code = loadable(
        build(kgen.Elementwise(expression="x + y", shapes=((1000,), (1000,)), dtype="f32"))
    )
    kernel = vulkan.load(entry, code)
    x, y, once, twice, out = (vulkan.alloc(4000) for _ in range(5))
    ones = np.ones(1000, np.float32)
    for buffer in (x, y):
        vulkan.copy_to_device(buffer, ones.view(np.uint8))
    barriers: list[object] = []
    barrier = Recorder._barrier

    def counted(recorder: Recorder, commands: object) -> None:
        barriers.append(commands)
        barrier(recorder, commands)

    monkeypatch.setattr(Recorder, "_barrier", counted)
    steps = [
        SequenceStep(kernel=kernel, buffers={"x": x, "y": y, "out": once}),
        SequenceStep(kernel=kernel, buffers={"x": y, "y": x, "out": twice}),
        SequenceStep(kernel=kernel, buffers={"x": once, "y": twice, "out": out}, after=(0, 1)),
        SequenceStep(kernel=kernel, buffers={"x": out, "y": y, "out": x}, after=(0, 1, 2)),
    ]
    sequence = vulkan.sequence(steps)
    assert len(barriers) == 3  # before the third, before the fourth, and at the end
    for _ in range(4):  # out = 2 (x + 1), and x = out + 1
        sequence.run()
    back = np.zeros(1000, np.float32)
    vulkan.copy_from_device(back.view(np.uint8), out)
    assert (back == 60).all() and len(barriers) >= 3
    assert len(sequence.timed()) == 4
    del sequence
    vulkan.unload(kernel)
    for buffer in (x, y, once, twice, out):
        vulkan.free(buffer)


def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    """The child gets an error in one line instead of hanging, also at its end."""
    open_vulkan().close()
    path = tmp_path / "relu.kgen"
    relu = relu_of((3,), dtype=DType.F32)
    kgen.build(relu, targets=["vulkan1.1", "native"]).save(path)
    command = [sys.executable, "-c", FORKING, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


FORKING = """
import os, signal, sys, numpy as np, kgen_runtime
def load(device=None): return kgen_runtime.load(sys.argv[1], device=device)
kernels, x = load("vulkan"), np.array([-1, 0, 2], np.float32)
xd = kernels.to_device(x)
call = kernels.relu.prepare(xd)
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    uses = [call, xd.numpy, kernels.synchronize, lambda: kernels.to_device(x)]
    for use in (*uses, lambda: load("vulkan")):
        try:
            use()
        except kgen_runtime.KgenError as error:
            assert "vulkan: the driver does not work in a forked process" in str(error), error
        else:
            os._exit(1)
    del call, xd, use, uses
    kernels.close()
    sys.exit(not (load().relu(x) == [0, 0, 2]).all())
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert (call().numpy() == [0, 0, 2]).all()
"""
