"""Tables of benchmarks.cpu: their kernels, and the libraries beside them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cpu import attention
from benchmarks.cpu.model_shapes import CONVOLUTIONS, PRODUCTS, Convolution
from kgen import targets
from kgen.ops.expression import inputs
from kgen.ops.parse import parse
from kgen.spec import ConstantOperand, Conv2d, DType, Epilogue, Layout, Matmul, Spec, text
from kgen.spec.choices import BType
from kgen.spec.conv2d import WeightLayout
from kgen.spec.winograd import KERNEL, ConvMath
from kgen.targets.cpu.plan.amx.tiles import tile_product

CUBES = tuple((n, n, n) for n in (16, 32, 64, 128, 256, 512, 1024, 2048))
OTHERS = (
    (127, 131, 113),
    (1000, 1000, 1000),
    (1, 4096, 4096),
    (8, 4096, 4096),
    (128, 384, 384),
    (128, 1536, 384),
    (512, 4096, 1024),
)
SHAPES = (*CUBES, *OTHERS)
#: Shapes for which torch.compile has something to fuse.
FUSED = tuple(shape for shape in SHAPES if math.prod(shape) >= 100**3 and shape[0] > 1)
#: Tensors that fit in L2, in L3, in neither.
ROWS = ((64, 512), (1024, 1024), (8192, 4096))
#: Functions whose speed is limited by memory.
CHEAP = ("relu(x)", "abs(x)", "leaky_relu(x)", "hard_swish(x)")
TRANSCENDENTAL = (
    *("exp(x)", "log(x)", "tanh(x)", "sigmoid(x)", "silu(x)", "gelu(x)", "gelu_tanh(x)", "erf(x)"),
    *("softplus(x)", "sin(x)", "silu(gate) * up"),
)
#: Functions of rows, with the weights that all rows share.
NORMS = ("softmax(x)", "log_softmax(x)", "layer_norm(x, scale, shift)", "rms_norm(x, scale)")
REDUCTIONS = ("sum(x)", "mean(x)", "amax(x)", "var(x)", "l2(x)", "logsumexp(x)", "argmax(x)")
#: Tensors that fit in L2, in the L3 of many CPUs, in neither.
NORM_ROWS, FUNCTION_ROWS = ((64, 512), (4096, 1024), (8192, 4096)), (ROWS[0], ROWS[-1])
#: Multiply-adds or elements of the largest kernel of a quick run.
QUICK = 2**24
#: Fewest flops for which two threads should be faster than one.
THREADED = 20e6
#: Ceilings of a GEMM: arithmetic and reading.
ROOF = ("peak", "read")
#: Ceilings of two threads: the gain of a second core on registers, and on reading.
TWO_CORES = ("two cores", "two cores reading")
READING = ("read", "two cores reading")
#: Ceilings with AMX: also multiply-adds on tiles that are loaded.
TILES_ROOF = (*ROOF, "tiles")
#: Peers of GEMM shapes from models, with unpacked and with prepacked weights.
MODELS = ("numpy", "torch", "onednn")
MODELS_PACKED = ("torch-mkl", "torch-onednn", "onednn-packed")
#: Peers of convolutions, whose weights are constant.
CONVOLVING = ("onednn-packed", "torch-onednn")
GEMV_ROWS, GEMV_SIDE = (1, 2, 4, 8, 16), 4096
#: A router of 8 experts, heads of a few classes, and pairs of columns.
COLUMNS = ((64, 4, 256), (256, 8, 1024), (1024, 2, 768), (4096, 10, 512), (16, 2, 768))
#: Sides of depthwise kernels, and sides and channels of their images.
DEPTHWISE_KERNELS, DEPTHWISE_IMAGES = (3, 5, 7), ((7, 64), (14, 240), (112, 64))
#: M and (N, K) of products in a decoder's step: a large decoder, and SmolLM2-135M.
NARROW = (((1, 4), (4096, 4096)), ((1,), (1536, 576)))


@dataclass(frozen=True, kw_only=True)
class Table:
    """Kernels and what is timed beside them: libraries, and `ceilings` of the machine.

    Tables without specs have functions of their own.
    """

    name: str
    title: str
    specs: Sequence[Spec] = ()
    peers: Sequence[str] = ()
    ceilings: Sequence[str] = ()
    threads: int = 1
    is_cold: bool = False

    def beside(self, spec: Spec) -> list[str]:
        """Return peers and ceilings of a kernel; only skinny GEMMs may be bound by reading."""
        reads = not isinstance(spec, Matmul) or _is_skinny(spec)
        return [*self.peers, *(c for c in self.ceilings if reads or c not in READING)]


def _is_skinny(spec: Matmul) -> bool:
    return spec.m <= GEMV_ROWS[-1] and spec.n > 16 * spec.m


def tables(quick: bool = False) -> list[Table]:
    """Return every table, in the order of measurement."""
    found = [*_products(), *_fused(), _gemv(), _columns(), _narrow(), *_layers(), _depthwise()]
    found += [*streams(), *_attention()]
    if quick:
        found = [_quick(table) for table in found]
    return [
        *found,
        Table(
            name="threads",
            title="Two threads",
            specs=[
                Matmul(m=m, n=n, k=k, dtype=dtype)
                for dtype in (DType.F32, DType.BF16)
                for m, n, k in (CUBES[:3] + OTHERS[:1] if quick else _threaded(dtype))
            ],
            peers=("one thread",),
            ceilings=TWO_CORES,
        ),
        Table(name="cores", title="Two cores at once, half of the work each"),
        Table(name="calls", title="Cost of a call"),
    ]


def _threaded(dtype: DType) -> Iterator[tuple[int, int, int]]:
    """Yield the shapes of the other tables, and in f32 the larger GEMM shapes from models."""
    yield from SHAPES
    if dtype is DType.F32:
        yield from (s for s in PRODUCTS if 2 * math.prod(s) >= THREADED and s not in SHAPES)


def _quick(table: Table) -> Table:
    def size(spec: Spec) -> int:
        return int(spec.flops // 2) if isinstance(spec, Matmul | Conv2d) else spec.bytes_moved // 4

    specs = [spec for spec in table.specs if size(spec) <= QUICK]
    return Table(**vars(table) | {"specs": specs})


def _matmuls(shapes: Iterable[tuple[int, int, int]], **fields: object) -> list[Spec]:
    return [Matmul(m=m, n=n, k=k, **fields) for m, n, k in shapes]  # type: ignore[arg-type]


def _products() -> Iterator[Table]:
    native = targets.find("native")
    peers = {
        DType.F32: ("numpy", "torch", "onednn", "iree"),
        # Without AVX512_BF16, PyTorch takes thirty times as long and oneDNN has no kernel.
        DType.BF16: ("numpy", *("torch", "onednn", "iree") * native.has("avx512_bf16")),
        # PyTorch's f16 product takes a hundred times as long as numpy's product in f32.
        DType.F16: ("numpy",),
        # Without VNNI, PyTorch and oneDNN saturate sums, and are left out.
        DType.S8: ("numpy", "torch", "onednn", "iree"),
    }
    packed = {
        DType.F32: ("torch-mkl", "torch-onednn", "onednn-packed"),
        DType.BF16: ("torch-onednn", "onednn-packed"),
        DType.S8: ("onednn-packed",),
    }
    for is_cold, (constant, beside) in itertools.product(
        (False, True), (((), MODELS), ((ConstantOperand.B,), MODELS_PACKED))
    ):
        yield Table(
            name=f"models-f32{'-packed' if constant else ''}{'-cold' if is_cold else ''}",
            title=f"GEMM shapes from models, f32{', prepacked B' if constant else ''}"
            f"{', cold caches' if is_cold else ''}",
            specs=_matmuls(PRODUCTS, dtype=DType.F32, constant=constant),
            peers=beside,
            ceilings=ROOF,
            is_cold=is_cold,
        )
    claimed = targets.family("cpu").dtypes(Matmul.op, native)

    def roof(dtype: DType) -> Sequence[str]:
        return TILES_ROOF if tile_product(dtype, native) else ROOF

    for dtype, libraries in peers.items():
        if dtype in claimed:
            yield Table(
                name=str(dtype),
                title=f"matmul {dtype}",
                specs=_matmuls(SHAPES, dtype=dtype),
                peers=libraries,
                ceilings=roof(dtype),
            )
    for dtype, libraries in packed.items():
        if dtype in claimed:
            yield Table(
                name=f"{dtype}-packed",
                title=f"matmul {dtype}, prepacked B",
                specs=_matmuls(SHAPES, dtype=dtype, constant=(ConstantOperand.B,)),
                peers=libraries,
                ceilings=roof(dtype),
            )


def _fused() -> Iterator[Table]:
    for dtype in (DType.F32, DType.BF16):
        yield Table(
            name=f"fused-{dtype}",
            title=f"matmul {dtype} + bias + gelu",
            specs=_matmuls(FUSED, dtype=dtype, epilogue=(Epilogue.BIAS, Epilogue.GELU)),
            peers=("torch", "torch-compile", "onednn"),
            ceilings=ROOF,
        )


def _gemv() -> Table:
    shapes = [(m, GEMV_SIDE, GEMV_SIDE) for m in GEMV_ROWS]
    ends = [shapes[0], shapes[3]]
    return Table(
        name="gemv",
        title="Skinny GEMM: B read once",
        specs=[
            *_matmuls(shapes, dtype=DType.F32),
            *_matmuls(ends, dtype=DType.F32, layout=Layout.NT),
            *_matmuls(ends, dtype=DType.F32, constant=(ConstantOperand.B,)),
            *_matmuls(shapes, dtype=DType.BF16),
            *_matmuls(ends, dtype=DType.BF16, layout=Layout.NT),
            *_matmuls(ends, dtype=DType.BF16, constant=(ConstantOperand.B,)),
        ],
        peers=("torch",),
        ceilings=ROOF,
    )


def _columns() -> Table:
    return Table(
        name="columns",
        title="Skinny N: B transposed for inner products",
        specs=[
            *_matmuls(COLUMNS, dtype=DType.F32),
            *_matmuls(COLUMNS[:2], dtype=DType.F32, layout=Layout.NT),
            *_matmuls(COLUMNS[:2], dtype=DType.F32, constant=(ConstantOperand.B,)),
        ],
        peers=("numpy", "torch", "onednn"),
        ceilings=ROOF,
    )


def _narrow() -> Table:
    """Return products of f32 with weights of each type, stored as in models: prepacked, or in
    blocks; s8 has a scale per column."""
    packed = {"constant": (ConstantOperand.B,)}
    types: dict[BType | None, dict[str, Any]] = {
        None: packed,
        BType.BF16: packed,
        BType.S8: packed | {"epilogue": "x * scale"},
        BType.S4: packed | {"layout": Layout.NT},
    }
    return Table(
        name="narrow",
        title="Narrow weights: f32 by f32, bf16, s8 and s4",
        specs=[
            Matmul(m=m, n=n, k=k, dtype=DType.F32, b_dtype=b_dtype, **fields)
            for rows, (n, k) in NARROW
            for b_dtype, fields in types.items()
            for m in rows
        ],
        ceilings=ROOF,
    )


def _layers() -> Iterator[Table]:
    """Yield convolutions of models: all by direct sums, and 3x3 kernels also by Winograd's."""
    arithmetics = (ConvMath.EXACT, ConvMath.WINOGRAD4)
    for arithmetic, (model, layers) in itertools.product(arithmetics, CONVOLUTIONS.items()):
        is_exact = arithmetic is ConvMath.EXACT
        yield Table(
            name=f"{model.lower()}-{arithmetic}",
            title=f"Convolutions of {model}, f32, {arithmetic}",
            specs=[
                _convolution(layer, arithmetic)
                for layer in layers
                if is_exact or layer[3:] == (KERNEL, 1)
            ],
            peers=CONVOLVING,
            ceilings=ROOF[:1],
        )


def _depthwise() -> Table:
    """Return depthwise convolutions of models, with images that fit in L1, in L2, in neither."""
    shapes = itertools.product(DEPTHWISE_KERNELS, DEPTHWISE_IMAGES)
    return Table(
        name="depthwise",
        title="Depthwise convolutions, f32",
        specs=[
            Conv2d(
                input=(1, channels, size, size),
                weights=(channels, 1, kernel, kernel),
                dtype=DType.F32,
                weight_layout=WeightLayout.HWIO,
                padding=kernel // 2,
                groups=channels,
                epilogue="relu(x + bias)",
            )
            for kernel, (size, channels) in shapes
        ],
        ceilings=("peak", "copy"),
    )


def _convolution(layer: Convolution, arithmetic: ConvMath) -> Conv2d:
    """Return a layer with bias and relu, which oneDNN fuses too."""
    size, channels, outputs, kernel, stride = layer
    return Conv2d(
        input=(1, channels, size, size),
        weights=(outputs, channels, kernel, kernel),
        dtype=DType.F32,
        stride=stride,
        padding=kernel // 2,
        epilogue="relu(x + bias)",
        constant=(ConstantOperand.B,),
        math=arithmetic,
    )


def streams() -> Iterator[Table]:
    """Yield element-wise functions and rows, in f32 and bf16, in one thread and two."""
    for threads, dtype in itertools.product((1, 2), (DType.F32, DType.BF16)):
        several = "-2" if threads > 1 else ""
        beside = ", two threads" if several else ""
        functions = [_formula(e, *shape, dtype) for e in CHEAP for shape in ROWS]
        functions += [_formula(e, *shape, dtype) for e in TRANSCENDENTAL for shape in FUNCTION_ROWS]
        rows = [_formula(e, *shape, dtype) for e in NORMS for shape in NORM_ROWS]
        reduced = [_formula(e, *shape, dtype) for e in REDUCTIONS for shape in ROWS]
        converted = ("convert",) if dtype is not DType.F32 else ()
        for name, title, specs, limits in (
            ("functions", "Element-wise functions", functions, ("copy", *converted)),
            ("rows", "Softmax and norms", rows, ("copy",)),
            ("reductions", "Reductions of rows", reduced, ("read",)),
        ):
            yield Table(
                name=f"{name}-{dtype}{several}",
                title=f"{title}, {dtype}{beside}",
                specs=specs,
                peers=("torch",),
                # Ceilings take one thread.
                ceilings=() if several else limits,
                threads=threads,
            )


def _attention() -> Iterator[Table]:
    for threads, dtype in itertools.product((1, 2), (DType.F32, DType.BF16)):
        yield Table(
            name=f"attention-{dtype}{'-2' if threads > 1 else ''}",
            title=f"Attention, {dtype}{', two threads' if threads > 1 else ''}",
            specs=attention.specs(dtype),
            peers=tuple(attention.PEERS),
            threads=threads,
        )


def _formula(expression: str, rows: int, cols: int, dtype: DType) -> Spec:
    """Return the spec of an expression on `rows` rows of `cols` columns; weights are one row."""
    weights = ("scale", "shift")
    names = inputs(parse(expression))
    sizes = ",".join(f"{cols}" if name in weights else f"{rows}x{cols}" for name in names)
    return text.parse(f"{expression.replace(' ', '')} {sizes} {dtype}")
