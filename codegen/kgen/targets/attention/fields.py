"""Fields of an attention spec that kernels on matrix instructions support."""

from __future__ import annotations

import dataclasses
from collections.abc import Set

from kgen.errors import TargetError
from kgen.spec import Attention
from kgen.targets.base import Target

#: Supported fields; every other field must have its default.
ATTENTION_FIELDS = frozenset([
    "dtype", "q", "k", "v", "out_dtype", "layout", "kv_layout", "q_strides", "k_strides",
    "v_strides", "out_strides", "causal", "diagonal", "window", "mask", "mask_dtype", "mask_value",
    "empty_rows", "softcap", "scale", "v_scale", "kv_length", "lse",
    "page_size", "pages",
])  # fmt: skip


def refuse_other_fields(spec: Attention, target: Target, fields: Set[str]) -> None:
    """Raise TargetError if a field outside `fields` differs from its default."""
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        if field.name not in fields and value != field.default:
            raise TargetError(
                f"{field.name}={value} is not supported by {target.name} for attention; leave "
                "it out, or build for a CPU or Vulkan target"
            )
