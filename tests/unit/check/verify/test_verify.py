"""Verification itself: the reference passes as a device, and every seeded fault fails."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from kgen.bundle import Bundle
from kgen.check.execute import device
from kgen.check.execute import runners as execute
from kgen.check.verify import cost
from kgen.check.verify.run import KernelResult, verify
from kgen.errors import VerificationError
from kgen.spec import DType, Epilogue, Matmul, Spec
from kgen_runtime.backend import Code
from kgen_runtime.backends.reference import ReferenceBackend
from kgen_runtime.manifest import KernelEntry, Manifest, Tile
from tests.specs import relu_of, softmax_of

EntryFor = Callable[..., KernelEntry]
Damage = Callable[[Mapping[str, memoryview]], None]


class Device(ReferenceBackend):
    """Device that computes by the reference, and then changes the buffers as a broken kernel
    might."""

    damage: ClassVar[Damage]

    def launch(self, kernel: Any, buffers: Mapping[str, Any], stream: int | None = None) -> None:
        super().launch(kernel, buffers, stream)
        type(self).damage(buffers)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., KernelResult]:
    def run(entry: KernelEntry, damage: Damage = lambda _: None, seed: int = 0) -> KernelResult:
        monkeypatch.setattr(Device, "damage", staticmethod(damage), raising=False)
        code = {"main": Code(artifact=entry.artifacts[0], data=b"")}
        on_device = device.DeviceExecutor(Device(), entry, code)
        monkeypatch.setattr(execute, "executor", lambda *_: on_device)
        bundle = Bundle(manifest=Manifest(kernels=(entry,)), files={"k.o": b""})
        (result,) = verify(bundle, on="device", seed=seed).kernels
        return result

    return run


Run = Callable[..., KernelResult]

SPECS: tuple[Spec, ...] = (
    Matmul(m=5, n=7, k=9, dtype=DType.F16),
    Matmul(m=1, n=1, k=1, dtype=DType.F32),
    Matmul(m=3, n=4, k=5, dtype=DType.BF16, out_dtype=DType.F32, epilogue=(Epilogue.GELU,)),
    Matmul(m=3, n=4, k=5, dtype=DType.F64, alpha=0.1, beta=-3.0, batch=3, batch_stride_b=0),
    Matmul(m=3, n=4, k=5, lda=7, ldc=9, batch=2, batch_stride_c=4, epilogue=(Epilogue.RESIDUAL,)),
    Matmul(
        m=20,
        n=30,
        k=5,
        dtype=DType.F32,
        epilogue=(Epilogue.RELU, Epilogue.BIAS, Epilogue.RESIDUAL),
    ),
    Matmul(
        m=15,
        n=16,
        k=1,
        dtype=DType.F32,
        alpha=1e-6,
        epilogue=(Epilogue.RELU, Epilogue.BIAS, Epilogue.RESIDUAL),
    ),
    Matmul(m=20, n=3, k=3, alpha=-1e12, epilogue=(Epilogue.GELU, Epilogue.BIAS, Epilogue.GELU)),
    relu_of((1,), dtype=DType.F32),
    relu_of((3, 5, 7), dtype=DType.BF16),
    softmax_of(7, 1, dtype=DType.F32),
    softmax_of(2, 33, dtype=DType.F16, out_dtype=DType.F32),
    softmax_of(9, 33, dtype=DType.BF16, log=True),
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.key)
def test_the_reference_passes(run: Run, entry_for: EntryFor, spec: Spec) -> None:
    result = run(entry_for(spec))
    assert result.passed and result.status == "passed", result.reason
    assert result.executed_on == "scalar Python" and result.executed_form == "machine-code"
    assert result.coverage is not None
    assert result.coverage.elements == math.prod(spec.parameter("out").shape)
    assert result.max_error is not None and result.tolerance is not None
    assert result.max_error <= result.tolerance


def f32_at(buffer: memoryview, index: int, value: float) -> None:
    np.frombuffer(buffer, np.float32)[index] = value


SMALL = Matmul(m=6, n=5, k=8, dtype=DType.F32)


def test_a_wrong_element_is_named(run: Run, entry_for: EntryFor) -> None:
    result = run(entry_for(SMALL), lambda b: f32_at(b["out"], 3 * 5 + 4, 1e9))
    assert not result.passed and result.status == "failed"
    assert result.worst_at == (3, 4)
    assert result.reason is not None
    assert "random data, out[3, 4]: got 1e+09, expected" in result.reason
    assert "1 of 30 elements" in result.reason


def test_a_last_bit_is_seen_on_whole_numbers(run: Run, entry_for: EntryFor) -> None:
    def one_unit_more(buffers: Mapping[str, memoryview]) -> None:
        bits = np.frombuffer(buffers["out"], np.uint32)
        bits[7] += np.uint32(1)

    result = run(entry_for(SMALL), one_unit_more)
    assert result.reason is not None and result.reason.startswith("whole-number data, out[1, 2]")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_out_of_place(run: Run, entry_for: EntryFor, value: float) -> None:
    result = run(entry_for(SMALL), lambda b: f32_at(b["out"], 0, value))
    assert not result.passed and result.worst_at == (0, 0) and result.max_error == math.inf
    text = json.dumps(result.to_json(), allow_nan=False)
    assert json.loads(text)["max_error"] is None


def test_a_nan_that_is_lost(run: Run, entry_for: EntryFor) -> None:
    def nan_to_zero(buffers: Mapping[str, memoryview]) -> None:
        values = np.frombuffer(buffers["out"], np.float32)
        values[np.isnan(values)] = 0.0

    relu, softmax = relu_of((9,), dtype=DType.F32), softmax_of(3, 4, dtype=DType.F32)
    for spec in (SMALL, relu, softmax):
        result = run(entry_for(spec), nan_to_zero)
        assert result.reason is not None and result.reason.startswith("special-value data"), spec


def test_an_element_that_is_not_written(run: Run, entry_for: EntryFor) -> None:
    def unwrite(buffers: Mapping[str, memoryview]) -> None:
        np.frombuffer(buffers["out"], np.uint32)[11] = 0xFFEA5A5A

    result = run(entry_for(SMALL), unwrite)
    assert result.worst_at == (2, 1)
    assert result.reason is not None and "1 were never written" in result.reason


def test_a_nan_that_is_not_written(run: Run, entry_for: EntryFor) -> None:
    """An output's poison is NaN, too, and does not count as an expected NaN."""

    def unwrite(buffers: Mapping[str, memoryview]) -> None:
        bits, values = (np.frombuffer(buffers["out"], t) for t in (np.uint32, np.float32))
        bits[np.flatnonzero(np.isnan(values))[:1]] = 0xFFEA5A5A

    result = run(entry_for(SMALL), unwrite)
    assert result.reason is not None and result.reason.startswith("special-value data")
    assert "1 were never written" in result.reason


def test_a_write_into_stride_gaps(run: Run, entry_for: EntryFor) -> None:
    spec = Matmul(m=3, n=4, k=5, dtype=DType.F32, ldc=6)
    result = run(entry_for(spec), lambda b: f32_at(b["out"], 5, 0.0))
    assert result.reason is not None and "into the gaps between the rows" in result.reason


def test_a_write_to_an_input(run: Run, entry_for: EntryFor) -> None:
    result = run(entry_for(SMALL), lambda b: f32_at(b["b"], 5, 0.0))
    assert result.reason is not None and "wrote to its input b" in result.reason


@pytest.mark.parametrize("byte", [device.GUARD - 1, -1, 0, -device.GUARD])
def test_a_write_outside_the_buffer(run: Run, entry_for: EntryFor, byte: int) -> None:
    def outside(buffers: Mapping[str, memoryview]) -> None:
        whole = buffers["out"].obj
        assert isinstance(whole, bytearray)
        whole[byte] = 0

    result = run(entry_for(SMALL), outside)
    assert result.reason is not None and "1 bytes outside the buffer" in result.reason


def test_a_grid_that_is_too_small(run: Run, entry_for: EntryFor) -> None:
    tile = Tile(shape=(1, 6, 5), extent=(1, 4, 4), axes=(2, 1, 0))
    result = run(entry_for(SMALL, grid=(2, 1, 1), tile=tile))
    assert result.reason == "the grid reaches 4 of 6 elements of output dimension 1"


def test_a_kernel_that_nothing_here_runs(entry_for: EntryFor) -> None:
    entry = replace(entry_for(SMALL), artifacts=())
    bundle = Bundle(manifest=Manifest(kernels=(entry,)), files={})
    report = verify(bundle, on="emulator")
    (result,) = report.kernels
    assert not report.passed and result.status == "not-executed"
    assert result.executed_on is None and result.reason
    assert set(report.to_json()["kernels"][0]) == {
        "kernel",
        "target",
        "status",
        "passed",
        "executed_on",
        "executed_form",
        "coverage",
        "max_error",
        "tolerance",
        "worst_at",
        "seconds",
        "reason",
        "warnings",
        "schedules",
    }


def test_a_shape_that_does_not_fit_into_memory(
    entry_for: EntryFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "available_memory", lambda: 10**9)
    entry = entry_for(Matmul(m=65536, n=65536, k=16))
    with pytest.raises(VerificationError, match=r"needs \d+ bytes of memory; 1000000000 bytes are"):
        verify(Bundle(manifest=Manifest(kernels=(entry,)), files={}))


def test_the_same_seed_gives_the_same_result(run: Run, entry_for: EntryFor) -> None:
    entry = entry_for(Matmul(m=9, n=9, k=9, dtype=DType.BF16, epilogue=(Epilogue.SILU,)))
    first, again, other = (run(entry, seed=seed) for seed in (0, 0, 1))
    assert (first.max_error, first.worst_at) == (again.max_error, again.worst_at)
    assert first.max_error != other.max_error
