"""Data between the lanes of a wave, against plain Python over the lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kgen.emulate import UnknownInstruction
from tests.emulate.llvm.llvm_kernels import Array, in_lanes

LANES = 128
VALUE = np.random.default_rng(0).integers(0, 1 << 32, LANES, dtype=np.uint32)
DPP = (
    "declare i32 @llvm.amdgcn.update.dpp.i32("
    "i32, i32, i32 immarg, i32 immarg, i32 immarg, i1 immarg)"
)


def across(body: str, declaration: str = "", cpu: str = "gfx942", a: Array = VALUE) -> Array:
    return in_lanes(body, [a], np.uint32, declaration, cpu=cpu)


def by_lane(source: Callable[[int], int | None], wave: int, other: int | None = None) -> Array:
    """Return the values that lanes read if lane l of a wave reads lane source(l); None reads
    ``other``, or the lane's own value."""
    result = VALUE.copy()
    for lane in range(LANES):
        base, at = lane - lane % wave, source(lane % wave)
        if at is not None:
            result[lane] = VALUE[base + at]
        elif other is not None:
            result[lane] = other
    return result


@pytest.mark.parametrize(("cpu", "wave"), [("gfx942", 64), ("gfx1100", 32)])
def test_first_lane_and_one_lane(cpu: str, wave: int) -> None:
    got = across(
        "  %r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)",
        "declare i32 @llvm.amdgcn.readfirstlane.i32(i32)",
        cpu,
    )
    np.testing.assert_array_equal(got, by_lane(lambda lane: 0, wave))
    got = across(
        "  %r = call i32 @llvm.amdgcn.readlane.i32(i32 %a, i32 9)",
        "declare i32 @llvm.amdgcn.readlane.i32(i32, i32)",
        cpu,
    )
    np.testing.assert_array_equal(got, by_lane(lambda lane: 9, wave))


def test_first_active_lane() -> None:
    got = across(
        """
  %late = icmp uge i32 %t, 70
  br i1 %late, label %some, label %join
some:
  %f = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)
  br label %join
join:
  %r = phi i32 [ 5, %entry ], [ %f, %some ]""",
        "declare i32 @llvm.amdgcn.readfirstlane.i32(i32)",
    )
    np.testing.assert_array_equal(got, [5] * 70 + [VALUE[70]] * 58)


def test_permute_by_address() -> None:
    got = across(
        """
  %n = mul i32 %t, 12
  %r = call i32 @llvm.amdgcn.ds.bpermute(i32 %n, i32 %a)""",
        "declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)",
    )
    np.testing.assert_array_equal(got, by_lane(lambda lane: lane * 3 % 64, 64))
    # Lanes that do not execute give zero.
    got = across(
        """
  %odd = trunc i32 %t to i1
  br i1 %odd, label %some, label %join
some:
  %half = lshr i32 %t, 1
  %n = mul i32 %half, 4
  %x = call i32 @llvm.amdgcn.ds.bpermute(i32 %n, i32 %a)
  br label %join
join:
  %r = phi i32 [ 5, %entry ], [ %x, %some ]""",
        "declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)",
    )
    for lane in range(LANES):
        source = lane // 2 % 64
        expected = VALUE[lane - lane % 64 + source] if source % 2 else 0
        assert got[lane] == (expected if lane % 2 else 5)


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        (0x401F, lambda lane: lane ^ 16),  # SWAP 16
        (0x0018, lambda lane: lane & ~31 | lane & 24),  # broadcast of 8
        (0x801B, lambda lane: lane & ~3 | 3 - (lane & 3)),  # quads reversed
    ],
)
def test_swizzle(pattern: int, source: Callable[[int], int]) -> None:
    got = across(
        f"  %r = call i32 @llvm.amdgcn.ds.swizzle(i32 %a, i32 {pattern})",
        "declare i32 @llvm.amdgcn.ds.swizzle(i32, i32 immarg)",
    )
    np.testing.assert_array_equal(got, by_lane(source, 64))


def _in_row(shift: int) -> Callable[[int], int | None]:
    return lambda lane: lane + shift if 0 <= lane % 16 + shift < 16 else None


CONTROLS: list[tuple[str, int, Callable[[int], int | None]]] = [
    ("gfx942", 0x4E, lambda lane: lane & ~3 | (2, 3, 0, 1)[lane & 3]),  # quad_perm
    ("gfx942", 0x111, _in_row(-1)),  # row_shr:1
    ("gfx942", 0x118, _in_row(-8)),  # row_shr:8
    ("gfx942", 0x103, _in_row(3)),  # row_shl:3
    ("gfx942", 0x124, lambda lane: lane & ~15 | (lane - 4) % 16),  # row_ror:4
    ("gfx942", 0x140, lambda lane: lane ^ 15),  # row_mirror
    ("gfx942", 0x141, lambda lane: lane ^ 7),  # row_half_mirror
    ("gfx90a", 0x15A, lambda lane: lane & ~15 | 10),  # row_newbcast:10
    ("gfx942", 0x142, lambda lane: (lane & ~15) - 1 if lane >= 16 else None),  # row_bcast:15
    ("gfx942", 0x143, lambda lane: 31 if lane >= 32 else None),  # row_bcast:31
    ("gfx942", 0x130, lambda lane: lane + 1 if lane < 63 else None),  # wave_shl:1
    ("gfx942", 0x134, lambda lane: (lane + 1) % 64),  # wave_rol:1
    ("gfx942", 0x138, lambda lane: lane - 1 if lane else None),  # wave_shr:1
    ("gfx942", 0x13C, lambda lane: (lane - 1) % 64),  # wave_ror:1
    ("gfx1100", 0x168, lambda lane: lane ^ 8),  # row_xmask:8
    ("gfx1100", 0x153, lambda lane: lane & ~15 | 3),  # row_share:3
]


@pytest.mark.parametrize(("cpu", "control", "source"), CONTROLS)
def test_data_parallel_primitives(
    cpu: str, control: int, source: Callable[[int], int | None]
) -> None:
    wave = 32 if cpu == "gfx1100" else 64
    for bound, other in (("false", None), ("true", 0)):
        got = across(
            "  %r = call i32 @llvm.amdgcn.update.dpp.i32("
            f"i32 %a, i32 %a, i32 {control}, i32 15, i32 15, i1 {bound})",
            DPP,
            cpu,
        )
        np.testing.assert_array_equal(got, by_lane(source, wave, other))


@pytest.mark.parametrize("control", [0x131, 0x145, 0x1FF])
def test_an_unknown_control_is_named(control: int) -> None:
    with pytest.raises(UnknownInstruction, match=f"i32 {control}, i32 15"):
        across(
            "  %r = call i32 @llvm.amdgcn.update.dpp.i32("
            f"i32 %a, i32 %a, i32 {control}, i32 15, i32 15, i1 false)",
            DPP,
        )


def test_rows_and_banks_that_are_masked_keep_the_old_value() -> None:
    got = across(
        "  %r = call i32 @llvm.amdgcn.update.dpp.i32("
        "i32 7, i32 %a, i32 320, i32 10, i32 5, i1 false)",
        DPP,
    )
    expected = by_lane(lambda lane: lane ^ 15, 64)
    lane = np.arange(LANES)
    kept = (lane // 16 % 4 % 2 == 0) | (lane // 4 % 2 == 1)
    np.testing.assert_array_equal(got, np.where(kept, 7, expected))


def test_a_sum_over_a_wave_by_shifts_and_broadcasts() -> None:
    """The classical reduction of gfx9: row_shr 1, 2, 4, 8, row_bcast 15 and 31."""
    body = ""
    for n, (control, rows) in enumerate(
        [(0x111, 15), (0x112, 15), (0x114, 15), (0x118, 15), (0x142, 10), (0x143, 12)]
    ):
        last = "%a" if n == 0 else f"%s{n - 1}"
        body += f"""
  %m{n} = call i32 @llvm.amdgcn.update.dpp.i32(
      i32 0, i32 {last}, i32 {control}, i32 {rows}, i32 15, i1 false)
  %s{n} = add i32 {last}, %m{n}"""
    got = across(body + "\n  %r = add i32 %s5, 0", DPP)
    for wave in (0, 64):
        assert got[wave + 63] == VALUE[wave : wave + 64].sum(dtype=np.uint32)


@pytest.mark.parametrize(("name", "flip"), [("permlane16", 0), ("permlanex16", 16)])
def test_permutation_of_rows(name: str, flip: int) -> None:
    got = across(
        f"  %r = call i32 @llvm.amdgcn.{name}.i32(\n"
        "      i32 %a, i32 %a, i32 1985229328, i32 -19088744, i1 false, i1 false)",
        f"declare i32 @llvm.amdgcn.{name}.i32(i32, i32, i32, i32, i1 immarg, i1 immarg)",
        "gfx1100",
    )
    # 0x76543210, 0xFEDCBA98: the identity inside the row
    np.testing.assert_array_equal(got, by_lane(lambda lane: lane ^ flip, 32))


@pytest.mark.parametrize("span", [16, 32])
def test_swap_of_halves(span: int) -> None:
    pair = "{ i32, i32 }"
    body = f"""
  %b = add i32 %a, 1
  %both = call {pair} @llvm.amdgcn.permlane{span}.swap(i32 %a, i32 %b, i1 false, i1 false)
  %x = extractvalue {pair} %both, 0
  %y = extractvalue {pair} %both, 1
"""
    declaration = f"declare {pair} @llvm.amdgcn.permlane{span}.swap(i32, i32, i1 immarg, i1 immarg)"
    first = across(body + "  %r = add i32 %x, 0", declaration, "gfx950")
    second = across(body + "  %r = add i32 %y, 0", declaration, "gfx950")
    odd = np.arange(LANES) // span % 2 == 1
    across_span = VALUE[np.arange(LANES) ^ span]
    np.testing.assert_array_equal(first, np.where(odd, across_span + 1, VALUE))
    np.testing.assert_array_equal(second, np.where(odd, VALUE + 1, across_span))


@pytest.mark.parametrize(("cpu", "bits"), [("gfx942", 64), ("gfx1100", 32)])
def test_votes_and_counts_of_lower_lanes(cpu: str, bits: int) -> None:
    got = across(
        f"""
  %odd = trunc i32 %a to i1
  %mask = call i{bits} @llvm.amdgcn.ballot.i{bits}(i1 %odd)
  %mask64 = {"zext i32 %mask to i64" if bits == 32 else "add i64 %mask, 0"}
  %low = trunc i64 %mask64 to i32
  %shifted = lshr i64 %mask64, 32
  %high = trunc i64 %shifted to i32
  %n = call i32 @llvm.amdgcn.mbcnt.lo(i32 %low, i32 100)
  %r = call i32 @llvm.amdgcn.mbcnt.hi(i32 %high, i32 %n)""",
        f"declare i{bits} @llvm.amdgcn.ballot.i{bits}(i1)\n"
        "declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)\ndeclare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)",
        cpu,
    )
    odd = VALUE.astype(int) % 2
    expected = [100 + odd[lane - lane % bits : lane].sum() for lane in range(LANES)]
    np.testing.assert_array_equal(got, expected)
