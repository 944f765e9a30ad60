"""Products of attention by multiply-adds, with the lanes of mma.sync.

Lane l holds sums of rows l / 4 and l / 4 + 8, and of columns 2 (l % 4) and one more, of each 16x8
product, as it does for mma.m16n8. So the softmax, masks and stores do not depend on how products
are computed. A lane reads the rows of Q and K that its scores belong to, a few elements of the head
at a time. For the second product, the lanes of a row exchange their weights, a key at a time.
"""

from __future__ import annotations

from kgen.targets.cuda.plan.mma.fragments import EIGHT, PIECE, FragmentLoad, MmaOperand
from kgen.targets.cuda.plan.mma.instruction import MatrixInstruction
from kgen.targets.cuda.plan.mma.matmul import KStep
from kgen.targets.cuda.plan.mma.products import ZERO, Mma, Products
from kgen_runtime.values import frozen

#: Elements of a head that a lane multiplies at a time: one access.
HEAD_STEP = 4
#: Columns of a product that a lane holds next to each other.
PAIR = 2
MULTIPLY_ADD = MatrixInstruction(name="fma.rn.f32", feature="", itemsize=4, depth=1)


@frozen
class LaneOperand(MmaOperand):
    """Elements of Q, K or V that each lane reads from the tile of its warp.

    The lane's first place in the tile is `lane` >> `lane_shift` & `lane_mask`, times `lane_bytes`.
    """

    lane_shift: int
    lane_mask: int
    lane_bytes: int

    @property
    def places(self) -> tuple[int, ...]:
        """Distances from the lane's first row, or from the first column of its pairs in V."""
        pieces = range(0, self.extent, PIECE)
        if self.is_a:
            return tuple(first + half for first in pieces for half in (0, EIGHT))
        ends = (0,) if not self.k_inner else range(PAIR)
        return tuple(first + half + end for first in pieces for half in (0, EIGHT) for end in ends)

    def element(self, free: int, number: int) -> str:
        """Return the register of an element: `number` of an access to Q or K, column of V."""
        if not self.k_inner:
            return f"{self.name}_n{free + number}"
        return f"{self.name}_{'m' if self.is_a else 'n'}{free}_k{number}"

    def _elements(self, free: int) -> tuple[str, ...]:
        count = HEAD_STEP if self.k_inner else PAIR
        return tuple(self.element(free, number) for number in range(count))

    def loads(self, k: int) -> tuple[FragmentLoad, ...]:
        found = []
        for free in self.places:
            xor, offset = self.offset(free, k)
            registers = self._elements(free)
            found.append(
                FragmentLoad(
                    name=self.name,
                    instruction=f"ld.shared.v{len(registers)}.f32",
                    registers=registers,
                    xor=xor,
                    offset=offset,
                )
            )
        return tuple(found)

    @property
    def pieces(self) -> tuple[tuple[str, ...], ...]:
        return tuple(map(self._elements, self.places))


@frozen
class Exchange:
    """Weight of a row for a key. Lane `lane` of the row's four lanes has it in register `score`."""

    register: str
    score: str
    lane: int


@frozen
class LaneProducts(Products):
    """Products by multiply-adds of registers; A is Q, or the weights."""

    @property
    def k_steps(self) -> tuple[int, ...]:
        assert isinstance(self.b, LaneOperand)
        return self.b.k_steps

    def step(self, k: int) -> KStep:
        """Return the step of k with the loads of its elements. All steps are equally long."""
        b = self.b
        assert isinstance(b, LaneOperand)
        loaded = (self.a, b) if isinstance(self.a, LaneOperand) else (b,)
        depth = HEAD_STEP if b.k_inner else 1
        return KStep(
            k=k,
            last=k + depth - 1,
            rounded=(),
            paired=(),
            mmas=tuple(self._multiply_adds(k, depth)),
            promoted=(),
            loads=tuple(load for operand in loaded for load in operand.loads(k)),
            shares=(),
            turns=False,
        )

    def _multiply_adds(self, k: int, depth: int) -> list[Mma]:
        a, b = self.a, self.b
        assert isinstance(b, LaneOperand)
        found = []
        for number in range(depth):
            for m in self.rows:
                left = a.element(m, number) if isinstance(a, LaneOperand) else f"p_m{m}"
                for n in self.cols:
                    right = b.element(n, number if b.k_inner else 0)
                    acc = f"{self.into}_m{m}_n{n}"
                    begins = b.k_inner and k + number == 0
                    c = ZERO if begins else acc
                    found.append(Mma(d=(acc,), a=(left,), b=(right,), c=(c,)))
        return found

    def exchanges(self, key: int) -> tuple[Exchange, ...]:
        """Return the exchanges of a key's weights among the lanes of each row."""
        lane, column = divmod(key % EIGHT, PAIR)
        score = key // EIGHT * EIGHT + column
        return tuple(
            Exchange(register=f"p_m{m}", score=f"s_m{m}_n{score}", lane=lane) for m in self.rows
        )
