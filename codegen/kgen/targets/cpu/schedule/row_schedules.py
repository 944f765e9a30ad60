"""Schedules of streams and rows: tasks of tens of microseconds, and where the output goes."""

from __future__ import annotations

import dataclasses

from kgen.ops import Primitive as P
from kgen.ops import steps
from kgen.schedule import CpuRows, CpuSplitRows, CpuStream
from kgen.spec import DType, Elementwise, Rowwise
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.kernels.elementwise import has_whole_tasks
from kgen.targets.cpu.plan.kernels.elementwise_rows import takes_rows
from kgen.targets.cpu.plan.kernels.rows.rowwise import may_pass_caches, unchecked_rows
from kgen.targets.cpu.plan.kernels.rows.split import may_be_split
from kgen.targets.cpu.schedule.row_choices import leaves_caches, row_choices
from kgen.targets.rows.split import is_interleaved
from kgen.targets.stream import StreamPlan

#: Elements per task.
STREAM_ELEMENTS = 1 << 16
CHEAP_UNROLL = 4
#: Up to so many primitives an expression waits for memory, and more vectors at a time help.
CHEAP_PRIMITIVES = 8
#: A sum of 1024 x 1024 in bf16 takes 54 us with four vectors, 60 with two, 98 with one (Zen 4).
ROW_UNROLL = 4
#: Rows are written past the caches from so many last-level caches on: those of 4096 x 1024 in f32,
#: which are one, take 1.5 times as long then; those of 8192 x 4096 two thirds (Zen 4).
ROW_CACHES = 2
#: Rows of so many columns are split, in parts of a quarter of that or more, if they are less than
#: half as many as there are to be tasks.
SPLIT_COLUMNS, SPLIT_TASKS = 1 << 18, 64
#: Vector registers for each unrolled vector of exponentials: their constants take most of them.
EXPONENTIAL_REGISTERS = 8


def elementwise_schedule(spec: Elementwise, target: Target) -> CpuStream:
    """Tasks of rows where an input broadcasts, else of elements."""
    stream = StreamPlan(spec=spec, vector=1)
    sizes = stream.sizes
    unroll = CHEAP_UNROLL if spec.flops <= CHEAP_PRIMITIVES * spec.elements else 1
    if takes_rows(stream):
        return CpuStream(task=max(1, STREAM_ELEMENTS // sizes[-1]), unroll=unroll)
    past = CpuStream(task=STREAM_ELEMENTS, unroll=unroll, nontemporal=True)
    alone = len(spec.outputs) == 1
    if alone and passes_caches(spec, target) and has_whole_tasks(spec, target, past):
        return past
    return dataclasses.replace(past, nontemporal=False)


def rowwise_schedule(spec: Rowwise, target: Target) -> CpuStream:
    """As many vectors as there are registers for with exponentials and logarithms; of cheaper
    values as many as hide the latency of what folds them."""
    unroll = ROW_UNROLL
    if any(step.primitive in (P.EXP2, P.LOG2) for step in steps(*spec.primitives())):
        unroll = target.limits["vector_registers"] // EXPONENTIAL_REGISTERS
    units = spec.cols
    if is_interleaved(spec):
        # Tasks are of vectors of rows.
        units *= target.limits["vector_bytes"] // DType.F32.itemsize
    if spec.rows * 2 <= SPLIT_TASKS and may_be_split(spec) and spec.cols >= SPLIT_COLUMNS:
        # Whole steps of any number of vectors.
        unit = LINE_BYTES * unroll
        share = -(-spec.rows * spec.cols // SPLIT_TASKS)
        part = max(SPLIT_COLUMNS // 4, -(-share // unit) * unit)
        return CpuSplitRows(task=part, unroll=unroll)
    chosen = CpuRows(task=max(1, STREAM_ELEMENTS // units), unroll=unroll)
    if not (passes_caches(spec, target, ROW_CACHES) and may_pass_caches(spec, target)):
        return chosen
    past = dataclasses.replace(chosen, nontemporal=True)
    past = dataclasses.replace(past, **row_choices(spec, target, past))  # type: ignore[arg-type]
    # What is kept in the output is written earlier, while exponentials are computed: 11 instead of
    # 16 ms for softmax of 8192 x 4096 in f32 (Zen 4).
    return chosen if unchecked_rows(spec, target, past).kept else past


def passes_caches(spec: Elementwise | Rowwise, target: Target, caches: int = 1) -> bool:
    """An output that pushes itself and the input out of the last-level cache is better written past
    it: what is stored need not be read first (relu of 8192 x 4096 in f32: twice as fast, Zen 4).
    Cores of Arm recognise such streams by themselves ("write streaming mode")."""
    return target.arch == "x86_64" and leaves_caches(spec, target, caches)
