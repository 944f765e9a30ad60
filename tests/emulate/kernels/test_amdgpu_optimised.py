"""Every line of the support table, as rendered and as LLVM's -O3 leaves it, on every AMD target.

The optimiser takes flags (nuw, range, noalias) at their word: one that a kernel does not keep shows
here. Formulas have the same text on targets with waves of the same size, but for the processor's
name: it is left out, and each text runs once, optimised for one of its processors by turns.
What would depend on the processor is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import cycle

import pytest

from kgen import bundle
from kgen.check.execute.runners import Emulation, EmulatorExecutor
from kgen.check.verify import inputs
from kgen.check.verify import run as verification
from kgen.errors import EmulationError, VerificationError
from kgen.ops import VIEWS, functions
from kgen.spec import OPS, DType, Formula, Layout, Matmul, Spec
from kgen.spec.text import parse
from kgen.support import support_table
from kgen.targets.amdgpu import FAMILY
from kgen.targets.amdgpu.codegen import machine_for, optimise
from kgen.targets.base import BuiltKernel, Target
from kgen_runtime.manifest import KernelEntry
from tests.emulate.text_only import text_only
from tests.support_lines import LINES, Row

ROWS: dict[str, Row] = {row["target"]: row for row in support_table()}
#: Several block tiles; several functions in one formula, and rows that do not stay in registers.
COMPOSITIONS = (
    "matmul 65x66x67 f16 batch=3 alpha=0.5 beta=2 batch_stride_b=0 lda=70 ldc=69",
    "matmul 64x64x96 bf16 layout=tt out=f32",
    "relu(x) 1003 bf16",
    "softmax(x) 1x50000 bf16",
    "layer_norm(x,scale,shift) 2x3x4x10,3x4x1,3x4x1 f16 axes=2,3",
    "h=x+residual;out=softmax(where(column<=row,h*0.125,-inf)) 17x264,17x264 f16",
    "m=amax(x);out=exp(x-m)*scale 5x3x37,37 f16",
    "gelu(x+bias)*silu(x) 7x67,67 f16",
    "exp(x)+log(abs(y))+tanh(x) 4x1x9,4x6x9 bf16",
)


def compositions(row: Row) -> Iterator[Spec]:
    yield from map(parse, COMPOSITIONS)


ALL = {**LINES, compositions.__name__: compositions}
#: Products differ from target to target, formulas do not.
APART = ("products", "convolutions", "attentions", "epilogues")
CASES = [
    *((name, (t,)) for name in APART for t in FAMILY.targets),
    *((name, FAMILY.targets) for name in ALL if name not in APART),
]
PROCESSOR = re.compile(r'"target-cpu"="(gfx\w+)"')
COMMENT = re.compile(r"^ *;.*\n", re.MULTILINE)

machines = cache(machine_for)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "targets"), CASES, ids=lambda v: v if isinstance(v, str) else v[0].name
)
def test_before_and_after_the_optimiser(lines: str, targets: tuple[Target, ...]) -> None:
    found: dict[Spec, list[Target]] = {}
    for target in targets:
        for spec in ALL[lines](ROWS[target.name]):
            found.setdefault(spec, []).append(target)
    turns = enumerate(found.items())
    assert not [wrong for turn, (spec, those) in turns for wrong in failures(spec, those, turn)]


def failures(spec: Spec, targets: Iterable[Target], turn: int = 0) -> Iterator[str]:
    """Yield reasons why kernels of targets are wrong. Kernels with equal text run once; `turn`
    chooses the processor that such a text is optimised for."""
    alike: dict[str, list[BuiltKernel]] = {}
    for target in targets:
        kernel = text_only(spec, target)
        text = kernel.source.text
        alike.setdefault(nameless(text) if isinstance(spec, Formula) else text, []).append(kernel)
    forms: dict[str, tuple[KernelEntry, str]] = {}
    for rendered, kernels in alike.items():
        kernel = kernels[turn % len(kernels)]
        (entry,) = bundle.pack([kernel]).manifest.kernels
        optimised = optimise(kernel.source.text, machines(kernel.plan.target.arch))
        if isinstance(spec, Formula):
            optimised = nameless(optimised)
        for name, form in (("rendered", rendered), ("-O3", optimised)):
            forms.setdefault(form, (entry, f"{kernel.name} {name}"))
    entries = [entry for entry, _ in forms.values()]
    assert len({entry.tolerance for entry in entries}) == 1
    # Both forms compute with the random data. The others, which show what an instruction makes of
    # special values, one form executes by turns: a flag that is wrong is so whatever the data.
    by_turns = cycle(forms)
    for i, data in enumerate(inputs.data_sets(entries[0], seed=0)):
        expected = list(verification.expectation(entries[0], data, None, seed=0))
        for text in forms if i == 0 else [next(by_turns)]:
            entry, name = forms[text]
            executor = EmulatorExecutor(entry, "llvm-ir", text, Emulation(schedules=1))
            try:
                compared = verification.run(executor, entry, data, None, 0, expected)
            except (EmulationError, VerificationError) as fault:
                yield f"{name}: {data.name} data: {fault}"
                continue
            if not compared.passed:
                yield f"{name}: {verification.describe(entry, data, compared)}"


def test_an_optimiser_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the optimised text is wrong, and the failures say so."""
    monkeypatch.setattr(
        f"{__name__}.optimise", lambda text, machine: text.replace(" fmul ", " fadd ")
    )
    found = list(failures(parse("gelu(x) 33 f16"), FAMILY.targets))
    assert found and all("-O3: " in each for each in found)


def nameless(text: str) -> str:
    """Return the text without comments, with the wave size in place of the processor."""
    processor = PROCESSOR.search(text)
    assert processor is not None
    wave = 64 if processor[1].startswith("gfx9") else 32
    return COMMENT.sub("", PROCESSOR.sub(f'"target-features"="+wavefrontsize{wave}"', text))


@pytest.mark.parametrize("target", FAMILY.targets, ids=lambda t: t.name)
def test_the_lines_are_the_table(target: Target) -> None:
    """Lines exist for each operation and type, each layout of products, each function and each
    view."""
    specs = [spec for lines in LINES.values() for spec in lines(ROWS[target.name])]
    row = ROWS[target.name]["ops"]
    for op in OPS:
        types = {spec.parameters[0].dtype for spec in specs if isinstance(spec, op)}
        assert types == set(row[op.op]), op.op
    layouts = {(s.dtype, s.layout) for s in specs if isinstance(s, Matmul)}
    assert layouts == {(DType(d), layout) for d in row["matmul"] for layout in Layout}
    texts = "; ".join(spec.expression for spec in specs if isinstance(spec, Formula))
    missing = [name for name in (*functions(), *VIEWS) if f"{name}(" not in texts]
    assert not missing
