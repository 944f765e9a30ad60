"""Convolutions of bytes on every CPU target, with exact sums: windows packed for dot products, and
depthwise kernels."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from kgen import bundle, emulate, pipeline
from kgen.errors import ScheduleError
from kgen.schedule import CpuMatmul, Schedule
from kgen.spec import Conv2d
from kgen.targets.base import BuiltKernel
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.plan.packing.groups import rounded
from tests.device.cpu.cpu_support import addresses, check, here, load, require_qemu, target
from tests.device.cpu.products.test_bytes import ARM, BLOCKS, X86
from tests.open_devices import verify

TARGETS = (*X86, *ARM)


def conv(input_: tuple[int, ...], weights: tuple[int, ...], **fields: Any) -> Conv2d:
    return Conv2d(**({"input": input_, "weights": weights, "dtype": "s8"} | fields))


#: Segments of whole vectors, of overlapping ones, and shorter than a vector; padded with numbers.
CASES = {
    "64 channels": conv(
        (1, 64, 3, 4), (17, 64, 3, 3), padding=1, padding_value=-128, out_dtype="s8",
        epilogue="x * scale + bias",
    ),
    "23 channels": conv((2, 23, 5, 4), (9, 23, 3, 3), padding=1, padding_value=77, stride=(2, 1)),
    "dilation 3": conv((1, 7, 8, 9), (9, 7, 3, 3), dilation=3, padding=3, padding_value="padding"),
    "kernel larger than the image": conv((1, 7, 2, 3), (3, 7, 5, 5), padding=2, padding_value=127),
    "one channel": conv(
        (2, 1, 6, 7), (3, 1, 3, 3), padding=1, stride=(2, 1), padding_value="padding"
    ),
    "pixels apart": conv((2, 70, 5, 6), (8, 70, 1, 1), stride=2),
    "three axes": conv((1, 3, 3, 4, 5), (6, 3, 2, 3, 2), padding=1, padding_value=3),
    "four groups": conv(
        (1, 28, 5, 4), (36, 7, 3, 2), groups=4, dilation=(1, 2), weight_layout="hwio",
        padding=(1, 0), padding_value=-7, constant=("b",), epilogue=("bias", "relu"),
        out_dtype="f32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_edges(name: str) -> None:
    """On each target, half of the cases use the chosen schedule and half use small blocks."""
    check_in_turn(name, CASES, lambda spec: small(name, spec))


def check_in_turn(
    name: str, cases: Mapping[str, Conv2d], other: Callable[[Conv2d], Schedule]
) -> None:
    """Verify a case; half of the cases, others on each target, use the given schedule."""
    if name in ARM:
        require_qemu()
    found, turn = target(name), TARGETS.index(name)
    for number, spec in enumerate(cases.values()):
        check(spec, found, other(spec) if (number + turn) % 2 else None)


def small(name: str, spec: Conv2d) -> Schedule:
    """Return a schedule whose blocks of K begin and end inside of segments. AMX packs rows with
    all of K, and its last block of rows is no shorter than a tile."""
    schedule = BLOCKS[name]
    if name == "x86-64-amx" and spec.product.m % 16:
        schedule = schedule.override(mc=rounded(spec.product.m, 16))
    return schedule.override(pack_a=1, pack_b=int(not spec.constant))


@pytest.mark.parametrize("constant", [(), ("b",)])
@pytest.mark.parametrize("name", ["x86-64-v4+bf16", "x86-64-amx"])
def test_pairs_of_bf16(name: str, constant: Any) -> None:
    found = target(name)
    for case in ("23 channels", "dilation 3"):
        fields = {f: getattr(CASES[case], f) for f in ("input", "weights", "padding", "dilation")}
        check(Conv2d(dtype="bf16", constant=constant, **fields), found)


def test_other_main_loops_are_refused() -> None:
    schedule = CpuMatmul(mr=4, nr=8, mc=8, kc=32, nc=16)
    with pytest.raises(ScheduleError, match="mainloop=blis does not pack windows of s8"):
        pipeline.plan(CASES["23 channels"], target("x86-64-v3"), schedule)


def depthwise(input_: tuple[int, ...], *kernel: int, **fields: Any) -> Conv2d:
    channels = input_[1]
    given = {"groups": channels, "weight_layout": "hwio"} | fields
    return conv(input_, (channels, 1, *kernel), **given)


DEPTHWISE = {
    "1x1 image": depthwise((2, 3, 1, 1), 3, 3, padding=1, padding_value=127, out_dtype="s32"),
    "kernel larger than the image": depthwise((1, 7, 2, 3), 5, 5, padding=2, padding_value=-128),
    "stride above the kernel": depthwise((2, 9, 9, 8), 2, 2, stride=3, out_dtype="f32"),
    "dilation 3": depthwise(
        (1, 19, 8, 9), 3, 3, dilation=3, padding=3, padding_value=-5, out_dtype="s8",
        epilogue="x * scale + bias",
    ),
    "several tiles, stride 2": depthwise(
        (1, 9, 4, 71), 5, 5, stride=2, padding=2, padding_value=77, out_dtype="s32"
    ),
    "64 channels": depthwise(
        (1, 64, 3, 4), 3, 3, padding="same", padding_value=1, epilogue=("bias", "relu"),
        out_dtype="f32",
    ),
    "three axes": depthwise((1, 3, 3, 4, 5), 2, 3, 2, padding=1, padding_value=9),
    "one axis": depthwise(
        (2, 33, 31), 4, stride=3, padding=2, padding_value="padding", out_dtype="f16"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_edges_of_depthwise_kernels(name: str) -> None:
    """On each target, half of the cases use narrow tiles and half use the chosen ones."""
    found = target(name)
    chosen = [FAMILY.choose(spec, found) for spec in DEPTHWISE.values()]
    assert {schedule.mainloop for schedule in chosen} == {"depthwise"}
    check_in_turn(name, DEPTHWISE, lambda spec: FAMILY.choose(spec, found).override(tile=2))


@pytest.mark.parametrize("name", X86[:-1])
def test_the_emulator_multiplies_channels_as_the_cpu_does(name: str) -> None:
    """The largest products occur, too."""
    spec = DEPTHWISE["several tiles, stride 2"]
    kernel = pipeline.kernel(spec, here(name))
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-128, 128, n, np.int8) for n in (4 * 71 * 9, 5 * 5 * 9))
    a[:99] = b[:99] = -128
    outs = np.zeros((2, 2 * 36 * 9), np.int32)
    load(spec, kernel.plan.target).run(addresses({"a": a, "b": b, "out": outs[0]}))
    tasks = np.int64(kernel.plan.launches[0].grid[0])
    emulate.run(
        kernel.source.text, language="llvm", entry=spec.key, grid=(1, 1, 1), block=(1, 1, 1),
        arguments=[a, b, outs[1], np.int64(0), tasks],
    )  # fmt: skip
    assert np.any(outs[0]) and np.array_equal(*outs)


V3, VNNI, AMX = "x86-64-v3", "x86-64-v4+vnni", "x86-64-amx"
#: Faults of the copier: a target, what is changed, from what, to what.
FAULTS = {
    "a guard above and below is dropped": (
        V3, r"(%ws\.inside\.y = and i1 true), %ws\.y\.inside", r"\1, true"),
    "a guard is dropped in front of tiles": (
        AMX, r"(%ws\.inside\.y = and i1 true), %ws\.y\.inside", r"\1, true"),
    "a step is that of the next place": (V3, r"(mul nuw i64 %ws\.y\.place), 92", r"\1, 69"),
    "the zero point is another one": (V3, r"(?s)(%zh\.to = .{0,99}splat \(i16) 77", r"\1 76"),
    "the zero point is left out": (VNNI, r"(?s)(%zl\.to = .{0,99}splat \(i8) 77", r"\1 0"),
    "a mask is off by one": (VNNI, r"(%wst\.all), <i8 0, i8 1,", r"\1, <i8 0, i8 99,"),
    "single elements end too early": (V3, r"(%wst = phi i64 .*) %wst\.after,", r"\1 %ws.high,"),
    "the last vector begins too late": (VNNI, r"(%wt\.from = .* i64) 5", r"\1 6"),
    "what is behind a row is not cleared": (VNNI, r"store .* zeroinitializer.*%w\.after", "; "),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_verification_sees_a_fault_of_the_copier(name: str) -> None:
    where, pattern, replacement = FAULTS[name]
    spec = CASES["23 channels"]
    schedule = small(where, spec)
    if where == VNNI:
        # A block of K has whole segments.
        schedule = schedule.override(kc=spec.product.k)
    assert_seen(pipeline.kernel(spec, target(where), schedule), pattern, replacement)


#: Faults of a depthwise kernel: a target, what is changed, from what, to what.
DEPTHWISE_FAULTS = {
    "a guard of rows is dropped": (V3, r"(%x0\.w\.y\.inside = icmp ult i64 %\S+), 8", r"\1, -1"),
    "a step is that of the next row": (
        VNNI, r"(%x0\.w\.y\.apart = mul nuw i64 %\S+), 3", r"\1, 2"),
    "an element is its neighbour": (
        V3, r"(%x0\.w\.x171\.at = getelementptr i8, ptr \S+) i64 171", r"\1 i64 152"),
    "a row is padded with another number": (
        VNNI, r"(%x0\.w\.z4\.p1\.words = bitcast <16 x i32>) splat \(i32 -5", r"\1 splat (i32 -4"),
    "padding in a row is zero": (
        V3, r"(%x0\.w\.s0\.p0\.words = bitcast <8 x i32>) splat \(i32 -5\)",
        r"\1 zeroinitializer"),
    "a weight's second word is left": (
        V3, r"(%x0\.w\.w1\.low = and .*)splat \(i32 65535\)", r"\1splat (i32 -1)"),
    "a mask of the remainder is short": (
        VNNI, r"(?s)(%x0\.t\.w2\.bits = .{0,99}<i1 1, i1 1, i1) 1", r"\1 0"),
    "a mask of the output is long": (
        VNNI, r"(store\.v16i8\.p0\(.* %x0\.t\.o8\..*<i1 1, i1 1, i1 1, i1) 0", r"\1 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEPTHWISE_FAULTS)
def test_verification_sees_a_fault_of_a_depthwise_kernel(name: str) -> None:
    where, pattern, replacement = DEPTHWISE_FAULTS[name]
    kernel = pipeline.kernel(DEPTHWISE["dilation 3"], target(where))
    assert_seen(kernel, pattern, replacement)


def assert_seen(kernel: BuiltKernel, pattern: str, replacement: str) -> None:
    """Check that verification fails if the kernel's text is changed."""
    text, count = re.subn(pattern, replacement, kernel.source.text)
    assert count == 1, f"{pattern} is not in the kernel"
    source = dataclasses.replace(kernel.source, text=text)
    changed = dataclasses.replace(
        kernel, source=source, assembled=FAMILY.assemble(source, kernel.plan)
    )
    (result,) = verify(bundle.pack([changed])).kernels
    assert result.status == "failed", result.to_json()
