"""Vision transformers with random weights: ViT-B/16, and Swin-T, which attends within windows of 49
positions.

A. Dosovitskiy et al., An image is worth 16x16 words, arXiv 2010.11929, table 1; Z. Liu et al., Swin
transformer, arXiv 2103.14030, sections 3.1 to 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.models.networks import Network

#: Width of a Swin transformer's windows.
WINDOW = 7
#: Addend that hides scores of positions that are neighbours only because of a shift.
HIDDEN = -100.0


class Transformer(Network):
    """Network of sequences: batch, positions, channels."""

    def reshaped(self, x: str, *shape: int) -> str:
        size = self.tensor(np.array(shape, np.int64))
        return self.node("Reshape", x, size, channels=shape[-1])

    def turned(self, x: str, *axes: int) -> str:
        return self.node("Transpose", x, perm=axes)

    def normed(self, x: str) -> str:
        width = self.channels[x]
        scale, bias = self.tensor(np.ones(width, "f")), self.tensor(np.zeros(width, "f"))
        return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-6)

    def numbers(self, *shape: int) -> str:
        return self.tensor(self.random.standard_normal(shape).astype("f"))

    def attention(self, x: str, batch: int, positions: int, heads: int, *added: str) -> str:
        """Add self-attention; `added` are added to the scores."""
        width = self.channels[x]
        size = width // heads

        def head(axes: Sequence[int]) -> str:
            return self.turned(
                self.reshaped(self.dense(x, width), batch, positions, heads, size), *axes
            )

        q, k, v = (head(axes) for axes in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
        scale = self.tensor(np.array(size**-0.5, "f"))
        scores = self.node("MatMul", self.node("Mul", q, scale), k)
        for each in added:
            scores = self.node("Add", scores, each)
        found = self.turned(
            self.node("MatMul", self.node("Softmax", scores, axis=-1), v), 0, 2, 1, 3
        )
        return self.dense(self.reshaped(found, batch, positions, width), width)

    def perceptron(self, x: str) -> str:
        """Add a layer of four times as many channels."""
        width = self.channels[x]
        return self.add(x, self.dense(self.dense(self.normed(x), 4 * width, "Gelu"), width))


def vit_b16(path: Path, size: int) -> None:
    net = Transformer("vit-b-16", size=size)
    width, count = 768, (size // 16) ** 2
    x = net.reshaped(net.conv("image", width, 16, 16, padding=0, act=None), 1, width, count)
    x = net.turned(x, 0, 2, 1)
    x = net.node("Concat", net.numbers(1, 1, width), x, axis=1, channels=width)
    x = net.node("Add", x, net.numbers(1, count + 1, width), channels=width)
    for _ in range(12):
        x = net.perceptron(net.add(x, net.attention(net.normed(x), 1, count + 1, 12)))
    first = net.tensor(np.array(0, np.int64))
    net.save(path, net.dense(net.node("Gather", net.normed(x), first, axis=1), 1000))


def swin_t(path: Path, size: int) -> None:
    net = Transformer("swin-t", size=size)
    side = size // 4
    x = net.conv("image", 96, 4, 4, padding=0, act=None)
    x = net.normed(net.turned(x, 0, 2, 3, 1))
    for stage, count in enumerate((2, 2, 6, 2)):
        width, heads = 96 << stage, 3 << stage
        if stage:
            side //= 2
            x = net.reshaped(x, 1, side, 2, side, 2, width // 2)
            x = net.reshaped(net.turned(x, 0, 1, 3, 4, 2, 5), 1, side, side, 2 * width)
            x = net.dense(net.normed(x), width)
        for block in range(count):
            # One window is the whole image: nothing is shifted.
            shift = WINDOW // 2 if block % 2 and side > WINDOW else 0
            x = net.perceptron(net.add(x, _windows(net, net.normed(x), side, heads, shift)))
    mean = net.node("ReduceMean", net.normed(x), net.tensor(np.array([1, 2])), keepdims=0)
    net.save(path, net.dense(mean, 1000))


def _windows(net: Transformer, x: str, side: int, heads: int, shift: int) -> str:
    """Attend within windows of an image that is shifted up and to the left."""
    width, across, area = net.channels[x], side // WINDOW, WINDOW * WINDOW
    added = [net.numbers(1, heads, area, area)]
    if shift:
        x = _rolled(net, x, shift, side)
        added.append(net.tensor(_hidden(side, shift)))
    x = net.turned(net.reshaped(x, 1, across, WINDOW, across, WINDOW, width), 0, 1, 3, 2, 4, 5)
    x = net.attention(net.reshaped(x, across**2, area, width), across**2, area, heads, *added)
    x = net.turned(net.reshaped(x, 1, across, across, WINDOW, WINDOW, width), 0, 1, 3, 2, 4, 5)
    x = net.reshaped(x, 1, side, side, width)
    return _rolled(net, x, side - shift, side) if shift else x


def _rolled(net: Transformer, x: str, shift: int, side: int) -> str:
    """Return an image whose first `shift` rows and columns are at the end."""

    def part(x: str, axis: int, start: int, stop: int) -> str:
        return net.node("Slice", x, *(net.tensor(np.array([n])) for n in (start, stop, axis)))

    for axis in (1, 2):
        parts = part(x, axis, shift, side), part(x, axis, 0, shift)
        x = net.node("Concat", *parts, axis=axis)
    return x


def _hidden(side: int, shift: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return, per window, addends of scores that hide positions of other parts of the image."""
    parts = np.digitize(np.arange(side), [side - WINDOW, side - shift])
    regions = (3 * parts[:, None] + parts).reshape(side // WINDOW, WINDOW, -1, WINDOW)
    windows = regions.swapaxes(1, 2).reshape(-1, 1, WINDOW * WINDOW)
    same = windows.swapaxes(1, 2) == windows
    return np.where(same, 0.0, HIDDEN).astype(np.float32)[:, None]


#: Names, sizes of images and exporters.
VISION_TRANSFORMERS: Sequence[tuple[str, int, Callable[[Path, int], None]]] = (
    ("vit-b-16", 224, vit_b16),
    ("swin-t", 224, swin_t),
)
