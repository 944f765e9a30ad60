"""Signatures of calls for type checkers: numpy arrays in and out, arrays of a device, or `out`.

The result of arrays of another library is Any.

A method of a kernel or of several looks the same to its caller; decorated with `run`, `prepare` or
`pack` it has that signature. The decorators give back what they are given.
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
    """Array of any library that speaks DLPack."""

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
    """Checks a call once, to be run again and again."""

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
    """Puts a constant operand in order, in memory of the same kind."""

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
