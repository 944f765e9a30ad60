"""Element-wise operations: any expression of the scalar language over tensors that broadcast."""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property
from typing import ClassVar

from kgen.errors import SpecError
from kgen.ops import Expression, beyond, expand, is_exact, steps
from kgen.ops.expression import constant
from kgen.ops.registry import call_of
from kgen.spec.formula import FLOATS, INTEGERS, Formula, Shape
from kgen.spec.members import Member, Members, OptionalMember
from kgen_runtime.dtypes import DType, DTypeLike, computed_in
from kgen_runtime.values import frozen


@frozen
class Elementwise(Formula):
    """out = expression, element by element; outputs have the shape that all inputs broadcast to.

    `dtypes` are those of the inputs, in the order in which the expression names them, where they
    differ; then `dtype` is the widest of them.
    """

    op: ClassVar[str] = "elementwise"
    kind: ClassVar[str] = "element-wise"
    in_dtypes: ClassVar[tuple[DType, ...]] = (DType.F64, *FLOATS, *INTEGERS)
    out_dtypes: ClassVar[tuple[DType, ...]] = (DType.F64, *FLOATS, *INTEGERS)
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    dtypes: Members[DType, DTypeLike] = Members(DType)
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)

    def __post_init__(self) -> None:
        if self.dtypes:
            if len(self.dtypes) not in (1, len(self.inputs)):
                raise SpecError(
                    f"{len(self.dtypes)} dtypes for the inputs {', '.join(self.inputs)} of "
                    f"{self.expression!r}; give one for each, or one for all"
                )
            # Names of dtypes go from the widest to the narrowest.
            object.__setattr__(self, "dtype", min(self.dtypes, key=list(DType).index))
            if len(set(self.dtypes)) == 1:
                object.__setattr__(self, "dtypes", ())
        super().__post_init__()

    def output_shape(self, name: str) -> Shape:
        return self.domain

    @property
    def input_dtypes(self) -> tuple[DType, ...]:
        return self.dtypes or super().input_dtypes

    @property
    def needed_dtypes(self) -> tuple[DType, ...]:
        return (*self.input_dtypes, self.out)

    @property
    def default_out(self) -> DType:
        truths = all(calls.truth for calls in self.formula_calls)
        return DType.BOOL if truths else self.dtype

    @property
    def compute(self) -> DType:
        """The type that the expression is computed in."""
        return computed_in(self.input_dtypes, self.out)

    @cached_property
    def result_calls(self) -> tuple[Expression, ...]:
        """The outputs' expressions in calls, of bool whether they are not zero."""
        if self.out is not DType.BOOL:
            return self.formula_calls
        return tuple(
            calls if calls.truth else call_of("not_equal", calls, constant(0.0))
            for calls in self.formula_calls
        )

    def primitives(self, native: Container[str] = ()) -> tuple[Expression, ...]:
        whole = self.compute.is_integer
        return tuple(expand(calls, native, whole=whole) for calls in self.result_calls)

    def _check_expression(self) -> None:
        compute = self.compute
        for unfit in (beyond(calls, compute) for calls in self.formula_calls):
            if unfit is not None:
                raise SpecError(
                    f"{unfit} is not for {compute}, which {self.expression!r} is computed in; "
                    "leave it out, or give inputs and output of f32"
                )
        if compute.is_integer:
            assert compute.limits is not None
            least, largest = compute.limits
            for step in steps(*self.primitives()):
                if not least <= step.number <= largest:
                    raise SpecError(
                        f"{step} in {self.expression!r} is beyond {compute}, which it is computed "
                        f"in; take a number from {least} to {largest}"
                    )
        super()._check_expression()

    @property
    def widest_itemsize(self) -> int:
        """Bytes of the widest element of its tensors."""
        return max(p.dtype.itemsize for p in self.parameters)

    @property
    def has_exact_steps(self) -> bool:
        """Nothing is rounded but, where it is another type, the output."""
        return self.is_exact or self.compute.is_integer

    @cached_property
    def is_exact(self) -> bool:
        """Inputs and outputs are of one floating-point type, in which nothing has to be rounded."""
        one_type = self.out is self.dtype and self.dtype in FLOATS and not self.dtypes
        return one_type and all(is_exact(calls, self.dtype) for calls in self.formula_calls)
