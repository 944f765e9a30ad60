"""Reads of another lane's value, by the cheapest instruction for each distance.

The lanes of a row fold their values pairwise, at the distances 1, 2, 4, ... Before the step at
distance 4, each four lanes hold the same value, so any lane of the other four will do: DPP's mirror
of eight lanes serves as a distance of 4.

If a row has all lanes of a wave of 64, DPP also serves the distances 16 and 32. The last lane of
16, and then of 32, passes on its value, so that the last lane of the wave has folded everything.
V_READLANE_B32 then gives the result to all lanes.

Source: ISA manuals (CDNA3 and RDNA3), "Data Parallel Primitives" (DPP), "V_PERMLANEX16_B32" and
"DS_SWIZZLE_B32". A DPP move is a part of the instruction that uses the value. DS_SWIZZLE uses the
LDS unit, but not its memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.targets.llvm_ir import FloatType

#: DPP controls by distance, with their names in assembly.
DPP = {
    1: (0xB1, "quad_perm:[1,0,3,2]"),
    2: (0x4E, "quad_perm:[2,3,0,1]"),
    4: (0x141, "row_half_mirror"),
    8: (0x140, "row_mirror"),
}
#: DPP controls of a whole wave of 64, after which only the last lane's result is complete.
DPP_OF_WAVE = {16: (0x142, "row_bcast:15"), 32: (0x143, "row_bcast:31")}
#: Selectors of V_PERMLANEX16: each lane reads the lane of its own number in the other 16, four bits
#: per lane.
SAME_IN_OTHER_ROW = (0x76543210, 0xFEDCBA98 - (1 << 32))
#: Control of DS_SWIZZLE in bit mode: keep a lane's five bits (and 31), set none (or 0), flip the
#: highest (xor 16).
SWIZZLE_BY_16 = 0x10 << 10 | 0x1F


def ends_in_last_lane(distances: Sequence[int], wave: int) -> bool:
    """Return whether only the last lane has the result, because a row has all lanes of a wave of
    64."""
    return wave == 64 and 32 in distances


def other_lane(
    here: str, distance: int, distances: Sequence[int], wave: int, t: FloatType
) -> tuple[str, ...]:
    """Return the lines that read `<here>.other`, another lane's value of `here` (32 bits).

    `distances` are those of all steps.
    """
    other = f"{here}.other"
    found = DPP | (DPP_OF_WAVE if ends_in_last_lane(distances, wave) else {})
    if distance in found:
        control, name = found[distance]
        return (
            f"{other} = call {t} @llvm.amdgcn.update.dpp.{t.suffix}({t} poison, {t} {here}, "
            f"i32 {control}, i32 15, i32 15, i1 true) ; {name}",
        )
    if wave == 32:
        low, high = SAME_IN_OTHER_ROW
        return (
            f"{other} = call {t} @llvm.amdgcn.permlanex16.{t.suffix}({t} poison, {t} {here}, "
            f"i32 {low}, i32 {high}, i1 true, i1 false)",
        )
    return (
        f"{here}.bits = bitcast {t} {here} to i32",
        f"{other}.bits = call i32 @llvm.amdgcn.ds.swizzle(i32 {here}.bits, i32 {SWIZZLE_BY_16}) "
        "; xor 16",
        f"{other} = bitcast i32 {other}.bits to {t}",
    )


def of_last_lane(result: str, here: str, t: FloatType) -> str:
    """Return the line that broadcasts the last lane's value in a wave of 64."""
    return f"{result} = call {t} @llvm.amdgcn.readlane.{t.suffix}({t} {here}, i32 63)"


def declarations(distances: Sequence[int], wave: int, t: FloatType) -> Iterator[str]:
    """Yield declarations of the intrinsics for steps at these distances."""
    last = ends_in_last_lane(distances, wave)
    if last:
        yield f"{t} @llvm.amdgcn.readlane.{t.suffix}({t}, i32)"
    for distance in distances:
        if distance in DPP or last:
            yield f"{t} @llvm.amdgcn.update.dpp.{t.suffix}({t}, {t}, i32, i32, i32, i1)"
        elif wave == 32:
            yield f"{t} @llvm.amdgcn.permlanex16.{t.suffix}({t}, {t}, i32, i32, i1, i1)"
        else:
            yield "i32 @llvm.amdgcn.ds.swizzle(i32, i32)"
