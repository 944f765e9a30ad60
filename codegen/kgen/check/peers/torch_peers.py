"""PyTorch peers: plain calls, prepacked weights, and torch.compile."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kgen.check.oracle import operations as oracle
from kgen.check.oracle.attention_bounds import heads_first
from kgen.check.peers.peer import (
    Peer,
    PeerMaker,
    check_has_no_pages,
    check_last_axes,
    first,
    kernels,
    score_bias,
    values,
)
from kgen.check.tensors import Bytes
from kgen.emulate.wording import shorten
from kgen.errors import DeviceError
from kgen.ops import Expression, parse
from kgen.ops.expression import call, inputs, rebuilt, variable
from kgen.spec.epilogue import PRODUCT, steps_of
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.dtypes import DType
from kgen_runtime.expressions.definitions import DEFINITIONS
from kgen_runtime.expressions.evaluators import Evaluator, RowEvaluator
from kgen_runtime.manifest import KernelEntry

TYPES = {
    DType.F64: "float64",
    DType.F32: "float32",
    DType.F16: "float16",
    DType.BF16: "bfloat16",
    DType.S8: "int8",
}

Operation = Callable[[], Any]
#: Function (torch, a, b) that prepares a product of PyTorch tensors for repeated calls.
Product = Callable[[Any, Any, Any], Operation]


#: Epilogues that PyTorch's convolution by oneDNN computes.
CONVOLUTION_STEPS = ((), ("relu",), ("bias",), ("bias", "relu"))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Limit PyTorch's threads, if it is installed."""
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


#: Functions that PyTorch has under the same name with the same arguments.
WHOLE = frozenset(
    {
        *("celu", "clip", "elu", "gelu", "leaky_relu", "mish", "relu", "rsqrt", "selu"),
        *("sigmoid", "silu", "softplus", "softsign", "square"),
    }
)

#: Functions that PyTorch computes into an existing tensor.
INTO: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "abs": lambda torch, x, out: torch.abs(x, out=out),
    "neg": lambda torch, x, out: torch.neg(x, out=out),
    "relu": lambda torch, x, out: torch.clamp_min(x, 0, out=out),
}


def torch_peer(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return a peer of plain calls, with results in an existing tensor where the call allows it."""
    torch, x = _tensors(entry, buffers, device)
    return Peer(name="torch", run=_waiting(torch, device, _operation(torch, entry, x, _product)))


def cublas(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return cuBLAS as torch calls it, with torch's kernels for the epilogue."""
    if device.backend != "cuda":
        raise DeviceError(f"cublas does not run on {device.id}; try against=torch")
    if entry.op != "matmul":
        raise DeviceError(f"cublas has no {entry.op}; try against=torch")
    return replace(torch_peer(entry, buffers, device), name="cublas (torch)")


def onednn_packed(torch: Any, a: Any, b: Any) -> Operation:
    """Return the operation that torch.compile emits for a linear layer with frozen weights."""
    packed = torch.ops.mkldnn._reorder_linear_weight(b.mT.contiguous(), len(a))
    return lambda: torch.ops.mkldnn._linear_pointwise(a, packed, None, "none", [], "")


def mkl_packed(torch: Any, a: Any, b: Any) -> Operation:
    """Return a linear layer of frozen f32 weights, for PyTorch built with MKL."""
    weight = b.mT.contiguous()
    packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, len(a))
    return lambda: torch.ops.mkl._mkl_linear(a, packed, weight, None, len(a))


def packed_by(name: str, product: Product) -> PeerMaker:
    """Return a peer of PyTorch with prepacked weights."""

    def make(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
        if entry.op == "conv2d":
            return _convolution(name, entry, buffers, device)
        _check_single_product(name, entry, device)
        torch, x = _tensors(entry, buffers, device)
        try:
            return Peer(name=name, run=_operation(torch, entry, x, product))
        except (RuntimeError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            raise DeviceError(
                f"{name} does not support {entry.key}: {shorten(reason, 150)}; try against=torch"
            ) from None

    return make


def _convolution(
    name: str, entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo
) -> Peer:
    """Return the operation that torch.compile emits for a convolution of frozen weights."""
    torch, x = _tensors(entry, buffers, device)
    spec, steps = entry.spec, steps_of(entry.spec["epilogue"])
    rank = len(spec["stride"])
    padding = spec["padding"][:rank]
    if (
        name != "torch-onednn"
        or device.backend != "cpu"
        or padding != spec["padding"][rank:]
        or entry.inputs[0].dtype is not DType.F32
        or steps not in CONVOLUTION_STEPS
    ):
        raise DeviceError(f"against={name} does not support {entry.key}; try against=numpy")
    images = x["a"].movedim(-1, 1) if spec["layout"] == "nhwc" else x["a"]
    given = (padding, spec["stride"], spec["dilation"], spec["groups"])
    weights = torch.from_numpy(kernels(spec, x["b"].double().numpy()))
    reorder = torch.ops.mkldnn._reorder_convolution_weight
    packed = reorder(weights, *given, list(images.shape))
    last = "relu" if steps[-1:] == ("relu",) else "none"
    convolve = torch.ops.mkldnn._convolution_pointwise

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def run() -> Any:
        return convolve(images, packed, x.get("bias"), *given, last, [], "")

    return Peer(name=name, run=run)


def torch_compiled(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return torch.compile of the product with its epilogue.

    Compiling takes seconds in a C++ compiler.
    """
    _check_single_product("torch-compile", entry, device)
    torch, x = _tensors(entry, buffers, device)
    names = [p.name for p in entry.inputs]

    def function(*tensors: Any) -> Any:
        given = dict(zip(names, tensors, strict=True))
        return _operation(torch, entry, given, lambda torch, a, b: lambda: torch.matmul(a, b))()

    compiled, tensors = torch.compile(function), [x[name] for name in names]

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def run() -> Any:
        return compiled(*tensors)

    try:
        run()
    except Exception as error:
        # torch.compile raises many types; the first line of each says why.
        reason = str(error).strip().partition("\n")[0]
        raise DeviceError(
            f"torch.compile does not work here: {shorten(reason, 150)}; try against=torch"
        ) from None
    return Peer(name="torch-compile", run=run)


def _check_single_product(name: str, entry: KernelEntry, device: DeviceInfo) -> None:
    if device.backend != "cpu" or entry.op != "matmul" or entry.spec["batch"] > 1:
        raise DeviceError(f"against={name} supports single matmuls on CPUs; try against=torch")


def _tensors(
    entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo
) -> tuple[Any, dict[str, Any]]:
    """Return the torch module, and the inputs on the device. Raises DeviceError."""
    try:
        import torch
    except ImportError:
        raise DeviceError("torch is not installed; pip install torch") from None
    place = {"cpu": "cpu", "cuda": f"cuda:{device.index}", "hip": f"cuda:{device.index}"}
    if device.backend not in place:
        raise DeviceError(f"torch does not run on {device.id}; try against=read")
    if device.backend != "cpu" and not torch.cuda.is_available():
        raise DeviceError(
            f"torch does not see {device.id}; install the build of torch for this GPU"
        )
    if other := [p.dtype for p in entry.inputs if p.dtype not in TYPES]:
        raise DeviceError(f"against=torch does not support {other[0]}; try against=numpy")
    where = place[device.backend]
    return torch, {
        p.name: torch.from_numpy(values(buffers, p)).to(
            device=where, dtype=getattr(torch, TYPES[p.dtype])
        )
        for p in entry.inputs
    }


def _waiting(torch: Any, device: DeviceInfo, compute: Operation) -> Operation:
    if device.backend == "cpu":
        return compute

    def run() -> object:
        result = compute()
        torch.cuda.synchronize()
        return result

    return run


def _product(torch: Any, a: Any, b: Any) -> Operation:
    if a.dtype is torch.int8:
        if a.ndim != 2:
            raise DeviceError("torch does not multiply batches of s8; try against=numpy")
        out = torch._int_mm(a, b)
        return lambda: torch._int_mm(a, b, out=out)
    out = torch.matmul(a, b)
    return lambda: torch.matmul(a, b, out=out)


def _linear(bias: Any) -> Product:
    """Return a product that adds its bias in the same call, as a linear layer does."""

    def product(torch: Any, a: Any, b: Any) -> Operation:
        out = torch.addmm(bias, a, b)
        return lambda: torch.addmm(bias, a, b, out=out)

    return product


def _operation(torch: Any, entry: KernelEntry, x: Mapping[str, Any], product: Product) -> Operation:
    if entry.spec["op"] == "elementwise":
        formulas = oracle.formulas_of(entry)
        match next(iter(formulas.values())):
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=only)]) if (
                name in INTO and len(formulas) == 1
            ):
                into = torch.empty_like(x[only])
                return lambda: INTO[name](torch, x[only], into)
        return lambda: first(_Expression(torch, x).outputs(formulas))
    if entry.spec["op"] == "rowwise":
        return _rowwise(torch, entry, x)
    if entry.spec["op"] == "attention":
        return _attention(torch, entry.spec, x)
    return _matmul(torch, entry, x, product)


def _attention(torch: Any, spec: Mapping[str, Any], x: Mapping[str, Any]) -> Operation:
    """Return `scaled_dot_product_attention`, with its causal kernel where nothing else masks."""
    for name in ("softcap", "v_scale"):
        if spec.get(name):
            raise DeviceError(f"torch's attention has no {name}; try against=numpy")
    check_has_no_pages(spec)
    layouts = {"q": spec["layout"], "k": spec["kv_layout"], "v": spec["kv_layout"]}
    q, k, v = (heads_first(layout, x[name]) for name, layout in layouts.items())
    causal_only = (
        spec["causal"]
        and spec["diagonal"] == "top_left"
        and not any(spec.get(name) for name in ("mask", "window"))
    )
    bias = None
    if not causal_only:
        host = {name: value.double().cpu().numpy() for name, value in x.items()}
        found = score_bias(spec, host)
        bias = None if found is None else torch.from_numpy(found).to(q)

    def attention() -> Any:
        out = torch.nn.functional.scaled_dot_product_attention(
            q,
            k,
            v,
            bias,
            is_causal=causal_only,
            scale=spec["scale"],
            enable_gqa=q.shape[1] != k.shape[1],
        )
        return heads_first(spec["layout"], out)

    return attention


#: Variable of an epilogue that stands for the product with its bias.
BIASED = "BIASED"


def _of_biased(epilogue: Expression) -> Expression | None:
    """Return an epilogue as an expression of x + bias; None if it uses either alone."""
    biased = call("add", (variable(PRODUCT), variable("bias")))
    found = rebuilt(epilogue, lambda step: variable(BIASED) if step is biased else step)
    return None if {PRODUCT, "bias"} & {*inputs(found)} else found


class _Expression(Evaluator):
    """Evaluator of an expression call by call; a function that PyTorch has is one call."""

    def __init__(self, torch: Any, values: Mapping[str, Any]) -> None:
        self.torch = torch
        super().__init__(values, torch)

    def apply(self, name: str, arguments: list[Any]) -> Any:
        if name == "gelu_tanh":
            return self.torch.nn.functional.gelu(*arguments, approximate="tanh")
        if name == "hard_swish":
            return self.torch.nn.functional.hardswish(*arguments)
        if name == "mod":
            return self.torch.remainder(*arguments)
        if name == "fmod":
            return self.torch.fmod(*arguments)
        for home in (self.torch.nn.functional, self.torch):
            if name in WHOLE and hasattr(home, name):
                return getattr(home, name)(*arguments)
        if name not in DEFINITIONS:
            raise DeviceError(f"against=torch does not support {name}; try against=numpy")
        return super().apply(name, arguments)


class _Rows(RowEvaluator):
    """Evaluator of rows along the last axis, call by call.

    A function that PyTorch has is one call.
    """

    def __init__(self, torch: Any, values: Mapping[str, Any], count: int) -> None:
        super().__init__(values, torch)
        self.each_element, self.torch, self.count = _Expression(torch, values), torch, count

    def each(self, name: str, arguments: list[Any]) -> Any:
        return self.each_element.apply(name, arguments)

    def apply(self, name: str, arguments: list[Any]) -> Any:
        torch, functional, (x, *others) = self.torch, self.torch.nn.functional, arguments
        weights = [None if isinstance(w, float) else w for w in others[:-1]]
        match name:
            case "softmax" | "log_softmax" | "argmax" | "argmin" | "logsumexp":
                keep = {} if name.endswith("softmax") else {"keepdim": True}
                return getattr(torch, name)(x, dim=-1, **keep)
            case "var":
                return torch.var(x, dim=-1, correction=0, keepdim=True)
            case "mean" | "sum" | "amax" | "amin" | "prod":
                return getattr(torch, name)(x, dim=-1, keepdim=True)
            case "layer_norm":
                return functional.layer_norm(x, x.shape[-1:], *weights, eps=others[-1])
            case "rms_norm" if hasattr(functional, "rms_norm"):
                return functional.rms_norm(x, x.shape[-1:], *weights, eps=others[-1])
        return super().apply(name, arguments)

    def fold(self, name: str, x: Any) -> Any:
        fold = {"sum": "sum", "prod": "prod", "largest": "amax", "smallest": "amin"}[name]
        return getattr(self.torch, fold)(x, dim=-1, keepdim=True)


def _rowwise(torch: Any, entry: KernelEntry, x: Mapping[str, Any]) -> Operation:
    """Return a row-wise operation.

    Weights shared by all rows stay a row, as `layer_norm` requires.
    """
    check_last_axes(entry)
    rows, cols = oracle.row_shape(entry)
    domain = torch.broadcast_shapes(*(v.shape for v in x.values()))

    def view(v: Any) -> Any:
        if v.shape == domain:
            return v.reshape(rows, cols)
        if v.numel() == cols:
            return v.reshape(cols)
        return v.expand(domain).reshape(rows, cols)

    values = {name: view(v) for name, v in x.items()}
    device = next(iter(x.values())).device
    height = oracle.height(entry)
    values["column"] = torch.arange(cols, device=device)
    values["row"] = (torch.arange(rows, device=device) % height)[:, None]
    formulas = oracle.formulas_of(entry)
    return lambda: first(_Rows(torch, values, cols).outputs(formulas))


def _matmul(torch: Any, entry: KernelEntry, x: Mapping[str, Any], product: Product) -> Operation:
    spec = entry.spec
    a = x["a"].mT if spec["layout"][0] == "t" else x["a"]
    b = x["b"].mT if spec["layout"][1] == "t" else x["b"]
    plain = spec["alpha"] == 1.0 and spec["beta"] == 0.0
    epilogue, name = parse(spec["epilogue"]), PRODUCT
    takes_bias = product is _product and plain and a.ndim == 2
    if takes_bias and (rest := _of_biased(epilogue)) is not None:
        product, epilogue, name = _linear(x["bias"]), rest, BIASED
    multiply = product(torch, a, b)
    if plain and epilogue is variable(name):
        return multiply
    tree = oracle.tree(str(epilogue))

    def matmul() -> Any:
        y = multiply()
        if spec["alpha"] != 1.0:
            y = y * spec["alpha"]
        if spec["beta"] != 0.0:
            y = y + spec["beta"] * x["c"]
        return _Expression(torch, {**x, name: y}).value(tree)

    return matmul
