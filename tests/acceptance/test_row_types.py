"""Row-wise expressions on types beyond f32, f16 and bf16, one for each input and output, and
conversions in the middle, on all four families."""

from __future__ import annotations

import pytest

from kgen.spec import Rowwise
from kgen.spec.text import parse
from tests.acceptance.test_rowwise import AVX512, FAMILIES, check

pytestmark = pytest.mark.acceptance

#: Rows of odd lengths, contiguous and interleaved, resident and longer ones; one row, one column.
TEXTS = (
    "h=x+residual;rms_norm(h,w) 37x70,37x70,70 f16 out=f32,f16",
    "m=mean(x);i=argmax(x);x-m 3x1031 bf16 out=f32,s32,f16",
    "m=mean(x);i=argmax(x);x-m 4x9x31 f16 axes=1 out=f32,s32,bf16",
    "softmax(where(mask,x,-inf)) 1x70,37x70 bool,f16",
    "softmax(where(mask,x*0.5,-inf)) 3x1x33,3x4x33 u8,f32",
    "amax 37x67 u8",
    "argmin 9x64x33 s8 axes=1",
    "big=amax(x)>y;scaled=cast(x/l2(x),f16)*y 67x131,67x1 s8,f32 out=bool,s8",
    "sum(cast(x*3,bf16)) 67x1 f32 out=u8",
    "layer_norm(x*scale,w) 1x517,1,517 s8,f32,bf16 out=f16",
    "mean(x*y) 7x300,300 s32,f16 out=s32",
    "m=amax(x);prod(x*row)+column 7x33 s32 out=s32,u8",
    "sum(where(mask,x,0)) 1x517,9x517 bool,s32 out=f16",
    "argmin 9x31x33 s32 axes=1",
    "i=argmax(where(mask,x,-1));x*mask 7x70,7x70 s64,f16 out=s64,f32",
)
#: What CPUs alone compute rows in.
OF_64_BITS = (
    "l1(x)-amin(y) 7x133,133 s64,s8",
    "s=sum(x*column);argmax(x) 7x20x9 s64 axes=1 out=f32,s64",
    "layer_norm(x,w) 37x70,70 f64,f32",
    "m=var(x);x/l2(x) 5x700x2 f64 axes=1 out=f64,f16",
)


@pytest.mark.parametrize("target", FAMILIES)
def test_types(target: str) -> None:
    found = [
        parse(text) for text in (*TEXTS, *(OF_64_BITS if target in ("native", AVX512) else ()))
    ]
    check([spec for spec in found if isinstance(spec, Rowwise)], target)


@pytest.mark.parametrize("target", ["sm_75", "gfx90a", "gfx1100", "x86-64", "x86-64-v3"])
def test_types_of_other_targets(target: str) -> None:
    """A sample on targets without instructions for bf16, for f16, or for masks."""
    more = [OF_64_BITS[1], OF_64_BITS[3]] if target.startswith("x86") else []
    sample = [parse(text) for text in (*(TEXTS[i] for i in (2, 7, 8, 11)), *more)]
    check([spec for spec in sample if isinstance(spec, Rowwise)], target)


@pytest.mark.parametrize("target", FAMILIES[:3])
def test_streamed_rows(target: str) -> None:
    """Each phase reads the row again; vectors of the tensors have different sizes."""
    texts = (TEXTS[1], TEXTS[12], "h=x*y;softmax(h) 5x1040 s8,f16 out=f32,bf16")
    found = [parse(text) for text in texts]
    check([s for s in found if isinstance(s, Rowwise)], target, resident=0, num_threads=64)
