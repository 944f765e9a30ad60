"""Kernels of several outputs return and accept tuples, on the CPU and by the reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen_runtime.errors import ArgumentError

pytestmark = pytest.mark.integration

KEPT = "h = x + residual; m = mean(h); out = h - m"
X = np.arange(24, dtype=np.float32).reshape(4, 6)
RESIDUAL = np.linspace(-1.0, 1.0, 6, dtype=np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = kgen.Rowwise(expression=KEPT, shapes=((4, 6), (6,)), dtype="f32")
    return kgen.build(spec, ["x86-64"]).save(tmp_path_factory.mktemp("outputs") / "kept.kgen")


@pytest.fixture
def kernels(path: Path) -> Iterator[Any]:
    with kgen_runtime.load(path, device="cpu") as loaded:
        yield loaded


def wanted() -> tuple[Any, ...]:
    h = X + RESIDUAL
    return h, h.mean(axis=1), h - h.mean(axis=1, keepdims=True)


def agree(found: tuple[Any, ...]) -> None:
    for one, other in zip(found, wanted(), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_call_gives_a_tuple(kernels: Any) -> None:
    agree(kernels.rowwise(X, RESIDUAL))
    agree(kernels.rowwise(x=X, residual=RESIDUAL))


def test_out_is_a_tuple(kernels: Any) -> None:
    out = tuple(np.full_like(each, np.nan) for each in wanted())
    found = kernels.rowwise(X, RESIDUAL, out=out)
    assert all(one is other for one, other in zip(found, out, strict=True))
    agree(out)
    for each in out:
        each[...] = np.nan
    call = kernels.rowwise.prepare(X, RESIDUAL, out=out)
    agree(call())


def test_the_reference_computes_all(path: Path) -> None:
    with kgen_runtime.load(path, device="reference") as kernels:
        device = map(kernels.to_device, (X, RESIDUAL))
        results: Any = kernels.rowwise(*device)
        agree(tuple(each.numpy() for each in results))


def test_what_is_refused(kernels: Any) -> None:
    h, m, out = (np.empty_like(each) for each in wanted())
    kernel = next(iter(kernels.values()))
    with pytest.raises(ArgumentError, match=r"has the outputs \(h, m, out\); pass out= as a tuple"):
        kernel(X, RESIDUAL, out=h)
    with pytest.raises(ArgumentError, match=r"has the outputs \(h, m, out\)"):
        kernel(X, RESIDUAL, out=(h, m))
    with pytest.raises(ArgumentError, match="out overlaps h"):
        kernel(X, RESIDUAL, out=(h, m, h))
    with pytest.raises(ArgumentError, match="h overlaps x"):
        kernel(h, RESIDUAL, out=(h, m, out))
    with pytest.raises(ArgumentError, match=r"m has shape 6; expected 4"):
        kernel(X, RESIDUAL, out=(h, np.empty(6, np.float32), out))
