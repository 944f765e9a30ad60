"""Base of the specs that are an expression of the scalar language over broadcast tensors."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import ClassVar, Literal, TypeVar

from kgen.errors import SpecError, Unfit
from kgen.ops import (
    COORDINATES,
    OUT,
    Expression,
    RowFacts,
    beyond,
    canonical,
    expand,
    formulas,
    functions,
    parse,
    steps,
)
from kgen.ops.expression import constant, infix, inputs
from kgen.ops.parse import refuse_name
from kgen.ops.registry import call_of, function_name
from kgen.spec.keys import words_of
from kgen.spec.numbers import check_numbers
from kgen.spec.shapes import MAX_RANK, Shape, broadcast, by_x, packed
from kgen.spec.spec import MAX_BYTES, Spec, whole_each
from kgen_runtime.dtypes import DType, computed_in
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

FLOATS = (DType.F32, DType.F16, DType.BF16)
INTEGERS = (DType.S64, DType.S32, DType.S8, DType.U8, DType.BOOL)
#: Dtypes of inputs and outputs.
TYPES = (DType.F64, *FLOATS, *INTEGERS)

#: Functions that have specs and kernels of their own instead of being expressions.
OWN_KERNELS: frozenset[str] = frozenset()


@frozen
class Formula(Spec):
    """Operation given by the expressions of its outputs; inputs are packed and broadcast.

    `h = x + residual; out = rms_norm(h, w)` has two outputs. A name stands for the value in the
    compute type, not for the value rounded to the output's dtype.

    - `shapes` are those of the inputs, in order of their first use in the expression. A single
      shape is that of all inputs.
    - `dtypes` are those of the inputs, in the same order, if they differ; `dtype` is then the
      widest of them.
    - `out_dtypes` are those that the outputs are rounded to, if they differ; `out_dtype` is then
      the widest of them.

    Raises SpecError for an invalid expression, and for shapes or dtypes that do not fit it.
    """

    #: Kind of operation, for error messages.
    kind: ClassVar[str]
    #: Names in the expression that are coordinates and not inputs.
    coordinates: ClassVar[frozenset[str]] = frozenset()
    expression: str
    shapes: tuple[Shape, ...]

    # The fields of every formula follow as properties, because type checkers allow assignment to an
    # inherited descriptor only.

    @property
    @abstractmethod
    def dtypes(self) -> tuple[DType, ...]:
        """Dtype of each input; empty if all inputs share one."""

    @property
    @abstractmethod
    def out_dtype(self) -> DType | None:
        """The output's dtype, or the widest of several; the constructor fills it in."""

    @property
    @abstractmethod
    def out_dtypes(self) -> tuple[DType, ...]:
        """Dtype of each output; empty if all outputs share one."""

    def __post_init__(self) -> None:
        written = self.expression
        try:
            self._check()
        except Unfit as error:
            refuse_name(written, "expression", error.word, str(error))

    def _check(self) -> None:
        self._take_dtypes()
        self._take_out_dtypes()
        for dtype in (*self.input_dtypes, *self.output_dtypes):
            if dtype not in TYPES:
                raise SpecError(
                    f"dtype={dtype} is not supported by {self.kind} operations; take one of "
                    f"{', '.join(TYPES)}"
                )
        object.__setattr__(self, "expression", canonical(formulas(self.expression)))
        if not self.inputs:
            raise SpecError(f"expression={self.expression!r} reads no input; use one such as x")
        reserved = {OUT, *self.outputs, *COORDINATES}
        for name in self.inputs:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in reserved:
                raise Unfit(
                    name,
                    f"input {name!r} is not a valid input name; use small letters, digits and _, "
                    f"and none of {', '.join(sorted(reserved))}",
                )
        for name, calls in self.formulas.items():
            if not set(self.inputs).intersection(inputs(calls)):
                raise SpecError(
                    f"output {name} of {self.expression!r} depends on no input; use an input in it"
                )
        shapes = tuple(self._sizes(shape) for shape in self.shapes)
        if len(shapes) == 1:
            shapes *= len(self.inputs)
        if len(shapes) != len(self.inputs):
            raise SpecError(
                f"{len(shapes)} shapes for the inputs {', '.join(self.inputs)} of "
                f"{self.expression!r}; give one for each, or one for all"
            )
        object.__setattr__(self, "shapes", shapes)
        self.domain  # noqa: B018 - raises SpecError for shapes that do not broadcast
        self._check_expression()
        self._check_sizes()

    def _take_dtypes(self) -> None:
        """Set `dtype` and `dtypes` from the arguments. Raises SpecError for a wrong count."""
        if not self.dtypes:
            return
        self._take_each("dtypes", self._each("dtypes", "inputs", self.inputs))
        found = self.value_dtypes
        object.__setattr__(self, "dtype", widest(found))
        if len(set(found)) == 1:
            object.__setattr__(self, "dtypes", ())

    def _take_out_dtypes(self) -> None:
        """Set `out_dtype` and `out_dtypes` from the arguments; each output has a default."""
        found = tuple(map(self.default_out, self.formula_calls))
        if self.out_dtypes:
            found = self._each("out_dtypes", "outputs", self.outputs)
        elif self.out_dtype is not None:
            found = (self.out_dtype,) * len(self.outputs)
        object.__setattr__(self, "out_dtype", widest(found))
        self._take_each("out_dtypes", found if len(set(found)) > 1 else ())

    def _take_each(self, field: str, dtypes: tuple[DType, ...]) -> None:
        object.__setattr__(self, field, dtypes)

    def _each(self, field: str, of: str, names: tuple[str, ...]) -> tuple[DType, ...]:
        """Return a field's dtype for each tensor; one dtype stands for all."""
        given: tuple[DType, ...] = getattr(self, field)
        if len(given) not in (1, len(names)):
            raise SpecError(
                f"{len(given)} {field} for the {of} {', '.join(names)} of {self.expression!r}; "
                "give one for each, or one for all"
            )
        return given * (len(names) // len(given))

    def _check_expression(self) -> None:
        """Raise SpecError for an expression that cannot be computed in the compute type."""
        compute = self.compute
        for unfit in (beyond(calls, compute, self.row) for calls in self.calls):
            if unfit is not None:
                raise Unfit(
                    unfit,
                    f"{unfit} cannot be computed in {compute}, the type of this kernel; leave it "
                    "out, or give inputs and output of f32",
                )
        check_numbers(compute, *self.primitives())

    @property
    def row(self) -> RowFacts | None:
        """Facts on the row for row-wise functions; None for element-wise operations."""
        return None

    def primitives(self, native: frozenset[str] = frozenset()) -> tuple[Expression, ...]:
        """Return the outputs' expressions in primitives and calls of functions in `native`."""
        compute = self.compute
        return tuple(
            expand(calls, native, self.row, compute=compute) for calls in self.result_calls
        )

    @property
    def has_exact_steps(self) -> bool:
        """Whether all steps are exact: only the conversion to the output's dtype may round."""
        return self.compute.is_integer

    def _sizes(self, shape: Iterable[int]) -> Shape:
        if isinstance(shape, int | str):
            raise SpecError(f"shape={shape!r} is not a tuple of sizes; give shapes=[(1024,)]")
        sizes = whole_each("shape", shape, 1, MAX_BYTES)
        if not 1 <= len(sizes) <= MAX_RANK:
            raise SpecError(
                f"shape={by_x(sizes)} has {len(sizes)} dimensions; give 1 to {MAX_RANK}"
            )
        return sizes

    @property
    def out(self) -> DType:
        """The output's dtype, always set; the widest of several."""
        assert self.out_dtype is not None
        return self.out_dtype

    @cached_property
    def formulas(self) -> Mapping[str, Expression]:
        """The outputs' expressions by name, in calls of functions."""
        return formulas(self.expression)

    @property
    def formula_calls(self) -> tuple[Expression, ...]:
        return tuple(self.formulas.values())

    @property
    def calls(self) -> tuple[Expression, ...]:
        """The outputs' expressions in calls, over the elements that kernels read."""
        return self.formula_calls

    @cached_property
    def result_calls(self) -> tuple[Expression, ...]:
        """The expressions of `calls`, with `!= 0` applied to outputs of bool."""
        return tuple(
            call_of("not_equal", calls, constant(0.0))
            if dtype is DType.BOOL and not calls.truth
            else calls
            for calls, dtype in zip(self.calls, self.output_dtypes, strict=True)
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in the order of their expressions."""
        return tuple(self.formulas)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in order of their first use in the expression."""
        return tuple(n for n in inputs(*self.formula_calls) if n not in self.coordinates)

    @abstractmethod
    def output_shape(self, name: str) -> Shape:
        """Return an output's shape."""

    @property
    def input_dtypes(self) -> tuple[DType, ...]:
        return self.dtypes or (self.dtype,) * len(self.inputs)

    @property
    def value_dtypes(self) -> tuple[DType, ...]:
        """Dtype of each input that is a value of the expression, not an index."""
        return self.input_dtypes

    @property
    def output_dtypes(self) -> tuple[DType, ...]:
        return self.out_dtypes or (self.out,) * len(self.outputs)

    @property
    def needed_dtypes(self) -> tuple[DType, ...]:
        return (*self.value_dtypes, *self.output_dtypes)

    @property
    def widest_itemsize(self) -> int:
        """Bytes of the widest element of all tensors, indices excluded."""
        return max(dtype.itemsize for dtype in self.needed_dtypes)

    def default_out(self, calls: Expression) -> DType:
        """Return the dtype of an output for which none is given."""
        return DType.BOOL if calls.truth else self.dtype

    @property
    def compute(self) -> DType:
        """Type in which the expression is computed."""
        return computed_in(self.value_dtypes, self.output_dtypes)

    @cached_property
    def _dtype_of(self) -> Mapping[str, DType]:
        names = (*self.inputs, *self.outputs)
        return dict(zip(names, (*self.input_dtypes, *self.output_dtypes), strict=True))

    def dtype_of(self, name: str) -> DType:
        """Return a tensor's dtype."""
        return self._dtype_of[name]

    @cached_property
    def domain(self) -> Shape:
        """The shape that the inputs broadcast to."""
        return broadcast(
            (name, name, shape) for name, shape in zip(self.inputs, self.shapes, strict=True)
        )

    @property
    def elements(self) -> int:
        return math.prod(self.domain)

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        return (
            *(
                TensorParam(
                    name=name, role="input", dtype=dtype, shape=shape, strides=packed(shape)
                )
                for name, shape, dtype in zip(
                    self.inputs, self.shapes, self.input_dtypes, strict=True
                )
            ),
            *(
                TensorParam(
                    name=name, role="output", dtype=dtype, shape=shape, strides=packed(shape)
                )
                for name, shape, dtype in zip(
                    self.outputs,
                    map(self.output_shape, self.outputs),
                    self.output_dtypes,
                    strict=True,
                )
            ),
        )

    def broadcast_strides(self, name: str) -> Shape:
        """Return an input's strides in the dimensions of the domain; 0 where it broadcasts."""
        shape = dict(zip(self.inputs, self.shapes, strict=True))[name]
        strides = tuple(0 if n == 1 else s for n, s in zip(shape, packed(shape), strict=True))
        return (0,) * (len(self.domain) - len(shape)) + strides

    @property
    def text(self) -> str:
        """Shortest name of the operation that :func:`expression_of` accepts."""
        name = self.formula_calls[0].name
        if name in functions() and expression_of(name) == self.expression:
            return name
        return self.expression.replace(" ", "")

    @property
    def call_name(self) -> str:
        """Function's name if the expression is one call on its inputs, else the operation's."""
        calls = self.formula_calls[0]
        function = functions().get(calls.name)
        if function is None or not calls.arguments or self.outputs != (OUT,):
            return self.op
        defaults = (None,) * function.fewest + function.defaults
        plain = all(
            a.primitive == "input" or a.number == default
            for a, default in zip(calls.arguments, defaults, strict=True)
        )
        return calls.name if plain else self.op

    @property
    def formula(self) -> str:
        names: dict[Expression, str] = {}
        words = []
        for name, calls in self.formulas.items():
            words.append(f"{name} = {infix(calls, 0, names)}")
            if calls.arguments:
                names.setdefault(calls, name)
        return "; ".join(words)

    @property
    def flops(self) -> int:
        """Primitives of the expansion for each element; every primitive counts as one operation."""
        computed = [s for s in steps(*self.primitives()) if s.arguments]
        return self.elements * max(1, len(computed))

    @property
    def key(self) -> str:
        function = functions().get(self.call_name)
        outs = self.out_dtypes or (self.out,)
        suffix = "" if set(outs) == {self.dtype} else f"_to_{'_'.join(outs)}"
        if function is not None and self.inputs == function.parameters[: len(self.inputs)]:
            shapes = self.shapes if len(set(self.shapes)) > 1 else self.shapes[:1]
            sizes = "_".join(map(by_x, shapes))
            return f"{self.call_name}_{sizes}{self.key_of_axes}_{self.dtype_words('_')}{suffix}"
        name = f"{words_of(*self.formula_calls)}_{by_x(self.domain)}"
        return f"{name}{self.key_of_axes}_{self.dtype}{suffix}"

    def dtype_words(self, between: str) -> str:
        """Return the inputs' dtypes joined by `between`, or the one that all share."""
        dtypes = self.input_dtypes
        return between.join(dtypes if len(set(dtypes)) > 1 else dtypes[:1])

    @property
    def key_of_axes(self) -> str:
        """Part of the key that names the reduced axes."""
        return ""


def expression_of(op: str) -> str | None:
    """Return the expression that an operation's name stands for.

    The name of a function stands for a call on its inputs, and the text of an expression for
    itself. None for other names, and for functions that have specs of their own.
    """
    op = function_name(op)
    if op in functions() and op not in OWN_KERNELS:
        function = functions()[op]
        inputs = function.parameters[: function.fewest]
        return str(parse(f"{op}({', '.join(inputs)})"))
    return None if re.fullmatch(r"\w*", op) else op


def widest(dtypes: Iterable[DType]) -> DType:
    """Return the widest dtype; DType lists its members from the widest to the narrowest."""
    return min(dtypes, key=list(DType).index)


T = TypeVar("T")


def by_name(
    what: str, expression: str, given: Mapping[str, T], of: Literal["input", "output"] = "input"
) -> tuple[T, ...]:
    """Return values by name as a tuple, in the expression's order of inputs or outputs.

    Raises SpecError for an unknown or missing name.
    """
    found = formulas(expression)
    of_inputs = [name for name in inputs(*found.values()) if name not in COORDINATES]
    names = of_inputs if of == "input" else list(found)
    for name in given:
        if name not in names:
            raise SpecError(
                f"{what} {name}=: {name} is not an {of} of {expression!r}; give {', '.join(names)}"
            )
    for name in names:
        if name not in given:
            raise SpecError(f"{of} {name} of {expression!r} has no {what}; give {name}=...")
    return tuple(given[name] for name in names)
