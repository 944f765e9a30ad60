"""Types of element-wise expressions: the types that they are computed in, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import targets
from kgen.errors import SpecError, TargetError
from kgen.spec import DType, Elementwise, from_json
from kgen.spec.text import form, parse
from kgen_runtime.reference.elements import elements
from kgen_runtime.reference.numbers import encode


@pytest.mark.parametrize(
    ("text", "compute", "out"),
    [
        ("x+y 8 s8", "f32", "s8"),
        ("x+y 8 bool,s8", "f32", "s8"),
        ("x+y 8 s32,u8", "s32", "s32"),
        ("x+y 8 s64,s32", "s64", "s64"),
        ("x+y 8 s64,f16", "f32", "f16"),
        ("x+y 8 f64,bf16", "f64", "f64"),
        ("x<y 8 s32", "s32", "bool"),
        ("x<y 8 f32 out=f32", "f32", "f32"),
        ("cast 8 s8 out=f64", "f64", "f64"),
        ("where(mask,x,0) 8 x=f32,mask=bool", "f32", "f32"),
        ("h=x+y;h*2 8 f32 out=f16,bf16", "f32", "f16"),
        ("h=x+y;h*2 8 f32 out=out=f64,h=f16", "f64", "f64"),
        ("h=x+y;x<y 8 s32", "s32", "s32"),
        ("cast(x,f16)+cast(x,f32) 8 f32", "f32", "f32"),
    ],
)
def test_what_is_computed_in(text: str, compute: str, out: str) -> None:
    spec = parse(text)
    assert isinstance(spec, Elementwise)
    assert (spec.compute, spec.out) == (compute, out)
    assert parse(form(spec)) == spec and from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exp 8 s32", r"column 1: exp cannot be computed in s32, the type of this kernel"),
        ("x*0.5 8 s64", "0.5 cannot be computed in s64"),
        ("x/y 8 s32", "div cannot be computed in s32"),
        ("sqrt(x) 8 s32", "sqrt cannot be computed in s32"),
        ("x+3000000000 8 s32", "take a number from -2147483648 to 2147483647"),
        ("x+9007199254740993 8 s64", "f64 cannot represent this integer exactly"),
        (
            "x*1e39 8 f32",
            r"column 3: 1e\+39 is out of the range of f32, .* to 3.4028234663852886e\+38, or inf",
        ),
        ("clip(x,-1e39,1) 8 f16", r"column 8: -1e\+39 is out of the range of f32"),
        ("leaky_relu(x,slope=1e39) 8 bf16", r"1e\+39 is out of the range of f32"),
        ("pad(x,0,1,1,value=1e39) 8 f32", r"1e\+39 is out of the range of f32"),
        ("x*(1e30*1e30) 8 f32", r"column 1: 1.0000000000000001e\+60 is out of the range of f32"),
        ("softmax(x*1e39) 4x8 f32", r"1e\+39 is out of the range of f32"),
        ("x*1e39 8 s8", r"1e\+39 is out of the range of f32"),
        ("x+y 8 s32,s32,s32", "3 dtypes for the inputs x, y"),
        ("x+y 8 x=s32", r"input y of 'x\+y' has no dtype; give y="),
        ("softmax 8 e4m3", "dtype=e4m3 is not supported by row-wise operations"),
        ("h=x+y;h*2 8 f32 out=f16,f32,f16", "3 out_dtypes for the outputs h, out"),
        ("h=x+y;h*2 8 f32 out=h=f16", "output out of .* has no out_dtype; give out="),
        ("cast(x,s4) 8 f32", r"column 8: cast needs .* of f64 f32 f16 bf16 e4m3 e5m2 "),
        ("cast(x,y) 8 f32", r"column 8: cast needs a type here"),
        ("cast(x,f16) 8 s32", "cast_f16 cannot be computed in s32"),
        ("cast(x,f32) 8 s64", "cast_f32 cannot be computed in s64"),
        ("mean 4x8 s32", "mean cannot be computed in s32"),
        ("softmax(x) 4x8 s64", "softmax cannot be computed in s64"),
        ("l2(x) 4x8 s32", "l2 cannot be computed in s32"),
        ("amax(where(x>0,x,-inf)) 4x8 s32", "-inf cannot be computed in s32"),
        ("x+y 8 f32,e5m2", "dtype=e5m2 is not supported by element-wise operations"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "x*1e39 8 f64",
        "x*inf 8 f32",
        "x*1e999 8 f32",
        "x*3.4028235e38 8 f32",
        "where(x>0,x,nan) 8 f32",
    ],
)
def test_numbers_that_the_type_has(text: str) -> None:
    """The largest f32 is often written as 3.4028235e38."""
    assert parse(text)


@pytest.mark.parametrize(
    ("text", "target"),
    [("neg 8 f64", "sm_80"), ("cast 8 s8 out=f64", "vulkan1.1"), ("sum 4x8 f64", "gfx942")],
)
def test_what_a_target_lacks(text: str, target: str) -> None:
    found = targets.find(target)
    with pytest.raises(TargetError, match=r"dtype=f64 is not supported by"):
        targets.family(found.family).check_support(parse(text), found)


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3"])
def test_rows_of_64_bits_are_for_cpus(target: str) -> None:
    found = targets.find(target)
    with pytest.raises(TargetError, match=r"sum is computed in s64, and .* f32, s32 only"):
        targets.family(found.family).check_support(parse("sum 4x8 s64"), found)
    targets.family(found.family).check_support(parse("sum(x*y) 4x8 s64,f32"), found)


@pytest.mark.parametrize(
    ("dtype", "value", "bits"),
    [
        (DType.U8, 300.0, 255),
        (DType.U8, -0.5, 0),
        (DType.U8, 2.5, 2),
        (DType.U8, float("nan"), 0),
        (DType.BOOL, float("nan"), 1),
        (DType.BOOL, -0.0, 0),
        (DType.S64, float("inf"), 2**63 - 1),
        (DType.S64, -(2**63), 2**63),
        (DType.S64, 2**62 + 1, 2**62 + 1),
    ],
)
def test_how_numbers_become_integers(dtype: DType, value: float, bits: int) -> None:
    assert encode(value, dtype) == bits


@pytest.mark.parametrize("bits", [32, 64])
def test_integers_wrap_around_and_divide_downwards(bits: int) -> None:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    table = {
        "add(x, y)": [(most, 1, least), (least, -1, most)],
        "mul(x, y)": [(most, most, 1), (least, -1, least)],
        "floor_divide(x, y)": [
            (7, -2, -4),
            (-7, 2, -4),
            (-7, -2, 3),
            (5, 0, 0),
            (least, -1, least),
        ],
        "mod(x, y)": [(7, -2, -1), (-7, 2, 1), (5, 0, 0), (least, -1, 0)],
        "x ** y": [
            (3, 2, 9),
            (2, bits - 1, least),
            (-2, bits, 0),
            (7, 0, 1),
            (0, 0, 1),
            (-1, most, -1),
            (-1, -3, -1),
            (-1, -2, 1),
            (1, least, 1),
            (2, -1, 0),
            (0, -1, 0),
            (3, 1 << 30, pow(3, 1 << 30, 1 << bits)),
        ],
        "abs(x) + neg(y) * 0": [(least, 3, least)],
        "bitwise_and(x, y)": [(-1, least, least), (-2, 7, 6), (most, -4, most - 3), (12, 10, 8)],
        "shift_left(x, y)": [
            (1, bits - 1, least),
            (most, 1, -2),
            (3, bits, 0),
            (3, 0, 3),
            (1, -1, 0),
            (5, 64, 0),
        ],
        "shift_right(x, y)": [
            (least, bits - 1, -1),
            (most, bits - 2, 1),
            (-1, bits, -1),
            (most, bits, 0),
            (-7, 0, -7),
            (-8, -1, -1),
            (8, 64, 0),
        ],
    }
    for text, cases in table.items():
        spec = parse(f"{text.replace(' ', '')} {len(cases)} s{bits}")
        x, y, expected = np.array(cases, f"i{bits // 8}").T
        buffers = {"x": np.ascontiguousarray(x), "y": np.ascontiguousarray(y)}
        element = elements(spec.to_json(), {n: b.data for n, b in buffers.items()})
        assert [element((i,)) for i in range(len(cases))] == expected.tolist(), text


@pytest.mark.integration
def test_arrays_of_these_types(tmp_path: Path) -> None:
    texts = ("less 5 f32", "where(mask,x,-x) 5 bool,s32", "cast 5 f32 out=u8", "x*y 5 s64")
    kgen.build(list(map(parse, texts)), ["native"]).save(tmp_path / "types.kgen")
    kernels = kgen_runtime.load(tmp_path / "types.kgen", device="cpu")
    x = np.array([1.5, -2.0, 300.0, np.nan, 0.25], np.float32)
    less = kernels.less(x, np.zeros(5, np.float32))
    assert less.dtype == np.bool_ and less.tolist() == [False, True, False, False, False]
    assert kernels.cast(x).dtype == np.uint8 and kernels.cast(x).tolist() == [2, 0, 255, 0, 0]
    numbers, mask = np.arange(5, dtype=np.int32), np.array([1, 0, 1, 0, 1], np.bool_)
    assert kernels.elementwise(mask, x=numbers).tolist() == [0, -1, 2, -3, 4]
    large = np.full(5, 2**40 + 1, np.int64)
    assert (kernels.mul(large, large) == large * large).all()
