"""Element-wise specs: keys, shapes that broadcast, the plan's vectors, and refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.errors import ScheduleError, SpecError
from kgen.ops import functions
from kgen.pipeline import plan_with
from kgen.spec import DType, Elementwise, from_json, text
from kgen.targets import find
from kgen.targets.stream import StreamPlan, merged_of, widest_vector
from kgen_runtime.calls.operations import Operations

GATED = Elementwise(expression="silu(gate) * up", shapes=((64, 512), (512,)))


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("silu 64x512 f16", "silu_64x512_f16"),
        ("add 64x512,512 f32 out=f16", "add_64x512_512_f32_to_f16"),
        ("mul(silu(gate),up) 64x512 f16", "mul_silu_64x512_f16"),
        ("silu(gate) 4 bf16", "silu_4_bf16"),
    ],
)
def test_names(line: str, key: str) -> None:
    spec = text.parse(line)
    assert spec.key == key and key.isidentifier()
    assert text.form(spec) == line
    assert from_json(spec.to_json()) == spec


@pytest.mark.integration
def test_a_kernel_of_one_function_is_called_so(tmp_path: Path) -> None:
    one = Elementwise(expression="silu(gate)", shapes=((5,),), dtype="f32")
    bundle = kgen.build([one, GATED], ["x86-64"])
    assert [entry.op for entry in bundle.manifest.kernels] == ["silu", "elementwise"]
    x = np.linspace(-3, 3, 5, dtype=np.float32)
    with kgen_runtime.load(bundle.save(tmp_path / "x.kgen"), device="cpu") as kernels:
        np.testing.assert_allclose(kernels.silu(gate=x), x / (1 + np.exp(-x)), rtol=1e-5)
        gate, up = np.ones((64, 512), np.float16), np.full(512, 2, np.float16)
        expected = np.float16(2 / (1 + math.exp(-1)))
        np.testing.assert_array_equal(kernels.elementwise(gate, up), np.full((64, 512), expected))


def test_editors_know_every_operation() -> None:
    assert get_type_hints(Operations).keys() == {
        "matmul",
        "conv2d",
        "attention",
        "elementwise",
        "rowwise",
        *functions(),
    }


@pytest.mark.parametrize(
    ("shapes", "sizes", "vector"),
    [
        (((64, 512), (64, 512)), (64 * 512,), 8),
        (((64, 512), (512,)), (64, 512), 8),
        (((64, 12), (12,)), (64, 12), 4),
        (((64, 13), (13,)), (64, 13), 1),
        (((3, 4, 5), (1,)), (60,), 8),
        (((3, 1, 16), (4, 16)), (3, 4, 16), 8),
        (((3, 4, 16), (3, 1, 1)), (3, 64), 8),
        (((1, 1), (1,)), (1,), 8),
        (((2, 3), (2, 1)), (2, 3), 1),
    ],
)
def test_dimensions_walked_alike_are_one(
    shapes: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], vector: int
) -> None:
    spec = Elementwise(expression="x + y", shapes=shapes)
    assert merged_of(spec).sizes == sizes and widest_vector(spec, 8) == vector
    assert spec.output_shape("out") == np.broadcast_shapes(*shapes)


@pytest.mark.parametrize("vector", [1, 2, 4])
def test_every_vector_reads_what_it_should(vector: int) -> None:
    """The plan's coordinates and strides give the elements of numpy's broadcasting."""
    shapes = ((3, 1, 8), (4, 8), (3, 4, 1))
    spec = Elementwise(expression="x + y + z", shapes=shapes)
    stream = StreamPlan(spec=spec, vector=vector)
    for of, shape in zip(stream.inputs, shapes, strict=True):
        places = np.broadcast_to(
            np.arange(math.prod(shape)).reshape(shape), spec.output_shape("out")
        ).ravel()
        for i in range(stream.vectors):
            at = [i // d.divisor % d.size for d in stream.dimensions]
            first = sum(at[d] * stride for d, stride in of.terms)
            step = 0 if of.single else 1
            found = [first + e * step for e in range(vector)]
            assert found == list(places[i * vector : (i + 1) * vector])
        assert not of.linear or shape == spec.output_shape("out")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shapes": ((3,), (4,))}, "x of shape 3 does not broadcast to 4; make each size that of"),
        ({"shapes": ((3,),) * 3}, r"3 shapes for the inputs x, y of 'add\(x, y\)'; give one"),
        ({"shapes": ((0,),)}, r"shape\[0\]=0 is out of range; give 1 or more"),
        ({"shapes": ((1,) * 9,)}, "has 9 dimensions; give 1 to 8"),
        ({"shapes": (3,)}, r"shape=3 is not a tuple of sizes; give shapes=\[\(1024,\)\]"),
        ({"expression": "1 + 2"}, r"expression='add\(1, 2\)' reads no input; use one such as x"),
        ({"expression": "X + y"}, "input 'X' is not a valid input name; use small letters"),
        ({"expression": "out + y"}, "input 'out' is not a valid input name"),
        ({"dtype": "e4m3"}, "dtype=e4m3 is not supported by element-wise operations"),
    ],
)
def test_what_is_refused(fields: dict[str, object], message: str) -> None:
    given = {"expression": "x + y", "shapes": ((3,),)} | fields
    with pytest.raises(SpecError, match=message) as error:
        Elementwise(**given)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "vulkan1.3"])
def test_a_vector_that_does_not_fit_names_one_that_does(target: str) -> None:
    odd = Elementwise(expression="x + y", shapes=((6, 6), (6,)), dtype=DType.F16)
    with pytest.raises(ScheduleError, match="try vector=2"):
        plan_with(odd, find(target), {"vector": 4})
    assert plan_with(odd, find(target), {"vector": 1}).schedule.vector == 1  # type: ignore[attr-defined]
