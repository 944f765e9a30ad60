"""Bugs in the AMDGPU templates' ping-pong main loop: each barrier of a trip that orders LDS."""

from __future__ import annotations

from functools import cache

from kgen.schedule import PingPongMatmul
from tests.emulate.mutations.mutation import Program, bugs
from tests.emulate.mutations.templates import rendered

#: One wave of each half on every SIMD, with one MMA tile each.
SMALL = PingPongMatmul(block_m=64, block_n=128, block_k=64, warp_m=32, warp_n=32)
BYTES = PingPongMatmul(block_m=64, block_n=128, block_k=128, warp_m=32, warp_n=32)
#: 8-bit floats of gfx950, whose two MMA tiles are multiplied in a phase each.
FLOATS = PingPongMatmul(block_m=128, block_n=128, block_k=128, warp_m=64, warp_n=32)


@cache
def f16_halves() -> Program:
    """Loop of one trip, and the last tile."""
    return rendered("matmul 64x128x256 f16 layout=nt", "gfx942", SMALL)


@cache
def s8_halves() -> Program:
    return rendered("matmul 64x128x512 s8 layout=nt", "gfx942", BYTES)


@cache
def e4m3_halves() -> Program:
    return rendered("matmul 128x128x512 e4m3 layout=nt", "gfx950", FLOATS)


@cache
def remainder() -> Program:
    """The first half stores the remainder of K to LDS behind the loop."""
    return rendered("matmul 64x128x200 f16 layout=nt", "gfx942", SMALL)


PROGRAMS = (f16_halves, s8_halves, e4m3_halves, remainder)
SEEDS = (1,)

BARRIER = r"^  call void @llvm\.amdgcn\.s\.barrier\(\)\n"


def without_barrier(number: int) -> tuple[str, str, str]:
    """Return name, pattern and replacement of the bug: the loop loses one barrier."""
    before = rf"(^loop:\n(?s:(?:.*?{BARRIER}){{{number}}}.*?))"
    return f"barrier-{number}-dropped", before + BARRIER, r"\1"


MUTATIONS = (
    # Without one of the others, the halves only stop alternating: test_amdgpu_pingpong.py.
    *(
        mutation
        for program in (f16_halves, s8_halves, e4m3_halves)
        for mutation in bugs(program, "race", *(without_barrier(number) for number in range(4, 8)))
    ),
    *bugs(
        remainder,
        "race",
        ("first-half-does-not-wait-behind-the-loop", r"(^catch_up:\n)" + BARRIER, r"\1"),
    ),
)
