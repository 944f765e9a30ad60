"""Formulas of what another kernel writes become further outputs of that kernel.

A result that several kernels need is in memory, and what is computed of it element by element, such
as its numbers in 16 bits for the next product, would be a kernel that reads it again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence

from kgen.graph.fusing.limits import is_too_long
from kgen.graph.lowering.calls import Binding, KernelCall, Lowered
from kgen.ops.expression import Expression, substituted
from kgen.ops.parse import canonical
from kgen.ops.views import has_views
from kgen.spec import Elementwise, Rowwise
from kgen_runtime.dtypes import DType

#: What further outputs are called.
NAME = "also"
MOST_OUTPUTS = 4


def with_further_outputs(lowered: Lowered, apart: Collection[str] = ()) -> Lowered:
    """The calls with as few kernels as have all outputs; what writes the buffers `apart` stays as
    it is."""
    calls: list[KernelCall] = []
    #: Numbers of the calls by the buffers that they write.
    writers: dict[str, int] = {}
    kept = frozenset(apart)
    for call in lowered.calls:
        number = None if kept.intersection(call.writes) else _maker(calls, writers, call)
        if number is None or kept.intersection(calls[number].writes):
            number = len(calls)
            calls.append(call)
        else:
            calls[number] = _with_output(calls[number], call)
        writers.update(dict.fromkeys(call.writes, number))
    return dataclasses.replace(lowered, calls=tuple(calls))


def _maker(calls: Sequence[KernelCall], writers: Mapping[str, int], call: KernelCall) -> int | None:
    """The number of the call whose result is all that a formula takes, as it is computed."""
    spec, bound = call.spec, {b for name, b in call.bindings.items() if name != "out"}
    if not isinstance(spec, Elementwise) or len(bound) > 1 or has_views(*spec.formula_calls):
        return None
    (read,) = bound
    number = writers.get(read.buffer)
    if number is None or read.offset:
        return None
    first = calls[number].spec
    if not isinstance(first, Elementwise | Rowwise) or len(first.outputs) == MOST_OUTPUTS:
        return None
    if first.scatter is not None:
        return None
    name = next(n for n, b in calls[number].bindings.items() if b == read)
    # A name stands for the value as it is computed: it is read so only where nothing was rounded.
    fits = first.dtype_of(name) is first.compute is spec.compute is DType.F32
    whole = first.output_shape(name)
    others = (first.output_shape(n) for n in first.outputs)
    sizes = math.prod(whole) == spec.elements and all(other == whole for other in others)
    if not fits or not sizes or is_too_long(_formula_of(calls[number], call)):
        return None
    return number


def _formula_of(made: KernelCall, call: KernelCall) -> Expression:
    """The formula of a call in what the call that makes its operand takes."""
    first, second = made.spec, call.spec
    assert isinstance(first, Elementwise | Rowwise) and isinstance(second, Elementwise)
    (read,) = {b for name, b in call.bindings.items() if name != "out"}
    value = first.formulas[next(n for n, b in made.bindings.items() if b == read)]
    return substituted(second.formula_calls[0], dict.fromkeys(second.inputs, value))


def _with_output(made: KernelCall, call: KernelCall) -> KernelCall:
    """The call that makes a result, with what another makes of it."""
    first, second = made.spec, call.spec
    assert isinstance(first, Elementwise | Rowwise) and isinstance(second, Elementwise)
    of = _formula_of(made, call)
    count = len(first.outputs)
    name = f"{NAME}{count if count > 1 else ''}"
    formulas: dict[str, Expression] = {**first.formulas, name: of}
    spec = dataclasses.replace(
        first,
        expression=canonical(formulas),
        out_dtype=None,
        out_dtypes=(*first.output_dtypes, second.output_dtypes[0]),
    )
    return KernelCall(
        spec=spec,
        bindings={**made.bindings, name: Binding(buffer=call.writes[0])},
        writes=(*made.writes, *call.writes),
        nodes=tuple(dict.fromkeys(made.nodes + call.nodes)),
    )
