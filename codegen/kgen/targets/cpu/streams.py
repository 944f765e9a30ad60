"""The schedule of products of a few rows with a B that comes from memory, which binds them.

B is multiplied where it lies, a few of its rows at a time, while the next ones are fetched.
"""

from __future__ import annotations

from kgen.schedule import CpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.block_sizes import balanced, rounded_up, rows_in_cache
from kgen.targets.cpu.plan.base import vector_for
from kgen.targets.cpu.plan.blocks import LINE_BYTES
from kgen.targets.cpu.plan.dots import dot_for

#: Up to this many rows, a large B is read once, as a stream, and the sums go to and fro in the
#: caches: packing it costs more than it saves.
STREAM_ROWS = 32
#: Rows of B side by side, by rows of A at most, for elements of 32 bits or more and of 16: for few
#: rows of A the streams bind, for more the sums' traffic (4096 x 4096 on Zen 4).
STREAM_K = {2: (8, 16), 4: (8, 32), 8: (16, 64), STREAM_ROWS: (32, 64)}
#: A of more rows than this is packed even if it need not be, lest its rows meet in a cache set.
STREAM_A_ROWS = 4
#: Vectors of a row of B, at most, that a tile of such a product has, by rows of A, or one whose B
#: comes packed: each is a stream of its own (one row by 4096 x 4096: eight are a fifth slower than
#: four, Zen 4).
STREAM_VECTORS, STREAM_VECTORS_FEW = 2, 4
STREAM_FEW = 2
#: Columns of a task of such a product, at most: enough of a row for the hardware to see a stream,
#: and tasks for several threads (2048 of 4096 columns cost one thread 4 % and make two 1.4x as
#: fast; 1024 cost 10 %).
STREAM_COLUMNS = 2048


def is_large(spec: Matmul, target: Target) -> bool:
    """B leaves the second-level cache."""
    return spec.k * spec.n * spec.dtype.itemsize > target.limits["l2_bytes"]


def streams(spec: Matmul, target: Target) -> bool:
    """B comes from memory, for so few rows that it is multiplied as it lies."""
    few = spec.m <= STREAM_ROWS and not spec.constant
    return few and is_large(spec, target) and not spec.layout.b_transposed


def stream_matmul(spec: Matmul, target: Target, *, packs_a: bool) -> CpuMatmul:
    """A few rows of B at a time, over as many columns as the second-level cache holds sums."""
    vector = vector_for(target, spec.accumulate, spec.n).count
    dot = dot_for(spec.dtype, target)
    registers = target.limits["vector_registers"] - (dot.extra_registers if dot else 0)

    def rows(vectors: int) -> int:
        return balanced(spec.m, min((registers - 2) // vectors - 1, rows_in_cache(spec)), 1)

    widest = STREAM_VECTORS_FEW if spec.m <= STREAM_FEW else STREAM_VECTORS
    widths = range(1, min(widest, -(-spec.n // vector)) + 1)
    vectors = max(widths, key=lambda v: (rows(v), v))
    mr, nr = rows(vectors), vectors * vector
    mc = rounded_up(spec.m, mr)
    sums = target.limits["l2_bytes"] // 8 // (mc * spec.accumulate.itemsize)
    nc = balanced(spec.n, min(sums, STREAM_COLUMNS), nr)
    wide, narrow = next(depths for most, depths in STREAM_K.items() if spec.m <= most)
    kc = narrow if spec.dtype.itemsize < 4 else wide
    if packs_a or spec.dtype is DType.S8:
        kc = rounded_up(kc, LINE_BYTES // spec.dtype.itemsize if dot else vector)
    return CpuMatmul(mr=mr, nr=nr, mc=mc, kc=kc, nc=nc, pack_a=packs_a, pack_b=False)
