"""wgmma: types, shapes, fragments, descriptors, and what must not be done to its registers.

Operands are placed in shared memory element by element, as PTX ISA 9.7.15.5.1 has it; D is taken
from each thread's registers by the formulas of the same section.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kgen.emulate import EmulationFault, Numerics, run
from kgen.errors import EmulationError
from tests.emulate.ptx_kernels import Array
from tests.emulate.ptxas import assemble

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
B_AT = 16384


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where an operand lies: bytes of swizzle (0 for none), byte offsets, which index is inner."""

    span: int
    leading: int
    stride: int
    mn_major: bool = False

    @property
    def descriptor(self) -> int:
        mode = {0: 0, 128: 1, 64: 2, 32: 3}[self.span]
        return self.leading >> 4 << 16 | self.stride >> 4 << 32 | mode << 62

    def byte(self, row: int, k: int, size: int) -> int:
        """The byte of an element, before the swizzle of its 16-byte chunk."""
        pitch = self.span or 16
        if not self.mn_major:
            chunk, within = divmod(k * size, 16)
            apart = chunk * (16 if self.span else self.leading)
            at = row // 8 * self.stride + row % 8 * pitch + apart + within
        elif self.span:
            wide, within = divmod(row * size, self.span)
            at = wide * self.leading + k // 8 * self.stride + k % 8 * self.span + within
        else:
            at = row // 8 * self.stride + k // 8 * self.leading + k % 8 * 16 + row % 8 * 2
        turn = {0: 0, 32: at >> 7 & 1, 64: at >> 7 & 3, 128: at >> 7 & 7}[self.span]
        return at ^ turn << 4

    def put(self, memory: bytearray, start: int, matrix: Array) -> None:
        """Write a matrix [row, k] at a start that is a multiple of 1024."""
        size = matrix.dtype.itemsize
        for (row, k), value in np.ndenumerate(matrix):
            at = start + self.byte(row, k, size)
            memory[at : at + size] = np.asarray(value, matrix.dtype).tobytes()


def program(
    name: str,
    n: int,
    *,
    immediates: str,
    a_registers: bool = False,
    accumulate: int = 1,
    body: str = "",
) -> str:
    """One warpgroup: shared memory from `image`, C and D as each thread's registers."""
    d_type = name.split(".")[-3]
    count = n // 4 if d_type == "f16" else n // 2
    kind = "f32" if d_type == "f32" else "b32"
    d = "{" + ", ".join(f"%acc{i}" for i in range(count)) + "}"
    a = "{%a0, %a1, %a2, %a3}" if a_registers else "%desc_a"
    loads = "".join(f"  ld.global.b32 %acc{i}, [%c+{4 * i}];\n" for i in range(count))
    stores = "".join(f"  st.global.b32 [%c+{4 * i}], %acc{i};\n" for i in range(count))
    product = f"  {name} {d}, {a}, %desc_b, %scale{immediates};\n"
    steps = body or (
        "  wgmma.fence.sync.aligned;\nPRODUCT"
        "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
    )
    source = f""".version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry k(.param .u64 image, .param .u64 c, .param .u64 a, .param .u64 da, .param .u64 db)
{{
  .reg .pred %done, %scale;
  .reg .b32 %t, %at, %i, %r, %a<4>;
  .reg .b64 %image, %c, %a, %d, %desc_a, %desc_b;
  .reg .{kind} %acc<{count}>;
  ld.param.u64 %image, [image];
  ld.param.u64 %c, [c];
  ld.param.u64 %a, [a];
  ld.param.u64 %desc_a, [da];
  ld.param.u64 %desc_b, [db];
  mov.u32 %t, %tid.x;
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 4, %at;
  mad.wide.u32 %image, %t, 4, %image;
  mov.u32 %i, 0;
fill:
  ld.global.u32 %r, [%image];
  st.shared.u32 [%at], %r;
  add.u64 %image, %image, 512;
  add.u32 %at, %at, 512;
  add.u32 %i, %i, 512;
  setp.lt.u32 %done, %i, 65536;
  @%done bra fill;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mad.wide.u32 %c, %t, {4 * count}, %c;
  mad.wide.u32 %a, %t, 16, %a;
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%a];
{loads}  setp.eq.u32 %scale, {accumulate}, 1;
{steps.replace("PRODUCT", product)}{stores}  ret;
}}
"""
    assemble(source)
    return source


def launch(
    source: str, image: bytearray, c: Array, a: Array, descriptors: tuple[int, int], **options: Any
) -> None:
    run(
        source,
        language="ptx",
        entry="k",
        grid=(1, 1, 1),
        block=(128, 1, 1),
        arguments=[
            np.frombuffer(bytes(image), np.uint8),
            c,
            a,
            np.uint64(descriptors[0]),
            np.uint64(descriptors[1] | B_AT >> 4),
        ],
        dynamic_shared=65536,
        **options,
    )


def d_position(thread: int, i: int) -> tuple[int, int]:
    """Row and column of element i of a thread's D."""
    warp, lane = divmod(thread, 32)
    return 16 * warp + lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + lane % 4 * 2 + i % 2


def fragment(matrix: Array, position: Callable[[int, int], tuple[int, int]], count: int) -> Array:
    at = np.array([[position(t, i) for i in range(count)] for t in range(128)])
    return np.ascontiguousarray(matrix[at[..., 0], at[..., 1]])


def values(rng: np.random.Generator, shape: tuple[int, int], type_: str) -> Array:
    return rng.integers(0 if type_ == "u8" else -4, 5, shape)


def multiply(
    types: tuple[str, str, str],
    n: int,
    a_place: Place,
    b_place: Place,
    *,
    a_registers: bool = False,
    scales: tuple[int, int] = (1, 1),
    accumulate: int = 1,
    **options: Any,
) -> tuple[Array, Array]:
    """(what the program leaves in D, what it should)."""
    d_type, a_type, b_type = types
    k = DEPTH[a_type]
    rng = np.random.default_rng(n)
    a, b = values(rng, (64, k), a_type), values(rng, (n, k), b_type)
    c = rng.integers(-99, 99, (64, n))
    image = bytearray(np.random.default_rng(9).integers(0, 256, 65536, np.uint8).tobytes())
    if not a_registers:
        a_place.put(image, 0, a.astype(DTYPES[a_type]))
    b_place.put(image, B_AT, b.astype(DTYPES[b_type]))
    storage = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d_type]
    registers = fragment(c, d_position, n // 2).astype(storage)
    a_words = np.zeros((128, 4), np.uint32)
    if a_registers:
        a_words = a_fragment(a.astype(DTYPES[a_type]))
    immediates = ""
    if a_type not in ("s8", "u8"):
        immediates = f", {scales[0]}, {scales[1]}"
    if a_type in ("f16", "bf16"):
        majors = [b_place.mn_major] if a_registers else [a_place.mn_major, b_place.mn_major]
        immediates += "".join(f", {int(m)}" for m in majors)
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d_type}.{a_type}.{b_type}"
    source = program(name, n, immediates=immediates, a_registers=a_registers, accumulate=accumulate)
    launch(source, image, registers, a_words, (a_place.descriptor, b_place.descriptor), **options)
    found = np.zeros((64, n))
    for thread in range(128):
        for i in range(n // 2):
            found[d_position(thread, i)] = registers[thread, i]
    return found, scales[0] * scales[1] * (a @ b.T) + accumulate * c


def a_fragment(a: Array) -> Array:
    """[128, 4] registers of A: each has 4 bytes of a row, at 4 bytes of k by the lane's place."""
    row_bytes = np.ascontiguousarray(a).view(np.uint8)
    words = np.zeros((128, 4), np.uint32)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for r in range(4):
            row = 16 * warp + lane // 4 + 8 * (r % 2)
            first = 4 * (lane % 4) + 16 * (r // 2)
            words[thread, r] = row_bytes[row, first : first + 4].copy().view(np.uint32)[0]
    return words


K_MAJOR = {span: Place(span=span, leading=16, stride=8 * span) for span in (32, 64, 128)}
K_MAJOR[0] = Place(span=0, leading=128, stride=256)
#: 64 and up to 256 rows: chunks of a k, or of eight rows, one after the other.
MN_MAJOR = {
    span: Place(span=span, leading=16 * span, stride=8 * span, mn_major=True)
    for span in (32, 64, 128)
}
MN_MAJOR[0] = Place(span=0, leading=4096, stride=128, mn_major=True)


@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.parametrize(
    "types",
    [
        ("f32", "f16", "f16"),
        ("f16", "f16", "f16"),
        ("f32", "bf16", "bf16"),
        ("f32", "tf32", "tf32"),
        ("f32", "e4m3", "e5m2"),
        ("f16", "e5m2", "e4m3"),
        ("s32", "s8", "u8"),
        ("s32", "u8", "s8"),
    ],
)
def test_types(types: tuple[str, str, str], a_registers: bool) -> None:
    got, wanted = multiply(types, 32, K_MAJOR[128], K_MAJOR[32], a_registers=a_registers)
    assert (got == wanted).all()


@pytest.mark.parametrize("n", [8, 24, 128, 256])
def test_columns(n: int) -> None:
    got, wanted = multiply(("f32", "f16", "f16"), n, K_MAJOR[64], K_MAJOR[128])
    assert (got == wanted).all()


@pytest.mark.parametrize("a_major", [K_MAJOR, MN_MAJOR])
@pytest.mark.parametrize("b_major", [K_MAJOR, MN_MAJOR])
@pytest.mark.parametrize("span", [0, 32, 64, 128])
def test_swizzles_and_majors(
    a_major: dict[int, Place], b_major: dict[int, Place], span: int
) -> None:
    got, wanted = multiply(("f32", "bf16", "bf16"), 64, a_major[span], b_major[span])
    assert (got == wanted).all()


@pytest.mark.parametrize("scales", [(1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("accumulate", [0, 1])
def test_scales(scales: tuple[int, int], accumulate: int) -> None:
    got, wanted = multiply(
        ("f32", "f16", "f16"), 16, K_MAJOR[32], K_MAJOR[32], scales=scales, accumulate=accumulate
    )
    assert (got == wanted).all()


def test_the_short_accumulator() -> None:
    got, wanted = multiply(
        ("f32", "e4m3", "e4m3"),
        8,
        K_MAJOR[32],
        K_MAJOR[32],
        numerics=Numerics(fp8_accumulator_bits=4),
    )
    assert (got != wanted).any()
    np.testing.assert_allclose(got, wanted, atol=40)


# ---------------------------------------------------------------------- what is refused

NAME = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
FENCE, COMMIT = "  wgmma.fence.sync.aligned;\n", "  wgmma.commit_group.sync.aligned;\n"


def run_body(
    body: str, *, a_registers: bool = False, descriptors: tuple[int, int] | None = None
) -> None:
    immediates = ", 1, 1, 0" if a_registers else ", 1, 1, 0, 0"
    source = program(NAME, 8, immediates=immediates, a_registers=a_registers, body=body)
    image, c = bytearray(65536), np.zeros((128, 4), np.float32)
    both = descriptors or (K_MAJOR[32].descriptor, K_MAJOR[32].descriptor)
    launch(source, image, c, np.zeros((128, 4), np.uint32), both)


def test_what_a_wgmma_needs() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    run_body(f"{FENCE}PRODUCTPRODUCT{COMMIT}{wait}")
    run_body(f"{FENCE}PRODUCT{COMMIT}{wait}PRODUCT{COMMIT}{wait}")
    change = "  add.f32 %acc0, %acc0, 0f3F800000;\n"
    cases = {
        f"PRODUCT{COMMIT}{wait}": "missing-wgmma-fence: no wgmma.fence",
        f"{FENCE}{change}PRODUCT{COMMIT}{wait}": "missing-wgmma-fence: register %acc0",
        f"{FENCE}PRODUCT{COMMIT}": "pending-wgmma: register %acc0",
        f"{FENCE}PRODUCT{wait}": "pending-wgmma",
        f"{FENCE}PRODUCT{COMMIT}  wgmma.wait_group.sync.aligned 1;\n": "pending-wgmma",
        f"{FENCE}PRODUCT{COMMIT}{change}{wait}": "pending-wgmma",
    }
    for body, message in cases.items():
        with pytest.raises(EmulationFault, match=message):
            run_body(body)


def test_registers_of_a_are_pending_too() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    change = "  mov.b32 %a1, 0;\n"
    run_body(f"{FENCE}PRODUCTPRODUCT{COMMIT}{wait}{change}", a_registers=True)
    with pytest.raises(EmulationFault, match="pending-wgmma: register %a1"):
        run_body(f"{FENCE}PRODUCT{COMMIT}{change}{wait}", a_registers=True)
    with pytest.raises(EmulationFault, match="missing-wgmma-fence: register %a1"):
        run_body(f"{FENCE}  not.b32 %a1, %a1;\nPRODUCT{COMMIT}{wait}", a_registers=True)


def test_shared_memory_must_be_fenced_and_left_alone() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    body = f"{FENCE}PRODUCT{COMMIT}{wait}"
    source = program(NAME, 8, immediates=", 1, 1, 0, 0", body=body)
    image, c, a = bytearray(65536), np.zeros((128, 4), np.float32), np.zeros((128, 4), np.uint32)
    descriptors = (K_MAJOR[32].descriptor,) * 2
    launch(source, image, c, a, descriptors)
    with pytest.raises(EmulationFault, match="missing-proxy-fence"):
        launch(source.replace("  fence.proxy.async.shared::cta;\n", ""), image, c, a, descriptors)
    with pytest.raises(EmulationFault, match="race"):
        launch(source.replace("  bar.sync 0;\n", ""), image, c, a, descriptors)
    with pytest.raises(EmulationFault, match="may still read"):
        run_body(f"{FENCE}PRODUCT{COMMIT}  st.shared.u32 [tile], 0;\n{wait}")


def test_descriptors_that_lead_nowhere() -> None:
    good = K_MAJOR[32].descriptor
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    body = f"{FENCE}PRODUCT{COMMIT}{wait}"
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        run_body(body, descriptors=(good | 65536 - 1024 >> 4, good))
    with pytest.raises(EmulationFault, match="base offset"):
        run_body(body, descriptors=(good | 1 << 49, good))


def test_a_warpgroup_must_be_whole() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    skip = "  setp.ge.u32 %done, %t, 96;\n  @%done bra skipped;\n"
    with pytest.raises(EmulationFault, match="divergent-warp-instruction"):
        run_body(f"{skip}{FENCE}PRODUCT{COMMIT}{wait}skipped:\n")
    source = program(NAME, 8, immediates=", 1, 1, 0, 0")
    with pytest.raises(EmulationError, match="128 threads"):
        run(
            source,
            language="ptx",
            entry="k",
            grid=(1, 1, 1),
            block=(96, 1, 1),
            arguments=[np.zeros(1)] * 3 + [np.uint64(0)] * 2,
            dynamic_shared=65536,
        )
