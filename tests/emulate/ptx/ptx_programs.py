"""Small PTX programs for the emulator's tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import kgen.emulate
from kgen.emulate import LaunchReport

Array = npt.NDArray[Any]

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def program(body: str, *, params: int = 2, shared: str = "") -> str:
    """Return an entry `f` with 64-bit pointers %p0, %p1, ...; %tid in %t, the thread's number in
    the grid in %i."""
    names = [f"    .param .u64 p{i}" for i in range(params)]
    loads = [f"    ld.param.u64 %p{i}, [p{i}];" for i in range(params)]
    return "\n".join(
        [
            HEADER,
            ".visible .entry f(",
            ",\n".join(names),
            ")\n{",
            "    .reg .u64 %p<8>, %a<16>;\n    .reg .u32 %t, %i, %n, %r<32>;",
            "    .reg .f32 %f<32>;\n    .reg .b16 %h<16>;",
            "    .reg .f64 %d<8>;\n    .reg .pred %q<8>;",
            f"    {shared}",
            *loads,
            "    mov.u32 %t, %tid.x;\n    mov.u32 %i, %ctaid.x;\n    mov.u32 %n, %ntid.x;",
            "    mad.lo.u32 %i, %i, %n, %t;",
            body,
            "    ret;\n}\n",
        ]
    )


def run(
    source: str,
    *arguments: Array,
    threads: int = 32,
    ctas: int = 1,
    dynamic: int = 0,
    **options: Any,
) -> LaunchReport:
    return kgen.emulate.run(
        source,
        language="ptx",
        entry="f",
        grid=(ctas, 1, 1),
        block=(threads, 1, 1),
        arguments=list(arguments),
        dynamic_shared=dynamic,
        **options,
    )


def elementwise(instruction: str, kinds: str, sources: list[Array], result: Any) -> Array:
    """Apply one instruction to every element: `kinds` are the registers of result and operands."""
    letters = {"f32": "%f", "u32": "%r", "u64": "%a1", "b16": "%h", "f64": "%d", "pred": "%q"}
    out, *operands = kinds.split()
    lines, names = [], []
    for j, (kind, source) in enumerate(zip(operands, sources, strict=True)):
        size = source.dtype.itemsize
        name = f"{letters[kind]}{j + 1}"
        lines.append(f"    mad.wide.u32 %a0, %i, {size}, %p{j};")
        lines.append(f"    ld.global.{'b16' if kind == 'b16' else kind} {name}, [%a0];")
        names.append(name)
    target = f"{letters[out]}0" if out != "u64" else "%a9"
    lines.append(f"    {instruction.format(target, *names)}")
    if out == "pred":
        lines.append("    selp.u32 %r0, 1, 0, %q0;")
        target, out = "%r0", "u32"
    empty = np.zeros(len(sources[0]), result)
    lines.append(f"    mad.wide.u32 %a0, %i, {empty.itemsize}, %p{len(sources)};")
    lines.append(f"    st.global.{'b16' if out == 'b16' else out} [%a0], {target};")
    run(
        program("\n".join(lines), params=len(sources) + 1),
        *sources,
        empty,
        threads=len(empty),
    )
    return empty
