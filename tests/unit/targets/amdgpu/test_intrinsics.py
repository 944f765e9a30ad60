"""Intrinsics of a kernel are checked against its processor before LLVM sees them."""

from __future__ import annotations

import re

import pytest

from kgen import targets
from kgen.errors import AssembleError
from kgen.targets.amdgpu.assemble import assembly
from kgen.targets.amdgpu.intrinsics import PROCESSORS, check, processors_of
from kgen.targets.amdgpu.limits import TARGETS
from kgen.targets.amdgpu.matrix import INSTRUCTIONS
from kgen.targets.base import Target

NAMES = {target.name for target in TARGETS}


def kernel(call: str, declaration: str, cpu: str) -> str:
    return f"""declare {declaration}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %a, float %x) #0 {{
  {call}
  ret void
}}
attributes #0 = {{ "target-cpu"="{cpu}" }}
"""


#: (processor, call, declaration): LLVM 22 makes code of the first two, a call of the third, and
#: ends its process because of the fourth.
TRAPS = (
    (
        "gfx1201",
        "call void @llvm.amdgcn.s.waitcnt(i32 0)",
        "void @llvm.amdgcn.s.waitcnt(i32 immarg)",
    ),
    (
        "gfx942",
        "%v = call <2 x half> @llvm.amdgcn.cvt.scalef32.pk.f16.fp8(i32 %a, float %x, i1 0)",
        "<2 x half> @llvm.amdgcn.cvt.scalef32.pk.f16.fp8(i32, float, i1 immarg)",
    ),
    ("gfx942", "call void @llvm.amdgcn.frobnicate(i32 %a)", "void @llvm.amdgcn.frobnicate(i32)"),
    (
        "gfx942",
        "%v = call <2 x i32> @llvm.amdgcn.ds.read.tr8.b64.v2i32(ptr addrspace(3) null)",
        "<2 x i32> @llvm.amdgcn.ds.read.tr8.b64.v2i32(ptr addrspace(3))",
    ),
)


@pytest.mark.parametrize("cpu, call, declaration", TRAPS)
def test_what_llvm_would_not_refuse_in_one_line(cpu: str, call: str, declaration: str) -> None:
    (name,) = re.findall(r"@([\w.]+)", call)
    with pytest.raises(AssembleError) as error:
        assembly(kernel(call, declaration, cpu), targets.find(cpu))
    message = str(error.value)
    assert message.startswith(f"{cpu}: ") and name in message and "\n" not in message
    known = processors_of(name.removeprefix("llvm.amdgcn."))
    assert all(other in message for other in known or ["kgen/targets/amdgpu/intrinsics.py"])


def test_text_for_another_processor() -> None:
    with pytest.raises(AssembleError, match="is for gfx950"):
        check('attributes #0 = { "target-cpu"="gfx950" }', "gfx942")


def test_the_table_names_targets_and_all_matrix_instructions() -> None:
    assert all(set(where) <= NAMES for where in PROCESSORS.values())
    for instruction in INSTRUCTIONS:
        having = [t.name for t in TARGETS if t.has(instruction.feature)]
        name = instruction.intrinsic.removeprefix("llvm.amdgcn.")
        assert set(having) <= set(processors_of(name) or ()), name


#: One call of each kind that only some processors have, with the types of its operands.
CALLS = (
    "<16 x float> mfma.f32.32x32x8f16(<4 x half>, <4 x half>, <16 x float>, i32, i32, i32)",
    "<16 x float> mfma.f32.32x32x16.f16(<8 x half>, <8 x half>, <16 x float>, i32, i32, i32)",
    "<16 x i32> mfma.i32.32x32x8i8(i32, i32, <16 x i32>, i32, i32, i32)",
    "<16 x i32> mfma.i32.32x32x16.i8(i64, i64, <16 x i32>, i32, i32, i32)",
    "<4 x float> mfma.f32.16x16x8.xf32(<2 x float>, <2 x float>, <4 x float>, i32, i32, i32)",
    "i32 cvt.pk.fp8.f32(float, float, i32, i1)",
    "<2 x i32> ds.read.tr8.b64.v2i32(ptr addrspace(3))",
    "<2 x i32> global.load.tr.b64.v2i32(ptr addrspace(1))",
    "i32 permlanex16.i32(i32, i32, i32, i32, i1, i1)",
    "i32 permlane64(i32)",
    "i32 sudot4(i1, i32, i1, i32, i32, i1)",
)


@pytest.mark.integration
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_llvm_selects_what_the_table_has(target: Target) -> None:
    """The kernel calls all intrinsics of a processor and stores each result."""
    body, declared = [], []
    for n, call in enumerate(CALLS):
        result, name, operands = re.fullmatch(r"(.+?) ([\w.]+)\((.*)\)", call).groups()  # type: ignore[union-attr]
        if target.name not in (processors_of(name) or ()):
            continue
        types = re.findall(r"<[^>]+>|ptr addrspace\(\d\)|\w+", operands)
        values = [f"{t} zeroinitializer" for t in types]
        body.append(f"%v{n} = call {result} @llvm.amdgcn.{name}({', '.join(values)})")
        body.append(f"store volatile {result} %v{n}, ptr addrspace(1) %p")
        declared.append(f"declare {result} @llvm.amdgcn.{name}({operands})")
    text = kernel("\n  ".join(body), "i32 @llvm.amdgcn.workitem.id.x()", target.name)
    assert ".amdgcn_target" in assembly("\n".join(declared) + "\n" + text, target)
