"""Kernels with one changed instruction, assembled again with right digests, fail verify.

Each mutation is a textual change of the family's own kernel, made where the pattern first matches.
"""

from __future__ import annotations

import dataclasses
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import kgen
from kgen import bundle, pipeline, targets
from kgen.cli.main import main
from kgen.spec import DType, Matmul, Rowwise, Spec
from kgen.targets.base import Kernel

SPEC = Matmul(m=33, n=65, k=150, dtype=DType.F16)
SPEC_F32 = dataclasses.replace(SPEC, dtype=DType.F32, out_dtype=DType.F32)
#: Rows of several vectors for each lane, some lanes' last one missing.
ROWS = Rowwise(expression="softmax(x)", shapes=((3, 1000),), dtype=DType.F32)


@dataclass(frozen=True)
class Mutation:
    """`pattern` (a regular expression, ^ and $ at lines) becomes `replacement`, once."""

    target: str
    name: str
    spec: Spec
    pattern: str
    replacement: str

    def apply(self, text: str) -> str:
        changed, count = re.subn(self.pattern, self.replacement, text, count=1, flags=re.MULTILINE)
        assert count == 1, f"{self.pattern} is not in the kernel"
        assert changed != text, f"{self.replacement} changes nothing"
        return changed


#: By target: what is changed, in which kernel, from what, to what.
TABLE: dict[str, tuple[tuple[str, Spec, str, str], ...]] = {
    "sm_80": (
        ("fragments-swapped", SPEC, r"\{(%a_m0_k0), (%a_m8_k0)", r"{\2, \1"),
        ("store-dropped", SPEC, r"^ *@%inside st\.global.*\n", ""),
        ("sub-for-add", SPEC, r"add(\.u32 %read_stage, %read_stage)", r"sub\1"),
        ("operand-swapped", SPEC_F32, r"(fma\.rn\.f32 %acc_m0_n0, )%a_m0, ", r"\1%b_n0, "),
    ),
    "gfx942": (
        (
            "fragments-swapped",
            SPEC,
            r"(mfma\.f32\.\S+\()(<\d x half> %\S+), (<\d x half> %\S+),",
            r"\1\3, \2,",
        ),
        ("store-dropped", SPEC, r"^ *call \S+ \S+\.buffer\.store.*\n", ""),
        ("sub-for-add", SPEC, r"(%out\.row = )add nuw nsw", r"\1sub"),
        (
            "sum-forgotten",
            SPEC_F32,
            r"(mfma\.f32\.\S+\(.*, <\d+ x float> )%[^,]+,",
            r"\1zeroinitializer,",
        ),
    ),
    "vulkan1.3": (
        ("fragments-swapped", SPEC_F32, r"(%main_total_m0_n0 = .* %main_)m0", r"\1b0"),
        ("sub-for-add", SPEC_F32, r"(%row_first = )OpIAdd", r"\1OpISub"),
        (
            "missing-vector-folded",
            ROWS,
            r"(%v3_sum = )OpSelect %float %v3_inside (%\S+) %\S+",
            r"\1OpCopyObject %float \2",
        ),
    ),
    # f16 and folds by barriers, in one module: vulkan1.3 has a second one for some devices.
    "vulkan1.1": (
        ("store-dropped", SPEC, r"^OpStore %out_m0_n0_0_ptr .*\n", ""),
        (
            "barrier-dropped",
            ROWS,
            r"(^OpStore %sum_step5_to .*\n;.*\n)OpControlBarrier .*\n",
            r"\1",
        ),
        ("exchange-forgotten", ROWS, r"(%sum_step1_partner = ).*", r"\1OpCopyObject %uint %thread"),
    ),
    "x86-64-v3": (
        ("fragments-swapped", SPEC_F32, r"(%sum_m1_n0\.next = .*%a_m)1", r"\g<1>0"),
        ("store-dropped", SPEC_F32, r"^ *store .* %sum_m1_n0\.out\.at.*\n", ""),
        ("sum-forgotten", SPEC, r"(%sum_m1_n0\.next = .*) %sum_m1_n0\)", r"\1 zeroinitializer)"),
    ),
}
MUTATIONS = [Mutation(target, *row) for target, rows in TABLE.items() for row in rows]


def mutated(mutation: Mutation) -> Kernel:
    """The kernel with the change in its text and in its machine code."""
    kernel = pipeline.kernel(mutation.spec, targets.find(mutation.target))
    source = dataclasses.replace(kernel.source, text=mutation.apply(kernel.source.text))
    family = targets.family(kernel.plan.target.family)
    return dataclasses.replace(
        kernel, source=source, assembled=family.assemble(source, kernel.plan)
    )


def run_verify(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit status and output of `kgen verify`; skips where nothing here runs the kernel."""
    status = main(["verify", str(path)])
    shown = capsys.readouterr().out
    if "not-executed" in shown and not os.environ.get("CI"):
        pytest.skip(shown.splitlines()[-1])
    return status, shown


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.target}-{m.name}")
def test_verify_sees_one_changed_instruction(
    mutation: Mutation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle.pack([mutated(mutation)]).save(tmp_path / "mutated.kgen")
    status, shown = run_verify(path, capsys)
    assert status == 1
    # Where: an output element, or the line of the instruction that the emulator faults on.
    assert re.search(r"data, out\[\d+, \d+\]: got|, line \d+", shown), shown


@pytest.mark.parametrize(
    ("target", "spec"),
    dict.fromkeys((m.target, m.spec) for m in MUTATIONS),
    ids=lambda value: getattr(value, "key", value),
)
def test_the_unchanged_kernel_passes(
    target: str, spec: Spec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kgen.build(spec, [target]).save(tmp_path / "right.kgen")
    status, shown = run_verify(path, capsys)
    assert status == 0, shown
