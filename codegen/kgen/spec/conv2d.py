"""Spec of a convolution of images with weights, with a fused epilogue."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, Literal

from kgen.errors import SpecError
from kgen.ops.expression import infix, substituted, variable
from kgen.spec.choices import WIDENED, BType, BTypeName, ConstantOperand, OperandName
from kgen.spec.enum_fields import Member, Members, OptionalMember
from kgen.spec.epilogue import PRODUCT, EpilogueDtypes, EpilogueShapes, EpilogueText, Extent
from kgen.spec.matmul import MAX_K, MAX_ROWS_OR_COLUMNS, Matmul
from kgen.spec.shapes import Shape, by_x, packed
from kgen.spec.spec import Spec, whole, whole_each
from kgen.spec.strides import Dims
from kgen.spec.winograd import KERNEL, ConvMath, Transforms
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

#: Largest number of spatial axes.
MAX_AXES = 3
#: Largest size of an image or kernel axis, and largest stride and dilation.
MAX_SIZE = 1 << 20
DTYPES = (DType.F16, DType.BF16, DType.F32, DType.F64, DType.S8)
#: Limits of s8.
LEAST, MOST = -128, 127
#: Operand with the number that pads images.
PADDING = "padding"
#: Paddings by name. With `same` an output axis has ceil(size / stride) elements. An odd element of
#: padding goes behind the image, or in front of it with `same_lower`.
PADDINGS = ("same", "same_lower", "valid")


class ImageLayout(StrEnum):
    """Order of the axes of input and output in memory, outermost first."""

    NHWC = "nhwc"
    NCHW = "nchw"


class WeightLayout(StrEnum):
    """Order of the axes of the weights in memory, outermost first.

    The letters are o for output channels, i for the input channels of a group, and hw for the
    positions of the kernel.
    """

    OIHW = "oihw"
    OHWI = "ohwi"
    HWIO = "hwio"


@frozen
class Conv2d(Spec):
    """Convolution: out = epilogue(images `a` convolved with weights `b`).

    Sums are in f32, for f64 images in f64, and for s8 images in s32.

    - `input` is images x channels x spatial sizes, and `weights` is output channels x channels of a
      group x kernel sizes, with 1 to 3 spatial axes.
    - `layout` is the order of axes of input and output in memory, and `weight_layout` that of the
      weights. The latter is by default ohwi for nhwc, and oihw for nchw.
    - `stride`, `padding` and `dilation` are one number, or one for each spatial axis. `padding` may
      also be the numbers before each axis followed by those after each, or a name (`PADDINGS`).
    - `padding_value` is the zero point that pads s8 images, or "padding" for an operand of that
      name with the number. All others are padded with 0.
    - `epilogue` and its fields are those of :class:`Matmul`. An operand of shape n has one number
      for each output channel.
    - `b_dtype` is the dtype of weights that are narrower than f32 images (:class:`BType` without
      s4).
    - `constant` weights are a matrix that the runtime's `pack` reorders: output channels x
      (positions, channels) for ohwi, (positions, channels) x output channels for hwio.
    - `math` is the arithmetic of f32 (:class:`ConvMath`). Winograd requires constant weights, which
      the build transforms to a matrix of (positions, channels) x output channels for each weight
      layout. NaN and infinities of an image make NaN or an infinity of each output whose window
      sees them, and may reach all outputs of its tile.

    Raises SpecError for a field that is out of range.
    """

    op: ClassVar[str] = "conv2d"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    input: Shape
    weights: Shape
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    layout: Member[ImageLayout, Literal["nhwc", "nchw"]] = Member(ImageLayout, ImageLayout.NHWC)
    weight_layout: OptionalMember[WeightLayout, Literal["oihw", "ohwi", "hwio"]] = OptionalMember(
        WeightLayout
    )
    stride: int | Dims | None = None
    padding: int | Dims | str | None = None
    padding_value: int | str = 0
    dilation: int | Dims | None = None
    groups: int = 1
    epilogue: EpilogueText = EpilogueText()
    epilogue_shapes: EpilogueShapes = EpilogueShapes()
    epilogue_dtypes: EpilogueDtypes = EpilogueDtypes()
    constant: Members[ConstantOperand, OperandName] = Members(ConstantOperand)
    b_dtype: OptionalMember[BType, BTypeName | DTypeLike] = OptionalMember(BType)
    math: Member[ConvMath, Literal["exact", "winograd", "winograd2", "winograd4"]] = Member(
        ConvMath, ConvMath.EXACT
    )

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise SpecError(
                f"dtype={self.dtype} is not supported by conv2d; take {', '.join(DTYPES)}"
            )
        if self.b_dtype not in (None, *WIDENED):
            raise SpecError(
                f"b_dtype={self.b_dtype} is not supported by conv2d; take {', '.join(WIDENED)}"
            )
        self._check_shapes()
        self._set("stride", self._per_axis("stride", self.stride, 1))
        self._set("dilation", self._per_axis("dilation", self.dilation, 1))
        self._set("padding", self._paddings())
        self._check_padding_value()
        self._check_windows()
        if self.weight_layout is None:
            nhwc = self.layout is ImageLayout.NHWC
            self._set("weight_layout", WeightLayout.OHWI if nhwc else WeightLayout.OIHW)
        if self.constant and self.product_layout is None:
            raise SpecError(
                f"constant={','.join(self.constant)} needs weights that are a matrix, not "
                f"weight_layout={self.weight_layout}; take layout=nhwc,weight_layout=ohwi"
            )
        product = self.product
        for name in ("out_dtype", "epilogue", "epilogue_shapes", "epilogue_dtypes", "constant"):
            self._set(name, getattr(product, name))
        if self.pads_with_operand and PADDING in (o.name for o in product.operands):
            raise SpecError(
                f"epilogue={self.epilogue} has an operand {PADDING}, which is the name of the "
                f"number of padding_value={PADDING}; choose another name"
            )
        if by_row := [o.name for o in product.operands if o.extent is Extent.M]:
            raise SpecError(
                f"epilogue_shapes={by_row[0]}=mx1 is not supported by conv2d; give {by_row[0]}=n "
                "(one number per output channel), mxn or 1"
            )
        self._check_math()
        self._check_sizes()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    # -- checks --------------------------------------------------------------------------------

    def _check_shapes(self) -> None:
        for name in ("input", "weights"):
            shape = getattr(self, name)
            if isinstance(shape, str) or not isinstance(shape, Iterable):
                raise SpecError(
                    f"{name}={shape!r} is not a shape; give one such as (1, 64, 56, 56)"
                )
            self._set(name, whole_each(name, shape, 1, MAX_SIZE))
        if not 3 <= len(self.input) <= 2 + MAX_AXES:
            raise SpecError(
                f"input={by_x(self.input)} has {len(self.input)} axes; give images, channels and 1 "
                f"to {MAX_AXES} spatial sizes, such as 1x64x56x56"
            )
        if len(self.weights) != len(self.input):
            raise SpecError(
                f"weights={by_x(self.weights)} has {len(self.weights)} axes, and the input "
                f"{by_x(self.input)} has {len(self.input)}; give outputs, channels and as many "
                "kernel sizes as the input has spatial sizes"
            )
        groups = self._check_int("groups", 1, MAX_SIZE)
        channels, outputs, depth = self.input[1], *self.weights[:2]
        common = math.gcd(channels, outputs)
        remedy = f"take a divisor of {common}" if common > 1 else "take groups=1"
        for what, count in (("input channels", channels), ("output channels", outputs)):
            if count % groups:
                raise SpecError(f"groups={groups} does not divide {count} {what}; {remedy}")
        if depth != channels // groups:
            raise SpecError(
                f"weights={by_x(self.weights)} has {depth} channels per group; give "
                f"{channels // groups}, since the input has {channels} channels in groups={groups}"
            )

    def _per_axis(self, name: str, value: object, least: int) -> Dims:
        """Return a field as one number for each spatial axis; one number stands for all."""
        if value is None:
            return (least,) * self.rank
        given = tuple(value) if isinstance(value, tuple | list) else (value,)
        if len(given) == 1:
            return (whole(name, given[0], least, MAX_SIZE),) * self.rank
        found = whole_each(name, given, least, MAX_SIZE)
        if len(found) != self.rank:
            raise SpecError(
                f"{name}={by_x(found)} has {len(found)} numbers for {self.rank} spatial axes; give "
                f"one, or {self.rank}"
            )
        return found

    def _paddings(self) -> Dims:
        """Return the padding before each axis, then that after each axis, in elements."""
        given = self.padding
        if isinstance(given, str):
            if given not in PADDINGS:
                raise SpecError(
                    f"padding={given} is not supported; give {', '.join(PADDINGS)}, or numbers"
                )
            missing = [
                max(0, (-(-size // step) - 1) * step + reach - size) * (given != "valid")
                for size, step, reach in zip(self.sizes, self.strides, self.reaches, strict=True)
            ]
            less, more = [n // 2 for n in missing], [n - n // 2 for n in missing]
            return (*more, *less) if given == "same_lower" else (*less, *more)
        if given is None:
            return (0,) * (2 * self.rank)
        if isinstance(given, tuple | list) and len(given) == 2 * self.rank:
            return whole_each("padding", given, 0, MAX_SIZE)
        if isinstance(given, tuple | list) and len(given) not in (1, self.rank):
            raise SpecError(
                f"padding={by_x(tuple(given))} has {len(given)} numbers for {self.rank} spatial "
                f"axes; give 1, {self.rank}, or {2 * self.rank} (in front of each, then behind)"
            )
        return self._per_axis("padding", given, 0) * 2

    def _check_padding_value(self) -> None:
        value = self.padding_value
        if value != PADDING:
            if isinstance(value, str):
                raise SpecError(
                    f"padding_value={value!r} is not an integer; give {LEAST} to {MOST}, or "
                    f"{PADDING} for an operand of that name"
                )
            value = whole("padding_value", value, LEAST, MOST)
        if value and self.dtype is not DType.S8:
            raise SpecError(
                f"padding_value={value} is not supported for dtype={self.dtype}; take 0, or "
                f"dtype={DType.S8}"
            )
        self._set("padding_value", value if any(map(sum, self.pads)) else 0)

    def _check_windows(self) -> None:
        for axis, (size, reach) in enumerate(zip(self.sizes, self.reaches, strict=True)):
            before, after = self.pads[axis]
            if reach > size + before + after:
                raise SpecError(
                    f"weights={by_x(self.weights)} with dilation={by_x(self.dilations)} reaches "
                    f"over {reach} of {size + before + after} elements along spatial axis {axis}, "
                    "padding included; take a smaller kernel or dilation, or more padding"
                )
            if max(before, after) >= reach:
                raise SpecError(
                    f"padding={max(before, after)} along spatial axis {axis} is not below "
                    f"{reach}, the reach of the kernel, so outputs there see no input; take at "
                    f"most {reach - 1}"
                )
        for what, count, most in (
            ("output positions", self.images * math.prod(self.out_sizes), MAX_ROWS_OR_COLUMNS),
            ("output channels per group", self.weights[0] // self.groups, MAX_ROWS_OR_COLUMNS),
            ("weights per output", math.prod(self.weights[1:]), MAX_K),
        ):
            if count > most:
                raise SpecError(f"{count} {what} are more than {most}; split the convolution")

    def _check_math(self) -> None:
        """Raise SpecError for a convolution that Winograd's transforms do not compute."""
        if self.transforms is None:
            return
        for name, value, supported, only in (
            ("dtype", self.dtype, self.dtype is DType.F32, "f32"),
            ("b_dtype", self.b_dtype, self.b_dtype is None, "weights of f32"),
            ("weights", by_x(self.weights), self.kernel == (KERNEL, KERNEL), "3x3 kernels"),
            ("stride", by_x(self.strides), set(self.strides) == {1}, "1"),
            ("dilation", by_x(self.dilations), set(self.dilations) == {1}, "1"),
            ("groups", self.groups, self.groups == 1, "1"),
            ("layout", self.layout, self.layout is ImageLayout.NHWC, "nhwc"),
        ):
            if not supported:
                other = "dtype=f32 or " if name == "dtype" else ""
                raise SpecError(
                    f"{name}={value} is not supported with math={self.math}, which needs {only}; "
                    f"take {other}math=exact"
                )
        if not self.constant:
            raise SpecError(
                f"math={self.math} requires constant weights; pass constant=b=FILE.npy (Python: "
                'constant=("b",)), or math=exact'
            )

    # -- sizes ---------------------------------------------------------------------------------

    @property
    def transforms(self) -> Transforms | None:
        """Winograd's transforms; None for exact arithmetic."""
        return self.math.transforms

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.input) - 2

    @property
    def images(self) -> int:
        return self.input[0]

    @property
    def channels(self) -> int:
        """Input channels of all groups."""
        return self.input[1]

    @property
    def outputs(self) -> int:
        """Output channels of all groups."""
        return self.weights[0]

    @property
    def is_depthwise(self) -> bool:
        """Whether every input channel is a group of its own."""
        return self.groups == self.channels > 1

    @property
    def multiplier(self) -> int:
        """Output channels per input channel of a depthwise convolution."""
        return self.outputs // self.groups

    @property
    def sizes(self) -> Shape:
        """Spatial sizes of the input."""
        return self.input[2:]

    @property
    def kernel(self) -> Shape:
        """Spatial sizes of the weights."""
        return self.weights[2:]

    @property
    def strides(self) -> Dims:
        assert isinstance(self.stride, tuple)
        return self.stride

    @property
    def dilations(self) -> Dims:
        assert isinstance(self.dilation, tuple)
        return self.dilation

    @property
    def pads(self) -> tuple[tuple[int, int], ...]:
        """Padding in front of and behind each spatial axis."""
        assert isinstance(self.padding, tuple)
        return tuple(zip(self.padding[: self.rank], self.padding[self.rank :], strict=True))

    @property
    def pads_with_operand(self) -> bool:
        """Whether the number that pads the images is an operand."""
        return self.padding_value == PADDING

    @property
    def reaches(self) -> Shape:
        """Extent of the dilated kernel along each spatial axis, in elements."""
        return tuple((n - 1) * d + 1 for n, d in zip(self.kernel, self.dilations, strict=True))

    @cached_property
    def out_sizes(self) -> Shape:
        """Spatial sizes of the output."""
        axes = zip(self.sizes, self.pads, self.reaches, self.strides, strict=True)
        return tuple((n + sum(pads) - reach) // step + 1 for n, pads, reach, step in axes)

    # -- the matrix product that computes the convolution ----------------------------------------

    @property
    def product_layout(self) -> Literal["nt", "nn"] | None:
        """Layout of the product whose B is the weights; None if they are no matrix in memory."""
        if self.weight_layout is WeightLayout.HWIO:
            return "nn"
        is_matrix = self.weight_layout is WeightLayout.OHWI or math.prod(self.kernel) == 1
        return "nt" if is_matrix else None

    @cached_property
    def product(self) -> Matmul:
        """Matrix product that computes the convolution (implicit GEMM); groups are its batch.

        m is images x output positions, n the output channels of a group, and k kernel positions x
        channels of a group. Each row of A is a window of the input. B, the output and the
        epilogue's operands lie in memory as the product says if the layout is nhwc and the weights
        are ohwi or hwio. A does so only for single pixels; for other kernels the access map gives
        the address of each element of a window.
        """
        m = self.images * math.prod(self.out_sizes)
        n, k = self.outputs // self.groups, math.prod(self.weights[1:])
        layout = self.product_layout or "nt"
        pixels = self.groups > 1 and math.prod(self.kernel) == 1
        return Matmul(
            m=m,
            n=n,
            k=k,
            dtype=self.dtype,
            out_dtype=self.out_dtype,
            layout=layout,
            lda=self.channels if pixels else None,
            ldb=self.outputs if layout == "nn" else k,
            ldc=self.outputs,
            batch=self.groups,
            batch_stride_a=self.weights[1] if self.groups > 1 else None,
            batch_stride_b=n if layout == "nn" else n * k,
            batch_stride_c=n,
            epilogue=self.epilogue,
            epilogue_shapes=self.epilogue_shapes,
            epilogue_dtypes=self.epilogue_dtypes,
            constant=self.constant,
            b_dtype=self.b_dtype,
        )

    @property
    def out(self) -> DType:
        """The output's dtype, always set."""
        assert self.out_dtype is not None
        return self.out_dtype

    @property
    def constants(self) -> tuple[str, ...]:
        return self.constant

    @property
    def flops(self) -> int:
        return self.product.flops

    # -- tensors -------------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> tuple[TensorParam, ...]:
        b = self.product.parameter("b")
        if self.transforms:
            b = self._tensor("b", (self.transforms.positions * self.channels, self.outputs))
        elif not self.constant:
            b = self._tensor("b", self.stored_weights, b.dtype)
        found = [self._tensor("a", self.stored(self.channels, self.sizes)), b]
        out = self._tensor("out", self.stored(self.outputs, self.out_sizes), self.out)
        for operand in self.product.operands:
            like = self.product.parameter(operand.name)
            if operand.extent is Extent.FULL:
                like = dataclasses.replace(out, name=operand.name)
            elif operand.extent is Extent.N:
                like = self._tensor(operand.name, (self.outputs,), like.dtype)
            found.append(like)
        if self.pads_with_operand:
            found.append(self._tensor(PADDING, (1,)))
        return (*found, dataclasses.replace(out, role="output"))

    def _tensor(self, name: str, shape: Shape, dtype: DType | None = None) -> TensorParam:
        return TensorParam(
            name=name, role="input", dtype=dtype or self.dtype, shape=shape, strides=packed(shape)
        )

    def stored(self, channels: int, sizes: Shape) -> Shape:
        """Return the shape of images in memory."""
        if self.layout is ImageLayout.NHWC:
            return (self.images, *sizes, channels)
        return (self.images, channels, *sizes)

    @property
    def stored_weights(self) -> Shape:
        outputs, depth, *kernel = self.weights
        return {
            WeightLayout.OIHW: self.weights,
            WeightLayout.OHWI: (outputs, *kernel, depth),
            WeightLayout.HWIO: (*kernel, depth, outputs),
        }[self.weight_layout or WeightLayout.OIHW]

    # -- names ---------------------------------------------------------------------------------

    @property
    def formula(self) -> str:
        words = [
            f"{name} {by_x(numbers)}"
            for name, numbers, plain in (
                ("stride", self.strides, 1),
                ("padding", self.padding, 0),
                ("dilation", self.dilations, 1),
            )
            if isinstance(numbers, tuple) and set(numbers) != {plain}
        ]
        if self.pads_with_operand:
            words.append("padding value from an operand")
        elif self.padding_value:
            words.append(f"padding value {self.padding_value}")
        words += [f"{self.groups} groups"] * (self.groups > 1)
        words += [f"math {self.math}"] * (self.transforms is not None)
        found = substituted(self.product.epilogue_calls, {PRODUCT: variable("convolution(A, B)")})
        beside = f" with {', '.join(words)}" if words else ""
        return f"out = {infix(found)}{beside}, accumulated in {self.product.accumulate}"

    @property
    def key(self) -> str:
        parts = [f"conv2d_{by_x(self.input)}_{by_x(self.weights)}_{self.dtype}_{self.layout}"]
        if self.weight_layout is not (
            WeightLayout.OHWI if self.layout is ImageLayout.NHWC else WeightLayout.OIHW
        ):
            parts.append(str(self.weight_layout))
        for letter, numbers, plain in (
            ("s", self.strides, 1),
            ("p", self.padding, 0),
            ("d", self.dilations, 1),
        ):
            assert isinstance(numbers, tuple)
            if set(numbers) != {plain}:
                short = numbers[:1] if len(set(numbers)) == 1 else numbers
                parts.append(f"{letter}{by_x(short)}")
        if self.padding_value:
            parts.append(f"pv{self.padding_value}".replace("-", "m"))
        if self.groups > 1:
            parts.append(f"g{self.groups}")
        if self.b_dtype is not None:
            parts.append(f"by_{self.b_dtype}")
        if self.transforms:
            parts.append(str(self.math))
        if self.out is not self.dtype:
            parts.append(f"to_{self.out}")
        parts += [f"packed{operand}" for operand in self.constant]
        parts += self.product.epilogue_names()
        return "_".join(part for part in parts if part)
