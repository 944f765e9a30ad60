"""Export transformers by both exporters of PyTorch, compile them, and compare with ONNX Runtime.

    python -m benchmarks.exports [--only MODEL,...] [--folder FOLDER] [--verify]

Each model is exported with fixed sizes, and with sizes that are fixed when kgen compiles it. A row
has the nodes of the file, the seconds of the compilation, and the largest difference from ONNX
Runtime as a fraction of the largest value. Exit status 1: a model is refused, wrong or slow.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnxruntime as ort

import kgen
import kgen_runtime
from benchmarks import suite
from benchmarks.differences import apart
from benchmarks.exports.architectures import ARCHITECTURES, Architecture, exported
from benchmarks.results import Row
from kgen.cli.model_check import verified
from kgen.errors import KgenError

#: Largest accepted difference from ONNX Runtime, and most seconds of a compilation.
DIFFERENCE, LIMIT = 1e-4, 8.0
TARGET = "x86-64-v3"


def rows(model: Architecture, folder: Path, verify: bool) -> Iterator[Row]:
    """Yield the rows of a model: by each exporter, with fixed and with open sizes."""
    for dynamo in (False, True):
        for is_open in (False, True):
            sizes = "open" if is_open else "fixed"
            exporter = "dynamo" if dynamo else "torchscript"
            path = folder / f"{model.name}-{exporter}-{sizes}.onnx"
            variant = {"exporter": exporter, "sizes": sizes}
            try:
                if not path.exists():
                    exported(model, path, dynamo=dynamo, is_open=is_open)
            except Exception as error:  # any error of the exporter
                said = f"{type(error).__name__}: {error}".splitlines()[0]
                yield Row(table="exports", work=model.name, variant=variant,
                          values={"not_exported": said})  # fmt: skip
                continue
            values = checked(model, path, is_open=is_open, verify=verify)
            yield Row(table="exports", work=model.name, variant=variant, values=values)


def checked(
    model: Architecture, path: Path, *, is_open: bool, verify: bool
) -> dict[str, float | str]:
    """Compile a file and compare its results with ONNX Runtime's."""
    values: dict[str, float | str] = {"nodes": len(onnx.load(path).graph.node)}
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    known = {i.name for i in session.get_inputs()}
    arrays = {
        name: tensor.numpy()
        for name, tensor in {**model.inputs, **model.past}.items()
        if name in known
    }
    expected = session.run(None, arrays)
    shapes = {name: array.shape for name, array in arrays.items()} if is_open else {}
    start, cpu = time.perf_counter(), time.process_time()
    try:
        made = kgen.compile_model(path, [TARGET], shapes=shapes, cache=False)
    except KgenError as error:
        return {**values, "refused": str(error)}
    values["seconds"] = time.perf_counter() - start
    values["cpu_seconds"] = time.process_time() - cpu
    bundle = path.with_suffix(".kgen")
    made.bundle.save(bundle)
    program = kgen_runtime.load(bundle, device="cpu", num_threads=1).program
    values["steps"] = len(made.bundle.manifest.programs[0].steps)
    found = program.run(**arrays)
    results = found if isinstance(found, dict) else {program.output_names[0]: found}
    names = [output.name for output in session.get_outputs()]
    values["furthest_apart"] = apart(results, dict(zip(names, expected, strict=True)))
    if verify:
        (result,) = verified(made.bundle, str(path))
        values["verify"] = result.status
    return values


def is_right(row: Row) -> bool:
    values = row.values
    apart, seconds = values.get("furthest_apart"), values.get("seconds")
    return (
        isinstance(apart, float)
        and apart <= DIFFERENCE
        and isinstance(seconds, float)
        and seconds <= LIMIT
        and values.get("verify", "passed") == "passed"
    )


def main() -> int:
    parser = suite.options(__doc__)
    parser.add_argument("--folder", type=Path, help="keep the ONNX files and bundles here")
    parser.add_argument("--verify", action="store_true", help="verify each step too")
    args = parser.parse_args()
    todo = suite.chosen(parser, args.only, {model.name: model for model in ARCHITECTURES})
    names = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")
    run = suite.Run("exports", args, versions=suite.versions(*names))
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for model in todo:
            for row in rows(model, folder, args.verify):
                run.add(row)
                wrong += not is_right(row)
    print(f"written: {run.path}; {wrong} models refused, wrong or slow")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
