"""AMD instructions on the lanes of a wave: permutations, reductions, votes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.llvm.llvm_kernels import WORDS, lanewise, one_call


def test_permutations() -> None:
    lane = np.arange(64)
    values = WORDS
    selector = sum(((i + 3) % 8) << (3 * i) for i in range(8))
    got = one_call(
        f"i32 @llvm.amdgcn.mov.dpp8.i32(i32 %a, i32 {selector})",
        "i32 @llvm.amdgcn.mov.dpp8.i32(i32, i32 immarg)",
        [values],
        np.uint32,
        cpu="gfx1100",
    )
    np.testing.assert_array_equal(got, values[(lane & ~7) | (lane + 3) % 8])
    targets = ((lane * 5 + 1) % 64 * 4).astype(np.uint32)
    got = one_call(
        "i32 @llvm.amdgcn.ds.permute(i32 %b, i32 %a)",
        "i32 @llvm.amdgcn.ds.permute(i32, i32)",
        [values, targets],
        np.uint32,
    )
    expected = np.zeros_like(values)
    expected[targets // 4] = values
    np.testing.assert_array_equal(got, expected)
    got = one_call(
        "i32 @llvm.amdgcn.permlane64.i32(i32 %a)",
        "i32 @llvm.amdgcn.permlane64.i32(i32)",
        [values],
        np.uint32,
        cpu="gfx942",
    )
    np.testing.assert_array_equal(got, values[lane ^ 32])
    got = one_call(
        "i32 @llvm.amdgcn.permlanex16.var(i32 0, i32 %a, i32 %b, i1 true, i1 true)",
        "i32 @llvm.amdgcn.permlanex16.var(i32, i32, i32, i1 immarg, i1 immarg)",
        [values, (lane * 7).astype(np.uint32)],
        np.uint32,
        cpu="gfx1201",
    )
    np.testing.assert_array_equal(got, values[(lane & ~15 ^ 16) + lane * 7 % 16])


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", lambda v: v.sum(dtype=np.uint32)),
        ("umin", np.min),
        ("umax", np.max),
        ("min", lambda v: v.view(np.int32).min()),
        ("max", lambda v: v.view(np.int32).max()),
        ("and", np.bitwise_and.reduce),
        ("or", np.bitwise_or.reduce),
        ("xor", np.bitwise_xor.reduce),
    ],
)
def test_reductions_of_the_active_lanes(name: str, expected: object, half: bool) -> None:
    out = np.zeros(64, np.uint32)
    call = f"%v = call i32 @llvm.amdgcn.wave.reduce.{name}.i32(i32 %a, i32 0)"
    limit = 40 if half else 64
    lanewise(
        f"""
  %few = icmp ult i32 %t, {limit}
  br i1 %few, label %some, label %join
some:
  {call}
  br label %join
join:
  %r = phi i32 [ %v, %some ], [ 0, %entry ]""",
        [WORDS],
        out,
        declarations=f"declare i32 @llvm.amdgcn.wave.reduce.{name}.i32(i32, i32 immarg)",
    )
    assert callable(expected)
    wanted = np.uint32(int(expected(WORDS[:limit])) & 0xFFFFFFFF)
    np.testing.assert_array_equal(out, np.where(np.arange(64) < limit, wanted, 0))


def test_comparisons_of_a_wave_and_their_inverse() -> None:
    a = np.arange(-32, 32).astype(np.int32).view(np.uint32)
    for predicate, holds in ((40, a.view(np.int32) < 5), (36, a < 5), (33, a != 5)):
        got = one_call(
            f"i64 @llvm.amdgcn.icmp.i64.i32(i32 %a, i32 5, i32 {predicate})",
            "i64 @llvm.amdgcn.icmp.i64.i32(i32, i32, i32 immarg)",
            [a],
            np.uint64,
        )
        assert (got == sum(1 << int(i) for i in np.flatnonzero(holds))).all()
    f = np.linspace(-1, 1, 64).astype(np.float32)
    f[3] = np.nan
    for predicate, holds in ((4, f < 0), (10, ~(f <= 0)), (8, np.isnan(f))):
        got = one_call(
            f"i64 @llvm.amdgcn.fcmp.i64.f32(float %a, float 0.0, i32 {predicate})",
            "i64 @llvm.amdgcn.fcmp.i64.f32(float, float, i32 immarg)",
            [f],
            np.uint64,
        )
        assert (got == sum(1 << int(i) for i in np.flatnonzero(holds))).all()
    out = np.zeros(64, np.uint32)
    lanewise(
        """
  %v = call i1 @llvm.amdgcn.inverse.ballot.i64(i64 81985529216486895)
  %r = zext i1 %v to i32""",
        [a],
        out,
        declarations="declare i1 @llvm.amdgcn.inverse.ballot.i64(i64)",
    )
    np.testing.assert_array_equal(out, [0x0123456789ABCDEF >> i & 1 for i in range(64)])
