"""Quantised copies of float models, made by onnxruntime.quantization and calibrated on random data.

Static: QuantizeLinear and DequantizeLinear around operators (QDQ), or operators of bytes
(QOperator). Dynamic: the scales of activations are computed in each run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

Style = Literal["qdq", "qoperator", "dynamic"]
Inputs = Mapping[str, npt.NDArray[Any]]
#: Inputs that a static quantisation is calibrated on.
SAMPLES = 4


def prepared(path: Path, folder: Path) -> Path:
    """Return the model as the quantiser requires it: shapes inferred, normalisations folded."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    found = folder / "prepared.onnx"
    quant_pre_process(str(path), str(found), skip_symbolic_shape=True)
    return found


def write(path: Path, result: Path, style: Style, inputs: Callable[[int], Inputs]) -> None:
    """Write a quantised copy: activations of u8, weights of s8.

    In static styles, the weights of each output channel have a scale. `inputs` are those of a seed.
    """
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static

    with tempfile.TemporaryDirectory() as folder:
        source = str(prepared(path, Path(folder)))
        if style == "dynamic":
            quantize_dynamic(source, str(result), weight_type=QuantType.QInt8)
        else:
            quantize_static(
                source,
                str(result),
                Samples(inputs),
                quant_format=QuantFormat.QDQ if style == "qdq" else QuantFormat.QOperator,
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )


class Samples:
    """Calibration inputs, as the quantiser reads them."""

    def __init__(self, inputs: Callable[[int], Inputs]) -> None:
        self.left: Iterator[Inputs] = map(inputs, range(SAMPLES))

    def get_next(self) -> Inputs | None:
        return next(self.left, None)
