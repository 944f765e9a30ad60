"""Prepared call: a kernel with fixed, checked arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from kgen_runtime.uncopied import Uncopied

if TYPE_CHECKING:
    from kgen_runtime.calls.loaded import LoadedKernel
    from kgen_runtime.errors import DeviceError


class Closable(Protocol):
    """Kernel whose bundle may be closed."""

    _loaded: LoadedKernel | None

    def _closed_error(self) -> DeviceError: ...


R = TypeVar("R")


class Call(Uncopied, Generic[R]):
    """Kernel with fixed arguments that can be run many times; `out` is its output."""

    __slots__ = ("_keep", "_kernel", "_launch", "out")

    def __init__(
        self, kernel: Closable, launch: Callable[[], None], out: R, keep: list[object]
    ) -> None:
        self._kernel, self._launch, self._keep = kernel, launch, keep
        self.out = out

    def __call__(self) -> R:
        """Run the kernel and return `out`. Raises DeviceError if the bundle is closed."""
        # The reference keeps the code until the call is done, if another thread closes the bundle.
        loaded = self._kernel._loaded
        if loaded is None:
            raise self._kernel._closed_error()
        self._launch()
        return self.out

    def __repr__(self) -> str:
        return f"<Call of {self._kernel!r}>"
