"""Operand of a product of s8: buffer -> words of four steps of k in workgroup memory."""

from __future__ import annotations

from kgen.targets.vulkan.plan.matmul.operand import GroupedOperand
from kgen.targets.vulkan.plan.memory import Shared
from kgen_runtime.values import frozen

#: Steps of k in a quad, which is a word with one byte per step.
QUAD = 4


@frozen
class DotOperand(GroupedOperand):
    """Operand A or B in quads; workgroup memory has `pitch` groups of neighbours per quad of k.

    A copy is one access along k, which is several quads; or four accesses of four bytes along the
    edge, one per step, whose bytes are transposed; or single bytes of four steps.
    """

    # A copy

    @property
    def along_k(self) -> bool:
        """Whether an access is whole quads."""
        return self.wide and self.matrix.k_inner

    @property
    def quads(self) -> range:
        """Numbers of the quads of a copy along k."""
        return range(self.matrix.width // QUAD if self.along_k else 1)

    @property
    def rows(self) -> range:
        return range(1 if self.along_k else QUAD)

    # Which copies an invocation has

    @property
    def inner_block(self) -> int:
        if self.matrix.k_inner:
            return self.block_k // (QUAD * len(self.quads))
        return super().inner_block

    def distance(self, inner: int, outer: int) -> int:
        """Return the distance in groups."""
        return outer // self.group if self.matrix.k_inner else outer * self.pitch

    @property
    def is_shared_out(self) -> bool:
        """Whether each invocation has copies, at the same position of a group."""
        if not 0 < self.inner_block <= self.num_threads:
            return False
        step = self.outer_step
        return step <= self.outer_block and (not self.matrix.k_inner or step % self.group == 0)

    # Into workgroup memory

    def quad_distance(self, quad: int) -> int:
        """Return the groups from a copy's first quad to another."""
        return quad * self.pitch

    @property
    def shared(self) -> Shared:
        return Shared(
            name=f"tile_{self.name}",
            scalar="uint",
            vector=self.group,
            length=self.block_k // QUAD * self.pitch,
            stages=self.stages,
            by_component=not self.transposed,
        )
