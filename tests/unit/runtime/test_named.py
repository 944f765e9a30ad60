"""Arguments by name: each reaches its place in the kernel, and a wrong one gives one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen_runtime.errors import ArgumentError
from kgen_runtime.manifest import KernelEntry
from tests.unit.runtime.fakes import Adding, HostFake, array, entry, kernels_on, param

A, B, R = array((3, 5)), array((3, 5), start=100), array((3, 5), start=1000)


def kernel(*names: str) -> KernelEntry:
    """Return an addition of matrices of these names, called by them."""
    return entry(*(param(n, (3, 5)) for n in (*names, "out")), key="_".join(names))


def given(kernels: Adding, *arguments: Any, prepared: bool, **named: Any) -> dict[str, Any]:
    """Call the kernel with these arguments; return the addresses that it ran with, by name."""
    backend = kernels.backend
    assert isinstance(backend, HostFake)
    y = kernels.add.prepare(*arguments, **named)() if prepared else kernels.add(*arguments, **named)
    call = backend.calls[-1]
    assert call["buffers"].pop("out") == y.ctypes.data
    return {"kernel": call["kernel"], **call["buffers"]}


def at(**named: Any) -> dict[str, int]:
    return {name: value.ctypes.data for name, value in named.items()}


@pytest.mark.parametrize("prepared", [False, True], ids=["call", "prepare"])
def test_one_kernel(prepared: bool) -> None:
    kernels = kernels_on(HostFake(), kernel("a", "b", "c"))
    expected = {"kernel": "a_b_c"} | at(a=A, b=B, c=R)
    assert given(kernels, A, c=R, b=B, prepared=prepared) == expected
    assert given(kernels, c=R, a=A, b=B, prepared=prepared) == expected
    out = np.zeros((3, 5), np.float32)
    assert given(kernels, A, B, c=R, out=out, prepared=prepared) == expected
    np.testing.assert_array_equal(out, A + B + R)
    by_key: Any = kernels["a_b_c"]
    y = by_key.prepare(A, c=R, b=B)() if prepared else by_key(A, c=R, b=B)
    np.testing.assert_array_equal(y, A + B + R)


@pytest.mark.parametrize("prepared", [False, True], ids=["call", "prepare"])
def test_names_decide_between_kernels(prepared: bool) -> None:
    """Shapes cannot decide, because all matrices have the same."""
    kernels = kernels_on(HostFake(), kernel("a", "b"), kernel("a", "b", "c"), kernel("a", "b", "r"))
    with pytest.raises(ArgumentError, match="several kernels take these arguments: a_b_c, a_b_r"):
        kernels.add(A, B, R)
    for _ in range(2):  # the second time from what the first one left
        found = given(kernels, A, B, r=R, prepared=prepared)
        assert found == {"kernel": "a_b_r"} | at(a=A, b=B, r=R)
        found = given(kernels, A, c=B, b=R, prepared=prepared)
        assert found == {"kernel": "a_b_c"} | at(a=A, b=R, c=B)
        assert given(kernels, A, b=B, prepared=prepared) == {"kernel": "a_b"} | at(a=A, b=B)


def test_shapes_decide_between_kernels_of_the_same_names() -> None:
    wide = entry(*(param(name, (2, 7)) for name in ("a", "b", "out")), key="wide")
    kernels = kernels_on(HostFake(), kernel("a", "b"), wide, kernel("a", "b", "c"))
    w = array((2, 7))
    assert given(kernels, w, b=w, prepared=False)["kernel"] == "wide"
    assert given(kernels, A, b=B, prepared=False)["kernel"] == "a_b"
    with pytest.raises(
        ArgumentError, match=r"add: no kernel takes \(3x5 f32, 2x7 f32\); the bundle has"
    ):
        kernels.add(A, b=w)


def test_the_same_names_in_another_order() -> None:
    c_first, r_first = kernel("a", "c", "r"), kernel("a", "r", "c")
    kernels = kernels_on(HostFake(), c_first, r_first)
    with pytest.raises(ArgumentError, match="several kernels take these arguments: a_c_r, a_r_c"):
        kernels.add(A, c=B, r=R)
    narrow = entry(*(param(n, (3, 1 if n == "r" else 5)) for n in ("a", "r", "c", "out")), key="n")
    kernels = kernels_on(HostFake(), c_first, narrow)
    r = array((3, 1))
    assert given(kernels, A, r=r, c=B, prepared=False) == {"kernel": "n"} | at(a=A, r=r, c=B)


UNKNOWN = r"^a_b_c: no argument is called bais; it takes a, b, c$"
TWICE = r"^a_b_c: b is given both by position and by name; it takes a, b, c$"
MISSING = r"^a_b_c: missing: b, c; it takes a, b, c$"


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((A,), {"b": B, "bais": R}, UNKNOWN),
        ((A, B), {"b": B, "c": R}, TWICE),
        ((A, B, R), {"b": B}, TWICE),
        ((), {"a": A}, MISSING),
        ((A,), {"b": [1.0], "c": R}, r"^a_b_c: b is a list, not an array"),
        ((A,), {"b": B[:2], "c": R}, r"^a_b_c: b has shape 2x5; expected 3x5"),
    ],
)
def test_what_does_not_fit(arguments: Any, named: Any, message: str) -> None:
    kernels = kernels_on(HostFake(), kernel("a", "b", "c"))
    for call in (kernels.add, kernels.add.prepare, kernels["a_b_c"], kernels["a_b_c"].prepare):
        with pytest.raises(ArgumentError, match=message):
            call(*arguments, **named)


def test_names_that_no_kernel_has() -> None:
    kernels = kernels_on(HostFake(), kernel("a", "b"), kernel("a", "b", "c"))
    message = (
        r"^add: no kernel takes bais by name after 2 by position; the kernels take \(a, b\) or"
    )
    with pytest.raises(ArgumentError, match=message + r" \(a, b, c\)$"):
        kernels.add(A, B, bais=R)
    with pytest.raises(ArgumentError, match=r"^add: no kernel takes a by name; the kernels take"):
        kernels.add.prepare(a=A)
