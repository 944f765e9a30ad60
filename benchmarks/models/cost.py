"""Other costs of a model than its time: compilation, bundle, loading, start, memory."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import kgen
from benchmarks.machine import ROOT
from benchmarks.models import as_avx2
from benchmarks.models.models import Model
from kgen.graph import compile as compiling
from kgen_runtime.manifest import Manifest

#: Processes that are started to time a start.
STARTS = 5
#: A target of each family.
EVERYWHERE = ("native", "sm_80", "gfx942", "vulkan1.3")
#: Formats of artifacts for people.
TEXTS = (".ll", ".s", ".ptx", ".txt")
#: Program that loads a model and runs it once. It prints the seconds from the imports to the
#: prepared call, and the memory of the process.
CHILD = """
import json, sys, time
import numpy as np
kind, path, inputs, verify, folder = sys.argv[1:6]
data = {name: np.fromfile(file, dtype).reshape(shape)
        for name, file, dtype, shape in json.loads(inputs)}
if kind == "kgen":
    from kgen_runtime import load
    imported = time.perf_counter()
    program = load(path, device="cpu", num_threads=1, verify=verify).program
    call = program.prepare(data)
    loaded = time.perf_counter()
    call()
else:
    if folder:
        import ctypes
        sys.path.insert(0, folder)
        assert ctypes.CDLL(f"{folder}/as_avx2.so").as_avx2_begin() == 0
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    imported = time.perf_counter()
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter()
    session.run(None, {i.name: data[i.name] if i.name in data else np.zeros(i.shape, "f")
                       for i in session.get_inputs()})
words = open("/proc/self/status").read().split()
print(json.dumps({"load": loaded - imported, "resident": int(words[words.index("VmRSS:") + 1])}))
"""


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """Seconds of compilations and bytes of the bundle.

    `again`: with all kernels in the cache (only models without states). `everywhere`: for a target
    of each family. `overhead`: bytes of the bundle without weights and the texts of kernels.
    """

    seconds: float
    again: float | None
    everywhere: float | None
    steps: int
    kernels: int
    arena: int
    least: int
    weights: int
    bundle: int
    overhead: int


@dataclass(frozen=True, kw_only=True)
class Start:
    """Seconds to load, seconds from process start to the first result, and resident bytes then."""

    load: float
    start: float
    resident: int


def compiled(model: Model, onnx: Path, bundle: Path) -> tuple[Compiled, Manifest]:
    """Compile a model for this CPU into a bundle; return the costs and the manifest."""

    def make(
        *, cache: bool = False, names: Sequence[str] = EVERYWHERE[:1]
    ) -> compiling.CompiledModel:
        return kgen.compile_model(
            onnx,
            names,
            shapes=model.shapes,
            states=model.states,
            weights=model.weights,
            products=model.products,
            cache=cache,
        )

    start = time.perf_counter()
    made = make()
    made.bundle.save(bundle)
    seconds = time.perf_counter() - start
    again = everywhere = None
    if not model.states:
        make(cache=True)
        start = time.perf_counter()
        make(cache=True).bundle.save(bundle)
        again = time.perf_counter() - start
    if model.everywhere:
        start = time.perf_counter()
        make(names=EVERYWHERE).bundle.save(bundle.with_suffix(".all"))
        everywhere = time.perf_counter() - start
        bundle.with_suffix(".all").unlink()
    (program,) = made.bundle.manifest.programs
    weights = sum({weight.file: weight.nbytes for weight in program.weights}.values())
    with zipfile.ZipFile(bundle) as file:
        texts = sum(e.file_size for e in file.infolist() if e.filename.endswith(TEXTS))
    found = Compiled(
        seconds=seconds,
        again=again,
        everywhere=everywhere,
        steps=len(program.steps),
        kernels=len(program.kernels),
        arena=program.arena_bytes,
        least=made.memory[program.target].least,
        weights=weights,
        bundle=bundle.stat().st_size,
        overhead=bundle.stat().st_size - weights - texts,
    )
    return found, made.bundle.manifest


def started(model: Model, kind: str, path: Path, verify: str = "code") -> Start:
    """Return the medians over STARTS processes."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        inputs = []
        for number, (name, array) in enumerate(model.inputs().items()):
            file = str(Path(folder) / str(number))
            array.tofile(file)
            inputs.append((name, file, array.dtype.str, array.shape))
        limited = as_avx2.folder_of("onnxruntime") if kind == "onnxruntime" else ""
        command = [sys.executable, "-c", CHILD, kind, str(path), json.dumps(inputs), verify]
        command.append(str(limited))
        # As in an installation: pip compiles modules, but a checkout's first process must do it.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder) / "compiled")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(STARTS + 1):
            start = time.perf_counter()
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
            ) as process:
                assert process.stdout is not None
                line = process.stdout.readline()
                seconds = time.perf_counter() - start
            said = json.loads(line)
            if number:
                found.append((said["load"], seconds, said["resident"] * 1024))
    load, start_, resident = map(statistics.median, zip(*found, strict=True))
    return Start(load=load, start=start_, resident=int(resident))
