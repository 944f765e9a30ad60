"""Bugs that the emulators let pass today, each with the reason."""

from __future__ import annotations

from tests.emulate.mutations.amdgpu import rows as amdgpu_rows
from tests.emulate.mutations.hopper import gemm
from tests.emulate.mutations.mutation import CLEAN, Mutation
from tests.emulate.mutations.ptx import products as ptx_products
from tests.emulate.mutations.ptx import rows as ptx_rows

UNCAUGHT = (
    Mutation(
        program=ptx_products.tensor_product,
        name="depth-guard-of-one-operand",
        pattern=r"(sub\.s32 %b_rows_left, )8,",
        replacement=r"\g<1>9,",
        expected=CLEAN,
        why="B's rows beyond the edge meet zeros of A: only NaN or infinity there would show; "
        "verify's special values bring it (every_data_set/special_values.py)",
    ),
    Mutation(
        program=ptx_rows.softmax,
        name="maximum-of-one-warp",
        pattern=r"(and\.b32 %place, %lane, )3;(?=(?s:[^}]*)%maxnum, \[%place)",
        replacement=r"\g<1>0;",
        expected=CLEAN,
        why="softmax is the same for whatever is subtracted, until an exponential overflows, which "
        "verify's special values bring (every_data_set/special_values.py)",
    ),
    Mutation(
        program=ptx_rows.softmax,
        name="down-for-butterfly",
        pattern=r"shfl\.sync\.bfly(\.b32 %other, %sum, 16)",
        replacement=r"shfl.sync.down\1",
        expected=CLEAN,
        why="no bug: the first lane's sum, the only one that is used, is the same",
    ),
    Mutation(
        program=gemm.gemm,
        name="too-few-registers",
        pattern=r"(setmaxnreg\.inc\.sync\.aligned\.u32 )232;",
        replacement=r"\g<1>48;",
        expected=CLEAN,
        why="how many registers the text needs is ptxas's to say, which refuses it or spills",
    ),
    Mutation(
        program=gemm.gemm,
        name="reads-and-writes-awaited",
        pattern=r"wait_group\.read 0;",
        replacement="wait_group 0;",
        expected=CLEAN,
        why="no bug: it waits longer than it must, and there is no time here",
    ),
    Mutation(
        program=amdgpu_rows.softmax,
        name="infinities-promised-away",
        pattern=r"(_add = fadd )contract ",
        replacement=r"\1ninf contract ",
        times=2,
        expected=CLEAN,
        why="flags of floating-point operations have no effect: poison is of nuw and nsw only",
    ),
    Mutation(
        program=amdgpu_rows.softmax,
        name="fewer-threads-promised",
        pattern=r'("amdgpu-flat-work-group-size"=")[0-9,]+"',
        replacement=r'\g<1>1,64"',
        expected=CLEAN,
        why="attributes of the kernel are not compared with the launch",
    ),
)
