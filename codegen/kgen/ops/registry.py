"""The registry of functions: what each is made of, and what a correct kernel may be off by.

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

#: What an error is relative to: the result, the largest argument or result, or 1 or the result.
Scale = Literal["result", "argument", "one"]


@frozen
class Accuracy:
    """A bound on the error of an expansion with exact arguments.

    It is `((roundings + growth |x|) u + (transcendental + amplified |x|) f) s`: u the unit roundoff
    of the type that is computed in, f the target's function_error, s what `scale` says, |x| the
    largest argument, or the `measure` of the arguments.
    Whatever underflows to a subnormal may be zero. `holds` says of which arguments all of this is
    promised, all of them where it is None; it takes numbers or arrays. `steady` is the condition
    for arguments that have an error themselves. `slope` is for a function that jumps: what an error
    of an argument adds to how far its ends are apart. In f64 the error is at most `ulps` units in
    the last place of the result, or of the larger of result and argument, as `ulps_of` says; 0 for
    functions without a bound of their own.
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
    the result is one number per row. `whole` and `double` are the expansions in integers and in
    f64 if they differ from `expand`.
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
        """Expansion of the function for a compute type."""
        own = {DType.F64: self.double}.get(compute, self.whole if compute.is_integer else None)
        return own or self.expand

    @property
    def fewest(self) -> int:
        """Arguments that have no default."""
        return len(self.parameters) - len(self.defaults)

    @property
    def is_of_one(self) -> bool:
        """Whether it maps one number to one number, element by element."""
        return self.fewest == 1 and not (self.rowwise or self.truth or self.truths)

    def complete(self, arguments: Sequence[Expression]) -> tuple[Expression, ...]:
        """The arguments with the defaults of those that are left out."""
        missing = len(self.parameters) - len(arguments)
        defaults = self.defaults[len(self.defaults) - missing :] if missing else ()
        return (*arguments, *map(constant, defaults))


_FUNCTIONS: dict[str, ScalarFunction] = {}
#: Other names of functions, which specs and manifests never hold.
ALIASES = {"swish": "silu"}


def functions() -> Mapping[str, ScalarFunction]:
    """Registered functions by name."""
    return _FUNCTIONS


def function_name(name: str) -> str:
    """The name under which a function is registered; any other name unchanged."""
    return ALIASES.get(name, name)


def call_of(name: str, *arguments: Expression) -> Expression:
    """A function's call, defaults put in."""
    function = functions()[name]
    return call(name, function.complete(arguments), function.truth)


def register(function: ScalarFunction) -> None:
    """Add a function; its definition goes to `kgen_runtime.expressions.definitions`. SpecError if
    it exists."""
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
    """Register what is decorated under its own name, less a final underscore. The Python name then
    makes a call of the function, which each type expands in its own way."""

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
