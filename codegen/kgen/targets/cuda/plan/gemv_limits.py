"""Limits of skinny-GEMM kernels: operands that can be streamed, and legal schedules."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule import GemvMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan import cuda_plan
from kgen.targets.cuda.plan.matrix import MAX_ACCESS_BYTES, MAX_IMMEDIATE, matrices
from kgen.targets.cuda.plan.staging.tiles import BANK_LINE_BYTES

#: Most rows of A. Each element of B is multiplied by all of them, so tensor cores are faster for
#: more rows.
MAX_ROWS = 8
DTYPES = (DType.F32, DType.F16, DType.BF16)
F32_BYTES = 4
#: Bytes of a DRAM access: two sectors.
DRAM_BYTES = 64


def gemv_obstacle(spec: Matmul) -> str | None:
    """Return the reason why a kernel cannot stream these operands; None if it can."""
    if spec.dtype not in DTYPES:
        return f"dtype={spec.dtype} is not one of {', '.join(DTYPES)}"
    if spec.m > MAX_ROWS:
        return f"m={spec.m} is more than {MAX_ROWS}"
    a, b = matrices(spec)
    if a.access.k[-1].stride != 1:
        return f"layout={spec.layout} stores A transposed, and K must be contiguous in A"
    for matrix in (a, b):
        if not matrix.access.is_affine:
            return f"operand {matrix.name} is read under guards, and a skinny GEMM reads matrices"
        if matrix.aligned_bytes < MAX_ACCESS_BYTES:
            return (
                f"rows of {matrix.name} start at multiples of {matrix.aligned_bytes} bytes, and "
                f"must start at multiples of {MAX_ACCESS_BYTES}"
            )
        if (row_bytes := matrix.access.run * matrix.dtype.itemsize) % MAX_ACCESS_BYTES:
            return (
                f"a row of {matrix.name} has {row_bytes} bytes, which is not a multiple of "
                f"{MAX_ACCESS_BYTES}"
            )
        if MAX_ROWS * matrix.row_stride > MAX_IMMEDIATE:
            return (
                f"rows of {matrix.name} are {matrix.row_stride} bytes apart; the limit is "
                f"{MAX_IMMEDIATE // MAX_ROWS}"
            )
    return None


def elements_of(dtype: DType) -> int:
    """Return the elements of the widest access."""
    return MAX_ACCESS_BYTES // dtype.itemsize


def depth_of(spec: Matmul) -> int:
    """Return the consecutive elements of k that a thread multiplies: those of one access to B along
    k, or of one access to A."""
    a, b = matrices(spec)
    return elements_of(b.dtype if b.k_inner else a.dtype)


def columns_of(spec: Matmul, num_threads: int) -> tuple[int, ...]:
    """Return the legal values of block_n, the largest first: at most an output per thread.

    - B contiguous along k: a warp has 4, 2 or 1 columns, a number that divides n. If B's elements
      are smaller than A's, it has more columns, with as many bytes of B as of A.
    - B contiguous along n: the sums of a row fill the banks of shared memory once, or half of them.
      The lanes along a row read the bytes of one DRAM access or more.
    """
    if matrices(spec)[1].k_inner:
        warps, least = num_threads // WARP_SIZE, spec.dtype.itemsize // spec.b_type.itemsize
        each_warp = [each for each in (4, 2, 1) if spec.n % each == 0]
        enough = [each for each in each_warp if each >= least]
        found = [warps * each for each in enough or each_warp[:1]]
    else:
        most = max(BANK_LINE_BYTES // F32_BYTES, DRAM_BYTES // spec.b_type.itemsize)
        found = [c for c in (most, most // 2) if c * spec.b_type.itemsize >= DRAM_BYTES]
    return tuple(columns for columns in found if spec.m * columns <= num_threads)


def gemv_depth(spec: Matmul, num_threads: int, block_n: int) -> int:
    """Return the depth of k per iteration, which threads and columns decide."""
    depth, vector = depth_of(spec), elements_of(spec.b_type)
    inner = matrices(spec)[1].k_inner
    return depth * (WARP_SIZE if inner else num_threads * vector // block_n)


def check(spec: Matmul, target: Target, schedule: GemvMatmul) -> None:
    """Check that a schedule suits the operands and the target. Raises ScheduleError."""
    cuda_plan.check_threads(schedule.num_threads, target, "num_threads=256")
    if (threads := schedule.num_threads) & (threads - 1):
        raise ScheduleError(
            f"num_threads={threads} is not a power of two; "
            f"try num_threads={1 << threads.bit_length() - 1}"
        )
    fitting = columns_of(spec, threads)
    if not fitting:
        more = (threads << doublings for doublings in range(1, 6))
        enough = next((count for count in more if columns_of(spec, count)), 256)
        raise ScheduleError(
            f"num_threads={threads} is less than the outputs of one block tile of m={spec.m} rows; "
            f"try num_threads={enough}"
        )
    if schedule.block_n not in fitting:
        raise ScheduleError(
            f"block_n={schedule.block_n} is not supported with num_threads={threads}; "
            f"try {' or '.join(f'block_n={columns}' for columns in fitting)}"
        )
    wanted = {
        "block_m": spec.m,
        "block_k": gemv_depth(spec, schedule.num_threads, schedule.block_n),
        "num_stages": 1,
    }
    for name, value in wanted.items():
        if getattr(schedule, name) != value:
            raise ScheduleError(
                f"{name}={getattr(schedule, name)} does not match m={spec.m}, "
                f"num_threads={threads} and block_n={schedule.block_n}, which require {value}; "
                f"try {name}={value}"
            )
    cuda_plan.check_registers(
        registers_of(spec, schedule),
        f"block_n={schedule.block_n}",
        schedule.num_threads,
        target,
        f"num_threads={schedule.num_threads // 2}",
    )


def registers_of(spec: Matmul, schedule: GemvMatmul) -> int:
    """Return the registers of an iteration: accumulators, A's elements, and B's words."""
    depth, inner = depth_of(spec), matrices(spec)[1].k_inner
    each = schedule.block_n * WARP_SIZE // schedule.num_threads
    columns = each if inner else elements_of(spec.b_type)
    loads = columns if inner else depth
    return spec.m * (columns + depth) + loads * MAX_ACCESS_BYTES // 4
