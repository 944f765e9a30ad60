"""RoiAlign: averages or maxima of image samples in bins of regions of interest."""

from __future__ import annotations

import numpy as np

from kgen.graph.ir import Builder, GraphValue
from kgen.graph.operators.grids import MOST_GATHERED, Axis, cell, weighted
from kgen.graph.operators.registry import Operator, check_shape, choice_of, folded_terms, one
from kgen.graph.reading.model import Node
from kgen.ops.expression import Expression
from kgen_runtime.dtypes import DType

#: Coordinate outside the image, for samples beyond its borders.
OUTSIDE = -4.0


def roi_align(b: Builder, node: Node, given: list[GraphValue | None]) -> GraphValue:
    """Lower RoiAlign: each bin takes `sampling_ratio` samples along both axes.

    K. He et al., "Mask R-CNN", 2017, section 3. Regions have the shape (regions, 4): x and y of the
    first corner, then of the last.
    """
    x, regions, image = (one(given, i) for i in range(3))
    if x.rank != 4:
        raise b.refusal(f"has an image of {x.rank} axes; 4 are supported", "pass images of 4 axes")
    count, (rows, columns) = regions.shape[0], b.result.shape[2:]
    check_shape(b, regions, (count, 4), "regions")
    check_shape(b, image, (count,), "numbers of images")
    ratio = int(node.attribute("sampling_ratio", 0))
    if ratio < 1:
        raise b.refusal(
            f"has sampling_ratio={ratio}: the number of samples depends on the regions",
            "export it with sampling_ratio=2",
        )
    mode = choice_of(b, node, "mode", "avg", ("avg", "max"))
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    corner = choice_of(
        b, node, "coordinate_transformation_mode", default, ("half_pixel", "output_half_pixel")
    )
    scale = float(node.attribute("spatial_scale", 1.0))
    axes = [Axis(n=n, low=0.0, high=n - 1.0, padding="zeros") for n in x.shape[2:]]
    known = b.elements(image)
    if known is not None:
        numbers = b.made("images", known.astype(np.int32), DType.S32)
    else:
        numbers = b.formula(b.call("cast", image), (count,), DType.S32)
    numbers_of_images = b.reshape(numbers, (count, 1, 1, 1))
    terms: list[Expression] = []
    samples = [
        samples_of(b, regions, axis, number, bins, ratio, scale, corner)
        for number, (axis, bins) in enumerate(zip(axes, (rows, columns), strict=True))
    ]
    for down in samples[0]:
        for right in samples[1]:
            places, firsts = zip(down, right, strict=True)
            terms += weighted(b, x, numbers_of_images, axes, list(places), list(firsts), "linear")
    shape = (count, rows, columns, x.shape[1])
    name = "add" if mode == "avg" else "max"
    found = folded_terms(b, name, terms, MOST_GATHERED, shape, x.dtype)
    if mode == "avg":
        found = b.formula(b.call("mul", found, 1.0 / ratio**2), shape, x.dtype)
    return b.permute(found, (0, 3, 1, 2))


def samples_of(
    b: Builder, regions: GraphValue, axis: Axis, number: int, bins: int, ratio: int, scale: float,
    corner: str,
) -> list[tuple[GraphValue, GraphValue]]:  # fmt: skip
    """Return the positions of each sample along an axis in all bins, and the elements below them.

    Their shape is (regions, bins, 1, 1) for rows and (regions, 1, bins, 1) for columns.
    """
    count = regions.shape[0]
    shape = (count, bins, 1, 1) if number == 0 else (count, 1, bins, 1)
    # x precedes y.
    ends = [
        b.reshape(b.slice(regions, 1, 1 - number + last, 1), (count, 1, 1, 1)) for last in (0, 2)
    ]
    half = 0.5 if corner == "half_pixel" else 0.0
    first, last = (b.call("sub", b.call("mul", end, scale), half) for end in ends)
    size = b.call("sub", last, first)
    if corner == "output_half_pixel":
        size = b.call("max", size, 1.0)
    found = []
    for sample in range(ratio):
        parts = (np.arange(bins) + (sample + 0.5) / ratio) / bins
        part = b.made(
            "parts", parts.reshape(shape[1:]).astype(regions.dtype.storage), regions.dtype
        )
        at = b.call("add", first, b.call("mul", size, part))
        is_out = b.call("logical_or", b.call("less", at, -1.0), b.call("less", axis.n, at))
        place = b.call("where", is_out, OUTSIDE, b.call("clip", at, 0.0, axis.n - 1.0))
        found.append(cell(b, place, axis.n, shape, regions.dtype))
    return found


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="RoiAlign", family="copy", becomes="gather; mul, add, max", lower=roi_align,
        unsupported="sampling_ratio=0",
    ),
)  # fmt: skip
