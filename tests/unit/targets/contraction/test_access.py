"""Access maps against definitions by nested loops: addresses, runs, steps and guards."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.spec import Conv2d, DType, Extent, Layout, Matmul
from kgen.targets.batch import BatchTerm, batch_coordinates
from kgen.targets.contraction.access import AccessMap, Axis, Digit, Guard, access_maps, images
from kgen.targets.contraction.implicit_gemm import implicit_gemm, vector_terms

#: Digits of a row and of k -> the element's address, None if it does not exist.
Definition = Callable[[tuple[int, ...], tuple[int, ...]], int | None]


def counted(digits: tuple[Digit, ...], end: int) -> list[tuple[int, ...]]:
    """Return the digits of all indices below `end`; past its extent the first digit continues."""
    first, *others = (digit.extent for digit in digits)
    ranges = [range(max(first, end)), *map(range, others)]
    return list(itertools.islice(itertools.product(*ranges), end))


def holds(guard: Guard, row: tuple[int, ...], k: tuple[int, ...]) -> bool:
    """Evaluate a guard for an element."""
    found = guard.start
    for coefficients, digits in ((guard.row, row), (guard.k, k)):
        found += sum(c * d for c, d in zip(coefficients, digits, strict=True))
    return 0 <= found < guard.end


def elements(access: AccessMap) -> Iterator[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Yield row and k of all elements, as numbers and as digits."""
    rows, depths = counted(access.row, access.rows), counted(access.k, access.depth)
    for (row, row_digits), (k, k_digits) in itertools.product(enumerate(rows), enumerate(depths)):
        yield row, k, row_digits, k_digits


def check_addresses(access: AccessMap, definition: Definition, base: int = 0) -> None:
    """Check that every element has the address of the definition, and that guards hold exactly
    if it exists."""
    for row, k, row_digits, k_digits in elements(access):
        wanted = definition(row_digits, k_digits)
        assert all(holds(guard, row_digits, k_digits) for guard in access.guards) == (
            wanted is not None
        )
        assert wanted is None or base + access.offset(row, k) == wanted


def check_runs(access: AccessMap, definition: Definition) -> None:
    """Check that the elements of a run are contiguous and exist together, and that runs are
    multiples of `starts`."""
    found = {(row, k): definition(r, d) for row, k, r, d in elements(access)}
    across = access.rows if access.outer == "row" else access.depth
    along = access.rows if access.inner == "row" else access.depth
    assert along % access.run == 0
    for other, begin in itertools.product(range(across), range(0, along, access.run)):
        places = [(i, other) if access.inner == "row" else (other, i) for i in range(along)]
        run = places[begin : begin + access.run]
        first = found[run[0]]
        wanted = [None if first is None else first + i for i in range(access.run)]
        assert [found[place] for place in run] == wanted
        offset, unit = access.offset(*run[0]), math.gcd(*access.starts)
        assert offset % unit == 0 if unit else offset == 0


def check_steps(access: AccessMap, depth: int) -> None:
    """Check that the steps lead from K-tile to K-tile."""
    begins = [access.offset(0, k) for k in range(0, access.depth, depth)]
    steps = access.steps(depth)
    if len(steps) == 1:
        steps *= len(begins) - 1
    assert [begins[0] + sum(steps[:i]) for i in range(len(begins))] == begins


def check_guards(access: AccessMap, rows: int, depth: int) -> None:
    """Check that exactly the elements of a whole tile exist for which the tile's guards hold."""
    ends = [-(-size // tile) * tile for size, tile in ((access.rows, rows), (access.depth, depth))]
    guards = access.guards_of(rows, depth)
    all_rows, all_k = counted(access.row, ends[0]), counted(access.k, ends[1])
    for (row, row_digits), (k, k_digits) in itertools.product(
        enumerate(all_rows), enumerate(all_k)
    ):
        inside = row < access.rows and k < access.depth
        wanted = inside and all(holds(guard, row_digits, k_digits) for guard in access.guards)
        assert all(holds(guard, row_digits, k_digits) for guard in guards) == wanted


SIZES = st.integers(1, 9)


@st.composite
def matmuls(draw: st.DrawFn) -> Matmul:
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    layout = draw(st.sampled_from(Layout))
    gaps = st.integers(0, 3)
    fields: dict[str, Any] = {
        "lda": (m if layout.a_transposed else k) + draw(gaps),
        "ldb": (k if layout.b_transposed else n) + draw(gaps),
    }
    strides = st.integers(0, 100)
    if dims := draw(st.sampled_from([(), (3,), (2, 3), (2, 3, 2)])):
        names = ("batch_stride_a", "batch_stride_b")
        if len(dims) == 1:
            fields |= {"batch": 3, **{name: draw(strides) for name in names}}
        else:
            fields |= {"batch_dims": dims}
            fields |= {name: tuple(draw(strides) for _ in dims) for name in names}
    dtype = draw(st.sampled_from([DType.F16, DType.F32, DType.S8]))
    return Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout, **fields)


@given(matmuls(), SIZES, SIZES)
@settings(deadline=None)
def test_operands_of_a_matmul(spec: Matmul, rows: int, depth: int) -> None:
    """The spec's parameters give the addresses of stored elements."""
    for access, transposed, side in zip(
        access_maps(spec),
        (spec.layout.a_transposed, not spec.layout.b_transposed),
        (spec.m, spec.n),
        strict=True,
    ):
        parameter = spec.parameter(access.name)
        row_stride, column_stride = parameter.strides[-2:]
        assert column_stride == 1 and parameter.dtype is access.dtype

        def definition(
            row: tuple[int, ...],
            k: tuple[int, ...],
            transposed: bool = transposed,
            stride: int = row_stride,
        ) -> int:
            stored = (k[0], row[0]) if transposed else (row[0], k[0])
            return stored[0] * stride + stored[1]

        assert (access.rows, access.depth) == (side, spec.k)
        assert access.run == (side if transposed else spec.k)
        check_addresses(access, definition)
        check_runs(access, definition)
        check_steps(access, depth)
        check_guards(access, rows, depth)
        check_batch(spec, access)


def check_batch(spec: Matmul, access: AccessMap) -> None:
    """Check that the batch's terms give the matrix of each product; sizes of 1 broadcast."""
    parameter = spec.parameter(access.name)
    batch = [*zip(parameter.shape[:-2], parameter.strides[:-2], strict=True)]
    for product, place in enumerate(itertools.product(*map(range, spec.batch_sizes))):
        coordinates = {c.name: product // c.divisor % c.size for c in batch_coordinates(spec)} or {
            "batch": product
        }
        found = sum(coordinates[term.name] * term.stride for term in access.batch)
        own = zip(place[len(place) - len(batch) :], batch, strict=True)
        assert found == sum(i * stride for i, (size, stride) in own if size > 1)


@given(matmuls())
@settings(deadline=None)
def test_strides_that_no_element_needs(spec: Matmul) -> None:
    for access in access_maps(spec):
        found = access.without_idle_strides
        for row, k, *_ in elements(access):
            assert found.offset(row, k) == access.offset(row, k)
        single = access.rows if access.outer == "row" else access.depth
        assert found.starts[0] == (0 if single == 1 else access.starts[0])


@pytest.mark.parametrize("channels_last", [True, False])
@given(
    size=st.tuples(*[st.integers(1, 3)] * 2, st.integers(1, 6), st.integers(1, 6)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 3),
    padding=st.integers(0, 3),
    rows=SIZES,
    depth=SIZES,
)
@settings(deadline=None, max_examples=60)
def test_input_of_a_convolution(
    channels_last: bool,
    size: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: int,
    dilation: int,
    padding: int,
    rows: int,
    depth: int,
) -> None:
    """Both indices have three digits, and y and x have a guard each."""
    images, channels, high, wide = size
    outputs = [
        (extent + 2 * padding - dilation * (each - 1) - 1) // stride + 1
        for extent, each in zip((high, wide), kernel, strict=True)
    ]
    if min(outputs) < 1:
        return
    pixel, plane = (channels, 1) if channels_last else (1, high * wide)
    image, line = high * wide * channels, wide * pixel

    def digits(*found: tuple[int, int]) -> tuple[Digit, ...]:
        return tuple(Digit(extent=extent, stride=each) for extent, each in found)

    taps = ((kernel[0], dilation * line), (kernel[1], dilation * pixel))
    of_channels = (channels, plane)
    order = (*taps, of_channels) if channels_last else (of_channels, *taps)
    y, x = (0, 1) if channels_last else (1, 2)
    inner: Axis = "k" if channels_last else "row"
    access = AccessMap(
        name="a",
        dtype=DType.F32,
        row=digits((images, image), (outputs[0], stride * line), (outputs[1], stride * pixel)),
        k=digits(*order),
        inner=inner,
        guards=tuple(
            Guard(
                row=tuple(stride * (i == number) for i in range(3)),
                k=tuple(dilation * (i == at) for i in range(3)),
                start=-padding,
                end=end,
            )
            for number, at, end in ((1, y, high), (2, x, wide))
        ),
    )

    def definition(row: tuple[int, ...], k: tuple[int, ...]) -> int | None:
        channel = k[2] if channels_last else k[0]
        at_y = row[1] * stride + k[y] * dilation - padding
        at_x = row[2] * stride + k[x] * dilation - padding
        if not (0 <= at_y < high and 0 <= at_x < wide):
            return None
        if channels_last:
            return ((row[0] * high + at_y) * wide + at_x) * channels + channel
        return ((row[0] * channels + channel) * high + at_y) * wide + at_x

    check_addresses(access, definition, base=-padding * (line + pixel))
    check_runs(access, definition)
    check_steps(access, depth)
    check_guards(access, rows, depth)
    assert access.run == (channels if channels_last else 1)


def test_a_run_covers_digits_without_guards() -> None:
    """Filter rows of an unpadded channels-last image are one run, and K-tiles of a run have a
    table of steps."""
    access = AccessMap(
        name="a",
        dtype=DType.F16,
        row=(Digit(extent=4, stride=80), Digit(extent=8, stride=8)),
        k=(Digit(extent=3, stride=80), Digit(extent=3, stride=8), Digit(extent=8, stride=1)),
        inner="k",
    )
    assert (access.run, access.starts) == (24, (80, 80, 8))
    assert access.steps(8) == (8, 8, 64, 8, 8, 64, 8, 8)
    assert access.steps(24) == (80,)
    assert [guard.end for guard in access.guards_of(5, 16)] == [4, 3]


@st.composite
def convolutions(draw: st.DrawFn) -> Conv2d:
    rank = draw(st.integers(1, 3))
    groups, depth = draw(st.sampled_from([1, 2])), draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    dilation = [draw(st.integers(1, 2)) for _ in range(rank)]
    reaches = [(n - 1) * d + 1 for n, d in zip(kernel, dilation, strict=True)]
    padding = [draw(st.integers(0, reach - 1)) for reach in reaches * 2]
    sizes = [
        draw(st.integers(max(1, reach - padding[i] - padding[rank + i]), reach + 2))
        for i, reach in enumerate(reaches)
    ]
    return Conv2d(
        input=(draw(st.integers(1, 2)), groups * depth, *sizes),
        weights=(groups, depth, *kernel),
        stride=tuple(draw(st.integers(1, 3)) for _ in range(rank)),
        dilation=tuple(dilation),
        padding=tuple(padding),
        groups=groups,
        layout=draw(st.sampled_from(["nhwc", "nchw"])),
        weight_layout=draw(st.sampled_from(["ohwi", "hwio", "oihw"])),
    )


def digits_of(number: int, sizes: tuple[int, ...]) -> list[int]:
    found = []
    for size in reversed(sizes):
        number, digit = divmod(number, size)
        found.append(digit)
    return found[::-1]


def stored(spec: Conv2d, image: int, channel: int, at: list[int]) -> int:
    """Return the address of an element of the images."""
    if spec.layout == "nchw":
        return flat((image, channel, *at), (spec.images, spec.channels, *spec.sizes))
    return flat((image, *at, channel), (spec.images, *spec.sizes, spec.channels))


def flat(place: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    return sum(i * math.prod(sizes[axis + 1 :]) for axis, i in enumerate(place))


@given(convolutions(), SIZES)
@settings(deadline=None)
def test_operands_of_a_convolution(spec: Conv2d, depth: int) -> None:
    """Both maps of a spec visit exactly the elements that a window sees and their weights, in
    one order."""
    first, of_weights = spec.layout == "nchw", spec.weight_layout
    gemm, maps = implicit_gemm(spec), access_maps(spec)
    access, weights = maps[::-1] if first else maps
    assert (access, access.name) == (images(spec), "b" if first else "a")
    outputs, per_group, places = spec.outputs // spec.groups, spec.weights[1], spec.kernel
    assert {a.depth for a in maps} == {spec.product.k} and weights.rows == outputs
    assert access.rows == spec.product.m // (spec.images if first else 1)
    leads = first and of_weights == "oihw"

    def of(k: int) -> tuple[int, list[int]]:
        """Return the channel of a k, and its filter position."""
        if leads:
            channel, *place = digits_of(k, (per_group, *places))
        else:
            *place, channel = digits_of(k, (*places, per_group))
        return channel, place

    def definition(row: int, k: int) -> int | None:
        image, *position = digits_of(row, (spec.images, *spec.out_sizes))
        channel, place = of(k)
        at = [
            position[axis] * spec.strides[axis]
            + place[axis] * spec.dilations[axis]
            - spec.pads[axis][0]
            for axis in range(spec.rank)
        ]
        if not all(0 <= x < size for x, size in zip(at, spec.sizes, strict=True)):
            return None
        return stored(spec, image, channel, at)

    for row, k, row_digits, k_digits in elements(access):
        wanted = definition(row, k)
        assert all(holds(guard, row_digits, k_digits) for guard in access.guards) == (
            wanted is not None
        )
        assert wanted is None or access.start + access.offset(row, k) == wanted
    for row, k, *_ in elements(weights):
        channel, place = of(k)
        order = {
            "oihw": ((row, channel, *place), (outputs, per_group, *places)),
            "ohwi": ((row, *place, channel), (outputs, *places, per_group)),
            "hwio": ((*place, channel, row), (*places, per_group, spec.outputs)),
        }
        assert weights.offset(row, k) == flat(*order[str(of_weights)])
    for each in maps:
        check_steps(each, depth)
    group = outputs if of_weights == "hwio" else outputs * spec.product.k
    for number, (image, part) in enumerate(np.ndindex(spec.images if first else 1, spec.groups)):
        coordinates = {c.name: number // c.divisor % c.size for c in batch_coordinates(gemm)} or {
            "batch": number
        }
        begins = stored(spec, image, part * per_group, [0] * spec.rank)
        assert sum(coordinates[t.name] * t.stride for t in access.batch) == begins
        assert sum(coordinates[t.name] * t.stride for t in weights.batch) == part * group


def test_names_of_images_by_channels() -> None:
    """Kernels name the images b, bundles a; vectors of the output channels are along M."""
    spec = Conv2d(input=(2, 4, 5, 5), weights=(6, 2, 3, 3), groups=2, layout="nchw",
                  epilogue="x * scale + residual")  # fmt: skip
    gemm = implicit_gemm(spec)
    assert [p.name for p in spec.parameters] == ["a", "b", "scale", "residual", "out"]
    assert [p.name for p in gemm.parameters] == ["b", "a", "scale", "residual", "out"]
    assert gemm.parameter("b").shape == (2, 4, 5, 5)
    assert [o.extent.value for o in gemm.operands] == ["mx1", "mxn"]
    assert vector_terms(gemm, Extent.M, 4) == (BatchTerm(name="batch1", stride=12),)
    assert vector_terms(gemm, Extent.N, 4) == ()


def test_a_convolution_of_single_pixels_is_a_matrix() -> None:
    spec = Conv2d(input=(2, 24, 5, 7), weights=(8, 24, 1, 1))
    assert access_maps(spec) == access_maps(spec.product)


def test_equal_convolutions_share_one_implicit_gemm() -> None:
    """Its epilogue is checked once for all schedules."""
    specs = [Conv2d(input=(1, 8, 6, 9), weights=(8, 8, 3, 3), epilogue="relu(x)") for _ in "ab"]
    assert implicit_gemm(specs[0]) is implicit_gemm(specs[1])


def test_rows_of_a_kernel_without_padding_are_runs() -> None:
    spec = Conv2d(input=(1, 8, 6, 9), weights=(8, 8, 3, 3), stride=2)
    (access, _) = access_maps(spec)
    assert (access.run, access.start, access.guards) == (24, 0, ())
    padded = access_maps(Conv2d(input=(1, 8, 6, 9), weights=(8, 8, 3, 3), padding=1))[0]
    assert (padded.run, padded.start, len(padded.guards)) == (8, -(9 * 8 + 8), 2)
