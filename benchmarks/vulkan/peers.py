"""Libraries (peers) that Vulkan kernels are compared with, each on the first Vulkan device.

For a problem, a peer returns a call that computes and waits, and a function that reads the result.
It raises Absent if it does not support the problem.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.vulkan import wgsl
from benchmarks.vulkan.problems import Problem

Values = npt.NDArray[Any]
BUILD = Path(__file__).parents[2] / "build" / "bench-vulkan"


class Absent(Exception):
    """Why a peer does not compute a problem."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """Prepared problem. `run` computes and waits for the end; `result` reads the result. `less` is
    work of `run` beyond the problem; its time is measured and subtracted."""

    run: Callable[[], object]
    result: Callable[[], Values]
    less: Callable[[], object] | None = None


def kgen_kernels(problem: Problem, inputs: list[Values]) -> Call:
    import kgen_runtime

    path = bundle(problem)
    kernels = kgen_runtime.load(path, device="vulkan")
    (kernel,) = kernels.values()
    arrays = [kernels.to_device(x) for x in inputs]
    out = kernel(*arrays)
    call = kernel.prepare(*arrays, out=out)

    def run() -> None:
        call()
        kernels.synchronize()

    return Call(run=run, result=out.numpy)


def bundle(problem: Problem) -> Path:
    """Return a bundle of the problem, built once: for any device, and for devices that are CPUs."""
    import kgen
    from kgen.spec.text import parse

    path = BUILD / f"{problem.file}.kgen"
    if not path.is_file():
        BUILD.mkdir(parents=True, exist_ok=True)
        kgen.build(parse(problem.kernel), targets=["vulkan1.3", "vulkan1.3+cpu"]).save(path)
    return path


def ncnn(problem: Problem, inputs: list[Values]) -> Call:
    """Prepare ncnn. Every call copies tensors from the host and back, so a net that only copies is
    timed too."""
    import ncnn as package

    layers = {"matmul": "Gemm", "softmax": "Softmax", "relu": "ReLU"}
    options = "0=1 1=1" if problem.op == "softmax" else ""

    def net(layer: str, count: int, options: str = "") -> Callable[[], Values]:
        names = ["a", "b"][:count]
        lines = [f"Input {x} 0 1 {x}" for x in names]
        lines.append(f"{layer} layer {count} 1 {' '.join(names)} out {options}".strip())
        made = package.Net()
        made.opt.use_vulkan_compute = True
        made.opt.openmp_blocktime = 0  # otherwise its threads spin while the next peer is timed
        for name in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
            half = problem.dtype == "f16" and name in ("fp16_packed", "fp16_storage")
            setattr(made.opt, f"use_{name}", half)
        made.load_param_mem("\n".join(["7767517", f"{count + 1} {count + 1}", *lines, ""]))
        with tempfile.NamedTemporaryFile(suffix=".bin") as empty:
            made.load_model(empty.name)
        mats = [package.Mat(np.ascontiguousarray(x, np.float32)) for x in inputs[:count]]

        def run() -> Values:
            extractor = made.create_extractor()
            for name, mat in zip(names, mats, strict=True):
                extractor.input(name, mat)
            _, out = extractor.extract("out")
            return np.array(out)

        run.net = made  # type: ignore[attr-defined]
        return run

    run = net(layers[problem.op], len(inputs), options)
    return Call(run=run, result=run, less=net("Noop", 1))


def iree(problem: Problem, inputs: list[Values]) -> Call:
    import iree.runtime as rt

    module = iree_module(problem)
    config = rt.Config("vulkan")
    context = rt.SystemContext(config=config)
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, module.read_bytes()))
    function = context.modules.module["f"]
    arrays = [rt.asdevicearray(config.device, x) for x in inputs]
    kept: list[Any] = []

    def run() -> None:
        kept[:] = [function(*arrays)]

    def result() -> Values:
        """Read through memory that is visible to the host: the package's own function imports host
        memory, and numpy's arrays are not aligned for that."""
        view = kept[0]._buffer_view
        source = view.get_buffer()
        host = config.device.allocator.allocate_buffer(
            memory_type=int(rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING_SCOPED),
            allocation_size=source.byte_length(),
        )
        done = config.device.create_semaphore(0)
        config.device.queue_copy(
            source,
            host,
            wait_semaphores=rt.HalFence.create_at(done, 0),
            signal_semaphores=rt.HalFence.create_at(done, 1),
        )
        rt.HalFence.create_at(done, 1).wait()
        dtype = rt.HalElementType.map_to_dtype(view.element_type)
        return np.array(host.map().asarray(view.shape, dtype))

    return Call(run=run, result=result)


def iree_module(problem: Problem) -> Path:
    """Return the module that IREE compiles, made once."""
    import iree.compiler

    path = BUILD / f"{problem.file}.vmfb"
    if not path.is_file():
        BUILD.mkdir(parents=True, exist_ok=True)
        # IREE's default target has no f16. Of the targets with f16, this one has the subgroup size
        # nearest to a CPU's.
        options = ["--iree-vulkan-target=valhall"] if problem.dtype == "f16" else []
        code = iree.compiler.compile_str(
            problem.mlir, target_backends=["vulkan-spirv"], extra_args=options
        )
        path.write_bytes(code)
    return path


def webgpu(problem: Problem, inputs: list[Values]) -> Call:
    """Prepare WGSL through wgpu, in f32 only."""
    import wgpu

    if problem.dtype != "f32":
        raise Absent("its f16 kernel is not written")
    text, grid = wgsl.kernel(problem)
    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    limits = {"max-storage-buffer-binding-size": 2**27}
    device = adapter.request_device_sync(required_limits=limits)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    buffers = [device.create_buffer_with_data(data=x, usage=usage) for x in inputs]
    nbytes = int(np.prod(problem.out_shape)) * 4
    buffers.append(device.create_buffer(size=nbytes, usage=usage))
    pipeline = device.create_compute_pipeline(
        layout="auto",
        compute={"module": device.create_shader_module(code=text), "entry_point": "main"},
    )
    entries = [{"binding": i, "resource": {"buffer": b}} for i, b in enumerate(buffers)]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

    def run() -> None:
        encoder = device.create_command_encoder()
        commands = encoder.begin_compute_pass()
        commands.set_pipeline(pipeline)
        commands.set_bind_group(0, group)
        commands.dispatch_workgroups(*grid)
        commands.end()
        device.queue.submit([encoder.finish()])
        device.queue.read_buffer(buffers[-1], 0, 4)  # which waits

    def result() -> Values:
        found = np.frombuffer(device.queue.read_buffer(buffers[-1]), np.float32)
        return found.reshape(problem.out_shape)

    return Call(run=run, result=result)


#: Peers by the titles of the table's columns.
PEERS: dict[str, Callable[[Problem, list[Values]], Call]] = {
    "kgen": kgen_kernels,
    "ncnn": ncnn,
    "IREE": iree,
    "WGSL": webgpu,
}
