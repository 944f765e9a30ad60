"""Tensors of a spec, derived from the spec alone, and the check of a kernel's parameters against
them.

The manifest states the parameters of each kernel as well. libkgen runs kernels by the manifest and
reads no spec. Code that computes by a spec, such as the reference, calls `check_spec` first.
Operations that the reference does not support have no tensors here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from kgen_runtime.blocks import row_bytes
from kgen_runtime.dtypes import DType, input_dtypes, output_dtypes
from kgen_runtime.errors import BundleError
from kgen_runtime.expressions import views
from kgen_runtime.expressions.calls import ELEMENTWISE, EPILOGUE, ROWWISE, Signature, check
from kgen_runtime.expressions.formulas import (
    COORDINATES,
    Formulas,
    formulas_in,
    input_names,
    reduced,
)
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.reference.winograd_weights import winograd_tile
from kgen_runtime.schema.limits import LIMITS

Spec = Mapping[str, Any]
Role = Literal["input", "output"]


def check_spec(kernel: KernelEntry) -> None:
    """Raise BundleError if a kernel's spec is not valid or contradicts the kernel's parameters."""
    try:
        wanted = tensors(kernel.spec)
        given = tuple(p.unpacked for p in kernel.parameters)
        if wanted is None or wanted == given:
            return
        names = [p.name for p in wanted]
        if names != [p.name for p in given]:
            raise BundleError(f"its spec requires the tensors {', '.join(names):.200}")
        one, other = next(pair for pair in zip(wanted, given, strict=True) if pair[0] != pair[1])
        raise BundleError(f"its spec requires {_described(one)}, not {_described(other)}")
    except BundleError as error:
        raise BundleError(f"{kernel.name}: {error}; build the bundle again") from None


def _described(p: TensorParam) -> str:
    return f"{p.role} {p.name} {list(p.shape)} {p.dtype} with strides {list(p.strides)}"


def tensors(spec: Spec) -> tuple[TensorParam, ...] | None:
    """Return a spec's tensors in calling order, outputs last; None for an unknown operation.

    Raises BundleError for a spec that lacks a field or has a field of another type.
    """
    known = OPERATIONS.get(spec.get("op", ""))
    if known is None:
        return None
    try:
        return known(spec)
    except (KeyError, TypeError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        why = f"no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise BundleError(f"its spec is not a valid {spec['op']}: {why:.300}") from None


def _matmul(spec: Spec) -> tuple[TensorParam, ...]:
    m, n, k, batch = (_whole(spec, name, 1) for name in ("m", "n", "k", "batch"))
    dims = _dims(spec, batch)
    dtype, out = DType(spec["dtype"]), DType(spec["out_dtype"])
    layout, scales = spec["layout"], _names(spec, "scales")
    if layout not in ("nn", "nt", "tn", "tt"):
        raise ValueError(f"layout={layout!r}")
    b_dtype, b_shape = _stored_b(spec, dtype, (n, k) if layout[1] == "t" else (k, n))
    _number(spec, "alpha")

    def matrix(
        name: str, of: str, dtype: DType, shape: tuple[int, int], role: Role = "input"
    ) -> TensorParam:
        ld, steps = _whole(spec, f"ld{of}", shape[1]), spec[f"batch_stride_{of}"]
        steps = steps if dims else [steps]
        sizes: tuple[int, ...] = shape
        strides: tuple[int, ...] = (ld, 1)
        # Dimensions along which one matrix is shared have size 1; leading ones are left out.
        found = [*zip(dims or [batch], map(_stride, steps), strict=True)] if batch > 1 else []
        first = next((i for i, (_, step) in enumerate(found) if step), len(found))
        for size, step in reversed(found[first:]):
            strides = (step or sizes[0] * strides[0], *strides)
            sizes = (size if step else 1, *sizes)
        return _tensor(name, dtype, sizes, strides, role)

    def like_out(name: str, role: Role = "input") -> TensorParam:
        return matrix(name, "c", out, (m, n), role)

    def one(name: str) -> TensorParam:
        return _tensor(name, DType.F32, (1,), (1,))

    found = [
        matrix("a", "a", dtype, (k, m) if layout[0] == "t" else (m, k)),
        matrix("b", "b", b_dtype, b_shape),
        *(one(f"scale_{scale}") for scale in scales if scale != "out"),
    ]
    if _number(spec, "beta") != 0.0:
        found.append(like_out("c"))
    own = epilogue_dtypes(spec)
    for name, extent in epilogue_operands(spec).items():
        shape = {"n": (n,), "mx1": (m, 1), "1": (1,), "mxn": None}[extent]
        if shape is None:
            found.append(like_out(name))
        else:
            of = own.get(name, default_dtype(name, b_dtype, out))
            found.append(_tensor(name, of, shape, (1,) * len(shape)))
    if "out" in scales:
        found.append(one("scale_out"))
    return (*found, like_out("out", "output"))


def _conv2d(spec: Spec) -> tuple[TensorParam, ...]:
    dtype, out = DType(spec["dtype"]), DType(spec["out_dtype"])
    b_dtype = DType(spec.get("b_dtype") or dtype)
    images, channels, *sizes = _sizes(spec, "input")
    outputs, depth, *kernel = _sizes(spec, "weights")
    rank, groups = len(sizes), _whole(spec, "groups", 1)
    if len(kernel) != rank or channels != groups * depth or outputs % groups:
        raise ValueError(f"groups={groups}")
    stride, dilation = _sizes(spec, "stride", rank), _sizes(spec, "dilation", rank)
    padding = _sizes(spec, "padding", 2 * rank, least=0)
    reaches = [(n - 1) * d + 1 for n, d in zip(kernel, dilation, strict=True)]
    room = [n + padding[i] + padding[rank + i] for i, n in enumerate(sizes)]
    if any(reach > n for reach, n in zip(reaches, room, strict=True)):
        raise ValueError(f"padding={list(padding)!r:.60}")
    out_sizes = [(n - r) // s + 1 for n, r, s in zip(room, reaches, stride, strict=True)]
    layouts = {"nhwc": lambda c, of: (images, *of, c), "nchw": lambda c, of: (images, c, *of)}
    stored = {
        "oihw": (outputs, depth, *kernel),
        "ohwi": (outputs, *kernel, depth),
        "hwio": (*kernel, depth, outputs),
    }[spec["weight_layout"]]
    whole = layouts[spec["layout"]](outputs, out_sizes)
    found = [
        _packed("a", dtype, layouts[spec["layout"]](channels, sizes)),
        _matrix_of_weights(spec, b_dtype)
        if "b" in _names(spec, "constant")
        else _packed("b", b_dtype, stored),
    ]
    own = epilogue_dtypes(spec)
    for name, extent in epilogue_operands(spec).items():
        if extent == "mxn":
            found.append(_packed(name, out, whole))
            continue
        of = own.get(name, default_dtype(name, b_dtype, out))
        found.append(_packed(name, of, {"n": (outputs,), "1": (1,)}[extent]))
    if isinstance(padding_value := spec.get("padding_value"), str):
        found.append(_packed(padding_value, dtype, (1,)))
    return (*found, _packed("out", out, whole, "output"))


def _attention(spec: Spec) -> tuple[TensorParam, ...]:
    dtype, out = DType(spec["dtype"]), DType(spec["out_dtype"])
    q, k, v = (_sizes(spec, name, 4) for name in ("q", "k", "v"))
    if (k[0], k[3], v[:3]) != (q[0], q[3], k[:3]) or q[1] % k[1]:
        raise ValueError(f"k={list(k)} and v={list(v)} beside q={list(q)}")

    def tensor(
        name: str, of: DType, sizes: tuple[int, ...], field: str, role: Role = "input"
    ) -> TensorParam:
        b, h, s, d = sizes
        shapes = {"bhsd": (b, h, s, d), "bshd": (b, s, h, d)}
        strides = (*_sizes(spec, f"{name}_strides", 3, least=0), 1)
        return _tensor(name, of, shapes[spec[field]], strides, role)

    table: tuple[int, ...] = ()
    if spec.get("page_size") is not None:
        size, pages = _whole(spec, "page_size", 1), _whole(spec, "pages", 1)
        if k[2] % size or not spec["kv_length"]:
            raise ValueError(f"page_size={size} with {k[2]} keys")
        table = (q[0], k[2] // size)
        k, v = ((pages, x[1], size, x[3]) for x in (k, v))
    found = [
        tensor("q", dtype, q, "layout"),
        tensor("k", dtype, k, "kv_layout"),
        tensor("v", dtype, v, "kv_layout"),
    ]
    if spec.get("mask") is not None:
        found.append(_packed("mask", DType(spec["mask_dtype"]), spec["mask"]))
    if spec["kv_length"]:
        found.append(_packed("kv_length", DType.S32, (q[0],)))
    if table:
        found.append(_packed("page_table", DType.S32, table))
    found.append(tensor("out", out, (*q[:3], v[3]), "layout", "output"))
    if spec["lse"]:
        found.append(_packed("lse", DType.F32, q[:3], "output"))
    return tuple(found)


def _matrix_of_weights(spec: Spec, dtype: DType) -> TensorParam:
    """Return the tensor of constant weights: one matrix for each group."""
    outputs, groups = spec["weights"][0], spec["groups"]
    tile = winograd_tile(spec)
    if tile:
        return _packed("b", dtype, ((tile + 2) ** 2 * spec["weights"][1], outputs))
    n, k = outputs // groups, math.prod(spec["weights"][1:])
    if spec["weight_layout"] == "hwio":
        shape, strides = (groups, k, n), (n, outputs, 1)
    else:
        shape, strides = (groups, n, k), (n * k, k, 1)
    first = int(groups == 1)
    return _tensor("b", dtype, shape[first:], strides[first:])


def _sizes(spec: Spec, name: str, count: int | None = None, least: int = 1) -> tuple[int, ...]:
    """Return a list of integers of the spec; `count` of them or, without `count`, 3 up to the
    largest rank. Raises ValueError."""
    found = spec[name]
    fits = 3 <= len(found) <= LIMITS["rank"].most if count is None else len(found) == count
    if not fits or any(type(n) is not int or n < least for n in found):
        raise ValueError(f"{name}={found!r:.60}")
    return tuple(found)


def _dims(spec: Spec, batch: int) -> list[int]:
    """Return the dimensions of a batch; empty if the batch has at most one."""
    dims = spec.get("batch_dims") or []
    if len(dims) > LIMITS["rank"].most:
        raise ValueError(f"batch_dims has {len(dims)} dimensions")
    if dims and (any(type(n) is not int or n < 1 for n in dims) or math.prod(dims) != batch):
        raise ValueError(f"batch_dims={dims!r:.60}")
    return list(dims)


def _stride(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"batch stride {value!r:.60}")
    return value


def _stored_b(spec: Spec, dtype: DType, shape: tuple[int, int]) -> tuple[DType, tuple[int, int]]:
    """Return the element type and shape of B in memory: 4-bit numbers are stored as bytes of
    blocks."""
    narrow = spec.get("b_dtype") or dtype
    if narrow != "s4":
        return DType(narrow), shape
    if spec["layout"] != "nt":
        raise ValueError(f"layout={spec['layout']!r}")
    return DType.U8, (shape[0], row_bytes(shape[1]))


def epilogue_operands(spec: Spec) -> dict[str, str]:
    """Return the extents of an epilogue's operands by name, in order of first use."""
    extents = dict(text.split("=", 1) for text in _names(spec, "epilogue_shapes"))
    names = input_names(_formulas(spec, "epilogue", EPILOGUE))
    return {name: extents[name] for name in names if name != "x"}


def default_dtype(name: str, b_dtype: DType, out: DType) -> DType:
    """Return the default type of an epilogue vector or number. It is f32 if 8 bits would be too
    few: before rounding to 8 bits, or for scales of an 8-bit B."""
    return DType.F32 if out.itemsize == 1 or (b_dtype.itemsize == 1 and name != "bias") else out


def epilogue_dtypes(spec: Spec) -> dict[str, DType]:
    """Return the types of epilogue operands that state one; old bundles have none."""
    parts = _names(spec, "epilogue_dtypes") if "epilogue_dtypes" in spec else ()
    return {name: DType(dtype) for name, dtype in (part.split("=", 1) for part in parts)}


def _elementwise(spec: Spec) -> tuple[TensorParam, ...]:
    formulas, found, domain = _broadcast(spec, _formulas(spec, "expression", ELEMENTWISE))
    outs = zip(formulas, output_dtypes(spec, len(formulas)), strict=True)
    return (*found, *(_packed(name, dtype, domain, "output") for name, dtype in outs))


def _broadcast(spec: Spec, formulas: Formulas) -> tuple[Formulas, list[TensorParam], list[int]]:
    """Return the outputs' expressions, the inputs, and the shape to which the inputs broadcast."""
    shapes = spec["shapes"]
    names = input_names(formulas)
    dtypes, indices = input_dtypes(spec, len(names)), views.index_names(formulas)
    found = [
        _packed(name, DType(spec["index_dtype"]) if name in indices else dtype, shape)
        for name, dtype, shape in zip(names, dtypes, shapes, strict=True)
    ]
    domain = views.domain(formulas, {p.name: p.shape for p in found})
    return formulas, found, list(domain)


def _rowwise(spec: Spec) -> tuple[TensorParam, ...]:
    checked = _formulas(spec, "expression", ROWWISE, COORDINATES)
    formulas, found, domain = _broadcast(spec, checked)
    axes, dtypes = spec["axes"], output_dtypes(spec, len(formulas))
    if not isinstance(axes, list | tuple) or not set(axes) <= set(range(len(domain))):
        raise ValueError(f"axes={axes!r:.60}")
    if not axes or len(set(axes)) < len(axes):
        raise ValueError(f"axes={axes!r:.60}")
    kept = [n for axis, n in enumerate(domain) if axis not in axes] or [1]
    outputs = (
        _packed(name, dtype, kept if reduced else domain, "output")
        for (name, reduced), dtype in zip(reduced(formulas).items(), dtypes, strict=True)
    )
    return (*found, *outputs)


#: Longest expression, in characters.
MAX_EXPRESSION = 10_000

OPERATIONS: Mapping[str, Callable[[Spec], tuple[TensorParam, ...]]] = {
    "matmul": _matmul,
    "conv2d": _conv2d,
    "attention": _attention,
    "elementwise": _elementwise,
    "rowwise": _rowwise,
}


def _formulas(
    spec: Spec, field: str, functions: Mapping[str, Signature], coordinates: Iterable[str] = ()
) -> Formulas:
    expression = spec[field]
    if not isinstance(expression, str) or len(expression) > MAX_EXPRESSION:
        raise ValueError(f"{field}={expression!r:.60}")
    formulas = formulas_in(expression)
    check(formulas, functions, coordinates)
    return formulas


def _packed(name: str, dtype: DType, shape: Any, role: Role = "input") -> TensorParam:
    is_list = isinstance(shape, list | tuple) and len(shape) <= LIMITS["rank"].most
    if not is_list or not all(type(n) is int and n > 0 for n in shape):
        raise ValueError(f"shape={shape!r:.60}")
    return _tensor(name, dtype, tuple(shape), packed_strides(tuple(shape)), role)


def _tensor(
    name: str,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    role: Role = "input",
) -> TensorParam:
    return TensorParam(name=name, role=role, dtype=dtype, shape=shape, strides=strides)


def _whole(spec: Spec, name: str, least: int) -> int:
    value = spec[name]
    if type(value) is not int or value < least:
        raise ValueError(f"{name}={value!r:.60}")
    return value


def _number(spec: Spec, name: str) -> float:
    value = spec[name]
    if type(value) not in (int, float):
        raise TypeError(f"{name}={value!r:.60}")
    return float(value)


def _names(spec: Spec, name: str) -> tuple[str, ...]:
    value = spec[name]
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise TypeError(f"{name}={value!r:.60}")
    return tuple(value)
