"""Test data of attention: masks, key lengths, and scores of any size.

Every set has masks, some of whose rows hide all keys, lengths, and a table of pages: in any order,
some shared by batch elements, and numbers that are no page behind the last valid key. The set of
special values also has NaN and infinities in Q, scores far apart, mask rows of -infinity, lengths
out of range, and NaN in K and V after each length. The set of equal keys has scores of 1e9, which
cancel in `out`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kgen.check.tensors import Bytes, Floats
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry, TensorParam

Maker = Callable[[np.random.Generator, TensorParam], Floats]

#: Name of the set of data in which all keys of a head are equal.
EQUAL_KEYS = "equal-keys"
#: Share of keys that a mask hides, and of rows in which it hides all.
HIDDEN, EMPTY = 0.2, 0.15
#: Factors of queries: scores far apart, unchanged, or all equal.
FACTORS = (1000.0, 1.0, 0.0, 30.0)
SPECIAL = (np.nan, np.inf, -np.inf)
#: Factors of queries and of the one key of equal keys, for scores of 1e9 in types that reach it.
SIGNS, LARGE = (1.0, -1.0, 0.0), 2.0**13
#: The same for e4m3, and the largest number of e4m3.
LARGE_E4M3, LARGEST_E4M3 = 2.0**6, 448.0


def maker(entry: KernelEntry, seed: int, make: Maker, name: str) -> Maker:
    """Return `make` for q, k and v of a set of data, with matching data for mask and kv_length."""
    spec, is_special = entry.spec, name == "special-value"
    lengths = _lengths(entry, seed, is_special)
    table = _pages(entry, seed, lengths) if spec.get("page_size") is not None else None

    def made(generator: np.random.Generator, param: TensorParam) -> Floats:
        if param.name == "kv_length":
            return lengths
        if param.name == "page_table":
            assert table is not None
            return table
        if param.name == "mask":
            return _mask(generator, param, _zeros if name == EQUAL_KEYS else make)
        values = make(generator, param).astype(np.float64)
        layout = spec["layout"] if param.name == "q" else spec["kv_layout"]
        rows = values.swapaxes(1, 2) if layout == "bshd" else values
        if name == EQUAL_KEYS and param.name != "v":
            # Sums of positive integers times a power of 2 are exact in any order.
            large = LARGE_E4M3 if param.dtype is DType.E4M3 else LARGE
            rows[...] = generator.integers(1, 4, rows.shape, endpoint=True) * large
            if param.name == "k":
                rows[...] = rows[:1, :, :1] if table is not None else rows[:, :, :1]
            else:
                rows *= np.resize(SIGNS, rows.shape[2])[:, None]
        if not is_special:
            return values
        if param.name == "q":
            count = rows.shape[2]
            rows *= np.resize(FACTORS, count)[:, None]
            if param.dtype is DType.E4M3:
                np.clip(rows, -LARGEST_E4M3, LARGEST_E4M3, out=rows)
            chosen = generator.permutation(count)[: count // 6]
            place = generator.integers(0, rows.shape[3], len(chosen))
            rows[:, :, chosen, place] = np.resize(SPECIAL, len(chosen))
        if param.name == "v":
            # One infinite value: queries that attend to its key have it, others may have NaN.
            key, element = (int(generator.integers(0, n)) for n in rows.shape[2:])
            rows[slice(None) if table is None else 0, :, key, element] = np.inf
        if table is not None and param.name != "q":
            rows[~_is_valid(entry, table, lengths)] = np.nan
        elif spec["kv_length"] and param.name != "q":
            for b, length in enumerate(np.clip(lengths, 0, rows.shape[2])):
                rows[b, :, int(length) :] = np.nan
        return values

    return made


def every_key(entry: KernelEntry) -> dict[str, Bytes]:
    """Return kv_length and page_table for timings: all keys, in as many different pages as exist.

    Empty for other kernels.
    """
    if entry.op != "attention" or not entry.spec["kv_length"]:
        return {}
    spec = entry.spec
    batch, keys = spec["q"][0], spec["k"][2]
    found = {"kv_length": np.full(batch, keys, np.int32)}
    if (size := spec.get("page_size")) is not None:
        numbers = np.arange(batch * (keys // size)) % spec["pages"]
        found["page_table"] = numbers.astype(np.int32)
    return {name: values.view(np.uint8) for name, values in found.items()}


def _lengths(entry: KernelEntry, seed: int, is_special: bool) -> Floats:
    """Return random numbers of keys per batch element, including 0.

    Special values include numbers out of range.
    """
    batch, keys = entry.spec["q"][0], entry.spec["k"][2]
    generator = np.random.default_rng([seed, is_special])
    found: Floats = generator.integers(0, keys, batch, np.int64, endpoint=True)
    if is_special:
        found[::2] = np.resize((keys + 5, -3), len(found[::2]))
    elif batch > 1:
        found[0], found[-1] = 0, keys
    return found


def _pages(entry: KernelEntry, seed: int, lengths: Floats) -> Floats:
    """Return a table of pages; batch elements share some, because they are drawn by themselves."""
    spec = entry.spec
    batch, keys, size, pages = spec["q"][0], spec["k"][2], spec["page_size"], spec["pages"]
    generator = np.random.default_rng([seed, pages])
    drawn = [np.resize(generator.permutation(pages), keys // size) for _ in range(batch)]
    table: Floats = np.array(drawn, np.int64)
    used = np.arange(keys // size) * size < np.clip(lengths, 0, keys)[:, None]
    table[~used] = np.resize((-(2**31), pages, 2**31 - 1, -1), int((~used).sum()))
    return table


def _is_valid(entry: KernelEntry, table: Floats, lengths: Floats) -> npt.NDArray[np.bool_]:
    """Return which rows of the pools hold a valid key: pages x heads x keys of a page."""
    spec = entry.spec
    size, keys = spec["page_size"], spec["k"][2]
    found = np.zeros((spec["pages"], spec["k"][1], size), np.bool_)
    for b, length in enumerate(np.clip(lengths, 0, keys)):
        for key in range(int(length)):
            found[int(table[b, key // size]), :, key % size] = True
    return found


def _zeros(_: np.random.Generator, param: TensorParam) -> Floats:
    return np.zeros(param.shape, np.float32)


def _mask(generator: np.random.Generator, param: TensorParam, make: Maker) -> Floats:
    is_hidden = generator.random(param.shape) < HIDDEN
    is_hidden |= generator.random((*param.shape[:-1], 1)) < EMPTY
    if param.dtype is DType.BOOL:
        return np.asarray(~is_hidden, np.int64)
    values = np.array(make(generator, param), np.float32)
    values[is_hidden] = -np.inf
    return values
