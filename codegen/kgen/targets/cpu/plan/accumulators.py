"""The block of accumulators of a task: in scratch memory, or in the output itself."""

from __future__ import annotations

from kgen.targets.cpu.plan.cpu_plan import Buffer
from kgen.targets.cpu.plan.vectors import Vector
from kgen_runtime.values import frozen


@frozen
class Accumulators:
    """Sums of `rows` rows, `row` bytes apart, read and written in vectors of type `vector`.

    `finished` is the type that the epilogue computes in; `base` is the pointer to the first sum;
    `in_out`: the sums between two blocks of K are in the output.
    """

    vector: Vector
    finished: Vector
    rows: int
    row: int
    base: str
    in_out: bool

    @property
    def is_integer(self) -> bool:
        return self.vector.is_integer

    @property
    def is_rounded(self) -> bool:
        """Integers become f32 before the epilogue."""
        return self.vector != self.finished

    @property
    def itemsize(self) -> int:
        return self.vector.bits // 8

    @property
    def vector_bytes(self) -> int:
        return self.vector.bytes

    @property
    def bytes(self) -> int:
        return self.rows * self.row

    @property
    def buffer(self) -> Buffer:
        order = f"{self.vector.scalar} [mc][nc], {self.row} B per row"
        return Buffer(name="%acc", holds=order, bytes=self.bytes)
