"""Attention in models as one kernel and as its steps: what the compiler chose, beside both forms.

    python -m benchmarks.fused_attention [--count 20] [--seed 0] [--only shapes,minilm,...]

Random attention, written out as exporters do, is compiled in both forms, which run in turn in one
thread; `share` is the time of the better form over that of the chosen one. Models are timed as
compiled, and compiled without fused attention (`steps`). Exit status 1: a share is below SHARE,
or a model's ratio to its steps is below GAIN (LONG_GAIN for LONG tokens).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

import kgen
import kgen_runtime
from benchmarks import suite
from benchmarks.differences import apart
from benchmarks.models.models import MODELS, VOCABULARY, Inputs, Model, images, made, smollm2
from benchmarks.models.vision_transformers import VISION_TRANSFORMERS
from benchmarks.results import Peer, Row, Timing
from kgen import targets
from kgen.check.bench import timing
from kgen.graph.compile import CompiledModel

#: Bars: least share of a choice, and least gain of a model, and of one of LONG tokens.
SHARE, GAIN, LONG_GAIN, LONG = 0.97, 1.05, 1.3, 1024
#: Ranges of sizes, drawn evenly on a logarithmic scale, and the most scores.
BATCH, HEADS, LENGTH, SCORES = (1, 8), (1, 16), (8, 1024), 2**24
HEAD_SIZES, GROUPS = (32, 64, 80, 128), (1, 1, 4)
OPSET = 20
#: Models of the suite `models` that have attention of many queries; exporter of the others.
BENCHMARKED, VISION = ("minilm", "smollm2-prefill"), "benchmarks/models/vision_transformers.py"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Written:
    """Sizes of attention that a model writes out; `group` heads share keys and values."""

    batch: int
    heads: int
    group: int
    queries: int
    keys: int
    size: int
    is_masked: bool

    def __str__(self) -> str:
        sizes = (self.batch, self.heads, self.queries, self.size)
        words = ["x".join(map(str, sizes)), f"keys={self.keys}", f"kv_heads={self.kv_heads}"]
        return " ".join(["attention", *words, *["mask"] * self.is_masked])

    @property
    def kv_heads(self) -> int:
        return self.heads // self.group

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs: positions before heads, as products leave them."""
        kv = (self.batch, self.keys, self.kv_heads * self.size)
        found: dict[str, tuple[int, ...]] = {
            "q": (self.batch, self.queries, self.heads * self.size),
            "k": kv,
            "v": kv,
        }
        if self.is_masked:
            found["mask"] = (1, 1, self.queries, self.keys)
        return found


def drawn(random: Random) -> Iterator[Written]:
    """Yield random sizes without end: a quarter are steps of decoders, a half attend to as many
    keys as there are queries."""
    for number in itertools.count():
        while True:
            batch, heads, queries, keys = (
                round(math.exp(random.uniform(*map(math.log, ends))))
                for ends in (BATCH, HEADS, LENGTH, LENGTH)
            )
            group = random.choice(GROUPS)
            own = (queries, queries)
            queries, keys = ((1, keys), own, own, (queries, keys))[number % 4]
            if batch * heads * group * queries * keys <= SCORES:
                break
        yield Written(
            batch=batch,
            heads=heads * group,
            group=group,
            queries=queries,
            keys=keys,
            size=random.choice(HEAD_SIZES),
            is_masked=random.random() < 0.5,
        )


def model(spec: Written) -> Any:
    """Return the ONNX model."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []

    def node(op: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [f"{op}.{len(nodes)}"], **attributes))
        return f"{op}.{len(nodes) - 1}"

    def sizes(*values: int) -> str:
        constants.append(numpy_helper.from_array(np.array(values), f"sizes.{len(constants)}"))
        return f"sizes.{len(constants) - 1}"

    def head(name: str, count: int, length: int) -> str:
        """Return heads before positions; a head of K or V is repeated for heads that share it."""
        split = node("Reshape", name, sizes(spec.batch, length, count, spec.size))
        found = node("Transpose", split, perm=[0, 2, 1, 3])
        if count == spec.heads:
            return found
        one = node("Unsqueeze", found, sizes(2))
        each = node("Expand", one, sizes(spec.batch, count, spec.heads // count, length, spec.size))
        return node("Reshape", each, sizes(spec.batch, spec.heads, length, spec.size))

    q = head("q", spec.heads, spec.queries)
    k, v = (head(name, spec.kv_heads, spec.keys) for name in "kv")
    scale = np.array(spec.size**-0.5, np.float32)
    constants.append(numpy_helper.from_array(scale, "scale"))
    scores = node("MatMul", q, node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = node("Mul", scores, "scale")
    if spec.is_masked:
        scores = node("Add", scores, "mask")
    found = node("MatMul", node("Softmax", scores, axis=-1), v)
    found = node("Transpose", found, perm=[0, 2, 1, 3])
    node("Reshape", found, sizes(spec.batch, spec.queries, spec.heads * spec.size))
    nodes[-1].output[0] = "out"
    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (spec.shapes | {"out": spec.shapes["q"]}).items()
    }
    out = values.pop("out")
    graph = helper.make_graph(nodes, "attention", [*values.values()], [out], constants)
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def tensors(spec: Written) -> dict[str, npt.NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(shape, np.float32) for name, shape in spec.shapes.items()}


@contextmanager
def attention_is(one_kernel: bool) -> Iterator[None]:
    """Compile all attention for CPUs in this form, regardless of predicted times."""
    cpu = type(targets.family("cpu"))
    with mock.patch.multiple(cpu, is_calibrated=False, attends=lambda *_: one_kernel):
        yield


def timed(
    bundles: Mapping[str, CompiledModel], inputs: Inputs, threads: int, rounds: int, limit: float
) -> tuple[timing.TimingSample, float]:
    """Return the times of the programs, in order, and the largest difference of their results."""
    with tempfile.TemporaryDirectory() as folder:
        programs = [
            kgen_runtime.load(
                bundle.save(Path(folder) / f"{name}.kgen"), device="cpu", num_threads=threads
            ).program
            for name, bundle in bundles.items()
        ]
        calls = [program.prepare(inputs) for program in programs]
        first, second = (_outputs(call()) for call in calls)
        rest = timing.rest_of(threads)
        return timing.quiet_samples(calls, rounds, limit, rest=rest), apart(first, second)


def _outputs(found: Any) -> dict[str, npt.NDArray[Any]]:
    """Copy the outputs of a call, which the next one overwrites."""
    named = found if isinstance(found, dict) else {"out": found}
    return {name: np.array(value) for name, value in named.items()}


def choice(spec: Written, target: str, rounds: int, limit: float) -> Row:
    """Time both forms of attention of a shape."""
    source = model(spec)
    chosen = kgen.compile_model(source, [target])
    (found,) = (each for lowered in chosen.lowered.values() for each in lowered.choices)
    forms = {}
    for name, is_one in (("one kernel", True), ("steps", False)):
        with attention_is(is_one):
            forms[name] = kgen.compile_model(source, [target])
    taken, furthest = timed(forms, tensors(spec), 1, rounds, limit)
    one, steps = (statistics.median(times) for times in taken.times)
    own = one if found.is_one_kernel else steps
    values: dict[str, float | str] = {
        "share": min(one, steps) / own,
        "chosen": "one kernel" if found.is_one_kernel else "steps",
        "furthest_apart": furthest,
    }
    if found.seconds is not None and found.seconds_apart is not None:
        values["predicted"] = found.seconds_apart / found.seconds
    return Row(
        table="choice",
        work=str(spec),
        variant={"threads": 1},
        time=Timing.of(taken.times[0]),
        peers={
            "steps": Peer(
                time=Timing.of(taken.times[1]),
                ratio=steps / one,
                noise=timing.ratio_noise(*taken.times),
            )
        },
        values=values,
    )


def models() -> dict[str, Callable[[], tuple[Path, Inputs]]]:
    """Return functions by name that make a model's file and inputs."""

    def vision(name: str, size: int, write: Callable[[Path, int], None]) -> tuple[Path, Inputs]:
        path = made(name, VISION, lambda path: write(path, size))
        return path, images(size)(0)

    def benchmarked(model: Model) -> tuple[Path, Inputs]:
        return model.path(), model.inputs()

    return {
        **{m.name: partial(benchmarked, m) for m in MODELS if m.name in BENCHMARKED},
        **{each[0]: partial(vision, *each) for each in VISION_TRANSFORMERS},
        f"smollm2-prefill-{LONG}": lambda: (
            smollm2(LONG)(),
            {"ids": np.random.default_rng(0).integers(0, VOCABULARY, (1, LONG))},
        ),
    }


def gain(
    name: str, path: Path, inputs: Inputs, threads: int, target: str, rounds: int, limit: float
) -> Row:
    """Time a model with and without fused attention."""
    forms = {"as compiled": kgen.compile_model(path, [target])}
    with attention_is(False):
        forms["steps"] = kgen.compile_model(path, [target])
    taken, furthest = timed(forms, inputs, threads, rounds, limit)
    ours, steps = (statistics.median(times) for times in taken.times)
    choices = [c for lowered in forms["as compiled"].lowered.values() for c in lowered.choices]
    return Row(
        table="models",
        work=name,
        variant={"threads": threads},
        time=Timing.of(taken.times[0]),
        peers={
            "steps": Peer(
                time=Timing.of(taken.times[1]),
                ratio=steps / ours,
                noise=timing.ratio_noise(*taken.times),
            )
        },
        values={
            "attention": len(choices),
            "one_kernel": sum(choice.is_one_kernel for choice in choices),
            "furthest_apart": furthest,
        },
    )


def missed(row: Row) -> bool:
    """Whether a row is below its bar."""
    if row.table == "choice":
        return float(row.values["share"]) < SHARE
    return (row.ratio("steps") or 0.0) < (LONG_GAIN if row.work.endswith(f"-{LONG}") else GAIN)


def main() -> int:
    parser = suite.options(__doc__)
    parser.add_argument("--count", type=int, default=20, help="number of shapes (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="threads of models (%(default)s)")
    parser.add_argument("--target", default="native")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds of a row's rounds")
    args = parser.parse_args()
    known = models()
    names = ["shapes", *known]
    todo = suite.chosen(parser, args.only, dict(zip(names, names, strict=True)))
    run = suite.Run("fused-attention", args, versions={})
    for name in todo:
        if name == "shapes":
            for spec in itertools.islice(drawn(Random(args.seed)), args.count):
                if not run.has("choice", str(spec)):
                    run.add(choice(spec, args.target, args.rounds, args.limit))
        elif not run.has("models", name):
            path, inputs = known[name]()
            run.add(gain(name, path, inputs, args.threads, args.target, args.rounds, args.limit))
    below = [row.work for row in run.results.rows if missed(row)]
    print(f"below their bars: {', '.join(below) or 'none'}; written: {run.path}")
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
