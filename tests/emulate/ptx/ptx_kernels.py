"""Kernels of a few lines in PTX: whole bodies, and one instruction on typed operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate import EmulationFault, Fault, LaunchReport, run

Array = npt.NDArray[Any]

#: How a value of a PTX type is held in a numpy array.
DTYPES: dict[str, Any] = {
    **{f"{kind}{bits}": f"u{bits // 8}" for kind in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    "f16": np.float16,
    "bf16": np.uint16,
    "f16x2": np.uint32,
    "bf16x2": np.uint32,
    "f32": np.float32,
    "f64": np.float64,
}
TILE = "  .shared .align 16 .b8 tile[4096];\n"
THREAD = "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, tile;\n"
#: %r0 is the thread's number in the grid, %r2 in its CTA.
NUMBER = (
    "  mov.u32 %r2, %tid.x;\n  mov.u32 %r3, %ctaid.x;\n  mov.u32 %r4, %ntid.x;\n"
    "  mad.lo.u32 %r0, %r3, %r4, %r2;\n"
)
STORE = "  mul.wide.u32 %d0, %r0, 4;\n  add.u64 %d0, %out, %d0;\n  st.global.u32 [%d0], %r1;\n"
HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def bits(type_: str) -> int:
    return 8 * int(np.dtype(DTYPES[type_]).itemsize)


def kernel(body: str, *, params: Sequence[str] = (), declarations: str = "") -> str:
    """Return a module with the entry `k`. Each parameter is a pointer, loaded into `%<name>`."""
    head = ",\n".join(f"  .param .u64 {name}" for name in params)
    loads = "\n".join(
        f"  ld.param.u64 %{p}, [{p}];\n  cvta.to.global.u64 %{p}, %{p};" for p in params
    )
    pointers = "".join(f"  .reg .b64 %{p};\n" for p in params)
    return (
        f"{HEADER}.visible .entry k(\n{head}\n)\n{{\n{pointers}"
        "  .reg .pred %p<8>;\n  .reg .b16 %h<16>;\n  .reg .b32 %r<64>;\n  .reg .f32 %f<32>;\n"
        "  .reg .b64 %d<16>;\n  .reg .f64 %g<8>;\n"
        f"{declarations}\n{loads}\n{body}\n  ret;\n}}\n"
    )


def launch(
    source: str,
    *arguments: Array | np.generic,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    **options: Any,
) -> LaunchReport:
    return run(
        source, language="ptx", entry="k", grid=grid, block=block, arguments=arguments, **options
    )


def fault(source: str, *arguments: Array | np.generic, **options: Any) -> Fault:
    """Return the fault with which a program must end."""
    try:
        launch(source, *arguments, **options)
    except EmulationFault as error:
        assert error.fault.instruction in " ".join(
            source.splitlines()[error.fault.line - 1].split()
        )
        return error.fault
    raise AssertionError("the program ran to its end")


def elementwise(code: str, inputs: Sequence[str], output: str) -> str:
    """Return a program in which thread i has element i of each input in %x0, %x1, ...; %y is
    stored."""
    types = [*inputs, output]
    names = [*(f"in{i}" for i in range(len(inputs))), "out"]
    values = [*(f"%x{i}" for i in range(len(inputs))), "%y"]
    declarations = "".join(
        f"  .reg .b{max(bits(t), 16)} {v};\n" for t, v in zip(types, values, strict=True)
    )
    number = (
        "  mov.u32 %r60, %ctaid.x;\n  mov.u32 %r61, %ntid.x;\n  mov.u32 %r62, %tid.x;\n"
        "  mad.lo.u32 %r60, %r60, %r61, %r62;\n  cvt.u64.u32 %d15, %r60;\n"
    )

    def at(name: str, type_: str) -> str:
        return f"  mad.lo.u64 %d14, %d15, {bits(type_) // 8}, %{name};\n"

    loads = "".join(
        at(n, t) + f"  ld.global.b{bits(t)} {v}, [%d14];\n"
        for n, t, v in list(zip(names, types, values, strict=True))[:-1]
    )
    store = at("out", output) + f"  st.global.b{bits(output)} [%d14], %y;\n"
    return kernel(number + loads + code + "\n" + store, params=names, declarations=declarations)


def evaluate(code: str, inputs: Sequence[str], output: str, *values: Array) -> Array:
    """Return the result of `code` for every element, in blocks of 128 threads."""
    count = values[0].size
    arrays = [np.ascontiguousarray(v).view(DTYPES[t]) for v, t in zip(values, inputs, strict=True)]
    out = np.zeros(count, DTYPES[output])
    threads = min(count, 128)
    assert count % threads == 0
    source = elementwise(code, inputs, output)
    launch(source, *arrays, out, grid=(count // threads, 1, 1), block=(threads, 1, 1))
    return out


def out(
    body: str, threads: int = 32, ctas: int = 1, declarations: str = "", **options: int
) -> Array:
    """Return %r1 of each thread."""
    result = np.zeros(threads * ctas, np.uint32)
    source = kernel(NUMBER + body + STORE, params=("out",), declarations=declarations)
    launch(source, result, grid=(ctas, 1, 1), block=(threads, 1, 1), **options)
    return result
