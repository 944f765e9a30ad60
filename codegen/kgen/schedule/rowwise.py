"""Tilings of streams and softmax."""

from __future__ import annotations

from typing import ClassVar

from kgen.errors import ScheduleError
from kgen.schedule.base import Schedule
from kgen_runtime.values import frozen

#: Steps that are written out one after the other: no target has registers for more, and code that
#: is longer than the cache of instructions gains nothing.
MOST_UNROLLED = 64


@frozen
class GpuStream(Schedule):
    """Each thread handles `unroll` accesses of `vector` elements, a block apart."""

    mainloop: ClassVar[str] = "stream"
    num_threads: int
    vector: int
    unroll: int = 1

    def __post_init__(self) -> None:
        self.check_positive()
        _check_unroll(self.unroll)

    @property
    def block_elements(self) -> int:
        return self.num_threads * self.vector * self.unroll


@frozen
class GpuRows(Schedule):
    """One row per group of `num_threads / rows_per_block` threads.

    `resident` = 1 keeps the row in registers between passes, 0 reads it again from memory.
    """

    mainloop: ClassVar[str] = "row"
    num_threads: int
    rows_per_block: int = 1
    vector: int = 1
    resident: int = 1

    def __post_init__(self) -> None:
        if self.resident not in (0, 1):
            raise ScheduleError(f"resident={self.resident} must be 0 or 1")
        for name in ("num_threads", "rows_per_block", "vector"):
            if getattr(self, name) < 1:
                raise ScheduleError(f"{name}={getattr(self, name)} must be 1 or more")
        self.check_divides("rows_per_block", "num_threads")

    @property
    def threads_per_row(self) -> int:
        return self.num_threads // self.rows_per_block


@frozen
class ClusterRows(GpuRows):
    """The same with `cluster` blocks for one row, each of which keeps a part of it."""

    cluster: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster < 1:
            raise ScheduleError(f"cluster={self.cluster} must be 1 or more")
        if self.cluster > 1 and (self.rows_per_block > 1 or not self.resident):
            raise ScheduleError(
                f"cluster={self.cluster} needs rows_per_block=1 and resident=1; try cluster=1"
            )

    @property
    def threads_per_row(self) -> int:
        return self.num_threads * self.cluster // self.rows_per_block


@frozen
class CpuStream(Schedule):
    """Each task streams `task` elements, `unroll` vectors at a time; or rows, if they are those of
    a softmax or an input broadcasts.

    `nontemporal`: the output is written past the caches, which then need not read it first.
    """

    mainloop: ClassVar[str] = "stream"
    task: int
    unroll: int = 1
    nontemporal: bool = False

    def __post_init__(self) -> None:
        self.check_positive()
        _check_unroll(self.unroll)


@frozen
class CpuSplitRows(CpuStream):
    """Each task folds or writes `task` columns of a row; a launch for every reading of the rows,
    the next of which combines what these tasks have found."""

    mainloop: ClassVar[str] = "split"


def _check_unroll(unroll: int) -> None:
    if unroll > MOST_UNROLLED:
        raise ScheduleError(
            f"unroll={unroll} is more than {MOST_UNROLLED} steps; try unroll={MOST_UNROLLED}"
        )
