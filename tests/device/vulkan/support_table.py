"""The support table's kernels for Vulkan, tiny: each operation, type, layout and kind of edge.

    python -m tests.device.vulkan.support_table TARGET,... [LOG]

is a program that executes them on the driver of its process, each on random, whole-number and
special-value data as `kgen verify` does. One line of JSON for each: the kernel, whether it was
right, or why the device does not run it. LOG is the file of the validation layer's messages.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from kgen import pipeline, targets
from kgen.bundle import pack
from kgen.check.execute.device import DeviceExecutor
from kgen.check.verify import run as verification
from kgen.check.verify.inputs import data_sets
from kgen.errors import KgenError
from kgen.spec import Matmul, Spec
from kgen.spec.text import parse
from kgen.targets.base import Kernel
from kgen_runtime.backend import Backend, Code, choose_code
from kgen_runtime.backends.vulkan import VulkanBackend

FLOATS = ("f32", "f16", "bf16")
TYPES = (*FLOATS, "s64", "s32", "s8", "u8", "bool")
LAYOUTS = ("nn", "nt", "tn", "tt")
#: Whole tiles and vectors; a remainder in each dimension; few rows, few columns, one of each.
SIZES = ("32x32x16", "17x19x13", "1x20x33", "18x2x40", "1x1x1")


def lines() -> Iterator[str]:
    """The specs in one line each (:mod:`kgen.spec.text`)."""
    for dtype, size in product((*FLOATS, "s8"), SIZES):
        for layout in LAYOUTS if size in SIZES[:2] else LAYOUTS[1:2]:
            yield f"matmul {size} {dtype} layout={layout}"
    for narrow, layout in product(("bf16", "f16", "s8"), ("nn", "nt")):
        yield f"matmul 17x20x16 f32 layout={layout} b_dtype={narrow}"
    for dtype in FLOATS:
        yield f"matmul 9x10x8 {dtype} batch=2 alpha=0.5 beta=1 +bias+relu"
        yield f"matmul 9x10x8 {dtype} lda=12 ldb=14 ldc=16 batch=2 batch_stride_b=0 +bias+silu"
        yield f"matmul 9x10x8 {dtype} out={'f16' if dtype == 'f32' else 'f32'} +gelu+residual"
        yield f"matmul 9x12x8 {dtype} out=s8 +relu"
        yield f"matmul 9x10x8 s8 out={dtype} batch=2 alpha=0.5 beta=1 +bias+relu"
    # 16 bytes in a row: by cooperative matrices where the target has them.
    yield "matmul 32x32x64 s8"
    for dtype, size in product(TYPES, ("64", "3x21")):
        yield f"{'x+y' if dtype != 'bool' else 'where(x,y,x)'} {size},{size} {dtype}"
    for dtype in FLOATS:
        yield f"gelu(x)*y 3x21,21 {dtype}"
        yield f"relu(x) 4x5 {dtype} out={'bf16' if dtype == 'f16' else 'f16'}"
    for dtype in TYPES:
        yield f"where(mask,x,y) 7x6,7x6,6 bool,{dtype},{dtype}"
    for dtype, cols in product(FLOATS, (32, 37, 1100)):
        yield f"softmax(x) 3x{cols} {dtype}"
        yield f"layer_norm(x,scale,shift) 3x{cols},{cols},{cols} {dtype}"
    for dtype, size in product(TYPES, ("5x33", "3x1030")):
        # Rows are folded in f32 or s32; an s64 takes part element by element.
        yield (
            f"amax(x) {size} {dtype}"
            if dtype != "s64"
            else f"sum(where(x<3,y,0.0)) {size},{size} s64,f32"
        )
    for dtype in FLOATS:
        yield f"sum(x) 6x5x7 {dtype} axes=1"
        yield f"argmax(x) 5x33 {dtype}"


def specs() -> list[Spec]:
    return [parse(line) for line in lines()]


def executed(backend: Backend, kernel: Kernel) -> dict[str, Any]:
    """What was wrong of the kernel, run by run, or why the device does not run it."""
    bundle = pack([kernel])
    (entry,) = bundle.manifest.kernels
    chosen, reason = choose_code(backend, entry)
    if not chosen:
        return {"refused": reason}
    code = {m: Code(artifact=a, data=bundle.files[a.file]) for m, a in chosen.items()}
    executor = DeviceExecutor(backend, entry, code)
    wrong = []
    for data in data_sets(entry, 1):
        try:
            compared = verification.run(executor, entry, data, None, 1)
            if not compared.passed:
                wrong.append(verification.describe(entry, data, compared))
        except KgenError as error:
            wrong.append(f"{data.name} data: {error}")
    executor.close()
    return {"wrong": wrong}


def main(names: str, log: str = "") -> None:
    backend, seen = VulkanBackend(), 0
    for name, spec in product(names.split(","), specs()):
        if name.endswith("+cpu") and not isinstance(spec, Matmul):
            continue  # those are the same as without
        kernel = pipeline.kernel(spec, targets.find(name))
        found = {"kernel": f"{name}/{spec.key}", **executed(backend, kernel)}
        messages = Path(log).read_text().count("Validation Error") if Path(log).is_file() else 0
        print(json.dumps(found | {"messages": messages - seen}))
        seen = messages
    backend.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
