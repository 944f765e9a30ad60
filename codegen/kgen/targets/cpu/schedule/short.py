"""Products of a short K, of which out takes longer to write than to compute."""

from __future__ import annotations

from kgen.schedule import CpuMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.tiles.dots import Dot
from kgen.targets.cpu.schedule.block_sizes import balanced, rounded_up
from kgen.targets.cpu.schedule.blocking import Packing, register_tile

#: K up to which, in groups of a dot product, a task is a tile of so many rows at most, along all
#: columns in so many vectors: in blocks, whose panels are as long as there are rows, rows of out
#: that are a power of two apart meet in sets of the caches. 256 x 1024 x 5 takes 15 us so, 65 in a
#: block, of K = 16 35 and 47, 512 x 1000 x 5 34 and 47, 512 x 1024 x 1 27 and 118, on AVX2 35 and
#: 566, in s8 256 x 1024 x 8 12 and 47 (Zen 5).
SHORT_K, ROWS, VECTORS = 16, 8, 2


def short_matmul(
    spec: Matmul, target: Target, packing: Packing, dot: Dot | None = None
) -> CpuMatmul | None:
    """Several tiles of rows by several of columns; else None, as of a longer K."""
    if spec.k > SHORT_K * (dot.group if dot else 1) or spec.m <= ROWS:
        return None
    most, nr = register_tile(spec, target, packing, dot, widths=[VECTORS])
    mr = balanced(spec.m, min(most, ROWS), 1)
    mc, nc = packing.unit(spec, target, mr), rounded_up(spec.n, nr)
    if packing.b:
        # Half of the stack: the rest is for rows of A and their sums.
        row = rounded_up(spec.k, dot.group if dot else 1) * packing.itemsize
        nc = balanced(spec.n, target.limits["stack_bytes"] // 2 // row, nr)
    if spec.n <= nr or (packing.a and nc < spec.n):
        return None
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=spec.k, nc=nc, pack_a=packing.a, pack_b=packing.b)
