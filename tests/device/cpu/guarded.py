"""CPU kernels on buffers between inaccessible pages: an access outside a buffer ends the process.

Runs as a child, ``python -m tests.device.cpu.guarded TARGET COUNT SEED MISSING``. It prints each
kernel's name before the call, so that the parent knows which kernel ended the process. Each buffer
is MISSING bytes short: 0, unless a test checks that the guard works.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from kgen import pipeline
from kgen.bundle import pack
from kgen.check.execute.qemu import run_aarch64
from kgen.errors import ScheduleError
from kgen.schedule import BlockedMatmul, Schedule
from kgen.spec import (
    ConstantOperand,
    Conv2d,
    DType,
    Elementwise,
    Epilogue,
    Layout,
    Matmul,
    Rowwise,
    Scale,
    Spec,
)
from kgen.spec.choices import OUTPUTS
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen_runtime.backend import Code
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.manifest import TensorParam
from tests.device.cpu.cpu_support import GuardedBytes
from tests.specs import relu_of, softmax_of

FLOATS = (DType.F32, DType.F16, DType.BF16)
EPILOGUES: tuple[tuple[Epilogue, ...], ...] = (
    (),
    (Epilogue.BIAS, Epilogue.RELU),
    (Epilogue.RESIDUAL,),
    (Epilogue.BIAS, Epilogue.GELU, Epilogue.RESIDUAL),
)
#: Bytes of inputs, and of outputs before a call: small numbers in every type, no NaN.
INPUT, POISON = 0x3A, 0xA5

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Case:
    spec: Spec
    schedule: Schedule | None = None

    def __str__(self) -> str:
        words = self.schedule.to_json() if self.schedule else {"schedule": "heuristic"}
        return f"{self.spec.key} {words}"


def cases(target: Target, random: Random, count: int) -> Iterator[Case]:
    """Yield cases: half are products; sizes are near those of vectors and tiles, or 1."""
    for _ in range(count // 2):
        spec = product(target, random)
        yield Case(spec=spec, schedule=small_blocks(spec, target, random))
    for _ in range(count - count // 2):
        yield Case(spec=random.choice((relu, rowwise, views, convolution, winograd))(random))


def length(random: Random) -> int:
    """Return 1, a number near a multiple of a vector, or any number."""
    near = random.choice((4, 8, 16, 32, 64)) * random.randint(1, 2) + random.randint(-1, 1)
    return random.choice((1, near, random.randint(2, 80)))


def product(target: Target, random: Random) -> Matmul:
    m, n, k = (length(random) for _ in range(3))
    if random.random() < 0.2:
        # B larger than a cache: skinny GEMMs read it in place.
        m, n, k = random.randint(1, 16), random.randint(500, 700), random.randint(500, 700)
    dtype = random.choice(FAMILY.dtypes(Matmul.op, target))
    layout = random.choice(list(Layout))
    if random.random() < 0.1:
        # N so small that B is transposed.
        n, k, layout = random.randint(1, 9), random.randint(1, 300), Layout.NN
    padding = [random.choice((0, 0, random.randint(1, 9))) for _ in range(3)]
    out = random.choice(OUTPUTS[dtype])
    finishes = out is not DType.S32
    return Matmul(
        m=m,
        n=n,
        k=k,
        dtype=dtype,
        out_dtype=out,
        layout=layout,
        lda=(m if layout.a_transposed else k) + padding[0],
        ldb=(k if layout.b_transposed else n) + padding[1],
        ldc=n + padding[2],
        batch=random.choice((1, 1, 1, 3)),
        batch_stride_b=random.choice((None, 0)),
        constant=random.choice(((), (), (), (ConstantOperand.B,))),
        beta=random.choice((0.0, 0.5)) if finishes else 0.0,
        epilogue=random.choice(EPILOGUES) if finishes else (),
        scales=tuple(Scale) if finishes and dtype is DType.S8 else (),
    )


def small_blocks(spec: Matmul, target: Target, random: Random) -> Schedule | None:
    """Return blocks so small that there are several along each axis; None if they do not fit."""
    chosen = FAMILY.choose(spec, target)
    if random.random() < 0.5 or not isinstance(chosen, BlockedMatmul):
        return None
    wanted = {"mc": chosen.mr * random.randint(1, 2), "nc": chosen.nr * random.randint(1, 2)}
    wanted["kc"] = random.choice((32, 64))
    try:
        return pipeline.plan(spec, target, pipeline.schedule_for(spec, target, wanted)).schedule
    except ScheduleError:
        return None


def relu(random: Random) -> Elementwise:
    return relu_of((random.randint(1, 300),), dtype=random.choice(FLOATS))


def views(random: Random) -> Elementwise:
    """Return a copy of rows of any length, some of whose elements come from no input."""
    rows, cols, more = random.randint(1, 9), length(random), random.randint(1, 40)
    start = random.randint(0, cols - 1)
    expression, shapes = random.choice(
        (
            ("permute(x, 1, 0)", ((rows, cols),)),
            (f"slice(x, 1, {start}, inf, {random.randint(1, 3)})", ((rows, cols),)),
            ("slice(x, 1, inf, -inf, -1)", ((rows, cols),)),
            (f"pad(x, {random.randint(0, 1)}, {more}, {rows}, 1)", ((rows, cols),)),
            (f"pad(slice(x, 1, inf, -inf, -1), 1, {more}, 3)", ((rows, cols),)),
            ("concat(x, y, 1)", ((rows, cols), (rows, more))),
            ("concat(transpose(x), y, 0)", ((cols, rows), (more, cols))),
            ("gather(table, index)", ((rows, cols), (more,))),
        )
    )
    return Elementwise(expression=expression, shapes=shapes, dtype=random.choice(FLOATS))


def convolution(random: Random) -> Conv2d:
    """Return a convolution with any number of channels whose windows extend past the images."""
    channels, kernel = random.randint(1, 19), (random.randint(1, 4), random.randint(1, 4))
    sizes = tuple(random.randint(each, each + 6) for each in kernel)
    groups, outputs = random.choice((1, 1, 2, 3)), random.randint(1, 20)
    if random.random() < 0.3:
        groups, channels, outputs = channels, 1, random.choice((1, 2, 4))
    return Conv2d(
        input=(random.randint(1, 2), groups * channels, *sizes),
        weights=(groups * outputs, channels, *kernel),
        groups=groups,
        dtype=random.choice(FLOATS),
        stride=random.randint(1, 2),
        padding=tuple(random.randint(0, each - 1) for each in (*kernel, *kernel)),
        weight_layout=random.choice(("ohwi", "hwio")),
        constant=random.choice(((), (ConstantOperand.B,))),
        epilogue=random.choice(((), ("bias", "relu"))),
    )


def winograd(random: Random) -> Conv2d:
    """Return a convolution with any number of channels whose tiles extend past the images."""
    channels = random.choice((8, 16, random.randint(1, 19)))
    return Conv2d(
        input=(random.randint(1, 2), channels, random.randint(3, 13), random.randint(3, 13)),
        weights=(random.randint(1, 20), channels, 3, 3),
        dtype=DType.F32,
        math=random.choice(("winograd2", "winograd4")),
        padding=tuple(random.randint(0, 2) for _ in range(4)),
        weight_layout=random.choice(("ohwi", "hwio")),
        constant=(ConstantOperand.B,),
        epilogue=random.choice(((), ("bias", "relu"), ("residual",))),
    )


def softmax(random: Random) -> Rowwise:
    cols = random.choice((length(random), random.randint(81, 2000)))
    return softmax_of(
        random.randint(1, 5),
        cols,
        dtype=random.choice(FLOATS),
        out_dtype=random.choice((None, *FLOATS)),
        log=random.random() < 0.3,
    )


def rowwise(random: Random) -> Rowwise:
    """Return an operation on inputs of whole rows, of one element per row, and of one per part."""
    cols, rows = random.choice((length(random), random.randint(81, 2000))), random.randint(1, 5)
    planes = (rows, random.randint(1, 3), length(random))
    expression, shapes = random.choice(
        (
            ("layer_norm(x, scale, shift)", ((rows, cols), (cols,), (rows, 1))),
            ("layer_norm(x, scale, shift)", (planes, (planes[1], 1), planes[1:])),
            ("softmax(x)", ((rows, cols),)),
            ("log_softmax(x)", ((rows, cols),)),
            ("mean(exp(x))", ((rows, cols),)),
            ("argmax(x)", ((rows, cols),)),
            ("softmax(x + column * scale)", ((rows, cols), (1,))),
        )
    )
    return Rowwise(
        expression=expression,
        shapes=shapes,
        dtype=random.choice(FLOATS),
        axes=len(shapes[0]) - 1,
        out_dtype=random.choice((None, *FLOATS)),
    )


def run(case: Case, target: Target, missing: int) -> None:
    """Run a case with buffers that end at a guard, and with buffers that begin at one."""
    bundle = pack([pipeline.kernel(case.spec, target, case.schedule)])
    entry = bundle.manifest.kernels[0]
    artifact = entry.artifacts[0]
    code = bundle.files[artifact.file]
    parameters = {p.name: p for p in entry.parameters}
    contents = {name: filled(p) for name, p in parameters.items()} | {
        w.name: np.full(w.nbytes, POISON, np.uint8) for w in entry.workspaces
    }
    if target.arch != platform.machine():
        for at_end in (True, False):
            arrays = {name: content.copy()[missing:] for name, content in contents.items()}
            for launch in entry.launches:
                run_aarch64(
                    code,
                    launch.entry_point,
                    [arrays[name] for name in launch.arguments],
                    launch.grid[0],
                    at_end=at_end,
                    features=artifact.requires["features"],
                )
            check_gaps(case, parameters, arrays)
        return
    backend = CpuBackend(num_threads=1)
    kernel = backend.load(entry, {"main": Code(artifact=artifact, data=code)})
    for at_end in (True, False):
        held = {
            name: GuardedBytes(content.nbytes - missing, at_end=at_end)
            for name, content in contents.items()
        }
        for name, memory in held.items():
            memory.data[:] = contents[name][: memory.data.size]
        backend.launch(kernel, {name: memory.address for name, memory in held.items()})
        check_gaps(case, parameters, {name: memory.data for name, memory in held.items()})
    backend.unload(kernel)


def filled(parameter: TensorParam) -> Bytes:
    return np.full(parameter.nbytes, INPUT if parameter.role == "input" else POISON, np.uint8)


def check_gaps(
    case: Case,
    parameters: Mapping[str, TensorParam],
    held: Mapping[str, Bytes],
) -> None:
    """Check that the gaps between an output's rows and all inputs are unchanged."""
    for name, parameter in parameters.items():
        data = held[name]
        outside = np.ones(data.size, bool)
        if parameter.role != "input":
            size = parameter.dtype.itemsize
            steps = (*(s * size for s in parameter.strides), 1)
            np.lib.stride_tricks.as_strided(outside, (*parameter.shape, size), steps)[...] = False
        wrong = np.flatnonzero(outside & (data != filled(parameter)))
        if wrong.size:
            sys.exit(f"{case} changed byte {wrong[0]} of {name}, which is not its own")


def main(arguments: Sequence[str]) -> None:
    name, *numbers = arguments
    count, seed, missing = map(int, numbers)
    target = FAMILY.find(name)
    assert target is not None
    for case in cases(target, Random(seed), count):
        print(case, flush=True)
        run(case, target, missing)


if __name__ == "__main__":
    main(sys.argv[1:])
