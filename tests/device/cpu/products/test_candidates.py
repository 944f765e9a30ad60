"""A seeded sample of schedule candidates of all types and main loops is executed."""

from __future__ import annotations

from random import Random

import pytest

from kgen.errors import KgenError
from kgen.schedule import BlockedMatmul
from kgen.spec import ConstantOperand, Conv2d, DType, Epilogue, Layout, Matmul
from kgen.targets.base import Target
from kgen.targets.contraction.implicit_gemm import planned_as
from kgen.targets.cpu import FAMILY, MATMULS
from kgen.targets.cpu.schedule.space import spaces
from tests.device.cpu.cpu_support import check, here

#: Random GEMMs in which a candidate of a main loop is looked for.
DRAWS = 400


def drawn(random: Random, target: Target) -> Matmul | None:
    """Return a random GEMM; None for one that the target does not support."""
    b_dtype = random.choice([None, None, "bf16", "s8", "s4"])
    types = [DType.F32] if b_dtype else FAMILY.dtypes(Matmul.op, target)
    packed = b_dtype is not None or random.random() < 0.2
    try:
        spec = Matmul(
            m=random.choice([1, 2, 3, 5, 17, 40]),
            n=random.randint(1, 100),
            k=random.choice([random.randint(1, 40), random.randint(200, 500)]),
            dtype=random.choice(types),
            b_dtype=b_dtype,  # type: ignore[arg-type]
            layout=random.choice(list(Layout)),
            constant=(ConstantOperand.B,) if packed else (),
            epilogue=(Epilogue.BIAS, Epilogue.RELU) if random.random() < 0.5 else (),
            batch=random.choice([1, 1, 2]),
        )
        FAMILY.check_support(spec, target)
    except KgenError:
        return None
    return spec


def drawn_winograd(random: Random) -> Conv2d:
    """Return a random convolution with Winograd's arithmetic."""
    channels, outputs = random.randint(1, 40), random.randint(1, 40)
    sizes = random.randint(1, 12), random.randint(1, 12)
    return Conv2d(
        input=(random.choice([1, 2]), channels, *sizes),
        weights=(outputs, channels, 3, 3),
        math=random.choice(["winograd2", "winograd4"]),
        dtype="f32",
        padding=1,
        constant=("b",),
    )


def sampled(
    random: Random, target: Target, mainloop: str
) -> tuple[Matmul | Conv2d, BlockedMatmul] | None:
    """Return a random candidate of a main loop; None if no drawn product has one."""
    for _ in range(DRAWS):
        spec = drawn_winograd(random) if mainloop == "winograd" else drawn(random, target)
        if spec is None:
            continue
        product = planned_as(spec)
        assert isinstance(product, Matmul)
        for space in spaces(product, target, mainloop=mainloop):
            schedule = space.schedule(random.randrange(len(space)))
            if schedule.mainloop == mainloop:
                return spec, schedule
    return None


@pytest.mark.parametrize("mainloop", MATMULS)
@pytest.mark.parametrize(
    "name", ["x86-64-v3", "x86-64-v4", "x86-64-v4+vnni", "x86-64-v4+bf16", "x86-64-amx"]
)
def test_a_candidate_is_right(name: str, mainloop: str) -> None:
    target = here(name)
    found = sampled(Random(f"{name} {mainloop}"), target, mainloop)
    if found is None:
        assert mainloop == "amx" and name != "x86-64-amx", (name, mainloop)
        return
    spec, schedule = found
    check(spec, target, schedule)
