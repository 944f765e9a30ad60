"""Bugs that the emulators let pass today, each with the reason."""

from __future__ import annotations

from tests.emulate.mutations import ptx_products, ptx_rows
from tests.emulate.mutations.mutation import CLEAN, Mutation

UNCAUGHT = (
    Mutation(
        program=ptx_products.tensor_product,
        name="depth-guard-of-one-operand",
        pattern=r"(sub\.s32 %b_rows_left, )8,",
        replacement=r"\g<1>9,",
        expected=CLEAN,
        why="B's rows beyond the edge meet zeros of A: only NaN or infinity there would show",
    ),
    Mutation(
        program=ptx_rows.softmax,
        name="maximum-of-one-warp",
        pattern=r"(and\.b32 %place, %lane, )3;(?=(?s:[^}]*)%top, \[%place)",
        replacement=r"\g<1>0;",
        expected=CLEAN,
        why="softmax is the same for whatever is subtracted, until an exponential overflows",
    ),
    Mutation(
        program=ptx_rows.softmax,
        name="down-for-butterfly",
        pattern=r"shfl\.sync\.bfly(\.b32 %other, %sum, 16)",
        replacement=r"shfl.sync.down\1",
        expected=CLEAN,
        why="no bug: the first lane's sum, the only one that is used, is the same",
    ),
)
