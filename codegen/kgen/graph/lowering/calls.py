"""Kernel calls, the lowered form of a model: kernels and the buffers that they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kgen.graph.reading.model import Array
from kgen.spec import Attention, Spec
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen


@frozen
class CallBuffer:
    """Buffer of `elements` elements: an input, a constant, or the output of a call."""

    id: str
    dtype: DType
    elements: int


@frozen
class Binding:
    """Buffer of a kernel's tensor, and the tensor's offset in it in elements."""

    buffer: str
    offset: int = 0


@frozen
class KernelCall:
    """Kernel spec with the buffers of its parameters; `writes` are the buffers of its outputs."""

    spec: Spec
    bindings: Mapping[str, Binding]
    writes: tuple[str, ...]
    nodes: tuple[str, ...]

    @property
    def writes_behind_start(self) -> bool:
        """Whether an output begins after the first element of its buffer (slices of a Concat)."""
        return any(b.offset for b in self.bindings.values() if b.buffer in self.writes)


@frozen
class AttentionChoice:
    """How attention is computed: by one kernel, or by the `steps` that write it out.

    `seconds` and `seconds_apart` are their predicted times; None where the target decides by a
    rule.
    """

    spec: Attention
    steps: tuple[Spec, ...]
    nodes: tuple[str, ...]
    is_one_kernel: bool
    seconds: float | None = None
    seconds_apart: float | None = None


@frozen
class Lowered:
    """Kernel calls in order, and all buffers.

    `inputs` and `outputs` map the model's names to buffers, `constants` map buffers to their
    elements.
    """

    calls: tuple[KernelCall, ...]
    buffers: Mapping[str, CallBuffer]
    inputs: Mapping[str, str]
    constants: Mapping[str, Array]
    outputs: Mapping[str, str]
    #: States: the name of the output by the name of the input whose memory it is written to.
    states: Mapping[str, str] = field(default_factory=dict)
    #: Buffers that lie in the memory of another buffer, by name.
    within: Mapping[str, str] = field(default_factory=dict)
    #: Attention that the model writes out, and how it is computed.
    choices: tuple[AttentionChoice, ...] = ()

    def memory_of(self, buffer: str) -> str:
        """Return the buffer in whose memory a buffer lies."""
        while buffer in self.within:
            buffer = self.within[buffer]
        return buffer


def nodes_shown(nodes: Sequence[str]) -> str:
    """Return the names of the nodes that a kernel computes, for an error message."""
    more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
    return f" (node {', '.join(nodes[:3])}{more})"
