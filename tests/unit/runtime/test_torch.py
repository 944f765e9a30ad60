"""PyTorch's tensors: used without DLPack if they are plain, and refused if they cannot be used.
Without PyTorch, a stand-in has the few methods that the runtime calls, with the behaviour of
PyTorch 2."""

from __future__ import annotations

import gc
import importlib.util
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kgen_runtime.array import lent_array
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError, KgenError
from kgen_runtime.memory import dlpack, lending
from tests.unit.runtime.fakes import Adding, HostFake, entry, kernels_on, param

HAS_TORCH = importlib.util.find_spec("torch") is not None
SHAPE = (3, 5)


class Standin:
    """Tensor with numpy's memory and PyTorch's methods: float32 or, as bits, bfloat16."""

    def __init__(self, data: np.ndarray[Any, Any], **facts: Any) -> None:
        self.data, self.facts = data, facts
        self.dtype = facts.get("dtype", "float32")
        self.device = facts.get("device", "cpu")
        self.is_cpu = self.device == "cpu"
        self.requires_grad = facts.get("requires_grad", False)
        self.exports = 0

    @property
    def shape(self) -> Any:
        return self.data.shape

    def stride(self) -> tuple[int, ...]:
        if self.facts.get("strideless"):
            raise RuntimeError("Sparse CSR tensors do not have strides")
        return tuple(s // self.data.itemsize for s in self.data.strides)

    def is_contiguous(self) -> bool:
        return self.data.flags.c_contiguous

    def is_neg(self) -> bool:
        return bool(self.facts.get("neg", False))

    def data_ptr(self) -> int:
        if self.facts.get("functional"):
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return 0 if self.facts.get("empty") else self.data.ctypes.data

    def untyped_storage(self) -> object:
        return self.data

    def __dlpack_device__(self) -> tuple[int, int]:
        return (dlpack.HOST if self.is_cpu else dlpack.CUDA, 0)

    def __dlpack__(self, **_: Any) -> object:
        self.exports += 1
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.facts.get("functional"):
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        dtype = DType.F32 if self.dtype == "float32" else DType.BF16
        capsule = lending.export(self.data, dtype, self.__dlpack_device__(), versioned=True)
        if self.facts.get("empty"):
            dlpack.tensor_of(capsule).data = None
        return capsule


Standin.__module__, Standin.__name__, Standin.__qualname__ = "torch", "Tensor", "Tensor"


class Parameter(Standin):
    """Stand-in for the class of a layer's weights."""


Parameter.__module__ = "torch.nn.parameter"


class Subclass(Standin):
    """Subclass of a tensor whose methods may do anything."""

    def data_ptr(self) -> int:
        raise AssertionError("not to be asked")


@pytest.fixture(autouse=True)
def standin(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = ModuleType("torch")
    vars(torch).update(float32="float32", bfloat16="bfloat16", Tensor=Standin)
    monkeypatch.setitem(sys.modules, "torch", torch)


def kernels(*entries: Any) -> Adding:
    backend = HostFake()
    return kernels_on(backend, *(entries or (entry(),)))


def floats(start: float = 0) -> np.ndarray[Any, Any]:
    return np.arange(start, start + 15, dtype=np.float32).reshape(SHAPE)


@pytest.mark.parametrize("kind", [Standin, Parameter])
def test_plain_tensors_are_found_without_dlpack(kind: type[Standin]) -> None:
    a, b, out = kind(floats()), kind(floats(7)), kind(floats())
    assert kernels().add(a, b, out=out) is out
    np.testing.assert_array_equal(out.data, a.data + b.data)
    assert a.exports == b.exports == out.exports == 0


def test_a_tensor_in_gives_a_tensor_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of calls and prepared calls are arrays of the arguments' library; with numpy's
    arrays alone, or `out`, nothing changes."""

    class Fresh(Standin):
        """Type that was not seen before it had `from_dlpack`."""

    def from_dlpack(value: Any) -> Fresh:
        read = dlpack.read(value)
        data = lent_array(
            read.address, DType.F32, read.shape, read.strides, owner=read, read_only=False
        )
        return Fresh(data)

    monkeypatch.setattr(sys.modules["torch"], "from_dlpack", from_dlpack, raising=False)
    here, a, b = kernels(), floats(), floats(7)
    found = here.add(Fresh(a), b)
    assert type(found) is Fresh
    np.testing.assert_array_equal(found.data, a + b)
    call = here.add.prepare(a, Fresh(b))
    assert type(call()) is Fresh and call() is call.out
    np.testing.assert_array_equal(call.out.data, a + b)
    out = np.empty_like(a)
    assert here.add(Fresh(a), b, out=out) is out
    assert type(here.add(a, b)) is np.ndarray


def test_bfloat16() -> None:
    bits = np.full(SHAPE, 0x3F80, np.uint16)
    e = entry(param("a", SHAPE, "bf16"), param("out", SHAPE))
    out = Standin(floats())
    tensor = Standin(bits, dtype="bfloat16")
    kernels(e).add(tensor, out=out)
    assert tensor.exports == out.exports == 0
    with pytest.raises(ArgumentError, match="a is f32; expected bf16"):
        kernels(e).add(Standin(floats()), out=out)


def test_strided_tensors() -> None:
    e = entry(param("a", SHAPE, strides=(1, 3)), param("out", SHAPE))
    a, out = Standin(np.asfortranarray(floats())), Standin(np.zeros(SHAPE, np.float32))
    kernels(e).add(a, out=out)
    np.testing.assert_array_equal(out.data, a.data)
    assert a.exports == 0
    with pytest.raises(ArgumentError, match=r"a has element strides \(5, 1\); expected \(1, 3\)"):
        kernels(e).add.prepare(Standin(floats()), out=out)
    kernels(e).add(Standin(floats(3)), out=out)
    np.testing.assert_array_equal(out.data, floats(3))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Standin(floats()[:2]), r"add_kernel: a has shape 2x5; expected 3x5"),
        (Standin(floats().reshape(5, 3).T), r"a has element strides \(1, 3\); expected \(5, 1\)"),
        (Standin(floats(), requires_grad=True), r"a Tensor\.__dlpack__ refuses: .*detach\(\)$"),
        (Standin(floats(), device="cuda"), r"a is on cuda:0; the kernel runs on cpu:0"),
        (Standin(floats(), neg=True), r"a is a negated view of its memory; pass its \.resolve_neg"),
        (Standin(floats(), functional=True), r"a Tensor\.__dlpack__ refuses: Cannot access data"),
        (Standin(floats(), empty=True), r"a has no memory; pass a tensor"),
        (
            Standin(np.zeros(61, np.uint8)[1:].view(np.float32).reshape(SHAPE)),
            r"a starts at address 0x\w+; expected a multiple of 4",
        ),
    ],
)  # fmt: skip
def test_what_is_not_plain_is_refused(tensor: Standin, message: str) -> None:
    with pytest.raises(KgenError, match=message) as error:
        kernels()["add_kernel"].prepare(tensor, floats())
    assert "\n" not in str(error.value)


def test_subclasses_go_through_dlpack() -> None:
    tensor = Subclass(floats())
    np.testing.assert_array_equal(kernels().add(tensor, floats()), 2 * floats())
    assert tensor.exports > 0


def test_overlapping_out() -> None:
    block = np.zeros(20, np.float32)
    a, out = (Standin(block[i : i + 15].reshape(SHAPE)) for i in (0, 5))
    with pytest.raises(ArgumentError, match="out overlaps a"):
        kernels().add(a, floats(), out=out)


def test_dispatch_remembers_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = entry(*(param(n, SHAPE, "bf16") for n in ("a", "b", "out")), key="halves")
    here = kernels(entry(), halves)
    a, b = Standin(floats()), Standin(floats(9))
    np.testing.assert_array_equal(here.add(a, b), a.data + b.data)
    a.exports = 0
    monkeypatch.setattr(Kernel, "accepts", None)  # it is not asked again
    np.testing.assert_array_equal(here.add(a, b), a.data + b.data)
    assert a.exports == 0
    monkeypatch.undo()
    sparse = Standin(floats(), strideless=True)
    with pytest.raises(ArgumentError, match=r"add: no kernel takes|refuses"):
        here.add(sparse, Standin(np.zeros(SHAPE, np.uint16), dtype="bfloat16"))


def test_a_prepared_call_keeps_the_memory_that_it_was_given() -> None:
    """`tensor.data = other` frees the old memory unless something holds its storage."""
    tensor = Standin(floats())
    storage = weakref.ref(tensor.data)
    call = kernels().add.prepare(tensor, floats())
    tensor.data = floats(100)
    gc.collect(1)
    assert storage() is not None
    np.testing.assert_array_equal(call(), 2 * floats())


REAL: dict[str, tuple[Callable[[Any], Any], str | None]] = {
    "plain": (lambda torch: torch.ones(SHAPE), None),
    "parameter": (lambda torch: torch.nn.Parameter(torch.ones(SHAPE), requires_grad=False), None),
    "inference": (lambda torch: torch.ones(SHAPE), None),
    "conjugate": (
        lambda torch: torch.full(SHAPE, 1j).conj().imag,
        "expected|negated view of its memory",
    ),
    "negative": (
        lambda torch: torch._neg_view(torch.ones(SHAPE)),
        "negated view of its memory",
    ),
    "gradient": (lambda torch: torch.ones(SHAPE, requires_grad=True), "refuses"),
    "meta": (lambda torch: torch.ones(SHAPE, device="meta"), "refuses|is on"),
    "sparse": (lambda torch: torch.ones(SHAPE).to_sparse(), "refuses"),
    "csr": (lambda torch: torch.ones(SHAPE).to_sparse_csr(), "refuses"),
    "mkldnn": (lambda torch: torch.ones(SHAPE).to_mkldnn(), "refuses"),
    "zero": (lambda torch: torch._efficientzerotensor(SHAPE), "no memory"),
    "double": (lambda torch: torch.ones(SHAPE).double(), "is f64; expected f32"),
    "transposed": (lambda torch: torch.ones((5, 3)).T, None),
    "strided": (lambda torch: torch.ones((3, 10))[:, ::2], None),
}


@pytest.mark.skipif(not HAS_TORCH, reason="the stand-in above is what CI tests; no PyTorch here")
@pytest.mark.parametrize("name", REAL)
def test_real_tensors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    make, message = REAL[name]
    import torch

    if message is None:
        found = kernels().add(make(torch), torch.ones(SHAPE))
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found, np.full(SHAPE, 2, np.float32))
        return
    with pytest.raises(KgenError, match=message) as error:
        kernels().add(make(torch), torch.ones(SHAPE))
    assert "\n" not in str(error.value)
