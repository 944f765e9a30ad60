"""Lines of the support table as small specs: each operation, type, layout and kind of edge. They
come from the table and from the registries of functions, views and steps, so new entries appear
here. If a type does not support a function, the spec raises an error, and the line is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, cycle, islice, product
from typing import Any, TypeVar

from kgen.errors import SpecError
from kgen.ops import VIEWS, ScalarFunction, functions
from kgen.ops.parse import MOST_OUTPUTS
from kgen.spec import Conv2d, DType, Elementwise, Epilogue, Layout, Matmul, Rowwise, Spec
from kgen.spec.choices import steps_known
from tests.attention_specs import BOTTOM, attention
from tests.unit.ops.ops_in_numpy import call_of

#: One row of :func:`kgen.support.support_table`.
Row = Mapping[str, Any]
Shapes = tuple[tuple[int, ...], ...]
T = TypeVar("T")
S = TypeVar("S", bound=Spec)

#: No side is a whole number of vectors or tiles.
ODD: dict[str, Any] = {"m": 17, "n": 19, "k": 37}
#: Every side is; one row, one column, one product.
OTHERS: tuple[dict[str, Any], ...] = (
    {"m": 32, "n": 32, "k": 64},
    {"m": 1, "n": 20, "k": 33},
    {"m": 18, "n": 1, "k": 40},
    {"m": 1, "n": 1, "k": 1},
)
#: A vector and a remainder of every type; and inputs that serve many rows, or many columns.
ELEMENTS: tuple[Shapes, ...] = (((3, 35),), ((5, 16), (16,)), ((5, 1), (1, 19)), ((259,),))
#: Contiguous rows, interleaved ones, and long ones: shape and axes.
ROWS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((33, 37), (-1,)),
    ((3, 29, 11), (1,)),
    ((17, 256), (-1,)),
)
#: Inputs of views: the first that a view's example fits to.
VIEWED: tuple[Shapes, ...] = (
    ((12, 19),),
    ((12, 19), (3, 19)),
    ((12, 19), (5,)),
    ((12, 19), (5,), (5, 19)),
    ((8, 1),),
)
#: A function that is computed in f32 has the same steps in every type: one in so many types, of
#: which the floats, the first three, have one.
TYPES_APART = 3


def types(row: Row, op: str) -> list[DType]:
    return list(map(DType, row["ops"][op]))


def products(row: Row) -> Iterator[Spec]:
    """Yield each type in each layout with remainders: plain, with every epilogue step, with
    batches that share B, and with padded rows; output types alternate. Then whole tiles, narrow
    products, other ways to multiply f32, and narrower types of B."""
    turns = cycle(DType)
    others = ((OTHERS[i % 4], tuple(Layout)[(i + i // 4) % 4]) for i in count())
    for dtype in types(row, "matmul"):
        more: tuple[dict[str, Any], ...] = (
            {},
            {"epilogue": tuple(Epilogue), "alpha": 0.5, "beta": 2.0},
            {"batch": 2, "batch_stride_b": 0, "epilogue": ("bias", "relu")},
            {"lda": 40, "ldb": 48, "ldc": 24, "epilogue": ("silu", "residual")},
        )
        for number, layout in enumerate(Layout):
            fields = {**ODD, "dtype": dtype, "layout": layout, **more[number]}
            outs = (fields if number == 0 else {**fields, "out_dtype": out} for out in turns)
            yield next(spec for each in outs for spec in _built(Matmul, **each))
        for sides, layout in islice(others, 2):
            yield Matmul(**sides, dtype=dtype, layout=layout)
    for math, layout in product(row["math"], Layout):
        yield Matmul(**ODD, dtype="f32", math=math, layout=layout)
    for narrow, layout in zip(row["narrow"], cycle((Layout.NN, Layout.NT)), strict=False):
        yield Matmul(**ODD, dtype="f32", b_dtype=narrow, layout=layout)


#: Padded convolutions whose K-tiles are within a place of the kernel, and across several; one
#: without padding and one that is a matmul.
CONVOLUTIONS: tuple[dict[str, Any], ...] = (
    {"input": (1, 32, 4, 5), "weights": (9, 32, 3, 3), "padding": 1, "epilogue": ("bias", "relu")},
    {"input": (2, 7, 5, 3), "weights": (8, 7, 3, 2), "padding": (2, 0, 1, 1), "stride": 2},
    {"input": (1, 8, 6, 5), "weights": (8, 8, 2, 2), "dilation": 3, "weight_layout": "hwio"},
    {"input": (2, 16, 3, 5), "weights": (8, 16, 1, 1), "epilogue": ("silu", "residual")},
)


def convolutions(row: Row) -> Iterator[Spec]:
    for dtype, fields in product(types(row, "conv2d"), CONVOLUTIONS):
        # Sums of bytes are exact in s32, which takes no epilogue.
        out = DType.F16 if dtype is DType.S8 and "epilogue" in fields else None
        yield Conv2d(dtype=dtype, out_dtype=out, **fields)


def attentions(row: Row) -> Iterator[Spec]:
    """Yield attention whose sizes are no multiples of tiles; each field is in one of the specs."""
    for dtype in types(row, "attention"):
        yield attention(5, 37, 24, heads=4, kv_heads=2, dtype=dtype, lse=True, **BOTTOM)
        yield attention(3, 20, 40, out=16, dtype=dtype, window=7, softcap=2.0, kv_length=True)
        mask_dtype = "f32" if dtype is DType.E4M3 else dtype
        yield attention(17, 33, dtype=dtype, mask=(1, 1, 17, 33), mask_dtype=mask_dtype)


def epilogues(row: Row) -> Iterator[Spec]:
    """Yield every step of an epilogue, several in one spec."""
    dtypes = types(row, "matmul")
    steps = [step for step in steps_known() if step not in tuple(Epilogue)]
    for dtype, chain in zip(dtypes, _parts(steps, len(dtypes)), strict=True):
        fields = {**ODD, "dtype": dtype, "epilogue": ("bias", *chain)}
        outs = (fields, {**fields, "out_dtype": DType.F32})
        yield next(spec for each in outs for spec in _built(Matmul, **each))


def elements(row: Row) -> Iterator[Spec]:
    """Yield each element-wise function, several in a kernel with an output each, and each type."""
    found = [function for function in functions().values() if not function.rowwise]
    some = -(-len(found) // TYPES_APART)
    shapes = cycle(ELEMENTS)
    for turn, dtype in enumerate(types(row, "elementwise")):
        first = turn % TYPES_APART * some
        for calls in _alike(found[first : first + some], dtype):
            formula = "; ".join(f"o{i} = {call}" for i, call in enumerate(calls))
            inputs = len(_element(calls[0], dtype, ELEMENTS[0]).inputs)
            yield _element(formula, dtype, next(s for s in shapes if len(s) in (1, inputs)))


def conversions(row: Row) -> Iterator[Spec]:
    """Yield conversions from each type to each."""
    dtypes = types(row, "elementwise")
    for dtype, part in product(dtypes, _parts(dtypes, -(-len(dtypes) // MOST_OUTPUTS))):
        formula = "; ".join(f"o{i} = x" for i in range(len(part)))
        yield Elementwise(expression=formula, shapes=((259,),), dtype=dtype, out_dtypes=part)


def views(row: Row) -> Iterator[Spec]:
    """Yield each view, and each type."""
    found = product(enumerate(types(row, "elementwise")), enumerate(VIEWS.values()))
    for (turn, dtype), (number, view) in found:
        if (turn + number) % TYPES_APART:
            continue
        fitting = (
            spec
            for shapes in VIEWED
            for spec in _built(Elementwise, expression=view.example, shapes=shapes, dtype=dtype)
        )
        yield next(fitting)


def rows(row: Row) -> Iterator[Spec]:
    """Yield each row-wise function, and each type; rows are contiguous, interleaved and long in
    turn. Rows of s64 need a float input, and are reduced in f32."""
    found = [function for function in functions().values() if function.rowwise]
    for turn, dtype in enumerate(types(row, "rowwise")):
        for number, function in enumerate(found):
            shape, axes = ROWS[(turn + number // TYPES_APART) % len(ROWS)]
            if (turn + number) % TYPES_APART:
                continue
            dtypes = (dtype, DType.F32) if dtype is DType.S64 else (dtype,)
            yield from _built(
                Rowwise,
                expression=f"{function.name}({' * '.join('xy'[: len(dtypes)])})",
                shapes=(shape,) * len(dtypes),
                dtypes=dtypes,
                axes=axes,
            )


LINES: Mapping[str, Callable[[Row], Iterator[Spec]]] = {
    each.__name__: each
    for each in (products, convolutions, attentions, epilogues, elements, conversions, views, rows)
}


def _built(spec: type[S], **fields: Any) -> Iterator[S]:
    """Yield the spec, or nothing if it has a type of another target."""
    try:
        yield spec(**fields)
    except SpecError:
        return


def _element(expression: str, dtype: DType, shapes: Shapes) -> Elementwise:
    return Elementwise(expression=expression, shapes=shapes, dtype=dtype)


def _alike(found: Iterable[ScalarFunction], dtype: DType) -> Iterator[Sequence[str]]:
    """Yield groups of calls that make one kernel: calls of a group share inputs, and agree in
    whether they give bool and are exact, so each is computed as in a kernel of its own."""
    alike: dict[object, list[str]] = {}
    for function in found:
        try:
            alone = _element(call_of(function.name), dtype, ELEMENTS[0])
        except SpecError:
            continue
        alike.setdefault((alone.inputs, alone.out, alone.is_exact), []).append(
            str(alone.expression)
        )
    for calls in alike.values():
        yield from _parts(calls, -(-len(calls) // MOST_OUTPUTS))


def _parts(found: Sequence[T], number: int) -> Iterator[tuple[T, ...]]:
    return (tuple(found[first::number]) for first in range(number))
