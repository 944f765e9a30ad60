"""Spec of element-wise operations: an expression of the scalar language over broadcast tensors."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from kgen.errors import SpecError, Unfit
from kgen.ops import is_exact
from kgen.spec.enum_fields import Member, Members, OptionalMember
from kgen.spec.formula import FLOATS
from kgen.spec.inference import input_uses
from kgen.spec.shapes import Shape
from kgen.spec.view_expressions import Viewed
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.values import frozen

#: Dtypes of inputs that index others in a gather; the first is the default.
INDEX_DTYPES = (DType.S32, DType.S64)


@frozen
class Elementwise(Viewed):
    """Element-wise operation, out = expression.

    Outputs have the shape that all inputs broadcast to. In an expression with views they have the
    shape that the outputs' expressions broadcast to. `index_dtype` is the dtype of the inputs by
    which others are gathered.
    """

    op: ClassVar[str] = "elementwise"
    kind: ClassVar[str] = "element-wise"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    dtypes: Members[DType, DTypeLike] = Members(DType)
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    out_dtypes: Members[DType, DTypeLike] = Members(DType)
    index_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)

    def _check_expression(self) -> None:
        self._check_indices()
        super()._check_expression()

    def _check_indices(self) -> None:
        if self.index_inputs and self.index_dtype is None:
            object.__setattr__(self, "index_dtype", INDEX_DTYPES[0])
        known = INDEX_DTYPES if self.index_inputs else (None,)
        if self.index_dtype not in known:
            raise SpecError(
                f"index_dtype={self.index_dtype} is not a dtype of indices; give "
                f"{' or '.join(INDEX_DTYPES)}"
                if self.index_inputs
                else f"index_dtype={self.index_dtype} has no effect without gather; leave it out"
            )
        for name in sorted(self.index_inputs & input_uses(*self.formula_calls)[0]):
            raise Unfit(name, f"input {name} is used as an index and as a number; use two inputs")

    def _take_dtypes(self) -> None:
        if len(self.dtypes) > 1:
            self._take_index_dtype()
        super()._take_dtypes()

    def _take_index_dtype(self) -> None:
        """Set `index_dtype` from `dtypes`, which give the dtypes of all inputs."""
        found = zip(self.inputs, self.dtypes, strict=False)
        indices = {dtype for name, dtype in found if name in self.index_inputs}
        if len(indices | {self.index_dtype} - {None}) > 1:
            raise SpecError(
                f"index_dtype={self.index_dtype} and dtypes {', '.join(sorted(indices))} of "
                "indices differ; use one dtype for all indices"
            )
        if indices:
            object.__setattr__(self, "index_dtype", indices.pop())

    def output_shape(self, name: str) -> Shape:
        return self.domain if self.scatter is None else self.shapes_of[self.table]

    @cached_property
    def index_inputs(self) -> frozenset[str]:
        """Inputs by which others are gathered."""
        return input_uses(*self.formula_calls)[1]

    @property
    def value_dtypes(self) -> tuple[DType, ...]:
        found = zip(self.inputs, super().input_dtypes, strict=True)
        return tuple(dtype for name, dtype in found if name not in self.index_inputs)

    @property
    def input_dtypes(self) -> tuple[DType, ...]:
        found = zip(self.inputs, super().input_dtypes, strict=True)
        index = self.index_dtype or INDEX_DTYPES[0]
        return tuple(index if name in self.index_inputs else dtype for name, dtype in found)

    @property
    def has_exact_steps(self) -> bool:
        return self.is_exact or super().has_exact_steps

    @cached_property
    def is_exact(self) -> bool:
        """Whether all tensors have one float dtype, and no step rounds in it."""
        one_type = set(self.needed_dtypes) == {self.dtype} and self.dtype in FLOATS
        return one_type and all(is_exact(calls, self.dtype) for calls in self.calls)
