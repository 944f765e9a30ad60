# mypy: ignore-errors
# Triton's functions have no type annotations.
"""The formulas as Triton kernels, compiled without a GPU, by an interpreter that has Triton.

    .venv-triton/bin/python benchmarks/triton/kernels.py OUTPUT

Writes a JSON list with an entry per kernel, target and number of warps: machine code (cubin in
base64, AMD's assembly as text), spilled registers, and elements per program. The kernels are
written like Triton's tutorials: a program computes a block or a row; inputs and outputs are f16;
the arithmetic is f32.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

COLS, LONG_COLS = 4096, 8192
WARPS = (1, 2, 4, 8, 16)
BLOCKS = (256, 512, 1024, 2048, 4096)
TARGETS = {"sm_80": GPUTarget("cuda", 80, 32), "gfx942": GPUTarget("hip", "gfx942", 64)}


@triton.jit
def gelu(x_pointer, out_pointer, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_pointer + at).to(tl.float32)
    out = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(out_pointer + at, out.to(tl.float16))


@triton.jit
def silu_mul(gate_pointer, up_pointer, out_pointer, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    gate = tl.load(gate_pointer + at).to(tl.float32)
    up = tl.load(up_pointer + at).to(tl.float32)
    tl.store(out_pointer + at, (gate * tl.sigmoid(gate) * up).to(tl.float16))


@triton.jit
def layer_norm(x_pointer, scale_pointer, shift_pointer, out_pointer, SIZE: tl.constexpr):
    column = tl.arange(0, SIZE)
    at = tl.program_id(0) * SIZE + column
    x = tl.load(x_pointer + at).to(tl.float32)
    scale = tl.load(scale_pointer + column).to(tl.float32)
    shift = tl.load(shift_pointer + column).to(tl.float32)
    distance = x - tl.sum(x, axis=0) / SIZE
    variance = tl.sum(distance * distance, axis=0) / SIZE
    out = distance * tl.rsqrt(variance + 1e-5) * scale + shift
    tl.store(out_pointer + at, out.to(tl.float16))


@triton.jit
def add_rms_norm(x_pointer, residual_pointer, scale_pointer, out_pointer, SIZE: tl.constexpr):
    column = tl.arange(0, SIZE)
    at = tl.program_id(0) * SIZE + column
    x = tl.load(x_pointer + at).to(tl.float32) + tl.load(residual_pointer + at).to(tl.float32)
    scale = tl.load(scale_pointer + column).to(tl.float32)
    out = x * tl.rsqrt(tl.sum(x * x, axis=0) / SIZE + 1e-5) * scale
    tl.store(out_pointer + at, out.to(tl.float16))


@triton.jit
def causal_softmax(x_pointer, out_pointer, SIZE: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, SIZE)
    at = row * SIZE + column
    x = tl.load(x_pointer + at).to(tl.float32)
    x = tl.where(column <= row, x * 0.125, float("-inf"))
    terms = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_pointer + at, (terms / tl.sum(terms, axis=0)).to(tl.float16))


#: Kernels by name, and the elements that one program may compute.
KERNELS = {
    "gelu": (gelu, BLOCKS),
    "silu_mul": (silu_mul, BLOCKS),
    "layer_norm": (layer_norm, (COLS,)),
    "add_rms_norm": (add_rms_norm, (LONG_COLS,)),
    "causal_softmax": (causal_softmax, (COLS,)),
}


def compiled(name: str, function, size: int, target: str, warps: int) -> dict[str, object]:
    pointers = [n for n in function.arg_names if n != "SIZE"]
    source = ASTSource(
        fn=function,
        signature={**dict.fromkeys(pointers, "*fp16"), "SIZE": "constexpr"},
        constexprs={"SIZE": size},
        attrs={(i,): [["tt.divisibility", 16]] for i in range(len(pointers))},
    )
    made = triton.compile(source, target=TARGETS[target], options={"num_warps": warps})
    cuda = "cubin" in made.asm
    return {
        "triton": triton.__version__,
        "kernel": name,
        "target": target,
        "warps": warps,
        "lanes": TARGETS[target].warp_size,
        "size": size,
        "code": base64.b64encode(made.asm["cubin"]).decode() if cuda else made.asm["amdgcn"],
    }


if __name__ == "__main__":
    found = [
        compiled(name, function, size, target, warps)
        for name, (function, sizes) in KERNELS.items()
        for size in sizes
        for target in TARGETS
        for warps in WARPS
    ]
    Path(sys.argv[1]).write_text(json.dumps(found))
