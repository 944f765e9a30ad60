"""Check of attention's page table before a call: kernels clamp a number that is no page.

A kernel would read another page then, and the result would be wrong without an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgen_runtime.errors import ArgumentError
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen


@frozen
class PageTable:
    """Pools of `pages` pages of `page_size` keys; a batch element has up to `keys` keys."""

    kernel: str
    pages: int
    page_size: int
    keys: int

    @classmethod
    def of(cls, entry: KernelEntry) -> PageTable | None:
        """Return the table of a kernel; None if it reads no pages."""
        spec = entry.spec
        if spec.get("op") != "attention" or spec.get("page_size") is None:
            return None
        return cls(
            kernel=entry.key, pages=spec["pages"], page_size=spec["page_size"], keys=spec["k"][2]
        )

    def check(self, lengths: np.ndarray[Any, Any], table: np.ndarray[Any, Any]) -> None:
        """Raise ArgumentError if a page with a valid key is not in the pools."""
        counts = np.clip(lengths, 0, self.keys)
        used = np.arange(table.shape[1]) * self.page_size < counts[:, np.newaxis]
        wrong = used & ((table < 0) | (table >= self.pages))
        if wrong.any():
            batch, column = np.argwhere(wrong)[0]
            page = table[batch, column]
            raise ArgumentError(
                f"{self.kernel}: page_table[{batch}, {column}]={page} is no page of k and v; give "
                f"0 to {self.pages - 1} for the keys before kv_length[{batch}]={lengths[batch]}"
            )
