"""Conv and ConvTranspose: lowering to conv2d kernels with channels innermost (NHWC), or to GEMMs.

- A 1x1 convolution is a GEMM.
- A convolution whose windows cover mostly padding is one GEMM per kernel position.
- A depthwise convolution has its own kernel on CPUs; elsewhere it is one formula over the window.
- A transposed convolution is one convolution per phase of its output.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np

from kgen.errors import SpecError
from kgen.graph.fusing.limits import MOST_OPERANDS
from kgen.graph.ir import CHANGE_MODEL, Builder, GraphValue
from kgen.graph.operators.registry import Operator, check_shape, folded_terms, one, optional
from kgen.graph.operators.signed_bytes import is_dequantized
from kgen.graph.operators.views import joined
from kgen.graph.operators.windows import (
    Window,
    Windows,
    counts_of,
    padded,
    places_of,
    seen_at,
    windows_of,
)
from kgen.graph.reading.model import Node, Shape
from kgen.ops.expression import view
from kgen.spec.conv2d import MAX_AXES, Conv2d
from kgen.spec.shapes import by_x
from kgen_runtime.values import frozen

#: Most kernel positions that one formula adds; more take several formulas.
MOST_PLACES = 25
#: Most positions of a kernel.
MOST_SIZE = 4096


def conv(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    x, w, bias = one(given), one(given, 1), optional(given, 2)
    check_ranks(b, x, w)
    check_kernel(b, node, w)
    check_shape(b, bias, w.shape[:1], "a bias")
    windows = windows_of(b, node, w.shape[2:], x.shape[2:], b.result.shape[2:])
    return convolved(b, node, x, w, bias, windows)


def check_ranks(b: Builder, x: GraphValue, w: GraphValue) -> None:
    """Raise GraphError unless input and weights have equal rank, 3 or more, and few enough axes."""
    if x.rank < 3 or w.rank != x.rank:
        raise b.refusal(
            f"has an input of {x.rank} axes and weights of {w.rank}; ONNX requires the same "
            "number, 3 or more",
            CHANGE_MODEL,
        )
    if x.rank > 2 + MAX_AXES:
        raise b.refusal(
            f"has an input of {x.rank - 2} spatial axes; {MAX_AXES} is the limit",
            "replace it by a sum of convolutions with fewer axes in the model",
        )


def check_kernel(b: Builder, node: Node, w: GraphValue) -> None:
    """Raise GraphError if the node's kernel_shape differs from the shape of its weights."""
    if node.attribute("kernel_shape", w.shape[2:]) != w.shape[2:]:
        shown = ",".join(map(str, node.attribute("kernel_shape")))
        raise b.refusal(
            f"has kernel_shape={shown}, and weights of {by_x(w.shape[2:])}",
            "leave kernel_shape out, or make it that of the weights, in the model",
        )


def convolved(
    b: Builder, node: Node, x: GraphValue, w: GraphValue, bias: GraphValue | None, windows: Windows
) -> GraphValue:
    """Convolve; weights are (output channels, input channels per group, positions...)."""
    groups, rank = node.attribute("group", 1), len(windows)
    outputs, depth = w.shape[:2]
    if groups < 1 or x.shape[1] != groups * depth or outputs % groups:
        raise b.refusal(
            f"has group={groups} with {x.shape[1]} channels and weights for {depth} of "
            f"{outputs} outputs; they do not fit",
            "change group, or the shape of the weights, in the model",
        )
    if math.prod(w.shape[2:]) > MOST_SIZE:
        raise b.refusal(
            f"has a kernel of {math.prod(w.shape[2:])} elements; {MOST_SIZE} is the limit",
            "use a smaller kernel, or several convolutions",
        )
    x, w, windows = seen_places(b, x, w, windows)
    # Move the channels innermost.
    x = b.permute(x, (0, *range(2, rank + 2), 1))
    if depth == 1 and groups > 1:
        found = depthwise(b, x, w, windows)
    elif groups == 1 and sees_little(b, x, w, windows):
        found = by_place(b, x, w, windows)
    elif groups == 1 and all(v.size == v.step == 1 and v.before == v.after == 0 for v in windows):
        found = b.product(x, places_first(b, w))
    else:
        found = by_window(b, x, w, windows, groups)
    if bias is not None:
        found = b.formula(b.call("add", found, bias), found.shape, found.dtype)
    return b.permute(found, (0, rank + 1, *range(1, rank + 1)))


def seen_places(
    b: Builder, x: GraphValue, w: GraphValue, windows: Windows
) -> tuple[GraphValue, GraphValue, Windows]:
    """Drop the leading and trailing kernel positions that see only padding, along each axis.

    Returns images, weights and windows. If all positions see only padding, the images are zeros.
    """
    if not all(any(seen_windows(window)) for window in windows):
        counts = counts_of(windows)
        zero = b.made("zero", np.zeros((1,) * x.rank, x.dtype.storage), x.dtype)
        for axis in range(len(windows)):
            w = b.slice(w, 2 + axis, 0, 1)
        each = [Window(length=n, size=1, step=1, apart=1, count=n, pads=(0, 0)) for n in counts]
        return b.expand(zero, (*x.shape[:2], *counts)), w, tuple(each)
    found = []
    for axis, window in enumerate(windows):
        places = window.places()
        seen = np.flatnonzero(((places >= 0) & (places < window.length)).any(axis=0))
        first, size = int(seen[0]), int(seen[-1] - seen[0]) + 1
        if (first, size) == (0, window.size):
            found.append(window)
            continue
        w = b.slice(w, 2 + axis, first, size)
        # Without its leading positions, a window begins after the first element.
        before = window.before - first * window.apart
        if before < 0:
            x = b.slice(x, 2 + axis, -before, window.length + before)
        length = x.shape[2 + axis]
        pads = (max(before, 0), window.pads[1])
        found.append(dataclasses.replace(window, length=length, size=size, pads=pads))
    return x, w, tuple(found)


def depthwise(b: Builder, x: GraphValue, w: GraphValue, windows: Windows) -> GraphValue:
    has_kernel = b.convolves.depthwise and math.prod(w.shape[2:]) > 1
    each = w.shape[0] // x.shape[-1]
    if has_kernel and each & (each - 1) == 0:
        return by_window(b, x, w, windows, x.shape[-1])
    return by_channel(b, x, w, windows)


def sees_little(b: Builder, x: GraphValue, w: GraphValue, windows: Windows) -> bool:
    """Whether most multiplications would be by padding, and the weights are constant and finite.

    A zero of the padding times an infinite weight would be NaN.
    """
    if math.prod(window.size for window in windows) > MOST_PLACES or is_dequantized(b, x):
        return False
    seen = math.prod(sum(len(of_window) for of_window in seen_windows(v)) for v in windows)
    if 2 * seen > math.prod(window.size * window.count for window in windows):
        return False
    weights = b.elements(w)
    return weights is not None and bool(np.isfinite(weights).all())


def seen_windows(window: Window) -> tuple[range, ...]:
    """Return, for each kernel position along an axis, the windows in which it sees an element."""
    found = []
    for places in window.places().T:
        inside = np.flatnonzero((places >= 0) & (places < window.length))
        found.append(range(inside[0], inside[-1] + 1) if inside.size else range(0))
    return tuple(found)


def by_place(b: Builder, x: GraphValue, w: GraphValue, windows: Windows) -> GraphValue:
    """Convolve as the sum of one GEMM per kernel position, over the windows that need it."""
    rank, counts = len(windows), counts_of(windows)
    axes, terms = [seen_windows(window) for window in windows], []
    for at in places_of(windows):
        seen = [axes[axis][place] for axis, place in enumerate(at)]
        if not all(seen):
            continue
        part, weights = x, w
        for axis, (window, place) in enumerate(zip(windows, at, strict=True)):
            start = seen[axis].start * window.step - window.before + place * window.apart
            part = b.slice(part, 1 + axis, start, len(seen[axis]), window.step)
            weights = b.slice(weights, 2 + axis, place, 1)
        term = b.tensor(b.product(part, places_first(b, weights)))
        for axis in range(rank):
            before, after = seen[axis].start, counts[axis] - seen[axis].stop
            if before or after:
                term = view("pad", (term, 1 + axis, before, after, 0.0))
        terms.append(term)
    shape = (x.shape[0], *counts, w.shape[0])
    return folded_terms(b, "add", terms, MOST_OPERANDS - 1, shape, x.dtype)


def by_window(
    b: Builder, x: GraphValue, w: GraphValue, windows: Windows, groups: int
) -> GraphValue:
    """Convolve by a conv2d kernel, on images with channels innermost."""
    if any(max(v.before, v.after) > (v.size - 1) * v.apart for v in windows):
        # Kernels require padding smaller than the extent of the kernel.
        whole = padded(b.tensor(x), windows, range(1, len(windows) + 1), 0.0)
        shape = (x.shape[0], *(v.padded for v in windows), x.shape[-1])
        x = b.formula(whole, shape, x.dtype)
        windows = tuple(dataclasses.replace(v, length=v.padded, pads=(0, 0)) for v in windows)
    for axis, window in enumerate(windows, start=1):
        if -window.after >= window.step:
            x = b.slice(x, axis, 0, window.length + window.after)
    windows = tuple(
        dataclasses.replace(v, length=n) for v, n in zip(windows, x.shape[1:-1], strict=True)
    )
    try:
        conv = Conv2d(
            input=(x.shape[0], x.shape[-1], *x.shape[1:-1]),
            weights=w.shape,
            dtype=x.dtype,
            groups=groups,
            weight_layout="hwio",
            stride=tuple(v.step for v in windows),
            dilation=tuple(v.apart for v in windows),
            padding=tuple([v.before for v in windows] + [max(v.after, 0) for v in windows]),
        )
    except SpecError as error:
        raise b.refusal(
            f"is a convolution that kernels do not support ({error})", "split it in the model"
        ) from None
    return b.convolution(x, places_first(b, w), conv)


def places_first(b: Builder, w: GraphValue) -> GraphValue:
    """Return weights as a matrix of (positions and channels) x outputs."""
    order = (*range(2, w.rank), 1, 0)
    shape = (math.prod(w.shape[1:]), w.shape[0])
    return as_constant(b, w, order, shape)


def as_constant(b: Builder, w: GraphValue, order: Sequence[int], shape: Shape) -> GraphValue:
    """Return a tensor permuted and reshaped; a constant stays a constant."""
    return b.folded(b.reshape(b.permute(w, order), shape))


def by_channel(b: Builder, x: GraphValue, w: GraphValue, windows: Windows) -> GraphValue:
    """Convolve depthwise by formulas; a channel may have several outputs."""
    axes = range(1, len(windows) + 1)
    channels, outputs = x.shape[-1], w.shape[0]
    each = outputs // channels
    places = places_of(windows)
    table = as_constant(b, w, (*range(2, w.rank), 0, 1), (len(places), outputs))
    if each > 1:
        x = b.reshape(x, (*x.shape, 1))
        table = b.reshape(table, (len(places), channels, each))
    shape = (x.shape[0], *counts_of(windows), *table.shape[1:])
    whole = padded(b.tensor(x), windows, axes, 0.0)
    terms = []
    for number, place in enumerate(places):
        weight = view("slice", (b.tensor(table), 0, number, number + 1, 1))
        terms.append(b.call("mul", seen_at(whole, windows, axes, place), weight))
    found = folded_terms(b, "add", terms, MOST_PLACES, shape, x.dtype)
    return b.reshape(found, (*shape[: len(windows) + 1], outputs))


def conv_transpose(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower ConvTranspose.

    Windows that do not overlap are one GEMM, whose rows are windows. Other cases are convolutions
    with a flipped kernel: one per phase of the output, or one of an input with zeros inserted.
    """
    x, w, bias = one(given), one(given, 1), optional(given, 2)
    check_ranks(b, x, w)
    check_kernel(b, node, w)
    groups = node.attribute("group", 1)
    if groups < 1 or x.shape[1] != w.shape[0] or x.shape[1] % groups:
        raise b.refusal(
            f"has group={groups} with {x.shape[1]} channels and weights for {w.shape[0]}; they "
            "do not fit",
            "change group, or the shape of the weights, in the model",
        )
    check_shape(b, bias, (w.shape[1] * groups,), "a bias")
    # Windows over the output: one for each element of the input.
    windows = windows_of(b, node, w.shape[2:], b.result.shape[2:], x.shape[2:])
    alone = all(
        w.size == w.step and w.apart == 1 and w.before == 0 and w.length == w.count * w.size
        for w in windows
    )
    more = tuple(node.attribute("output_padding", ()))
    if any(n >= max(w.step, w.apart) or n < 0 for n, w in zip(more, windows, strict=False)):
        raise b.refusal(
            f"has output_padding={','.join(map(str, more))}; each number is from 0 to one less "
            "than its stride or dilation",
            "change it in the model",
        )
    if alone and groups == 1:
        return by_separate_windows(b, x, w, bias, windows)
    axes = [phases_of(window) for window in windows]
    if all(all(phases) for phases in axes) and any(len(phases) > 1 for phases in axes):
        return by_phases(b, node, x, w, bias, windows)
    return with_zeros(b, node, x, w, bias, windows)


def by_separate_windows(
    b: Builder, x: GraphValue, w: GraphValue, bias: GraphValue | None, windows: Windows
) -> GraphValue:
    """Lower a ConvTranspose whose windows do not overlap: multiply, then interleave the windows.

    If images have few channels, each of their rows has one product for each row of a window. The
    result is a row of the output, so only its columns are interleaved. Each product reads its
    weights again, which costs less than interleaving rows of outputs.
    """
    rank, outputs = len(windows), w.shape[1]
    x = b.permute(x, (0, *range(2, rank + 2), 1))
    images, *counts, channels = x.shape
    sizes = tuple(window.size for window in windows)
    by_rows = channels <= 2 * counts[-1] and not is_dequantized(b, x)
    alone = rank - 1 if by_rows else 0
    wide = math.prod(sizes[alone:]) * outputs
    # Window rows of the axes before the last one, channels, and outputs of a part of a window.
    order = (*range(2, alone + 2), 0, *range(alone + 2, rank + 2), 1)
    rows = [n for size in sizes[:alone] for n in (size, 1)][:-1]
    matrix = as_constant(b, w, order, (*rows, channels, wide))
    apart = [n for count in counts[:alone] for n in (count, 1)]
    found = b.product(b.reshape(x, (images, *apart, *counts[alone:], channels)), matrix)
    done = [n for count, size in zip(counts, sizes[:alone], strict=False) for n in (count, size)]
    found = b.reshape(found, (images, *done, *counts[alone:], *sizes[alone:], outputs))
    if bias is not None:
        found = b.formula(b.call("add", found, bias), found.shape, found.dtype)
    found = interleaved(b, found, 1 + 2 * alone, rank - alone)
    found = b.reshape(found, (images, *(w.length for w in windows), outputs))
    return b.permute(found, (0, rank + 1, *range(1, rank + 1)))


def interleaved(b: Builder, x: GraphValue, first: int, count: int) -> GraphValue:
    """Move the axes of positions in windows behind the axes of windows: (y, x, dy, dx) becomes
    (y, dy, x, dx). There are `count` axes of windows, from axis `first` on."""
    pairs = [axis for i in range(first, first + count) for axis in (i, i + count)]
    return b.permute(x, (*range(first), *pairs, *range(first + 2 * count, x.rank)))


@frozen
class Phase:
    """Every `step`-th output along an axis of a transposed convolution.

    The phase uses every `apart`-th position of the flipped kernel from `first` on. `window`
    describes these positions over the input.
    """

    first: int
    apart: int
    window: Window


def phases_of(window: Window) -> tuple[Phase | None, ...]:
    """Return the phases of an axis of a transposed convolution; None for a phase without positions.

    `window` describes windows over the output: input i and kernel position k contribute to output i
    * step + k * apart - before. Outputs that are a step apart therefore use the same positions, and
    adjacent ones among them use inputs at a constant distance.
    """
    common = math.gcd(window.step, window.apart)
    every, distance = window.step // common, window.apart // common
    found: list[Phase | None] = []
    for phase in range(window.step):
        reached = [
            place
            for place in range(min(every, window.size))
            if (phase + window.before - place * window.apart) % window.step == 0
        ]
        if not reached:
            found.append(None)
            continue
        (place,) = reached
        size = -(-(window.size - place) // every)
        shift = (phase + window.before - place * window.apart) // window.step
        found.append(
            Phase(
                first=window.size - 1 - (place + (size - 1) * every),
                apart=every,
                window=Window(
                    length=window.count,
                    size=size,
                    step=1,
                    apart=distance,
                    count=-(-window.length // window.step),
                    pads=((size - 1) * distance - shift, 0),
                ),
            )
        )
    return tuple(found)


def by_phases(
    b: Builder, node: Node, x: GraphValue, w: GraphValue, bias: GraphValue | None, windows: Windows
) -> GraphValue:
    """Compute each phase of the output without inserted zeros, and interleave the phases."""
    rank, groups = len(windows), node.attribute("group", 1)
    kernel = turned(b, w, groups)
    x, axes = with_shared_padding(b, x, [phases_of(window) for window in windows])
    taken = [of_phases(b, kernel, x, phases) for phases in itertools.product(*axes)]
    outputs, counts = kernel.shape[0], [next(filter(None, phases)).window.count for phases in axes]
    if groups == 1 and all(len({phase and phase.window for phase in axis}) == 1 for axis in axes):
        # All phases read the same windows: one convolution has the outputs of all of them.
        arrays = [b.elements(weights) for weights, *_ in taken]
        whole = b.made("phases", np.concatenate(arrays), x.dtype)  # type: ignore[arg-type]
        _, images, seen = taken[0]
        found = b.permute(
            convolved(b, node, images, whole, None, seen), (0, *range(2, rank + 2), 1)
        )
        found = b.reshape(found, (x.shape[0], *counts, *(v.step for v in windows), outputs))
        if bias is not None:
            found = b.formula(b.call("add", found, bias), found.shape, found.dtype)
        found = interleaved(b, found, 1, rank)
    else:
        parts = [convolved(b, node, images, w, bias, seen) for w, images, seen in taken]
        found = side_by_side(b, parts, windows)
    lengths = tuple(count * v.step for count, v in zip(counts, windows, strict=True))
    found = b.reshape(found, (x.shape[0], *lengths, outputs))
    for axis, window in enumerate(windows):
        if lengths[axis] > window.length:
            found = b.slice(found, 1 + axis, 0, window.length)
    return b.permute(found, (0, rank + 1, *range(1, rank + 1)))


def of_phases(
    b: Builder, kernel: GraphValue, x: GraphValue, phases: Sequence[Phase | None]
) -> tuple[GraphValue, GraphValue, Windows]:
    """Return the weights, images and windows of a convolution for a phase along each axis."""
    seen = []
    for axis, phase in enumerate(phases):
        assert phase is not None
        window = phase.window
        if (phase.first, phase.apart, window.size) != (0, 1, kernel.shape[2 + axis]):
            kernel = b.slice(kernel, 2 + axis, phase.first, window.size, phase.apart)
        if window.before < 0:
            x = b.slice(x, 2 + axis, -window.before, window.length + window.before)
        length = x.shape[2 + axis]
        seen.append(dataclasses.replace(window, length=length, pads=(max(window.before, 0), 0)))
    return kernel, x, tuple(seen)


def side_by_side(b: Builder, parts: Sequence[GraphValue], windows: Windows) -> GraphValue:
    """Place the elements of all phases of an axis side by side after the axis, channels last."""
    rank = len(windows)
    parts = [b.permute(part, (0, *range(2, rank + 2), 1)) for part in parts]
    images, *counts, _ = parts[0].shape
    for axis in reversed(range(rank)):
        step = windows[axis].step
        rows = [
            b.reshape(part, (images, *counts[: axis + 1], math.prod(part.shape[axis + 2 :])))
            for part in parts
        ]
        parts = [joined(b, rows[i : i + step], axis + 2) for i in range(0, len(rows), step)]
    return parts[0]


def with_shared_padding(
    b: Builder, x: GraphValue, axes: list[tuple[Phase | None, ...]]
) -> tuple[GraphValue, list[tuple[Phase | None, ...]]]:
    """Pad images behind an axis once for all of its phases, if the kernel of one is smaller than
    the padding that it needs."""
    whole, shape = b.tensor(x), list(x.shape)
    found = []
    for axis, phases in enumerate(axes, start=2):
        windows = [phase.window for phase in phases if phase is not None]
        after = max(window.after for window in windows)
        if any(window.after > (window.size - 1) * window.apart for window in windows):
            whole = view("pad", (whole, axis, 0, after, 0.0))
            shape[axis] += after
        found.append(
            tuple(
                phase
                and dataclasses.replace(
                    phase, window=dataclasses.replace(phase.window, length=shape[axis])
                )
                for phase in phases
            )
        )
    return (x if tuple(shape) == x.shape else b.formula(whole, shape, x.dtype)), found


def with_zeros(
    b: Builder, node: Node, x: GraphValue, w: GraphValue, bias: GraphValue | None, windows: Windows
) -> GraphValue:
    groups = node.attribute("group", 1)
    spread = b.tensor(x)
    shape = tuple(x.shape)
    if any(window.step > 1 for window in windows):
        apart = b.reshape(x, (*shape[:2], *(size for n in shape[2:] for size in (n, 1))))
        spread, sizes = b.tensor(apart), list(apart.shape)
        for axis, window in enumerate(windows):
            if window.step > 1:
                spread = view("pad", (spread, 3 + 2 * axis, 0, window.step - 1, 0.0))
                sizes[3 + 2 * axis] = window.step
        x = b.reshape(
            b.formula(spread, sizes, x.dtype),
            (*shape[:2], *(n * v.step for n, v in zip(shape[2:], windows, strict=True))),
        )
    # The flipped window begins where the original one ended.
    seen = tuple(
        Window(
            length=x.shape[2 + axis],
            size=window.size,
            step=1,
            apart=window.apart,
            count=window.length,
            pads=((window.size - 1) * window.apart - window.before, 0),
        )
        for axis, window in enumerate(windows)
    )
    for axis, window in enumerate(seen):
        if window.before < 0:
            x = b.slice(x, 2 + axis, -window.before, window.length + window.before)
    seen = tuple(
        dataclasses.replace(v, length=x.shape[2 + i], pads=(max(v.before, 0), 0))
        for i, v in enumerate(seen)
    )
    return convolved(b, node, x, turned(b, w, groups), bias, seen)


def turned(b: Builder, w: GraphValue, groups: int) -> GraphValue:
    """Return ConvTranspose weights as Conv weights: channels swapped, kernel flipped."""
    array = b.elements(w)
    if array is None:
        raise b.refusal(
            "reads its weights from data; kgen supports constants only", "make them an initializer"
        )
    inputs, depth = w.shape[:2]
    split = np.flip(array, tuple(range(2, w.rank))).reshape(groups, inputs // groups, *w.shape[1:])
    shape = (groups * depth, inputs // groups, *w.shape[2:])
    return b.made("turned", np.swapaxes(split, 1, 2).reshape(shape), w.dtype)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="Conv", family="product",
        becomes="conv2d or matmul (1x1 kernel); depthwise on GPUs: mul and add",
        lower=conv, unsupported="more than 3 spatial axes",
    ),
    Operator(
        name="ConvTranspose", family="product",
        becomes="conv2d or matmul for each phase", lower=conv_transpose,
        unsupported="more than 3 spatial axes; weights from data if windows overlap",
    ),
)  # fmt: skip
