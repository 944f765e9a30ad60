"""Ceilings of a kernel on this CPU, measured beside it: arithmetic in registers, reading, copying,
converting.

Each is a peer that runs in one thread: `peak` does as many multiply-adds as the kernel, by the best
instruction that this CPU has for its type, on registers alone; `tiles` as many on AMX tiles that
are loaded, as those of a product must be; `read` reads as many bytes as the
inputs have; `copy` copies as many bytes as the output has; `convert` copies
them as numbers of 16 bits that are multiplied in f32. A kernel's ratio to one of them is the
fraction of that ceiling that it reaches.
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
from kgen.check.peers.peer import Peer
from kgen.check.tensors import Bytes, empty_buffer
from kgen.errors import DeviceError
from kgen.spec import Epilogue
from kgen.targets import find
from kgen.targets.base import Target
from kgen.targets.cpu.linker import link
from kgen.targets.cpu.plan.amx.tiles import TILE_ROWS, tile_k, tile_product
from kgen.targets.cpu.plan.cpu_plan import fuses, multiply_add
from kgen.targets.cpu.plan.math.normal import normal_tables, normal_tail
from kgen.targets.cpu.plan.tiles.dots import dot_for
from kgen_runtime import libkgen
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.backends.cpu.code import MappedCode
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen

#: Independent sums: more than latency times instructions per clock (5 x 2 at most, 7 x 1 where a
#: product goes before its sum), and room for an operand among the registers.
CHAINS = {32: 24, 16: 12, 15: 12}
#: Sums of the template of tiles.
TILES = 4
#: What the template loads: 16 steps of two tiles of B, 256 of A. Numbers change with every step, as
#: those of a product do: a core that multiplies such lowers its clock. `SPREAD` is of bytes.
TILES_BYTES, SPREAD = 16 * 2048 + 256 * 2048, 30


class ReadPattern(NamedTuple):
    """Pattern of reading memory: the number of parallel streams, and prefetch and stream distances.

    `ahead` is the prefetch distance in bytes (0: no prefetch). `apart` is the distance of two
    streams in bytes, a power of two (0: each stream reads an equal share of the memory).
    """

    streams: int
    ahead: int = 0
    apart: int = 0


#: Which is fastest differs by CPU, and by where the memory is.
WALKS = (
    *(ReadPattern(streams) for streams in (1, 2, 4, 8)),
    ReadPattern(1, ahead=2048),
    ReadPattern(4, ahead=1024),
    ReadPattern(4, apart=2**18),
    ReadPattern(4, apart=2**18, ahead=1024),
)
#: Of the memory, what a walk may leave out because it fills no step of all its streams.
LEFT_OUT = 0.01
#: Vectors that a step of a walk takes, over all its streams.
VECTORS = 8
#: Runs of each way before the fastest is taken.
TRIALS = 5
#: Instructions, and bytes, that a rate is measured over: some milliseconds of one core.
RATE_INSTRUCTIONS, RATE_BYTES = 10_000_000, 2**24


@frozen
class Arithmetic:
    """The instruction of a type: what one does, how many stand in the template's loop; `lanes`:
    the multiply-adds of one of f32 that takes as long, 0 if there is none."""

    multiply_adds: int
    count: int
    lanes: int = 0
    template: str
    values: Mapping[str, object]


def peak(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Peer with as many multiply-adds in registers as the product and its gelu have.

    Raises DeviceError for a type without an instruction.
    """
    if device.backend != "cpu" or entry.op != "matmul":
        raise DeviceError("against=peak supports matmuls on CPUs only; try against=read")
    found = max(arithmetic(entry.inputs[0].dtype, find("native")), key=_rate)
    total = math.prod(entry.spec[name] for name in ("m", "n", "k", "batch"))
    instructions = total / found.multiply_adds
    if found.lanes:
        outputs = math.prod(entry.spec[name] for name in ("m", "n", "batch"))
        each = epilogue_multiply_adds(entry, find("native"))
        instructions += outputs * each / found.lanes
    rounds = max(1, round(instructions / found.count))
    memory = empty_buffer(64)
    memory[:] = 0
    code = assembled(found.template, found.values, pointers=1)
    return Peer(name="peak", run=partial(code, rounds, memory.ctypes.data), keep=memory)


def tiles(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    """Peer with as many multiply-adds as the product has, on AMX tiles that are loaded.

    Raises DeviceError where there are none.
    """
    if device.backend != "cpu" or entry.op != "matmul":
        raise DeviceError("against=tiles supports matmuls on CPUs only; try against=read")
    dtype = entry.inputs[0].dtype
    if not tile_product(dtype, find("native")):
        raise DeviceError(f"this CPU has no AMX tiles of {dtype}; try against=peak")
    (found,) = arithmetic(dtype, find("native"))
    total = math.prod(entry.spec[name] for name in ("m", "n", "k", "batch"))
    rounds = max(1, round(total / found.multiply_adds / found.count))
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
    """Multiply-adds per element of an exact gelu; 0 for other epilogues.

    Its polynomials have the least degrees that the rounding of the output allows.
    """
    if f"{Epilogue.GELU}(" not in entry.spec["epilogue"] or entry.inputs[0].dtype is DType.F64:
        return 0
    tail = normal_tail(entry.output.dtype)
    tables = normal_tables(entry.output.dtype) if target.has("avx512f") else tail
    return len(tables.coefficients) + len(tail.power_coefficients) - 1


def peak_rate(dtype: DType) -> float:
    """Flops per second of one core, in registers. Raises DeviceError for a type without an
    instruction."""
    return 2 * max(map(_rate, arithmetic(dtype, find("native"))))


def _rate(found: Arithmetic) -> float:
    """Multiply-adds per second of one core, in registers."""
    memory = empty_buffer(64)
    memory[:] = 0
    code = assembled(found.template, found.values, pointers=1)
    rounds = RATE_INSTRUCTIONS // found.count
    run = partial(code, rounds, memory.ctypes.data)
    return found.multiply_adds * found.count * rounds / _least_seconds(run)


def read_rate(nbytes: int) -> float:
    """Bytes per second that one core reads of so much memory, in the fastest of some ways."""
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
    """Peer that reads as many bytes as the inputs have; calls use `sets` buffers in turn."""
    _check_cpu("read", device)
    nbytes = sum(param.nbytes for param in entry.inputs)
    sources, out = [_memory(nbytes) for _ in range(sets)], empty_buffer(64)
    ways = [
        [_walk(walk, nbytes, source, out, copies=False) for source in sources]
        for walk in _walks(nbytes)
    ]
    return Peer(name="read", run=fastest_in_turn(ways), keep=(sources, out))


def read_whole_and_halves(nbytes: int) -> tuple[Peer, Peer, Peer]:
    """Reading so much memory once, and its halves, in the way that is fastest for the whole."""
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
    """Peer that copies as many bytes as the output has, by the C library or by our own loops; calls
    use `sets` buffers in turn."""
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
    """Return the floor of a function on 16-bit numbers: as many as the output has, widened to f32,
    multiplied, and narrowed by an instruction, or cut off where there is none.

    Calls take `sets` copies of the buffers in turn. Raises DeviceError for other types.
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
    """Every way to copy, past the caches or not: from each source to its place."""
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
    """The instructions that the target has for products of a type, of which the fastest is to be
    found out by measuring: what the choice of schedules knows of a core may be wrong."""
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
    # A product of its own would leave the loop, were it the same in every round.
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
    """Return the read patterns for a buffer; patterns of streams close together only where they
    leave out hardly anything."""
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
    """Run over the whole memory, except a remainder that does not fill a step of each stream."""
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
    """Elements that a shuffle takes."""
    return f"<{', '.join(f'i32 {i}' for i in range(start, stop))}>"


def _streams(walk: ReadPattern, unroll: int, width: int) -> tuple[object, ...]:
    """For each stream where it starts if they are close together, and the vectors of a step: their
    numbers, and the bytes to them."""
    return tuple(
        (s * walk.apart, tuple((s * unroll + u, u * width) for u in range(unroll)))
        for s in range(walk.streams)
    )


def _memory(nbytes: int) -> Bytes:
    """Written once, so that it is there; a walk takes one step of each stream at least."""
    found = empty_buffer(max(nbytes, VECTORS * 64))
    found[:] = 1
    return found


def fastest(runs: Sequence[Run]) -> Run:
    """The one with the least time."""
    return min(runs, key=_least_seconds)


def fastest_in_turn(ways: Sequence[Sequence[Run]]) -> Run:
    """The runs of the way that takes the least time for all of them, in turn."""

    def seconds(way: Sequence[Run]) -> float:
        return _least_seconds(lambda: [run() for run in way])

    (run,) = in_turn([min(ways, key=seconds)])
    return run


def _least_seconds(run: Run) -> float:
    """Least seconds of some runs."""

    def seconds() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return min(seconds() for _ in range(TRIALS))


def assembled(template: str, values: Mapping[str, object], pointers: int) -> Any:
    """The function @ceiling of a template, on this CPU; it takes a count and so many pointers."""
    (address,) = _mapped(template, tuple(sorted(values.items()))).addresses
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * pointers)(address)


@cache
def _mapped(template: str, values: tuple[tuple[str, object], ...]) -> MappedCode:
    """Stays loaded for as long as the process lives."""
    from kgen.targets.cpu.assemble import compile_object

    target = find("native")
    if target.has("amx_tile"):
        libkgen.check(libkgen.library().kgen_cpu_request_tiles())
    text = render.text(template, {"arch": target.arch, **dict(values)})
    code = link(compile_object(text, target.arch, sorted(target.features)))
    return MappedCode([code], [("ceiling", 0)], template)
