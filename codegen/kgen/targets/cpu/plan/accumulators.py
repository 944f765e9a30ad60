"""Block of accumulators of a task, in scratch memory or in the output itself, and those of split-k
slices in a workspace."""

from __future__ import annotations

from kgen.schedule import CpuSplitMatmul
from kgen.spec import Matmul
from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen


@frozen
class Accumulators:
    """Sums of `rows` rows, `row` bytes apart, in vectors of type `vector`.

    The epilogue computes in type `finished`; `base` is the pointer to the first sum. With `in_out`,
    the output holds the sums between two blocks of K.
    """

    vector: Vector
    finished: Vector
    rows: int
    row: int
    base: str = "%acc"
    in_out: bool = False

    @property
    def is_rounded(self) -> bool:
        """Whether integers become f32 before the epilogue."""
        return self.vector != self.finished

    @property
    def itemsize(self) -> int:
        return self.vector.bits // 8

    @property
    def bytes(self) -> int:
        return self.rows * self.row

    @property
    def buffer(self) -> Buffer:
        order = f"{self.vector.scalar} [mc][nc], {self.row} B per row"
        return Buffer(name="%acc", holds=order, bytes=self.bytes)


#: Workspace of the sums of each slice.
PARTIAL_SUMS = "partial.sums"


@frozen
class Slices:
    """Slices of K, whose partial sums a second launch adds up."""

    spec: Matmul
    schedule: CpuSplitMatmul
    acc: Accumulators

    @property
    def entry(self) -> str:
        return f"{self.spec.key}_slices"

    @property
    def k(self) -> int:
        """K of a slice, in whole blocks; the last one may have less."""
        blocks = -(-self.spec.k // self.schedule.kc)
        return -(-blocks // self.schedule.split_k) * self.schedule.kc

    @property
    def count(self) -> int:
        return -(-self.spec.k // self.k)

    @property
    def sums(self) -> str:
        """Pointer to the sums of the first slice."""
        return f"%{PARTIAL_SUMS}"

    @property
    def bytes(self) -> int:
        return self.count * self.acc.bytes

    @property
    def further(self) -> tuple[int, ...]:
        """Bytes to the sums of each slice but the first."""
        return tuple(number * self.acc.bytes for number in range(1, self.count))

    @property
    def note(self) -> str:
        return (
            f"split-k: a task of the first launch computes a slice of {self.k} of K; the second "
            "launch adds the partial sums"
        )

    @property
    def buffer(self) -> Buffer:
        order = f"{self.acc.vector.scalar} [{self.count}][mc][nc], {self.acc.row} B per row"
        return Buffer(name=self.sums, holds=order, bytes=self.bytes, is_on_stack=False)
