"""Typed signatures of calls, for type checkers: numpy arrays, arrays of a device, or `out`.

Results for arrays of another library have type Any. The decorators `run`, `prepare` and `pack` give
a method of `Kernel` or `Dispatch` the respective signature and return it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import numpy.typing as npt

    from kgen_runtime.array import Array
    from kgen_runtime.calls.call import Call

    HostArray = npt.NDArray[Any]


class DlpackArray(Protocol):
    """Array of any library that supports DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


Out = TypeVar("Out", bound=DlpackArray)


class KernelCallable(Protocol):
    """Signature of a kernel's call, which returns the kernel's output."""

    @overload
    def __call__(
        self, /, *arguments: DlpackArray, out: Out, stream: int | None = None, **named: DlpackArray
    ) -> Out: ...

    @overload
    def __call__(
        self, /, *arguments: HostArray, out: None = None, stream: None = None, **named: HostArray
    ) -> HostArray: ...

    @overload
    def __call__(
        self, /, *arguments: Array, out: None = None, stream: int | None = None, **named: Array
    ) -> Array: ...

    @overload
    def __call__(
        self,
        /,
        *arguments: HostArray | Array,
        out: None = None,
        stream: int | None = None,
        **named: HostArray | Array,
    ) -> HostArray | Array: ...

    @overload
    def __call__(
        self,
        /,
        *arguments: DlpackArray,
        out: None = None,
        stream: int | None = None,
        **named: DlpackArray,
    ) -> Any: ...


class Prepare(Protocol):
    """Signature of `prepare`, which checks a call once and returns it for many runs."""

    @overload
    def __call__(
        self, /, *arguments: DlpackArray, out: Out, stream: int | None = None, **named: DlpackArray
    ) -> Call[Out]: ...

    @overload
    def __call__(
        self, /, *arguments: HostArray, out: None = None, stream: None = None, **named: HostArray
    ) -> Call[HostArray]: ...

    @overload
    def __call__(
        self, /, *arguments: Array, out: None = None, stream: int | None = None, **named: Array
    ) -> Call[Array]: ...

    @overload
    def __call__(
        self,
        /,
        *arguments: HostArray | Array,
        out: None = None,
        stream: int | None = None,
        **named: HostArray | Array,
    ) -> Call[HostArray | Array]: ...

    @overload
    def __call__(
        self,
        /,
        *arguments: DlpackArray,
        out: None = None,
        stream: int | None = None,
        **named: DlpackArray,
    ) -> Call[Any]: ...


class Pack(Protocol):
    """Signature of `pack`, which returns a constant operand in packed order, as an array of the
    same kind."""

    @overload
    def __call__(self, matrix: HostArray) -> HostArray: ...

    @overload
    def __call__(self, matrix: Array) -> Array: ...

    @overload
    def __call__(self, matrix: DlpackArray) -> HostArray | Array: ...


def run(method: Callable[..., Any]) -> KernelCallable:
    return method


def prepare(method: Callable[..., Any]) -> Prepare:
    return method


def pack(method: Callable[..., Any]) -> Pack:
    return method
