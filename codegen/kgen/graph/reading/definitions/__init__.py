"""Corrected reference definitions of ONNX operators, for constant folding.

They replace definitions in onnx's reference evaluator that are wrong, slow or incomplete. They
follow the operators' specification, compute in the precision of their inputs, and share nothing
with the kernels. Faults and gaps of onnx's reference that they replace:

- Before opset 14 BatchNormalization uses the batch's statistics. Before opset 13 Softmax and
  Hardmax use one axis. Before opset 7 the slope of PRelu belongs to the last axis, and operands
  that broadcast by attributes are not supported.
- GlobalMaxPool joins all channels, poolings with auto_pad=SAME_LOWER pad the wrong side, and LRN
  normalizes as many channels as there are images.
- LpNormalization with p=1 adds negative elements instead of their magnitudes.
- Erf, AffineGrid and GridSample's coordinates are computed in f32; GridSample is slow.
- Resize with aligned corners uses a fractional output size, and refuses negative axes.
- Loop without a condition does no steps, and joins results along an existing axis. Scan supports
  only axes and directions of 0. LinearAttention is computed in f32.
- QuantizeLinear wraps numbers beyond 32 bits around instead of saturating them.
- OneHot does not truncate fractional indices, and expects a scalar depth.
- Not supported: DequantizeLinear before opset 19, Scatter, GlobalLpPool, groups of transposed
  convolutions, scales for each channel of quantised convolutions along one or three axes; in
  recurrent layers other activation functions, sequence lengths, clipping and, in some releases of
  onnx, the backward direction.
"""

from __future__ import annotations

from kgen.graph.reading.definitions.attending import (
    GroupQueryAttention,
    MultiHeadAttention,
    RotaryEmbedding,
)
from kgen.graph.reading.definitions.images import AffineGrid, GridSample, Resize, Upsample
from kgen.graph.reading.definitions.normalizing import (
    LRN,
    BatchNormalization,
    Hardmax,
    LogSoftmax,
    LpNormalization,
    MeanVarianceNormalization,
    Softmax,
)
from kgen.graph.reading.definitions.recurrences import GRU, LSTM, RNN
from kgen.graph.reading.definitions.repeating import LinearAttention, Loop, Scan
from kgen.graph.reading.definitions.scalar_functions import (
    BY_ATTRIBUTES,
    OF_ONNX_RUNTIME,
    DequantizeLinear,
    Dropout,
    Erf,
    PRelu,
    QuantizeLinear,
)
from kgen.graph.reading.definitions.selecting import (
    GatherElements,
    OneHot,
    Pad,
    Scatter,
    SequenceInsert,
)
from kgen.graph.reading.definitions.sliding import (
    AveragePool,
    Conv,
    ConvInteger,
    ConvTranspose,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
    QLinearConv,
)

#: Definitions that fold constants: each supports every use of its operator or raises an error.
FOLDED = (
    AffineGrid,
    AveragePool,
    BatchNormalization,
    ConvInteger,
    DequantizeLinear,
    Dropout,
    Erf,
    GatherElements,
    GlobalLpPool,
    GlobalMaxPool,
    GridSample,
    Hardmax,
    LRN,
    LinearAttention,
    LogSoftmax,
    LpNormalization,
    LpPool,
    MaxPool,
    MeanVarianceNormalization,
    OneHot,
    PRelu,
    Pad,
    QLinearConv,
    QuantizeLinear,
    Resize,
    Scatter,
    Softmax,
    Upsample,
    GRU,
    LSTM,
    RNN,
    *BY_ATTRIBUTES,
)
CONTRIBUTED = (GroupQueryAttention, MultiHeadAttention, RotaryEmbedding, *OF_ONNX_RUNTIME)
OPERATORS = (Conv, ConvTranspose, Loop, Scan, SequenceInsert, *CONTRIBUTED, *FOLDED)
