"""A model as calls of kernels, and the buffers that they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kgen.graph.reading.model import Array
from kgen.spec import Spec
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen


@frozen
class CallBuffer:
    """Memory of `elements` elements: an input, a constant, or the output of a call."""

    id: str
    dtype: DType
    elements: int


@frozen
class Binding:
    """The buffer of a kernel's tensor, and how many elements behind its start it lies."""

    buffer: str
    offset: int = 0


@frozen
class KernelCall:
    """Kernel with the buffers of its parameters; `writes` are the buffers of its outputs."""

    spec: Spec
    bindings: Mapping[str, Binding]
    writes: tuple[str, ...]
    nodes: tuple[str, ...]

    @property
    def writes_behind_start(self) -> bool:
        """Whether an output begins behind the first element of its buffer, as parts do."""
        return any(b.offset for b in self.bindings.values() if b.buffer in self.writes)


@frozen
class Lowered:
    """Calls in order, and all buffers. `inputs` and `constants` are the sources among them, with
    constants' elements; `outputs` have the buffers of the model's outputs."""

    calls: tuple[KernelCall, ...]
    buffers: Mapping[str, CallBuffer]
    inputs: Mapping[str, str]
    constants: Mapping[str, Array]
    outputs: Mapping[str, str]
    #: Outputs by the inputs in whose place they are written, for the next run.
    states: Mapping[str, str] = field(default_factory=dict)
    #: Buffers by those that have to lie in their memory.
    within: Mapping[str, str] = field(default_factory=dict)

    def memory_of(self, buffer: str) -> str:
        """The buffer in whose memory one lies."""
        while buffer in self.within:
            buffer = self.within[buffer]
        return buffer


def nodes_shown(nodes: Sequence[str]) -> str:
    """Names of the nodes that a kernel computes, for an error about the kernel."""
    more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
    return f" (node {', '.join(nodes[:3])}{more})"
