"""Dispatch of an operation's call to the one kernel that its arguments fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen_runtime.array import Array
from kgen_runtime.calls import signatures
from kgen_runtime.calls.address_finders import is_torch
from kgen_runtime.calls.named_arguments import in_order, suit
from kgen_runtime.errors import ArgumentError
from kgen_runtime.uncopied import Uncopied

if TYPE_CHECKING:
    from kgen_runtime.calls.call import Call
    from kgen_runtime.calls.kernel import Kernel


class Dispatch(Uncopied):
    """Kernels of one operation; a call runs the kernel that its arguments fit."""

    def __init__(self, op: str, kernels: Sequence[Kernel]) -> None:
        self._op = op
        self._kernels = tuple(kernels)
        #: Kernels by the shapes of their arguments, for shapes that only one kernel accepts.
        self._by_shapes = _unique(self._kernels)
        #: Cache: kernel by signature of arguments seen before; see `_signature`.
        self._seen: dict[tuple[object, ...], Kernel] = {}
        alike: dict[tuple[str, ...], list[Kernel]] = {}
        for kernel in self._kernels:
            alike.setdefault(kernel.argument_names, []).append(kernel)
        self._several = {n: Dispatch(op, those) for n, those in alike.items() if len(alike) > 1}

    def __repr__(self) -> str:
        return f"<{self._op}: {', '.join(kernel.key for kernel in self._kernels)}>"

    @signatures.run
    def __call__(
        self, /, *arguments: Any, out: Any = None, stream: int | None = None, **named: Any
    ) -> Any:
        """Call the one kernel that fits. Raises ArgumentError if none or several fit."""
        if named:
            kernel, arguments = self._fitting_named(arguments, named, out)
            return kernel.call(arguments, out, stream)
        return self._fitting(arguments, out).call(arguments, out, stream)

    @signatures.prepare
    def prepare(
        self, /, *arguments: Any, out: Any = None, stream: int | None = None, **named: Any
    ) -> Call[Any]:
        """Prepare a call of the one kernel that fits; see :meth:`Kernel.prepare`."""
        if named:
            kernel, arguments = self._fitting_named(arguments, named, out)
        else:
            kernel = self._fitting(arguments, out)
        return kernel.prepare(*arguments, out=out, stream=stream)

    @signatures.pack
    def pack(self, matrix: Any) -> Any:
        """Pack a matrix for all kernels that accept it. Raises ArgumentError if their packed orders
        differ.

        Kernels of one target that differ only in M or in the epilogue have the same order. On a GPU
        the matrix is returned unchanged.
        """
        able = [kernel.packed for kernel in self._kernels if kernel.packed is not None]
        fitting = [packed for packed in able if len(able) == 1 or packed.takes(matrix)]
        if not able and any(kernel.entry.constants for kernel in self._kernels):
            raise ArgumentError(
                f"{self._op}: the packed operand is stored in the bundle; leave it out of the call"
            )
        if not able and any(kernel.reads_unpacked for kernel in self._kernels):
            return matrix
        if not able:
            raise ArgumentError(
                f"{self._op}: no kernel here takes a packed operand; build one with --constant b"
            )
        if not fitting:
            raise ArgumentError(
                f"{self._op}: no kernel packs {able[0].describe(matrix)}; the bundle has "
                f"{self._keys}"
            )
        if len({packed.param for packed in fitting}) > 1:
            raise ArgumentError(
                f"{self._op}: several kernels pack this matrix, each in its own order; use "
                f"kernels[key].pack with one of {self._keys}"
            )
        return fitting[0].pack(matrix)

    @property
    def _by_names(self) -> Mapping[tuple[str, ...], Dispatch]:
        """Dispatchers of kernels with equal argument names in equal order."""
        return self._several or {self._kernels[0].argument_names: self}

    def _fitting_named(
        self, arguments: Sequence[Any], named: Mapping[str, Any], out: Any
    ) -> tuple[Kernel, tuple[Any, ...]]:
        """Return the one kernel that fits, and all arguments in its order."""
        if len(self._kernels) == 1:
            (kernel,) = self._kernels
            return kernel, kernel.ordered(arguments, named)
        orders = {n: d for n, d in self._by_names.items() if suit(n, arguments, named)}
        if not orders:
            raise ArgumentError(self._no_names(len(arguments), named))
        calls = [
            (alike, in_order(self._op, names, arguments, named)) for names, alike in orders.items()
        ]
        if len(calls) == 1:
            ((alike, ordered),) = calls
            return alike._fitting(ordered, out), ordered
        fitting = [
            (kernel, ordered)
            for alike, ordered in calls
            for kernel in alike._kernels
            if kernel.accepts(ordered, out)
        ]
        if len(fitting) != 1:
            raise ArgumentError(self._no_choice(calls[0][1], [kernel for kernel, _ in fitting]))
        return fitting[0]

    def _fitting(self, arguments: Sequence[Any], out: Any) -> Kernel:
        """Return the one kernel that fits. The kernel checks the arguments again."""
        if len(self._kernels) == 1:
            return self._kernels[0]
        try:
            return self._by_shapes[tuple([value.shape for value in arguments])]
        except (AttributeError, KeyError, RuntimeError, TypeError):
            pass  # Lists, and shapes that no kernel or several kernels accept, continue below.
        signature = _signature(arguments if out is None else (*arguments, out))
        found = self._seen.get(signature)
        if found is None:
            found = self._only_one(arguments, out)
            if signature:
                self._seen[signature] = found
        return found

    def _only_one(self, arguments: Sequence[Any], out: Any) -> Kernel:
        """Return the one kernel that fits; kernels that need no copies of arguments take
        precedence."""
        fitting: list[Kernel] = []
        for copies in (False, True):
            if not fitting:
                fitting = [k for k in self._kernels if k.accepts(arguments, out, copies=copies)]
        if len(fitting) != 1:
            raise ArgumentError(self._no_choice(arguments, fitting))
        return fitting[0]

    def _no_choice(self, arguments: Sequence[Any], fitting: Sequence[Kernel]) -> str:
        if fitting:
            keys = ", ".join(kernel.key for kernel in fitting)
            return f"{self._op}: several kernels take these arguments: {keys}; use kernels[key]"
        widest = max(self._kernels, key=lambda kernel: len(kernel.entry.inputs))
        given = widest.describe(arguments) or "nothing"
        return f"{self._op}: no kernel takes ({given}); the bundle has {self._keys}"

    def _no_names(self, count: int, named: Mapping[str, Any]) -> str:
        given = f"{', '.join(named)} by name" + (f" after {count} by position" if count else "")
        taken = " or ".join(f"({', '.join(names)})" for names in self._by_names)
        return f"{self._op}: no kernel takes {given}; the kernels take {taken}"

    @property
    def _keys(self) -> str:
        return ", ".join(kernel.key for kernel in self._kernels)


def _unique(kernels: Sequence[Kernel]) -> dict[tuple[tuple[int, ...], ...], Kernel]:
    found: dict[tuple[tuple[int, ...], ...], list[Kernel]] = {}
    for kernel in kernels:
        found.setdefault(tuple(p.shape for p in kernel.entry.arguments), []).append(kernel)
    return {shapes: alike[0] for shapes, alike in found.items() if len(alike) == 1}


def _signature(arguments: Sequence[Any]) -> tuple[object, ...]:
    """Return the properties that select a kernel for arrays of numpy, PyTorch and kgen; empty if
    another type occurs. The kernel checks everything else, such as alignment."""
    found: list[object] = []
    try:
        for value in arguments:
            kind: type = type(value)
            if kind is np.ndarray or kind is Array:
                found += (kind, value.dtype, value.shape, value.strides)
            elif is_torch(kind):
                found += (kind, value.dtype, value.shape, value.stride(), value.device)
            else:
                return ()
    except RuntimeError:  # A sparse tensor has no strides.
        return ()
    return tuple(found)
