"""Artifacts that the CUDA backend runs, their order of preference, and reasons against others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from kgen_runtime.backends.cuda import CudaBackend
from kgen_runtime.manifest import ArtifactEntry
from tests.unit.runtime.drivers.fake_cuda import FakeDriver, installed
from tests.unit.runtime.fakes import code_of, entry


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    with installed(monkeypatch) as driver:
        yield driver


def artifact(format: str, **requires: Any) -> ArtifactEntry:
    return dataclasses.replace(entry(format=format, requires=requires).artifacts[0])


def test_images(fake: FakeDriver) -> None:
    backend = CudaBackend()
    for format, image in (("cubin", b"machine code"), ("ptx", b"machine code\0")):
        e = entry(format=format)
        backend.load(e, code_of(e))
        assert fake.modules[-1] == image


@pytest.mark.parametrize(
    ("format", "requires", "capability", "runs"),
    [
        ("cubin", {"compute_capability": [8, 0]}, (8, 0), True),
        ("cubin", {"compute_capability": [8, 0]}, (8, 9), True),
        ("cubin", {"compute_capability": [8, 6]}, (8, 0), False),
        ("cubin", {"compute_capability": [8, 0]}, (9, 0), False),
        ("cubin", {"compute_capability": [9, 0], "exact": True}, (9, 0), True),
        ("cubin", {"compute_capability": [12, 0], "exact": True}, (12, 1), False),
        ("ptx", {"compute_capability": [8, 0]}, (12, 0), True),
        ("ptx", {"compute_capability": [8, 9]}, (8, 6), False),
        ("ptx", {"compute_capability": [9, 0], "exact": True}, (10, 0), False),
        ("cubin", {"compute_capability": [9, 0], "cuda": [12, 4]}, (9, 0), True),
        ("cubin", {"compute_capability": [9, 0], "cuda": [12, 8]}, (9, 0), False),
        ("cubin", {"compute_capability": [9, 0], "moon_phase": 1}, (9, 0), False),
    ],
)
def test_refuses(
    fake: FakeDriver,
    format: str,
    requires: dict[str, Any],
    capability: tuple[int, int],
    runs: bool,
) -> None:
    fake.capability = capability
    refusal = CudaBackend().refuses(artifact(format, **requires))
    assert (refusal is None) == runs
    assert refusal is None or "\n" not in refusal


def test_refusals_say_what_to_do(fake: FakeDriver) -> None:
    backend = CudaBackend()
    assert backend.refuses(artifact("cubin", compute_capability=[8, 0])) == (
        "cubin for compute capability 8.0 does not run on 9.0; build for sm_90"
    )
    assert backend.refuses(artifact("cubin", compute_capability=[9, 0], cuda=[13, 0])) == (
        "cubin needs a driver for CUDA 13.0, and this one supports 12.4; upgrade the driver"
    )


def test_rank(fake: FakeDriver) -> None:
    backend = CudaBackend()
    ranks = [
        backend.rank(artifact("cubin", compute_capability=cc, exact=exact))
        for cc, exact in (([8, 0], False), ([9, 0], False), ([9, 0], True))
    ]
    assert ranks == sorted(ranks) and len(set(ranks)) == 3
