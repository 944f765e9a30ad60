"""Check of attention's lengths and page tables, which kernels clamp: the result would be wrong
without an error."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kgen_runtime.errors import ArgumentError
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.program import Program
from kgen_runtime.values import frozen


@frozen
class AttentionLimits:
    """Limits of attention with lengths. A batch element has up to `keys` keys or, in pools of
    `pages` pages, `page_size` keys per page."""

    keys: int
    page_size: int | None
    pages: int | None

    @classmethod
    def of(cls, entry: KernelEntry) -> AttentionLimits | None:
        """Return the limits of a kernel; None if it has no lengths. Raises BundleError."""
        spec = entry.spec
        if spec.get("op") != "attention" or not spec.get("kv_length"):
            return None
        from kgen_runtime.schema.spec_tensors import check_spec

        check_spec(entry)
        return cls(keys=spec["k"][2], page_size=spec.get("page_size"), pages=spec.get("pages"))

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters of the kernel that are checked."""
        return ("kv_length",) if self.page_size is None else ("kv_length", "page_table")

    def check(
        self,
        who: str,
        name: str,
        lengths: np.ndarray[Any, Any],
        table: np.ndarray[Any, Any] | None = None,
    ) -> None:
        """Raise ArgumentError if a length, called `name`, exceeds the keys, or if a page with a
        valid key is not in the pools. `who` begins the message."""
        lengths = lengths.reshape(-1)
        if (lengths > self.keys).any():
            (batch,) = np.argwhere(lengths > self.keys)[0]
            raise ArgumentError(
                f"{who}: {name}[{batch}]={lengths[batch]} exceeds the {self.keys} keys of k and v; "
                f"give 0 to {self.keys}, or build it for more keys"
            )
        if table is None or self.page_size is None or self.pages is None:
            return
        table = table.reshape(lengths.size, -1)
        used = np.arange(table.shape[1]) * self.page_size < lengths[:, np.newaxis]
        wrong = used & ((table < 0) | (table >= self.pages))
        if wrong.any():
            batch, column = np.argwhere(wrong)[0]
            raise ArgumentError(
                f"{who}: page_table[{batch}, {column}]={table[batch, column]} is no page of k and "
                f"v; give 0 to {self.pages - 1} for the keys before kv_length[{batch}]="
                f"{lengths[batch]}"
            )


def limited_inputs(
    program: Program, kernels: Mapping[str, KernelEntry]
) -> Iterator[tuple[AttentionLimits, tuple[str, ...]]]:
    """Yield the limits of each step whose lengths are an input, and the names of its inputs that
    are checked; `kernels` are given by key."""
    for step in program.steps:
        limits = AttentionLimits.of(kernels[step.kernel])
        if limits is not None:
            places = [program.by_name[step.bindings[name]].place for name in limits.names]
            inputs = itertools.takewhile(lambda place: place.kind == "input", places)
            if names := tuple(place.name for place in inputs):
                yield limits, names
