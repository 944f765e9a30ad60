"""Matrix instructions against plain matrix multiplication.

The layouts are written out here once more, element by element, from AMD's matrix instruction
calculator: l is the lane, e the packed element, r the register.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, UnknownInstruction
from tests.emulate.llvm.llvm_kernels import Array, kernel, run

Place = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    cpu: str
    shape: tuple[int, int, int]
    elements: int
    """Per lane, of A and of B."""
    type: str
    a: Place
    """(lane, element) -> (row, k); B has columns for rows."""
    d: Place
    """(lane, register) -> (row, column)"""
    kind: str = "f16"

    @property
    def wave(self) -> int:
        return 64 if "mfma" in self.name else 32

    @property
    def registers(self) -> int:
        return self.shape[0] * self.shape[1] // self.wave

    @property
    def modifiers(self) -> str:
        return ", i32 0, i32 0, i32 0" if "mfma" in self.name else ""


def d32(lane: int, r: int) -> tuple[int, int]:
    return 8 * (r // 4) + 4 * (lane // 32) + r % 4, lane % 32


def d16(lane: int, r: int) -> tuple[int, int]:
    return 4 * (lane // 16) + r, lane % 16


def mfma(m: int, per_lane: int) -> Place:
    return lambda lane, e: (lane % m, per_lane * (lane // m) + e)


CASES = [
    Case(
        name=f"mfma.f32.{text}",
        cpu=cpu,
        shape=shape,
        elements=elements,
        type=type_,
        kind=kind,
        a=mfma(shape[0], elements),
        d=d32 if shape[0] == 32 else d16,
    )
    for text, cpu, shape, elements, type_, kind in [
        ("32x32x8f16", "gfx90a", (32, 32, 8), 4, "<4 x half>", "f16"),
        ("16x16x16f16", "gfx90a", (16, 16, 16), 4, "<4 x half>", "f16"),
        ("32x32x8bf16.1k", "gfx942", (32, 32, 8), 4, "<4 x i16>", "bf16"),
        ("16x16x16bf16.1k", "gfx942", (16, 16, 16), 4, "<4 x i16>", "bf16"),
        ("32x32x16.f16", "gfx950", (32, 32, 16), 8, "<8 x half>", "f16"),
        ("16x16x32.f16", "gfx950", (16, 16, 32), 8, "<8 x half>", "f16"),
        ("32x32x16.bf16", "gfx950", (32, 32, 16), 8, "<8 x bfloat>", "bf16"),
        ("16x16x32.bf16", "gfx950", (16, 16, 32), 8, "<8 x bfloat>", "bf16"),
        ("32x32x2f32", "gfx942", (32, 32, 2), 1, "float", "f32"),
        ("16x16x4f32", "gfx942", (16, 16, 4), 1, "float", "f32"),
    ]
] + [
    Case(
        name=f"wmma.f32.16x16x16.{kind}.v8f32.v{elements}{suffix}",
        cpu=cpu,
        shape=(16, 16, 16),
        elements=elements,
        type=f"<{elements} x {'half' if kind == 'f16' else 'i16'}>",
        kind=kind,
        a=a,
        d=d,
    )
    for kind, suffix in (("f16", "f16"), ("bf16", "i16"))
    for cpu, elements, a, d in (
        (
            "gfx1100",
            16,
            lambda lane, e: (lane % 16, e),
            lambda lane, r: (2 * r + lane // 16, lane % 16),
        ),
        (
            "gfx1201",
            8,
            lambda lane, e: (lane % 16, 8 * (e // 4) + 4 * (lane // 16) + e % 4),
            lambda lane, r: (8 * (lane // 16) + r, lane % 16),
        ),
    )
]


def storage(values: Array, kind: str) -> Array:
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.float16 if kind == "f16" else np.float32)


def intrinsic_kernel(case: Case, before: str = "") -> str:
    """Return a kernel of one matrix instruction: lanes load fragments and store registers."""
    c = f"<{case.registers} x float>"
    name = f"@llvm.amdgcn.{case.name}"
    immediates = ", i32 immarg, i32 immarg, i32 immarg" if case.modifiers else ""
    loads = "".join(
        f"""
  %{x}.at = getelementptr {type_}, ptr addrspace(1) %{x}.p, i32 %t
  %{x} = load {type_}, ptr addrspace(1) %{x}.at, align 4"""
        for x, type_ in (("a", case.type), ("b", case.type), ("c", c))
    )
    return kernel(
        f"""{loads}
  {before}
  %d = call {c} {name}({case.type} %a, {case.type} %b, {c} %c{case.modifiers})
  %d.at = getelementptr {c}, ptr addrspace(1) %d.p, i32 %t
  store {c} %d, ptr addrspace(1) %d.at, align 4
  ret void""",
        ", ".join(f"ptr addrspace(1) %{name}.p" for name in "abcd"),
        cpu=case.cpu,
        declarations=f"declare {c} {name}({case.type}, {case.type}, {c}{immediates})",
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_layouts(case: Case) -> None:
    m, n, k = case.shape
    rng = np.random.default_rng(0)
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (k, n))
    c = rng.integers(-99, 99, (m, n)).astype(np.float32)
    lanes, registers = range(case.wave), range(case.registers)
    at_a = [[case.a(lane, e) for e in range(case.elements)] for lane in lanes]
    at_d = [[case.d(lane, r) for r in registers] for lane in lanes]
    assert {place for row in at_d for place in row} == {(i, j) for i in range(m) for j in range(n)}
    of_a = storage(np.array([[a[i, kk] for i, kk in row] for row in at_a]), case.kind)
    of_b = storage(np.array([[b[kk, j] for j, kk in row] for row in at_a]), case.kind)
    of_c = np.array([[c[i, j] for i, j in row] for row in at_d], np.float32)
    of_d = np.zeros_like(of_c)
    run(
        intrinsic_kernel(case),
        entry="k",
        grid=(1, 1, 1),
        block=(case.wave, 1, 1),
        arguments=[of_a, of_b, of_c, of_d],
    )
    d = c + a @ b
    np.testing.assert_array_equal(of_d, [[d[i, j] for i, j in row] for row in at_d])


def fragments(case: Case) -> list[Array]:
    dtype = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32}[case.kind]
    shape = (case.wave, case.elements)
    registers = (case.wave, case.registers)
    return [np.ones(shape, dtype), np.ones(shape, dtype), *np.zeros((2, *registers), np.float32)]


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]], ids=lambda case: case.name)
def test_every_lane_must_take_part(case: Case) -> None:
    branch = f"""%few = icmp ult i32 %t, {case.wave - 3}
  br i1 %few, label %some, label %rest
rest:
  ret void
some:"""
    source = intrinsic_kernel(case, branch)
    block = (case.wave, 1, 1)
    with pytest.raises(EmulationFault) as error:
        run(source, entry="k", grid=(1, 1, 1), block=block, arguments=fragments(case))
    found = error.value.fault
    assert found.kind == "divergent-warp-instruction"
    assert found.lanes == tuple(range(case.wave - 3, case.wave))
    assert f"@llvm.amdgcn.{case.name}" in found.instruction


def test_gfx11_wants_its_operands_twice() -> None:
    case = next(case for case in CASES if case.cpu == "gfx1100")
    arguments = fragments(case)
    arguments[1][20, 3] = 5
    with pytest.raises(EmulationFault, match="lanes 16-31 of B do not repeat"):
        run(
            intrinsic_kernel(case),
            entry="k",
            grid=(1, 1, 1),
            block=(32, 1, 1),
            arguments=arguments,
        )


def test_modifiers_are_not_ignored() -> None:
    source = intrinsic_kernel(CASES[0]).replace("i32 0, i32 0, i32 0", "i32 0, i32 0, i32 3")
    with pytest.raises(UnknownInstruction, match="mfma"):
        run(source, entry="k", grid=(1, 1, 1), block=(64, 1, 1), arguments=fragments(CASES[0]))
