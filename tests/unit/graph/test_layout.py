"""Views as strides, and as formulas, against numpy's own views of the same memory."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

pytest.importorskip("onnx")
from kgen.graph.layout import StridedLayout, ViewStep, replayed, seen
from kgen.ops.expression import Expression, Primitive
from kgen.spec.inference import parts


def viewed(formula: Expression, x: np.ndarray) -> np.ndarray:
    """Return the result of a formula of slices and a permutation."""
    if formula.primitive is Primitive.INPUT:
        return x
    (tensor,), numbers = parts(formula)
    inner = viewed(tensor, x)
    if formula.name == "permute":
        return inner.transpose([int(n) for n in numbers])
    assert formula.name == "slice"
    axis, start, stop, step = map(int, numbers)
    return inner[(*(slice(None),) * axis, slice(start, stop, step))]


def random_step(rng: random.Random, shape: tuple[int, ...]) -> ViewStep:
    kind = rng.choice(("reshape", "permute", "slice", "expand"))
    if kind == "permute":
        return ViewStep(kind=kind, numbers=tuple(rng.sample(range(len(shape)), len(shape))))
    if kind == "slice":
        axis = rng.randrange(len(shape))
        start = rng.randrange(shape[axis])
        step = rng.choice((1, 1, 2))
        count = rng.randint(1, (shape[axis] - start + step - 1) // step)
        return ViewStep(kind=kind, numbers=(axis, start, count, step))
    if kind == "expand":
        return ViewStep(
            kind=kind, numbers=(2, *(rng.choice((n, 3)) if n == 1 else n for n in shape))
        )
    sizes: list[int] = []
    left = math.prod(shape)
    while left > 1 and len(sizes) < 3:
        n = rng.choice([d for d in range(1, left + 1) if left % d == 0])
        sizes.append(n)
        left //= n
    return ViewStep(kind=kind, numbers=(*sizes, left))


def applied(x: np.ndarray, step: ViewStep) -> np.ndarray:
    match step.kind:
        case "permute":
            return x.transpose(step.numbers)
        case "slice":
            axis, start, count, by = step.numbers
            return x[(*(slice(None),) * axis, slice(start, start + (count - 1) * by + 1, by))]
        case "expand":
            return np.broadcast_to(x, step.numbers)
    return x.reshape(step.numbers)


def test_chains_of_views() -> None:
    rng = random.Random(0)
    said = as_formula = 0
    for _ in range(600):
        shape = tuple(rng.choice((1, 2, 3, 4, 6)) for _ in range(rng.randint(1, 4)))
        memory = np.arange(math.prod(shape))
        expected, steps = memory.reshape(shape), []
        for _ in range(rng.randint(1, 4)):
            if expected.ndim > 5:
                break
            steps.append(random_step(rng, expected.shape))
            expected = applied(expected, steps[-1])
        layout = replayed(StridedLayout.of(shape), steps)
        if layout is None:
            # numpy copies for some reshape on the way, too.
            assert any(step.kind == "reshape" for step in steps[1:])
            continue
        said += 1
        bytes_ = tuple(s * memory.itemsize for s in layout.strides)
        found = np.lib.stride_tricks.as_strided(memory[layout.offset :], layout.shape, bytes_)
        np.testing.assert_array_equal(found, expected, str(steps))
        assert layout.is_packed == np.array_equal(expected.reshape(-1), memory[: expected.size])
        shown = seen(layout, memory.size, "x")
        if shown is not None:
            as_formula += 1
            by_formula = viewed(shown.formula, memory.reshape(shown.shape))
            front = max(0, by_formula.ndim - expected.ndim)
            # An axis in front moves those of a row, which are numbered.
            walked = (n > 1 and s for n, s in zip(layout.shape, layout.strides, strict=True))
            assert not front or all(walked), str(steps)
            whole = np.broadcast_to(by_formula, (1,) * front + expected.shape)
            np.testing.assert_array_equal(whole.reshape(expected.shape), expected, str(steps))
    assert said > 300 and as_formula > 250


def test_a_reshape_that_strides_cannot_say() -> None:
    assert StridedLayout.of((3, 4)).permuted((1, 0)).reshaped((12,)) is None
    assert StridedLayout.of((3, 4)).sliced(1, 0, 3, 1).reshaped((9,)) is None
    assert StridedLayout.of((3, 4)).sliced(0, 1, 2, 1).reshaped((8,)) == StridedLayout(
        shape=(8,), strides=(1,), offset=4
    )


def test_overlapping_and_diagonal_layouts_have_no_formula() -> None:
    assert seen(StridedLayout(shape=(3, 3), strides=(1, 1)), 9, "x") is None
    assert seen(StridedLayout(shape=(3, 3), strides=(3, 2)), 9, "x") is None
