"""What happens to the sums of a matmul before they are stored, as a chain of named values."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Literal

from kgen.ops.expression import variable
from kgen.ops.registry import call_of
from kgen.spec import Epilogue, Matmul
from kgen.targets.vulkan.expressions import SpirvRenderer
from kgen.targets.vulkan.plan.base import Tensor
from kgen_runtime.values import frozen


@frozen
class Step:
    """One value of the chain, for each output: `result` from `source`, both stems of ids.

    `scale` multiplies by alpha; `add_scaled` adds beta times the tensor; `add` adds a tensor at the
    output's place, `add_column` at its column; `call` applies the function `name`.
    """

    kind: Literal["scale", "add_scaled", "add", "add_column", "call"]
    name: str
    source: str
    result: str


def steps(spec: Matmul, source: str) -> tuple[Step, ...]:
    """alpha, beta C, and the epilogue in its order; `source` is the stem of the sums."""
    chain: list[Step] = []

    def then(kind: Literal["scale", "add_scaled", "add", "add_column", "call"], name: str) -> None:
        last = chain[-1].result if chain else source
        chain.append(Step(kind=kind, name=name, source=last, result=f"step{len(chain)}_{name}"))

    if spec.alpha != 1.0:
        then("scale", "alpha")
    if spec.beta != 0.0:
        then("add_scaled", "c")
    for step in spec.epilogue:
        if step == Epilogue.BIAS:
            then("add_column", "bias")
        elif step == Epilogue.RESIDUAL:
            then("add", "residual")
        else:
            then("call", step)
    return tuple(chain)


def functions(tensors: tuple[Tensor, ...], chain: tuple[Step, ...]) -> tuple[str, ...]:
    """The helper functions that the kernel calls, callees first."""
    names = [
        f"{'widen' if t.read_only else 'narrow'}_{t.dtype}" for t in tensors if t.scalar == "ushort"
    ]
    for step in chain:
        if step.kind == "call":
            names += [*SpirvRenderer().functions(call_of(step.name, variable("x"))), step.name]
    return tuple(dict.fromkeys(names))


def constants(spec: Matmul, chain: tuple[Step, ...]) -> Mapping[str, str]:
    """alpha and beta as f32 literals, which f32 holds, the spec has seen to that; and those of the
    functions."""
    found = {name: _literal(getattr(spec, name)) for name in ("alpha", "beta")}
    for step in chain:
        if step.kind == "call":
            found |= SpirvRenderer().constants(call_of(step.name, variable("x")))
    return found


def _literal(value: float) -> str:
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    return repr(rounded)
