"""The acceptance matrix of shapes, dtypes and targets: built, then verified where it can run.

Every kernel goes the user's way: built, saved, read back and verified as `kgen verify` does it.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen import targets
from kgen.check.execute.runners import Emulation
from kgen.emulate.schedules import SCHEDULES
from kgen.spec import DType, Epilogue, Layout, Math, Matmul, Spec
from kgen.spec.choices import BType
from tests import needs
from tests.needs import WIDE
from tests.open_devices import verify
from tests.specs import relu_of, softmax_of

pytestmark = pytest.mark.acceptance

SHAPES = (
    (1, 1, 1),
    (16, 16, 16),
    (127, 131, 113),
    (1, 4096, 4096),
    (1000, 1000, 1000),
    (64, 2048, 33),
)
FLOATS = (DType.F32, DType.F16, DType.BF16)
MAIN = ("sm_80", "sm_90a", "gfx942", "gfx1100", "gfx1201", "vulkan1.3", "native")
EMULATED = MAIN[:5]
FAMILY = ("sm_80", "gfx942", "vulkan1.3", "native", *WIDE)
#: Cooperative matrices are executed on a driver of their own:
#: tests/device/vulkan/kernels/test_coopmat.py.
ELSEWHERE = ("vulkan1.3+coopmat",)
#: Metal's text is translated and not executed.
TRANSLATED = ("metal3",)
OTHERS = tuple(
    t.name
    for family in targets.families()
    for t in family.targets
    if t.name not in (*MAIN, *ELSEWHERE, *TRANSLATED)
)


def claimed(name: str) -> tuple[DType, ...]:
    """Return the dtypes that `kgen targets` lists for matmul."""
    target = targets.find(name)
    return targets.family(target.family).dtypes("matmul", target)


def prove(tmp_path: Path, spec: Spec, target: str) -> None:
    """Build, save and verify a kernel. It fails if it cannot be executed here, unless that is
    excused. Plain products of small shapes run under every thread schedule, variants of the code
    around the main loop under one."""
    path = kgen.build(spec, targets=[target]).save(tmp_path / "x.kgen")
    schedules = SCHEDULES if _is_small_and_plain(spec) else 1
    report = verify(path, emulation=Emulation(schedules=schedules))
    (result,) = report.kernels
    if result.status == "not-executed" and _excused(target):
        pytest.skip(result.reason or "")
    assert report.passed, result
    assert result.executed_on and result.coverage and result.coverage.elements > 0
    assert result.max_error is not None and result.tolerance is not None


def prove_here(tmp_path: Path, spec: Spec, target: str) -> None:
    """Run `prove`, except for CPU targets with instructions that this CPU lacks."""
    if target in WIDE:
        needs.cpu(target)
    prove(tmp_path, spec, target)


def _is_small_and_plain(spec: Spec) -> bool:
    """Whether a product has only a shape and a type, and no smaller product has the same kernel."""
    if not isinstance(spec, Matmul) or spec.m * spec.n * spec.k > 127 * 131 * 113:
        return False
    return spec == Matmul(m=spec.m, n=spec.n, k=spec.k, dtype=spec.dtype)


def _takes_long(target: str) -> bool:
    """Whether a kernel is for a CPU that would have to be emulated vector by vector."""
    found = targets.find(target)
    return (found.family, found.arch) == ("cpu", "x86_64") and not needs.executed([target])


def _excused(target: str) -> bool:
    """In CI everything that can be installed must be there; elsewhere it may be missing."""
    if os.environ.get("CI"):
        return False
    family = targets.find(target).family
    return family == "vulkan" or (family == "cpu" and shutil.which("qemu-aarch64") is None)


def of_types(shapes: Sequence[tuple[int, ...]], large: int) -> list[tuple[Any, ...]]:
    """Return each shape in each type on each target. Large shapes are emulated in one type only,
    another one for the next target and shape: small shapes cover the differences between types."""
    return [
        (shape, dtype, target)
        for i, shape in enumerate(shapes)
        for turn, target in enumerate((*MAIN, *WIDE))
        for number, dtype in enumerate(FLOATS)
        if math.prod(shape) < large or target not in EMULATED or (i + turn + number) % 3 == 0
    ]


def in_words(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(("shape", "dtype", "target"), of_types(SHAPES, 2**24), ids=in_words)
def test_matmul(tmp_path: Path, shape: tuple[int, int, int], dtype: DType, target: str) -> None:
    m, n, k = shape
    prove_here(tmp_path, Matmul(m=m, n=n, k=k, dtype=dtype), target)


@pytest.mark.parametrize(("target", "dtype"), [(t, d) for t in OTHERS for d in claimed(t)], ids=str)
def test_other_targets(tmp_path: Path, target: str, dtype: DType) -> None:
    m, n, k = (41, 69, 37) if _takes_long(target) else (127, 131, 113)
    prove(tmp_path, Matmul(m=m, n=n, k=k, dtype=dtype), target)


ODD: dict[str, Any] = {"m": 65, "n": 66, "k": 67}
VARIANTS: dict[str, Matmul] = {
    **{layout.value: Matmul(**ODD, layout=layout) for layout in Layout},
    "batch3": Matmul(**ODD, batch=3),
    "batch3-shared-b": Matmul(**ODD, batch=3, batch_stride_b=0),
    "leading-dimensions": Matmul(**ODD, lda=71, ldb=80, ldc=69),
    "batch-interleaved": Matmul(**ODD, batch=2, ldc=132, batch_stride_c=66),
    "alpha-beta": Matmul(**ODD, alpha=-0.5, beta=2.0),
    "to-f32": Matmul(**ODD, out_dtype=DType.F32),
    **{step.value: Matmul(**ODD, epilogue=(step,)) for step in Epilogue},
    "chain": Matmul(**ODD, alpha=0.5, epilogue=tuple(Epilogue)),
    "f32-tn-batch": Matmul(
        **ODD, dtype=DType.F32, layout=Layout.TN, batch=2, epilogue=(Epilogue.BIAS,)
    ),
}


@pytest.mark.parametrize("target", FAMILY)
@pytest.mark.parametrize("name", VARIANTS)
def test_variants(tmp_path: Path, name: str, target: str) -> None:
    prove_here(tmp_path, VARIANTS[name], target)


@pytest.mark.parametrize(
    ("target", "math"),
    [
        (t.name, math)
        for family in targets.families()
        for t in family.targets
        for math in family.maths(t)
        if math is not Math.EXACT
    ],
)
@pytest.mark.parametrize("shape", [(127, 131, 113), (72, 200, 136)], ids=str)
@pytest.mark.parametrize("layout", [Layout.NN, Layout.TT])
def test_math(
    tmp_path: Path, shape: tuple[int, int, int], layout: Layout, math: Math, target: str
) -> None:
    m, n, k = shape
    prove(tmp_path, Matmul(m=m, n=n, k=k, dtype=DType.F32, math=math, layout=layout), target)


@pytest.mark.parametrize(
    ("target", "b_dtype"),
    [
        (t.name, b_dtype)
        for family in targets.families()
        for turn, t in enumerate(family.targets)
        for number, b_dtype in enumerate(family.narrow(t))
        if (turn + number) % 3 == 0 and t.name not in TRANSLATED
    ],
    ids=str,
)
def test_a_narrow_b(tmp_path: Path, b_dtype: BType, target: str) -> None:
    prove(tmp_path, Matmul(m=3, n=47, k=77, dtype="f32", b_dtype=b_dtype, layout="nt"), target)


@pytest.mark.parametrize(
    ("shape", "dtype", "target"), of_types([(7, 1), (33, 1000), (4, 131072)], 2**19), ids=in_words
)
def test_softmax(tmp_path: Path, shape: tuple[int, int], dtype: DType, target: str) -> None:
    prove_here(tmp_path, softmax_of(shape[0], shape[1], dtype=dtype), target)


@pytest.mark.parametrize("target", (*MAIN, *WIDE))
@pytest.mark.parametrize("shape", [(5, 3), (33, 1000)], ids=str)
def test_log_softmax(tmp_path: Path, shape: tuple[int, int], target: str) -> None:
    prove_here(tmp_path, softmax_of(shape[0], shape[1], dtype=DType.F32, log=True), target)


@pytest.mark.parametrize("target", (*MAIN, *WIDE))
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1,), (1000003,), (3, 5, 7)], ids=str)
def test_relu(tmp_path: Path, shape: tuple[int, ...], dtype: DType, target: str) -> None:
    prove_here(tmp_path, relu_of(shape, dtype=dtype), target)
