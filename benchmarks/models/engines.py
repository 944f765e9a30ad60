"""Models in kgen, ONNX Runtime and OpenVINO, each as a call without arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

import kgen_runtime
from benchmarks import machine
from benchmarks.differences import Outputs
from benchmarks.models import as_avx2
from benchmarks.models.models import Inputs, Model, folder


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Loaded model. `load` is the seconds from the file to the call; `outputs` makes one call."""

    name: str
    load: float
    call: Callable[[], object]
    outputs: Callable[[], Outputs]


def kgen(model: Model, bundle: Path, threads: int, name: str = "kgen") -> Loaded:
    """Load a bundle. A decoder's caches stay in the program; other engines pass them in and out."""
    start = time.perf_counter()
    program = kgen_runtime.load(bundle, device="cpu", num_threads=threads).program
    call = program.prepare(model.inputs())
    load = time.perf_counter() - start

    def outputs() -> Outputs:
        call.reset()
        found = call()
        names = program.output_names
        return dict(found) if isinstance(found, dict) else {names[0]: found}

    return Loaded(name=name, load=load, call=call, outputs=outputs)


def filled(model: Model, shapes: Mapping[str, Sequence[int]]) -> Inputs:
    """Return every input of a file; states are zeros."""
    inputs = model.inputs()
    return {
        name: inputs[name] if name in inputs else np.zeros(tuple(shape), np.float32)
        for name, shape in shapes.items()
    }


def limit_onnxruntime() -> None:
    """Under scripts/as-avx2.sh, make `import onnxruntime` import a copy without AVX-512.

    ONNX Runtime executes CPUID itself, so the script cannot hide AVX-512 from it. Call this before
    anything imports onnxruntime; it also quantises models.
    """
    if machine.cpu_kind().startswith(machine.AVX2):
        version = metadata.version("onnxruntime")
        as_avx2.use("onnxruntime", folder() / f"onnxruntime-{version}-as-avx2")


def onnxruntime(model: Model, onnx: Path, threads: int) -> Loaded:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    start = time.perf_counter()
    session = ort.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
    load = time.perf_counter() - start
    data = filled(model, {i.name: i.shape for i in session.get_inputs()})
    names = [output.name for output in session.get_outputs()]
    return Loaded(
        name="onnxruntime",
        load=load,
        call=lambda: session.run(None, data),
        outputs=lambda: dict(zip(names, session.run(None, data), strict=True)),
    )


def openvino(model: Model, onnx: Path, threads: int) -> Loaded:
    import openvino as ov

    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    start = time.perf_counter()
    core = ov.Core()
    read = core.read_model(onnx)
    fixed = {name: list(array.shape) for name, array in model.inputs().items()}
    read.reshape(fixed)
    compiled = core.compile_model(read, "CPU", settings)
    request = compiled.create_infer_request()
    load = time.perf_counter() - start

    ports = {port.any_name: port.shape for port in compiled.inputs}
    data = filled(model, ports)

    def outputs() -> Outputs:
        request.infer(data)
        return {
            name: np.array(request.get_tensor(port).data)
            for port in compiled.outputs
            for name in port.get_names()
        }

    return Loaded(
        name="openvino",
        load=load,
        call=lambda: request.infer(data, share_inputs=True),
        outputs=outputs,
    )


PEERS = {"onnxruntime": onnxruntime, "openvino": openvino}
