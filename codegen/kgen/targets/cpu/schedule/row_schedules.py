"""Default schedules of element-wise and row-wise kernels, and predicted times.

Sizes, caches and registers determine the schedules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from kgen.ops import Primitive as P
from kgen.ops import steps
from kgen.schedule import CpuRows, CpuSplitRows, CpuStream, CpuTransposed, Schedule
from kgen.spec import DType, Elementwise, Rowwise
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.cores import TargetCore, line_cycles
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.kernels.elementwise import has_whole_tasks, vector_of
from kgen.targets.cpu.plan.kernels.elementwise_blocks import blocks_of
from kgen.targets.cpu.plan.kernels.elementwise_rows import takes_rows
from kgen.targets.cpu.plan.kernels.rows.interleaved import unchecked_plan
from kgen.targets.cpu.plan.kernels.rows.rowwise import (
    RowwisePlan,
    is_one_line,
    may_pass_caches,
    unchecked_rows,
)
from kgen.targets.rows.kept import EXPENSIVE
from kgen.targets.rows.shifted import mean_of
from kgen.targets.rows.split import is_interleaved
from kgen.targets.stream import StreamPlan

#: Elements per task; unrolled vectors for cheap expressions; and the most primitives per element of
#: a cheap expression, whose speed memory limits.
TASK_ELEMENTS, UNROLL, CHEAP_PRIMITIVES = 1 << 16, 4, 8
#: Vector registers per unrolled vector of exponentials, most of them for constants.
EXPONENTIAL_REGISTERS = 8
#: A row-wise kernel uses non-temporal stores if its tensors exceed this many last-level caches.
ROW_CACHES = 2
#: Fewest columns of a row that is split into parts, each of at least a quarter of that; and tasks
#: that the parts make. Rows are split only if there are at most half as many rows as tasks.
SPLIT_COLUMNS, SPLIT_TASKS = 1 << 18, 64
#: A one-pass variance subtracts the mean of the row's head. The head has HEAD_STEPS steps of
#: unrolled vectors, or 1/HEAD_SHARE of the row if that is more.
HEAD_STEPS, HEAD_SHARE = 4, 64
#: Prefetch distance in bytes for rows that come from memory.
AHEAD_BYTES = 2048
#: Instructions per vector of exponentials or logarithms; instructions per row outside its vectors;
#: and primitives that need no instruction in the loop.
EXPONENTIAL, ROW, FREE = 14, 40, (P.CONSTANT, P.VIEW)


def predicted(
    spec: Elementwise | Rowwise, target: Target, schedule: Schedule
) -> Candidate[Schedule]:
    """Predict the time of one thread with warm caches, from instructions and cache lines.
    Instructions hide transfers of lines."""
    core = TargetCore(target=target)
    rows, columns = (spec.rows, spec.cols) if isinstance(spec, Rowwise) else (1, spec.elements)
    vectors = rows * -(-columns * spec.compute.itemsize // core.width)
    found = [step.primitive for step in steps(*spec.primitives()) if step.primitive not in FREE]
    smooth = sum(primitive in (P.EXP2, P.LOG2) for primitive in found)
    count = len(found) + (EXPONENTIAL - 1) * smooth + len(spec.outputs)
    issue = (vectors * count + ROW * rows) / core.multiply_adds
    # Stores that are not non-temporal read the lines that they overwrite.
    written = sum(p.nbytes for p in spec.parameters if p.role == "output")
    again = 0 if getattr(schedule, "nontemporal", False) else written
    transfer = line_cycles(target, spec.bytes_moved) * (spec.bytes_moved + again) / LINE_BYTES
    terms = {"issue": issue, "memory": max(transfer - issue, 0.0)}
    return Candidate(schedule=schedule, seconds=sum(terms.values()) / core.rates.clock, terms=terms)


def elementwise_schedule(spec: Elementwise, target: Target) -> CpuStream | CpuTransposed:
    """Return the default schedule. Its tasks are rows, blocks of transposed rows, or elements."""
    stream = StreamPlan(spec=spec, vector=1)
    size = vector_of(spec, target).count
    if blocks_of(stream, size) is not None:
        return CpuTransposed(task=max(1, TASK_ELEMENTS // (size * stream.sizes[-1])))
    unroll = UNROLL if spec.flops <= CHEAP_PRIMITIVES * spec.elements else 1
    if takes_rows(stream):
        return CpuStream(task=max(1, TASK_ELEMENTS // stream.sizes[-1]), unroll=unroll)
    past = CpuStream(task=TASK_ELEMENTS, unroll=unroll, nontemporal=True)
    is_large = len(spec.outputs) == 1 and _passes_caches(spec, target, 1)
    return dataclasses.replace(past, nontemporal=is_large and has_whole_tasks(spec, target, past))


def rowwise_schedule(spec: Rowwise, target: Target) -> CpuStream:
    """Return the default schedule, of whole rows or of split rows. Unrolling hides the latency of
    reductions. Registers limit it for exponentials and logarithms."""
    unroll = UNROLL
    if any(step.primitive in (P.EXP2, P.LOG2) for step in steps(*spec.primitives())):
        unroll = target.limits["vector_registers"] // EXPONENTIAL_REGISTERS
    if spec.rows * 2 <= SPLIT_TASKS and is_one_line(spec) and spec.cols >= SPLIT_COLUMNS:
        # A part is a whole number of steps of unrolled vectors of any width.
        unit = LINE_BYTES * unroll
        share = -(-spec.rows * spec.cols // SPLIT_TASKS)
        part = max(SPLIT_COLUMNS // 4, -(-share // unit) * unit)
        return completed(spec, target, CpuSplitRows(task=part, unroll=unroll))
    # The unit of a task is one row, or as many interleaved rows as a vector has elements.
    rows = target.limits["vector_bytes"] // DType.F32.itemsize if is_interleaved(spec) else 1
    chosen = CpuRows(task=max(1, TASK_ELEMENTS // (rows * spec.cols)), unroll=unroll)
    if _passes_caches(spec, target, ROW_CACHES) and may_pass_caches(spec, target):
        past = completed(spec, target, dataclasses.replace(chosen, nontemporal=True))
        # If the output's row keeps values, normal stores are faster: exponentials hide their time.
        if not unchecked_rows(spec, target, past).kept:
            return past
    return completed(spec, target, chosen)


def completed(
    spec: Rowwise, target: Target, schedule: CpuStream, given: Collection[str] = ()
) -> CpuStream:
    """Return the schedule with the fields that rows and caches determine, except for `given`."""
    is_far = spec.bytes_moved > target.limits["l3_bytes"]
    if isinstance(schedule, CpuSplitRows):
        head = _head(unchecked_rows(spec, target, schedule))
        has_variance = any(map(mean_of, steps(*spec.primitives())))
        chosen = {"prefetch": AHEAD_BYTES * is_far, "variance_head": head * has_variance}
    elif isinstance(schedule, CpuRows):
        chosen = _row_fields(unchecked_plan(spec, target, schedule), is_far=is_far)
    else:
        return schedule
    fields = {name: value for name, value in chosen.items() if name not in given}
    return dataclasses.replace(schedule, **fields)  # type: ignore[arg-type]


def _row_fields(plan: RowwisePlan, *, is_far: bool) -> dict[str, int]:
    """Return the fields for passes over a row, slots of kept values, and prefetches.

    - A row that does not stay in the second-level cache is read as few times as possible. Smaller
      rows are read again, because computing exponentials twice would cost more.
    - Kept values go to the output's row if it comes from memory and no vector straddles lines.
    - A reduction of rows from memory prefetches at a short distance, or the next row if the last
      pass takes longer than memory. A kernel that writes exponentials needs no prefetch.
    """
    spec, limits = plan.spec, plan.target.limits
    rows_read = plan.compute.count if is_interleaved(spec) else 1
    row_bytes = rows_read * spec.cols * max(dtype.itemsize for dtype in spec.input_dtypes)
    stays = 2 * row_bytes <= limits["l2_bytes"]
    read_once = not stays or (is_far and all(spec.reduced.values()))
    plan = _with(plan, online=not stays, variance_head=read_once * _head(plan))
    for name, nothing in (("online", False), ("variance_head", 0)):
        # Set a field to 0 if it does not change the phases.
        without = _with(plan, **{name: nothing})
        plan = without if without.row.phases == plan.row.phases else plan
    straddles = spec.cols * spec.compute.itemsize % plan.compute.bytes
    in_output = is_far and plan.row_as_place and not plan.schedule.nontemporal and not straddles
    plan = _with(plan, keep_in_output=bool(in_output))
    ahead, next_row = 0, False
    if plan.may_prefetch and plan.row.whole_outputs:
        fills = 2 * spec.bytes_moved > limits["l3_bytes"]
        next_row = stays and fills and not plan.keeps_in_output
    elif plan.may_prefetch and is_far:
        before = plan.row.elements(plan.row.phases[-2].wanted) if len(plan.row.phases) > 2 else ()
        next_row = stays and any(step.primitive in EXPENSIVE for step in before)
        ahead = AHEAD_BYTES * (not next_row)
    names = ("online", "variance_head", "keep_in_output")
    fields = {name: getattr(plan.choices, name) for name in names}
    return {**fields, "prefetch": ahead, "prefetch_next_row": next_row}


def _head(plan: RowwisePlan) -> int:
    """Return how many columns give the mean of a one-pass variance; 0 if the row is too short."""
    step = plan.run.step
    head = max(HEAD_STEPS, plan.spec.cols // (HEAD_SHARE * step)) * step
    return head if plan.may_shift(head) else 0


def _with(plan: RowwisePlan, **fields: int) -> RowwisePlan:
    schedule = dataclasses.replace(plan.choices, **fields)  # type: ignore[arg-type]
    return dataclasses.replace(plan, schedule=schedule)


def _passes_caches(spec: Elementwise | Rowwise, target: Target, caches: int) -> bool:
    """Return whether non-temporal stores pay: the tensors exceed `caches` last-level caches. Arm
    cores need no such stores; they recognise the streams ("write streaming mode")."""
    return target.arch == "x86_64" and spec.bytes_moved > caches * target.limits["l3_bytes"]
