"""The ground truth: every operation, one output element at a time, in plain scalar Python.

Nothing here is fast and nothing is shared with the code that plans or renders kernels: offsets come
from the specification's own words (layout, leading dimension, batch stride), not from the
manifest's derived strides.

Precision: inputs are exact as Python floats (binary64). A product of two values that are no f64 has
at most 48 significant bits, so it is exact too, and `math.fsum` rounds their sum once, to binary64;
the factors of f64 products are split, so that theirs are exact as well. alpha, beta, scales, the
epilogue and expressions follow in binary64 with the math module, and :func:`encode` rounds the
result once, to nearest even, to the output's type.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import mul
from typing import Any, Literal

from kgen_runtime import definitions, views
from kgen_runtime.dtypes import DType, computed_in, input_dtypes, output_dtypes

Buffers = Mapping[str, memoryview]
#: The value of one output element, before it is rounded to the output's type. It takes
#: (batch, row, column) for a matmul, (row, column) for rows and (number,) for streams.
Element = Callable[[tuple[int, ...]], float]

# Total bits, explicit mantissa bits and the least exponent of a normal number: IEEE 754-2008 table
# 3.5; bf16 is the upper half of binary32; OCP 8-bit Floating Point Specification 1.0, table 1.
_FORMATS = {
    DType.F64: (64, 52, -1022),
    DType.F32: (32, 23, -126),
    DType.F16: (16, 10, -14),
    DType.BF16: (16, 7, -126),
    DType.E4M3: (8, 3, -6),
    DType.E5M2: (8, 2, -14),
}
#: How Python's memoryview names the types that it reads itself, and words of so many bytes.
_PYTHON: dict[DType, Literal["f", "d"]] = {DType.F32: "f", DType.F64: "d"}
_UNSIGNED: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}
#: Elements for which it is worth while to decode all words of 16 bits before.
MANY = 1 << 14
#: Rows of A, and columns of B, that are kept: more than a row of the samples has columns.
SHARED_OPERANDS = 1024
# The OCP specification's section 5.2, saturating mode: what is too large becomes the largest.
_LARGEST = {DType.E4M3: 448.0, DType.E5M2: 57344.0}


@lru_cache(maxsize=1 << 16)
def decode(bits: int, dtype: DType) -> float:
    """The value of an element's bits; an int of integers."""
    if dtype in (DType.U8, DType.BOOL):
        return bits
    if dtype.is_integer:
        width = 8 * dtype.itemsize
        return bits - (bits >> (width - 1) << width)
    width, mantissa_bits, least = _FORMATS[dtype]
    magnitude = bits & ~(1 << (width - 1))
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    # e4m3 has no infinity and a single NaN, all ones; its highest exponent is an ordinary one.
    if dtype is DType.E4M3 and magnitude == 0x7F:
        value = math.nan
    elif dtype is not DType.E4M3 and exponent == (1 << (width - 1 - mantissa_bits)) - 1:
        value = math.nan if mantissa else math.inf
    elif exponent == 0:
        value = math.ldexp(mantissa, least - mantissa_bits)
    else:
        value = math.ldexp(mantissa | 1 << mantissa_bits, exponent - 1 + least - mantissa_bits)
    return -value if bits >> (width - 1) else value


def encode(value: float, dtype: DType) -> int:
    """The bits of the number nearest to `value`, ties to even; NaN becomes the quiet NaN.

    Integers and 8-bit floats saturate; a NaN becomes the integer 0 and the 8-bit float 0x7F. Of
    bool, all but zero is 1.
    """
    if dtype is DType.BOOL:
        return int(value != 0)
    if dtype.is_integer:
        return encode_integer(value, dtype)
    width, mantissa_bits, least = _FORMATS[dtype]
    if width == 8:
        if math.isnan(value):
            return 0x7F
        value = math.copysign(min(abs(value), _LARGEST[dtype]), value)
    infinity = ((1 << (width - 1 - mantissa_bits)) - 1) << mantissa_bits
    if math.isnan(value):
        return infinity | 1 << (mantissa_bits - 1)
    sign = int(math.copysign(1.0, value) < 0) << (width - 1)
    if math.isinf(value) or value == 0.0:
        return sign | (infinity if value else 0)
    exponent = max(math.frexp(value)[1] - 1, least)
    # The value in units of its last place: at most 2**(mantissa_bits + 1), so ldexp is exact.
    # Python's round() is to even.
    units = round(math.ldexp(abs(value), mantissa_bits - exponent))
    # The leading bit of `units`, if set, carries into the exponent field, as does a rounding up.
    magnitude = ((exponent - least) << mantissa_bits) + units
    return sign | (magnitude if width == 8 else min(magnitude, infinity))


def encode_integer(value: float, dtype: DType) -> int:
    """The bits of the whole number nearest to `value`, ties to even, in two's complement."""
    if math.isnan(value):
        return 0
    assert dtype.limits is not None
    least, largest = dtype.limits
    nearest: int = round(max(least, min(largest, value)))
    return nearest & (1 << 8 * dtype.itemsize) - 1


def read(buffer: memoryview, index: int, dtype: DType) -> float:
    """Element `index` of a buffer of bytes."""
    size = dtype.itemsize
    return decode(int.from_bytes(buffer[index * size : (index + 1) * size], "little"), dtype)


def values(buffer: memoryview, start: int, count: int, step: int, dtype: DType) -> list[float]:
    """`count` elements, from `start` on, `step` apart."""
    end = start + (count - 1) * step + 1
    if dtype in _PYTHON:
        return list(buffer.cast(_PYTHON[dtype])[start:end:step])
    bits = buffer.cast(_UNSIGNED[dtype.itemsize])[start:end:step].tolist()
    if dtype.itemsize <= 2 and count >= MANY:
        return list(map(_decoded(dtype).__getitem__, bits))
    return [decode(b, dtype) for b in bits]


def in_blocks(buffer: memoryview, start: int, count: int) -> list[float]:
    """Numbers in blocks of 32 (GGUF's Q4_0) from byte `start` on."""
    found = []
    for number in range(count):
        block = start + number // 32 * 18
        scale = decode(int.from_bytes(buffer[block : block + 2], "little"), DType.F16)
        byte = buffer[block + 2 + number % 16]
        half = byte >> 4 if number % 32 >= 16 else byte & 15
        found.append((half - 8) * scale)
    return found


@cache
def _decoded(dtype: DType) -> list[float]:
    """The values of all bits of a small type."""
    return [decode(bits, dtype) for bits in range(1 << 8 * dtype.itemsize)]


def at(buffer: memoryview, start: int, places: Sequence[int], dtype: DType) -> list[float]:
    """The elements at these places behind `start`."""
    if isinstance(places, range):
        assert places.step == 1
        return values(buffer, start + places.start, len(places), 1, dtype)
    if dtype in _PYTHON:
        numbers = buffer.cast(_PYTHON[dtype])
        return [numbers[start + place] for place in places]
    words = buffer.cast(_UNSIGNED[dtype.itemsize])
    return [decode(words[start + place], dtype) for place in places]


def write(buffer: memoryview, index: int, dtype: DType, value: float) -> None:
    """Round `value` into element `index` of a buffer of bytes."""
    size = dtype.itemsize
    buffer[index * size : (index + 1) * size] = encode(value, dtype).to_bytes(size, "little")


def total(terms: Iterable[float]) -> float:
    """The sum of the terms, rounded once; NaN and infinity as IEEE 754 adds them."""
    terms = terms if isinstance(terms, list) else list(terms)
    try:
        return math.fsum(terms)
    except (ValueError, OverflowError):
        # Infinities of both signs, or finite terms beyond the largest number.
        if special := [t for t in terms if not math.isfinite(t)]:
            return sum(special)
        raise


def dot(x: Sequence[float], y: Sequence[float], *, exact_products: bool) -> float:
    """The inner product, rounded once.

    `exact_products` says that no product needs more than 53 bits; otherwise every factor is split
    into halves, whose products do not (for magnitudes up to 2**996, and without underflow).
    """
    assert len(x) == len(y)
    products = list(map(mul, x, y))
    if exact_products or not all(map(math.isfinite, products)):
        return total(products)
    return total(p * q for a, b in zip(x, y, strict=True) for p in halves(a) for q in halves(b))


def halves(x: float) -> tuple[float, float]:
    """Two numbers of at most 26 bits whose sum is x exactly.

    T. J. Dekker, A floating-point technique for extending the available precision, Numerische
    Mathematik 18 (1971), section 5.
    """
    scaled = (2.0**27 + 1.0) * x
    high = scaled - (scaled - x)
    return high, x - high


def batch_offset(spec: Mapping[str, Any], of: str, number: int) -> int:
    """Where a matrix of a batch begins: each of the batch's dimensions has a stride, and the last
    one is counted fastest."""
    strides = spec[f"batch_stride_{of}"]
    if not spec.get("batch_dims"):
        return int(number * strides)
    offset = 0
    for size, stride in zip(reversed(spec["batch_dims"]), reversed(strides), strict=True):
        offset += number % size * stride
        number //= size
    return offset


def matmul(spec: Mapping[str, Any], buffers: Buffers) -> Element:
    """Elements of scale_out * epilogue(alpha * scale_a * scale_b * A @ B + beta * C)."""
    dtype, out = DType(spec["dtype"]), DType(spec["out_dtype"])
    has_blocks = spec.get("b_dtype") == "s4"
    b_dtype = DType.U8 if has_blocks else DType(spec.get("b_dtype") or dtype)
    scales = {name: read(buffers[f"scale_{name}"], 0, DType.F32) for name in spec["scales"]}
    a_transposed, b_transposed = (letter == "t" for letter in spec["layout"])

    tree = definitions.formulas(spec["epilogue"])["out"]
    extents = dict(shape.split("=") for shape in spec["epilogue_shapes"])
    factor = spec["alpha"] * scales.get("a", 1.0) * scales.get("b", 1.0)
    beta, ldc = spec["beta"], spec["ldc"]
    exact, scale_out = dtype != DType.F64, scales.get("out", 1.0)
    evaluator = definitions.Evaluator({}, definitions.Scalars())
    # Eight bits are too few for a vector that is applied before rounding to them, or that restores
    # the range of operands of 8 bits.
    bytes_ = (DType.S8, DType.E4M3, DType.E5M2)
    own = dict(part.split("=") for part in spec.get("epilogue_dtypes", ()))
    vectors = {
        name: DType(own[name])
        if name in own
        else DType.F32
        if out in bytes_ or (b_dtype in bytes_ and name != "bias")
        else out
        for name in extents
    }

    # Neighbouring output elements share rows of A and columns of B.
    @lru_cache(maxsize=SHARED_OPERANDS)
    def a_row(batch: int, row: int) -> list[float]:
        start = batch_offset(spec, "a", batch)
        if a_transposed:
            return values(buffers["a"], start + row, spec["k"], spec["lda"], dtype)
        return values(buffers["a"], start + row * spec["lda"], spec["k"], 1, dtype)

    @lru_cache(maxsize=SHARED_OPERANDS)
    def b_column(batch: int, col: int) -> list[float]:
        start = batch_offset(spec, "b", batch)
        if has_blocks:
            return in_blocks(buffers["b"], start + col * spec["ldb"], spec["k"])
        if b_transposed:
            return values(buffers["b"], start + col * spec["ldb"], spec["k"], 1, b_dtype)
        return values(buffers["b"], start + col, spec["k"], spec["ldb"], b_dtype)

    def element(index: tuple[int, ...]) -> float:
        batch, row, col = index
        out_offset = batch_offset(spec, "c", batch) + row * ldc + col
        x: float = factor * dot(a_row(batch, row), b_column(batch, col), exact_products=exact)
        if beta != 0.0:
            x += beta * read(buffers["c"], out_offset, out)
        inputs = {"x": x}
        for name, extent in extents.items():
            place = {"n": col, "mx1": row, "1": 0, "mxn": out_offset}[extent]
            inputs[name] = read(buffers[name], place, out if extent == "mxn" else vectors[name])
        evaluator.values = inputs
        return float(evaluator.value(tree)) * scale_out

    return element


def elementwise(spec: Mapping[str, Any], buffers: Buffers, output: str | None) -> Element:
    """Elements of an output over inputs that broadcast, by their number in the output."""
    if views.has_views(definitions.formulas(spec["expression"])):
        return _viewed(spec, buffers, output)
    broadcast = Broadcast(spec, buffers)
    name = output or broadcast.outputs[0]
    formulas = definitions.behind(broadcast.formulas, name)

    # Data of special values repeats few of them.
    @lru_cache(maxsize=4096)
    def result(*bits: int) -> float:
        found = map(decode, bits, broadcast.dtypes)
        numbers = dict(zip(broadcast.names, found, strict=True))
        return evaluate(formulas, name, numbers, compute)

    compute = computed_in(broadcast.dtypes, output_dtypes(spec, len(broadcast.outputs)))
    return lambda index: result(*broadcast.bits(index[0]))


def _viewed(spec: Mapping[str, Any], buffers: Buffers, output: str | None) -> Element:
    """Elements of an output whose expressions have views, by their number in it."""
    formulas = definitions.formulas(spec["expression"])
    names = definitions.input_names(formulas)
    shapes = {n: tuple(shape) for n, shape in zip(names, spec["shapes"], strict=True)}
    dtypes = dict(zip(names, input_dtypes(spec, len(names)), strict=True))
    indices = views.index_names(formulas)
    numbers = [dtypes[name] for name in names if name not in indices]
    compute = computed_in(numbers, output_dtypes(spec, len(formulas)))
    dtypes |= {name: DType(spec["index_dtype"]) for name in indices}

    def read_at(name: str, index: tuple[int, ...]) -> float:
        value = read(buffers[name], number_of(index, shapes[name]), dtypes[name])
        return value if compute.is_integer or name in indices else float(value)

    evaluator = evaluator_of({}, compute)
    elements = views.Elements(formulas, shapes, read_at, evaluator.apply, evaluator.value)
    name = output or next(iter(formulas))

    def element(index: tuple[int, ...]) -> float:
        coordinates, left = [], index[0]
        for size in reversed(elements.domain):
            left, coordinate = divmod(left, size)
            coordinates.append(coordinate)
        found = elements.output(name, tuple(reversed(coordinates)))
        return int(found) if compute.is_integer else float(found)

    return element


def number_of(index: Sequence[int], shape: Sequence[int]) -> int:
    """The number of an element of a packed tensor."""
    number = 0
    for i, size in zip(index, shape, strict=True):
        assert 0 <= i < size
        number = number * size + i
    return number


def evaluator_of(values: Mapping[str, float], compute: DType) -> definitions.Evaluator:
    """What evaluates an expression that is computed in a type."""
    if compute.is_integer:
        return definitions.Integers(values, definitions.Scalars(), 8 * compute.itemsize)
    numbers = {name: float(value) for name, value in values.items()}
    return definitions.Evaluator(numbers, definitions.Scalars())


def evaluate(
    formulas: definitions.Formulas, output: str, values: Mapping[str, float], compute: DType
) -> float:
    """An output of expressions of numbers, computed in a type: an int of integers."""
    found = evaluator_of(values, compute).outputs(formulas)[output]
    return int(found) if compute.is_integer else float(found)


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> list[int]:
    """The shape that inputs of these shapes broadcast to."""
    rank = max(map(len, shapes))
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    return [max(column) for column in zip(*padded, strict=True)]


class Broadcast:
    """The inputs of an expression, read as if all had the shape that they broadcast to."""

    def __init__(self, spec: Mapping[str, Any], buffers: Buffers) -> None:
        self.formulas = definitions.formulas(spec["expression"])
        self.outputs = list(self.formulas)
        self.names = definitions.input_names(self.formulas)
        self.dtypes = input_dtypes(spec, len(self.names))
        self._buffers = buffers
        self._words = [
            buffers[name].cast(_UNSIGNED[dtype.itemsize])
            for name, dtype in zip(self.names, self.dtypes, strict=True)
        ]
        self.sizes = broadcast_shape(spec["shapes"])
        rank = len(self.sizes)
        padded = [[1] * (rank - len(shape)) + list(shape) for shape in spec["shapes"]]
        #: Of inputs that are broadcast; the others have the common shape's own offsets.
        self._strides = {
            i: [math.prod(shape[axis + 1 :]) if n > 1 else 0 for axis, n in enumerate(shape)]
            for i, shape in enumerate(padded)
            if shape != self.sizes
        }

    def offsets(self, number: int) -> list[int]:
        """Where each input has an element of the common shape."""
        found = [number] * len(self.names)
        if self._strides:
            coordinates = []
            left = number
            for size in reversed(self.sizes):
                left, coordinate = divmod(left, size)
                coordinates.append(coordinate)
            for i, steps in self._strides.items():
                found[i] = sum(map(mul, reversed(coordinates), steps))
        return found

    def bits(self, number: int) -> list[int]:
        """Those of one element of the common shape, of each input."""
        return [view[at] for view, at in zip(self._words, self.offsets(number), strict=True)]

    def places(self, numbers: Sequence[int]) -> list[Sequence[int]]:
        """The offsets of elements of the common shape, of each input."""
        if not self._strides:
            return [numbers] * len(self.names)
        found = list(zip(*map(self.offsets, numbers), strict=True))
        return [found[i] if i in self._strides else numbers for i in range(len(self.names))]

    def elements(self, first: int, places: Sequence[Sequence[int]]) -> dict[str, list[float]]:
        """What each input has at its places, counted from an element of the common shape."""
        given = zip(self.names, self.dtypes, self.offsets(first), places, strict=True)
        return {name: at(self._buffers[name], start, p, dtype) for name, dtype, start, p in given}


class ScalarRows(definitions.Rows):
    """One row: lists of numbers for its columns, or a number that is the same in all, computed in a
    type."""

    def __init__(self, values: Mapping[str, list[float]], count: int, compute: DType) -> None:
        super().__init__(values, definitions.Scalars())
        self.count = count
        self.number = int if compute.is_integer else float
        #: Of one column.
        self.one = evaluator_of({}, compute)

    def value(self, at: Any) -> Any:
        found = super().value(at)
        return self.number(found) if isinstance(found, float) else found

    def each(self, name: str, arguments: list[Any]) -> Any:
        if not any(isinstance(argument, list) for argument in arguments):
            return self.one.apply(name, arguments)
        columns = zip(*map(self.columns, arguments), strict=True)
        return [self.one.apply(name, list(values)) for values in columns]

    def columns(self, x: Any) -> list[Any]:
        return x if isinstance(x, list) else [x] * self.count

    def fold(self, name: str, x: Any) -> float:
        values: list[float] = self.columns(x)
        if isinstance(self.one, definitions.Integers):
            folds: dict[str, Callable[[list[float]], float]] = {
                "sum": sum,
                "prod": math.prod,
                "largest": max,
                "smallest": min,
            }
            return int(self.one.wrapped(folds[name](values)))
        if name == "sum":
            return total(values)
        if any(math.isnan(v) for v in values):
            return math.nan
        if name == "prod":
            return math.prod(values)
        return max(values) if name == "largest" else min(values)

    def find(self, x: Any, value: float) -> float:
        values = self.columns(x)
        found = next(i for i, v in enumerate(values) if v == value or math.isnan(v))
        return self.number(found)


def rowwise(spec: Mapping[str, Any], buffers: Buffers, output: str | None) -> Element:
    """Elements of a row-wise output, by row and column; one that is reduced has column 0."""
    broadcast = Broadcast(*lifted(spec, buffers))
    name = output or broadcast.outputs[0]
    formulas = definitions.behind(broadcast.formulas, name)
    sizes = broadcast.sizes
    kept, reduced = split_axes(len(sizes), spec["axes"])
    cols = math.prod(sizes[axis] for axis in reduced)
    height = sizes[kept[-1]] if kept else 1
    last = kept + reduced == list(range(len(sizes)))
    columns: Sequence[int] = range(cols)
    if not last:
        columns = [number_along(sizes, reduced, i) for i in range(cols)]
    # An element's offset is its row's and its column's: they are of different axes.
    places = broadcast.places(columns)
    compute = computed_in(broadcast.dtypes, output_dtypes(spec, len(broadcast.outputs)))
    kind = int if compute.is_integer else float

    @lru_cache(maxsize=16)
    def row_values(row: int) -> list[float]:
        found = broadcast.elements(number_along(sizes, kept, row), places)
        inputs = {name: list(map(kind, values)) for name, values in found.items()}
        inputs["column"] = list(map(kind, range(cols)))
        inputs["row"] = [kind(row % height)] * cols
        rows = ScalarRows(inputs, cols, compute)
        return rows.columns(rows.outputs(formulas)[name])

    return lambda index: kind(row_values(index[0])[index[1]])


def lifted(spec: Mapping[str, Any], buffers: Buffers) -> tuple[Mapping[str, Any], Buffers]:
    """The same operation on packed copies of what it looks at through views, as inputs of their
    own. Without buffers there are none."""
    formulas = definitions.formulas(spec["expression"])
    if not views.has_views(formulas):
        return spec, buffers
    names = definitions.input_names(formulas)
    shapes = {name: tuple(shape) for name, shape in zip(names, spec["shapes"], strict=True)}
    dtypes = dict(zip(names, input_dtypes(spec, len(names)), strict=True))
    plain, found = views.lifted(formulas)
    copies = dict(buffers)
    for name, at in found.items():
        (tensor,) = definitions.input_names({name: at})
        size = dtypes[tensor].itemsize
        dtypes[name], shapes[name] = dtypes[tensor], views.shape_of(at, shapes)
        if buffers:
            # The elements of a view are where its tensor's are whose values are their numbers.
            of = {tensor: shapes[tensor]}
            elements = views.Elements(
                {name: at}, of, lambda of_tensor, index: number_of(index, shapes[of_tensor]), _none
            )
            places = itertools.product(*map(range, shapes[name]))
            numbers = (int(elements.output(name, index)) for index in places)
            whole = buffers[tensor]
            copies[name] = memoryview(b"".join(whole[n * size : (n + 1) * size] for n in numbers))
    left = definitions.input_names(plain)
    changed = {
        "expression": "; ".join(f"{name} = {ast.unparse(at)}" for name, at in plain.items()),
        "shapes": [list(shapes[name]) for name in left],
        "dtypes": [dtypes[name] for name in left],
    }
    return {**spec, **changed}, copies


def _none(name: str, arguments: list[Any]) -> Any:
    raise ValueError(f"{name} within a view of a row-wise expression")


def row_elements(spec: Mapping[str, Any], output: str) -> Iterator[tuple[tuple[int, int], int]]:
    """Every element of a row-wise output, which is packed: its row and column, and its number."""
    sizes = broadcast_shape(lifted(spec, {})[0]["shapes"])
    kept, reduced = split_axes(len(sizes), spec["axes"])
    rows, cols = (math.prod(sizes[axis] for axis in axes) for axes in (kept, reduced))
    if definitions.reduced(definitions.formulas(spec["expression"]))[output]:
        yield from (((row, 0), row) for row in range(rows))
        return
    for row, col in itertools.product(range(rows), range(cols)):
        yield (row, col), number_along(sizes, kept, row) + number_along(sizes, reduced, col)


def split_axes(rank: int, axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The axes that rows are numbered along, and those that are reduced."""
    return [axis for axis in range(rank) if axis not in axes], sorted(axes)


def number_along(sizes: Sequence[int], axes: Sequence[int], i: int) -> int:
    """The number, in a packed tensor, of the i-th element along some axes."""
    found = 0
    for axis in reversed(axes):
        i, coordinate = divmod(i, sizes[axis])
        found += coordinate * math.prod(sizes[axis + 1 :])
    return found


OPERATIONS: Mapping[str, Callable[[Mapping[str, Any], Buffers, str | None], Element]] = {
    "matmul": lambda spec, buffers, _: matmul(spec, buffers),
    "elementwise": elementwise,
    "rowwise": rowwise,
}


def elements(
    spec: Mapping[str, Any], buffers: Mapping[str, Any], output: str | None = None
) -> Element:
    """The function that computes one element of an output (the first, if none is named), from the
    spec's JSON form and raw buffers.

    `buffers` holds an object with Python's buffer protocol per input.
    """
    views = {name: memoryview(buffer).cast("B") for name, buffer in buffers.items()}
    return OPERATIONS[spec["op"]](spec, views, output)
