"""Epilogues that are expressions, on all four families: every extent of an operand, a value used
twice, shapes beside the tiles; and a row's vector that is read by columns, which is noticed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import kgen
from kgen.spec import Extent, Matmul
from kgen.targets.epilogue import EpilogueArgument, FusedEpilogue
from tests.device.vulkan.vulkan_support import open_vulkan
from tests.emulate.one_schedule import verify

#: Names that kernels have for other things, too.
ALL: dict[str, Any] = {
    "epilogue": "gelu(x * scale + bias) * row_scale + (x - residual) * line + where(n > 0, m, acc)",
    "epilogue_shapes": {"line": "1", "n": "mxn", "m": "mx1", "acc": "n"},
    "alpha": 0.5,
    "beta": 2.0,
}
DEQUANTISED: dict[str, Any] = {
    "dtype": "s8",
    "out_dtype": "f16",
    "epilogue": "x * row_scale * col_scale + bias",
}
CASES: dict[str, tuple[str, list[Matmul]]] = {
    "CPU": (
        "native",
        [
            Matmul(m=33, n=47, k=19, dtype="bf16", batch=2, **ALL),
            Matmul(m=65, n=70, k=300, dtype="f32", **ALL),
            Matmul(m=5, n=31, k=7, dtype="f64", **ALL),
            Matmul(m=1, n=129, k=33, dtype="f32", epilogue="silu(x) * x + row_scale"),
            Matmul(m=17, n=33, k=20, **DEQUANTISED),
        ],
    ),
    "NVIDIA": (
        "sm_80",
        [
            Matmul(m=33, n=17, k=24, dtype="f16", batch=2, **ALL),
            Matmul(m=33, n=17, k=19, dtype="f32", **ALL),
            Matmul(m=1, n=40, k=64, dtype="f16", epilogue="silu(x) * x + row_scale"),
            Matmul(m=17, n=32, k=32, scales=("a", "b", "out"), **DEQUANTISED),
        ],
    ),
    "AMD": (
        "gfx942",
        [
            Matmul(m=33, n=17, k=24, dtype="f16", batch=2, **ALL),
            Matmul(m=33, n=17, k=19, dtype="f32", **ALL),
        ],
    ),
    "Vulkan": (
        "vulkan1.3",
        [
            Matmul(m=33, n=17, k=24, dtype="bf16", batch=2, **ALL),
            Matmul(m=1, n=40, k=19, dtype="f32", epilogue="silu(x) * x + row_scale"),
        ],
    ),
}


def wrong(target: str, specs: list[Matmul], schedule: dict[str, Any] | None = None) -> list[str]:
    if target.startswith("vulkan"):
        open_vulkan().close()
    report = verify(kgen.build(specs, [target], schedule=schedule))
    assert len(report.kernels) == len(specs)
    return [f"{k.kernel}: {k.reason}" for k in report.kernels if k.status != "passed"]


@pytest.mark.parametrize("family", CASES)
def test_expressions(family: str) -> None:
    assert not wrong(*CASES[family])


@pytest.mark.parametrize(
    ("target", "schedule"),
    [
        ("sm_80", {"split_k": 2, "block_k": 32}),
        ("sm_90a", {"mainloop": "wgmma"}),
        ("sm_90a", {"mainloop": "wgmma", "tma_store": 0}),
    ],
    ids=str,
)
def test_other_main_loops(target: str, schedule: dict[str, Any]) -> None:
    """Split-k applies the epilogue once; wgmma stores through TMA and loads every argument."""
    assert not wrong(target, [Matmul(m=72, n=136, k=128, dtype="bf16", **ALL)], schedule)


@pytest.mark.parametrize("family", CASES)
def test_a_vector_along_the_wrong_side_is_noticed(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = FusedEpilogue.arguments.func  # type: ignore[attr-defined]
    others = {Extent.N: Extent.M, Extent.M: Extent.N}

    def swapped(self: FusedEpilogue) -> tuple[EpilogueArgument, ...]:
        return tuple(
            dataclasses.replace(a, extent=others.get(a.extent, a.extent)) for a in found(self)
        )

    monkeypatch.setattr(FusedEpilogue, "arguments", property(swapped))
    spec = Matmul(m=16, n=16, k=16, dtype="f32", epilogue="x * row_scale")
    (reason,) = wrong(CASES[family][0], [spec])
    assert "240 of 256 elements are wrong" in reason, reason
