"""Inputs that hold NaN and infinities, placed so that whatever a kernel's tiles are, every kind of
its registers, lanes and K-tiles meets some.

Nothing here knows a schedule. What a kernel computes alike is spread over the output: an
accumulator is an element of every tile, or a few neighbours. So each eight neighbouring rows and
columns hold every kind of value, at places drawn anew for each eight; small tensors take several
turns, in which the kinds change places.
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

#: Multiply-adds beyond which a matmul has special values among its random data, not besides.
LARGE_MATMUL = 2**22
#: Rows, from the first, that hold special values, and how many of them all turns
#: together have at least, as long as there are no more elements than this.
SPECIAL_ROWS, LEAST_ROWS, LEAST_ROWS_ELEMENTS = 4096, 64, 2**16
#: Up to so many elements, every place of an element-wise kernel gets each value.
FEW_ELEMENTS = 2**14
#: Numbers of values from one turn to the next, by operand: any multiples come to all ten.
STRIDES = (1, 3, 7, 9)
#: Far beyond what an exponential in f32 can bear (88), and a number of every type.
FAR = 1000.0
#: The fractional parts of its multiples are spread as evenly as can be (Weyl).
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

Ints = npt.NDArray[np.int64]


def spread(number: int, length: int) -> int:
    """A position for each number: the last one, the first one, then all over the length, and all
    residues of whatever divides it."""
    if number == 0:
        return length - 1
    step = max(1, round(length * GOLDEN))
    while math.gcd(step, length) > 1:
        step += 1
    return (number - 1) * step % length


# -- matmul ------------------------------------------------------------------------------------

#: What an epilogue may do to infinities that every kernel does alike.
EXACT = {"add", "sub", "mul", "neg", "relu"}
FINITE, NAN, INFINITE = range(3)
#: Of eight neighbouring rows of A, or columns of B.
KINDS = (NAN, INFINITE, NAN, FINITE, FINITE, FINITE, FINITE, FINITE)


def matmul_turns(entry: KernelEntry) -> int:
    """Return the runs of a float matmul: two for small M or N, which hold half the kinds."""
    few = min(entry.spec["m"], entry.spec["n"]) < len(KINDS)
    return 2 if few and not is_large(entry) else 1


def is_large(entry: KernelEntry) -> bool:
    """Whether runs on a matmul's random data and on special values would cost too much beside each
    other; two fifths of the results of special values are neither NaN nor infinite."""
    spec = entry.spec
    return bool(spec["batch"] * spec["m"] * spec["n"] * spec["k"] > LARGE_MATMUL)


class MatmulValues:
    """A and B with rows and columns of NaN and of infinities among finite ones.

    A row of NaN holds one, in another place of K for each row, the last one first. An infinite row
    holds nothing else: what a kernel reads of it beyond the end of K, and multiplies by zero, is
    NaN. Rows of infinities must not add up to NaN, nor finite ones to a large sum: the signs
    along K of A's infinities are those of B's finite numbers, and the other way round.

    gelu and silu of -inf are 0 times inf, so kernels with functions beyond arithmetic and relu get
    NaN in place of infinities; so do those that split operands, whose products of an infinity's
    parts are of both signs, and 8-bit floats that have no infinity.
    """

    def __init__(self, entry: KernelEntry, seed: int, turn: int) -> None:
        spec, dtype = entry.spec, entry.inputs[0].dtype
        calls = {at.name for at in steps(parse(spec["epilogue"])) if at.arguments}
        self._turn = turn
        finite = dtype is DType.E4M3 or dtype.is_fnuz
        #: The same in every turn.
        self._generator = np.random.default_rng(seed)
        self._nan_only = bool(calls - EXACT) or spec.get("math") == "3xtf32" or finite
        #: A B of integers beside floats of A: it has no special values, and no zeros either, which
        #: are NaN times infinity.
        self._whole_b = spec.get("b_dtype") in ("s8", "s4")
        self._signs = {name: _signs(self._generator, spec["k"]) for name in ("a", "b")}
        self._is_transposed = {"a": spec["layout"][0] == "t", "b": spec["layout"][1] == "n"}

    def place(self, name: str, values: Floats) -> None:
        """Put them into A, and then into B."""
        along_k = values.swapaxes(-1, -2) if self._is_transposed[name] else values
        for at in np.ndindex(along_k.shape[:-2]):
            self._place(name, along_k[at])

    def _place(self, name: str, matrix: Floats) -> None:
        rows, depth = matrix.shape
        finite_signs = self._signs["b" if name == "a" else "a"]
        np.abs(matrix, out=matrix)
        matrix *= finite_signs
        matrix *= _signs(self._generator, rows)[:, None]
        if name == "b" and self._whole_b:
            return
        kinds = kinds_of(rows, self._generator, self._turn)
        infinite, nan = np.flatnonzero(kinds == INFINITE), np.flatnonzero(kinds == NAN)
        alternating = np.where(np.arange(len(infinite)) % 2, -np.inf, np.inf)
        whole = np.full_like(alternating, np.nan) if self._nan_only else alternating
        matrix[infinite] = whole[:, None] * self._signs[name]
        places = [spread(number, depth) for number in range(len(nan))]
        matrix[nan, np.array(places, np.int64)] = np.nan


def _signs(generator: np.random.Generator, count: int) -> Floats:
    return generator.choice([-1.0, 1.0], count)


def kinds_of(rows: int, generator: np.random.Generator, turn: int) -> Ints:
    """The kind of each row: all of KINDS in each eight, at least one finite. In the second turn
    half of those that were finite are not."""
    count = len(KINDS)
    eights = np.tile(np.arange(count), (-(-rows // count), 1))
    places = generator.permuted(eights, axis=1).reshape(-1)[:rows]
    kinds: Ints = np.array(KINDS)[(places + turn * count // 2) % count]
    if rows == 1:
        kinds[0] = INFINITE if turn else FINITE
    elif rows >= count:
        # What lies outside is often read in the first or the last row instead.
        kinds[[0, -1]] = INFINITE
    elif not (kinds == FINITE).any():
        kinds[0] = FINITE
    return kinds


def place_in_images(values: Floats, entry: KernelEntry, generator: np.random.Generator) -> None:
    """Put NaN and infinities into elements of images, so that most windows see none of them; at
    least one of each kind, and the first and the last element are among them."""
    spec, kinds = entry.spec, _kinds_of_convolutions(entry)
    seen = math.prod(spec["weights"][1:])
    places = generator.permutation(values.size)[: max(len(kinds), values.size // (4 * seen))]
    flat = values.reshape(-1)
    flat[places] = np.resize(kinds, len(places))
    flat[[0, -1]] = kinds[0]


def place_in_weights(values: Floats, entry: KernelEntry, generator: np.random.Generator) -> None:
    """Put NaN and infinities into one weight of every eighth output channel: the first place, the
    last one, then any. None if there is only one channel."""
    kinds = _kinds_of_convolutions(entry)
    numbers = np.arange(values.size).reshape(values.shape)
    ordered = window_products.weights(entry.spec, numbers, slice(None)).swapaxes(1, 2)
    columns = ordered.reshape(-1, ordered.shape[-1])
    chosen = columns[1 :: len(KINDS)]
    places = generator.integers(0, columns.shape[1], len(chosen))
    places[:2] = (0, columns.shape[1] - 1)[: len(chosen)]
    flat = values.reshape(-1)
    flat[chosen[np.arange(len(chosen)), places]] = np.resize(kinds, len(chosen))


def _kinds_of_convolutions(entry: KernelEntry) -> list[float]:
    calls = {at.name for at in steps(parse(entry.spec["epilogue"])) if at.arguments}
    return [np.nan] if calls - EXACT else [np.inf, np.nan, -np.inf]


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
    """How many runs an element-wise kernel takes: one for each value where there are few places."""
    few = math.prod(entry.output.shape) <= FEW_ELEMENTS
    return len(special_elements(entry.inputs[0].dtype)) if few else 1


def place_elements(values: Floats, dtype: DType, turn: int, operand: int) -> None:
    """Special values everywhere: all of them in neighbouring places, and in places any power of
    two apart. In as many turns every place has had each. Operands have different ones beside each
    other, further along and in other turns."""
    special = special_elements(dtype)
    index = np.full(values.size, turn * STRIDES[operand % len(STRIDES)])
    numbers = np.arange(values.size)
    index += operand * (numbers // 16)
    while numbers.any():
        index += numbers
        numbers //= len(special)
    values.reshape(-1)[...] = special[index % len(special)]


#: What makes subnormal numbers of each type of a row's, and zeros of both signs where those of
#: another type are rounded to this one.
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


#: Every other row has a maximum whose exponential overflows unless all of the row's maximum is
#: subtracted, in another place each time.
ROW_KINDS: tuple[Callable[[Floats, int], None], ...] = (
    _peak,
    _nan,
    _peak,
    _only_negative_infinity,
    _peak,
    _positive_infinity,
    _peak,
    _some_negative_infinity,
    _peak,
    _far_below,
    _peak,
    _far_apart,
    _peak,
    _constant,
    _peak,
    _tiny,
)


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
