"""PTX of another compiler than nvcc: data/clang/kernels.cu by clang, with -O0 and -O2."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen.emulate import EmulationFault, LaunchReport, run
from tests.emulate.ptx.ptxas import assemble

Array = npt.NDArray[Any]
DATA = Path(__file__).parents[2] / "data" / "clang"
LEVELS = ("O0", "O2")
each_level = pytest.mark.parametrize("level", LEVELS)


@cache
def text(level: str) -> str:
    return (DATA / f"kernels.{level}.ptx").read_text()


def launch(
    source: str, entry: str, ctas: int, threads: int, *arguments: Any, seed: int = 0
) -> LaunchReport:
    return run(
        source,
        language="ptx",
        entry=entry,
        grid=(ctas, 1, 1),
        block=(threads, 1, 1),
        arguments=arguments,
        seed=seed,
    )


def random() -> np.random.Generator:
    return np.random.default_rng(9)


@pytest.mark.slow
@each_level
def test_it_is_ptx(level: str) -> None:
    assemble(text(level), "sm_80")


@each_level
def test_ballots(level: str) -> None:
    values = random().integers(0, 256, (3, 64), np.uint8)
    out = np.zeros_like(values)
    launch(text(level), "partition", 3, 64, values, out)
    order = np.argsort(values & 3, axis=1, kind="stable")
    assert (out == np.take_along_axis(values, order, axis=1)).all()


def interpreted(value: int, code: bytes, argument: int) -> int:
    def wrapped(x: int) -> int:
        return (x + 2**31) % 2**32 - 2**31

    for step in code:
        match step:
            case 0:
                value += argument
            case 1:
                value *= 3
            case 2:
                value ^= 0x55
            case 3:
                value = int(value / (argument | 1))
            case 4:
                value = int(np.fmod(value, 10)) ** int(np.fmod(argument, 5))
            case 5:
                value = abs(value)
            case 6:
                value >>= 2
        value = wrapped(value)
    return value


@each_level
def test_calls_and_a_switch(level: str) -> None:
    values = random().integers(-(10**6), 10**6, 64, np.int32)
    out, code = np.zeros(64, np.int32), bytes([0, 1, 2, 5, 6, 3, 1, 0, 7, 4, 1, 2])
    program = np.frombuffer(code + np.int32(13).tobytes(), np.dtype("V16"))[0]
    launch(text(level), "interpret", 2, 32, values, out, program)
    assert out.tolist() == [interpreted(int(value), code, 13) for value in values]


@each_level
def test_division(level: str) -> None:
    a = random().integers(-(2**62), 2**62, 64, np.int64)
    b = random().integers(1, 2**62, 64, np.int64) >> random().integers(0, 50, 64)
    b |= 1
    out = np.zeros(64, np.int64)
    launch(text(level), "divide", 2, 32, a, b, out)

    def signed(value: int, bits: int) -> int:
        return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)

    def quotient(x: int, y: int) -> int:
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    def wanted(x: int, y: int) -> int:
        short = [signed(value, 16) for value in (x, y)]
        word = [signed(value, 32) for value in (x, y)]
        whole = quotient(x, y) + x % 2**64 % (y % 2**64) * 3 + signed(quotient(*word), 32)
        rest = short[0] - quotient(*short) * short[1]
        return signed(whole + rest + x % 2**32 // (y % 2**32) + (x * y >> 64), 64)

    assert out.tolist() == [wanted(int(x), int(y)) for x, y in zip(a, b, strict=True)]


@each_level
def test_prefix_sums(level: str) -> None:
    values = random().integers(-99, 99, (2, 128), np.int32)
    out = np.zeros_like(values)
    launch(text(level), "scan", 2, 128, values, out)
    assert (out == values.cumsum(axis=1)).all()


@each_level
def test_compare_and_swap(level: str) -> None:
    values = random().random((3, 64), np.float32)
    for seed in range(3):
        most, count = np.zeros(1, np.float32), np.zeros(3, np.uint64)
        launch(text(level), "largest", 3, 64, values, most, count, np.float32(0.75), seed=seed)
        assert most[0] == values.max()
        assert (count == (values > 0.75).sum(axis=1)).all()


@each_level
def test_polynomials(level: str) -> None:
    values = random().standard_normal(64)
    out, small = np.zeros(64), np.zeros(64, np.float16)
    launch(text(level), "horner", 2, 32, values, out, small)
    wanted = np.polyval([0.0625, -0.125, 0.25, -0.5, 1.0], values)
    np.testing.assert_allclose(out, wanted, rtol=1e-14)
    np.testing.assert_allclose(small, wanted, rtol=5e-3, atol=5e-3)


@each_level
def test_tensor_cores(level: str) -> None:
    a, b = (random().integers(-9, 9, (16, 16)).astype(np.float16) for _ in range(2))
    out = np.full((16, 16), np.nan, np.float32)
    launch(text(level), "tensor", 1, 32, a, b, out)
    assert (out == a.astype(np.float32) @ b.astype(np.float32)).all()


@each_level
def test_asynchronous_copies(level: str) -> None:
    values = random().integers(0, 2**32, (2, 128), np.uint32)
    out = np.zeros_like(values)
    launch(text(level), "reverse", 2, 128, values, out)
    assert (out == values[:, ::-1]).all()


#: By kernel: an instruction that must not be left out, and what is found without it.
DROPPED = (
    ("partition", r"bar\.sync|barrier\.sync", r"race|uninitialised-read"),
    ("scan", r"bar\.sync|barrier\.sync", r"race|uninitialised-read"),
    ("reverse", r"bar\.sync|barrier\.sync", r"race|uninitialised-read|pending-copy"),
    ("reverse", r"cp\.async\.wait_group", r"pending-copy"),
)


@each_level
@pytest.mark.parametrize(("entry", "instruction", "found"), DROPPED)
def test_what_is_left_out_is_missed(level: str, entry: str, instruction: str, found: str) -> None:
    before, after = re.split(rf"(?=\.entry {entry}\b)", text(level), maxsplit=1)
    after, count = re.subn(rf"^\s*({instruction}).*\n", "", after, count=1, flags=re.MULTILINE)
    assert count == 1
    values, threads = np.zeros((1, 128), np.uint32), 64 if entry == "partition" else 128
    with pytest.raises(EmulationFault, match=found):
        launch(before + after, entry, 128 // threads, threads, values, np.zeros_like(values))
