"""Bulk and tensor copies: where every byte goes, what lies outside, what may go wrong."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, TensorMap, UnknownInstruction, run
from kgen.errors import EmulationError
from tests.emulate.ptx_kernels import Array
from tests.emulate.ptxas import assemble

#: A module with up to five 32-bit coordinates; thread 0 has made an mbarrier at %bar.
HEAD = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k(MAP, .param .u64 in, .param .u64 out, .param .u32 size
  , .param .u32 c0, .param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4)
{
  .reg .pred %first, %done, %more;
  .reg .b16 %mask;
  .reg .b32 %t, %tile, %bar, %size, %i, %r, %at, %c0, %c1, %c2, %c3, %c4;
  .reg .b64 %map, %in, %out, %d;
  .shared .align 8 .b64 bar;
  LOADMAP
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %size, [size];
  ld.param.u32 %c0, [c0];
  ld.param.u32 %c1, [c1];
  ld.param.u32 %c2, [c2];
  ld.param.u32 %c3, [c3];
  ld.param.u32 %c4, [c4];
  mov.u32 %t, %tid.x;
  mov.u32 %tile, tile;
  mov.u32 %bar, bar;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 1;
  @%first fence.mbarrier_init.release.cluster;
  bar.sync 0;
"""
WAIT = """
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %size;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra wait;
"""
#: All threads copy `size` bytes of shared memory to out, as they lie there.
DUMP = """
  mad.lo.u32 %i, %t, 4, 0;
dump:
  setp.ge.u32 %done, %i, %size;
  @%done bra dumped;
  add.u32 %at, %tile, %i;
  ld.shared.u32 %r, [%at];
  cvt.u64.u32 %d, %i;
  add.u64 %d, %d, %out;
  st.global.u32 [%d], %r;
  add.u32 %i, %i, 128;
  bra dump;
dumped:
"""
#: All threads copy `size` bytes of `in` to shared memory, for the async proxy to read.
FILL = """
  mad.lo.u32 %i, %t, 4, 0;
fill:
  setp.ge.u32 %done, %i, %size;
  @%done bra filled;
  add.u32 %at, %tile, %i;
  cvt.u64.u32 %d, %i;
  add.u64 %d, %d, %in;
  ld.global.u32 %r, [%d];
  st.shared.u32 [%at], %r;
  add.u32 %i, %i, 128;
  bra fill;
filled:
  fence.proxy.async.shared::cta;
  bar.sync 0;
"""
BY_VALUE = ".param .align 64 .b8 map[128]"
LOAD_VALUE = "mov.b64 %map, map;\n  cvta.param.u64 %map, %map;"


def program(
    body: str, *, parameter: str = BY_VALUE, load: str = LOAD_VALUE, version: str = "8.0"
) -> str:
    head = HEAD.replace("LOADMAP", load).replace("MAP", parameter).replace("8.0", version)
    source = f"{head}{body}\n  ret;\n}}\n"
    assemble(source, "sm_90a")
    return source


def launch(
    source: str,
    map_: TensorMap | np.generic,
    data: Array,
    out: Array,
    size: int,
    at: tuple[int, ...] = (),
    **options: Any,
) -> Any:
    coordinates = [np.int32(c) for c in (*at, 0, 0, 0, 0, 0)[:5]]
    return run(
        source,
        language="ptx",
        entry="k",
        grid=(1, 1, 1),
        block=(32, 1, 1),
        arguments=[map_, data, out, np.uint32(size), *coordinates],
        dynamic_shared=65536,
        **options,
    )


NO_MAP, NONE = {"parameter": ".param .u64 map", "load": "ld.param.u64 %map, [map];"}, np.uint64(0)
WORDS = np.arange(4096, dtype=np.uint32)


# ---------------------------------------------------------------------- plain bulk copies


@pytest.mark.parametrize("space", ["shared::cluster", "shared::cta"])
def test_bulk_load(space: str) -> None:
    body = f"""
  @%first cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes [%tile], [%in], %size, [%bar];
{WAIT}{DUMP}"""
    source = program(body, version="8.6", **NO_MAP)
    out = np.zeros(512, np.uint32)
    launch(source, NONE, WORDS, out, 1040)
    assert (out[:260] == WORDS[:260]).all() and not out[260:].any()


def test_every_lane_copies_a_row() -> None:
    body = f"""
  mad.lo.u32 %at, %t, 32, %tile;
  mad.wide.u32 %d, %t, 48, %in;
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;
  bar.warp.sync 0xffffffff;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%d], 32, [%bar];
{WAIT.replace("  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %size;", "")}{DUMP}"""
    out = np.zeros(256, np.uint32)
    launch(program(body, **NO_MAP), NONE, WORDS, out, 1024)
    assert (out.reshape(32, 8) == WORDS[: 32 * 12].reshape(32, 12)[:, :8]).all()


STORE = """
  @!%first bra stored;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], %size;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
stored:
"""


def test_bulk_store() -> None:
    out = np.zeros(512, np.uint32)
    launch(program(FILL + STORE, **NO_MAP), NONE, WORDS, out, 1040)
    assert (out[:260] == WORDS[:260]).all() and not out[260:].any()


@pytest.mark.parametrize(
    ("suffix", "dtype", "function"),
    [
        ("add.u32", np.uint32, np.add),
        ("min.s32", np.int32, np.minimum),
        ("max.u64", np.uint64, np.maximum),
        ("and.b32", np.uint32, np.bitwise_and),
        ("xor.b64", np.uint64, np.bitwise_xor),
        ("add.f32", np.float32, np.add),
        ("add.noftz.f16", np.float16, np.add),
        ("max.f16", np.float16, np.maximum),
    ],
)
def test_bulk_reduction(suffix: str, dtype: Any, function: Any) -> None:
    rng = np.random.default_rng(1)
    count = 1024 // np.dtype(dtype).itemsize
    new, out = (rng.integers(0, 999, count).astype(dtype) for _ in range(2))
    if suffix.endswith("s32"):
        new -= 500
    wanted = function(out, new)
    body = FILL + STORE.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global")
    body = body.replace("bulk_group [%out]", f"bulk_group.{suffix} [%out]")
    launch(program(body, **NO_MAP), NONE, new, out, 1024)
    assert (out == wanted).all()


def test_bulk_faults() -> None:
    load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    body = f"  @%first {load} [%tile], [%in], %size, [%bar];" + WAIT + DUMP
    source, out = program(body, **NO_MAP), np.zeros(8192, np.uint32)
    for size, kind in ((1000, "misaligned"), (16400, "out-of-bounds")):
        with pytest.raises(EmulationFault, match=kind):
            launch(source, NONE, WORDS, out, size)
    too_few = program(body.replace("[%bar], %size;", "[%bar], 512;"), **NO_MAP)
    with pytest.raises(EmulationFault, match="transaction-count"):
        launch(too_few, NONE, WORDS, out, 1024)
    waitless = program(body.replace("@!%done bra wait;", ""), **NO_MAP)
    with pytest.raises(EmulationFault, match="pending-copy"):
        launch(waitless, NONE, WORDS, out, 1024)
    unfenced = program(FILL.replace("fence.proxy.async.shared::cta;", "") + STORE, **NO_MAP)
    with pytest.raises(EmulationFault, match="missing-proxy-fence"):
        launch(unfenced, NONE, WORDS, out, 1024)
    forgotten = program(FILL + STORE.replace("cp.async.bulk.wait_group 0;", ""), **NO_MAP)
    with pytest.raises(EmulationFault, match="ends while"):
        launch(forgotten, NONE, WORDS, out, 1024)


@pytest.mark.parametrize(
    ("wait", "races"),
    [("wait_group 0", False), ("wait_group.read 0", False), ("wait_group 1", True)],
)
def test_the_source_of_a_store_is_free_after_its_wait(wait: str, races: bool) -> None:
    again = "\n  @%first st.shared.u32 [%tile], 7;\n  @%first cp.async.bulk.wait_group 0;"
    source = program(FILL + STORE.replace("wait_group 0", wait) + again, **NO_MAP)
    out = np.zeros(512, np.uint32)
    if races:
        with pytest.raises(EmulationFault, match="may still read"):
            launch(source, NONE, WORDS, out, 1024)
    else:
        launch(source, NONE, WORDS, out, 1024)
        assert (out[:256] == WORDS[:256]).all()


# ---------------------------------------------------------------------- tensors


def coordinates(rank: int) -> str:
    return "{" + ", ".join(f"%c{i}" for i in range(rank)) + "}"


def load_program(rank: int) -> str:
    load = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    return program(f"  @%first {load} [%tile], [%map, {coordinates(rank)}], [%bar];\n{WAIT}{DUMP}")


def swizzled(byte: int, span: int) -> int:
    """Where a byte of a box goes: 16-byte columns are exchanged, in a pattern of 8 rows."""
    if span == 0:
        return byte
    line, column = byte // 128, byte % 128 // 16
    turn = {128: line % 8, 64: line % 4, 32: line % 2}[span]
    return line * 128 + (column ^ turn) * 16 + byte % 16


def expected_box(tensor: Array, map_: TensorMap, at: tuple[int, ...], fill: bytes) -> Array:
    """The bytes of shared memory, element by element; the tensor's axes are outermost first."""
    size = tensor.dtype.itemsize
    steps = map_.element_strides or (1,) * tensor.ndim
    counts = [-(-b // s) for b, s in zip(map_.box, (1, *steps[1:]), strict=True)]
    found = bytearray(int(np.prod(counts)) * size)
    for number, index in enumerate(itertools.product(*(range(n) for n in counts[::-1]))):
        place = [
            start + i * (step if axis else 1)
            for axis, (start, i, step) in enumerate(zip(at, index[::-1], steps, strict=True))
        ]
        inside = all(0 <= p < n for p, n in zip(place, tensor.shape[::-1], strict=True))
        value = tensor[tuple(place[::-1])].tobytes() if inside else fill
        for b in range(size):
            found[swizzled(number * size + b, map_.swizzle)] = value[b]
    return np.frombuffer(bytes(found), np.uint8)


CASES: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("f16", {"shape": (200,), "box": (64,)}, (16,)),
    ("f32", {"shape": (40, 30), "box": (16, 8)}, (8, 3)),
    ("f16", {"shape": (72, 50), "box": (64, 16), "swizzle": 128}, (8, 40)),
    ("f16", {"shape": (72, 50), "box": (32, 16), "swizzle": 64}, (-8, -3)),
    ("u8", {"shape": (80, 20), "box": (32, 16), "swizzle": 32}, (64, 8)),
    ("f32", {"shape": (12, 10, 6), "box": (8, 3, 4), "swizzle": 32}, (8, -1, 4)),
    ("bf16", {"shape": (24, 6, 5, 4), "box": (8, 2, 3, 2)}, (20, 5, -1, 3)),
    ("s32", {"shape": (8, 3, 4, 3, 2), "box": (4, 2, 2, 2, 2)}, (4, 1, 3, -1, 1)),
    ("f16", {"shape": (16, 40), "box": (16, 13), "element_strides": (1, 3)}, (0, 5)),
    ("f16", {"shape": (16, 40, 9), "box": (8, 5, 4), "element_strides": (4, 2, 2)}, (8, 37, 6)),
    ("f64", {"shape": (10, 10), "box": (2, 4)}, (9, 9)),
    ("u16", {"shape": (64, 64), "box": (64, 64), "swizzle": 128}, (0, 0)),
]
STORAGE = {
    **{f"u{8 * n}": f"u{n}" for n in (1, 2, 4, 8)},
    **{f"f{8 * n}": f"f{n}" for n in (2, 4, 8)},
    "s32": "i4",
    "bf16": "u2",
}


def tensor_of(dtype: str, shape: tuple[int, ...], pad: int = 0) -> tuple[Array, Array, list[int]]:
    """(buffer, tensor, byte strides): values that differ, rows a multiple of 16 bytes apart."""
    storage = np.dtype(STORAGE[dtype])
    size = storage.itemsize
    row = -(-shape[0] * size // 16) * 16 + pad
    strides = [row]
    for n in shape[1:-1]:
        strides.append(strides[-1] * n)
    strides = strides[: len(shape) - 1]
    total = (strides[-1] * shape[-1]) if strides else row
    buffer = np.random.default_rng(3).integers(0, 120, total // size).astype(storage)
    tensor = np.ndarray(shape[::-1], storage, buffer.data, strides=(*strides[::-1], size))
    return buffer, tensor, strides


@pytest.mark.parametrize("pad", [0, 32])
@pytest.mark.parametrize(("dtype", "fields", "at"), CASES)
def test_tensor_load(dtype: str, fields: dict[str, Any], at: tuple[int, ...], pad: int) -> None:
    buffer, tensor, strides = tensor_of(dtype, fields["shape"], pad)
    map_ = TensorMap(buffer=buffer, dtype=dtype, strides=strides, **fields)
    wanted = expected_box(tensor, map_, at, bytes(8))
    out = np.zeros(wanted.size, np.uint8)
    launch(load_program(tensor.ndim), map_, WORDS, out, wanted.size, at)
    assert (out == wanted).all()


def test_outside_is_nan_on_request() -> None:
    buffer, tensor, strides = tensor_of("f16", (16, 8))
    map_ = TensorMap(
        buffer=buffer, dtype="f16", shape=(16, 8), strides=strides, box=(8, 8), fill="nan"
    )
    out = np.zeros(64, np.float16)
    launch(load_program(2), map_, WORDS, out, 128, (12, 4))
    box = out.reshape(8, 8)
    assert (box[:4, :4] == tensor[4:, 12:]).all()
    assert np.isnan(box[4:]).all() and np.isnan(box[:, 4:]).all()


def store_program(rank: int, reduction: str = "") -> str:
    opcode = "cp.reduce.async.bulk" if reduction else "cp.async.bulk"
    form = f"{opcode}.tensor.{rank}d.global.shared::cta{reduction}.tile.bulk_group"
    return program(
        FILL
        + f"""
  @!%first bra stored;
  {form} [%map, {coordinates(rank)}], [%tile];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
stored:
"""
    )


@pytest.mark.parametrize(("dtype", "fields", "at"), CASES)
def test_tensor_store_is_the_inverse_of_a_load(
    dtype: str, fields: dict[str, Any], at: tuple[int, ...]
) -> None:
    buffer, tensor, strides = tensor_of(dtype, fields["shape"])
    source = TensorMap(buffer=buffer.copy(), dtype=dtype, strides=strides, **fields)
    box = expected_box(tensor, source, at, bytes(8))
    empty = np.zeros_like(buffer)
    map_ = TensorMap(buffer=empty, dtype=dtype, strides=strides, **fields)
    launch(store_program(tensor.ndim), map_, box, WORDS, box.size, at)
    stored = np.ndarray(tensor.shape, tensor.dtype, empty.data, strides=tensor.strides)
    assert (expected_box(stored, map_, at, bytes(8)) == box).all()
    assert np.count_nonzero(empty) == np.count_nonzero(stored) <= np.count_nonzero(box)


@pytest.mark.parametrize(
    ("name", "dtype", "function"),
    [
        ("add", "f32", np.add),
        ("min", "s32", np.minimum),
        ("max", "f16", np.maximum),
        ("or", "u32", np.bitwise_or),
    ],
)
def test_tensor_reduction(name: str, dtype: str, function: Any) -> None:
    buffer, tensor, strides = tensor_of(dtype, (16, 8))
    before = tensor.copy()
    new = np.arange(64).reshape(8, 8).astype(tensor.dtype)
    map_ = TensorMap(buffer=buffer, dtype=dtype, shape=(16, 8), strides=strides, box=(8, 8))
    launch(store_program(2, f".{name}"), map_, new, WORDS, new.nbytes, (4, 2))
    before[2:, 4:12] = function(before[2:, 4:12], new[:6])
    assert (tensor == before).all()


def test_a_map_behind_a_pointer() -> None:
    source = (
        load_program(2)
        .replace(BY_VALUE, ".param .u64 map")
        .replace(LOAD_VALUE, "ld.param.u64 %map, [map];")
    )
    assemble(source)
    buffer, tensor, strides = tensor_of("f32", (16, 8))
    map_ = TensorMap(buffer=buffer, dtype="f32", shape=(16, 8), strides=strides, box=(4, 2))
    out = np.zeros(8, np.float32)
    launch(source, map_, WORDS, out, 32, (8, 4))
    assert (out.reshape(2, 4) == tensor[4:6, 8:12]).all()


def test_a_profile_counts_rows_of_boxes() -> None:
    buffer, _, strides = tensor_of("f16", (64, 64))
    fields: dict[str, Any] = {"shape": (64, 64), "strides": strides, "box": (32, 8)}
    map_ = TensorMap(buffer=buffer, dtype="f16", **fields)
    out = np.zeros(512, np.uint8)
    report = launch(load_program(2), map_, WORDS, out, 512, (48, 60), profile=True)
    # 4 rows of 16 elements are inside; what is stored are 512 bytes.
    assert report.counters["global_load_bytes"] == 4 * 32
    assert report.counters["global_load_sectors"] == 4
    assert report.counters["copy"] == 1


# ---------------------------------------------------------------------- what is refused


def small_map() -> TensorMap:
    return TensorMap(buffer=WORDS, dtype="u32", shape=(64, 8), box=(8, 8))


def test_what_goes_wrong_with_maps() -> None:
    out = np.zeros(64, np.uint32)
    source = load_program(2)
    with pytest.raises(EmulationFault, match=r"cvta\.param"):
        launch(source.replace("cvta.param.u64 %map, %map;", ""), small_map(), WORDS, out, 256)
    three = load_program(3)
    with pytest.raises(EmulationFault, match="2 dimensions, not 3"):
        launch(three, small_map(), WORDS, out, 256)
    moved = source.replace("[%tile], [%map", "[%tile+64], [%map")
    with pytest.raises(EmulationFault, match="misaligned"):
        launch(moved, small_map(), WORDS, out, 256)
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        launch(
            source.replace("[%tile], [%map", "[%tile+65408], [%map"), small_map(), WORDS, out, 256
        )
    im2col = program(
        "  @%first cp.async.bulk.tensor.3d.shared::cluster.global.im2col"
        ".mbarrier::complete_tx::bytes [%tile], [%map, {%c0, %c1, %c2}], [%bar], {%mask};"
    )
    with pytest.raises(UnknownInstruction, match="im2col"):
        launch(im2col, small_map(), WORDS, out, 256)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "e4m3"}, "no dtype e4m3"),
        ({"shape": ()}, "0 dimensions"),
        ({"box": (8,)}, "1 values in box"),
        ({"box": (8, 257)}, "257 in box"),
        ({"box": (8, 0)}, "0 in box"),
        ({"strides": (40,)}, "stride of 40 bytes"),
        ({"strides": (64, 64)}, "1 strides"),
        ({"box": (6, 8), "dtype": "u16"}, "rows of 12 bytes"),
        ({"box": (16, 8), "swizzle": 32}, "longer than the swizzle"),
        ({"box": (4, 8), "swizzle": 32}, "must fill the swizzle"),
        ({"swizzle": 16}, "not 16"),
        ({"element_strides": (1, 9)}, "9 in element_strides"),
        ({"fill": "nan"}, "cannot fill u32"),
        ({"fill": "one"}, "not one"),
        ({"shape": (64, 999)}, "of a buffer of 16384"),
    ],
)
def test_maps_that_the_driver_would_refuse(change: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"dtype": "u32", "shape": (64, 8), "box": (8, 8), **change}
    with pytest.raises(EmulationError, match=message):
        TensorMap(buffer=WORDS, **fields)
