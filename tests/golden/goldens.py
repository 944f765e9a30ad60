"""The golden kernels: small shapes with real loops, committed in generated/ and read in reviews.

Run as a program, it rewrites them (`make generated`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kgen import pipeline, targets
from kgen.spec import (
    Attention,
    ConstantOperand,
    Conv2d,
    DType,
    Elementwise,
    Epilogue,
    Layout,
    Math,
    Matmul,
    Rowwise,
    Scale,
    Spec,
    text,
)
from kgen.spec.choices import BType

ROOT = Path(__file__).parents[2] / "generated"

#: A whole number of tiles with a loop over K, and a shape with every kind of edge.
EVEN = Matmul(m=64, n=64, k=128)
ODD = Matmul(m=33, n=17, k=40, layout=Layout.NT, epilogue=(Epilogue.BIAS, Epilogue.RELU))
#: Two warpgroups' rows, and more tiles along k than stages.
TALL = Matmul(m=128, n=64, k=256)
#: More tiles than CTAs, in groups of rows.
LARGE = Matmul(m=1024, n=512, k=512, layout=Layout.NT)
#: Few outputs for their k: two parts of it for mma.sync, four for wgmma, which end in zeros.
DEEP = Matmul(m=32, n=32, k=256)
DEEPER = Matmul(m=64, n=32, k=1000, layout=Layout.NT)
#: The same in one kernel: three parts.
DEEP_ALONE = Matmul(m=32, n=32, k=192)
#: Two kernels in f32: three parts, the last of which ends early.
DEEP_F32 = Matmul(m=16, n=32, k=88, dtype=DType.F32)
#: Two block tiles for three CTAs, by wgmma and by mma.sync.
SHARED = Matmul(m=128, n=16, k=320, layout=Layout.NT)
SHARED_MMA = Matmul(m=64, n=32, k=160)
#: Four K-tiles for two halves of the waves that alternate.
#: Two block tiles of three steps along k each.
STREAM_K = Matmul(m=64, n=32, k=384)
PING_PONG = Matmul(m=64, n=128, k=256, layout=Layout.NT)
#: A trip of two K-tiles and the last one; B transposed as it is loaded.
DIRECT = Matmul(m=64, n=128, k=192)
#: Bytes that MFMA multiplies, transposed in words, and 8-bit floats at CDNA4's full rate.
MFMA_BYTES = Matmul(m=32, n=32, k=192, dtype=DType.S8)
MFMA_FLOATS = Matmul(m=32, n=32, k=384, dtype=DType.E4M3, layout=Layout.NT, scales=("a", "b"))
#: Operands that wgmma wants transposed: B of bytes, and A of words.
TRANSPOSED = Matmul(m=16, n=128, k=384, dtype=DType.S8)
GATHERED = Matmul(m=64, n=16, k=96, dtype=DType.F32, math=Math.TF32, layout=Layout.TT)
#: Bytes that are transposed on their way, and scaled; sums that are promoted; a row that streams B.
BYTES = Matmul(
    m=32, n=32, k=256, dtype=DType.S8, out_dtype=DType.S8, scales=(Scale.A, Scale.B, Scale.OUT)
)
SCALED = replace(BYTES, m=64, n=64, k=128, lda=None, ldb=None, ldc=None)
SHORT_SUMS = Matmul(m=32, n=32, k=512, dtype=DType.E4M3, layout=Layout.NT)
ROW = Matmul(m=1, n=64, k=512)
#: Two inputs alike; a row, a column and a single element beside a whole tensor.
STREAMS = (
    Elementwise(expression="silu(gate) * up", shapes=((3, 100),), dtype=DType.BF16),
    Elementwise(
        expression="gelu(x + bias) * scale + residual", shapes=((5, 12), (12,), (1,), (5, 12)),
        dtype=DType.F32,
    ),
    # Rows by their numbers behind a tensor that is transposed.
    Elementwise(
        expression="concat(transpose(x), gather(table, index), 0)", shapes=((12, 5), (9, 12), (3,)),
        dtype=DType.F32,
    ),
    # A row of each head of a cache.
    Elementwise(
        expression="scatter(cache, pos, rows, 1)", shapes=((2, 12, 8), (1,), (2, 1, 8)),
        dtype=DType.F32, index_dtype=DType.S64,
    ),
)  # fmt: skip
#: Rows that stay in registers, some lanes of which lack the last vector, and rows that are read
#: again; weights of columns.
ROWS: tuple[Spec, ...] = (
    text.parse("relu 3x1000 f16"),
    text.parse("softmax 5x70 f16"),
    text.parse("log_softmax 2x50000 f16"),
    Rowwise(expression="layer_norm(x, scale, shift)", shapes=((5, 70), (70,), (70,))),
)

#: A warp tile of one small MMA tile, for four waves.
QUARTERS = {"block_m": 32, "block_n": 32, "warp_m": 16, "warp_n": 16}
#: A warp tile of one MMA tile, for eight waves.
HALVES = {"block_m": 64, "block_n": 128, "warp_m": 32, "warp_n": 32}
#: Smaller tiles than the heuristics take keep unrolled text readable; edges need smaller ones.
MMA = {
    EVEN: {"block_m": 32, "block_n": 32, "block_k": 32, "warp_m": 16, "warp_n": 16},
    ODD: {"block_m": 32, "block_n": 16, "block_k": 32, "warp_m": 16, "warp_n": 16},
}
#: The model would take more, and so more lines.
STAGES = {"sm_80": {"num_stages": 3}}
#: One tile for each CTA, outputs from registers; then everything that large shapes get.
PLAIN = {"pingpong": 0, "cluster_m": 1, "num_workgroups": 0, "group_m": 1, "tma_store": 0}
WGMMA = {
    TALL: PLAIN | {"block_m": 128, "block_n": 64, "consumers": 2, "num_stages": 3},
    ODD: PLAIN | {"block_m": 64, "block_n": 24, "consumers": 1, "num_stages": 2},
    SHORT_SUMS: PLAIN | {"block_m": 64, "block_n": 32, "consumers": 1, "num_stages": 2},
    DEEPER: PLAIN | {"block_m": 64, "block_n": 32, "consumers": 1, "num_stages": 3, "split_k": 4},
    SHARED: PLAIN
    | {"block_m": 64, "block_n": 16, "consumers": 1, "num_stages": 3}
    | {"num_workgroups": 3, "stream_k": 1},
    TRANSPOSED: PLAIN
    | {"swap": 1, "cluster_n": 1, "block_m": 16, "block_n": 128, "consumers": 2, "num_stages": 2},
    GATHERED: PLAIN | {"block_m": 64, "block_n": 16, "consumers": 1, "num_stages": 2},
    LARGE: {"block_m": 128, "block_n": 128, "consumers": 2, "num_stages": 3, "pingpong": 0}
    | {"cluster_m": 2, "num_workgroups": 4, "group_m": 2, "tma_store": 1},
}
#: The same bytes of k as 16-bit types have.
TF32 = {"block_k": 16}
FMA = {
    EVEN: {"block_m": 16, "block_n": 16, "block_k": 8, "thread_m": 4, "thread_n": 2},
    ODD: {"block_m": 16, "block_n": 16, "block_k": 8, "thread_m": 2, "thread_n": 2},
}
#: A padded convolution whose K-tiles are within a filter position, and one of 4 channels.
PADDED = "conv2d 1x32x5x6,24x32x3x3 f16 padding=1 +bias+relu"
FOUR = "conv2d 1x4x5x6,8x4x3x3 f16 padding=1"
#: Schedules of small tiles for a convolution, by target.
CONVOLUTION = {
    "sm_80": MMA[EVEN] | {"num_stages": 3, "split_k": 1},
    "gfx942": MMA[EVEN],
    "gfx1100": MMA[EVEN],
    "vulkan1.1": {"block_m": 16, "block_n": 16, "block_k": 8, "thread_m": 4, "thread_n": 2},
    "vulkan1.3+coopmat": {"block_m": 32, "block_n": 32, "block_k": 32},
}
#: The model would cut k.
WHOLE = {"sm_80": {"split_k": 1}}
#: Register tiles small enough to read; the odd shape has all four sizes of them.
BLIS: dict[Spec, dict[str, int]] = {EVEN: {}, ODD: {"mr": 2, "nr": 16, "mc": 34, "nc": 32}}


@dataclass(frozen=True, kw_only=True)
class Golden:
    target: str
    spec: Spec
    schedule: Mapping[str, int | str] = field(default_factory=dict)
    #: The name of another module of the kernel.
    variant: str = ""

    @property
    def path(self) -> Path:
        family = targets.family(targets.find(self.target).family)
        variant = f".{self.variant}" if self.variant else ""
        return ROOT / self.target / f"{self.spec.key}{variant}.{family.extension}"

    def text(self) -> str:
        target = targets.find(self.target)
        schedule = pipeline.schedule_for(self.spec, target, self.schedule)
        plan = pipeline.plan(self.spec, target, schedule)
        if self.variant:
            (plan,) = (v for v in plan.variants if getattr(v, "fallback_name", "") == self.variant)
        return pipeline.source(plan).text


def goldens() -> Iterator[Golden]:
    """Yield every golden kernel; none is for `native`, which depends on the machine."""
    for target in ("sm_75", "sm_80", "gfx90a", "gfx942", "gfx1100", "gfx1201"):
        for spec in (EVEN, ODD):
            yield Golden(target=target, spec=spec, schedule=MMA[spec] | STAGES.get(target, {}))
    yield Golden(target="gfx942", spec=PING_PONG, schedule={"mainloop": "pingpong", **HALVES})
    yield Golden(
        target="gfx942",
        spec=STREAM_K,
        schedule=MMA[EVEN] | {"num_workgroups": 3, "group_m": 2, "num_xcds": 2},
    )
    yield Golden(target="gfx950", spec=DIRECT, schedule={"mainloop": "direct", **HALVES})
    yield Golden(
        target="gfx942", spec=MFMA_BYTES, schedule={"block_k": 64, **QUARTERS, "warp_n": 32}
    )
    yield Golden(target="gfx950", spec=MFMA_FLOATS, schedule={"block_k": 128, **QUARTERS})
    for spec, schedule in WGMMA.items():
        yield Golden(target="sm_90a", spec=spec, schedule=schedule)
    yield Golden(target="sm_80", spec=DEEP, schedule=MMA[EVEN] | {"num_stages": 3, "split_k": 2})
    shared = {"num_stages": 3, "num_workgroups": 3, "stream_k": 1}
    yield Golden(target="sm_80", spec=SHARED_MMA, schedule=MMA[EVEN] | shared)
    parts = {"num_stages": 3, "split_k": 3, "one_kernel": 1}
    yield Golden(target="sm_80", spec=DEEP_ALONE, schedule=MMA[EVEN] | parts)
    yield Golden(target="sm_80", spec=DEEP_F32, schedule=FMA[EVEN] | {"split_k": 3})
    tile = MMA[EVEN] | {"num_stages": 3, "split_k": 1}
    yield Golden(target="sm_80", spec=BYTES, schedule=tile | {"block_k": 64})
    yield Golden(target="sm_89", spec=SHORT_SUMS, schedule=tile | {"block_k": 128})
    yield Golden(target="sm_80", spec=ROW, schedule={"num_threads": 128, "block_k": 256})
    for math in (Math.TF32, Math.TF32X3):
        spec = replace(_as(EVEN, DType.F32), math=math)
        yield Golden(target="sm_80", spec=spec, schedule=MMA[EVEN] | {"num_stages": 3} | TF32)
    # Filter positions of a K-tile each, and several in a K-tile.
    for target, schedule in CONVOLUTION.items():
        yield Golden(target=target, spec=text.parse(PADDED), schedule=schedule)
    yield Golden(target="sm_80", spec=text.parse(FOUR), schedule=CONVOLUTION["sm_80"])
    for target in ("sm_80", "gfx1030", "vulkan1.1", "vulkan1.3"):
        for spec in (EVEN, ODD):
            yield Golden(
                target=target, spec=_as(spec, DType.F32), schedule=FMA[spec] | WHOLE.get(target, {})
            )
    # Matrices of a subgroup; the module for the first of their sizes.
    yield Golden(target="vulkan1.3+coopmat", spec=Matmul(m=64, n=64, k=128, dtype=DType.F16))
    # Sums that stay in the accumulators, as they are and through an epilogue.
    yield Golden(target="vulkan1.3+coopmat", spec=Matmul(m=64, n=64, k=128, dtype=DType.S8))
    finished = (Epilogue.BIAS, Epilogue.RELU)
    spec = Matmul(m=64, n=64, k=64, dtype=DType.F16, out_dtype=DType.F32, epilogue=finished)
    yield Golden(target="vulkan1.3+coopmat", spec=spec)
    # Four steps of k in a word.
    yield Golden(target="vulkan1.3", spec=Matmul(m=32, n=32, k=72, dtype=DType.S8))
    # Straight from the buffers: slices of k, 16-bit elements two to a word; and for a CPU.
    spec = Matmul(m=1, n=64, k=260, dtype=DType.F16, layout=Layout.NT)
    yield Golden(target="vulkan1.3", spec=spec)
    spec = Matmul(m=4, n=64, k=66, dtype=DType.F32)
    yield Golden(target="vulkan1.3+cpu", spec=spec)
    for target in ("x86-64", "x86-64-v3", "x86-64-v4", "aarch64-neon"):
        for spec in (EVEN, ODD):
            yield Golden(target=target, spec=_as(spec, DType.F32), schedule=BLIS[spec])
    yield Golden(target="x86-64-amx", spec=_as(EVEN, DType.BF16))
    pairs = {"mr": 4, "nr": 32, "mc": 64}
    yield Golden(target="x86-64-v4+bf16", spec=_as(EVEN, DType.BF16), schedule=pairs)
    yield Golden(target="x86-64-v4+vnni", spec=SCALED, schedule=pairs | {"mr": 2, "mc": 32})
    # Rows of B interleaved within lanes where they lie.
    lanes = {"mr": 2, "nr": 64, "mc": 2, "kc": 8, "nc": 64, "pack_a": 0, "pack_b": 0}
    spec = Matmul(m=2, n=70, k=32, dtype=DType.S8)
    yield Golden(target="x86-64-v4+vnni", spec=spec, schedule=lanes)
    # Several rows of a large B at once are multiplied by all rows of A.
    yield Golden(target="x86-64-v4", spec=Matmul(m=2, n=70, k=4001, dtype=DType.F32))
    # Split-k of a stream: slices of K, and a launch that adds them up.
    yield Golden(target="x86-64-v3", spec=Matmul(m=6, n=70, k=12001, dtype=DType.F32))
    # prepacked B: nothing of it is packed or masked.
    spec = _ahead(_as(EVEN, DType.BF16))
    yield Golden(target="x86-64-v4+bf16", spec=spec, schedule=pairs)
    # A function of every sum, inlined where it is called.
    spec = Matmul(m=16, n=32, k=64, dtype=DType.BF16, epilogue=(Epilogue.BIAS, Epilogue.GELU))
    yield Golden(target="x86-64-v4+bf16", spec=spec, schedule=pairs | {"mc": 16})
    inner = Matmul(m=2, n=5, k=70, dtype=DType.F32, layout=Layout.NT)
    yield Golden(target="x86-64-v3", spec=inner)
    # Windows of a convolution, packed from its images.
    conv = Conv2d(
        input=(1, 5, 4, 6), weights=(8, 5, 3, 3), dtype=DType.F32, padding=1, weight_layout="hwio"
    )
    yield Golden(target="x86-64-v3", spec=conv, schedule={"mr": 4, "nr": 8, "mc": 8, "nc": 8})
    # Winograd: transformed tiles.
    winograd = replace(
        conv, input=(1, 8, 4, 3), weights=(8, 8, 3, 3), math="winograd2", constant=("b",)
    )
    blocks = {"mr": 2, "nr": 8, "mc": 2, "kc": 8, "nc": 8}
    yield Golden(target="x86-64-v3", spec=winograd, schedule=blocks)
    # The exact convolution in s8, padded with its zero point.
    conv = replace(conv, dtype=DType.S8, out_dtype=None, padding_value=-7)
    yield Golden(target="x86-64-v4+vnni", spec=conv, schedule={"mr": 4, "nr": 16, "mc": 8})
    # A depthwise one: tiles at both ends of a row, and a remainder of the channels.
    conv = Conv2d(
        input=(1, 10, 3, 6), weights=(10, 1, 3, 3), dtype=DType.F32, padding=1, groups=10,
        weight_layout="hwio", epilogue=("bias", "relu"),
    )  # fmt: skip
    yield Golden(target="x86-64-v3", spec=conv, schedule={"tile": 3})
    conv = replace(conv, input=(1, 10, 3, 4), dtype=DType.S8, padding_value=-7)
    yield Golden(target="x86-64-v3", spec=conv)
    # A function of one byte, from a table that the kernel fills.
    spec = Matmul(
        m=5, n=8, k=8, dtype=DType.S8, out_dtype=DType.S8, epilogue_shapes=("slope=1",),
        epilogue="round(sigmoid(min(max(round(x * scale), -140), 115) * slope) * 256) + -128",
    )  # fmt: skip
    tiles = {"mr": 5, "nr": 8, "mc": 5, "kc": 8, "nc": 8}
    yield Golden(target="x86-64-v3", spec=spec, schedule=tiles)
    # Attention: a head that is no whole vector, queries of two heads in a block.
    heads = Attention(q=(1, 2, 3, 5), k=(1, 1, 20, 5), dtype=DType.F32, causal=True)
    tiles = {"block_q": 4, "block_k": 8, "mr": 2, "nv": 1, "pack_v": 0}
    yield Golden(target="x86-64-v3", spec=heads, schedule=tiles)
    # Three blocks of keys, of which some queries attend to a part; a head of one piece.
    heads = Attention(q=(1, 1, 32, 16), k=(1, 1, 48, 16), causal=True, out_dtype=DType.F32)
    blocks = {"block_m": 16, "block_n": 16, "num_warps": 1, "num_stages": 2}
    yield Golden(target="sm_80", spec=heads, schedule=blocks)
    # Scores of bytes; values that are widened to f16 on their way.
    heads = Attention(q=(1, 1, 16, 16), k=(1, 1, 32, 16), dtype=DType.E4M3, v_scale=0.5)
    yield Golden(target="sm_89", spec=heads, schedule=blocks)
    # Multiply-adds of f32, by lanes that exchange their weights.
    heads = Attention(q=(1, 1, 16, 4), k=(1, 1, 32, 4), dtype=DType.F32)
    blocks = {"block_m": 8, "block_n": 16, "num_warps": 1, "num_stages": 1}
    yield Golden(target="gfx1100", spec=heads, schedule=blocks)
    # The same by warpgroups: keys by TMA through two stages, weights in registers.
    heads = Attention(q=(1, 1, 64, 16), k=(1, 1, 48, 16), causal=True)
    blocks = {"block_m": 64, "block_n": 16, "num_stages": 2}
    yield Golden(target="sm_90a", spec=heads, schedule={"mainloop": "wgmma", **blocks})
    # Blocks of keys through LDS, tiles of 16 queries, whose lanes keep their weights.
    heads = Attention(q=(1, 1, 16, 32), k=(1, 1, 48, 32), causal=True)
    blocks = {"block_m": 16, "block_n": 32, "num_warps": 1, "num_stages": 1}
    yield Golden(target="gfx942", spec=heads, schedule=blocks)
    # The same by two halves of waves in turn, from four blocks in LDS.
    blocks = {"block_m": 32, "block_n": 32, "num_warps": 2}
    yield Golden(target="gfx950", spec=heads, schedule={"mainloop": "pingpong", **blocks})
    # Straight from the buffers: queries of two heads in a block, and lanes without a last access.
    heads = Attention(q=(1, 2, 5, 16), k=(1, 1, 20, 16), v=(1, 1, 20, 24), causal=True)
    tiles = {"block_q": 4, "block_k": 8, "thread_q": 2, "thread_k": 1}
    yield Golden(target="vulkan1.3", spec=heads, schedule=tiles)
    # Keys, values, scores and weights through workgroup memory, a copy of each invocation.
    heads = Attention(q=(1, 1, 128, 16), k=(1, 1, 64, 16), v=(1, 1, 64, 8))
    tiles = {"block_q": 64, "block_k": 32, "num_threads": 128}
    yield Golden(target="vulkan1.3+coopmat", spec=heads, schedule=tiles)
    yield Golden(target="x86-64-v4", spec=_ahead(_as(ODD, DType.F32)), schedule=BLIS[ODD])
    # A narrow B: pairs of bf16, blocks of s4, and bytes that a warp widens.
    spec = _ahead(Matmul(m=1, n=40, k=33, dtype=DType.F32, b_dtype="bf16"))
    yield Golden(target="x86-64-v4", spec=spec)
    yield Golden(target="x86-64-v3", spec=replace(inner, b_dtype=BType.S4, ldb=None))
    # The same where bytes are multiplied: A in limbs.
    spec = _ahead(Matmul(m=1, n=20, k=24, dtype=DType.F32, b_dtype=BType.S8))
    yield Golden(target="x86-64-v4+vnni", spec=spec, schedule={"nr": 16, "nc": 32})
    spec = Matmul(m=1, n=8, k=8, dtype=DType.F32, b_dtype=BType.S4, layout=Layout.NT)
    yield Golden(target="x86-64-v3", spec=_ahead(spec), schedule={"nr": 8, "nc": 8})
    spec = Matmul(m=1, n=64, k=256, dtype=DType.F32, b_dtype="s8", epilogue="x * scale")
    yield Golden(target="sm_80", spec=spec, schedule={"mainloop": "gemv"})
    for target in ("sm_80", "gfx942", "vulkan1.3", "x86-64-v4"):
        for each in ROWS:
            yield Golden(target=target, spec=each)
        for stream in STREAMS:
            small = {"unroll": 1} if target == "x86-64-v4" else {"vector": 2}
            yield Golden(target=target, spec=stream, schedule=small)
    # Square blocks, transposed in registers; the last ones overlap those before.
    turned = Elementwise(
        expression="relu(permute(x, 1, 0) + b)", shapes=((10, 12), (10,)), dtype=DType.F32
    )
    yield Golden(target="x86-64-v3", spec=turned)
    # A loop, single vectors and a tail in every phase; an element of the scale for each line.
    norm = "layer_norm(x, scale, shift)"
    row = Rowwise(expression=norm, shapes=((5, 86), (86,), (86,)), dtype=DType.BF16)
    yield Golden(target="x86-64-v4", spec=row, schedule={"unroll": 2})
    planes = ((2, 3, 4, 10), (3, 4, 1), (3, 4, 1))
    row = Rowwise(expression=norm, shapes=planes, dtype=DType.F32, axes=(2, 3))
    yield Golden(target="x86-64-v3", spec=row)
    # Rows whose elements lie next to those of other rows.
    for target in ("sm_80", "gfx942", "vulkan1.3", "x86-64-v3"):
        yield Golden(target=target, spec=text.parse("softmax 3x20x37 f16 axes=1"))
        kept = "h=x+residual;out=rms_norm(h,w) x=5x24,residual=5x24,w=24 f16"
        yield Golden(target=target, spec=text.parse(kept))
    # 64 bits as pairs of words.
    yield Golden(target="vulkan1.1", spec=text.parse("x//y 64 s64 out=f16"))
    # Halves that share words, for devices without 16-bit storage.
    yield Golden(target="vulkan1.3", spec=text.parse("relu(x) 3x333 f16"), variant="words")
    # No F16C: f16 is widened and rounded by integer operations.
    yield Golden(target="x86-64", spec=text.parse("softmax 3x100 f16"))
    # Two readings of a row in parts, and places of extremes.
    yield Golden(target="x86-64-v3", spec=text.parse("softmax 2x300001 f32"))
    yield Golden(target="x86-64-v4", spec=text.parse("argmax(x) 3x100 f32"))
    # As an output that is larger than the last-level cache is written.
    past = Elementwise(expression="relu(x)", shapes=((3, 1000),), dtype=DType.F32)
    yield Golden(target="x86-64-v3", spec=past, schedule={"nontemporal": 1})


def _as(spec: Matmul, dtype: DType) -> Matmul:
    return replace(spec, dtype=dtype, out_dtype=dtype)


def _ahead(spec: Matmul) -> Matmul:
    return replace(spec, constant=(ConstantOperand.B,))


def main() -> None:
    # All of them are made before the first is written: a template that fails leaves all as it was.
    texts = {golden.path: golden.text() for golden in goldens()}
    shutil.rmtree(ROOT, ignore_errors=True)
    for path, content in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        print(path.relative_to(ROOT.parent))


if __name__ == "__main__":
    main()
