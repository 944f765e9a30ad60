"""Spec of a matrix multiplication with strides, a batch and a fused epilogue."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, cast

from kgen.errors import SpecError, Unfit
from kgen.ops import Expression, expand, parse
from kgen.ops.expression import call, constant, infix, substituted, variable
from kgen.ops.parse import refuse_name
from kgen.spec.choices import (
    NARROW,
    OUTPUTS,
    BType,
    BTypeName,
    ConstantOperand,
    Epilogue,
    Layout,
    LayoutName,
    Math,
    MathName,
    OperandName,
    Scale,
    ScaleName,
)
from kgen.spec.enum_fields import Member, Members, OptionalMember
from kgen.spec.epilogue import (
    PRODUCT,
    EpilogueDtypes,
    EpilogueOperand,
    EpilogueShapes,
    EpilogueText,
    Extent,
    checked,
    checked_dtypes,
    steps_of,
)
from kgen.spec.keys import number_name, words_of
from kgen.spec.numbers import check_numbers
from kgen.spec.shapes import by_x
from kgen.spec.spec import MAX_BYTES, Spec, finite, whole_each
from kgen.spec.strides import Dims, are_disjoint, packed_batch, with_batch
from kgen_runtime.blocks import row_bytes
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

#: Largest m and n. Vocabularies of language models have more than 100,000 columns.
MAX_ROWS_OR_COLUMNS = 1 << 20
#: Largest k. Verification relies on exact f32 sums of this many products of integers up to 4.
MAX_K = 1 << 20
#: Largest k of 8-bit operands: as many products of 8-bit integers, one unsigned, fit in s32.
MAX_K_OF_BYTES = 1 << 16
MAX_BATCH = 1 << 20
MAX_BATCH_DIMS = 4


@frozen
class Matmul(Spec):
    """Matrix product, out = scale_out * epilogue(alpha * scale_a * scale_b * A @ B + beta * C).

    Sums are in f32, for f64 operands in f64. Sums of s8 operands are in s32, and rounded to f32
    unless they are the output.

    - A is m x k, B is k x n, and C, a residual and out are m x n. `layout` says which of A and B
      are stored transposed, as k x m or n x k.
    - `lda`, `ldb` and `ldc` are leading dimensions, and `batch_stride_a`, `_b` and `_c` batch
      strides, in elements. None means packed. The batch stride 0 of an input means that the whole
      batch shares one matrix.
    - A batch may have several dimensions, such as sequences and heads: `batch_dims`, outermost
      first, whose product is `batch`. Each batch stride then has one number per dimension, 0 along
      those that share a matrix.
    - `epilogue` is an expression of x, or a chain of steps. `epilogue_shapes` gives the shapes of
      its operands (:class:`Extent`), apart from well-known ones such as bias.
    - C and operands of shape m x n have the output's dtype, leading dimension and batch stride.
      Smaller operands have the output's dtype, f32 if 8 bits are too few (:meth:`operand_dtype`),
      or the dtype in `epilogue_dtypes`.
    - `scales` names which of A, B and the output have a scale argument, one f32 each, for 8-bit
      operands. The other scales are 1.
    - `b_dtype` is the dtype of a B that is narrower than A (:class:`BType`). Its numbers are
      converted exactly and multiplied in A's dtype.
    - `constant` operands are passed in the kernel's own order, which the runtime's `pack` produces.

    Raises SpecError for a field that is out of range.
    """

    op: ClassVar[str] = "matmul"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    m: int
    n: int
    k: int
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    layout: Member[Layout, LayoutName] = Member(Layout, Layout.NN)
    lda: int | None = None
    ldb: int | None = None
    ldc: int | None = None
    batch: int = 1
    batch_dims: Dims | None = None
    batch_stride_a: int | Dims | None = None
    batch_stride_b: int | Dims | None = None
    batch_stride_c: int | Dims | None = None
    alpha: float = 1.0
    beta: float = 0.0
    epilogue: EpilogueText = EpilogueText()
    epilogue_shapes: EpilogueShapes = EpilogueShapes()
    epilogue_dtypes: EpilogueDtypes = EpilogueDtypes()
    math: Member[Math, MathName] = Member(Math, Math.EXACT)
    scales: Members[Scale, ScaleName] = Members(Scale)
    constant: Members[ConstantOperand, OperandName] = Members(ConstantOperand)
    b_dtype: OptionalMember[BType, BTypeName | DTypeLike] = OptionalMember(BType)

    def __post_init__(self) -> None:
        if self.dtype not in OUTPUTS:
            raise SpecError(
                f"dtype={self.dtype} is not supported by matmul; take {', '.join(OUTPUTS)}"
            )
        if self.out_dtype is None:
            object.__setattr__(self, "out_dtype", OUTPUTS[self.dtype][0])
        self._check_int("m", 1, MAX_ROWS_OR_COLUMNS)
        self._check_int("n", 1, MAX_ROWS_OR_COLUMNS)
        sums_bytes = self.dtype is DType.S8 or self.b_dtype in (BType.S8, BType.S4)
        self._check_int("k", 1, MAX_K_OF_BYTES if sums_bytes else MAX_K)
        self._check_batch()
        for name in ("alpha", "beta"):
            value = finite(name, getattr(self, name), self.finishes_in)
            object.__setattr__(self, name, value)
        if self.out not in OUTPUTS[self.dtype]:
            raise SpecError(
                f"out_dtype={self.out} is not supported with dtype={self.dtype}; take one of "
                f"{', '.join(OUTPUTS[self.dtype])}"
            )
        if self.math is not Math.EXACT and self.dtype is not DType.F32:
            raise SpecError(f"math={self.math} needs dtype=f32, not {self.dtype}; leave math out")
        self._check_narrow()
        self._check_epilogue()
        self._check_scales()
        if len(set(self.constant)) < len(self.constant):
            raise SpecError(
                f"constant={','.join(self.constant)} names an operand twice; name it once"
            )
        self._fill_strides()
        if self.batch_dims and self.constant and any(self.batch_strides("b")):
            raise SpecError(
                f"constant={','.join(self.constant)} needs one batch dimension, not batch_dims="
                f"{by_x(self.batch_dims)}; give batch={self.batch} instead, or batch_stride_b of 0"
            )
        self._check_sizes()

    def _check_batch(self) -> None:
        """Check `batch` and `batch_dims`, and set `batch` to the product of the dimensions."""
        if self.batch_dims is not None:
            if not isinstance(self.batch_dims, Iterable):
                raise SpecError(
                    f"batch_dims={self.batch_dims!r} is not a sequence of sizes; give one such as "
                    "(2, 3), and a single size as batch"
                )
            dims = whole_each("batch_dims", self.batch_dims, 1, MAX_BATCH)
            if not 2 <= len(dims) <= MAX_BATCH_DIMS or 1 in dims:
                raise SpecError(
                    f"batch_dims={by_x(dims)} are not 2 to {MAX_BATCH_DIMS} sizes above 1; leave "
                    "out dimensions of size 1, and give a single one as batch"
                )
            if self.batch not in (1, math.prod(dims)):
                raise SpecError(
                    f"batch={self.batch} is not the product of batch_dims={by_x(dims)}; "
                    "leave it out"
                )
            object.__setattr__(self, "batch_dims", dims)
            object.__setattr__(self, "batch", math.prod(dims))
        self._check_int("batch", 1, MAX_BATCH)

    def _check_narrow(self) -> None:
        if self.b_dtype is None:
            return
        if self.b_dtype not in NARROW.get(self.dtype, ()):
            raise SpecError(
                f"b_dtype={self.b_dtype} requires dtype={' or '.join(NARROW)}, not {self.dtype}; "
                "take that, or leave b_dtype out"
            )
        if self.math is not Math.EXACT:
            raise SpecError(
                f"math={self.math} needs a B of f32, not b_dtype={self.b_dtype}; leave math out"
            )
        if self.has_blocks and self.layout is not Layout.NT:
            raise SpecError(
                f"layout={self.layout} is not supported with b_dtype=s4, whose blocks extend along "
                "k; take layout=nt"
            )

    def _check_epilogue(self) -> None:
        expression, operands = checked(self.epilogue, self.epilogue_shapes)
        if self.finishes_in is DType.F32:
            try:
                check_numbers(DType.F32, expand(expression))
            except Unfit as error:
                refuse_name(self.epilogue, "epilogue", error.word, str(error))
        found = checked_dtypes(self.epilogue, operands, self.epilogue_dtypes or (), self.out)
        object.__setattr__(self, "epilogue", str(expression))
        shapes = tuple(f"{o.name}={o.extent}" for o in operands)
        object.__setattr__(self, "epilogue_shapes", shapes)
        object.__setattr__(self, "epilogue_dtypes", ())
        own = ((o.name, found.get(o.name, self.operand_dtype(o.name))) for o in operands)
        dtypes = tuple(f"{name}={d}" for name, d in own if d is not self.operand_dtype(name))
        object.__setattr__(self, "epilogue_dtypes", dtypes)

    def _check_scales(self) -> None:
        if self.scales and self.dtype.itemsize > 1:
            raise SpecError(
                f"scales={','.join(self.scales)} need 8-bit operands, not {self.dtype}; use alpha "
                "instead"
            )
        if len(set(self.scales)) < len(self.scales):
            raise SpecError(f"scales={','.join(self.scales)} names a scale twice; name it once")
        object.__setattr__(self, "scales", tuple(s for s in Scale if s in self.scales))
        plain = (self.alpha, self.beta, self.epilogue, self.scales) == (1.0, 0.0, PRODUCT, ())
        if self.out is DType.S32 and not plain:
            raise SpecError(
                "out_dtype=s32 supports no alpha, beta, scales or epilogue; take f32, f16, bf16 or "
                "s8"
            )

    def _fill_strides(self) -> None:
        rows = {"a": self.a_shape, "b": self.b_shape, "c": (self.m, self.n)}
        for name, (n_rows, n_cols) in rows.items():
            ld_name, stride_name = f"ld{name}", f"batch_stride_{name}"
            if getattr(self, ld_name) is None:
                object.__setattr__(self, ld_name, n_cols)
            ld = self._check_int(ld_name, n_cols, MAX_BYTES)
            self._fill_batch_stride(stride_name, n_rows * ld)
        sizes = (*self.batch_sizes, self.m, self.n)
        strides = (*self.batch_strides("c"), *self.out_strides[1:])
        if self.batch > 1 and not are_disjoint(sizes, strides):
            raise SpecError(
                f"batch_stride_c={by_x(self.batch_strides('c'))} makes the outputs of the batch "
                f"overlap; give at least {(self.m - 1) * self.out_strides[1] + self.n}"
            )

    def _fill_batch_stride(self, name: str, packed: int) -> None:
        """Set a batch stride: one number, or one for each batch dimension."""
        given = getattr(self, name)
        if self.batch_dims is None:
            if given is not None:
                self._check_int(name, 0, MAX_BYTES)
            if given is None or self.batch == 1:
                object.__setattr__(self, name, packed)
            return
        strides = packed_batch(self.batch_dims, packed) if given is None else given
        if not isinstance(strides, tuple | list) or len(strides) != len(self.batch_dims):
            raise SpecError(
                f"{name}={given} is not one number for each of "
                f"batch_dims={by_x(self.batch_dims)}; give {len(self.batch_dims)} numbers"
            )
        object.__setattr__(self, name, whole_each(name, strides, 0, MAX_BYTES))

    @property
    def batch_sizes(self) -> Dims:
        """Sizes of the batch, outermost first."""
        return self.batch_dims or (self.batch,)

    def batch_strides(self, of: str) -> Dims:
        """Return the batch strides of a, b, or c and the output, in elements."""
        found = getattr(self, f"batch_stride_{of}")
        return found if isinstance(found, tuple) else (cast(int, found),)

    @property
    def out(self) -> DType:
        """The output's dtype, always set."""
        assert self.out_dtype is not None
        return self.out_dtype

    @property
    def b_type(self) -> DType:
        """B's dtype, always set."""
        return self.b_dtype.dtype if self.b_dtype else self.dtype

    @property
    def has_blocks(self) -> bool:
        """Whether B is stored in blocks along k, within which elements have no stride."""
        return self.b_dtype is BType.S4

    @property
    def accumulate(self) -> DType:
        """Dtype of the sums."""
        return {DType.F64: DType.F64, DType.S8: DType.S32}.get(self.dtype, DType.F32)

    @property
    def constants(self) -> tuple[str, ...]:
        return self.constant

    @property
    def finishes_in(self) -> DType:
        """Dtype in which alpha, beta, scales and the epilogue are computed."""
        return DType.F64 if self.dtype is DType.F64 else DType.F32

    @cached_property
    def epilogue_calls(self) -> Expression:
        """The epilogue in calls of functions."""
        return parse(self.epilogue)

    @cached_property
    def operands(self) -> tuple[EpilogueOperand, ...]:
        """The epilogue's operands, in order of their first use."""
        return checked(self.epilogue, self.epilogue_shapes)[1]

    def operand_dtype(self, name: str) -> DType:
        """Return the dtype of an operand of the epilogue.

        The default is the output's dtype. Vectors and single numbers have f32 instead if the output
        has 8 bits, or if B has 8 bits and the operand is not the bias: such factors restore the
        range of the product.
        """
        own = dict(part.split("=") for part in self.epilogue_dtypes or ())
        if name in own:
            return DType(own[name])
        extents = {o.name: o.extent for o in self.operands}
        if extents.get(name, Extent.FULL) is Extent.FULL:
            return self.out
        narrow = self.out.itemsize == 1 or (self.b_type.itemsize == 1 and name != Epilogue.BIAS)
        return DType.F32 if narrow else self.out

    @property
    def a_shape(self) -> tuple[int, int]:
        """Shape of A as stored."""
        return (self.k, self.m) if self.layout.a_transposed else (self.m, self.k)

    @property
    def b_shape(self) -> tuple[int, int]:
        """Shape of B as stored."""
        if self.has_blocks:
            return self.n, row_bytes(self.k)
        return (self.n, self.k) if self.layout.b_transposed else (self.k, self.n)

    @property
    def a_strides(self) -> tuple[int, int, int]:
        """Strides of A for the last batch dimension, m and k, in elements."""
        assert self.lda is not None
        return (
            self.batch_strides("a")[-1],
            *((1, self.lda) if self.layout.a_transposed else (self.lda, 1)),
        )

    @property
    def b_strides(self) -> tuple[int, int, int]:
        """Strides of B for the last batch dimension, k and n, in elements."""
        assert self.ldb is not None
        return (
            self.batch_strides("b")[-1],
            *((1, self.ldb) if self.layout.b_transposed else (self.ldb, 1)),
        )

    @property
    def out_strides(self) -> tuple[int, int, int]:
        """Strides of out, C and a residual for the last batch dimension, m and n, in elements."""
        assert self.ldc is not None
        return (self.batch_strides("c")[-1], self.ldc, 1)

    @cached_property
    def parameters(self) -> tuple[TensorParam, ...]:
        a_batch, b_batch, c_batch = map(self.batch_strides, ("a", "b", "c"))
        assert self.lda is not None and self.ldb is not None and self.ldc is not None
        out_like = (self.out, (self.m, self.n), self.ldc, c_batch)
        params = [
            self._matrix("a", self.dtype, self.a_shape, self.lda, a_batch),
            self._matrix("b", self.b_type, self.b_shape, self.ldb, b_batch),
        ]
        params += [self._vector(f"scale_{s}", DType.F32, 1) for s in self.scales if s != Scale.OUT]
        if self.beta != 0.0:
            params.append(self._matrix("c", *out_like))
        for operand in self.operands:
            if operand.extent is Extent.FULL:
                params.append(self._matrix(operand.name, *out_like))
            else:
                params.append(self._broadcast(operand))
        if Scale.OUT in self.scales:
            params.append(self._vector("scale_out", DType.F32, 1))
        params.append(dataclasses.replace(self._matrix("out", *out_like), role="output"))
        return tuple(params)

    def _broadcast(self, operand: EpilogueOperand) -> TensorParam:
        """Return the parameter for an operand that is a vector along n or m, or one number."""
        dtype = self.operand_dtype(operand.name)
        size = {Extent.N: self.n, Extent.M: self.m}.get(operand.extent, 1)
        vector = self._vector(operand.name, dtype, size)
        if operand.extent is not Extent.M:
            return vector
        return dataclasses.replace(vector, shape=(size, 1), strides=(1, 1))

    def _vector(self, name: str, dtype: DType, size: int) -> TensorParam:
        return TensorParam(name=name, role="input", dtype=dtype, shape=(size,), strides=(1,))

    def _matrix(
        self, name: str, dtype: DType, shape: tuple[int, int], ld: int, batch_strides: Dims
    ) -> TensorParam:
        sizes, strides = with_batch(shape, (ld, 1), self.batch_sizes, batch_strides)
        return TensorParam(name=name, role="input", dtype=dtype, shape=sizes, strides=strides)

    @property
    def formula(self) -> str:
        factors = [constant(self.alpha)] if self.alpha != 1.0 else []
        factors += [variable(f"scale_{scale}") for scale in self.scales if scale != Scale.OUT]
        found, *others = [*factors, variable("A @ B")]
        for other in others:
            found = call("mul", (found, other))
        if self.beta != 0.0:
            found = call("add", (found, call("mul", (self.beta, variable("C")))))
        found = substituted(self.epilogue_calls, {PRODUCT: found})
        if Scale.OUT in self.scales:
            found = call("mul", (variable("scale_out"), found))
        return f"out = {infix(found)}, accumulated in {self.accumulate}"

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def key(self) -> str:
        parts = [f"matmul_{self.m}x{self.n}x{self.k}_{self.dtype}_{self.layout}"]
        if self.math is not Math.EXACT:
            parts.append(self.math.value)
        if self.b_dtype is not None:
            parts.append(f"by_{self.b_dtype}")
        if self.out is not self.dtype:
            parts.append(f"to_{self.out}")
        if self.batch > 1:
            parts.append(f"b{by_x(self.batch_sizes)}")
        parts += self._stride_names()
        if self.alpha != 1.0:
            parts.append(f"alpha{number_name(self.alpha)}")
        if self.beta != 0.0:
            parts.append(f"beta{number_name(self.beta)}")
        parts += [f"scale{scale}" for scale in self.scales]
        parts += [f"packed{operand}" for operand in self.constant]
        parts += self.epilogue_names()
        return "_".join(parts)

    def epilogue_names(self) -> tuple[str, ...]:
        """Return the steps of a chain with their dtypes, or the functions of an expression."""
        steps = steps_of(self.epilogue)
        if steps is not None:
            dtypes = self.epilogue_dtypes or ()
            return (*steps, *(part.replace("=", "") for part in dtypes))
        return (words_of(self.epilogue_calls),)

    def _stride_names(self) -> list[str]:
        rows = {"a": self.a_shape, "b": self.b_shape, "c": (self.m, self.n)}
        names = []
        for name, (n_rows, n_cols) in rows.items():
            ld, strides = getattr(self, f"ld{name}"), self.batch_strides(name)
            if ld != n_cols:
                names.append(f"ld{name}{ld}")
            if self.batch > 1 and strides != packed_batch(self.batch_sizes, n_rows * ld):
                names.append(f"s{name}{by_x(strides)}")
        return names
