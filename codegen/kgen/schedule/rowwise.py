"""Schedules of element-wise and row-wise expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.schedule.schedule import Schedule
from kgen_runtime.values import frozen

#: Largest number of unrolled steps: no target has registers for more, and longer code gains
#: nothing.
MOST_UNROLLED = 64


@frozen
class GpuStream(Schedule):
    """Element-wise kernel: each thread makes `unroll` accesses of `vector` elements, one block
    apart."""

    mainloop: ClassVar[str] = "stream"
    most: ClassVar[Mapping[str, int]] = {"unroll": MOST_UNROLLED}
    #: [threads] Threads of a CTA (workgroup).
    num_threads: int
    #: [elements] Elements per load or store.
    vector: int
    #: [accesses] Accesses that each thread makes.
    unroll: int = 1

    @property
    def block_elements(self) -> int:
        return self.num_threads * self.vector * self.unroll


@frozen
class GpuRows(Schedule):
    """Row-wise kernel: a group of `num_threads / rows_per_block` threads reduces one row."""

    mainloop: ClassVar[str] = "row"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"resident"})
    most: ClassVar[Mapping[str, int]] = {"resident": 1}
    divides: ClassVar[Mapping[str, str]] = {"rows_per_block": "num_threads"}
    #: [threads] Threads of a CTA (workgroup).
    num_threads: int
    #: [rows] Rows that one CTA (workgroup) computes.
    rows_per_block: int = 1
    #: [elements] Elements per load or store.
    vector: int = 1
    #: 1 keeps the row in registers between passes; 0 reads it from memory in each pass.
    resident: int = 1

    @property
    def threads_per_row(self) -> int:
        return self.num_threads // self.rows_per_block

    @property
    def shares_block(self) -> bool:
        """Whether a CTA (workgroup) has several rows."""
        return self.rows_per_block > 1


@frozen
class ClusterRows(GpuRows):
    """Row-wise kernel in which a cluster of CTAs shares a row: each keeps a part of it."""

    #: [CTAs] CTAs that share a row; more than 1 needs rows_per_block=1 and resident=1.
    cluster: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster > 1 and (self.shares_block or not self.resident):
            raise ScheduleError(
                f"cluster={self.cluster} needs rows_per_block=1 and resident=1; try cluster=1"
            )

    @property
    def threads_per_row(self) -> int:
        return self.num_threads * self.cluster // self.rows_per_block


@frozen
class CpuStream(Schedule):
    """Element-wise kernel, cut into tasks that threads share."""

    mainloop: ClassVar[str] = "stream"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"prefetch"})
    most: ClassVar[Mapping[str, int]] = {"unroll": MOST_UNROLLED}
    #: [elements or rows] Size of a task. It counts rows for a row-wise expression, and for an
    #: element-wise one in which an input broadcasts.
    task: int
    #: [vectors] Vectors per iteration of the loop.
    unroll: int = 1
    #: 1 uses non-temporal stores, which bypass the caches and do not read the output's lines first.
    nontemporal: bool = False
    #: [bytes] Prefetch distance in the inputs of an element-wise kernel with nontemporal=1, or
    #: along the row in a pass that reduces; 0 prefetches nothing.
    prefetch: int = 2048


@frozen
class CpuTransposed(Schedule):
    """Element-wise kernel that reads inputs along the columns of square blocks of the output, and
    transposes these in registers."""

    mainloop: ClassVar[str] = "transposed"
    #: Steps of one vector, stores through the caches, and no prefetches.
    unroll: ClassVar[int] = 1
    nontemporal: ClassVar[bool] = False
    prefetch: ClassVar[int] = 0
    #: [blocks] Square blocks in rows of the output that a task computes, each along all columns.
    task: int


@frozen
class CpuRows(CpuStream):
    """Row-wise kernel: a task is a number of rows, each of which is read once or several times."""

    may_be_zero: ClassVar[frozenset[str]] = frozenset({"prefetch", "variance_head", "kept_bytes"})
    #: 1 adds up exponentials in the pass that finds the row's maximum (online softmax), which saves
    #: a pass. 1 needs rows computed in f32.
    online: bool = False
    #: [columns] Columns at the beginning of a row whose mean a variance's sums are relative to,
    #: which makes one pass of the two for mean and variance; 0 takes both. Needs rows computed in
    #: f32, whole steps of `unroll` vectors, at least 1/128 and at most 1/4 of the row.
    variance_head: int = 0
    #: 1 keeps values between two passes in the output's row, and in buffers on the stack if that is
    #: not enough; 0 uses the buffers first.
    keep_in_output: bool = False
    #: [bytes] Most bytes of a thread's stack for values of a row that are kept between two passes.
    kept_bytes: int = 128 * 1024
    #: [bytes] Prefetch distance in the inputs of an element-wise kernel with nontemporal=1, or
    #: along the row in a pass that reduces; 0 prefetches nothing.
    prefetch: int = 0
    #: 1 prefetches the next row during the last pass over a row.
    prefetch_next_row: bool = False


@frozen
class CpuSplitRows(CpuStream):
    """Row-wise kernel for few long rows: a task reads or writes `task` columns of a row, and each
    pass over the rows is a launch that combines the partial results of the pass before."""

    mainloop: ClassVar[str] = "split"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"prefetch", "variance_head"})
    #: [columns] Columns of a task.
    task: int
    #: [columns] Columns at the beginning of a row whose mean a variance's sums are relative to,
    #: which makes one pass of the two for mean and variance; 0 takes both. Needs rows computed in
    #: f32, whole steps of `unroll` vectors, at least 1/128 and at most 1/4 of the row.
    variance_head: int = 0
    #: [bytes] Prefetch distance in the inputs of an element-wise kernel with nontemporal=1, or
    #: along the row in a pass that reduces; 0 prefetches nothing.
    prefetch: int = 0
