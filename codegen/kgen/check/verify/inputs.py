"""Seeded test data of a kernel: raw buffers, with poison where a kernel must not read or write.

Stride gaps of inputs hold NaN, which shows if one is read. Outputs are filled with another NaN,
which shows elements that were not written and gaps that were.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from kgen.check.oracle.operations import domain, formulas_of, looks, row_shape, rows_first
from kgen.check.tensors import (
    BITS,
    Bits,
    Bytes,
    Floats,
    Mask,
    empty_buffer,
    encode,
    flat_bits,
    strided_bits,
)
from kgen.check.verify import attention_values, special_values, transformed_values
from kgen_runtime import blocks
from kgen_runtime.dtypes import DType
from kgen_runtime.expressions import views
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.memory import packing
from kgen_runtime.reference.winograd_weights import winograd_tile
from kgen_runtime.schema.partial_writes import overwritten_table
from kgen_runtime.values import frozen

#: Poison: quiet NaNs that no arithmetic produces, with a payload of alternating bits or, in 8 bits,
#: a sign. s32 uses a number that no sum of 65536 products reaches. s8, u8 and the FNUZ types have
#: no such pattern; in these, an unwritten element shows by its wrong value.
INPUT_POISON = {
    DType.F64: 0x7FFA_5A5A_5A5A_5A5A,
    DType.F32: 0x7FDA_5A5A,
    DType.F16: 0x7E5A,
    DType.BF16: 0x7FDA,
    DType.E4M3: 0x7F,
    DType.E5M2: 0x7D,
    DType.E4M3FNUZ: 0x80,
    DType.E5M2FNUZ: 0x80,
    DType.S64: 0x5A5A_5A5A_5A5A_5A5A,
    DType.S32: 0x5A5A_5A5A,
    DType.S8: 0x5A,
    DType.U8: 0x5A,
    DType.BOOL: 0x5A,
}
OUTPUT_POISON = {
    DType.F64: 0xFFFA_A5A5_A5A5_A5A5,
    DType.F32: 0xFFEA_5A5A,
    DType.F16: 0xFEA5,
    DType.BF16: 0xFFEA,
    DType.E4M3: 0xFF,
    DType.E5M2: 0xFE,
    DType.E4M3FNUZ: 0xA5,
    DType.E5M2FNUZ: 0xA5,
    DType.S32: 0xA5A5_A5A5,
    DType.S8: 0xA5,
    DType.U8: 0xA5,
    DType.BOOL: 0xA5,
    DType.S64: 0xA5A5_A5A5_A5A5_A5A5,
}

#: Largest integer: with K = 2**20, sums of products stay at most 2**24.
WHOLE_LIMIT = 4
#: Largest input x of the integer data: logits far enough apart for small exponentials.
LOGIT_LIMIT = 20


@frozen
class DataSet:
    """Set of inputs. `whole` says that all values are integers.

    `turns` is the number of sets of the same kind, which share the time of the scalar reference.
    """

    name: str
    whole: bool
    buffers: dict[str, Bytes]
    turns: int = 1


def data_sets(entry: KernelEntry, seed: int) -> Iterator[DataSet]:
    """Yield the data sets of a kernel; constants are not packed yet."""
    entry = entry.unpacked
    integers = entry.op in ("matmul", "conv2d") and entry.inputs[0].dtype.is_integer
    turns = _special_turns(entry)
    if not (turns and entry.op == "matmul" and special_values.is_large(entry)):
        random = _random_integers if integers else _random
        yield _fill(entry, "random", seed, _wide(entry, random))
    yield _fill(entry, "whole-number", seed, _whole, whole=True)
    if entry.op == "attention":
        yield _fill(entry, attention_values.EQUAL_KEYS, seed, _random)
    for turn in range(turns):
        data = _fill(entry, "special-value", seed + turn, _special(entry, seed, turn))
        yield replace(data, turns=turns)


def _special_turns(entry: KernelEntry) -> int:
    """Return the number of special-value sets of a kernel."""
    if entry.spec["op"] == "rowwise":
        return special_values.row_turns(*row_shape(entry))
    if entry.op in ("conv2d", "attention"):
        return 1
    if entry.op != "matmul":
        return special_values.element_turns(entry)
    if entry.spec["alpha"] == 0.0:
        return 0
    if entry.inputs[0].dtype.is_integer:
        return 0 if special_values.is_large(entry) else 1
    return special_values.matmul_turns(entry)


Maker = Callable[[np.random.Generator, TensorParam], Floats]


def _fill(entry: KernelEntry, name: str, seed: int, make: Maker, whole: bool = False) -> DataSet:
    generator = np.random.default_rng([seed, zlib.crc32(f"{entry.key} {name}".encode())])
    places, table = index_places(entry), overwritten_table(entry.spec)
    if entry.op == "attention":
        make = attention_values.maker(entry, seed, make, name)
    if winograd_tile(entry.spec):
        make = transformed_values.maker(entry, make, whole=whole)
    buffers = {}
    for param in entry.inputs:
        buffer = poisoned(param.nbytes, param.dtype, INPUT_POISON)
        bits = strided_bits(buffer, param)
        if param.name in places:
            draw = _distinct_indices if table else _indices
            bits[...] = draw(generator, param, places[param.name], whole)
        elif param.name == "b" and entry.spec.get("b_dtype") == "s4":
            bits[...] = _blocks(generator, entry, param, make, whole)
        else:
            bits[...] = encode(make(generator, param), param.dtype)
        buffers[param.name] = buffer
    return DataSet(name=name, whole=whole, buffers=buffers)


def _blocks(
    generator: np.random.Generator, entry: KernelEntry, param: TensorParam, make: Maker, whole: bool
) -> Bits:
    """Return blocks of 4-bit numbers with the signs of made ones, and f16 scales of any size."""
    numbers = (*param.shape[:-1], entry.spec["k"])
    made = make(generator, replace(param, dtype=DType.S8, shape=numbers, strides=(1,)))
    values = made.reshape(-1, numbers[-1]).astype(np.int8)
    shape = len(values), -(-numbers[-1] // blocks.BLOCK)
    if whole:
        return blocks.packed(values, np.ones(shape)).reshape(param.shape)
    exponents = generator.integers(-20, 12, shape)
    scales = np.ldexp(1.0 + generator.integers(0, 1024, shape) / 1024, exponents)
    # Keep zeros out: special values of A would turn them into NaN.
    few = np.where((values > 0) & (values < 16), 1, values // 16)
    return blocks.packed(few, scales).reshape(param.shape)


def index_places(entry: KernelEntry) -> dict[str, set[int]]:
    """Return the inputs that serve as indices, and the sizes of the indexed axes."""
    if entry.spec["op"] != "elementwise":
        return {}
    shapes = {p.name: p.shape for p in entry.inputs}
    return views.index_places(formulas_of(entry), shapes)


def _no_places(param: TensorParam, largest: int) -> list[int]:
    """Return indices that are out of range.

    They are the limits of the type, and 64-bit numbers that would be valid if cut to 32 bits.
    """
    info = np.iinfo(param.dtype.storage)
    found = [info.min, info.max]
    if param.dtype is DType.S64:
        found += [2**32, 2**32 + largest - 1, -(2**32), -(2**32) - 1, 2**63 - largest]
    return found


def _distinct_indices(
    generator: np.random.Generator, param: TensorParam, places: set[int], most_are_none: bool
) -> Bits:
    """Return indices of a scatter: each place at most once, from the start or the end.

    The remainder is out of range: about half of the indices.
    """
    (n,) = places
    values = np.full(math.prod(param.shape), n, np.int64)
    found = generator.permutation(n)[: values.size]
    values[: found.size] = np.where(generator.random(found.size) < 0.5, found, found - n)
    none = generator.permutation(np.array([-n - 1, n, *_no_places(param, n)], np.int64))
    others = np.resize(none, (values.size + most_are_none) // 2)
    values[: others.size] = others
    values = generator.permutation(values).reshape(param.shape)
    return np.asarray(values.astype(param.dtype.storage)).view(BITS[param.dtype.itemsize])


def _indices(generator: np.random.Generator, param: TensorParam, places: set[int], _: bool) -> Bits:
    """Return indices of a gather: mostly valid ones, also negative, and invalid ones."""
    largest = max(places)
    ends = [e for n in places for e in (-n - 1, -n, -1, 0, n - 1, n)]
    ends += _no_places(param, largest)
    values = generator.integers(-largest, largest, param.shape, np.int64)
    # Spread the edge cases evenly over up to half of the indices.
    others = np.resize(generator.permutation(np.array(ends, np.int64)), (values.size + 1) // 2)
    values.reshape(-1)[generator.permutation(values.size)[: others.size]] = others
    return np.asarray(values.astype(param.dtype.storage)).view(BITS[param.dtype.itemsize])


def as_taken(entry: KernelEntry, buffers: Mapping[str, Bytes]) -> dict[str, Bytes]:
    """Return the inputs in the form that the kernel accepts."""
    taken = dict(buffers)
    for param in entry.inputs:
        if param.packing is not None:
            taken[param.name] = empty_buffer(param.nbytes)
            packing.pack(param, buffers[param.name], taken[param.name])
    return taken


def output_buffers(entry: KernelEntry, taken: Mapping[str, Bytes]) -> dict[str, Bytes]:
    """Return outputs full of poison, by name; an output in an input's memory holds the input."""
    table = overwritten_table(entry.spec)
    if table is not None:
        found = {p.name: empty_buffer(p.nbytes) for p in entry.outputs}
        for buffer in found.values():
            buffer[:] = taken[table]
        return found
    return {p.name: poisoned(p.nbytes, p.dtype, OUTPUT_POISON) for p in entry.outputs}


def poisoned(nbytes: int, dtype: DType, poison: dict[DType, int]) -> Bytes:
    buffer = empty_buffer(nbytes)
    flat_bits(buffer, dtype)[:] = poison[dtype]
    return buffer


def untouched_gaps(buffer: Bytes, param: TensorParam) -> bool:
    """Whether all of the output's buffer outside the tensor still holds poison."""
    mask = flat_bits(buffer, param.dtype) == OUTPUT_POISON[param.dtype]
    view = np.lib.stride_tricks.as_strided(mask, param.shape, param.strides)
    view[...] = True
    return bool(mask.all())


def unwritten(bits: Bits, dtype: DType) -> Mask:
    """Return a mask of unwritten elements, for types with a distinct poison."""
    return holds_poison(bits, dtype) & (dtype not in (DType.S8, DType.U8) and not dtype.is_fnuz)


def holds_poison(bits: Bits, dtype: DType) -> Mask:
    """Return a mask of elements that are as before the run."""
    return np.asarray(bits == OUTPUT_POISON[dtype])


def _random(generator: np.random.Generator, param: TensorParam) -> Floats:
    """Return zero-mean normal numbers, without f16 subnormals, which some matrix units flush.

    Half of the integers have any size, the others are close to the limits of 8 bits.
    """
    if param.dtype.limits is not None and param.dtype.is_integer:
        any_one = generator.integers(*param.dtype.limits, param.shape, np.int64, endpoint=True)
        any_one >>= generator.integers(0, 8 * param.dtype.itemsize, param.shape)
        near = np.clip(generator.integers(-300, 300, param.shape), *param.dtype.limits)
        return np.where(generator.random(param.shape) < 0.5, any_one, near)
    wide = np.float64 if param.dtype is DType.F64 else np.float32
    values = generator.standard_normal(param.shape, wide)
    values[np.abs(values) < 2.0**-14] = 2.0**-14
    return values


def _wide(entry: KernelEntry, make: Maker) -> Maker:
    """Return data for a float result that becomes an integer.

    Half of the numbers span the integer's range and beyond, and include ties between integers.
    """
    wholes = [p.dtype.itemsize for p in entry.outputs if p.dtype.is_integer]
    if entry.spec["op"] != "elementwise" or not wholes:
        return make

    def made(generator: np.random.Generator, param: TensorParam) -> Floats:
        values = make(generator, param)
        if param.dtype.is_integer:
            return values
        exponents = generator.integers(0, 8 * max(wholes) + 1, param.shape)
        wide = np.rint(np.ldexp(values, exponents) * 2.0) / 2.0
        chosen = np.where(generator.random(param.shape) < 0.5, wide, values)
        return chosen.astype(np.float64) if param.dtype is DType.F64 else chosen.astype(np.float32)

    return made


def _random_integers(generator: np.random.Generator, param: TensorParam) -> Floats:
    """Return random s8 numbers, or scales that bring their sums into the range of s8."""
    if param.dtype is DType.S8:
        return generator.integers(-128, 128, param.shape).astype(np.float32)
    values = _random(generator, param)
    return values / np.float32(64.0) if param.name in ("scale_a", "scale_b") else values


def _whole(generator: np.random.Generator, param: TensorParam) -> Floats:
    if param.name.startswith("scale_"):
        # A scale of 0.5 makes half of the sums ties between two integers.
        return np.full(param.shape, 0.5, np.float32)
    limit = LOGIT_LIMIT if param.name == "x" else WHOLE_LIMIT
    values = generator.integers(-limit, limit, param.shape, np.int8, endpoint=True)
    if param.dtype.limits is not None and param.dtype.is_integer:
        return np.clip(values.astype(np.int64), *param.dtype.limits)
    return values.astype(np.float32)


def _special(entry: KernelEntry, seed: int, turn: int) -> Maker:
    if entry.op == "matmul":
        return _special_matmul(entry, seed, turn)
    if entry.op == "conv2d" and entry.inputs[0].dtype is DType.S8:
        return _extremes
    if entry.op == "attention":
        return _random
    if entry.op == "conv2d":
        return partial(_special_image, entry)

    def make(generator: np.random.Generator, param: TensorParam) -> Floats:
        values = _random(generator, param)
        if entry.spec["op"] == "rowwise" and param.dtype.is_integer:
            return values
        if entry.spec["op"] == "rowwise":
            cols, order = row_shape(entry)[1], rows_first(entry)
            # A weight that all rows share stays finite, otherwise no row would be.
            places = next((at for at in looks(entry, param) if at.shape == domain(entry)), None)
            if places is not None:
                at = places.transpose(order).reshape(-1, cols)
                rows = values.reshape(-1)[at]
                special_values.place_rows(rows, turn)
                values.reshape(-1)[at] = rows
            elif values.size >= cols and values.size % cols == 0 and not _is_shared(entry, param):
                special_values.place_rows(values.reshape(-1, cols), turn)
        else:
            operand = entry.inputs.index(param)
            special_values.place_elements(values, param.dtype, turn, operand)
        return values

    return make


def _is_shared(entry: KernelEntry, param: TensorParam) -> bool:
    """Whether many rows share an input."""
    return param is not entry.inputs[0] and math.prod(param.shape) < math.prod(row_shape(entry))


def _special_matmul(entry: KernelEntry, seed: int, turn: int) -> Maker:
    """Return special values for a matmul; s8 gets the numbers with the largest products."""
    if entry.inputs[0].dtype is DType.S8:
        return _extremes
    special = special_values.MatmulValues(entry, seed, turn)

    def make(generator: np.random.Generator, param: TensorParam) -> Floats:
        values = _random(generator, param)
        if param.dtype is DType.S8:
            values = np.clip(np.abs(values), 1, 127).astype(np.float32)
        if param.name in ("a", "b"):
            special.place(param.name, values)
        return values

    return make


def _special_image(
    entry: KernelEntry, generator: np.random.Generator, param: TensorParam
) -> Floats:
    """Return a tensor of a convolution, with NaN and infinities in images and weights."""
    values = _random(generator, param)
    if param.name == "a":
        special_values.place_in_images(values, entry, generator)
    elif param.name == "b" and not param.dtype.is_integer:
        special_values.place_in_weights(values, entry, generator)
    return values


def _extremes(generator: np.random.Generator, param: TensorParam) -> Floats:
    values = _random_integers(generator, param)
    return np.where(values < 0, -128, 127) if param.name in ("a", "b") else values
