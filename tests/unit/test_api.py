"""What a Python user meets first: names at the top, errors for what is no spec or target."""

from __future__ import annotations

from typing import Any

import pytest

import kgen
import kgen_runtime
from kgen.errors import BundleError, ScheduleError, SpecError, TargetError
from kgen_runtime import dlpack
from kgen_runtime.errors import ArgumentError

SMALL = kgen.Matmul(m=16, n=16, k=16)


def test_one_error_for_both_halves() -> None:
    assert kgen.KgenError is kgen_runtime.KgenError
    with pytest.raises(kgen.KgenError):
        kgen_runtime.load("none.kgen")


@pytest.mark.parametrize("module", [kgen, kgen_runtime])
def test_every_public_name_is_there(module: Any) -> None:
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


@pytest.mark.parametrize(
    ("specs", "targets", "schedule", "error", "message"),
    [
        (
            "matmul 16x16x16",
            ["sm_80"],
            {},
            SpecError,
            "spec='matmul 16x16x16' is no spec; give kgen.Matmul",
        ),
        (SMALL, [80], {}, TargetError, "target=80 is no target; give a name such as 'sm_80'"),
        (SMALL, [], {}, BundleError, "name a spec and a target"),
        ([], ["sm_80"], {}, BundleError, "name a spec and a target"),
        (SMALL, "sm_80", {"block_m": "x"}, ScheduleError, "block_m='x' is not a whole number"),
    ],
)
def test_what_is_no_request(
    specs: Any, targets: Any, schedule: Any, error: type[kgen.KgenError], message: str
) -> None:
    with pytest.raises(error, match=message):
        kgen.build(specs, targets, schedule=schedule)


def test_an_array_that_lends_no_capsule() -> None:
    class Broken:
        def __dlpack__(self, **_: Any) -> int:
            return 7

    with pytest.raises(ArgumentError, match=r"Broken.__dlpack__ gave no capsule but int"):
        dlpack.read(Broken(), None)
