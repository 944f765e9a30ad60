"""Rows of the kernel that a register tile leaves out because of padding, counted window by
window."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.spec import Conv2d
from kgen.targets.cpu.plan.packing.packed_windows import depth_inside

CONVS: dict[str, dict[str, Any]] = {
    "3x3": {"input": (1, 2, 7, 5), "weights": (1, 2, 3, 3), "padding": 1},
    "two images": {"input": (2, 2, 3, 2), "weights": (1, 2, 3, 3), "padding": 1},
    "stride and dilation": {
        "input": (2, 2, 8, 3), "weights": (1, 2, 5, 2), "padding": (3, 0, 4, 1), "stride": (3, 1),
        "dilation": (2, 1),
    },
    "one axis": {"input": (1, 2, 9), "weights": (1, 2, 5), "padding": 3},
}  # fmt: skip


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 64])
@pytest.mark.parametrize("name", CONVS)
def test_share_of_products(name: str, rows: int) -> None:
    """A tile multiplies all rows of the kernel from the first to the last that its windows see."""
    conv = Conv2d(dtype="f32", **CONVS[name])
    inside = depth_inside(conv)
    assert inside is not None and inside.depth * conv.kernel[0] == conv.product.k
    height, width = conv.out_sizes[0], conv.product.m // conv.images // conv.out_sizes[0]
    computed = 0
    for start in range(0, conv.product.m, rows):
        numbers = range(start, min(start + rows, conv.product.m))
        images = {number // (height * width) for number in numbers}
        seen = [
            place
            for number in numbers
            for place in range(conv.kernel[0])
            if 0 <= _row(conv, number // width % height, place) < conv.sizes[0]
        ]
        count = max(seen) + 1 - min(seen) if len(images) == 1 else _all_places(conv)
        computed += len(numbers) * count
    assert inside.share(rows) == pytest.approx(computed / conv.product.m / conv.kernel[0])


def _row(conv: Conv2d, position: int, place: int) -> int:
    """Return the row of the image at a filter position."""
    return position * conv.strides[0] + place * conv.dilations[0] - conv.pads[0][0]


def _all_places(conv: Conv2d) -> int:
    """Return the filter rows that the windows of a whole image see: those of a tile in two
    images."""
    last = conv.out_sizes[0] - 1
    seen = [
        place
        for position in (0, last)
        for place in range(conv.kernel[0])
        if 0 <= _row(conv, position, place) < conv.sizes[0]
    ]
    return max(seen) + 1 - min(seen)


def test_nothing_is_left_out_without_zeros_along_the_first_axis() -> None:
    assert depth_inside(Conv2d(input=(1, 2, 7, 5), weights=(1, 2, 3, 3), padding=(0, 1))) is None
    for value in (7, "padding"):
        bytes_ = Conv2d(dtype="s8", padding_value=value, **CONVS["3x3"])
        assert depth_inside(bytes_) is None
