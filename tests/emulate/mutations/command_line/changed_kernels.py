"""Kernels with one changed instruction, assembled again with right digests: `kgen verify` must
refuse them and name the place of the fault."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

from kgen import bundle, pipeline, targets
from kgen.cli.main import main
from kgen.spec.text import parse
from tests.emulate.mutations.mutation import CLEAN, Program, bugs

#: Exit status 1 of `kgen verify`, with an output element or the line of an instruction.
REFUSED = "refused"
PLACE = re.compile(r"data, out\[\d+, \d+\]: got|, line \d+")
LANGUAGES: dict[str, Literal["ptx", "llvm", "spirv"]] = {
    "cuda": "ptx", "amdgpu": "llvm", "cpu": "llvm", "vulkan": "spirv"
}  # fmt: skip


@cache
def assembled(spec: str, target: str) -> Program:
    kernel = pipeline.kernel(parse(spec), targets.find(target))
    family = targets.family(kernel.plan.target.family)

    def execute(text: str, seed: int) -> tuple[None, str]:
        source = dataclasses.replace(kernel.source, text=text)
        machine_code = family.assemble(source, kernel.plan)
        changed = dataclasses.replace(kernel, source=source, assembled=machine_code)
        shown = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(shown):
            path = bundle.pack([changed]).save(Path(folder) / "changed.kgen")
            status = main(["verify", str(path), "--seed", str(seed)])
        lines = shown.getvalue()
        if "not-executed" in lines and not os.environ.get("CI"):
            pytest.skip(lines.splitlines()[-1])
        if status == 0:
            return None, CLEAN
        assert status == 1 and PLACE.search(lines), lines
        return None, REFUSED

    return Program(
        name=f"{target}-{spec}",
        language=LANGUAGES[kernel.plan.target.family],
        arch=kernel.plan.target.arch,
        source=kernel.source.text,
        execute=execute,
    )


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """Factory of a rendered kernel that runs from its bundle."""

    spec: str
    target: str

    @property
    def __name__(self) -> str:
        return f"{self.target}-{self.spec}"

    def __call__(self) -> Program:
        return assembled(self.spec, self.target)


F16 = "matmul 33x65x150 f16"
F32 = "matmul 33x65x150 f32"
#: Rows of several vectors for each lane, some lanes' last one missing.
ROWS = "softmax(x) 3x1000 f32"

#: Kernel, bug, pattern and replacement by target; the first match is changed.
BUGS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "sm_80": (
        (F16, "fragments-swapped", r"\{(%a_m0_k0), (%a_m8_k0)", r"{\2, \1"),
        (F16, "store-dropped", r"^ *@%inside st\.global.*\n", ""),
        (F16, "sub-for-add", r"add(\.u32 %read_stage, %read_stage)", r"sub\1"),
        (F32, "operand-swapped", r"(fma\.rn\.f32 %acc_m0_n0, )%a_m0, ", r"\1%b_n0, "),
    ),
    "gfx942": (
        (
            F16,
            "fragments-swapped",
            r"(mfma\.f32\.\S+\()(<\d x half> %\S+), (<\d x half> %\S+),",
            r"\1\3, \2,",
        ),
        (F16, "store-dropped", r"^ *call \S+ \S+\.buffer\.store.*\n", ""),
        (F16, "sub-for-add", r"(%out\.row = )add nuw nsw", r"\1sub"),
        (
            F32,
            "sum-forgotten",
            r"(mfma\.f32\.\S+\(.*, <\d+ x float> )%[^,]+,",
            r"\1zeroinitializer,",
        ),
    ),
    "vulkan1.3": (
        (F32, "fragments-swapped", r"(%main_total_m0_n0 = .* %main_)m0", r"\1b0"),
        (F32, "sub-for-add", r"(%row_first = )OpIAdd", r"\1OpISub"),
        (
            ROWS,
            "missing-vector-folded",
            r"(%v3_sum = )OpSelect %float %v3_inside (%\S+) %\S+",
            r"\1OpCopyObject %float \2",
        ),
    ),
    # f16 and folds by barriers, in one module: vulkan1.3 has a second one for some devices.
    "vulkan1.1": (
        (F16, "store-dropped", r"^OpStore %out_m0_n0_0_ptr .*\n", ""),
        (
            ROWS,
            "barrier-dropped",
            r"(^OpStore %sum_step5_to .*\n;.*\n)OpControlBarrier .*\n",
            r"\1",
        ),
        (ROWS, "exchange-forgotten", r"(%sum_step1_partner = ).*", r"\1OpCopyObject %uint %thread"),
    ),
    "x86-64-v3": (
        (F32, "fragments-swapped", r"(%sum_m1_n0\.next = .*%a_m)1", r"\g<1>0"),
        (F32, "store-dropped", r"^ *store .* %sum_m1_n0\.out\.at.*\n", ""),
        (F16, "sum-forgotten", r"(%sum_m1_n0\.next = .*) %sum_m1_n0\)", r"\1 zeroinitializer)"),
    ),
}

PROGRAMS = tuple(
    dict.fromkeys(
        Assembled(spec=spec, target=target) for target, rows in BUGS.items() for spec, *_ in rows
    )
)

MUTATIONS = tuple(
    mutation
    for target, rows in BUGS.items()
    for spec, name, pattern, replacement in rows
    for mutation in bugs(
        Assembled(spec=spec, target=target),
        REFUSED,
        (name, pattern, replacement),
        times=None,
        place=0,
    )
)
