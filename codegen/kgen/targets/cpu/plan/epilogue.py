"""The epilogue's steps, with the names of the values that they pass on."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.spec import Matmul, Scale
from kgen_runtime.values import frozen

COMMENTS = {
    "alpha": "x * alpha",
    "scale_a": "x * scale of A",
    "scale_b": "x * scale of B",
    "scale_out": "x * scale of out",
    "beta": "x + beta * C",
    "bias": "x + bias",
    "relu": "max(x, 0), NaN stays NaN",
    "gelu": "x/2 (1 + erf(x / sqrt 2))",
    "gelu_tanh": "x/2 (1 + tanh u) = x / (1 + exp(-2u))",
    "silu": "x / (1 + exp(-x))",
    "residual": "x + residual",
}
#: Functions of which the family has a better form than the scalar language.
NATIVE = frozenset({"gelu", "gelu_tanh", "silu"})
#: Steps of an instruction or two.
IN_PLACE = frozenset({*COMMENTS}) - NATIVE
#: The tensor that a kind of step reads.
OPERANDS = {
    "beta": "c",
    "bias": "bias",
    "residual": "residual",
    **{scale: scale for scale in ("scale_a", "scale_b", "scale_out")},
}


@frozen
class Step:
    """Value `source` ("" for the sums) becomes `result`; `operand` is a tensor or ""."""

    kind: str
    source: str
    result: str
    operand: str

    @property
    def comment(self) -> str:
        return COMMENTS.get(self.kind, f"{self.kind}(x)")

    @property
    def is_call(self) -> bool:
        """Whether it is a function of the module."""
        return self.kind not in IN_PLACE

    @property
    def function(self) -> str:
        """The module's name for it, which is none of a primitive's that it may call."""
        return self.kind if self.kind in NATIVE else f"step_{self.kind}"


def epilogue_steps(spec: Matmul) -> tuple[Step, ...]:
    """From the sums to what is stored."""
    kinds = ["alpha"] if spec.alpha != 1.0 else []
    kinds += [f"scale_{scale}" for scale in spec.scales if scale is not Scale.OUT]
    kinds += ["beta"] if spec.beta != 0.0 else []
    kinds += spec.epilogue
    kinds += ["scale_out"] if Scale.OUT in spec.scales else []
    steps, source = [], ""
    for i, kind in enumerate(kinds, 1):
        result = f"x{i}.{kind}"
        operand = OPERANDS.get(kind, "")
        steps.append(Step(kind=kind, source=source, result=result, operand=operand))
        source = result
    return tuple(steps)


def function_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Those that call a function, each function once."""
    return tuple({step.kind: step for step in steps if step.is_call}.values())
