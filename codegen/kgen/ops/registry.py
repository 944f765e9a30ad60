"""Registry of functions: the expansion of each, and its accuracy.

:mod:`kgen.ops.functions` has the functions of elements, :mod:`kgen.ops.rows` those of rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from kgen.errors import SpecError
from kgen.ops.expression import Expression, Number, as_node, call, constant
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: Scale of an error: the result, the largest argument or result, or the larger of 1 and the result.
Scale = Literal["result", "argument", "one"]


@frozen
class Accuracy:
    """Bound on the error of an expansion with exact arguments.

    The error is at most ((roundings + growth |x|) u + (transcendental + amplified |x|) f) s. u is
    the unit roundoff of the compute type, f the target's function_error, s the quantity that
    `scale` names, and |x| the largest argument, or the `measure` of the arguments. Any subnormal
    may be flushed to zero.

    - `holds` is the condition on arguments under which the bound is valid; None for all. It takes
      numbers or arrays.
    - `steady` is the condition for arguments that have errors themselves.
    - `slope` is for discontinuous functions: it multiplies an argument's error, which adds to the
      distance between the function's values at both ends of the interval.
    - `ulps` is the error in f64 in units in the last place of the result, or of the larger of
      result and argument, as `ulps_of` says; 0 for functions without a bound of their own.
    """

    roundings: float = 0.0
    growth: float = 0.0
    transcendental: float = 0.0
    amplified: float = 0.0
    measure: Callable[..., Any] | None = None
    scale: Scale = "result"
    holds: Callable[..., Any] | None = None
    steady: Callable[..., Any] | None = None
    slope: float = 0.0
    ulps: int = 0
    ulps_of: Literal["result", "argument"] = "result"


EXACT = Accuracy()


@frozen
class ScalarFunction:
    """Function of the scalar language, by name.

    `parameters` are its arguments' names; the last ones may have `defaults`. `truths` names the
    arguments that are truth values; `truth`: the result is a truth value. `rowwise`: the function
    depends on whole rows, and its expansion takes :class:`kgen.ops.rows.RowFacts` first; `reduces`:
    the result is one number per row. `whole` and `double` are the expansions in integers and in f64
    if they differ from `expand`.
    """

    name: str
    expand: Callable[..., Expression]
    accuracy: Accuracy
    parameters: tuple[str, ...]
    defaults: tuple[float, ...] = ()
    truths: frozenset[str] = frozenset()
    truth: bool = False
    rowwise: bool = False
    reduces: bool = False
    whole: Callable[..., Expression] | None = None
    double: Callable[..., Expression] | None = None

    def expansion(self, compute: DType) -> Callable[..., Expression]:
        """Return the expansion of the function for a compute type."""
        own = {DType.F64: self.double}.get(compute, self.whole if compute.is_integer else None)
        return own or self.expand

    @property
    def fewest(self) -> int:
        """Number of arguments without a default."""
        return len(self.parameters) - len(self.defaults)

    @property
    def is_of_one(self) -> bool:
        """Whether the function maps one number to one number, element by element."""
        return self.fewest == 1 and not (self.rowwise or self.truth or self.truths)

    def complete(self, arguments: Sequence[Expression]) -> tuple[Expression, ...]:
        """Return the arguments, with defaults for those that are missing."""
        missing = len(self.parameters) - len(arguments)
        defaults = self.defaults[len(self.defaults) - missing :] if missing else ()
        return (*arguments, *map(constant, defaults))


_FUNCTIONS: dict[str, ScalarFunction] = {}
#: Aliases of functions, which specs and manifests never contain.
ALIASES = {"swish": "silu"}


def functions() -> Mapping[str, ScalarFunction]:
    return _FUNCTIONS


def function_name(name: str) -> str:
    """Return the name under which a function is registered; any other name unchanged."""
    return ALIASES.get(name, name)


def call_of(name: str, *arguments: Expression) -> Expression:
    """Return a function's call, with its defaults."""
    function = functions()[name]
    return call(name, function.complete(arguments), function.truth)


def register(function: ScalarFunction) -> None:
    """Add a function. Raises SpecError if it exists.

    Its definition belongs in `kgen_runtime.expressions.definitions`.
    """
    if function.name in _FUNCTIONS:
        raise SpecError(f"function {function.name} exists; choose another name")
    _FUNCTIONS[function.name] = function


def function(
    accuracy: Accuracy = EXACT,
    *,
    truths: str = "",
    truth: bool = False,
    whole: Callable[..., Expression] | None = None,
    double: Callable[..., Expression] | None = None,
) -> Callable[[Callable[..., Expression]], Callable[..., Expression]]:
    """Register the decorated function under its own name, less a final underscore.

    The Python name then makes a call of the function, which each type expands in its own way.
    """

    def add(expand: Callable[..., Expression]) -> Callable[..., Expression]:
        name = expand.__name__.rstrip("_")

        def called(*arguments: Number) -> Expression:
            return call_of(name, *map(as_node, arguments))

        parameters = inspect.signature(expand).parameters
        given = [p.default for p in parameters.values() if p.default is not p.empty]
        register(
            ScalarFunction(
                name=name,
                expand=expand,
                accuracy=accuracy,
                parameters=tuple(parameters),
                defaults=tuple(map(float, given)),
                truths=frozenset(truths.split()),
                truth=truth,
                whole=whole,
                double=double,
            )
        )
        return called

    return add
