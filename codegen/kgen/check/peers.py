"""Libraries that compute the same operation, to time kernels side by side with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.check.tensors import Bytes, Values, decode, empty_buffer, strided_bits
from kgen.errors import DeviceError
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry, TensorParam


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A library's version: `run` computes it once and returns the result when it is there.

    `name` says in which type it computes, where that is not the kernel's.
    """

    name: str
    run: Callable[[], object]


PeerMaker = Callable[[KernelEntry, Mapping[str, Bytes], DeviceInfo], Peer]
Array = npt.NDArray[Any]


def make(name: str, entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """The library's version of a kernel on the same data.

    Raises DeviceError if the library is unknown, not here, or does not work on the device.
    """
    if name not in PEERS:
        raise DeviceError(f"against={name} is unknown; known are {', '.join(PEERS)}")
    return PEERS[name](entry, buffers, device)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """The libraries take so many threads; None leaves them as they are.

    Raises DeviceError without threadpoolctl, which alone can tell numpy's BLAS.
    """
    if count is None:
        yield
        return
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise DeviceError(
            f"threads={count} needs threadpoolctl, to hold numpy to it; pip install threadpoolctl"
        ) from None
    with threadpool_limits(count), _torch_threads(count):
        yield


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    try:
        import torch
    except ImportError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _numpy(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    if device.kind == "gpu":
        raise DeviceError(f"numpy does not compute on {device.id}; take torch")
    # numpy's matmul has fast code for f32 and f64 only, so the 16-bit types are widened before.
    wide = np.float64 if entry.parameters[0].dtype is DType.F64 else np.float32
    x = {p.name: _aligned(_values(buffers, p).astype(wide)) for p in entry.inputs}
    name = "numpy" if entry.parameters[0].dtype.itemsize >= 4 else "numpy (f32)"
    return Peer(name=name, run=_numpy_operation(entry, x))


def _values(buffers: Mapping[str, Bytes], param: TensorParam) -> Values:
    return decode(strided_bits(buffers[param.name], param), param.dtype)


def _aligned(values: Array) -> Array:
    copy = empty_buffer(values.nbytes).view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def _numpy_operation(entry: KernelEntry, x: Mapping[str, Array]) -> Callable[[], object]:
    spec = entry.spec
    if entry.op == "relu":
        result = np.empty_like(x["x"])
        return lambda: np.maximum(x["x"], 0, out=result)
    if entry.op == "softmax":
        return lambda: _numpy_softmax(x["x"], bool(spec["log"]))
    a = x["a"].swapaxes(-1, -2) if spec["layout"][0] == "t" else x["a"]
    b = x["b"].swapaxes(-1, -2) if spec["layout"][1] == "t" else x["b"]

    out = _aligned(np.matmul(a, b))

    def matmul() -> Array:
        y: Array = np.matmul(a, b, out=out)
        if spec["alpha"] != 1.0:
            y *= spec["alpha"]
        for name in ("scale_a", "scale_b"):
            y *= x.get(name, 1.0)
        if spec["beta"] != 0.0:
            y += spec["beta"] * x["c"]
        for step in spec["epilogue"]:
            y = y + x[step] if step in x else _NUMPY_FUNCTIONS[step](y)
        return y * x["scale_out"] if "scale_out" in x else y

    return matmul


def _numpy_softmax(x: Array, log: bool) -> Array:
    shifted = x - x.max(axis=1, keepdims=True)
    if log:
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
    terms: Array = np.exp(shifted, out=shifted)
    terms /= terms.sum(axis=1, keepdims=True)
    return terms


def _numpy_gelu_tanh(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def _numpy_gelu(x: Array) -> Array:
    raise DeviceError("numpy has no erf, so no gelu; take torch")


_NUMPY_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": _numpy_gelu,
    "gelu_tanh": _numpy_gelu_tanh,
    "silu": lambda x: np.asarray(x / (1 + np.exp(-x))),
}


#: A product of PyTorch tensors, made ready to be computed again and again: (torch, a, b).
TorchProduct = Callable[[Any, Any, Any], Callable[[], Any]]


def _torch_matmul(torch: Any, a: Any, b: Any) -> Callable[[], Any]:
    out = torch.matmul(a, b)
    return lambda: torch.matmul(a, b, out=out)


def _onednn_packed(torch: Any, a: Any, b: Any) -> Callable[[], Any]:
    """What torch.compile makes of a linear layer whose weights are frozen."""
    weight = b.mT.contiguous()
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, len(a))
    return lambda: torch.ops.mkldnn._linear_pointwise(a, packed, None, "none", [], "")


def _mkl_packed(torch: Any, a: Any, b: Any) -> Callable[[], Any]:
    """The same in f32, where PyTorch was built with MKL."""
    weight = b.mT.contiguous()
    packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, len(a))
    return lambda: torch.ops.mkl._mkl_linear(a, packed, weight, None, len(a))


def _packed_by(name: str, product: TorchProduct) -> PeerMaker:
    """PyTorch with the weights packed ahead."""

    def make(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
        if device.backend != "cpu" or entry.op != "matmul" or entry.spec["batch"] > 1:
            raise DeviceError(f"{name} packs the weights of single products on CPUs; take torch")
        try:
            return replace(_torch(entry, buffers, device, product), name=name)
        except (RuntimeError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            raise DeviceError(f"{name} does not take these: {reason}; take torch") from None

    return make


def _torch(
    entry: KernelEntry,
    buffers: Mapping[str, Bytes],
    device: DeviceInfo,
    product: TorchProduct = _torch_matmul,
) -> Peer:
    try:
        import torch
    except ImportError:
        raise DeviceError("torch is not installed; pip install torch") from None
    place = {"cpu": "cpu", "cuda": f"cuda:{device.index}", "hip": f"cuda:{device.index}"}
    if device.backend not in place:
        raise DeviceError(f"torch does not compute on {device.id}")
    if device.backend != "cpu" and not torch.cuda.is_available():
        raise DeviceError(f"torch sees no {device.id}; install its build for this GPU")
    if entry.parameters[0].dtype not in _TORCH_TYPES:
        raise DeviceError(f"torch.matmul takes no {entry.parameters[0].dtype}; take numpy")
    where = place[device.backend]
    x = {
        p.name: torch.from_numpy(_values(buffers, p)).to(
            device=where, dtype=getattr(torch, _TORCH_TYPES[p.dtype])
        )
        for p in entry.inputs
    }
    compute = _torch_operation(torch, entry, x, product)

    def run() -> object:
        result = compute()
        if device.backend != "cpu":
            torch.cuda.synchronize()
        return result

    return Peer(name="torch", run=run)


_TORCH_TYPES = {
    DType.F64: "float64",
    DType.F32: "float32",
    DType.F16: "float16",
    DType.BF16: "bfloat16",
}


def _cublas(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """cuBLAS as torch calls it: the product is its, an epilogue torch's own kernels."""
    if device.backend != "cuda":
        raise DeviceError(f"cublas does not compute on {device.id}; take numpy or torch")
    if entry.op != "matmul":
        raise DeviceError(f"cublas has no {entry.op}; take torch")
    return replace(_torch(entry, buffers, device), name="cublas (torch)")


def _torch_operation(
    torch: Any, entry: KernelEntry, x: Mapping[str, Any], product: TorchProduct
) -> Callable[[], object]:
    spec, functional = entry.spec, torch.nn.functional
    if entry.op == "relu":
        return lambda: torch.relu(x["x"])
    if entry.op == "softmax":
        softmax = functional.log_softmax if spec["log"] else functional.softmax
        return lambda: softmax(x["x"], dim=1)
    a = x["a"].mT if spec["layout"][0] == "t" else x["a"]
    b = x["b"].mT if spec["layout"][1] == "t" else x["b"]
    functions = {
        "relu": torch.relu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda y: functional.gelu(y, approximate="tanh"),
        "silu": functional.silu,
    }

    multiply = product(torch, a, b)

    def matmul() -> object:
        y = multiply()
        if spec["alpha"] != 1.0:
            y = y * spec["alpha"]
        if spec["beta"] != 0.0:
            y = y + spec["beta"] * x["c"]
        for step in spec["epilogue"]:
            y = y + x[step] if step in x else functions[step](y)
        return y

    return matmul


PEERS: Mapping[str, PeerMaker] = {
    "numpy": _numpy,
    "torch": _torch,
    "cublas": _cublas,
    "torch-onednn": _packed_by("torch-onednn", _onednn_packed),
    "torch-mkl": _packed_by("torch-mkl", _mkl_packed),
}
