"""Small kernels for every entry of Vulkan's support table: operations, types, layouts, functions
and kinds of edges, as listed by the family and the scalar language.

    python -m tests.device.vulkan.support_table TARGET,... [LOG]

Executes them on the driver of its process, each on random, integer and special-value data, as `kgen
verify` does. It prints a line of JSON per kernel: whether it was right, or why the device does not
run it. LOG is the file of the validation layer's messages.
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
from kgen.errors import KgenError, SpecError
from kgen.ops import functions
from kgen.spec import Attention, Conv2d, DType, Elementwise, Layout, Matmul, Rowwise, Spec
from kgen.spec.text import parse
from kgen.targets.base import BuiltKernel
from kgen_runtime.backend import Backend, Code, choose_code
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.acceptance.test_elementwise import of_several_outputs
from tests.unit.ops.ops_in_numpy import call_of

FAMILY = targets.family("vulkan")
TARGET = targets.find("vulkan1.1")
MULTIPLIED, ELEMENTS, ROWS = (
    FAMILY.dtypes(op, TARGET) for op in (Matmul.op, Elementwise.op, Rowwise.op)
)
FLOATS = tuple(dtype for dtype in ELEMENTS if not dtype.is_integer)
#: Types in which kernels compute; elements of other types are converted when they are read.
COMPUTED = (DType.F32, DType.S32, DType.S64)
LAYOUTS = tuple(Layout)
#: Whole tiles and vectors; a remainder in each dimension; small M; small N; single elements.
SIZES = ("32x32x16", "17x19x13", "1x20x33", "18x2x40", "1x1x1")


def lines() -> Iterator[str]:
    """Yield each spec as a line of text (:mod:`kgen.spec.text`)."""
    for dtype, size in product(MULTIPLIED, SIZES):
        for layout in LAYOUTS if size in SIZES[:2] else LAYOUTS[1:2]:
            yield f"matmul {size} {dtype} layout={layout}"
    for narrow, layout in product(FAMILY.narrow(TARGET), LAYOUTS):
        yield f"matmul 17x20x16 f32 layout={layout} b_dtype={narrow}"
    for dtype in FLOATS:
        yield f"matmul 9x10x8 {dtype} batch=2 alpha=0.5 beta=1 +bias+relu"
        yield f"matmul 9x10x8 {dtype} lda=12 ldb=14 ldc=16 batch=2 batch_stride_b=0 +bias+silu"
        yield f"matmul 9x10x8 {dtype} out={'f16' if dtype == 'f32' else 'f32'} +gelu+residual"
        yield f"matmul 9x12x8 {dtype} out=s8 +relu"
        yield f"matmul 9x10x8 s8 out={dtype} batch=2 alpha=0.5 beta=1 +bias+relu"
    # Rows of multiples of 16 bytes: cooperative matrices are used if the target has them.
    yield "matmul 32x32x64 s8"
    for dtype in FAMILY.dtypes(Conv2d.op, TARGET):
        out = " out=f32" if dtype is DType.S8 else ""
        yield f"conv2d 1x16x4x5,24x16x3x3 {dtype}{out} padding=1 +bias+relu"
        yield f"conv2d 2x7x5x3,8x7x3x2 {dtype} padding=2x0x1x1 stride=2"
        yield f"conv2d 1x6x4x3,9x2x3x2 {dtype}{out} padding=1x0 groups=3 +bias"
    for dtype in FAMILY.dtypes(Attention.op, TARGET):
        shapes = "q=2x4x5x24,k=2x2x19x24,v=2x2x19x16"
        yield f"attention {shapes} {dtype} causal diagonal=bottom_right kv_length lse"
        yield f"attention {shapes} {dtype} window=7 mask=5x19 softcap=3"
        yield f"attention q=1x1x17x9,k=1x1x5x9 {dtype} mask=17x1 mask_dtype=bool"
    for dtype, size in product(ELEMENTS, ("64", "3x21")):
        yield f"{'x+y' if dtype != 'bool' else 'where(x,y,x)'} {size},{size} {dtype}"
    for dtype in FLOATS:
        yield f"gelu(x)*y 3x21,21 {dtype}"
        yield f"relu(x) 4x5 {dtype} out={'bf16' if dtype == 'f16' else 'f16'}"
    for dtype in ELEMENTS:
        yield f"where(mask,x,y) 7x6,7x6,6 bool,{dtype},{dtype}"
    for dtype, cols in product(FLOATS, (32, 37, 1100)):
        yield f"softmax(x) 3x{cols} {dtype}"
        yield f"layer_norm(x,scale,shift) 3x{cols},{cols},{cols} {dtype}"
    for dtype, size in product(ROWS, ("5x33", "3x1030")):
        # Rows are folded in f32 or s32; s64 is supported element by element only.
        yield (
            f"amax(x) {size} {dtype}"
            if dtype != "s64"
            else f"sum(where(x<3,y,0.0)) {size},{size} s64,f32"
        )
    for dtype in FLOATS:
        yield f"sum(x) 6x5x7 {dtype} axes=1"
        yield f"argmax(x) 5x33 {dtype}"
    for name, function in functions().items():
        if function.rowwise and name not in ("softmax", "layer_norm", "amax", "argmax"):
            yield f"{call_of(name)} 5x33{',33' * (function.fewest - 1)} f32"


def elementwise() -> Iterator[Spec]:
    """Yield kernels of several functions each: every function in each type of COMPUTED."""
    for dtype in COMPUTED:
        calls = [call_of(name) for name, f in functions().items() if not f.rowwise]
        yield from of_several_outputs([c for c in calls if is_of(c, dtype)], dtype, (3, 7))


def is_of(call: str, dtype: DType) -> bool:
    """Return whether a function computes in a type: some do not support integers, or use f32."""
    try:
        return Elementwise(expression=call, shapes=((3,),), dtype=dtype).compute is dtype
    except SpecError:
        return False


def specs() -> list[Spec]:
    return [*map(parse, lines()), *elementwise()]


def executed(
    backend: Backend, kernel: BuiltKernel, before: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return the errors of a kernel by run, or why the device does not run it, or the earlier
    kernel in `before` that has the same program."""
    bundle = pack([kernel])
    (entry,) = bundle.manifest.kernels
    chosen, reason = choose_code(backend.described, entry)
    if not chosen:
        return {"refused": reason}
    text = program(bundle.files[f"{chosen['main'].file}asm"].decode())
    if before is not None and before.setdefault(text, entry.name) != entry.name:
        return {"as": before[text]}
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


def program(text: str) -> str:
    """Return a module's instructions without the entry point's list, which depends on versions."""
    lines = (line.partition(";")[0].strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("OpEntryPoint"))


def main(names: str, log: str = "") -> None:
    backend, seen, before = VulkanBackend(), 0, dict[str, str]()
    for name, spec in product(names.split(","), specs()):
        kernel = pipeline.kernel(spec, targets.find(name))
        found = {"kernel": f"{name}/{spec.key}", **executed(backend, kernel, before)}
        messages = Path(log).read_text().count("Validation Error") if Path(log).is_file() else 0
        print(json.dumps(found | {"messages": messages - seen}))
        seen = messages
    backend.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
