"""Staging of K and V in LDS, a block of keys at a time.

A buffer begins at the block's first key and ends after the last key of the tensor. Loads outside
the buffer return zeros. Loads past the end of a head get an offset outside the buffer.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from kgen.spec import DType
from kgen.targets.amdgpu.float8 import Float8
from kgen.targets.amdgpu.plan.attention.query_lanes import BitMove
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.lds.tile import LdsTile
from kgen.targets.amdgpu.plan.staging.chunks import ChunkLoad, power_of_two_divisor, shapes
from kgen.targets.amdgpu.plan.staging.layout import Loads, is_shared, without_conflicts
from kgen.targets.amdgpu.plan.staging.registers import Staging
from kgen.targets.base import Target
from kgen.targets.contraction.access import AccessMap
from kgen.targets.llvm_ir import FloatType
from kgen_runtime.values import frozen

#: Largest buffer in bytes: half of what 32-bit offsets reach, so the upper half is out of range.
MAX_BUFFER = 2**31


@frozen
class HeadStaging(Staging):
    """Staging of K, whose rows are keys, or of V, whose depths are keys.

    `moves` permutes the bits of a depth of V's tile into the number of the key at that depth.
    """

    #: Offset outside every buffer, even after the bytes of a block are added.
    OUTSIDE: ClassVar[int] = -MAX_BUFFER

    moves: tuple[BitMove, ...] = ()

    @property
    def is_v(self) -> bool:
        return self.memory_axis == "row"

    @property
    def key_bytes(self) -> int:
        """Bytes from one key to the next."""
        return self.key_elements * self.memory.itemsize

    @property
    def key_elements(self) -> int:
        """Elements from one key to the next."""
        return self.k_stride if self.is_v else self.row_stride

    @property
    def head(self) -> int:
        """Elements of a head."""
        return self.rows if self.is_v else self.access.depth

    @property
    def keys(self) -> int:
        """Keys of a block."""
        return self.block_k if self.is_v else self.block_rows

    @property
    def head_bytes(self) -> int:
        return self.head * self.memory.itemsize

    @property
    def overlaps(self) -> bool:
        """Whether consecutive keys share memory."""
        return self.key_bytes < self.head_bytes

    @property
    def last_bytes(self) -> int:
        """Bytes of the last key's head beyond one key stride."""
        return self.head_bytes - self.key_bytes

    @property
    def step_bytes(self) -> int:
        """Bytes from one block of keys to the next."""
        return self.keys * self.key_bytes

    @property
    def pads_head(self) -> bool:
        return self.head < (self.block_rows if self.is_v else self.block_k)

    def checks(self, load: ChunkLoad) -> bool:
        """Return whether a load may lie past the end of the head while its chunk's first element
        lies inside."""
        return not self.is_v and load.k > 0 and self.head % self.chunk_k != 0

    def key_of(self, depth: int) -> int:
        """Return the number of the key at a depth of V's tile."""
        return sum((depth & move.mask) << move.left >> move.right for move in self.moves)

    def load_bytes(self, load: ChunkLoad) -> int:
        """Return the bytes from a chunk's first element to a load."""
        if self.is_v:
            return self.key_of(load.k) * self.key_bytes
        return load.k * self.memory.itemsize

    @property
    def words(self) -> FloatType:
        return self.load_type.words

    @property
    def casts_words(self) -> bool:
        return self.words != self.load_type

    @property
    def ragged_rows(self) -> bool:
        return False

    @property
    def cuts_depth(self) -> bool:
        return False

    @property
    def has_far_loads(self) -> bool:
        return False

    @property
    def widens_bytes(self) -> bool:
        """Whether e4m3 becomes f16 on its way."""
        return self.memory is DType.E4M3

    @property
    def float8(self) -> Float8:
        """Conversion of a value to store."""
        return Float8(type=self.unconverted_type)

    @property
    def registers(self) -> int:
        """Registers per lane that hold a block between memory and LDS."""
        words = -(-self.load_type.nbytes // 4)
        return len(self.chunks) * len(self.loads) * words


def make(
    access: AccessMap,
    *,
    target: Target,
    tile: LdsTile,
    threads: int,
    loads: Loads,
    moves: tuple[BitMove, ...] = (),
) -> HeadStaging:
    """Return the staging of K or V."""
    first = HeadStaging(
        access=access,
        tile=tile,
        threads=threads,
        k_rest=0,
        chunk=next(shapes(1, 1, same_axis=True)),
        piece=1,
        reach=target.limits["load_offset"],
        moves=moves,
    )
    whole = math.gcd(first.head, *access.starts)
    widest = power_of_two_divisor(whole, WIDEST // access.dtype.itemsize)
    found = [
        dataclasses.replace(first, chunk=chunk, piece=chunk.vector)
        for chunk in shapes(widest, tile.slot, same_axis=not first.is_v)
        if is_shared(chunk, tile, threads, access.inner)
    ]
    made = without_conflicts(found, target, loads)
    assert isinstance(made, HeadStaging)
    return made
