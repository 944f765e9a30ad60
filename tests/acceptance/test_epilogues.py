"""Every function of one number as a matmul's epilogue, on all four families."""

from __future__ import annotations

import pytest

import kgen
from kgen.spec import DType, Matmul
from kgen.spec.choices import SUMS, steps_known
from kgen.spec.text import parse
from tests import needs
from tests.device.vulkan.vulkan_support import open_vulkan
from tests.emulate.one_schedule import verify

pytestmark = pytest.mark.acceptance

#: Main loops that end in different epilogues: mma, wgmma, FMA; tiles, dot products and AMX of CPUs.
TARGETS = (
    *("sm_80", "sm_90a", "gfx942", "gfx1100", "vulkan1.3"),
    *("x86-64", "x86-64-v3", *needs.WIDE, "aarch64-neon"),
)
#: Not conversions, which leave little of what is before them.
FUNCTIONS = [step for step in steps_known() if step not in SUMS and not step.startswith("cast_")]
#: Each function once, a few in a row. No logarithm stands right before an exponential: a Vulkan
#: driver may make a power of the two, in which a NaN gets lost.
CHAINS = [tuple(FUNCTIONS[::-1][i::5]) for i in range(5)]
#: Sums that become bytes, and conversions on the way.
QUANTISED = (
    "matmul 65x33x40 f16 out=s8 epilogue=x*scale*20+bias",
    "matmul 33x65x67 f32 out=s8 epilogue=gelu(x)*20+residual",
    "matmul 65x64x64 bf16 out=f16 epilogue=cast(x*scale,f16)+cast(bias*9,s8)",
)
#: Operands of types of their own, wider and narrower than the output's; one row.
OWN_TYPES = (
    "matmul 65x33x40 bf16 +bias+relu epilogue_dtypes=bias=f32",
    "matmul 1x129x77 f32 epilogue=x*scale+bias*row_scale epilogue_dtypes=scale=bf16,row_scale=f16",
    "matmul 128x64x256 f16 epilogue=x*t+scale epilogue_shapes=t=1 epilogue_dtypes=t=bf16,scale=f32",
)
#: Results that are no step of their own: a constant, or what is read for a column, row or output.
FOLDED = (
    "matmul 17x33x16 f32 epilogue=x**0*3",
    "matmul 65x33x40 f16 epilogue=x**0",
    "matmul 17x33x16 f16 epilogue=x**0*bias",
    "matmul 65x33x40 bf16 epilogue=x**0*row_scale",
    "matmul 17x16x16 f32 epilogue=x**0*residual",
    "matmul 1x33x64 f32 epilogue=x**0*t epilogue_shapes=t=1",
)


@pytest.mark.parametrize("target", TARGETS)
def test_functions(target: str) -> None:
    if target.startswith("vulkan"):
        open_vulkan().close()
    if target in needs.WIDE:
        needs.cpu(target)
    dtypes = (DType.F16, DType.F32)
    specs = [
        Matmul(m=65, n=33, k=40, dtype=dtypes[i % 2], epilogue=("bias", *chain, "residual"))  # type: ignore[arg-type]
        for i, chain in enumerate(CHAINS)
    ]
    specs += map(parse, (*QUANTISED, *OWN_TYPES, *FOLDED))  # type: ignore[arg-type]
    report = verify(kgen.build(specs, [target]))
    wrong = [f"{k.kernel}: {k.reason}" for k in report.kernels if k.status != "passed"]
    assert not wrong and len(report.kernels) == len(specs)
