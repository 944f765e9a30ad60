"""Operations that map a packed tensor to one of the same shape."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from kgen.errors import SpecError
from kgen.spec.base import MAX_BYTES, Spec, whole
from kgen.spec.members import Member, OptionalMember
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

MAX_RANK = 8
MAX_SOFTMAX_COLS = 131072
MAX_SOFTMAX_ROWS = 2**31 - 1
SOFTMAX_DTYPES = (DType.F32, DType.F16, DType.BF16)


@frozen
class Relu(Spec):
    """out = max(x, 0) element by element over a packed tensor; relu(NaN) is NaN, relu(-0) is 0."""

    op: ClassVar[str] = "relu"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if isinstance(self.shape, str) or not isinstance(self.shape, Iterable):
            raise SpecError(f"shape={self.shape!r} is not a tuple of sizes; give (1024,)")
        shape = tuple(self.shape)
        if not 1 <= len(shape) <= MAX_RANK:
            raise SpecError(f"relu takes 1 to {MAX_RANK} dimensions, not {len(shape)}")
        most = MAX_BYTES // self.dtype.itemsize
        object.__setattr__(self, "shape", tuple(whole("shape", n, 1, most) for n in shape))
        self._check_sizes()

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        return packed_pair(self.shape, self.dtype, self.dtype)

    @property
    def formula(self) -> str:
        return "out = max(x, 0); a NaN stays NaN"

    @property
    def flops(self) -> int:
        return self.elements

    @property
    def key(self) -> str:
        return f"relu_{'x'.join(map(str, self.shape))}_{self.dtype}"


@frozen
class Softmax(Spec):
    """Softmax (or its logarithm) over the last axis of a packed ROWS x COLS matrix, in f32.

    The row's maximum is subtracted first. A row that holds NaN or +inf, or only -inf, is NaN.
    """

    op: ClassVar[str] = "softmax"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    rows: int
    cols: int
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    log: bool = False

    def __post_init__(self) -> None:
        if self.out_dtype is None:
            object.__setattr__(self, "out_dtype", self.dtype)
        self._check_int("rows", 1, MAX_SOFTMAX_ROWS)
        self._check_int("cols", 1, MAX_SOFTMAX_COLS)
        for dtype in (self.dtype, self.out):
            if dtype not in SOFTMAX_DTYPES:
                raise SpecError(
                    f"dtype={dtype} is not one that softmax takes; "
                    f"it takes {', '.join(SOFTMAX_DTYPES)}"
                )
        self._check_sizes()

    @property
    def out(self) -> DType:
        """The output's dtype, always set."""
        assert self.out_dtype is not None
        return self.out_dtype

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        return packed_pair((self.rows, self.cols), self.dtype, self.out)

    @property
    def formula(self) -> str:
        if self.log:
            return "out = x - max(x) - log(sum(exp(x - max(x)))), row by row"
        return "out = exp(x - max(x)) / sum(exp(x - max(x))), row by row"

    @property
    def flops(self) -> int:
        # Max, subtract, exp, sum, scale.
        return 5 * self.rows * self.cols

    @property
    def key(self) -> str:
        name = "log_softmax" if self.log else "softmax"
        suffix = "" if self.out is self.dtype else f"_to_{self.out}"
        return f"{name}_{self.rows}x{self.cols}_{self.dtype}{suffix}"


def packed_pair(shape: tuple[int, ...], dtype: DType, out: DType) -> tuple[TensorParam, ...]:
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return (
        TensorParam(name="x", role="input", dtype=dtype, shape=shape, strides=strides),
        TensorParam(name="out", role="output", dtype=out, shape=shape, strides=strides),
    )
