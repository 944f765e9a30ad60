"""Winograd selection: choose it for each 3x3 convolution that the cost model predicts to be faster.

The constant weights of a chosen convolution are transformed at compile time.
"""

from __future__ import annotations

import dataclasses

from kgen.constants import ahead
from kgen.errors import SpecError
from kgen.graph.lowering.calls import Binding, CallBuffer, KernelCall, Lowered
from kgen.spec import Conv2d, ConvMath
from kgen.targets import family
from kgen.targets.base import Target
from kgen.targets.choose import measured
from kgen.targets.tuning.file import Tuning


def with_transformed_weights(
    lowered: Lowered, target: Target, tuning: Tuning | None = None
) -> Lowered:
    """Return the calls with the fastest predicted arithmetic for each convolution.

    The weights of each chosen convolution are transformed and added to the constants.
    """
    chosen: dict[Conv2d, Conv2d] = {}
    calls: list[KernelCall] = []
    buffers, constants = dict(lowered.buffers), dict(lowered.constants)
    held = sum(array.nbytes for array in constants.values())
    for call in lowered.calls:
        spec = call.spec
        if isinstance(spec, Conv2d) and spec not in chosen:
            chosen[spec] = fastest(spec, target, held, tuning)
        if not isinstance(spec, Conv2d) or chosen[spec] == spec:
            calls.append(call)
            continue
        weights, spec = call.bindings["b"].buffer, chosen[spec]
        name = f"{weights}:{spec.math}"
        if name not in constants:
            constants[name] = ahead(spec, constants[weights])
            buffers[name] = CallBuffer(id=name, dtype=spec.dtype, elements=constants[name].size)
        bindings = {**call.bindings, "b": Binding(buffer=name)}
        calls.append(dataclasses.replace(call, spec=spec, bindings=bindings))
    return dataclasses.replace(lowered, calls=tuple(calls), buffers=buffers, constants=constants)


def fastest(spec: Conv2d, target: Target, held: int = 0, tuning: Tuning | None = None) -> Conv2d:
    """Return the spec with the arithmetic of least predicted time on a target.

    `held` is the bytes of constants of the program. If a row of the tuning file gives the schedule,
    the predicted time is divided by the row's gain.
    """
    own = family(target.family)
    found = [spec]
    for math in ConvMath if own.has_winograd else ():
        try:
            found.append(dataclasses.replace(spec, math=math))
        except SpecError:
            continue
    if len(set(found)) == 1:
        return spec

    def seconds(each: Conv2d) -> float:
        predicted = own.predicted(each, target, own.choose(each, target), held)
        choice = measured(each, target, tuning)
        gain = choice.taken.row.gain if choice and choice.taken else None
        return float("inf") if predicted is None else predicted.seconds / (gain or 1.0)

    return min(found, key=seconds)
