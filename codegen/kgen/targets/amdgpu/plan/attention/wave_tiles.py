"""Tiles of attention on matrix instructions: the MMA tiles of a wave and the order of its steps."""

from __future__ import annotations

from kgen.schedule import MmaAttention
from kgen.spec import Attention
from kgen.targets.amdgpu.matrix import MatrixInstruction
from kgen.targets.amdgpu.plan.attention.query_lanes import BitMove, QueryLanes
from kgen.targets.amdgpu.plan.lds.banks import WIDEST
from kgen.targets.amdgpu.plan.matmul.mma import group_depth, line_groups
from kgen.targets.attention.weights import weight_dtype
from kgen.targets.powers_of_two import power_of_two
from kgen_runtime.values import frozen

#: Address registers per access that is copied to LDS: its addresses in memory and in LDS.
ADDRESSES = 3
#: Largest number of tiles of K or V whose fragments are in registers before they are multiplied.
FRAGMENTS_LOADED = 4


@frozen
class ProductStep:
    """Matrix instruction number `number` on an accumulator; `suffix` ends its operands' names."""

    number: int
    first: bool
    last: bool
    suffix: str

    @property
    def before(self) -> int:
        return self.number - 1


@frozen
class WeightPart:
    """Weights that make up an operand of the second product.

    `elements` are numbers in the joined registers of the score tiles `first` and `second`.
    """

    number: int
    first: int
    second: int
    elements: tuple[int, ...]


@frozen
class AttentionTiles:
    """MMA tiles of queries, keys and elements of results, and the fragments of their products."""

    spec: Attention
    schedule: MmaAttention
    lanes: QueryLanes
    #: Whether query fragments stay in registers; otherwise each block of keys loads them again.
    keeps_queries: bool = True

    @property
    def instruction(self) -> MatrixInstruction:
        return self.lanes.instruction

    @property
    def warp_m(self) -> int:
        return self.schedule.block_m // self.schedule.num_warps

    @property
    def query_tiles(self) -> range:
        return range(self.warp_m // self.instruction.n)

    @property
    def query_rows(self) -> tuple[tuple[int, int], ...]:
        """Number and first row of each MMA tile of queries."""
        return tuple((n, n * self.instruction.n) for n in self.query_tiles)

    @property
    def score_tiles(self) -> tuple[tuple[int, int], ...]:
        """MMA tiles of scores, as pairs of a key tile and a query tile."""
        return tuple((t, n) for t in self.key_tiles for n in self.query_tiles)

    def steps_of(self, group: int, groups: tuple[tuple[int, ...], ...]) -> tuple[ProductStep, ...]:
        """Return the matrix instructions that multiply a group of fragments into an accumulator."""
        last = len(groups) * len(self.parts) - 1
        return tuple(
            ProductStep(
                number=number,
                first=number == 0,
                last=number == last,
                suffix=f".p{part}" if self.split else "",
            )
            for part in range(len(self.parts))
            for number in (group * len(self.parts) + part,)
        )

    @property
    def key_tiles(self) -> range:
        return range(self.schedule.block_n // self.instruction.m)

    @property
    def out_tiles(self) -> range:
        """MMA tiles of the elements of a result."""
        return range(-(-self.spec.out_head // self.instruction.m))

    @property
    def key_positions(self) -> tuple[int, ...]:
        return tuple(tile * self.instruction.m for tile in self.key_tiles)

    @property
    def out_positions(self) -> tuple[int, ...]:
        return tuple(tile * self.instruction.m for tile in self.out_tiles)

    @property
    def group_count(self) -> int:
        return self.lanes.groups

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Elements of a loaded fragment that each matrix instruction multiplies."""
        size = self.instruction.lanes
        loaded = self.instruction.slot_k * len(self.value_groups[0])
        return tuple(tuple(range(first, first + size)) for first in range(0, loaded, size))

    @property
    def split(self) -> bool:
        return len(self.parts) > 1

    @property
    def joined(self) -> bool:
        """Whether a matrix instruction takes two slots."""
        return self.instruction.elements > self.instruction.slot_k

    @property
    def head_groups(self) -> tuple[tuple[int, ...], ...]:
        """Lines of Q and K in each group of fragments that lane group 0 loads together."""
        depth = group_depth(self.instruction, self.lanes.wave)
        lines = -(-self.spec.head // depth) * depth // self.instruction.slot_k
        return line_groups(self.instruction, self.lanes.wave, lines)

    @property
    def value_groups(self) -> tuple[tuple[int, ...], ...]:
        """Lines of V in each group of fragments that lane group 0 loads together."""
        return line_groups(
            self.instruction, self.lanes.wave, self.schedule.block_n // self.instruction.slot_k
        )

    @property
    def lane_lines(self) -> int:
        """Lines from one lane group's first line to the next lane group's."""
        return 0 if self.instruction.whole_depth else 1

    @property
    def element_moves(self) -> tuple[BitMove, ...]:
        """Bit moves from a row of A in an MMA tile to the element of V's head in that row."""
        return self.lanes.element_moves

    @property
    def query_lines(self) -> tuple[int, ...]:
        return tuple(line for group in self.head_groups for line in group)

    @property
    def weight_parts(self) -> tuple[tuple[WeightPart, ...], ...]:
        """Weight operands for each group of fragments of the second product."""
        r, size = self.instruction.registers, self.instruction.elements
        found = []
        for number in range(len(self.value_groups)):
            parts = []
            for part in range(len(self.parts)):
                first = (number * len(self.parts) + part) * size
                tile, register = divmod(first, r)
                parts.append(
                    WeightPart(
                        number=part,
                        first=tile,
                        second=min(tile + 1, len(self.key_tiles) - 1),
                        elements=tuple(range(register, register + size)),
                    )
                )
            found.append(tuple(parts))
        return tuple(found)

    @property
    def register_keys(self) -> tuple[int, ...]:
        """Key of each register of a lane, relative to the lane group's first key."""
        return self.instruction.register_rows

    def tile_keys(self, tile: int) -> tuple[int, ...]:
        return tuple(tile * self.instruction.m + row for row in self.register_keys)

    def keys_vector(self, tile: int) -> str:
        """Return the vector constant of the keys of a tile's registers."""
        return f"<{', '.join(f'i32 {key}' for key in self.tile_keys(tile))}>"

    @property
    def lane_row_of_a(self) -> str:
        """Name of the value with the lane's row of A in an MMA tile."""
        return "%lane_group" if self.instruction.by_lane else "%lane_row"

    @property
    def row_mask(self) -> int:
        return self.instruction.n - 1

    @property
    def row_shift(self) -> int:
        return self.instruction.n.bit_length() - 1

    # -- resources -----------------------------------------------------------------------------

    @property
    def key_depth(self) -> int:
        """Elements per key in LDS, with padding."""
        return max(group_depth(self.instruction, self.lanes.wave), power_of_two(self.spec.head))

    @property
    def value_rows(self) -> int:
        """Elements per value vector in LDS, with padding."""
        return max(self.instruction.m, power_of_two(self.spec.out_head))

    @property
    def block_bytes(self) -> int:
        """Bytes of a block of K and V in LDS."""
        depth = self.key_depth + self.value_rows
        return self.schedule.block_n * depth * weight_dtype(self.spec).itemsize

    @property
    def lds_bytes(self) -> int:
        return self.schedule.num_stages * self.block_bytes

    @property
    def held_registers(self) -> int:
        """Registers for queries, scores, weights, results, and copies on their way to LDS."""
        i, queries = self.instruction, len(self.query_tiles)
        lines = len(self.query_lines if self.keeps_queries else self.head_groups[0])
        slots = lines * queries * WIDEST // 4
        sums = (len(self.key_tiles) + len(self.out_tiles)) * queries * i.registers
        # The first half of the weights is rounded while the scores of the second half are live.
        weights = len(self.key_tiles) * queries * i.registers // 4
        if i.by_lane:  # of all lanes of the same query
            weights = len(self.key_tiles) * queries * self.group_count
        tiles = min(FRAGMENTS_LOADED, max(len(self.key_tiles), len(self.out_tiles)) // 2)
        fragments = tiles * len(self.head_groups[0]) * WIDEST // 4
        copied = self.copied_registers + ADDRESSES * self.copied_registers // (WIDEST // 4)
        return slots + sums + weights + fragments + copied

    @property
    def copied_registers(self) -> int:
        """Registers per lane that hold a block of K and V between memory and LDS."""
        return self.block_bytes // (self.schedule.num_warps * self.lanes.wave * 4)
