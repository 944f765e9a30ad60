"""Program that executes kernels under the validation layer: correct ones, or with a fault.

    python -m tests.device.vulkan.validation.under_the_layer LOG sound|barriers|guards

LOG is the file that the layer writes to. It prints a line of JSON per run: the kernel, its fault,
the number of the layer's messages, and whether the result was right.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from kgen.spec import DType, Elementwise, Epilogue, Matmul, Rowwise, Spec
from kgen.targets import family
from kgen.targets.base import BuiltKernel
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import Values, build, run

Inputs = dict[str, Values]


def softmax(x: Values) -> Values:
    e = np.exp(x - x.max(-1, keepdims=True))
    result: Values = e / e.sum(-1, keepdims=True)
    return result


def product(i: Inputs) -> Values:
    c: Values = i["a"].reshape(33, 35) @ i["b"].reshape(35, 34) + i["bias"]
    result: Values = np.maximum(c, 0)
    return result


#: Kernels with barriers in and between loops, and with guards, and functions of their results.
CASES: tuple[tuple[Spec, Callable[[Inputs], Values]], ...] = (
    (
        Matmul(m=33, n=34, k=35, dtype=DType.F32, epilogue=(Epilogue.BIAS, Epilogue.RELU)),
        product,
    ),
    (
        Rowwise(expression="softmax(x)", shapes=((5, 301),), dtype=DType.F32),
        lambda i: softmax(i["x"].reshape(5, 301)),
    ),
    (
        Rowwise(expression="softmax(x)", shapes=((2, 5000),), dtype=DType.F32),
        lambda i: softmax(i["x"].reshape(2, 5000)),
    ),
    (
        Elementwise(expression="relu(x) + y", shapes=((1003,), (1003,)), dtype=DType.F32),
        lambda i: np.maximum(i["x"], 0) + i["y"],
    ),
)


def mutants(kernel: BuiltKernel, kind: str) -> Iterator[tuple[str, BuiltKernel]]:
    """Yield the kernel without one of its barriers, or with one of its guards always true."""
    lines = kernel.source.text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if kind == "barriers" and "OpControlBarrier" in line:
            changed = ""
        elif kind == "guards" and re.search(r"_inside = OpULessThan %bool", line):
            changed = re.sub(
                r"OpULessThan %bool (%\w+) .*", r"OpUGreaterThanEqual %bool \1 %uint_0", line
            )
        else:
            continue
        text = "".join([*lines[:number], changed, *lines[number + 1 :]])
        source = dataclasses.replace(kernel.source, text=text)
        assembled = family("vulkan").assemble(source, kernel.plan)
        yield (
            f"line {number + 1}: {line.strip()}",
            dataclasses.replace(kernel, source=source, assembled=assembled),
        )


def main(log: str, kind: str) -> None:
    backend, seen = VulkanBackend(), 0
    # One target folds rows by shuffles, the other by barriers alone.
    cases = [(*case, "vulkan1.3") for case in (CASES if kind == "sound" else CASES[:2])]
    cases += [(*CASES[1], "vulkan1.1")] if kind == "barriers" else []
    for spec, expected, target in cases:
        random = np.random.default_rng(1)
        inputs = {
            p.name: random.standard_normal(p.extent).astype(np.float32)
            for p in spec.parameters
            if p.role == "input"
        }
        kernel = build(spec, target)
        runs = [("nothing", kernel)] if kind == "sound" else mutants(kernel, kind)
        for removed, mutant in runs:
            try:
                out = run(backend, mutant, inputs)
                right = np.allclose(out, expected(inputs).reshape(-1), rtol=1e-4, atol=1e-5)
            except AssertionError:  # the kernel wrote to other memory
                right = False
            messages = Path(log).read_text().count("Validation Error") if Path(log).exists() else 0
            found = {"kernel": spec.key, "removed": removed, "right": bool(right)}
            print(json.dumps(found | {"messages": messages - seen}))
            seen = messages
    backend.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
