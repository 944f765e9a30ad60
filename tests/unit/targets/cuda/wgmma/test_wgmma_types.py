"""Plans of the wgmma main loop for bytes and tf32: instructions, descriptors, pieces, and
refusals."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from kgen.errors import ScheduleError
from kgen.schedule import PromotedWgmmaMatmul, SplitMatmul, WgmmaMatmul
from kgen.spec import DType, Layout, Math, Matmul
from kgen.targets import find
from kgen.targets.cuda import FAMILY
from kgen.targets.cuda.plan.mma.instruction import warpgroup_instruction_of
from kgen.targets.cuda.plan.wgmma.matmul import WgmmaPlan, plan_wgmma
from kgen.targets.cuda.schedule.candidates import choose
from kgen.targets.cuda.schedule.cost_model import predict

SM_90A = find("sm_90a")
SHORT = PromotedWgmmaMatmul(block_m=128, block_n=192, block_k=128, num_stages=4)
BYTES = WgmmaMatmul(block_m=128, block_n=256, block_k=128, num_stages=4)
TF32 = {"dtype": DType.F32, "math": Math.TF32}


def spec_of(**fields: Any) -> Matmul:
    common: dict[str, Any] = {"m": 4096, "n": 4096, "k": 4096, "layout": Layout.NT}
    return Matmul(**(common | fields))


def make(schedule: WgmmaMatmul, **fields: Any) -> WgmmaPlan:
    return plan_wgmma(spec_of(**fields), SM_90A, schedule)


@pytest.mark.parametrize(
    ("fields", "name", "immediates"),
    [
        ({"dtype": DType.E4M3}, "m64n64k32.f32.e4m3.e4m3", ", 1, 1"),
        ({"dtype": DType.E5M2}, "m64n64k32.f32.e5m2.e5m2", ", 1, 1"),
        ({"dtype": DType.S8}, "m64n64k32.s32.s8.s8", ""),
        (TF32, "m64n64k8.f32.tf32.tf32", ", 1, 1"),
        ({"dtype": DType.BF16}, "m64n64k16.f32.bf16.bf16", ", 1, 1, 0, 0"),
    ],
)
def test_instructions(fields: dict[str, Any], name: str, immediates: str) -> None:
    """Integers have no scale factors, and only 16-bit types may be transposed (PTX ISA,
    "wgmma.mma_async")."""
    depth = 128 // fields["dtype"].itemsize
    plan = make(WgmmaMatmul(block_m=128, block_n=64, block_k=depth, num_stages=2), **fields)
    products = plan.products
    assert {p.instruction for p in products.whole} == {f"wgmma.mma_async.sync.aligned.{name}"}
    assert products.immediates == immediates
    # 32 bytes of k are two units of 16 bytes, whatever the type.
    assert [(p.left, p.right) for p in products.whole] == [(0, 0), (2, 2), (4, 4), (6, 6)]
    assert [map_.tf32 for map_ in plan.tensor_maps] == [fields == TF32] * 2


def test_s8_has_fewer_widths() -> None:
    """The shapes of wgmma on integers are 8, 16, 24, 32, 48, 64, 80, ... 256 (PTX ISA)."""
    instruction = warpgroup_instruction_of(spec_of(dtype=DType.S8))
    assert instruction is not None
    found = [n for n in range(8, 65, 8) if instruction.takes(n)]
    assert found == [8, 16, 24, 32, 48, 64] and instruction.takes(240)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, [(0, 0), (0, 96)]),
        ({"block_m": 256, "block_n": 96}, [(0, 0), (64, 0)]),
        ({"block_m": 384, "block_n": 64}, [(0, 0), (64, 0), (128, 0)]),
    ],
)
def test_pieces_cover_the_tile_once(fields: dict[str, int], wanted: list[tuple[int, int]]) -> None:
    plan = make(SHORT.override(num_stages=2, **fields), dtype=DType.E4M3)
    pieces = plan.products.pieces
    places = [re.findall(r"\d+", piece.promoted[0].acc) for piece in pieces]
    assert [(int(m), int(n)) for m, n in places] == wanted
    for piece in pieces:
        assert [p.first for p in piece.products] == [True, False, False, False]
        assert {p.d for p in piece.products} == {tuple(s.part for s in piece.promoted)}
    sums = [s.acc for piece in pieces for s in piece.promoted]
    rows = [name for row in plan.output.rows for name in plan.output.accumulators(row)]
    assert sorted(sums) == sorted(rows) and len(set(sums)) == len(sums)


def test_pieces_share_registers_where_there_are_few() -> None:
    products = make(SHORT.override(block_n=256), dtype=DType.E4M3).products
    assert products.in_turn and not make(SHORT, dtype=DType.E4M3).products.in_turn
    first, second = ([s.part for s in piece.promoted] for piece in products.pieces)
    assert first == second and products.parts_held == (tuple(first),)
    assert products.registers_held == 128 + 64


def test_columns_of_the_second_half_lie_behind_the_first() -> None:
    """The distance is 96 columns of 128 bytes, in units of 16."""
    first, second = make(SHORT, dtype=DType.E4M3).products.pieces
    offsets = [(p.left, p.right) for p in second.products]
    assert offsets == [(p.left, p.right + 96 * 8) for p in first.products]


@pytest.mark.parametrize(
    ("fields", "promotes"), [({}, 128), ({"k": 128}, 0), ({"k": 100, "lda": 112, "ldb": 112}, 0)]
)
def test_a_short_k_needs_no_promotion(fields: dict[str, int], promotes: int) -> None:
    assert make(SHORT, dtype=DType.E4M3, **fields).promotes_every == promotes
    assert make(SHORT.override(promote_k=4096), dtype=DType.E4M3, **fields).promotes_every == 0


@pytest.mark.parametrize(
    ("schedule", "fields", "message"),
    [
        (
            BYTES.override(block_n=40),
            {"dtype": DType.S8},
            "block_n=40 is not a width that wgmma supports for s8; try block_n=32",
        ),
        (
            SHORT.override(block_n=24),
            {"dtype": DType.E4M3},
            "block_n=24 is not a width that wgmma supports for e4m3, 12 at a time; try block_n=16",
        ),
        (
            SHORT.override(promote_k=64),
            {"dtype": DType.E4M3},
            "promote_k=64 is neither block_k=128 nor k=4096 or more; try promote_k=128",
        ),
        (
            SHORT.override(block_m=256),
            {"dtype": DType.E4M3},
            "128 rows of 192 columns per consumer warpgroup need 288 registers per thread; "
            "consumers=2 leaves 208; try block_n=128",
        ),
        (
            BYTES.override(block_k=64),
            {"dtype": DType.S8},
            "block_k=64 is not 128; TMA and wgmma"
            " swizzle rows of 128 bytes, which "
            "are 128 elements of s8; try "
            "block_k=128",
        ),
        (
            BYTES,
            TF32,
            "block_k=128 is not 32; TMA and wgmma swizzle rows of 128 bytes, which "
            "are 32 elements of f32; try block_k=32",
        ),
        (
            BYTES,
            {"dtype": DType.S8, "layout": Layout.TN},
            "mainloop=wgmma does not support this"
            " matmul: wgmma requires s8 operands "
            "with K contiguous, one of which can "
            "be transposed through registers, and"
            " layout=tn has K contiguous in "
            "neither; layout=nn has K contiguous "
            "in a; leave mainloop out",
        ),
        (
            BYTES,
            {"dtype": DType.S8, "layout": Layout.NN},
            "swap=0 makes b the operand for which"
            " wgmma requires K contiguous, and in"
            " b it is strided; try swap=1",
        ),
        (
            BYTES.override(swap=1, block_m=256, block_n=128, block_k=32),
            TF32 | {"layout": Layout.TT},
            "swap=1 makes a the operand for which wgmma requires K contiguous, and in a it is "
            "strided; try swap=0",
        ),
        (
            BYTES,
            {"dtype": DType.F32, "math": Math.TF32X3},
            "mainloop=wgmma does not support "
            "this matmul: wgmma does not support"
            " dtype=f32 with math=3xtf32; leave "
            "mainloop out",
        ),
        (
            BYTES,
            {"dtype": DType.S8, "lda": 4104},
            "mainloop=wgmma does not support this matmul:"
            " rows of a start at multiples of 8 bytes, "
            "and TMA requires multiples of 16; leave "
            "mainloop out",
        ),
    ],
)
def test_refusals(schedule: WgmmaMatmul, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        make(schedule, **fields)


@pytest.mark.parametrize("fields", [{"dtype": DType.S8}, {"dtype": DType.E4M3}, TF32], ids=str)
def test_the_choice_and_why_it_is_another(fields: dict[str, Any]) -> None:
    for layout, size in itertools.product(Layout, (512, 4096)):
        spec = spec_of(m=size, n=size, layout=layout, **fields)
        found = choose(spec, SM_90A)
        remarks = FAMILY.remarks(FAMILY.plan(spec, SM_90A, found))
        if layout is Layout.TN:
            assert isinstance(found, SplitMatmul)
            assert any(r.startswith("mma.sync instead of wgmma: wgmma requires") for r in remarks)
        elif size == 4096:
            assert isinstance(found, WgmmaMatmul)
            assert found.swap == (layout is Layout.NN)
            transposed = {Layout.NN: "B", Layout.TT: "A"}.get(layout)
            found_in = [r for r in remarks if "k becomes the inner dimension in registers" in r]
            assert [r[0] for r in found_in] == ([transposed] if transposed else [])


def test_bytes_are_predicted_at_twice_the_rate_and_tf32_at_half() -> None:
    tile = BYTES.override(num_workgroups=132, group_m=8, cluster_m=2)
    clocks = [
        predict(spec_of(**fields), SM_90A, tile.override(block_k=depth)).terms["products"]
        for fields, depth in (({"dtype": DType.S8}, 128), ({}, 64), (TF32, 32))
    ]
    assert [c / clocks[0] for c in clocks] == [1, 2, 4]


def test_fp8_sums_may_be_short_where_wgmma_multiplies() -> None:
    specs = (spec_of(dtype=DType.E4M3, layout=layout) for layout in (Layout.NN, Layout.TN))
    nn, tn = (FAMILY.tolerance(spec, SM_90A, FAMILY.choose(spec, SM_90A)) for spec in specs)
    assert nn.operand_error > tn.operand_error == 0.0
