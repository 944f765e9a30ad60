"""Tensor maps that a program makes or changes: tensormap.replace and its fences."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import EmulationFault, TensorMap, UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import Array, kernel, launch
from tests.emulate.ptx.ptxas import assemble

SHARED = "  .shared .align 128 .b8 made[128];\n  .shared .align 1024 .b8 tile[1024];\n"
SHARED += "  .shared .align 8 .b64 bar;\n  .reg .pred %first, %done;\n"
BEGIN = """
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %first, %r0, 0;
  mov.u32 %r1, made;
  mov.u32 %r2, tile;
  mov.u32 %r3, bar;
  @%first mbarrier.init.shared::cta.b64 [%r3], 1;
  @%first fence.mbarrier_init.release.cluster;
"""
ZERO = """
  mul.lo.u32 %r4, %r0, 4;
  add.u32 %r4, %r4, %r1;
  st.shared.u32 [%r4], 0;
  bar.warp.sync 0xffffffff;
"""
#: As CUTLASS does it: the host's map is copied, and then only some of its fields change.
COPY = """
  mov.b64 %d1, map;
  cvta.param.u64 %d1, %d1;
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  ld.u32 %r5, [%d1];
  mul.lo.u32 %r4, %r0, 4;
  add.u32 %r4, %r4, %r1;
  st.shared.u32 [%r4], %r5;
  bar.warp.sync 0xffffffff;
"""
PUBLISH = """
  bar.warp.sync 0xffffffff;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
    [%space], [%r1], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%space], 128;
"""
LOAD = """
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;
  @%first cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [%r2], [%space, {4, 2}], [%r3];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%r3], 0;
  @!%done bra wait;
  mul.lo.u32 %r4, %r0, 8;
  add.u32 %r4, %r4, %r2;
  ld.shared.u64 %d3, [%r4];
  mul.wide.u32 %d2, %r0, 8;
  add.u64 %d2, %d2, %out;
  st.global.u64 [%d2], %d3;
"""


def replace(field: str, *values: object, space: str = "shared::cta", at: str = "%r1") -> str:
    size = "b64" if field in ("global_address", "global_stride") else "b32"
    given = ", ".join(map(str, values))
    return f"  @%first tensormap.replace.tile.{field}.{space}.b1024.{size} [{at}], {given};\n"


def built(**changes: int) -> str:
    """Return a tensor map of 20 by 12 f32 in rows of 96 bytes, with a box of 8 by 8, made by
    tensormap.replace alone."""
    fields = {"elemtype": 7, "interleave_layout": 0, "swizzle_mode": 0, "fill_mode": 1, **changes}
    return (
        "  mov.u64 %d4, 96;\n"
        + replace("global_address", "%in")
        + replace("rank", 1)
        + replace("box_dim", 0, 8)
        + replace("box_dim", 1, 8)
        + replace("global_dim", 0, 20)
        + replace("global_dim", 1, 12)
        + replace("global_stride", 0, "%d4")
        + replace("element_stride", 0, 1)
        + replace("element_stride", 1, 1)
        + "".join(replace(name, value) for name, value in fields.items())
    )


def program(body: str, *, by_map: bool = False) -> str:
    source = kernel(body, params=("in", "space", "out"), declarations=SHARED)
    if by_map:
        source = source.replace(
            "  .param .u64 out\n", "  .param .u64 out,\n  .param .align 64 .b8 map[128]\n"
        )
    source = source.replace(".version 8.0", ".version 8.6").replace("sm_90\n", "sm_90a\n")
    assemble(source)
    return source


DATA = np.arange(24 * 12, dtype=np.float32)


def result(source: str, *more: object, size: int = 64, **options: object) -> Array:
    out = np.zeros(size, np.float32)
    launch(source, DATA, np.zeros(128, np.uint8), out, *more, **options)  # type: ignore[arg-type]
    return out


def box() -> Array:
    """Return the box at (4, 2) of 20 by 12 elements in rows of 24."""
    return DATA.reshape(12, 24)[2:10, 4:12].reshape(-1)


@pytest.mark.parametrize("seed", range(3))
def test_a_map_made_from_nothing_loads_its_box(seed: int) -> None:
    source = program(BEGIN + ZERO + built() + PUBLISH + LOAD)
    assert (result(source, seed=seed) == box()).all()


def test_a_map_made_in_global_memory() -> None:
    zero = ZERO.replace(
        "add.u32 %r4, %r4, %r1", "cvt.u64.u32 %d2, %r4;\n  add.u64 %d2, %d2, %space"
    )
    zero = zero.replace("st.shared.u32 [%r4]", "st.global.u32 [%d2]")
    made = built().replace("shared::cta.b1024", "global.b1024").replace("[%r1]", "[%space]")
    fence = "  fence.proxy.tensormap::generic.release.gpu;\n"
    fence += "  fence.proxy.tensormap::generic.acquire.gpu [%space], 128;\n"
    source = program(BEGIN + zero + made + fence + LOAD)
    assert (result(source) == box()).all()
    # Generic addresses reach it too.
    source = program(BEGIN + zero + made.replace(".global.b1024", ".b1024") + fence + LOAD)
    assert (result(source) == box()).all()


def test_fields_of_a_copied_map_change_and_the_others_stay() -> None:
    other = np.zeros(64 * 16, np.float32)
    map_ = TensorMap(buffer=other, dtype="f32", shape=(64, 16), box=(8, 8), fill="nan")
    changes = "  mov.u64 %d4, 96;\n" + replace("global_address", "%in")
    changes += replace("global_stride", 0, "%d4") + replace("global_dim", 0, 10)
    changes += "  mov.u32 %r6, 6;\n" + replace("global_dim", 1, "%r6")
    source = program(BEGIN + COPY + changes + PUBLISH + LOAD, by_map=True)
    found = result(source, map_).reshape(8, 8)
    wanted = box().reshape(8, 8)
    assert (found[:4, :6] == wanted[:4, :6]).all()
    assert np.isnan(found[4:]).all() and np.isnan(found[:, 6:]).all()


def test_a_swizzle_and_an_element_type_that_change() -> None:
    made = built(swizzle_mode=1, elemtype=2, fill_mode=0)
    found = result(program(BEGIN + ZERO + made + PUBLISH + LOAD))
    chunks = box().reshape(16, 4)
    turned = [n ^ (n >> 3 & 1) for n in range(16)]
    assert (found.reshape(16, 4) == chunks[turned]).all()


def test_a_store_through_a_map_that_the_program_made_is_checked() -> None:
    fill = """
  mul.lo.u32 %r4, %r0, 8;
  add.u32 %r4, %r4, %r2;
  st.shared.v2.f32 [%r4], {0f3F800000, 0f3F800000};
  fence.proxy.async.shared::cta;
  bar.warp.sync 0xffffffff;
"""
    store = """
  @%first cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%space, {4, 2}], [%r2];
  @%first cp.async.bulk.commit_group;
  @%first cp.async.bulk.wait_group 0;
"""
    made = built(fill_mode=0).replace("%in", "%out")
    source = program(BEGIN + ZERO + made + PUBLISH + fill + store)
    out = result(source, size=288).reshape(12, 24)
    assert (out[2:10, 4:12] == 1).all()
    assert out.sum() == 64
    other = (
        "  mul.wide.u32 %d2, %r0, 4;\n  add.u64 %d2, %d2, %out;\n  st.global.u32 [%d2+192], 5;\n"
    )
    with pytest.raises(EmulationFault) as found:
        result(program(BEGIN + ZERO + made + PUBLISH + fill + store + other), size=288)
    assert found.value.fault.kind == "race"


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (built() + PUBLISH, "uninitialised-read", "no thread has written"),
        (ZERO + built() + replace("rank", 7) + PUBLISH + LOAD, "trap", "has 8 dimensions"),
        (ZERO + built() + replace("box_dim", 1, 300) + PUBLISH + LOAD, "trap", "300 in box"),
        (ZERO + built() + replace("global_dim", 1, 13) + PUBLISH + LOAD, "trap", "its buffer has"),
        (
            ZERO + built() + replace("global_address", "%d15") + PUBLISH + LOAD,
            "trap",
            "0x10, which is in no buffer",
        ),
        (ZERO + PUBLISH + LOAD, "out-of-bounds", "there is no tensor map at the address"),
        # Other lanes clear the map, with no barrier before it is changed.
        (
            ZERO.replace("bar.warp.sync 0xffffffff;", "") + built() + PUBLISH + LOAD,
            "race",
            "another thread wrote",
        ),
    ],
)
def test_what_goes_wrong_with_changes(body: str, kind: str, message: str) -> None:
    source = program(BEGIN + "  mov.u64 %d15, 16;\n" + body)
    with pytest.raises(EmulationFault, match=message) as found:
        result(source)
    assert found.value.fault.kind == kind


@pytest.mark.parametrize(
    ("field", "value"),
    [("elemtype", 8), ("elemtype", 13), ("interleave_layout", 1), ("swizzle_mode", 4)],
)
def test_what_is_not_supported_is_refused_in_one_line(field: str, value: int) -> None:
    source = kernel(
        BEGIN + replace(field, value), params=("in", "space", "out"), declarations=SHARED
    )
    with pytest.raises(EmulationError, match=f"of {field} by {value} is not supported") as found:
        result(source)
    assert len(str(found.value)) <= 500 and "\n" not in str(found.value)


def test_a_dimension_or_a_form_that_does_not_exist() -> None:
    def run(body: str) -> None:
        result(kernel(BEGIN + body, params=("in", "space", "out"), declarations=SHARED))

    with pytest.raises(EmulationError, match="global_stride 4; a tensor map has 4"):
        run(replace("global_stride", 4, "%d4"))
    for wrong in (
        replace("rank", 0, 1),
        replace("rank", 1).replace(".tile", ""),
        replace("rank", 1).replace("b32", "b64"),
        replace("rank", 1).replace("shared::cta", "shared::cluster"),
        PUBLISH.replace("128", "64"),
    ):
        with pytest.raises(UnknownInstruction):
            run(wrong)
