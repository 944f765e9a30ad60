"""Reference definitions of image resampling: Resize, Upsample, AffineGrid, GridSample."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_resize import Resize as OnnxResize
from onnx.reference.ops.op_upsample import Upsample as OnnxUpsample

Array = npt.NDArray[Any]


def first_alone(
    x: Array, given: tuple[Any, ...], axes: list[int], attributes: dict[str, Any]
) -> tuple[Array, tuple[Any, ...]]:
    """Keep only the first element of axes that shrink to one; return x, and its scales or sizes."""
    policy = attributes.get("keep_aspect_ratio_policy") or "stretch"
    named = [i for i in (1, 2) if len(given) > i and given[i] is not None and given[i].size]
    number = named[0] if named else 0
    if not number or attributes.get("antialias") or policy != "stretch":
        return x, given
    goals = np.array(given[number])
    for i, axis in enumerate(axes):
        if int(goals[i] * x.shape[axis] if number == 1 else goals[i]) == 1:
            x, goals[i] = x.take([0], axis), 1
    return x, (*given[:number], goals, *given[number + 1 :])


class Resize(OnnxResize):  # type: ignore[misc]
    """Resize with corrections of onnx's Resize.

    Nearest resizing by whole factors repeats elements. Other cases call onnx's Resize with
    nonnegative axes, whole sizes for align_corners, and only the first element of axes that shrink
    to one for pytorch_half_pixel.
    """

    def _run(self, x: Array, *given: Any, **attributes: Any) -> tuple[Array]:
        # onnx passes these attributes as f32, in which weights would be computed.
        for name in ("cubic_coeff_a", "extrapolation_value"):
            if attributes.get(name) is not None:
                attributes[name] = float(attributes[name])
        if attributes.get("axes"):
            attributes["axes"] = [axis % x.ndim for axis in attributes["axes"]]
        axes = attributes.get("axes") or range(x.ndim)
        if attributes.get("coordinate_transformation_mode") == "pytorch_half_pixel":
            x, given = first_alone(x, given, list(axes), attributes)
        scales = given[1] if len(given) > 1 else None
        plain = (
            attributes.get("mode") == "nearest"
            and attributes.get("coordinate_transformation_mode") == "asymmetric"
            and attributes.get("nearest_mode") == "floor"
            and scales is not None
            and len(scales) == x.ndim
            and all(float(s) == int(s) >= 1 for s in scales)
        )
        if not plain or scales is None:
            aligns = attributes.get("coordinate_transformation_mode") == "align_corners"
            if aligns and scales is not None and len(scales):
                lengths = np.array([x.shape[axis] for axis in axes])
                given = (given[0], None, np.floor(scales * lengths).astype(np.int64))
                attributes |= {"keep_aspect_ratio_policy": "stretch"}
            return super()._run(x, *given, **attributes)  # type: ignore[no-any-return]
        for axis, scale in enumerate(scales):
            x = x.repeat(int(scale), axis)
        return (x,)


class Upsample(OnnxUpsample):  # type: ignore[misc]
    """onnx's Upsample, which here accepts the scales as an attribute too, as before opset 9."""

    def _run(self, x: Array, *given: Any, scales: Any = None, mode: Any = None) -> tuple[Array]:
        given = given if scales is None else (np.asarray(scales, np.float32),)
        return super()._run(x, *given, mode=mode or "nearest")  # type: ignore[no-any-return]


class AffineGrid(OpRun):  # type: ignore[misc]
    """Multiply the coordinates of each place of an image, from -1 to 1, by a matrix."""

    def _run(self, theta: Array, size: Array, align_corners: Any = None) -> tuple[Array]:
        along = []
        for n in map(int, size[2:]):
            step = np.divide(2.0, n - 1 if align_corners else n)
            along.append((-1 if align_corners else step / 2 - 1) + np.arange(n) * step)
        # The first coordinate belongs to the last axis.
        axes = np.meshgrid(*along, indexing="ij")
        places = np.stack([*reversed(axes), np.ones_like(axes[0])], -1).astype(theta.dtype)
        return (np.einsum("bij,...j->b...i", theta, places),)


def mirrored(x: Array, low: float, high: float) -> Array:
    """Reflect coordinates at `low` and `high` until they lie between them."""
    span = high - low
    if not span:
        return np.full_like(x, low)
    turn = np.mod(x - low, 2 * span)
    return np.asarray(np.minimum(turn, 2 * span - turn) + low)


def sharp(x: Array) -> Array:
    """Return weights at distances x: R. Keys' cubic convolution with a = -0.75."""
    near = (1.25 * x - 2.25) * x * x + 1
    far = ((-0.75 * x + 3.75) * x - 6) * x + 3
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


class GridSample(OpRun):  # type: ignore[misc]
    def _run(
        self, x: Array, grid: Array, mode: Any = None, padding_mode: Any = None,
        align_corners: Any = None,
    ) -> tuple[Array]:  # fmt: skip
        rank = x.ndim - 2
        half = 0.0 if align_corners else 0.5
        #: Elements and their weights, for each axis.
        taps: list[list[tuple[Array, Array]]] = []
        for axis, n in enumerate(x.shape[2:]):
            above = grid[..., rank - 1 - axis] + 1
            at = above / 2 * (n - 1) if align_corners else (above * n - 1) / 2
            at = np.rint(at) if mode == "nearest" else at
            low, high = -half, n - 1 + half
            is_out = (at < low) | (at > high)
            if padding_mode == "border":
                at = np.where(is_out, np.clip(at, 0, n - 1), at)
            elif padding_mode == "reflection":
                at = np.where(is_out, mirrored(at, low, high), at)
            at = np.rint(at) if mode == "nearest" else at
            # No tap of a position four elements outside the image reaches into it.
            first = np.floor(np.clip(np.nan_to_num(at), -4, n + 4))
            taps.append([])
            for step in {"nearest": (0,), "cubic": (-1, 0, 1, 2), "bicubic": (-1, 0, 1, 2)}.get(
                mode, (0, 1)
            ):
                place = first + step
                distance = np.abs(at - place)
                if mode == "nearest":
                    weight = np.ones_like(at)
                else:
                    weight = sharp(distance) if "cubic" in mode else 1 - distance
                if padding_mode == "reflection":
                    place = mirrored(place, low, high)
                elif padding_mode != "border":
                    weight = np.where((place >= 0) & (place < n), weight, 0)
                taps[-1].append((np.clip(place, 0, n - 1).astype(np.int64), weight))
        images = np.moveaxis(x, 1, -1)
        batch = np.arange(len(x)).reshape(-1, *(1,) * rank)
        found = np.zeros((*grid.shape[:-1], x.shape[1]), np.result_type(x, grid))
        for chosen in itertools.product(*taps):
            weight = np.prod([weight for _, weight in chosen], axis=0)
            found += images[(batch, *(place for place, _ in chosen))] * weight[..., None]
        return (np.moveaxis(found, -1, 1).astype(x.dtype),)
