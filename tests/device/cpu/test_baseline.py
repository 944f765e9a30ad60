"""Target x86-64, for CPUs without AVX2 and FMA: its instructions, and f16 without F16C."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from kgen import pipeline
from kgen.spec import ConstantOperand, DType, Epilogue, Matmul, Scale
from kgen.targets.cpu.assemble import assembly
from kgen.targets.cpu.plan.cpu_plan import CpuPlan
from tests.device.cpu.cpu_support import addresses, check, here, load, target
from tests.device.cpu.guarded import cases

#: Of AVX and all after it, and the names that SSE3 to SSE4.2, BMI and others brought (Intel SDM
#: volume 1, 5.7 to 5.12).
LATER = re.compile(
    r"v[a-z]|h(add|sub)p|addsub|movs[hl]dup|movddup|lddqu|ph(add|sub)|pabs|palignr|pshufb|psign"
    r"|pmulhrsw|pmadd?ubsw|dpp[sd]|pblend|blend|p(max|min)(s[bd]|u[wd])$|pmul(ld|dq)$|round[ps]"
    r"|p?extr[bdq]|extractps|pinsr[bdq]|insertps|pmov[sz]x|mpsadbw|ptest|pcmp(eqq|gtq)$|packusdw"
    r"|movntdqa|crc32|popcnt|lzcnt|tzcnt|andn[lq]?$|bextr|bls|(pdep|pext)[lq]?$|[rs](or|ar|hl|hr)x|mulx"
)
EVERY_HALF = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def test_no_later_instruction() -> None:
    """LLVM and our linker accept every kernel, and none calls a library."""
    found, seen = target("x86-64"), set()
    for case in cases(found, Random(0), 60):
        planned = pipeline.plan(case.spec, found, case.schedule)
        assert isinstance(planned, CpuPlan) and planned.features == ("sse2",)
        text = assembly(pipeline.source(planned).text, found.arch, planned.features)
        seen |= set(re.findall(r"^\t([a-z]\w*)", text, re.MULTILINE))
        assert "ymm" not in text and "zmm" not in text, case
    assert {"mulps", "addps", "mulpd", "pmaddwd"} <= seen
    assert not [name for name in sorted(seen) if LATER.match(name)]


def through(
    x: npt.NDArray[np.floating], dtype: DType, out_dtype: DType
) -> npt.NDArray[np.floating]:
    """Return x * 1, read as one type and written as another."""
    spec = Matmul(m=x.size, n=1, k=1, dtype=dtype, out_dtype=out_dtype)
    out = np.zeros(x.size, out_dtype.storage)
    one = np.ones(1, dtype.storage)
    load(spec, here("x86-64")).run(addresses({"a": x, "b": one, "out": out}))
    return out


def test_every_f16_is_widened_exactly() -> None:
    found = through(EVERY_HALF, DType.F16, DType.F32)
    np.testing.assert_array_equal(found, EVERY_HALF.astype(np.float32))


def test_f16_is_rounded_to_nearest_even() -> None:
    """Every f16, the ties between them, the neighbours of both, and random bits."""
    below = EVERY_HALF[:0x7C00].astype(np.float32)
    between = (below + np.append(below[1:], np.float32(65536))) / 2
    exact = np.concatenate([below, between])
    near = [np.nextafter(exact, np.float32(to)) for to in (-np.inf, np.inf)]
    positive = np.concatenate([exact, *near, [np.inf, np.nan, 65520, 1e30, 1e-45]])
    random = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32)
    x = np.concatenate([positive, -positive, random], dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        true = x.astype(np.float16)
    found = through(x, DType.F32, DType.F16)
    np.testing.assert_array_equal(found, true)
    signed = true != 0
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(true)[signed])


SPECS = [
    Matmul(m=33, n=70, k=37, dtype=DType.F32, batch=2, batch_stride_b=0),
    Matmul(m=9, n=700, k=700, dtype=DType.F16, constant=(ConstantOperand.B,)),
    Matmul(m=17, n=40, k=20, dtype=DType.BF16, epilogue=tuple(Epilogue)),
    Matmul(m=17, n=40, k=20, dtype=DType.F64, epilogue=(Epilogue.GELU, Epilogue.SILU)),
    Matmul(m=31, n=37, k=130, dtype=DType.S8, out_dtype=DType.S8, scales=(Scale.A, Scale.OUT)),
    Matmul(m=2, n=2100, k=2100, dtype=DType.S8),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.key)
def test_products(spec: Matmul) -> None:
    check(spec, here("x86-64"))
