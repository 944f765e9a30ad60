"""Member masks: masks of the arriving lanes decide which lanes take part."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx.ptx_kernels import NUMBER, TILE, Array, fault, kernel, out

#: Lanes 0 to 7 execute `{}` with their own mask in %r6; lanes 8 to 31 branch around it.
_FIRST_LANES = """
  mov.u32 %r1, %r2;
  setp.gt.u32 %p0, %r2, 7;
  mov.pred %p1, %p0;
  mov.u32 %r6, {elsewhere};
  @%p0 bra JOIN;
  mov.u32 %r6, {mask};
  {instruction};
JOIN:
  bar.sync 0;
"""
_EVERY_COLLECTIVE = {
    "shfl": "shfl.sync.up.b32 %r1, %r2, 1, 0, %r6",
    "vote": "vote.sync.ballot.b32 %r1, !%p1, %r6",
    "match-any": "match.any.sync.b32 %r1, %r2, %r6",
    "match-all": "match.all.sync.b32 %r1|%p2, %r5, %r6",
    "redux": "redux.sync.add.u32 %r1, %r2, %r6",
    "elect": "elect.sync %r7|%p2, %r6",
    "barrier": "bar.warp.sync %r6",
}
_MASKS_ELSEWHERE = {"none": "0", "all": "0xffffffff", "former": "0x0f0f0f0f"}


def _body(name: str, mask: str, elsewhere: str) -> str:
    return _FIRST_LANES.format(instruction=_EVERY_COLLECTIVE[name], mask=mask, elsewhere=elsewhere)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("elsewhere", _MASKS_ELSEWHERE)
@pytest.mark.parametrize("name", _EVERY_COLLECTIVE)
def test_a_mask_register_of_an_absent_lane_means_nothing(
    name: str, elsewhere: str, seed: int
) -> None:
    lane = np.arange(32)
    results: dict[str, Array] = {
        "shfl": np.where(lane > 0, lane - 1, 0),
        "vote": np.full(32, 0xFF),
        "match-any": np.int64(1) << lane,
        "match-all": np.full(32, 0xFF),
        "redux": np.full(32, sum(range(8))),
    }
    wanted = np.where(lane < 8, results.get(name, lane), lane)
    body = "  mov.u32 %r5, 3;\n" + _body(name, "0xff", _MASKS_ELSEWHERE[elsewhere])
    assert (out(body, seed=seed) == wanted).all()


@pytest.mark.parametrize("elsewhere", _MASKS_ELSEWHERE)
@pytest.mark.parametrize("name", _EVERY_COLLECTIVE)
def test_a_mask_that_names_lanes_which_never_arrive(name: str, elsewhere: str) -> None:
    found = fault(kernel(NUMBER + _body(name, "0xffffffff", _MASKS_ELSEWHERE[elsewhere])))
    assert found.kind == "divergent-warp-instruction"
    assert found.instruction == _EVERY_COLLECTIVE[name]
    assert found.lanes == tuple(range(8))
    assert "lanes 8 to 31" in found.message


@pytest.mark.parametrize("seed", range(3))
def test_the_active_mask_of_a_branch_as_members(seed: int) -> None:
    """Lanes outside the branch never wrote the register with `__activemask()`."""
    body = """
  mov.u32 %r1, %r2;
  setp.gt.u32 %p0, %r2, 7;
  @%p0 bra JOIN;
  activemask.b32 %r6;
  shfl.sync.idx.b32 %r1, %r2, 5, 31, %r6;
JOIN:
  bar.sync 0;
"""
    lane = np.arange(32)
    assert (out(body, seed=seed) == np.where(lane < 8, 5, lane)).all()


def test_lanes_that_name_each_other_with_different_masks() -> None:
    """Each lane waits for others to arrive with its own mask, which none of them does."""
    body = (
        NUMBER
        + """
  mov.u32 %r6, 0xffffffff;
  setp.gt.u32 %p0, %r2, 15;
  @%p0 mov.u32 %r6, 0xffffff00;
  bar.warp.sync %r6;
"""
    )
    found = fault(kernel(body))
    assert found.kind == "divergent-warp-instruction"
    assert found.lanes == tuple(range(8))
    assert "lanes 16 to 31, which came with another mask" in found.message


def test_lanes_that_exit_instead_of_arriving() -> None:
    body = _body("barrier", "0xffffffff", "0").replace("  bar.sync 0;\n", "")
    found = fault(kernel(NUMBER + body))
    assert found.kind == "divergent-warp-instruction"
    assert "lanes 8 to 31, which exited instead" in found.message


def test_the_election_follows_the_seed() -> None:
    """Under one seed a mask elects the same lane each time; other seeds elect other lanes."""
    body = """
  setp.lt.u32 %p0, %r2, 3;
  mov.u32 %r1, 99;
  @%p0 bra DONE;
  elect.sync %r5|%p1, 0xfffffff8;
  elect.sync %r6|%p2, 0xfffffff8;
  @%p1 mov.u32 %r1, %r6;
DONE:
"""
    leaders = []
    for seed in range(8):
        got = out(body, seed=seed)
        (leader,) = np.flatnonzero(got != 99)
        assert got[leader] == leader >= 3
        leaders.append(int(leader))
    assert leaders[0] == 3
    assert len(set(leaders)) > 3


def test_a_lane_may_meet_one_group_after_another() -> None:
    """Lane 0 waits for lane 1, which meets lane 2 first, at the same instruction of a loop."""
    body = """
  mov.u32 %r1, 0;
  mov.u32 %r6, 0x3;
  setp.eq.u32 %p0, %r2, 1;
  @%p0 mov.u32 %r6, 0x6;
  setp.eq.u32 %p1, %r2, 2;
  @%p1 mov.u32 %r6, 0x6;
  setp.gt.u32 %p2, %r2, 2;
  @%p2 bra JOIN;
AGAIN:
  redux.sync.add.u32 %r5, %r2, %r6;
  mad.lo.u32 %r1, %r1, 16, %r5;
  setp.eq.u32 %p3, %r6, 0x6;
  and.pred %p3, %p3, %p0;
  mov.u32 %r6, 0x3;
  @%p3 bra AGAIN;
JOIN:
  bar.sync 0;
"""
    assert out(body)[:4].tolist() == [1, 3 * 16 + 1, 3, 0]


def test_a_shuffle_from_a_lane_of_another_group() -> None:
    """Both halves shuffle at once; a value from outside a lane's mask is undefined."""
    body = """
  and.b32 %r5, %r2, 16;
  shl.b32 %r6, 0x0000ffff, %r5;
  shfl.sync.bfly.b32 %r1, %r2, 16, 31, %r6;
"""
    assert (out(body) == 0xFFFFFFFF).all()


def test_agreement_of_the_lanes_that_are_left() -> None:
    body = """
  mov.u32 %r1, 0;
  mov.u32 %r5, 7;
  setp.ge.u32 %p0, %r2, 16;
  @%p0 exit;
  match.all.sync.b32 %r1|%p1, %r5, 0xffffffff;
  @!%p1 mov.u32 %r1, 1;
"""
    assert (out(body)[:16] == 0xFFFF).all()


@pytest.mark.parametrize(("mask", "kind"), [("0xffffffff", None), ("halves", "race")])
def test_a_barrier_orders_only_the_lanes_of_one_mask(mask: str, kind: str | None) -> None:
    """Each lane reads what a lane of the other half wrote; the halves meet at one instruction."""
    halves = "and.b32 %r5, %r2, 16;\n  shl.b32 %r6, 0x0000ffff, %r5;"
    body = f"""
  mov.u32 %r8, tile;
  mad.lo.u32 %r9, %r2, 4, %r8;
  st.shared.u32 [%r9], %r2;
  {halves if mask == "halves" else f"mov.u32 %r6, {mask};"}
  bar.warp.sync %r6;
  xor.b32 %r9, %r2, 16;
  mad.lo.u32 %r9, %r9, 4, %r8;
  ld.shared.u32 %r1, [%r9];
"""
    if kind is None:
        assert (out(body, declarations=TILE) == np.arange(32) ^ 16).all()
    else:
        assert fault(kernel(NUMBER + body, declarations=TILE)).kind == kind
