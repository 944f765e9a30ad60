"""Rooflines computed by hand, and predictions from known counts."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

import kgen
from kgen import targets
from kgen.check.static import facts as static
from kgen.check.static.hot_loop import Loop, WorkKind
from kgen.check.static.roofline import LaunchCounters, Roofline, busy_units, predict, roofline
from kgen.check.verify.run import opened
from kgen.spec import Attention, Conv2d, DType, Math, Matmul, Spec
from kgen.targets.base import Family
from kgen.targets.device import Occupancy, Rates
from kgen_runtime.manifest import KernelEntry
from tests.specs import relu_of

RATES = Rates(
    device="D", units=10, flops={"f16": 1e12, "f32": 1e11, "tf32": 5e11}, dram=1e9, l2=1e10,
    issues=1e9, latency=1e-6, reach={"SLOW": 0.5},
)  # fmt: skip
OCCUPANCY = Occupancy(warps=8, most=64, unit="SM", workgroups=2, holder="SM", allowed={})


def loop(opcode: str = "HMMA", kind: WorkKind = WorkKind.MATRIX) -> Loop:
    opcodes = Counter({opcode: 1, "IADD": 3})
    return Loop(
        kind=kind, body=range(4), opcodes=opcodes, work=1, loads=0, spills=0, unrolled=False
    )


def entry(grid: int) -> KernelEntry:
    bundle = kgen.build(relu_of((4096,)), targets=["sm_80"])
    (made,) = bundle.manifest.kernels
    launch = dataclasses.replace(made.launches[0], grid=(grid, 1, 1), tile=None)
    return dataclasses.replace(made, launches=(launch,))


def test_memory_binds_what_only_copies() -> None:
    line = roofline(relu_of((1000,), dtype=DType.F16), RATES)
    assert (line.operands, line.flops, line.nbytes) == ("f32", 2000, 4000)
    assert (line.intensity, line.ridge, line.binds) == (0.5, 100, "memory")
    assert line.floor == 4000 / 1e9


def test_compute_binds_a_large_product() -> None:
    line = roofline(Matmul(m=4096, n=4096, k=4096), RATES)
    assert (line.operands, line.binds) == ("f16", "compute")
    assert line.floor == 2 * 4096**3 / 1e12


@pytest.mark.parametrize(
    ("fields", "operands", "products"),
    [
        ({"dtype": DType.F32}, "f32", 1),
        ({"dtype": DType.F32, "math": Math.TF32}, "tf32", 1),
        ({"dtype": DType.F32, "math": Math.TF32X3}, "tf32", 3),
        ({"dtype": DType.BF16}, "f32", 1),  # no unit of this device takes bf16
    ],
)
def test_what_is_multiplied(fields: dict[str, DType], operands: str, products: int) -> None:
    line = roofline(Matmul(m=64, n=64, k=64, **fields), RATES)  # type: ignore[arg-type]
    assert (line.operands, line.flops) == (operands, products * 2 * 64**3)


def test_convolutions_and_attention_multiply_in_the_type_of_their_operands() -> None:
    convolution = Conv2d(input=(1, 64, 8, 8), weights=(64, 64, 3, 3), padding=1)
    attention = Attention(q=(1, 2, 64, 32), k=(1, 2, 48, 32))
    flops: dict[Spec, int] = {
        convolution: 2 * 64 * 64 * 64 * 9,
        attention: 2 * 2 * 64 * 48 * (32 + 32),
    }
    for spec, number in flops.items():
        line = roofline(spec, RATES)
        assert (line.operands, line.flops) == ("f16", number)


@pytest.mark.integration
@pytest.mark.parametrize(("grid", "busy"), [(10, 1.0), (11, 0.55), (5, 0.5), (20, 1.0)])
def test_units_wait_for_the_last_workgroup(grid: int, busy: float) -> None:
    assert busy_units(entry(grid), units=10) == pytest.approx(busy)


@pytest.mark.integration
def test_the_terms_of_a_prediction() -> None:
    made = entry(10)
    line = Roofline(device="D", operands="f16", flops=1e9, nbytes=10**6, peak=1e12, bandwidth=1e9)
    counters = {
        "matrix": 1000, "global_sectors": 10**5, "global_load_bytes": 2e6, "copies_in_flight": 500,
    }  # fmt: skip
    found = predict(
        made, line, RATES, LaunchCounters(counters=counters, part=0.5), loop(), OCCUPANCY
    )
    assert found.terms == pytest.approx(
        {
            "math": 1e-3,
            "issue": 4 * 1000 / 1e9,
            "L2": 32 * 1e5 / 1e10,
            "DRAM": 1e-3,
            # 10 of the 20 workgroups that fit are there, with 500 bytes each under way.
            "latency": 2e6 * 1e-6 / 5000,
        }
    )
    assert found.fraction == pytest.approx(1.0) and found.part == 0.5
    slow = predict(
        made, line, RATES, LaunchCounters(counters=counters, part=1), loop("SLOW"), OCCUPANCY
    )
    assert slow.binds == "math" and slow.fraction == pytest.approx(0.5)


@pytest.mark.integration
def test_what_is_not_known_is_left_out() -> None:
    line = roofline(relu_of((1000,)), RATES)
    rates = dataclasses.replace(RATES, l2=None, issues=None, latency=None)
    traffic = LaunchCounters(counters={"copies_in_flight": 0}, part=1)
    assert set(predict(entry(10), line, rates, traffic, None, OCCUPANCY).terms) == {"DRAM"}


@pytest.mark.parametrize("family", targets.families(), ids=lambda f: f.name)
def test_devices_are_plausible(family: Family) -> None:
    """Every target of a family with a table has a row, and narrower types are faster."""
    for target in family.targets:
        rates = family.rates(target)
        if family.name == "vulkan":
            assert rates is None
            continue
        assert rates is not None and rates.units > 0 and rates.dram > 1e10
        assert rates.flops["f32"] <= min(rates.flops.get(t, 1e99) for t in ("bf16", "f16", "tf32"))
        assert all(0 < part <= 1 for part in rates.reach.values())


@pytest.mark.parametrize(
    ("target", "operands", "tflops"),
    [("sm_80", "f16", 312), ("sm_80", "tf32", 156), ("sm_90a", "f16", 989), ("sm_75", "s8", 130),
     ("gfx90a", "f16", 191.5), ("gfx942", "f16", 1307), ("gfx942", "f32", 163.4),
     ("gfx950", "e4m3", 5033), ("gfx1100", "f16", 123), ("gfx1201", "f16", 195),
     ("x86-64-v3", "f32", 0.1184), ("x86-64-amx", "bf16", 2.867)],
)  # fmt: skip
def test_peaks_are_the_published_ones(target: str, operands: str, tflops: float) -> None:
    found = targets.find(target)
    rates = targets.family(found.family).rates(found)
    assert rates is not None and rates.flops[operands] / 1e12 == pytest.approx(tflops, rel=0.01)


def test_a_cpu_without_bf16_instructions_has_no_rate_for_them() -> None:
    plain, fast = (
        targets.family("cpu").rates(targets.find(n)) for n in ("x86-64-v4", "x86-64-v4+bf16")
    )
    assert plain is not None and fast is not None
    assert "bf16" not in plain.flops and fast.flops["bf16"] == 2 * plain.flops["f32"]


@pytest.mark.integration
def test_a_kernel_from_end_to_end() -> None:
    spec = Matmul(m=256, n=256, k=256)
    with opened(kgen.build(spec, targets=["sm_80", "vulkan1.3", "x86-64-v3"])) as reader:
        found = {}
        for made in reader.manifest.kernels:
            found[made.target.name] = static.outlook(reader, made, static.facts(reader, made))
    cuda = found["sm_80"].prediction
    assert cuda is not None and 0 < cuda.fraction < 1 and {"math", "L2", "DRAM"} <= set(cuda.terms)
    assert found["vulkan1.3"].roofline is None and found["vulkan1.3"].reason is not None
    assert found["x86-64-v3"].roofline is not None and found["x86-64-v3"].prediction is None
