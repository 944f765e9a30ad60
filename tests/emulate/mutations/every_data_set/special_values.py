"""Bugs that only NaN, infinities or a far maximum show, one at each place where a kernel handles
these."""

from __future__ import annotations

from kgen.schedule import MmaMatmul
from tests.emulate.mutations.mutation import SPECIAL_VALUE, bugs_in_each_place
from tests.emulate.mutations.templates import Verified

RELU = "+bias+relu"
PTX_PRODUCT = Verified(
    spec=f"matmul 70x56x168 f16 {RELU}",
    target="sm_80",
    schedule=MmaMatmul(block_m=32, block_n=32, block_k=32, num_stages=3, warp_m=16, warp_n=16),
)
AMD_PRODUCT = Verified(spec=f"matmul 70x56x168 f16 {RELU}", target="gfx942")
AMD_PLAIN_PRODUCT = Verified(spec="matmul 70x56x168 f16", target="gfx942")
CPU_PRODUCT = Verified(spec=f"matmul 14x24x40 f32 {RELU}", target="x86-64-v3")
TILES_PRODUCT = Verified(spec="matmul 70x56x169 bf16", target="x86-64-amx")
PTX_SOFTMAX = Verified(spec="softmax 3x1000 f32", target="sm_80")
AMD_SOFTMAX = Verified(spec="softmax(x) 3x1000 f32", target="gfx942")
CPU_SOFTMAX = Verified(spec="softmax 3x1000 f32", target="x86-64-v3")
PROGRAMS = (
    PTX_PRODUCT,
    AMD_PRODUCT,
    AMD_PLAIN_PRODUCT,
    CPU_PRODUCT,
    TILES_PRODUCT,
    PTX_SOFTMAX,
    AMD_SOFTMAX,
    CPU_SOFTMAX,
)

DROPS_NAN = "relu-drops-nan-of-one-accumulator"
NOT_ZERO = "end-of-k-not-zero-in-one-operand"
IN_PART = "maximum-of-a-part"
LESS_EQUAL = r"(finished_less_equal = fcmp )ole"
#: The maximum of the lanes whose numbers have this bit.
LEAVES_OUT = (
    ".reg .u32 %bit; .reg .pred %left_out; mov.u32 %bit, %laneid; and.b32 %bit, %bit, {}; "
    "setp.ne.u32 %left_out, %bit, 0; @%left_out mov.f32 %maxnum, 0fFF800000;\n"
)
#: Where the lanes of a vector's maximum are folded: all of it, and with one lane left out.
WHOLE_VECTOR = (
    r"%maxnum\.by4 = shufflevector <8 x float> %maxnum\.s0\.fold\.maxnum, (.*)\n"
    r"(.*)above = fcmp ogt <8 x float> %maxnum\.s0\.fold\.maxnum, (.*)\n"
    r"(.*)<8 x float> %maxnum\.s0\.fold\.maxnum, <8 x float> %maxnum\.by4"
)
LACKS_LANE = (
    "%cut = insertelement <8 x float> %maxnum.s0.fold.maxnum, float 0xFFF0000000000000, i32 {}\n"
    "  %maxnum.by4 = shufflevector <8 x float> %cut, \\1\n"
    "\\2above = fcmp ogt <8 x float> %cut, \\3\n"
    "\\4<8 x float> %cut, <8 x float> %maxnum.by4"
)

#: Kernel, bug, pattern, replacement, places.
BUGS = (
    (PTX_PRODUCT, DROPS_NAN, r"max\.NaN(\.f32 %acc)", r"max\1", 8),
    (AMD_PRODUCT, DROPS_NAN, LESS_EQUAL, r"\1ule", 4),
    (CPU_PRODUCT, DROPS_NAN, LESS_EQUAL, r"\1ule", 27),
    # The first row of B behind the last tile, which meets zeros of A.
    (PTX_PRODUCT, NOT_ZERO, r"(sub\.s32 %b_rows_left, )8,", r"\g<1>9,", 1),
    (
        AMD_PLAIN_PRODUCT,
        NOT_ZERO,
        r"(%[ab]\.tail\.c0\.l\d = select i1 )%\S+(, <\d x half>)",
        r"\1true\2",
        5,
    ),
    (
        TILES_PRODUCT,
        NOT_ZERO,
        r"(shufflevector <16 x i16> (%cut\S+), <16 x i16> )zeroinitializer",
        r"\1\2",
        2,
    ),
    *(
        (
            PTX_SOFTMAX,
            f"{IN_PART}-{bit}",
            r"(?=shfl\.sync\.bfly\.b32 %other, %maxnum, 16)",
            LEAVES_OUT.format(bit),
            1,
        )
        for bit in (1, 4, 16)
    ),
    (
        AMD_SOFTMAX,
        IN_PART,
        r"(%maxnum\.by\d+ = call float @llvm\.maxnum\.f32\(float (%max\S+), float )%max\S+\)",
        r"\1\2)",
        6,
    ),
    *(
        (CPU_SOFTMAX, f"{IN_PART}-{lane}", WHOLE_VECTOR, LACKS_LANE.format(lane), 1)
        for lane in range(8)
    ),
)

MUTATIONS = tuple(
    mutation
    for program, name, pattern, replacement, places in BUGS
    for mutation in bugs_in_each_place(program, SPECIAL_VALUE, name, pattern, replacement, places)
)
