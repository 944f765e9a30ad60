"""IR of Triton 3.9, newer than that of the other tests: triples, literals, wave numbers.

The texts are not verified by LLVM, which reads these words from version 23 on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate.report import LaunchReport
from kgen.errors import EmulationError
from tests.emulate.llvm.llvm_kernels import Array, run


def text(body: str, triple: str = "amdgpu9.42-amd-amdhsa", element: str = "i32") -> str:
    """Return a kernel without attributes in which each thread stores %r."""
    return f"""target triple = "{triple}"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.wave.id()
declare i32 @llvm.amdgcn.wavefrontsize()
define amdgpu_kernel void @k(ptr addrspace(1) inreg captures(none) %out) {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
{body}
  %to = getelementptr {element}, ptr addrspace(1) %out, i32 %t
  store {element} %r, ptr addrspace(1) %to
  ret void
}}
"""


def launched(source: str, out: Array, **options: Any) -> LaunchReport:
    return run(
        source, entry="k", grid=(1, 1, 1), block=(len(out), 1, 1), arguments=[out], **options
    )


@pytest.mark.parametrize(
    ("triple", "wave"),
    [
        ("amdgpu9.42-amd-amdhsa", 64),
        ("amdgpu9.0a-amd-amdhsa", 64),
        ("amdgpu9.50", 64),
        ("amdgpu10.30-amd-amdhsa", 32),
        ("amdgpu11.00-amd-amdhsa", 32),
        ("amdgpu12.01-amd-amdhsa", 32),
    ],
)
def test_the_triple_names_the_processor(triple: str, wave: int) -> None:
    out = np.zeros(256, np.uint32)
    launched(text("  %r = call i32 @llvm.amdgcn.wavefrontsize()", triple), out)
    assert (out == wave).all()
    launched(text("  %r = call i32 @llvm.amdgcn.wave.id()", triple), out)
    assert (out == np.arange(256) // wave).all()


def test_an_attribute_goes_before_the_triple() -> None:
    body = "  %r = call i32 @llvm.amdgcn.wavefrontsize()"
    source = text(body).replace("%out) {", '%out) "target-cpu"="gfx1100" {')
    out = np.zeros(64, np.uint32)
    launched(source, out)
    assert (out == 32).all()


def test_the_limits_are_those_of_the_processor_in_the_triple() -> None:
    body = "  %r = call i32 @llvm.amdgcn.wave.id()"
    with pytest.raises(EmulationError, match="gfx1201"):
        launched(text(body, "amdgpu12.01"), np.zeros(64, np.uint32), dynamic_shared=1 << 17)


@pytest.mark.parametrize(
    ("literal", "half", "bfloat", "single", "double"),
    [
        ("+inf", 0x7C00, 0x7F80, 0x7F800000, 0x7FF0000000000000),
        ("-inf", 0xFC00, 0xFF80, 0xFF800000, 0xFFF0000000000000),
        ("+qnan", 0x7E00, 0x7FC0, 0x7FC00000, 0x7FF8000000000000),
        ("-qnan", 0xFE00, 0xFFC0, 0xFFC00000, 0xFFF8000000000000),
        ("+nan(0x1)", 0x7E01, 0x7FC1, 0x7FC00001, 0x7FF8000000000001),
        ("-snan(0x3)", 0xFC03, 0xFF83, 0xFF800003, 0xFFF0000000000003),
    ],
)
def test_infinities_and_nans_as_words(
    literal: str, half: int, bfloat: int, single: int, double: int
) -> None:
    for type_, bits, dtype in (
        ("half", half, np.uint16),
        ("bfloat", bfloat, np.uint16),
        ("float", single, np.uint32),
        ("double", double, np.uint64),
    ):
        out = np.zeros(64, dtype)
        body = f"  %c = icmp eq i32 %t, 3\n  %r = select i1 %c, {type_} 0.0, {type_} {literal}"
        launched(text(body, element=type_), out)
        assert out[3] == 0
        assert (np.delete(out, 3) == dtype(bits)).all()
