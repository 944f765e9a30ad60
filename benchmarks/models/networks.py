"""Networks of convolutions with random weights. Batch normalisation is folded, as exporters do for
inference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
#: Channels of the image of a single layer.
LAYER_CHANNELS = 64


class Network:
    """Graph under construction; methods append nodes and return the name of their result."""

    def __init__(self, name: str, *, size: int, channels: int = 3) -> None:
        self.name, self.shape = name, (1, channels, size, size)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        #: Channels of each result.
        self.channels = {"image": channels}
        self.random = np.random.default_rng(0)

    def tensor(self, array: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, *inputs: str, channels: int | None = None, **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        known = self.channels[inputs[0]] if channels is None else channels
        self.channels[name] = known
        return name

    def normal(self, *shape: int, depth: int) -> str:
        """Return weights that keep the variance of the activations."""
        numbers = self.random.standard_normal(shape) * (2 / depth) ** 0.5
        return self.tensor(numbers.astype(np.float32))

    def conv(
        self,
        x: str,
        channels: int,
        size: int = 3,
        stride: int = 1,
        *,
        groups: int = 1,
        dilation: int = 1,
        padding: int | None = None,
        act: str | None = "Relu",
    ) -> str:
        depth = self.channels[x] // groups
        w = self.normal(channels, depth, size, size, depth=depth * size * size)
        bias = self.tensor(np.zeros(channels, np.float32) + 0.01)
        pad = dilation * (size - 1) // 2 if padding is None else padding
        found = self.node(
            "Conv", x, w, bias, channels=channels, strides=[stride] * 2, pads=[pad] * 4,
            dilations=[dilation] * 2, group=groups,
        )  # fmt: skip
        return self.act(found, act)

    def up(self, x: str, channels: int, size: int = 2, stride: int = 2) -> str:
        w = self.normal(self.channels[x], channels, size, size, depth=self.channels[x])
        bias = self.tensor(np.zeros(channels, np.float32))
        return self.node("ConvTranspose", x, w, bias, channels=channels, strides=[stride] * 2)

    def act(self, x: str, act: str | None) -> str:
        if act is None:
            return x
        if act == "Silu":
            return self.node("Mul", x, self.node("Sigmoid", x))
        return self.node(act, x)

    def add(self, x: str, y: str, act: str | None = None) -> str:
        return self.act(self.node("Add", x, y), act)

    def concat(self, *parts: str) -> str:
        channels = sum(self.channels[part] for part in parts)
        return self.node("Concat", *parts, axis=1, channels=channels)

    def pool(self, x: str, size: int, stride: int, padding: int = 0) -> str:
        return self.node(
            "MaxPool", x, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[padding] * 4
        )

    def gated(self, x: str, hidden: int, act: str, gate: str) -> str:
        """Add a squeeze-and-excitation block."""
        mean = self.node("GlobalAveragePool", x)
        inside = self.conv(mean, hidden, 1, act=act)
        return self.node("Mul", x, self.conv(inside, self.channels[x], 1, act=gate))

    def resized(self, x: str, scale: int, mode: str) -> str:
        scales = self.tensor(np.array([1, 1, scale, scale], np.float32))
        how = {"linear": "half_pixel", "nearest": "asymmetric"}[mode]
        return self.node(
            "Resize",
            x,
            "",
            scales,
            mode=mode,
            coordinate_transformation_mode=how,
            nearest_mode="floor",
        )

    def dense(self, x: str, outputs: int, act: str | None = None) -> str:
        depth = self.channels[x]
        w, bias = self.normal(depth, outputs, depth=depth), self.tensor(np.zeros(outputs, "f"))
        product = self.node("MatMul", x, w, channels=outputs)
        return self.act(self.node("Add", product, bias), act)

    def classifier(self, x: str, outputs: int, *hidden: tuple[int, str]) -> str:
        x = self.node("Flatten", self.node("GlobalAveragePool", x))
        for width, act in hidden:
            x = self.dense(x, width, act)
        return self.dense(x, outputs)

    def save(self, path: Path, *results: str) -> None:
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, self.shape)
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
        graph = helper.make_graph(self.nodes, self.name, [image], outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 10
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def resnet50(path: Path, size: int) -> None:
    net = Network("resnet50", size=size)
    x = net.pool(net.conv("image", 64, 7, 2), 3, 2, 1)
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(count):
            step = stride if number == 0 else 1
            y = net.conv(net.conv(x, width, 1), width, 3, step)
            y = net.conv(y, 4 * width, 1, act=None)
            if number == 0:
                x = net.conv(x, 4 * width, 1, step, act=None)
            x = net.add(y, x, "Relu")
    net.save(path, net.classifier(x, 1000))


def unet(path: Path, size: int) -> None:
    net = Network("unet", size=size)

    def double(x: str, channels: int) -> str:
        return net.conv(net.conv(x, channels), channels)

    skipped, x = [], double("image", 64)
    for channels in (128, 256, 512, 1024):
        skipped.append(x)
        x = double(net.pool(x, 2, 2), channels)
    for channels in (512, 256, 128, 64):
        x = double(net.concat(skipped.pop(), net.up(x, channels)), channels)
    net.save(path, net.conv(x, 2, 1, act=None))


#: Blocks of MobileNetV3-large: kernel, hidden channels, channels, gated, activation, stride.
MOBILENET_V3 = (
    (3, 16, 16, False, "Relu", 1),
    (3, 64, 24, False, "Relu", 2),
    (3, 72, 24, False, "Relu", 1),
    (5, 72, 40, True, "Relu", 2),
    (5, 120, 40, True, "Relu", 1),
    (5, 120, 40, True, "Relu", 1),
    (3, 240, 80, False, "HardSwish", 2),
    (3, 200, 80, False, "HardSwish", 1),
    (3, 184, 80, False, "HardSwish", 1),
    (3, 184, 80, False, "HardSwish", 1),
    (3, 480, 112, True, "HardSwish", 1),
    (3, 672, 112, True, "HardSwish", 1),
    (5, 672, 160, True, "HardSwish", 2),
    (5, 960, 160, True, "HardSwish", 1),
    (5, 960, 160, True, "HardSwish", 1),
)


def eighth(channels: int, divisor: int = 4) -> int:
    """Return the multiple of 8 nearest to a fraction of the channels."""
    return max(8, (channels // divisor + 4) // 8 * 8)


def mobile_blocks(net: Network, x: str, *, dilated: int = 0) -> str:
    """Add the blocks of MobileNetV3-large; the last `dilated` of them are dilated, not strided."""
    for number, (size, hidden, channels, gated, act, stride) in enumerate(MOBILENET_V3):
        apart = 2 if number >= len(MOBILENET_V3) - dilated else 1
        step = 1 if apart == 2 else stride
        y = net.conv(x, hidden, 1, act=act) if hidden != net.channels[x] else x
        y = net.conv(y, hidden, size, step, groups=hidden, dilation=apart, act=act)
        if gated:
            y = net.gated(y, eighth(hidden), "Relu", "HardSigmoid")
        y = net.conv(y, channels, 1, act=None)
        x = net.add(y, x) if stride == 1 and channels == net.channels[x] else y
    return net.conv(x, 960, 1, act="HardSwish")


def mobilenet_v3(path: Path, size: int) -> None:
    net = Network("mobilenet-v3", size=size)
    x = mobile_blocks(net, net.conv("image", 16, 3, 2, act="HardSwish"))
    net.save(path, net.classifier(x, 1000, (1280, "HardSwish")))


def deeplab_v3(path: Path, size: int) -> None:
    """Write DeepLabV3 on a MobileNetV3 whose last blocks are dilated."""
    net = Network("deeplab-v3", size=size)
    x = mobile_blocks(net, net.conv("image", 16, 3, 2, act="HardSwish"), dilated=3)
    parts = [net.conv(x, 256, 1)]
    parts += [net.conv(x, 256, 3, dilation=apart) for apart in (12, 24, 36)]
    mean = net.conv(net.node("GlobalAveragePool", x), 256, 1)
    parts.append(net.resized(mean, size // 16, "linear"))
    y = net.conv(net.conv(net.concat(*parts), 256, 1), 256, 3)
    net.save(path, net.resized(net.conv(y, 21, 1, act=None), 16, "linear"))


def efficientnet_b0(path: Path, size: int) -> None:
    net = Network("efficientnet-b0", size=size)
    x = net.conv("image", 32, 3, 2, act="Silu")
    for expansion, channels, count, stride, size in (
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ):
        for number in range(count):
            before = net.channels[x]
            y = net.conv(x, expansion * before, 1, act="Silu") if expansion > 1 else x
            hidden, step = net.channels[y], stride if number == 0 else 1
            y = net.conv(y, hidden, size, step, groups=hidden, act="Silu")
            y = net.conv(net.gated(y, before // 4, "Silu", "Sigmoid"), channels, 1, act=None)
            x = net.add(y, x) if step == 1 and channels == before else y
    net.save(path, net.classifier(net.conv(x, 1280, 1, act="Silu"), 1000))


def regnet_y_400mf(path: Path, size: int) -> None:
    net = Network("regnet-y-400mf", size=size)
    x = net.conv("image", 32, 3, 2)
    for width, count in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for number in range(count):
            before, step = net.channels[x], 2 if number == 0 else 1
            y = net.conv(net.conv(x, width, 1), width, 3, step, groups=width // 8)
            y = net.conv(net.gated(y, before // 4, "Relu", "Sigmoid"), width, 1, act=None)
            x = net.conv(x, width, 1, 2, act=None) if number == 0 else x
            x = net.add(y, x, "Relu")
    net.save(path, net.classifier(x, 1000))


def convnext_tiny(path: Path, size: int) -> None:
    net = Network("convnext-tiny", size=size)

    def normal(x: str) -> str:
        """Normalise the channels of an image whose channels are last."""
        width = net.channels[x]
        scale, bias = net.tensor(np.ones(width, "f")), net.tensor(np.zeros(width, "f"))
        return net.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-6)

    def last(x: str) -> str:
        return net.node("Transpose", x, perm=[0, 2, 3, 1])

    def first(x: str) -> str:
        return net.node("Transpose", x, perm=[0, 3, 1, 2])

    x = first(normal(last(net.conv("image", 96, 4, 4, padding=0, act=None))))
    for width, count in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if width != net.channels[x]:
            x = net.conv(first(normal(last(x))), width, 2, 2, padding=0, act=None)
        for _ in range(count):
            y = normal(last(net.conv(x, width, 7, groups=width, act=None)))
            y = net.dense(net.dense(y, 4 * width, "Gelu"), width)
            scale = net.tensor(np.full(width, 0.1, np.float32))
            x = net.add(x, first(net.node("Mul", y, scale)))
    net.save(path, net.classifier(x, 1000))


def yolo_v8n(path: Path, size: int) -> None:
    """Write backbone, neck and heads of YOLOv8-n, without the decoding of boxes."""
    net = Network("yolo-v8n", size=size)

    def conv(x: str, channels: int, size: int = 3, stride: int = 1) -> str:
        return net.conv(x, channels, size, stride, act="Silu")

    def bottlenecks(x: str, channels: int, count: int, *, adds: bool) -> str:
        half = channels // 2
        both = conv(x, channels, 1)
        ends = net.tensor(np.array([half, half], np.int64))
        names = [f"{both}_a", f"{both}_b"]
        net.nodes.append(helper.make_node("Split", [both, ends], names, axis=1))
        net.channels |= dict.fromkeys(names, half)
        parts = list(names)
        for _ in range(count):
            y = conv(conv(parts[-1], half), half)
            parts.append(net.add(parts[-1], y) if adds else y)
        return conv(net.concat(*parts), channels, 1)

    x = conv(conv("image", 16, 3, 2), 32, 3, 2)
    x = bottlenecks(x, 32, 1, adds=True)
    levels: list[str] = []
    for channels, count in ((64, 2), (128, 2), (256, 1)):
        x = bottlenecks(conv(x, channels, 3, 2), channels, count, adds=True)
        levels.append(x)
    x = conv(x, 128, 1)
    pools = [x]
    for _ in range(3):
        pools.append(net.pool(pools[-1], 5, 1, 2))
    low, middle, top = levels[0], levels[1], conv(net.concat(*pools), 256, 1)
    middle = bottlenecks(net.concat(net.resized(top, 2, "nearest"), middle), 128, 1, adds=False)
    low = bottlenecks(net.concat(net.resized(middle, 2, "nearest"), low), 64, 1, adds=False)
    middle = bottlenecks(net.concat(conv(low, 64, 3, 2), middle), 128, 1, adds=False)
    top = bottlenecks(net.concat(conv(middle, 128, 3, 2), top), 256, 1, adds=False)
    found = []
    for x in (low, middle, top):
        for hidden, outputs in ((64, 64), (80, 80)):
            found.append(net.conv(conv(conv(x, hidden), hidden), outputs, 1, act=None))
    net.save(path, *found)


def transposed(path: Path, size: int, *, kernel: int) -> None:
    """Write a model of one ConvTranspose that doubles an image."""
    net = Network(f"conv-transpose-{kernel}x{kernel}", size=size, channels=LAYER_CHANNELS)
    net.save(path, net.up("image", LAYER_CHANNELS // 2, kernel))


#: Networks and the sizes of their images.
NETWORKS: Sequence[tuple[str, int, Callable[[Path, int], None]]] = (
    ("resnet50", 224, resnet50),
    ("unet", 256, unet),
    ("deeplab-v3", 256, deeplab_v3),
    ("mobilenet-v3", 224, mobilenet_v3),
    ("efficientnet-b0", 224, efficientnet_b0),
    ("regnet-y-400mf", 224, regnet_y_400mf),
    ("convnext-tiny", 224, convnext_tiny),
    ("yolo-v8n", 320, yolo_v8n),
)
#: Single layers, and the sizes of their images.
LAYERS: Sequence[tuple[str, int, Callable[[Path, int], None]]] = tuple(
    (f"conv-transpose-{kernel}x{kernel}", 128, partial(transposed, kernel=kernel))
    for kernel in (2, 3, 4)
)
