"""Which buffers a kernel may write: those that are only read need no shadow memory."""

from __future__ import annotations

import pytest

from kgen import pipeline, targets
from kgen.emulate.llvm.frontend.parser import parse
from kgen.emulate.llvm.frontend.provenance import written_by
from kgen.spec.text import parse as spec
from kgen.targets.amdgpu import FAMILY
from tests.emulate.llvm.llvm_kernels import kernel

PARAMETERS = "ptr addrspace(1) %p, ptr addrspace(1) %q, i64 %n"
DECLARATIONS = """
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32, ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.buffer.store.i32(i32, <4 x i32>, i32, i32, i32)
define internal i32 @twice(i32 %x) {
  %y = call i32 @added(i32 %x, i32 %x)
  ret i32 %y
}
define internal i32 @added(i32 %x, i32 %y) {
  %z = add i32 %x, %y
  ret i32 %z
}
define internal i32 @through(i32 %x, ptr addrspace(1) %p) {
  %y = call i32 @stored(i32 %x, ptr addrspace(1) %p)
  ret i32 %y
}
define internal i32 @stored(i32 %x, ptr addrspace(1) %p) {
  store i32 %x, ptr addrspace(1) %p
  ret i32 %x
}
"""
RESOURCE = """
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(
    ptr addrspace(1) %q, i16 0, i64 64, i32 0)"""


def written(body: str) -> frozenset[str] | None:
    text = f"  {body.strip()}\n  ret void"
    return written_by(parse(kernel(text, PARAMETERS, declarations=DECLARATIONS)), "k")


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("store i32 %t, ptr addrspace(1) %p", {"p"}),
        ("%x = load i32, ptr addrspace(1) %p", set()),
        (
            RESOURCE + "\n  call void @llvm.amdgcn.raw.ptr.buffer.store.i32("
            "i32 %t, ptr addrspace(8) %r, i32 %t, i32 0, i32 0)",
            {"q"},
        ),
        ("%x = call i32 @twice(i32 %t)\n  store i32 %x, ptr addrspace(1) %q", {"q"}),
    ],
    ids=["store", "load", "through a resource", "a function that writes nothing"],
)
def test_what_is_written_is_named(body: str, names: set[str]) -> None:
    assert written(body) == frozenset(names)


@pytest.mark.parametrize(
    "body",
    [
        "%x = call i32 @through(i32 %t, ptr addrspace(1) %p)",
        "%a = inttoptr i64 %n to ptr addrspace(1)\n  store i32 %t, ptr addrspace(1) %a",
        "%w = insertelement <4 x i32> poison, i32 %t, i32 0\n  call void "
        "@llvm.amdgcn.raw.buffer.store.i32(i32 %t, <4 x i32> %w, i32 0, i32 0, i32 0)",
    ],
    ids=["a function that writes", "an address from nowhere", "a resource of four words"],
)
def test_what_may_be_anywhere_is(body: str) -> None:
    assert written(body) is None


@pytest.mark.parametrize("target", [t.name for t in FAMILY.targets])
@pytest.mark.parametrize(
    "line", ["matmul 64x64x64 f16", "softmax(x) 3x1000 f32", "relu(x) 999 f32"]
)
def test_kernels_write_their_output_alone(line: str, target: str) -> None:
    plan = pipeline.plan(spec(line), targets.find(target))
    module = parse(pipeline.source(plan).text)
    found = written_by(module, plan.launches[0].entry_point)
    assert found is not None and not {"a.ptr", "b.ptr", "x.ptr"} & found
