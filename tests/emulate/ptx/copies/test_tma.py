"""Tensor copies: the place of every byte of a box, with swizzles and at edges, and reductions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kgen.emulate import TensorMap
from tests.emulate.ptx.bulk_programs import (
    BY_VALUE,
    FILL,
    LOAD_VALUE,
    WORDS,
    coordinates,
    launch,
    load_program,
    program,
)
from tests.emulate.ptx.ptx_kernels import Array
from tests.emulate.ptx.ptxas import assemble


def swizzled(byte: int, span: int) -> int:
    """Return the place of a byte of a box: 16-byte columns swap, in a pattern of 8 rows."""
    if span == 0:
        return byte
    line, column = byte // 128, byte % 128 // 16
    turn = {128: line % 8, 64: line % 4, 32: line % 2}[span]
    return line * 128 + (column ^ turn) * 16 + byte % 16


def expected_box(tensor: Array, map_: TensorMap, at: tuple[int, ...], fill: bytes) -> Array:
    """Return the bytes of shared memory, element by element; the tensor's axes are outermost
    first."""
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
    """Return (buffer, tensor, byte strides): different values, in rows a multiple of 16 bytes
    apart."""
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
