"""Ceilings of this CPU, measured next to a kernel: arithmetic, reading, copying, converting.

Each is a peer in one thread. The ratio of a kernel to it is the fraction of the ceiling that the
kernel reaches.

- `peak` does as many multiply-adds as the kernel, in registers, with the CPU's best instruction.
- `tiles` does as many on AMX tiles that are loaded, as the tiles of a product must be.
- `read` reads as many bytes as the inputs have.
- `copy` copies as many bytes as the output has.
- `convert` copies them as 16-bit numbers that are multiplied in f32.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from kgen import render
from kgen.check.bench.timing import Run, in_turn
from kgen.check.oracle.operations import depth
from kgen.check.peers.peer import Peer
from kgen.check.tensors import Bytes, empty_buffer
from kgen.errors import DeviceError
from kgen.spec import Epilogue
from kgen.targets import find
from kgen.targets.base import Target
from kgen.targets.cpu.linker import link
from kgen.targets.cpu.plan.amx.tiles import TILE_ROWS, tile_k, tile_product
from kgen.targets.cpu.plan.cpu_plan import fuses, multiply_add
from kgen.targets.cpu.plan.math.functions import normal_tail
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen_runtime import libkgen
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.backends.cpu.code import MappedCode
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen

#: Independent accumulators, by the number of vector registers: more than latency times instructions
#: per clock (5 x 2 at most, 7 x 1 for a product before its sum), with room for an operand.
CHAINS = {32: 24, 16: 12, 15: 12}
#: Accumulator tiles of the template.
TILES = 4
#: Bytes that the template loads: 16 steps of two tiles of B, 256 of A. The numbers vary, as in real
#: products: a core lowers its clock for them. `SPREAD` is the deviation of s8 numbers.
TILES_BYTES, SPREAD = 16 * 2048 + 256 * 2048, 30


class ReadPattern(NamedTuple):
    """Pattern of reading memory: parallel streams, prefetch distance, and distance between streams.

    `ahead` is the prefetch distance in bytes (0: no prefetch). `apart` is the distance of two
    streams in bytes, a power of two (0: each stream reads an equal share of the memory).
    """

    streams: int
    ahead: int = 0
    apart: int = 0


#: Patterns to try: the fastest depends on the CPU and on the level of memory.
WALKS = (
    *(ReadPattern(streams) for streams in (1, 2, 4, 8)),
    ReadPattern(1, ahead=2048),
    ReadPattern(4, ahead=1024),
    ReadPattern(4, apart=2**18),
    ReadPattern(4, apart=2**18, ahead=1024),
)
#: Share of the memory that a pattern may skip because it does not fill a step of all streams.
LEFT_OUT = 0.01
#: Vectors per step of a pattern, over all its streams.
VECTORS = 8
#: Runs of each pattern before the fastest is chosen.
TRIALS = 5
#: Instructions, and bytes, over which a rate is measured: a few milliseconds of one core.
RATE_INSTRUCTIONS, RATE_BYTES = 10_000_000, 2**24


@frozen
class Arithmetic:
    """Multiply instruction of a type, and its number `count` in the template's loop.

    `lanes` are the multiply-adds of an f32 instruction that takes as long; 0 if there is none.
    """

    multiply_adds: int
    count: int
    lanes: int = 0
    template: str
    values: Mapping[str, object]


def peak(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return a peer with as many multiply-adds in registers as a contraction and its epilogue.

    Raises DeviceError for a type without an instruction.
    """
    outputs, products = _products(entry, device, "peak")
    found = max(arithmetic(entry.inputs[0].dtype, find("native")), key=_rate)
    instructions = outputs * products / found.multiply_adds
    if found.lanes:
        each = epilogue_multiply_adds(entry, find("native"))
        instructions += outputs * each / found.lanes
    rounds = max(1, round(instructions / found.count))
    memory = empty_buffer(64)
    memory[:] = 0
    code = assembled(found.template, found.values, pointers=1)
    return Peer(name="peak", run=partial(code, rounds, memory.ctypes.data), keep=memory)


def _products(entry: KernelEntry, device: DeviceInfo, peer: str) -> tuple[int, int]:
    """Return the outputs of a contraction, and the products that each one adds. Raises
    DeviceError for other operations and devices."""
    if device.backend != "cpu" or entry.op not in ("matmul", "conv2d"):
        raise DeviceError(
            f"against={peer} supports matmuls and convolutions on CPUs only; try against=read"
        )
    return math.prod(entry.output.shape), depth(entry)


def tiles(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Return a peer with as many multiply-adds as a product, on AMX tiles that are loaded.

    Raises DeviceError on a CPU without AMX for this type.
    """
    outputs, products = _products(entry, device, "tiles")
    dtype = entry.inputs[0].dtype
    if not tile_product(dtype, find("native")):
        raise DeviceError(f"this CPU has no AMX tiles of {dtype}; try against=peak")
    (found,) = arithmetic(dtype, find("native"))
    rounds = max(1, round(outputs * products / found.multiply_adds / found.count))
    memory = empty_buffer(TILES_BYTES)
    numbers = np.random.default_rng(0).standard_normal(TILES_BYTES // dtype.itemsize)
    if dtype.is_integer:
        memory[:] = (numbers * SPREAD).astype(np.int8).view(np.uint8)
    elif dtype is DType.BF16:
        memory.view(np.uint16)[:] = numbers.astype(np.float32).view(np.uint32) >> 16
    else:
        memory.view(np.float16)[:] = numbers
    code = assembled(found.template, {**found.values, "loaded": True}, pointers=1)
    return Peer(name="tiles", run=partial(code, rounds, memory.ctypes.data), keep=memory)


def epilogue_multiply_adds(entry: KernelEntry, target: Target) -> int:
    """Return the multiply-adds per element of an exact gelu; 0 for other epilogues.

    Its polynomials have the least degree that the rounding of the output allows.
    """
    if f"{Epilogue.GELU}(" not in entry.spec["epilogue"] or entry.inputs[0].dtype is DType.F64:
        return 0
    tail = normal_tail(entry.output.dtype)
    polynomial = tail.tables if target.has("avx512f") else tail.coefficients
    return len(polynomial) + len(tail.power_coefficients) - 1


def peak_rate(dtype: DType) -> float:
    """Return the flops per second of one core in registers.

    Raises DeviceError for a type without an instruction.
    """
    return 2 * max(map(_rate, arithmetic(dtype, find("native"))))


def _rate(found: Arithmetic) -> float:
    """Return the multiply-adds per second of one core in registers."""
    memory = empty_buffer(64)
    memory[:] = 0
    code = assembled(found.template, found.values, pointers=1)
    rounds = RATE_INSTRUCTIONS // found.count
    run = partial(code, rounds, memory.ctypes.data)
    return found.multiply_adds * found.count * rounds / _least_seconds(run)


def read_rate(nbytes: int) -> float:
    """Return the bytes per second that one core reads from a buffer, by the fastest pattern."""
    nbytes = max(nbytes // 4096, 1) * 4096
    source, out = _memory(nbytes), empty_buffer(64)
    runs = [_walk(walk, nbytes, source, out, copies=False) for walk in _walks(nbytes)]
    times = max(1, RATE_BYTES // nbytes)

    def repeated(run: Run) -> None:
        for _ in range(times):
            run()

    return nbytes * times / min(_least_seconds(partial(repeated, run)) for run in runs)


def read(
    entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo, sets: int = 1
) -> Peer:
    """Return a peer that reads as many bytes as the inputs have, from `sets` buffers in turn."""
    _check_cpu("read", device)
    nbytes = sum(param.nbytes for param in entry.inputs)
    sources, out = [_memory(nbytes) for _ in range(sets)], empty_buffer(64)
    ways = [
        [_walk(walk, nbytes, source, out, copies=False) for source in sources]
        for walk in _walks(nbytes)
    ]
    return Peer(name="read", run=fastest_in_turn(ways), keep=(sources, out))


def read_whole_and_halves(nbytes: int) -> tuple[Peer, Peer, Peer]:
    """Return peers that read a buffer and its halves, by the fastest pattern for all of it."""
    source, out = _memory(nbytes), empty_buffer(64)
    parts = (source, *np.split(source[: nbytes // 128 * 128], 2))
    walks = _walks(parts[-1].nbytes)
    ways = [[_walk(w, part.nbytes, part, out, copies=False) for part in parts] for w in walks]
    best = fastest([whole for whole, *_ in ways])
    (runs,) = (way for way in ways if way[0] is best)
    whole, first, second = (Peer(name="read", run=run, keep=(source, out)) for run in runs)
    return whole, first, second


def copy(
    entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo, sets: int = 1
) -> Peer:
    """Return a peer that copies as many bytes as the output has, between `sets` buffers in turn.

    It uses the C library or a loop of our own, whichever is faster.
    """
    _check_cpu("copy", device)
    nbytes = entry.output.nbytes
    places = [(_memory(nbytes), _memory(nbytes)) for _ in range(sets)]
    moves = [
        partial(ctypes.memmove, out.ctypes.data, source.ctypes.data, nbytes)
        for source, out in places
    ]
    return Peer(name="copy", run=fastest_in_turn([moves, *_copies(nbytes, places)]), keep=places)


def convert(
    entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo, sets: int = 1
) -> Peer:
    """Return a peer that converts 16-bit numbers: a lower bound for functions of f16 or bf16.

    It widens as many numbers as the output has to f32, multiplies them, and narrows them by an
    instruction, or by truncation where there is none. Calls use `sets` buffers in turn. Raises
    DeviceError for other types.
    """
    _check_cpu("convert", device)
    dtype = entry.output.dtype
    if dtype not in (DType.F16, DType.BF16):
        raise DeviceError(
            f"against=convert supports f16 and bf16 outputs, not {dtype}; try against=copy"
        )
    nbytes = entry.output.nbytes
    places = [(_memory(nbytes), _memory(nbytes)) for _ in range(sets)]
    ways = _copies(nbytes, places, converts=str(dtype))
    return Peer(name="convert", run=fastest_in_turn(ways), keep=places)


def _copies(
    nbytes: int, places: Sequence[tuple[Bytes, Bytes]], converts: str = ""
) -> list[Sequence[Run]]:
    """Return all ways to copy the sources, with and without nontemporal stores."""
    return [
        [
            _walk(walk, nbytes, source, out, copies=True, streaming=streaming, converts=converts)
            for source, out in places
        ]
        for streaming in (False, True)
        for walk in _walks(nbytes)
    ]


def _check_cpu(name: str, device: DeviceInfo) -> None:
    if device.backend != "cpu":
        raise DeviceError(f"against={name} supports CPUs only; try against=torch")


def arithmetic(dtype: DType, target: Target) -> tuple[Arithmetic, ...]:
    """Return the target's instructions for products of a type.

    The fastest is found by measuring, since the schedules' knowledge of a core may be wrong.
    """
    if product := tile_product(dtype, target):
        on_tiles = Arithmetic(
            multiply_adds=TILE_ROWS * TILE_ROWS * tile_k(dtype),
            count=TILES,
            template="cpu/ceiling_tiles.ll.j2",
            values={"instruction": product.mnemonic, "loaded": False},
        )
        return (on_tiles,)
    found = []
    width = target.limits["vector_bytes"]
    dot = dot_for(dtype, target)
    if dot:
        if not dot.adds:
            raise DeviceError(
                f"{dot.mnemonic} does not accumulate its {dtype} products; try against=read"
            )
        lanes = width // 4
        sums = f"<{lanes} x {'i32' if dtype.is_integer else 'float'}>"
        operands = f"<{dot.group * lanes} x {dot.factor}>"
        each = dot.group * lanes
        found.append(_chains(target, dot.intrinsic, each, sums, operands, sums_first=True))
    if dtype.is_integer:
        if found:
            return tuple(found)
        raise DeviceError(f"this CPU has no multiply instruction for {dtype}; try against=read")
    lanes = width // max(4, dtype.itemsize)
    vector = f"<{lanes} x {'double' if dtype is DType.F64 else 'float'}>"
    intrinsic = f"{multiply_add(target)}.v{lanes}f{width * 8 // lanes}"
    # Without fused multiply-add, put the sum first: a loop-invariant product would be hoisted.
    found.append(_chains(target, intrinsic, lanes, vector, vector, sums_first=not fuses(target)))
    return tuple(found)


def _chains(
    target: Target, intrinsic: str, each: int, sums: str, operands: str, *, sums_first: bool
) -> Arithmetic:
    chains = CHAINS[target.limits["vector_registers"]]
    return Arithmetic(
        multiply_adds=each,
        count=chains,
        lanes=target.limits["vector_bytes"] // 4,
        template="cpu/ceiling_flops.ll.j2",
        values={
            "intrinsic": intrinsic,
            "sums": sums,
            "operands": operands,
            "sums_first": sums_first,
            "chains": chains,
        },
    )


def _walks(nbytes: int) -> list[ReadPattern]:
    """Return the read patterns for a buffer, without those that would skip much of it."""
    return [w for w in WALKS if not w.apart or nbytes % (w.streams * w.apart) < LEFT_OUT * nbytes]


def _walk(
    walk: ReadPattern,
    nbytes: int,
    source: Bytes,
    out: Bytes,
    *,
    copies: bool,
    streaming: bool = False,
    converts: str = "",
) -> Run:
    """Return a call that walks over the memory, except for an incomplete last step."""
    target = find("native")
    width = target.limits["vector_bytes"]
    unroll = VECTORS // walk.streams
    code = assembled(
        "cpu/ceiling_memory.ll.j2",
        {
            "streams": _streams(walk, unroll, width),
            "vectors": walk.streams * unroll,
            "step": unroll * width,
            "ahead": walk.ahead,
            "apart": walk.apart,
            "inside_mask": walk.apart - 1,
            "vector": f"<{width // 8} x i64>",
            "vector_bytes": width,
            "copies": copies,
            "streaming": streaming,
            "converts": converts,
            "is_bf16": converts == "bf16",
            "fences": streaming and target.arch == "x86_64",
            "floats": width // 4,
            "halves": width // 2,
            "lower": _indices(0, width // 4),
            "upper": _indices(width // 4, width // 2),
            "in_order": _indices(0, width // 2),
            "rounds": f"llvm.x86.avx512bf16.cvtne2ps2bf16.{8 * width}"
            if converts == "bf16" and target.has("avx512_bf16")
            else "",
        },
        pointers=2,
    )
    step = walk.apart or unroll * width
    part = max(step, nbytes // walk.streams // step * step)
    return partial(code, part, source.ctypes.data, out.ctypes.data)


def _indices(start: int, stop: int) -> str:
    """Return the mask of a shuffle that takes these elements."""
    return f"<{', '.join(f'i32 {i}' for i in range(start, stop))}>"


def _streams(walk: ReadPattern, unroll: int, width: int) -> tuple[object, ...]:
    """Return each stream's start, if streams are close together, and its vectors per step.

    A vector is given by its number and its byte offset.
    """
    return tuple(
        (s * walk.apart, tuple((s * unroll + u, u * width) for u in range(unroll)))
        for s in range(walk.streams)
    )


def _memory(nbytes: int) -> Bytes:
    """Return memory that is mapped, for at least one step of each stream."""
    found = empty_buffer(max(nbytes, VECTORS * 64))
    found[:] = 1
    return found


def fastest(runs: Sequence[Run]) -> Run:
    return min(runs, key=_least_seconds)


def fastest_in_turn(ways: Sequence[Sequence[Run]]) -> Run:
    """Return a run that takes the fastest way's runs in turn."""

    def seconds(way: Sequence[Run]) -> float:
        return _least_seconds(lambda: [run() for run in way])

    (run,) = in_turn([min(ways, key=seconds)])
    return run


def _least_seconds(run: Run) -> float:

    def seconds() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return min(seconds() for _ in range(TRIALS))


def assembled(template: str, values: Mapping[str, object], pointers: int) -> Any:
    """Return the function @ceiling of a template on this CPU; it takes a count and pointers."""
    (address,) = _mapped(template, tuple(sorted(values.items()))).addresses
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * pointers)(address)


@cache
def _mapped(template: str, values: tuple[tuple[str, object], ...]) -> MappedCode:
    """Return the code of a template, which stays loaded until the process ends."""
    from kgen.targets.cpu.assemble import compile_object

    target = find("native")
    if target.has("amx_tile"):
        libkgen.check(libkgen.library().kgen_cpu_request_tiles())
    text = render.text(template, {"arch": target.arch, **dict(values)})
    code = link(compile_object(text, target.arch, sorted(target.features)))
    return MappedCode([code], [("ceiling", 0)], template)
