"""Bugs in attention for decoding: rows of several heads, parts of the keys, their combination."""

from __future__ import annotations

from functools import cache

from kgen.schedule import MmaAttention
from tests.emulate.mutations.mutation import WRONG_RESULT, Program, bugs
from tests.emulate.mutations.templates import rendered

SCHEDULE = MmaAttention(
    block_m=32, block_n=32, num_warps=2, num_stages=1, packs_heads=True, split_k=3
)


@cache
def divided() -> Program:
    """Three parts of up to three blocks of keys, and four heads of five queries as rows."""
    options = "causal diagonal=bottom_right mask=2x1x5x200 mask_dtype=f32 kv_length lse"
    return rendered(f"attention q=2x8x5x24,k=2x2x200x24 f16 {options}", "gfx942", SCHEDULE)


PROGRAMS = (divided,)

MUTATIONS = (
    *bugs(
        divided,
        WRONG_RESULT,
        ("results-of-a-part-dropped", r"(%part2\.acc = ).*", r"\1fadd float %part1.acc, 0.0"),
        ("weights-of-a-part-dropped", r"(%part1\.total = ).*", r"\1fadd float %part0.total, 0.0"),
        ("state-of-another-part", r"(%part2\.state\.at = .* i64 )320", r"\g<1>160"),
        ("rest-of-the-blocks-dropped", r"(%blocks\.up = .* %blocks, )2", r"\g<1>0"),
        ("part-of-another-head", r"(%part = trunc i64 )%batch2", r"\1%batch1"),
        ("row-of-a-head-off-by-one", r"(%head\.parts\.batch2_offset = .*, )480", r"\g<1>384"),
        ("state-of-a-head-off-by-one", r"(%head\.states\.batch2_offset = .*, )40", r"\g<1>32"),
        ("query-of-a-longer-head", r"(%position\.n0\.query = .*, )5", r"\g<1>6"),
        ("mask-of-a-longer-head", r"(%mask\.n0\.row_bytes\.query = .*, )5", r"\g<1>4"),
        ("empty-part-with-weight",
         r"(<2 x float> <float \S+, float )0x0000000000000000>", r"\g<1>0x3FF0000000000000>"),
    ),
    *bugs(
        divided,
        WRONG_RESULT,
        ("parts-not-rescaled", r"(%part\d\.weight = fmul float (%part\d\.sum), ).*", r"\g<1>1.0"),
        ("stale-maximum", r"(%part\d\.less = .*, )%part2\.most", r"\1%part0.max"),
        times=None,
    ),
    *bugs(
        divided,
        "race",
        ("parts-in-one-place", r"(%out\.block\.batch2_offset = .*, )480", r"\g<1>0"),
        ("states-overlap", r"(%states\.block\.batch2_offset = .*, )160", r"\g<1>152"),
    ),
)  # fmt: skip
