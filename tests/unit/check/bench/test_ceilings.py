"""Limits of a kernel on this CPU: their loops execute the claimed instructions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import partial
from typing import cast

import ml_dtypes
import numpy as np
import pytest

from kgen import pipeline, render
from kgen.check import peers
from kgen.check.bench import timing
from kgen.check.peers import ceilings
from kgen.check.tensors import empty_buffer
from kgen.errors import DeviceError
from kgen.spec import Conv2d, DType, Epilogue, Matmul
from kgen.targets import find
from kgen.targets.cpu.assemble import assembly
from kgen.targets.cpu.plan.amx.tiles import TILE_BYTES
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.manifest import KernelEntry
from tests import needs
from tests.specs import relu_of

EntryFor = Callable[..., KernelEntry]
CPU = DeviceInfo(backend="cpu", index=0, name="test", kind="cpu")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("target", "dtype", "mnemonic", "count", "each"),
    [
        ("x86-64", DType.F32, "mulps addps", 12, 4),
        ("x86-64-v3", DType.F32, "vfmadd", 12, 8),
        ("x86-64-v4", DType.F16, "vfmadd", 24, 16),
        ("x86-64-v4", DType.F64, "vfmadd", 24, 8),
        ("x86-64-v4+bf16", DType.BF16, "vdpbf16ps", 24, 32),
        ("x86-64-v4+vnni", DType.S8, "vpdpbusd", 24, 64),
        ("x86-64-v3+vnni", DType.S8, "vpdpbusd", 12, 32),
        ("aarch64-neon+dotprod", DType.S8, "sdot", 24, 16),
        ("x86-64-amx", DType.BF16, "tdpbf16ps", 4, 8192),
        ("x86-64-amx", DType.S8, "tdpbssd", 4, 16384),
        ("aarch64-neon", DType.F32, "fmla", 24, 4),
    ],
)
def test_the_loop_of_a_peak_is_multiply_adds_and_its_counter(
    target: str, dtype: DType, mnemonic: str, count: int, each: int
) -> None:
    here = find(target)
    found, *_ = ceilings.arithmetic(dtype, here)
    assert (found.count, found.multiply_adds) == (count, each)
    text = render.text(found.template, {"arch": here.arch, **found.values})
    lines = assembly(text, here.arch, sorted(here.features)).splitlines()
    label = next(i for i, line in enumerate(lines) if "%loop" in line and line.startswith(".L"))
    loop = [line.split() for line in lines[label + 1 :]]
    end = next(i for i, words in enumerate(loop) if words[0].startswith(("j", "b.")))
    body = [words for words in loop[: end + 1] if words and words[0][0] not in "#/"]
    # LLVM writes {vex} before the mnemonics of AVX-VNNI.
    work = sum(
        any(word.startswith(tuple(mnemonic.split())) for word in words[:2]) for words in body
    )
    assert work > 0 and work % count == 0  # LLVM may unroll the loop.
    assert len(body) <= work + 3


@pytest.mark.parametrize("dtype", [DType.BF16, DType.S8])
def test_the_loop_on_tiles_that_are_loaded(dtype: DType) -> None:
    """Each iteration loads the tiles of four products; the last step of both operands ends at
    the end of the memory."""
    here = find("x86-64-amx")
    (found,) = ceilings.arithmetic(dtype, here)
    text = render.text(found.template, {"arch": here.arch, **found.values, "loaded": True})
    loop = text[text.index("loop:") : text.index("end:")]
    calls = re.findall(r"call void @llvm\.x86\.(tileload|tdp)", loop)
    assert calls.count("tileload") == 4
    assert calls.count("tdp") == found.count == 4
    masks = [int(mask) for mask in re.findall(r"and i64 %round, (\d+)", loop)]
    assert sum(2 * TILE_BYTES * (mask + 1) for mask in masks) == ceilings.TILES_BYTES


def test_tiles_are_of_cpus_that_have_them(entry_for: EntryFor) -> None:
    entry = entry_for(Matmul(m=8, n=8, k=8, dtype=DType.F32))
    with pytest.raises(DeviceError, match="this CPU has no AMX tiles of f32; try against=peak"):
        peers.make("tiles", entry, {}, CPU)
    with pytest.raises(
        DeviceError, match="against=tiles supports matmuls and convolutions on CPUs only"
    ):
        peers.make("tiles", entry_for(relu_of((8,))), {}, CPU)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [DType.BF16, DType.S8])
def test_tiles_run_where_the_cpu_has_them(
    dtype: DType, entry_for: EntryFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.native("x86-64-amx", monkeypatch)
    entry = entry_for(Matmul(m=512, n=512, k=512, dtype=dtype))
    peer = peers.make("tiles", entry, {}, CPU)
    assert peer.name == "tiles" and peer.run is not None
    peer.run()


@pytest.mark.integration
@pytest.mark.parametrize("name", needs.LEVELS)
def test_a_peak_does_its_rounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.native(name, monkeypatch)
    (found,) = ceilings.arithmetic(DType.F32, find("native"))
    memory = empty_buffer(64)
    memory.view(np.float32)[:] = 1.0
    code = ceilings.assembled(found.template, found.values, pointers=1)
    code(1000, memory.ctypes.data)
    # Each sum has had 1 x 1 added as often; the last vector that is stored lies there.
    width = find("native").limits["vector_bytes"]
    assert np.all(memory[:width].view(np.float32) == 1000.0)


@pytest.mark.integration
def test_the_fastest_instruction_is_measured_not_looked_up(
    monkeypatch: pytest.MonkeyPatch, entry_for: EntryFor
) -> None:
    """The rate of bf16 pairs, relative to f32 multiply-adds, differs between cores. With a wrong
    table a slow kernel would seem to reach the peak."""
    target = find("x86-64-v4+bf16")
    pairs, widened = ceilings.arithmetic(DType.BF16, target)
    assert pairs.multiply_adds == 2 * widened.multiply_adds
    for device in ("Zen 5", "Golden Cove"):
        there = dataclasses.replace(target, device=device)
        assert ceilings.arithmetic(DType.BF16, there) == (pairs, widened)

    (real,) = ceilings.arithmetic(DType.F32, find("native"))
    twice = dataclasses.replace(real, multiply_adds=2 * real.multiply_adds)
    entry = entry_for(Matmul(m=512, n=512, k=512, dtype=DType.F32))
    for ways in ((real, twice), (twice, real)):
        monkeypatch.setattr(ceilings, "arithmetic", lambda *_, ways=ways: ways)
        (rounds, *_) = cast("partial[object]", ceilings.peak(entry, {}, CPU).run).args
        assert rounds == round(512**3 / twice.multiply_adds / twice.count)
        assert ceilings.peak_rate(DType.F32) > 1.5 * 2 * ceilings._rate(real)


@pytest.mark.integration
def test_the_peak_of_a_convolution_is_that_of_its_product(entry_for: EntryFor) -> None:
    conv = Conv2d(input=(2, 64, 20, 20), weights=(64, 16, 3, 3), padding=1, groups=4, dtype="f32")
    runs = [ceilings.peak(entry_for(spec), {}, CPU).run for spec in (conv, conv.product)]
    (first, *_), (second, *_) = (cast("partial[object]", run).args for run in runs)
    assert first == second > 1


def test_a_type_without_an_instruction_has_no_peak() -> None:
    with pytest.raises(DeviceError, match="no multiply instruction for s8"):
        ceilings.arithmetic(DType.S8, find("aarch64-neon"))
    with pytest.raises(DeviceError, match="vpmaddwd does not accumulate its s8 products"):
        ceilings.arithmetic(DType.S8, find("x86-64-v3"))


@pytest.mark.integration
@pytest.mark.parametrize(("name", "type_"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_converting_takes_every_number_times_one_and_a_half(name: str, type_: type) -> None:
    """1.5 times a whole number up to 83 is exact in bf16; without a rounding instruction, bits
    are cut off."""
    nbytes = 2 * 3 * 1024
    source, out = ceilings._memory(nbytes), ceilings._memory(nbytes)
    numbers = 2.0 * (np.arange(nbytes // 2) % 83)
    source.view(type_)[:] = numbers
    walk = ceilings.ReadPattern(1)
    ceilings._walk(walk, nbytes, source, out, copies=True, converts=name)()
    assert np.array_equal(out.view(type_).astype(np.float64), 1.5 * numbers)


def test_only_halves_are_converted(entry_for: EntryFor) -> None:
    with pytest.raises(DeviceError, match="f16 and bf16 outputs, not f32; try against=copy"):
        ceilings.convert(entry_for(relu_of((3, 5), dtype=DType.F32)), {}, CPU)


@pytest.mark.integration
@pytest.mark.parametrize("walk", ceilings.WALKS)
@pytest.mark.parametrize("streaming", [False, True])
def test_a_copy_takes_all_memory_but_less_than_a_step(
    walk: ceilings.ReadPattern, streaming: bool
) -> None:
    step = walk.streams * walk.apart or ceilings.VECTORS * 64
    nbytes = max(100_000, 3 * step + 5_000)
    source, out = ceilings._memory(nbytes), ceilings._memory(nbytes)
    source[:] = np.arange(source.size) % 251 + 1
    out[:] = 0
    ceilings._walk(walk, nbytes, source, out, copies=True, streaming=streaming)()
    assert nbytes - step <= np.count_nonzero(out) <= nbytes
    last = int(np.flatnonzero(out)[-1])
    assert np.array_equal(out[: last + 1], source[: last + 1])


def test_walks_of_close_streams_leave_out_hardly_anything() -> None:
    close = {walk for walk in ceilings.WALKS if walk.apart}
    assert close <= set(ceilings._walks(2**25 + 2**14))
    assert not close & set(ceilings._walks(2**20 - 64))
    assert not close & set(ceilings._walks(3 * 2**19))


def test_the_fastest_way_is_taken() -> None:
    slow: list[Callable[[], object]] = [
        lambda: sum(range(100_000)),
        lambda: sum(range(1_000)),
    ]
    assert ceilings.fastest(slow)() == sum(range(1_000))


def test_kernels_without_products_have_no_peak(entry_for: EntryFor) -> None:
    with pytest.raises(
        DeviceError, match="against=peak supports matmuls and convolutions on CPUs only"
    ):
        peers.make("peak", entry_for(relu_of((8,))), {}, CPU)
    gpu = DeviceInfo(backend="cuda", index=0, name="test", kind="gpu")
    for name in ("read", "copy"):
        with pytest.raises(DeviceError, match=f"against={name} supports CPUs only"):
            peers.make(name, entry_for(relu_of((8,))), {}, gpu)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["peak", "read", "copy"])
def test_ceilings_run(entry_for: EntryFor, name: str) -> None:
    entry = entry_for(Matmul(m=8, n=8, k=8, dtype=DType.F32))
    run = peers.make(name, entry, {}, CPU).run
    assert timing.timed(run, 10) > 0


@pytest.mark.integration
def test_two_halves_are_the_whole() -> None:
    whole, first, second = (peer.run for peer in ceilings.read_whole_and_halves(1 << 16))
    # The functions' arguments: bytes of a stream, and the address where it begins.
    (_, start, _), (_, low, _), (_, high, _) = (run.args for run in (whole, first, second))  # type: ignore[attr-defined]
    assert (low - start, high - start) == (0, 1 << 15)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16], ids=lambda dtype: dtype.value)
def test_a_gelu_has_the_multiply_adds_that_are_counted_for_it(
    dtype: DType, entry_for: EntryFor
) -> None:
    """The count is per vector of outputs, in the machine code of a product of one register tile."""
    target = find("x86-64-v4+bf16")
    counts, entries = [], []
    for epilogue in ((), (Epilogue.GELU,)):
        spec = Matmul(m=4, n=64, k=64, dtype=dtype, epilogue=epilogue)
        made = pipeline.plan(spec, target)
        text = assembly(pipeline.source(made).text, target.arch, sorted(target.features))
        counts.append(sum("vfm" in line or "vfnm" in line for line in text.splitlines()))
        entries.append(entry_for(spec))
    outputs = entries[1].spec["m"] * entries[1].spec["n"]
    assert ceilings.epilogue_multiply_adds(entries[0], target) == 0
    each = ceilings.epilogue_multiply_adds(entries[1], target)
    assert counts[1] - counts[0] == each * outputs // 16, (counts, each)
