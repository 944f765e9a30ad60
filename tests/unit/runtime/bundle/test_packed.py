"""Prepacked operands: their order, `pack`, stored constants, and refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import constants
from kgen.errors import ArgumentError, BundleError, IntegrityError, SpecError
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.targets.cpu.plan.packing.panel import PanelFormat
from kgen_runtime.bundle import BundleFile
from kgen_runtime.kernels import Kernels
from kgen_runtime.manifest import Packing, TensorParam
from kgen_runtime.memory import packing
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.schema import manifest_json
from tests.manifests import from_json
from tests.unit.runtime.bundle.test_bundle import rewrite

PLAIN = Matmul(m=3, n=21, k=13, dtype=DType.F32)
SPEC = dataclasses.replace(PLAIN, constant=(ConstantOperand.B,))
TALL = dataclasses.replace(SPEC, m=40)
GENERATOR = np.random.default_rng(0)
A, B = (GENERATOR.standard_normal(shape).astype(np.float32) for shape in ((3, 13), (13, 21)))
PRODUCT = A.astype(np.float64) @ B


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of a kernel that packs B itself and two with a prepacked B."""
    bundle = kgen.build([PLAIN, SPEC, TALL], targets=["native"])
    return bundle.save(tmp_path_factory.mktemp("packed") / "three.kgen")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle that contains B, for two kernels of two targets."""
    bundle = kgen.build([PLAIN, SPEC], targets=["native", "x86-64-v3"], constants={"b": B})
    return bundle.save(tmp_path_factory.mktemp("stored") / "stored.kgen")


def close_to_product(result: Any) -> None:
    np.testing.assert_allclose(np.asarray(result, np.float64), PRODUCT, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", [Layout.NN, Layout.NT])
@pytest.mark.parametrize("batch", [1, 2])
def test_the_order_is_the_documented_one(layout: Layout, batch: int) -> None:
    spec = Matmul(m=1, n=5, k=71, dtype=DType.F16, layout=layout, ldb=73, batch=batch)
    param = PanelFormat(width=4, depth=2, k_unit=4, n_unit=8).of(spec)
    assert param.shape[-4:] == (2, 36, 4, 2)
    elements = np.arange(1, param.unpacked.extent + 1, dtype=np.uint16)
    packed, back = np.empty(param.nbytes, np.uint8), elements.copy()
    packing.pack(param, elements.view(np.uint8), packed)
    found = packed.view(np.uint16).reshape(batch, 2, 36, 4, 2)
    for i in range(batch):
        expected = np.zeros((2, 36, 4, 2), np.uint16)
        for k in range(71):
            for n in range(5):
                at = i * spec.b_strides[0] + k * spec.b_strides[1] + n * spec.b_strides[2]
                expected[n // 4, k // 2, n % 4, k % 2] = elements[at]
        np.testing.assert_array_equal(found[i], expected)
    back[:] = elements
    packing.unpack(param, packed, back.view(np.uint8))
    np.testing.assert_array_equal(back, elements)


@pytest.mark.parametrize(("dtype", "depth"), [(DType.S8, 4), (DType.BF16, 2), (DType.F32, 2)])
def test_a_matrix_and_its_transpose_pack_alike(dtype: DType, depth: int) -> None:
    """N and K have remainders."""
    found = []
    matrix = np.arange(1, 14 * 21 + 1, dtype=f"u{dtype.itemsize}").reshape(14, 21)[:13]
    for layout, stored in ((Layout.NN, matrix), (Layout.NT, matrix.T)):
        spec = Matmul(m=1, n=21, k=13, dtype=dtype, layout=layout)
        param = PanelFormat(width=8, depth=depth, k_unit=depth, n_unit=8).of(spec)
        packed = np.empty(param.nbytes, np.uint8)
        packing.pack(param, np.ascontiguousarray(stored).view(np.uint8).reshape(-1), packed)
        found.append(packed)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("dtype", [DType.S8, DType.F16, DType.F32, DType.F64])
@pytest.mark.parametrize("transposed", [False, True])
def test_parts_of_a_panel(dtype: DType, transposed: bool) -> None:
    """A panel has three elements of all columns, then one; in a batch of 2 x 3 with gaps."""
    k, n, width, depth, runs = 7, 5, 3, 4, (3, 1)
    shape = (2, 3, n, k) if transposed else (2, 3, k, n)
    strides = (200, 60, shape[-1] + 1, 1)
    order = Packing(
        shape=shape, strides=strides, transposed=transposed, width=width, depth=depth, runs=runs
    )
    param = TensorParam(
        name="b", role="input", dtype=dtype, shape=(2, 3, 2, 3, 3, 4),
        strides=packed_strides((2, 3, 2, 3, 3, 4)), packing=order,
    )  # fmt: skip
    bits = np.dtype(f"u{dtype.itemsize}")
    elements = np.arange(1, param.unpacked.extent + 1).astype(bits)
    packed, back = np.full(param.nbytes, 7, np.uint8), np.zeros_like(elements)
    packing.pack(param, elements.view(np.uint8), packed)
    found = packed.view(bits).reshape(2, 3, 2, 3, 12)
    expected = np.zeros_like(found)
    for a, b, row, column in np.ndindex(2, 3, k, n):
        d, c = row % depth, column % width
        place = c * 3 + d if d < 3 else 9 + c
        at = (column, row) if transposed else (row, column)
        flat = np.dot(strides, (a, b, *at))
        expected[a, b, column // width, row // depth, place] = elements[flat]
    np.testing.assert_array_equal(found, expected)
    packing.unpack(param, packed, back.view(np.uint8))
    steps = [s * bits.itemsize for s in strides]
    got, wanted = (np.lib.stride_tricks.as_strided(x, shape, steps) for x in (back, elements))
    np.testing.assert_array_equal(got, wanted)
    assert np.count_nonzero(back) == np.count_nonzero(expected)  # gaps stay


@pytest.mark.integration
def test_one_operation_takes_both_forms(path: Path) -> None:
    with kgen_runtime.load(path, device="cpu") as kernels:
        packed = kernels[SPEC.key].pack(B)
        assert packed.ctypes.data % 64 == 0
        for _ in range(2):  # the second time from what the first has found
            close_to_product(kernels.matmul(A, B))
            close_to_product(kernels.matmul(A, packed))
        close_to_product(kernels.matmul.prepare(A, packed)())
        # Any memory will do, and any M.
        close_to_product(kernels.matmul(A, packed.copy()))
        many = np.repeat(A, 14, axis=0)[:40]
        close_to_product(kernels.matmul(many, packed)[[0, 14, 28]])
        np.testing.assert_array_equal(kernels.matmul.pack(B), packed)


@pytest.mark.integration
def test_arrays_and_the_reference(path: Path) -> None:
    for device in ("cpu", "reference"):
        with kgen_runtime.load(path, device=device) as kernels:
            packed = kernels.matmul.pack(kernels.to_device(B))
            out = kernels.matmul(kernels.to_device(A), packed)
            close_to_product(out.numpy())


@pytest.mark.integration
def test_bfloat16(tmp_path: Path) -> None:
    spec = dataclasses.replace(SPEC, dtype=DType.BF16, out_dtype=DType.F32)
    file = kgen.build(spec, targets=["native"]).save(tmp_path / "x.kgen")
    a, b = A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16)
    with kgen_runtime.load(file, device="cpu") as kernels:
        packed = kernels.matmul.pack(b)
        assert packed.dtype == ml_dtypes.bfloat16
        expected = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(kernels.matmul(a, packed), expected, rtol=1e-5, atol=1e-5)
        bits = kernels.matmul.pack(b.view(np.uint16))
        np.testing.assert_array_equal(bits.view(np.uint16), packed.view(np.uint16))


@pytest.mark.integration
def test_constants_in_the_bundle(stored: Path) -> None:
    with BundleFile(stored) as bundle:
        files = {c.file for kernel in bundle.manifest.kernels for c in kernel.constants}
    with kgen_runtime.load(stored, device="cpu") as kernels:
        close_to_product(kernels.matmul(A))
        close_to_product(kernels.matmul(A, B))
        with pytest.raises(
            ArgumentError, match="b is stored in the bundle; leave it out of the call"
        ):
            kernels[SPEC.key].pack(B)
        with pytest.raises(ArgumentError, match=r"takes 1 arguments \(a\), got 2"):
            kernels[SPEC.key](A, B)
        with pytest.raises(
            ArgumentError, match="b is stored in the bundle; leave it out of the call"
        ):
            kernels[SPEC.key](A, b=B)
        with pytest.raises(
            ArgumentError, match="packed operand is stored in the bundle; leave it out"
        ):
            kernels.matmul.pack(B)
        close_to_product(kernels.matmul(A, b=B))  # that of the other kernel
    rewrite(stored, min(files), b"other")
    with pytest.raises(IntegrityError, match="was changed after it was built"):
        for target in ("native", "x86-64-v3"):
            load_only(stored, target)


def load_only(path: Path, target: str) -> None:
    with BundleFile(path) as bundle:
        for entry in bundle.manifest.kernels:
            for constant in entry.constants if entry.target.name == target else ():
                bundle.read(constant)


def message(kernels: Kernels, *arguments: Any, key: str | None = None, pack: bool = False) -> str:
    callee = kernels.matmul if key is None else kernels[key]
    with pytest.raises(ArgumentError) as error:
        (callee.pack if pack else callee)(*arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.integration
def test_wrong_arguments(path: Path) -> None:
    with kgen_runtime.load(path, device="cpu") as kernels:
        packed = kernels.matmul.pack(B)
        other = packed[:1]
        given, shape = ("x".join(map(str, value.shape)) for value in (other, packed))
        assert message(kernels, A, other, key=SPEC.key) == (
            f"{SPEC.key}: b has shape {given}; expected {shape}; "
            "pass the result of this kernel's pack(b)"
        )
        assert f"no kernel takes (3x13 f32, {given} f32)" in message(kernels, A, other)
        assert "pass the result of this kernel's pack(b)" in message(kernels, A, B, key=SPEC.key)
        assert "b is f64; expected f32" in message(
            kernels, A, packed.astype(np.float64), key=SPEC.key
        )
        assert "takes no packed operand; build it with --constant b" in message(
            kernels, B, key=PLAIN.key, pack=True
        )
        assert "b has shape 21x13; expected 13x21" in message(kernels, B.T, key=SPEC.key, pack=True)
        assert "matmul: no kernel packs 21x13 f32; the bundle has" in message(
            kernels, B.T, pack=True
        )


@pytest.mark.integration
def test_orders_that_differ_are_not_guessed(path: Path) -> None:
    """Kernels may differ in their order by a user's schedule, on AMX for instance."""
    with kgen_runtime.load(path, device="cpu") as kernels:
        operand = kernels[TALL.key].packed
        assert operand is not None
        operand.param = dataclasses.replace(operand.param, shape=(1, *operand.param.shape))
        assert (
            "matmul: several kernels pack this matrix, each in its own order; use kernels[key].pack"
            in message(kernels, B, pack=True)
        )


@pytest.mark.integration
def test_constants_that_do_not_fit() -> None:
    for name, value, reason in (
        ("c", B, "constants: c is unknown; known are b"),
        ("b", B.T, "constant b has shape 21x13; expected 13x21; pass the matrix as its layout"),
        ("b", B.astype(np.float64), "constant b is f64; expected f32; convert it first"),
    ):
        with pytest.raises(SpecError, match=reason):
            kgen.build(SPEC, targets=["native"], constants={name: value})


@pytest.mark.parametrize("dtype", ["<f4", "<f2", "<f8", "|i1"])
def test_elements_that_are_not_finite_are_counted(dtype: str) -> None:
    values = np.array([[0, 1], [2, -3]], dtype)
    assert constants.count_not_finite(values) == 0
    if values.dtype.kind == "f":
        values[0, 0], values[1, 1] = np.nan, -np.inf
        assert constants.count_not_finite(values) == 2
    bits = np.array([0x3F80, 0x7F80, 0xFFC0, 0x7F7F], np.uint16)
    for view in (bits, bits.view("V2")):
        assert constants.count_not_finite(view) == 2


@pytest.mark.integration
def test_a_constant_of_another_size_is_refused(stored: Path) -> None:
    with BundleFile(stored) as bundle:
        manifest = bundle.manifest
    kernel = manifest.kernels[1]
    wrong = dataclasses.replace(kernel.constants[0], nbytes=4)
    broken = dataclasses.replace(
        manifest, kernels=(dataclasses.replace(kernel, constants=(wrong,)),)
    )
    data = manifest_json.to_json(broken)
    with pytest.raises(BundleError, match=r"constants/.*\.bin does not hold an input b"):
        from_json(data)
