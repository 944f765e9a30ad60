"""Buffers of attention, in the widest accesses that heads and strides allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgen.schedule import UnstagedAttention
from kgen.spec import Attention, DType
from kgen.targets.base import Target
from kgen.targets.vulkan.plan.matmul.matrix import widest
from kgen.targets.vulkan.plan.memory import Tensor, buffer_of


def attention_tensors(
    spec: Attention, target: Target, schedule: UnstagedAttention
) -> Iterator[Tensor]:
    """Yield the buffers: wide accesses of heads, single elements of the others."""
    whole = [width_of(spec, name, spec.head) for name in ("q", "k")]
    share = max(1, spec.out_head // schedule.lanes)
    parts = [width_of(spec, name, share) for name in ("v", "out")]
    widths = dict.fromkeys("qk", min(whole)) | dict.fromkeys(("v", "out"), min(parts))
    return buffers(spec, target, widths)


def buffers(spec: Attention, target: Target, widths: Mapping[str, int]) -> Iterator[Tensor]:
    """Yield the buffers. `widths` has the elements per access of some; others have 1."""
    for binding, p in enumerate(spec.parameters):
        scalar = "float" if p.dtype is DType.F32 and p.name != "mask" else ""
        yield buffer_of(p, binding, target, widths.get(p.name, 1), scalar)


def width_of(spec: Attention, name: str, most: int) -> int:
    """Return the most elements of a head, up to `most`, of an access to q, k, v or out."""
    p = spec.parameter(name)
    strides = (step for step, n in zip(p.strides, p.shape, strict=True) if n > 1 and step != 1)
    size = spec.out_head if name in ("v", "out") else spec.head
    return widest(p.dtype, (size, *strides), most)
