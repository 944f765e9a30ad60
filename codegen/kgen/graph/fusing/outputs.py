"""Multi-output fusion: an element-wise formula of a kernel's result becomes another output of it.

Without this, a materialized result would be read again by a kernel of its own, for example to
convert it to 16 bits for the next product.
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

#: Name of the further outputs.
NAME = "also"
MOST_OUTPUTS = 4


def with_further_outputs(lowered: Lowered, apart: Collection[str] = ()) -> Lowered:
    """Return the calls with element-wise consumers merged into the kernels of their operands.

    Calls that write a buffer of `apart` stay as they are.
    """
    calls: list[KernelCall] = []
    #: Number of the call that writes each buffer.
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
    """Return the number of the call that can compute `call`'s formula as a further output, or None.

    Every operand of the formula must be that call's result, computed and read in f32 without
    rounding.
    """
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
    # The expression sees the value before it is stored, so the store must not round.
    fits = first.dtype_of(name) is first.compute is spec.compute is DType.F32
    whole = first.output_shape(name)
    others = (first.output_shape(n) for n in first.outputs)
    sizes = math.prod(whole) == spec.elements and all(other == whole for other in others)
    if not fits or not sizes or is_too_long(_formula_of(calls[number], call)):
        return None
    return number


def _formula_of(made: KernelCall, call: KernelCall) -> Expression:
    """Return the formula of `call` with its operand replaced by the formula that computes it."""
    first, second = made.spec, call.spec
    assert isinstance(first, Elementwise | Rowwise) and isinstance(second, Elementwise)
    (read,) = {b for name, b in call.bindings.items() if name != "out"}
    value = first.formulas[next(n for n, b in made.bindings.items() if b == read)]
    return substituted(second.formula_calls[0], dict.fromkeys(second.inputs, value))


def _with_output(made: KernelCall, call: KernelCall) -> KernelCall:
    """Return the call `made` with the formula of `call` as a further output."""
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
