"""Test data with NaN and infinities, placed so that every part of any kernel meets some of them.

The placement knows no schedule. Registers, lanes and K-tiles of a kernel repeat over the output: an
accumulator is one element of every tile, or a few adjacent ones. Every eight adjacent rows and
columns therefore hold every kind of value, at places drawn anew for each eight. Small tensors take
several turns, in which the kinds change places.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kgen.check.oracle import window_products
from kgen.check.tensors import Floats
from kgen.ops import parse, steps
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.reference.winograd_weights import winograd_tile

#: Multiply-adds above which a matmul has special values in place of a set of random data.
LARGE_MATMUL = 2**22
#: Most rows with special values, the least number of them over all turns, and the most elements for
#: which that number holds.
SPECIAL_ROWS, LEAST_ROWS, LEAST_ROWS_ELEMENTS = 4096, 64, 2**16
#: Most elements for which every place of an element-wise kernel gets each value.
FEW_ELEMENTS = 2**14
#: Step from one turn to the next, by operand; multiples of each reach all ten values.
STRIDES = (1, 3, 7, 9)
#: Number beyond the range of exponentials in f32 (88), which every type can hold.
FAR = 1000.0
#: Golden ratio: the fractional parts of its multiples are spread most evenly (Weyl).
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

Ints = npt.NDArray[np.int64]


def spread(number: int, length: int) -> int:
    """Return a position for each number: the last, the first, then spread over the length.

    The positions cover all residues of every divisor of the length.
    """
    if number == 0:
        return length - 1
    step = max(1, round(length * GOLDEN))
    while math.gcd(step, length) > 1:
        step += 1
    return (number - 1) * step % length


# -- matmul ------------------------------------------------------------------------------------

#: Functions of an epilogue that treat infinities in the same way in every kernel.
EXACT = {"add", "sub", "mul", "neg", "relu"}
FINITE, NAN, INFINITE = range(3)
#: Kinds of eight adjacent rows of A, or columns of B.
KINDS = (NAN, INFINITE, NAN, FINITE, FINITE, FINITE, FINITE, FINITE)
#: Matrices of a batch after which the places repeat: a prime, so that no tile or task has a place
#: of its own.
PLACEMENTS = 251


def matmul_turns(entry: KernelEntry) -> int:
    """Return the turns of a float matmul: two for small M or N, which hold half the kinds."""
    few = min(entry.spec["m"], entry.spec["n"]) < len(KINDS)
    return 2 if few and not is_large(entry) else 1


def is_large(entry: KernelEntry) -> bool:
    """Whether a matmul is too large for both random and special data.

    Two fifths of the results of special values are still finite.
    """
    spec = entry.spec
    return bool(spec["batch"] * spec["m"] * spec["n"] * spec["k"] > LARGE_MATMUL)


class MatmulValues:
    """A and B of a matmul, with rows and columns of NaN and of infinities among finite ones.

    A row of NaN holds one, in another place of K for each row, the last one first. An infinite row
    holds infinities only, so that an element past the end of K that a kernel reads and multiplies
    by zero becomes NaN. Rows of infinities must not add up to NaN, nor finite ones to a large sum:
    the signs along K of A's infinities are those of B's finite numbers, and vice versa.

    NaN replaces infinities in three cases: functions beyond arithmetic and relu in the epilogue, as
    gelu and silu of -inf are 0 times inf; split operands, as the products of an infinity's parts
    have both signs; and 8-bit floats without infinity.
    """

    def __init__(self, entry: KernelEntry, seed: int, turn: int) -> None:
        spec, dtype = entry.spec, entry.inputs[0].dtype
        calls = {at.name for at in steps(parse(spec["epilogue"])) if at.arguments}
        self._turn = turn
        finite = dtype is DType.E4M3 or dtype.is_fnuz
        #: Generator with equal numbers in every turn.
        self._generator = np.random.default_rng(seed)
        self._nan_only = bool(calls - EXACT) or spec.get("math") == "3xtf32" or finite
        #: Whether B holds integers beside floats of A. It then has no special values, and no zeros,
        #: since zero times infinity is NaN.
        self._whole_b = spec.get("b_dtype") in ("s8", "s4")
        self._signs = {name: _signs(self._generator, spec["k"]) for name in ("a", "b")}
        self._is_transposed = {"a": spec["layout"][0] == "t", "b": spec["layout"][1] == "n"}

    def place(self, name: str, values: Floats) -> None:
        """Place values in A, then in B."""
        matrices = values.reshape(-1, *values.shape[-2:])
        along_k = matrices.swapaxes(1, 2) if self._is_transposed[name] else matrices
        for first in range(min(PLACEMENTS, len(along_k))):
            self._place(name, along_k[first::PLACEMENTS])

    def _place(self, name: str, matrices: Floats) -> None:
        """Place values in matrices, in each at the same places."""
        _, rows, depth = matrices.shape
        finite_signs = self._signs["b" if name == "a" else "a"]
        np.abs(matrices, out=matrices)
        matrices *= finite_signs
        matrices *= _signs(self._generator, rows)[:, None]
        if name == "b" and self._whole_b:
            return
        kinds = kinds_of(rows, self._generator, self._turn)
        infinite, nan = np.flatnonzero(kinds == INFINITE), np.flatnonzero(kinds == NAN)
        alternating = np.where(np.arange(len(infinite)) % 2, -np.inf, np.inf)
        whole = np.full_like(alternating, np.nan) if self._nan_only else alternating
        matrices[:, infinite] = whole[:, None] * self._signs[name]
        places = [spread(number, depth) for number in range(len(nan))]
        matrices[:, nan, np.array(places, np.int64)] = np.nan


def _signs(generator: np.random.Generator, count: int) -> Floats:
    return generator.choice([-1.0, 1.0], count)


def kinds_of(rows: int, generator: np.random.Generator, turn: int) -> Ints:
    """Return the kind of each row: all of KINDS in each eight rows, at least one finite.

    In the second turn half of the previously finite rows are special.
    """
    count = len(KINDS)
    eights = np.tile(np.arange(count), (-(-rows // count), 1))
    places = generator.permuted(eights, axis=1).reshape(-1)[:rows]
    kinds: Ints = np.array(KINDS)[(places + turn * count // 2) % count]
    if rows == 1:
        kinds[0] = INFINITE if turn else FINITE
    elif rows >= count:
        # An out-of-range row is often read as the first or the last row.
        kinds[[0, -1]] = INFINITE
    elif not (kinds == FINITE).any():
        kinds[0] = FINITE
    return kinds


def place_in_images(values: Floats, entry: KernelEntry, generator: np.random.Generator) -> None:
    """Place NaN and infinities in images, so that most windows (Winograd: tiles) see none of them.

    Each kind occurs at least once, and the first and the last element are special.
    """
    spec, kinds = entry.spec, _kinds_of_convolutions(entry)
    tile = winograd_tile(spec)
    seen = (tile + 2) ** 2 * spec["weights"][1] if tile else math.prod(spec["weights"][1:])
    places = generator.permutation(values.size)[: max(len(kinds), values.size // (4 * seen))]
    flat = values.reshape(-1)
    flat[places] = np.resize(kinds, len(places))
    flat[[0, -1]] = kinds[0]


def place_in_weights(values: Floats, entry: KernelEntry, generator: np.random.Generator) -> None:
    """Place NaN or infinity in one weight of every eighth output channel.

    The place is the first one, the last one, then any. A single channel gets none. Kernels that are
    transformed later are stored as hwio.
    """
    kinds, spec = _kinds_of_convolutions(entry), entry.spec
    layout = "hwio" if winograd_tile(spec) else spec["weight_layout"]
    numbers = np.arange(values.size).reshape(values.shape)
    ordered = window_products.weights({**spec, "weight_layout": layout}, numbers, slice(None))
    ordered = ordered.swapaxes(1, 2)
    columns = ordered.reshape(-1, ordered.shape[-1])
    chosen = columns[1 :: len(KINDS)]
    places = generator.integers(0, columns.shape[1], len(chosen))
    places[:2] = (0, columns.shape[1] - 1)[: len(chosen)]
    flat = values.reshape(-1)
    flat[chosen[np.arange(len(chosen)), places]] = np.resize(kinds, len(chosen))


def _kinds_of_convolutions(entry: KernelEntry) -> list[float]:
    """NaN alone if kernels differ in what they make of infinities. Winograd's differences make NaN,
    or an infinity of either sign."""
    calls = {at.name for at in steps(parse(entry.spec["epilogue"])) if at.arguments}
    is_open = winograd_tile(entry.spec) or calls - EXACT
    return [np.nan] if is_open else [np.inf, np.nan, -np.inf]


# -- element-wise ------------------------------------------------------------------------------


def special_elements(dtype: DType) -> Floats:
    if dtype.is_integer:
        assert dtype.limits is not None
        least, most = dtype.limits
        ends = [least, most, least + 1, most - 1, 0, 1, -1, 2, most // 2, least // 2]
        return np.clip(np.array(ends, np.int64), least, most)
    tiny = dtype.smallest_subnormal
    return np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny, 3 * tiny, 1.0, -1.0])


def element_turns(entry: KernelEntry) -> int:
    """Return the turns of an element-wise kernel: one per value if the output is small."""
    few = math.prod(entry.output.shape) <= FEW_ELEMENTS
    return len(special_elements(entry.inputs[0].dtype)) if few else 1


def place_elements(values: Floats, dtype: DType, turn: int, operand: int) -> None:
    """Place special values everywhere, so that adjacent positions hold all of them.

    Positions that are a power of two apart do so as well. After as many turns as values, every
    position has had each value. Operands have different values at a position, and their
    combinations shift along the tensor and from turn to turn.
    """
    special = special_elements(dtype)
    index = np.full(values.size, turn * STRIDES[operand % len(STRIDES)])
    numbers = np.arange(values.size)
    index += operand * (numbers // 16)
    while numbers.any():
        index += numbers
        numbers //= len(special)
    values.reshape(-1)[...] = special[index % len(special)]


#: Factors that make the numbers of a row subnormal in each type. Numbers that are subnormal in a
#: narrower type become zeros of both signs when converted to it.
TINY = [20.0 * d.smallest_subnormal for d in (DType.F16, DType.BF16, DType.F32)]

# -- rows --------------------------------------------------------------------------------------


def _peak(row: Floats, at: int) -> None:
    row[at] = FAR


def _nan(row: Floats, at: int) -> None:
    row[at] = np.nan


def _positive_infinity(row: Floats, at: int) -> None:
    row[at] = np.inf


def _only_negative_infinity(row: Floats, at: int) -> None:
    row[:] = -np.inf


def _some_negative_infinity(row: Floats, at: int) -> None:
    row[1::2] = -np.inf


def _constant(row: Floats, at: int) -> None:
    row[:] = -0.0


def _far_apart(row: Floats, at: int) -> None:
    row *= FAR


def _far_below(row: Floats, at: int) -> None:
    row -= FAR


def _tiny(row: Floats, at: int) -> None:
    row *= np.resize(TINY, row.shape)


#: Row kinds. Every other row has a maximum, each time in another place, whose exponential overflows
#: unless the maximum of the whole row is subtracted.
ROW_KINDS: tuple[Callable[[Floats, int], None], ...] = tuple(
    each
    for kind in (
        _nan, _only_negative_infinity, _positive_infinity, _some_negative_infinity, _far_below,
        _far_apart, _constant, _tiny,
    )
    for each in (_peak, kind)
)  # fmt: skip


def row_turns(rows: int, cols: int) -> int:
    most = max(4, LEAST_ROWS_ELEMENTS // (rows * cols))
    return min(-(-LEAST_ROWS // rows), most)


def place_rows(values: Floats, turn: int) -> None:
    rows, cols = values.shape
    count = len(ROW_KINDS)
    for i, row in enumerate(values[:SPECIAL_ROWS], turn * rows):
        kind, lap = ROW_KINDS[i % count], i // count
        peaks = ROW_KINDS[: i % count].count(kind) + lap * ROW_KINDS.count(kind)
        kind(row, spread(peaks, cols))
