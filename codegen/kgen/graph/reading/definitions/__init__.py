"""Definitions of operators whose reference in onnx is wrong, slow or incomplete.

Written from the operators' specification, in the precision of their inputs; nothing here is shared
with the kernels. The import folds constants by some of them, so that what a model is verified
against and what it becomes agree. onnx's own

- takes the batch's statistics for a BatchNormalization before opset 14, one axis alone for a
  Softmax or Hardmax before opset 13, the last axis for the slope of a PRelu before opset 7, and no
  attributes for operands that broadcast before opset 7,
- makes one maximum of all channels (GlobalMaxPool), pads the wrong side (auto_pad=SAME_LOWER of
  poolings), and normalizes as many channels as there are images (LRN),
- takes elements below zero for their magnitudes (LpNormalization with p=1),
- computes Erf, AffineGrid and the coordinates of GridSample in f32, the latter element by element,
- takes part of an element for one between aligned corners, and no axes from the last one,
- takes indices of OneHot as they are, and not a depth of one axis,
- has no DequantizeLinear before opset 19, no Scatter, no GlobalLpPool, no groups of transposed
  convolutions, and of recurrent layers one direction, the usual functions, whole sequences and no
  limits.
"""

from __future__ import annotations

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
from kgen.graph.reading.definitions.scalar_functions import (
    BY_ATTRIBUTES,
    DequantizeLinear,
    Dropout,
    Erf,
    PRelu,
)
from kgen.graph.reading.definitions.selecting import GatherElements, OneHot, Pad, Scatter
from kgen.graph.reading.definitions.sliding import (
    AveragePool,
    Conv,
    ConvTranspose,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
)

#: Those that constants are folded by: every use of the operator is theirs, or raises an error.
FOLDED = (
    AffineGrid,
    AveragePool,
    BatchNormalization,
    DequantizeLinear,
    Dropout,
    Erf,
    GatherElements,
    GlobalLpPool,
    GlobalMaxPool,
    GridSample,
    Hardmax,
    LRN,
    LogSoftmax,
    LpNormalization,
    LpPool,
    MaxPool,
    MeanVarianceNormalization,
    OneHot,
    PRelu,
    Pad,
    Resize,
    Scatter,
    Softmax,
    Upsample,
    GRU,
    LSTM,
    RNN,
    *BY_ATTRIBUTES,
)
OPERATORS = (Conv, ConvTranspose, *FOLDED)
