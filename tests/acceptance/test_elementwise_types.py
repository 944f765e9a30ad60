"""Element-wise expressions on types beyond f32, f16 and bf16, on all four families."""

from __future__ import annotations

import itertools

import pytest

from kgen.spec import DType, Elementwise
from kgen.spec.text import parse
from tests.acceptance.test_elementwise import AVX512, BUT_AMD, check

pytestmark = pytest.mark.acceptance

FAMILIES = ("sm_80", "gfx942", "vulkan1.3", "native", AVX512)
OTHERS = ("sm_75", "gfx90a", "gfx1100", "vulkan1.1", "x86-64", "x86-64-v3", "aarch64-neon")
FLOATS = (DType.F32, DType.F16, DType.BF16)
INTEGERS = (DType.S32, DType.S8, DType.U8, DType.BOOL)

#: No whole number of vectors, vectors that broadcast on each side, one element.
SMALL = (
    "x*y+3 1031 s32",
    "x//y 517 s32",
    "x%y 517 s32",
    "x**5-x**2+x**y 517 s32",
    "x//7-y%-3 33x16,16 s32",
    "clip(sign(x)*abs(y),-9,2000000000) 3x17,3x1 s32",
    "where(x<y,x,-max(x,y)) 1,1031 s32",
    "bitwise_and(x,y)+shift_left(x,y)-shift_right(x,y%40) 517 s32",
    "shift_left(bitwise_and(x,y),y)+shift_right(x,y) 517 u8",
    "x*y 1031 s8",
    "x-y 15x16,16 u8",
    "x/y 1031 u8 out=f16",
    "(x&y)|~x 1031 bool",
    "x!=y 31x1,1x33 f16",
    "isnan(x)|isinf(y) 1031 bf16",
    "tanh(x) 1031 f32 out=bool",
    "where(mask,x,-y) 7x64,64,1 bool,f32,bf16",
    "x*scale 1031,1 s8,f32",
    "x*y 1 s32,f16",
    "x+y 17x33,33 s8,s32",
    "h=x*y;i=x<y;round(x*50) 37x70,70 f32,f16 out=f16,bool,s8",
    "h=x+y;h*2 1031 s32 out=f16,u8",
    "cast(x*y,f16)+cast(y,bf16)*x 1031 f32",
    "cast(x*100,s8)-cast(y,u8)*cast(x,bool) 33x16,16 f32",
    "cast(x+y,s8)*2 1031 s32",
    "h=cast(x*1e9,s32);h/cast(y*1e19,s64)+cast(cast(x,f64),f32) 517,1 f32 out=f32,s32",
    "cast(x,s32)-cast(x,s64) 1031 f16 out=bf16",
    "cast(x*2,s32)-cast(x,s8)+cast(x,s64) 517 s32",
)
OF_64_BITS = (
    "x*y+3 1031 s64",
    "x//y-x%y 517 s64",
    "x**3+x**y 517 s64",
    "bitwise_and(x,y)+shift_left(x,y)-shift_right(x,y%70) 517 s64",
    "abs(x)+min(x,y)-max(x,2) 33x16,16 s64",
    "x<=y 3x1,17 s64",
    "x*y 1031,1 u8,s64",
    "cast(x,s32)+cast(x,s64)-cast(y,u8) 517 s64",
    "x*y 1031,1 s64,f32",
)
F64 = (
    "x*y+0.1 1031 f64",
    "sqrt(x)/y-floor(x) 17x33,33 f64",
    "round(x)+rsqrt(y)+reciprocal(x) 1031 f64",
    "where(x>y,x,-y) 1 f64",
    "x*y 33x16,16 f64,f16",
    "softsign(x) 1031 s64 out=f64",
    "h=cast(x*y,f32);g=cast(x+y,f16)-cast(x-y,bf16);cast(x*1e9,s32)/cast(y*1e19,s64) 517 f64",
    "cast(x,s8)+cast(y,u8)*cast(x,bool) 33x16,16 f64",
)


def conversions(*types: DType) -> list[Elementwise]:
    return [
        Elementwise(expression="cast(x)", shapes=((1031,),), dtype=x, out_dtype=out)
        for x, out in itertools.permutations(types, 2)
        if not {x, out} <= set(FLOATS)
    ]


def sixty_four_bits(target: str) -> list[DType]:
    """Return the 64-bit dtypes that the target supports."""
    on_cpu = target == "native" or target.startswith(("x86", "aarch64"))
    return [DType.S64, DType.F64] if on_cpu else [DType.S64]


@pytest.mark.parametrize("target", BUT_AMD)
def test_conversions(target: str) -> None:
    """Inputs include every kind of number that the other type lacks: ties, limits, infinities, NaN.
    The emulated GPU gets a third of the conversions."""
    found = conversions(*FLOATS, *INTEGERS, *sixty_four_bits(target))
    check(found[:: 3 if target == "sm_80" else 1], target, schedules=1)


def expressions(target: str) -> list[Elementwise]:
    texts = [*SMALL, *OF_64_BITS, *(F64 if DType.F64 in sixty_four_bits(target) else ())]
    return list(map(parse, texts))  # type: ignore[arg-type]


@pytest.mark.parametrize("target", FAMILIES)
def test_expressions(target: str) -> None:
    check(expressions(target), target, schedules=1)


@pytest.mark.parametrize("target", OTHERS)
def test_other_targets(target: str) -> None:
    """Each target gets another sample; under qemu a small one."""
    wide = sixty_four_bits(target)
    found = [*expressions(target), *conversions(DType.F32, DType.BF16, *INTEGERS, *wide)]
    step = 24 if target.startswith("aarch64") else 9
    check(found[OTHERS.index(target) :: step], target, schedules=1)


@pytest.mark.parametrize("target", FAMILIES)
def test_powers(target: str) -> None:
    """IEEE 754's special values in all combinations."""
    texts = ("x**y 1031 f32", "x**y 33x16,16 bf16", "x**0.5+y**-0.5 1031 f16", "2.5**x 1031 f32")
    check([*map(parse, texts)], target, schedules=1)  # type: ignore[list-item]


@pytest.mark.parametrize(("target", "vector"), [("sm_80", 1), ("gfx942", 1), ("vulkan1.3", 1)])
def test_several_accesses_of_a_thread(target: str, vector: int) -> None:
    texts = ("x+y 5003 u8", "x*scale 41x61,61 s8,f32", "x*y 41x61,41x1 s32")
    check([*map(parse, texts)], target, vector=vector, unroll=4)  # type: ignore[list-item]


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", AVX512])
def test_outputs_past_the_caches(target: str) -> None:
    texts = ("x+y 4099 u8", "x<y 4099 f32", "x*y 131x997 s32", "cast 4099 s8 out=s64")
    check([*map(parse, texts)], target, nontemporal=1)  # type: ignore[list-item]
