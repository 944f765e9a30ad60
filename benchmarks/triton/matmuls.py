# mypy: ignore-errors
# Triton's functions have no type annotations.
"""Products as Triton kernels for AMD targets, compiled without a GPU, by an interpreter that has
Triton.

    .venv-triton/bin/python benchmarks/triton/matmuls.py OUTPUT

Writes a JSON list with the assembly for each target, type, layout and tile. The kernel is that of
Triton's tutorial, with sizes and strides known at compile time, and without masks, which these
sizes do not need.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SIDE = 4096
#: By waves of 64 and of 32: block_m, block_n, block_k, waves, rows of an MFMA instruction (0 is
#: Triton's choice). Depths are those of 16-bit types; with 8 bits they are twice as deep.
TILES = {
    64: (
        (256, 256, 64, 8, 32),
        (256, 256, 64, 8, 16),
        (256, 256, 32, 8, 32),
        (256, 128, 64, 4, 32),
        (256, 128, 64, 4, 16),
        (128, 128, 64, 4, 32),
        (128, 128, 32, 4, 32),
    ),
    32: (
        (256, 128, 32, 8, 0),
        (128, 256, 32, 8, 0),
        (128, 128, 64, 4, 0),
        (128, 128, 32, 4, 0),
        (128, 64, 32, 4, 0),
        (64, 128, 32, 4, 0),
    ),
}
#: By kgen's name of a type: Triton's name, and the type of its sums.
TYPES = {
    "f16": ("fp16", tl.float32),
    "s8": ("i8", tl.int32),
    "e4m3fnuz": ("fp8e4b8", tl.float32),
    "e4m3": ("fp8e4nv", tl.float32),
}
#: By target: lanes of a wave, and the types with matrix instructions that Triton supports.
TARGETS = {
    "gfx90a": (64, ("f16", "s8")),
    "gfx942": (64, ("f16", "s8", "e4m3fnuz")),
    "gfx950": (64, ("f16", "s8", "e4m3")),
    "gfx1100": (32, ("f16", "s8")),
    "gfx1201": (32, ("f16", "s8", "e4m3")),
}
LAYOUTS = ("nt", "nn")


@triton.jit
def matmul(
    a_pointer,
    b_pointer,
    out_pointer,
    SIDE: tl.constexpr,
    B_ROW: tl.constexpr,
    B_COLUMN: tl.constexpr,
    SUM: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUP: tl.constexpr,
):
    number = tl.program_id(0)
    in_group = GROUP * (SIDE // N)
    first = number // in_group * GROUP
    rows = (first + number % in_group % GROUP) * M + tl.arange(0, M)
    columns = number % in_group // GROUP * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a = a_pointer + rows[:, None] * SIDE + depth[None, :]
    b = b_pointer + depth[:, None] * B_ROW + columns[None, :] * B_COLUMN
    sums = tl.zeros((M, N), dtype=SUM)
    for _ in range(SIDE // K):
        sums = tl.dot(tl.load(a), tl.load(b), sums, out_dtype=SUM)
        a += K
        b += K * B_ROW
    out = out_pointer + rows[:, None] * SIDE + columns[None, :]
    tl.store(out, sums.to(out_pointer.dtype.element_ty))


def compiled(target: str, dtype: str, layout: str, tile: tuple[int, ...]) -> dict[str, object]:
    lanes, _ = TARGETS[target]
    m, n, k, waves, rows = tile
    name, summed = TYPES[dtype]
    k *= 1 if dtype == "f16" else 2
    constants = {
        "SIDE": SIDE,
        "B_ROW": SIDE if layout == "nn" else 1,
        "B_COLUMN": 1 if layout == "nn" else SIDE,
        "SUM": summed,
        "M": m,
        "N": n,
        "K": k,
        "GROUP": 8,
    }
    out = "i32" if dtype == "s8" else "fp16"
    pointers = {"a_pointer": f"*{name}", "b_pointer": f"*{name}", "out_pointer": f"*{out}"}
    source = ASTSource(
        fn=matmul,
        signature={**pointers, **dict.fromkeys(constants, "constexpr")},
        constexprs=constants,
        # Attributes that Triton derives for aligned tensors of less than 2 GB.
        attrs={(i,): [["tt.divisibility", 16], ["tt.pointer_range", 32]] for i in range(3)},
    )
    options = {"num_warps": waves, "num_stages": 2, "matrix_instr_nonkdim": rows}
    made = triton.compile(source, target=GPUTarget("hip", target, lanes), options=options)
    return {
        "triton": triton.__version__,
        "target": target,
        "dtype": dtype,
        "layout": layout,
        "tile": f"{m}x{n}x{k}, {waves} waves",
        "code": made.asm["amdgcn"],
    }


def main(output: str) -> None:
    found = []
    for target, (lanes, dtypes) in TARGETS.items():
        for dtype in dtypes:
            for layout in LAYOUTS:
                for tile in TILES[lanes]:
                    try:
                        found.append(compiled(target, dtype, layout, tile))
                    except Exception as error:  # tiles that Triton cannot compile are skipped
                        print(f"{target} {dtype} {layout} {tile}: {type(error).__name__}")
    Path(output).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
