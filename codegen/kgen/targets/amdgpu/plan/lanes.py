"""The value of the lane at a distance, in the cheapest instruction that each distance has.

The lanes of a row fold what they have pairwise, at the distances 1, 2, 4, ... So before the step at
distance 4 the lanes of every four hold the same, and any lane of the other four will do: a mirror
of eight lanes, which DPP has, serves as well as a distance of 4.

ISA manuals (CDNA3 and RDNA3), "Data Parallel Primitives" (DPP), "V_PERMLANEX16_B32",
"DS_SWIZZLE_B32" and "DS_BPERMUTE_B32". A DPP move is part of the instruction that takes it; the
last two go through the LDS unit, without its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgen.targets.llvm_ir import FloatType

#: DPP controls by distance, and what assemblers call them.
DPP = {
    1: (0xB1, "quad_perm:[1,0,3,2]"),
    2: (0x4E, "quad_perm:[2,3,0,1]"),
    4: (0x141, "row_half_mirror"),
    8: (0x140, "row_mirror"),
}
#: Every lane's own number among the 16 of the other row, four bits each.
SAME_IN_OTHER_ROW = (0x76543210, 0xFEDCBA98 - (1 << 32))
#: Bit mode: of a lane's five bits keep all (and 31), set none (or 0), flip the highest (xor 16).
SWIZZLE_BY_16 = 0x10 << 10 | 0x1F


def by_address(distance: int) -> bool:
    """The step needs the other lane's address, in bytes: `%lane.by<distance>.bytes`."""
    return distance > 16


def other_lane(here: str, distance: int, wave: int, t: FloatType) -> tuple[str, ...]:
    """The lines that make `<here>.other` of the value `here`, a number of 32 bits."""
    other = f"{here}.other"
    if distance in DPP:
        control, name = DPP[distance]
        return (
            f"{other} = call {t} @llvm.amdgcn.update.dpp.{t.suffix}({t} poison, {t} {here}, "
            f"i32 {control}, i32 15, i32 15, i1 true) ; {name}",
        )
    if distance == 16 and wave == 32:
        low, high = SAME_IN_OTHER_ROW
        return (
            f"{other} = call {t} @llvm.amdgcn.permlanex16.{t.suffix}({t} poison, {t} {here}, "
            f"i32 {low}, i32 {high}, i1 true, i1 false)",
        )
    if distance == 16:
        moved = f"@llvm.amdgcn.ds.swizzle(i32 {here}.bits, i32 {SWIZZLE_BY_16}) ; xor 16"
    else:
        moved = f"@llvm.amdgcn.ds.bpermute(i32 %lane.by{distance}.bytes, i32 {here}.bits)"
    return (
        f"{here}.bits = bitcast {t} {here} to i32",
        f"{other}.bits = call i32 {moved}",
        f"{other} = bitcast i32 {other}.bits to {t}",
    )


def declarations(distances: Iterable[int], wave: int, t: FloatType) -> Iterator[str]:
    """The intrinsics that steps at these distances take."""
    for distance in distances:
        if distance in DPP:
            yield f"{t} @llvm.amdgcn.update.dpp.{t.suffix}({t}, {t}, i32, i32, i32, i1)"
        elif distance == 16 and wave == 32:
            yield f"{t} @llvm.amdgcn.permlanex16.{t.suffix}({t}, {t}, i32, i32, i1, i1)"
        elif distance == 16:
            yield "i32 @llvm.amdgcn.ds.swizzle(i32, i32)"
        else:
            yield "i32 @llvm.amdgcn.ds.bpermute(i32, i32)"
