"""Products of f32 by prepacked s8 and s4 as bytes: A in block floating point."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import pipeline
from kgen.bundle import pack
from kgen.errors import BundleError, ScheduleError
from kgen.schedule import LimbsMatmul
from kgen.spec import ConstantOperand, DType, Layout, Matmul
from kgen.spec.choices import BType
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.kernels.limb_parts import MOST_K, RUN, TURN, limb_dot, shared_k
from kgen.targets.cpu.plan.kernels.limbs import LimbsPlan
from kgen.targets.cpu.plan.packing.panel import PanelFormat
from kgen.targets.cpu.schedule.cost_model import best
from kgen_runtime import blocks
from tests.device.cpu.cpu_support import best_of, check, here, target
from tests.open_devices import verify

TYPES = {
    "x86-64-v3": (BType.S4,),
    "x86-64-v3+vnni": (BType.S8, BType.S4),
    "x86-64-v4": (BType.S4,),
    "x86-64-v4+vnni": (BType.S8, BType.S4),
}
PAIRS = [(name, b_dtype) for name, types in TYPES.items() for b_dtype in types]
#: Tiles that are whole and those at both ends, in one task and in several; K in whole blocks, or
#: not, or shorter than one.
CASES: list[dict[str, Any]] = [
    {"m": 5, "n": 67, "k": 150, "lda": 153},
    {"m": 1, "n": 32, "k": 64, "beta": 0.5},
    {"m": 2, "n": 3, "k": 7, "batch": 2},
    {"m": 4, "n": 50, "k": 33, "batch": 2, "batch_stride_b": 0},
]


def weights(b_dtype: BType, **fields: Any) -> Matmul:
    own: dict[str, Any] = {"layout": Layout.NT}
    if b_dtype is BType.S8:
        own = {"layout": Layout.NN, "epilogue": "x * scale"}
    return Matmul(dtype=DType.F32, b_dtype=b_dtype, constant=(ConstantOperand.B,), **own, **fields)


@pytest.mark.parametrize(("name", "b_dtype"), PAIRS)
def test_limbs(name: str, b_dtype: BType) -> None:
    on = here(name)
    lanes = on.limits["vector_bytes"] // 4
    whole = 0
    for case in CASES:
        spec = weights(b_dtype, **case)
        check(spec, on)
        check(spec, on, best_of(spec, on, "limbs"))
        small = LimbsMatmul(
            mr=2, nr=lanes, mc=4, kc=shared_k(spec), nc=3 * lanes, pack_a=True, pack_b=False
        )
        check(spec, on, small)
        ahead = dataclasses.replace(small, ahead=512)
        check(spec, on, ahead)
        assert fetched(spec, on, small) == []
        # Each line of a turn that B has room for, of every panel of every tile.
        planned = pipeline.plan(spec, on, ahead)
        assert isinstance(planned, LimbsPlan)
        panels = sum(len(tile.columns) for tile in planned.tiles)
        lines = range(512, 512 + TURN * RUN * lanes, LINE_BYTES)
        nbytes = next(p.nbytes for p in planned.parameters if p.name == ConstantOperand.B)
        inside = [line for line in lines if line < nbytes]
        assert fetched(spec, on, ahead) == sorted(inside * panels)
        whole += inside == [*lines]
    assert whole > 0


def fetched(spec: Matmul, on: Target, schedule: LimbsMatmul) -> list[int]:
    """Return, for each line that a step prefetches, its distance in bytes from what the step
    reads."""
    text = pipeline.source(pipeline.plan(spec, on, schedule)).text
    found = re.findall(r"\.ahead\.\d+ = getelementptr i8, ptr %n\d+\.turn, i64 (\d+)", text)
    assert len(found) == text.count("call void @llvm.prefetch")
    return sorted(int(line) for line in found)


def kernel(tmp_path: Path, spec: Matmul, b: Any, on: Target) -> Any:
    bundle = kgen.build(spec, targets=[on], constants={"b": b})
    return kgen_runtime.load(bundle.save(tmp_path / "m.kgen"), device="cpu").matmul


@pytest.mark.parametrize(("name", "b_dtype"), PAIRS)
def test_numbers_of_any_size(tmp_path: Path, name: str, b_dtype: BType) -> None:
    """A block along K shares an exponent; rows with NaN or infinity are multiplied in f32."""
    on = here(name)
    assert limb_dot(weights(b_dtype, m=1, n=1, k=1), on) is not None
    rng = np.random.default_rng(0)
    spec = weights(b_dtype, m=1, n=21, k=200)
    numbers = rng.integers(-8, 8, (21, 200)).astype(np.int8)
    numbers[0] = 0
    b = numbers.T.copy() if b_dtype is BType.S8 else blocks.packed(numbers, np.ones((21, 7)))
    run = kernel(tmp_path, spec, b, on)
    more = (np.ones(21, np.float32),) if b_dtype is BType.S8 else ()
    plain = rng.standard_normal(200).astype(np.float32)
    rising = plain * np.repeat(np.logspace(-12, 12, 4), 50).astype(np.float32)
    cases: list[Any] = [
        plain,
        rising,
        plain * 2.0**-110,
        plain * np.float32(2.0**120),
        np.zeros(200, np.float32),
    ]
    cases += [np.where(np.arange(200) == 199, 1e9, plain), rng.integers(-(2**23), 2**23, 200)]
    for row in cases:
        a = row.astype(np.float32)[None]
        want = a.astype(np.float64) @ numbers.T
        size = np.abs(a.astype(np.float64)) @ np.abs(numbers.T)
        bound = 2.0**-21 * size + 2.0**-149
        # The 1e9 of one case is beside numbers that it leaves no digits for.
        bound += np.abs(a).max(initial=0) * 2.0**-20 * (row is cases[5])
        assert (np.abs(run(a, *more) - want) <= bound).all()
    for odd in (np.inf, -np.inf, np.nan):
        a = plain.copy()[None]
        a[0, 7] = odd
        with np.errstate(invalid="ignore"):
            want = np.array([np.float64(odd) * x for x in numbers[:, 7].astype(float)])
        assert np.array_equal(run(a, *more)[0], want, equal_nan=True)


@pytest.mark.parametrize(("name", "b_dtype"), PAIRS)
def test_integers_are_exact(tmp_path: Path, name: str, b_dtype: BType) -> None:
    """Sums that fit f32 are exact, and use every limb."""
    rng = np.random.default_rng(1)
    spec = weights(b_dtype, m=3, n=37, k=130)
    numbers = rng.integers(-8, 8, (37, 130)).astype(np.int8)
    a = rng.integers(-8000, 8001, (3, 130)).astype(np.float32)
    b = numbers.T.copy() if b_dtype is BType.S8 else blocks.packed(numbers, np.ones((37, 5)))
    more = (np.ones(37, np.float32),) if b_dtype is BType.S8 else ()
    run = kernel(tmp_path, spec, b, here(name))
    assert np.array_equal(run(a, *more), a.astype(np.float64) @ numbers.T)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minus_zero", -7),
        ("lanes_shift", 2),
        ("numbers_at", 0),
    ],
)
def test_a_wrong_plan_is_found(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    on = here("x86-64-v3")
    spec = weights(BType.S4, m=2, n=19, k=70)
    if name == "lanes_shift":
        spec = weights(BType.S8, m=2, n=19, k=70)
        on = here("x86-64-v4+vnni")
    if name in ("lanes_shift", "numbers_at"):
        blocks_of = vars(LimbsPlan)["b_blocks"].func
        wrong = property(lambda plan: replace(blocks_of(plan), **{name: value}))
        monkeypatch.setattr(LimbsPlan, "b_blocks", wrong)
    else:
        monkeypatch.setattr(LimbsPlan, name, property(lambda _: value))
    (result,) = verify(pack([pipeline.kernel(spec, on)])).kernels
    assert result.status == "failed"


def test_a_wrong_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = PanelFormat(width=8, depth=blocks.BLOCK_BYTES, k_unit=blocks.BLOCK_BYTES)
    monkeypatch.setattr(LimbsPlan, "b_format", property(lambda _: wrong))
    with pytest.raises(BundleError, match="b has a packing that does not fit its shape"):
        pack([pipeline.kernel(weights(BType.S4, m=2, n=19, k=70), target("x86-64-v3"))])


def test_schedules_that_do_not_fit() -> None:
    on = target("x86-64-v4+vnni")
    spec = weights(BType.S8, m=4, n=64, k=128)
    good: dict[str, Any] = {"mr": 4, "nr": 16, "mc": 4, "kc": 64, "nc": 64, "pack_b": False}
    for fields, message in (
        ({"kc": 32}, "try kc=64, pack_a=1, pack_b=0"),
        ({"nr": 8}, "nr=8 is not a multiple of 16"),
        ({"nr": 64}, "needs 90 vector registers"),
    ):
        with pytest.raises(ScheduleError, match=message):
            FAMILY.plan(spec, on, LimbsMatmul(**good | fields))
    with pytest.raises(ScheduleError, match="a prepacked B of s8 or s4"):
        FAMILY.plan(Matmul(m=4, n=64, k=64, dtype=DType.F32), on, LimbsMatmul(**good))


def test_long_rows_fit_the_stack() -> None:
    """The longest supported K, with as many rows as fit; other main loops multiply s8 whose
    limbs do not fit."""
    for name, types in TYPES.items():
        for b_dtype in types:
            longest = 65536 if b_dtype is BType.S4 else MOST_K
            for m, k in ((1, longest), (300, 20000), (64, 96), (1, 65536)):
                spec = weights(b_dtype, m=m, n=5000, k=k)
                found = best(spec, target(name), {}, "limbs")
                assert (found is not None) == (k <= longest)
                plan = FAMILY.plan(spec, target(name), found or FAMILY.choose(spec, target(name)))
                assert isinstance(plan, LimbsPlan) == (k <= longest)


def test_blocks_are_read_as_stored_without_an_instruction_for_bytes(tmp_path: Path) -> None:
    """The constant kernel is then the plain one, and `pack` has nothing to do."""
    spec = weights(BType.S4, m=2, n=3, k=40)
    bundle = kgen.build([replace(spec, constant=()), spec], ["x86-64"])
    assert [entry.key for entry in bundle.manifest.kernels] == [replace(spec, constant=()).key]
    kernels = kgen_runtime.load(bundle.save(tmp_path / "s4.kgen"), device="cpu")
    a, numbers = np.ones((2, 40), "f"), np.arange(120).reshape(3, 40) % 16 - 8
    b = blocks.packed(numbers, np.ones((3, 2), np.float16))
    assert kernels.matmul.pack(b) is b and kernels[replace(spec, constant=()).key].pack(b) is b
    np.testing.assert_array_equal(kernels.matmul(a, b), a @ numbers.T)
