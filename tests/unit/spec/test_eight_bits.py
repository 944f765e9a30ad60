"""Products of s8 and of 8-bit floats: the spec, the reference, the oracle, and arrays of them."""

from __future__ import annotations

import itertools
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen import targets
from kgen.check import tensors
from kgen.check.oracle import operations as oracle
from kgen.check.verify import compare, inputs
from kgen.errors import SpecError, TargetError
from kgen.spec import DType, Epilogue, Layout, Matmul, from_json, text
from kgen.spec.choices import OUTPUTS
from kgen_runtime.array import Array, host_dtype
from kgen_runtime.dtypes import FLOATS_8
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.memory import dlpack
from kgen_runtime.reference.elements import elements
from kgen_runtime.reference.numbers import decode, encode
from tests import needs
from tests.specs import relu_of, softmax_of
from tests.unit.runtime.fakes import HostFake

EntryFor = Callable[..., KernelEntry]
SMALL: dict[str, Any] = {"m": 4, "n": 4, "k": 4}


def test_a_product_of_bytes() -> None:
    spec = Matmul(m=2, n=3, k=4, dtype=DType.S8)
    assert (spec.out, spec.accumulate) == (DType.S32, DType.S32)
    assert spec.key == "matmul_2x3x4_s8_nn_to_s32"
    assert Matmul(**SMALL, dtype=DType.E4M3).out is DType.BF16


def test_scales_are_arguments() -> None:
    spec = text.parse("matmul 2x3x4 s8 out=s8 scales=out,a,b beta=0.5 +bias+relu")
    assert isinstance(spec, Matmul)
    names = ["a", "b", "scale_a", "scale_b", "c", "bias", "scale_out", "out"]
    assert [p.name for p in spec.parameters] == names
    assert spec.parameter("bias").dtype is DType.F32 and spec.parameter("c").dtype is DType.S8
    assert spec.key.endswith("scalea_scaleb_scaleout_bias_relu")
    assert from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtype": "s32"}, "dtype=s32 is not supported by matmul; take f64, f32, f16, bf16, e4m3"),
        ({"dtype": "s8", "out_dtype": "e4m3"}, "take one of s32, f32, f16, bf16, s8"),
        ({"dtype": "f16", "out_dtype": "u8"}, "out_dtype=u8 is not supported with dtype=f16"),
        (
            {"dtype": "s8", "alpha": 2.0},
            "out_dtype=s32 supports no alpha, beta, scales or epilogue; take f32",
        ),
        ({"dtype": "s8", "epilogue": ("relu",)}, "out_dtype=s32 supports no alpha"),
        ({"scales": ("a",)}, "scales=a need 8-bit operands, not f16; use alpha"),
        ({"dtype": "e5m2", "scales": ("a", "a")}, "names a scale twice"),
        ({"dtype": "e5m2", "scales": ("c",)}, "scales=c is unknown; known are a, b, out"),
    ],
)
def test_what_does_not_go_together(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        Matmul(**(SMALL | fields))


def test_other_operations_take_none() -> None:
    with pytest.raises(SpecError, match="dtype=e4m3 is not supported by row-wise operations"):
        softmax_of(1, 1, dtype=DType.E4M3)
    with pytest.raises(SpecError, match="dtype=e5m2 is not supported by element-wise operations"):
        relu_of((4,), dtype=DType.E5M2)
    for family in targets.families():
        with pytest.raises(TargetError, match=r"dtype=e5m2 is not supported by .* take f32"):
            family.check_support(Matmul(m=1, n=1, k=1, dtype="e5m2"), family.targets[0])


@pytest.mark.parametrize("dtype", FLOATS_8)
def test_codes_are_those_of_ml_dtypes(dtype: DType) -> None:
    """The test covers 256 codes, and numbers around every middle between two of them."""
    needs.module("ml_dtypes")
    codes = np.arange(256, dtype=np.uint8)
    values = codes.view(host_dtype(dtype)).astype(np.float64)
    np.testing.assert_array_equal([decode(int(c), dtype) for c in codes], values)
    np.testing.assert_array_equal(tensors.decode(codes, dtype), values)
    finite = np.unique(values[np.isfinite(values)])
    middles = (finite[1:] + finite[:-1]) / 2
    for numbers in (finite, middles, middles * (1 + 2**-20), middles * (1 - 2**-20)):
        nearest = numbers.astype(host_dtype(dtype)).astype(np.float64)
        np.testing.assert_array_equal(tensors.round_to(numbers, dtype), nearest)
        rounded = [decode(encode(x, dtype), dtype) for x in numbers]
        np.testing.assert_array_equal(rounded, nearest)


def test_infinities_and_nan_as_inputs() -> None:
    special = np.array([np.inf, -np.inf, np.nan])
    codes = tensors.encode(special, DType.E5M2)
    np.testing.assert_array_equal(tensors.decode(codes, DType.E5M2), special)


@pytest.mark.parametrize(
    ("dtype", "value", "bits"),
    [
        (DType.S8, 2.5, 2),  # halfway: to even
        (DType.S8, -3.5, 256 - 4),
        (DType.S8, 1e9, 127),
        (DType.S8, -math.inf, 128),
        (DType.S8, math.nan, 0),
        (DType.S32, -(2.0**31), 1 << 31),
        (DType.S32, 1e30, (1 << 31) - 1),
        (DType.E4M3, 1e9, 0x7E),
        (DType.E4M3, -math.inf, 0xFE),
        (DType.E5M2, math.inf, 0x7B),
        (DType.E5M2, math.nan, 0x7F),
        (DType.E4M3FNUZ, 1e9, 0x7F),
        (DType.E4M3FNUZ, -math.inf, 0xFF),
        (DType.E4M3FNUZ, -1e-9, 0),  # there is no -0
        (DType.E5M2FNUZ, math.inf, 0x7F),
        (DType.E5M2FNUZ, math.nan, 0x80),
    ],
)
def test_conversions_saturate(dtype: DType, value: float, bits: int) -> None:
    assert encode(value, dtype) == bits
    rounded = tensors.round_to(np.array([value]), dtype)
    assert int(tensors.encode(rounded, dtype)[0]) == bits


def test_the_reference_scales_and_saturates() -> None:
    spec = Matmul(
        m=1, n=2, k=2, dtype=DType.S8, out_dtype=DType.S8, alpha=0.5,
        scales=("a", "b", "out"), epilogue=("bias", "relu"),
    )  # fmt: skip
    buffers = {
        "a": struct.pack("2b", 100, -100),
        "b": struct.pack("4b", 100, 1, -100, 2),
        "scale_a": struct.pack("f", 0.25),
        "scale_b": struct.pack("f", 4.0),
        "bias": struct.pack("2f", 1.0, 53.0),
        "scale_out": struct.pack("f", 3.0),
    }
    element = elements(spec.to_json(), buffers)
    assert element((0, 0, 0)) == 3 * (0.5 * 20000 + 1)
    assert element((0, 0, 1)) == 3 * (0.5 * -100 + 53)


@st.composite
def products(draw: st.DrawFn) -> Matmul:
    sizes = st.integers(1, 5)
    dtype = draw(st.sampled_from((DType.S8, *FLOATS_8)))
    out = draw(st.sampled_from(OUTPUTS[dtype]))
    fields: dict[str, Any] = {}
    if out is not DType.S32:
        fields["scales"] = draw(st.lists(st.sampled_from(["a", "b", "out"]), unique=True))
        fields["alpha"] = draw(st.sampled_from([1.0, -0.5, 0.1]))
        fields["beta"] = draw(st.sampled_from([0.0, 2.0, 0.3]))
        fields["epilogue"] = draw(st.lists(st.sampled_from(Epilogue), max_size=3, unique=True))
    return Matmul(
        m=draw(sizes), n=draw(sizes), k=draw(sizes), dtype=dtype, out_dtype=out,
        layout=draw(st.sampled_from(Layout)), batch=draw(st.integers(1, 2)), **fields,
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(spec=products())
def test_the_oracle_agrees_with_the_reference(entry_for: EntryFor, spec: Matmul) -> None:
    """The reference's own rounded result is within the bound, also if it saturates."""
    entry = entry_for(spec)
    box = tuple(slice(0, n) for n in oracle.output_shape(entry))
    for data in inputs.data_sets(entry, seed=2):
        element = elements(entry.spec, data.buffers)
        found = oracle.estimate(entry, data.buffers, box, data.whole)
        exact = np.empty(oracle.output_shape(entry))
        for at in itertools.product(*(range(s.stop) for s in box)):
            exact[at] = element(at)
        np.testing.assert_allclose(found.value, exact, rtol=1e-12, atol=1e-13)
        rounded = [encode(x, spec.out) for x in exact.reshape(-1)]
        got = tensors.decode(
            np.array(rounded, tensors.BITS[spec.out.itemsize]).reshape(exact.shape), spec.out
        )
        with np.errstate(invalid="ignore"):
            error, bound = compare.deviations(found, got, spec.out)
        assert (error <= bound).all()


def test_sums_of_bytes_must_be_exact(entry_for: EntryFor) -> None:
    entry = entry_for(Matmul(m=3, n=3, k=5, dtype=DType.S8))
    data = next(inputs.data_sets(entry, seed=0))
    box = (slice(0, 1), slice(0, 3), slice(0, 3))
    found = oracle.estimate(entry, data.buffers, box)
    off_by_one = found.value + 1.0
    assert (found.error == 0.0).all()
    error, bound = compare.deviations(found, off_by_one, DType.S32)
    assert (error > bound).all()


def test_arrays_of_bytes() -> None:
    backend = HostFake()
    assert Array.from_host(backend, np.zeros(3, np.int8)).dtype is DType.S8
    codes = np.array([0x38, 0xB8], np.uint8)
    array = Array.from_host(backend, codes, bits_of="e4m3")
    assert array.dtype is DType.E4M3
    np.testing.assert_array_equal(array.numpy().astype(np.float32), [1.0, -1.0])
    assert Array.from_host(backend, codes).dtype is DType.U8
    lent = dlpack.read(array)
    assert (lent.dtype, lent.shape) == (DType.E4M3, (2,))
    fnuz = Array.from_host(backend, codes, bits_of="e4m3fnuz")
    assert fnuz.dtype is dlpack.read(fnuz).dtype is DType.E4M3FNUZ
    np.testing.assert_array_equal(fnuz.numpy().astype(np.float32), [0.5, -0.5])
