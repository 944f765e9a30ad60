"""s64 as pairs of words on Vulkan, against Python's integers and numpy's conversions."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

import kgen
import kgen_runtime
from tests.device.vulkan.vulkan_support import open_vulkan

ENDS = [-(2**63), -(2**63) + 1, 2**63 - 1, 2**63 - 2, 0, 1, -1, 2, -3, 7]
WORDS = [sign * (2**n + off) for n in (31, 32, 33, 47) for off in (-1, 0, 1) for sign in (1, -1)]
#: Around the middle between two numbers of f32, whose last bit is even or odd.
TIES = [
    sign * (((1 << 23) + odd) * 2**n + 2 ** (n - 1) + off)
    for n in (1, 8, 9, 32, 38)
    for odd in (0, 1)
    for off in (-1, 0, 1)
    for sign in (1, -1)
]
FLOATS = [0.5, -0.5, 1.5, 2.5, 2.0**23 + 0.5, 2.0**24 + 2, 2.0**31, 2.0**32, 2.0**33, 2.0**55]
FLOATS += [0.0, 1.0, 2.0**62, 2.0**63, 2.0**64, 1e-40, 3.4e38, np.inf]


def run(spec: kgen.Elementwise, folder: Path, *inputs: np.ndarray) -> list[np.ndarray]:
    open_vulkan().close()
    bundle = kgen.build(spec, ["vulkan1.1"]).save(folder / "x.kgen")
    with kgen_runtime.load(bundle, device="vulkan") as kernels:
        given = [kernels.to_device(x) for x in inputs]
        found = kernels.elementwise(*given)
        return [each.numpy() for each in (found if isinstance(found, tuple) else (found,))]


def wrapped(x: int) -> int:
    return (x + 2**63) % 2**64 - 2**63


def test_arithmetic_is_pythons(tmp_path: Path) -> None:
    """Operands are all pairs of numbers near the ends of 64 bits and near word boundaries."""
    numbers = ENDS + WORDS
    x, y = np.array(list(itertools.product(numbers, numbers)), np.int64).T.copy()
    expression = "a=x+y;s=x-y;m=x*y;q=x//y;r=x%y;l=min(x,y);g=max(abs(x),-y);where(x<=y,x,y*0+5)"
    spec = kgen.Elementwise(expression=expression, shapes=(x.shape,), dtype="s64")
    found = run(spec, tmp_path, x, y)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        expected = (
            *(wrapped(a + b), wrapped(a - b), wrapped(a * b)),
            *((wrapped(a // b), a % b) if b else (0, 0)),
            *(min(a, b), max(wrapped(abs(a)), wrapped(-b)), a if a <= b else 5),
        )
        assert tuple(int(each[i]) for each in found) == expected, (a, b)


def test_conversions_round_ties_to_even(tmp_path: Path) -> None:
    x = np.array(ENDS + WORDS + TIES, np.int64)
    expression = "f=x;cast(x,s32)"
    spec = kgen.Elementwise(
        expression=expression, shapes=(x.shape,), dtype="s64", out_dtypes=("f32", "s32")
    )
    as_float, as_s32 = run(spec, tmp_path, x)
    np.testing.assert_array_equal(as_float, x.astype(np.float32))
    np.testing.assert_array_equal(as_s32, np.clip(x, -(2**31), 2**31 - 1))


def test_floats_become_the_nearest_or_an_end(tmp_path: Path) -> None:
    values = np.array([*FLOATS, *(-f for f in FLOATS), np.nan], np.float32)
    spec = kgen.Elementwise(
        expression="h=x*1;x*2", shapes=(values.shape,), dtype="f32", out_dtypes=("s64", "f32")
    )
    found, _ = run(spec, tmp_path, values)
    expected = [
        0 if v != v else int(max(-(2**63), min(2**63 - 1, v if np.isinf(v) else round(float(v)))))
        for v in values
    ]
    assert found.tolist() == expected
