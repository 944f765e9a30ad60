"""Bugs in AMD products whose workgroups share k, and in the order of block tiles."""

from __future__ import annotations

from functools import cache

from kgen.schedule import SharedMatmul
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

TILE = SharedMatmul(block_m=32, block_n=32, block_k=32, warp_m=16, warp_n=16, num_stages=2)


@cache
def streamed_product() -> Program:
    """Six block tiles of four steps for seven workgroups, round two dies; one stage of LDS."""
    schedule = TILE.override(num_stages=1, num_workgroups=7, num_xcds=2)
    return rendered("matmul 70x64x256 f16", "gfx942", schedule)


@cache
def split_product() -> Program:
    """Four steps of two block tiles, each in two parts; a wave for each block tile's quarter."""
    return rendered("matmul 32x64x512 f16 +bias", "gfx1201", TILE.override(split_k=2))


PROGRAMS = (streamed_product, split_product)

MUTATIONS = (
    *bugs(
        streamed_product,
        "race",
        ("count-does-not-release", r'^ *fence syncscope\("agent"\) release\n', ""),
        ("count-does-not-acquire", r'^ *fence syncscope\("agent"\) acquire\n', ""),
        ("release-of-the-workgroup", r'(fence syncscope\(")agent("\) release)', r"\1workgroup\2"),
        ("acquire-of-the-workgroup", r'(fence syncscope\(")agent("\) acquire)', r"\1workgroup\2"),
        ("count-of-the-workgroup", r'(%count syncscope\(")agent', r"\1workgroup"),
        ("first-to-come-adds", r"(%there = add nuw nsw i32 )%before, %count", r"\g<1>4, 0"),
        ("parts-in-one-place", r"(%left\.offset = mul nuw nsw i64 %left\.wide, )4096", r"\g<1>0"),
        ("both-ends-in-one-slot", r"(%left\.slot = zext i1 )%left\.second", r"\1false"),
        ("waves-in-one-place", r"(%wave\.bytes = mul nuw nsw i32 %wave, )1024", r"\g<1>0"),
        ("lds-filled-while-read", r"(?:^.*\n){3}(?=  %at\.next = )", ""),
    ),
    *bugs(
        streamed_product,
        WRONG_RESULT,
        ("nobody-is-last", r"(%is_last = icmp eq i32 %there, )4", r"\g<1>5"),
        ("first-k-of-all", r"(%a\.step_offset = mul nuw nsw i64 )%first_step\.wide", r"\g<1>0"),
        ("a-trip-too-few", r"(%trips = sub nuw nsw i32 %stages, )1", r"\g<1>2"),
        (
            "sums-begin-with-the-last",
            r"(%acc\.m0\.n0\.so_far = phi <4 x float> \[ )zeroinitializer",
            r"\1%acc.m0.n0.last",
        ),
    ),
    *bugs(
        split_product,
        "race",
        ("parts-of-a-block-tile-overlap", r"(%left\.offset = .*%left\.wide, )4096", r"\g<1>2048"),
        ("one-counter-for-all-waves", r"(%arrivals\.number = .*), %wave", r"\1, 0"),
    ),
    *bugs(
        split_product,
        "poison",
        ("shares-twice-as-far", r"(%share\.begin\.of_all = mul nuw i32 %number, )8", r"\g<1>16"),
    ),
    *bugs(
        split_product,
        "out-of-bounds",
        ("parts-twice-as-far", r"(%left\.offset = .*%left\.wide, )4096", r"\g<1>8192"),
    ),
    *bugs(
        streamed_product,
        "poison",
        ("share-begins-late", r"(%at = phi i32 \[ )%share\.begin", r"\g<1>%share.end"),
        ("block-tile-too-deep", r"(%block\.left = sub nuw nsw i32 )4", r"\g<1>3"),
        ("die-of-more-workgroups", r"(%die\.first = mul nuw nsw i32 %die, )3", r"\g<1>8"),
    ),
)
