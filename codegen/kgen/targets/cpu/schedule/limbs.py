"""The schedule of products of f32 by prepacked weights of 8 or 4 bits, and which those are."""

from __future__ import annotations

from kgen.schedule import LimbsMatmul
from kgen.schedule.matmul import PANELS_AHEAD
from kgen.spec import Matmul, Spec
from kgen.targets.base import Target
from kgen.targets.cpu.plan.kernels.limb_parts import (
    limb_count,
    limb_dot,
    limb_registers,
    limbs_scratch,
    shared_k,
)
from kgen.targets.cpu.schedule.block_sizes import balanced
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import walks_lines

#: Rows of a tile at most: each further one saves less of what unpacking B costs. Their limbs come
#: from the second-level cache; on cores that do not follow several rows at once, two rows by two
#: panels are faster: 4 x 4096 x 4096 takes 1.6 ms instead of 2.2 by s8, 1.28 instead of 1.51 by s4
#: (AVX-512, Zen 4).
ROWS_FOUND, ROWS = 4, 2
#: Where the hardware walks rows, weights that come from memory, as a model's do, come fastest panel
#: by panel, a stream of which lines PANELS_AHEAD bytes on are fetched: 1 x 1536 x 576 by s8 takes
#: 27 us so, 40 by four panels side by side, 4 rows 40 and 84 by two tiles of two rows, two panels
#: each; by s4 19 and 39, and 30 and 56. Called again and again on one B, that a cache
#: keeps, 1 row is up to a fifth slower and more rows a tenth, as what is read of A serves one
#: panel; from so many rows on that costs as much as memory (16 x 4096 x 2048: 1.35 and 1.39 ms;
#: AVX-512, Zen 5).
ROWS_BY_PANELS = 16
#: Vectors of sums of a tile. Their limbs' chains hide the latency of the instruction, 5 cycles, two
#: in each; a row's four panels are read side by side.
SUMS = 4
#: Columns of a task at least: what A's limbs cost is a thirtieth of its products.
COLUMNS = 512
#: Tasks that keep the cores of a common machine busy to the end.
ENOUGH_TASKS = 32


def uses_limbs(spec: Spec, target: Target) -> bool:
    return isinstance(spec, Matmul) and limb_dot(spec, target) is not None


def limbs_matmul(spec: Matmul, target: Target) -> LimbsMatmul:
    """Rows of A in even tiles, as many vectors of columns as their sums need; all of K."""
    registers, stack = target.limits["vector_registers"], target.limits["stack_bytes"]
    lanes = target.limits["vector_bytes"] // 4
    row, limbs = limbs_scratch(spec), limb_count(spec)
    dot = limb_dot(spec, target)

    def needed(rows: int, vectors: int) -> int:
        """With the products that wait to be added, where that is an instruction of its own: LLVM
        orders them so, and spills what then has no register (1 x 4096 x 4096 by s4 takes 523 us by
        one vector, 571 by two; 4 rows 2.26 ms, 2.57 by two rows at once; AVX2, Zen 4)."""
        waiting = limbs * rows * vectors if dot and dot.widen else 0
        return limb_registers(limbs, rows, vectors) + waiting

    ahead = PANELS_AHEAD if walks_lines(target) else 0
    by_panel = ahead > 0 and spec.m < ROWS_BY_PANELS
    rows_most = ROWS_FOUND if by_panel or core_of(target).finds_rows else ROWS
    fits = max(r for r in range(1, rows_most + 1) if needed(r, 1) <= registers)
    least = COLUMNS * spec.accumulate.itemsize
    mr = balanced(spec.m, min(fits, max(stack // (row + least), 1)), 1)
    most = 1 if by_panel else min(-(-SUMS // mr), -(-spec.n // lanes))
    widths = range(1, most + 1)
    nr = lanes * max(v for v in widths if needed(mr, v) <= registers)
    nc = balanced(spec.n, max(COLUMNS, -(-spec.n // ENOUGH_TASKS)), nr)
    room = (stack - mr * row) // (mr * spec.accumulate.itemsize)
    nc = min(nc, max(room // nr * nr, nr))
    mc = balanced(spec.m, stack // (row + nc * spec.accumulate.itemsize), mr)
    return LimbsMatmul(
        mr=mr, nr=nr, mc=mc, kc=shared_k(spec), nc=nc, pack_a=True, pack_b=False, ahead=ahead
    )
