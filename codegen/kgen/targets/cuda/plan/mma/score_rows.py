"""Rows of scores in a lane's registers, and the instructions that reduce a row to one value."""

from __future__ import annotations

from kgen_runtime.values import frozen


@frozen
class FoldedPair:
    """Instruction that folds scores of a row: `to` = `x` combined with `y`."""

    to: str
    x: str
    y: str


@frozen
class ScoreRow:
    """Scores of a lane in one of its rows, which is `offset` rows after its first one.

    The position of the row's query is the lane's first position plus the operand `query`.
    """

    offset: int
    query: str
    scores: tuple[str, ...]
    sums: tuple[str, ...]
    columns: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"m{self.offset}"

    @property
    def query_register(self) -> str:
        """Name of the register with the row's query, if it has one."""
        return self.query.removeprefix("%")

    @property
    def placed(self) -> tuple[tuple[str, int], ...]:
        """Scores with their distances from the lane's first column."""
        return tuple(zip(self.scores, self.columns, strict=True))

    def folds(self, result: str) -> tuple[FoldedPair, ...]:
        """Return the fold of the row's scores into a register, in two chains."""
        chains = (f"{result}_{self.name}", f"other_{self.name}")
        found = [
            FoldedPair(to=chain, x=self.scores[i], y=self.scores[i + 2])
            for i, chain in enumerate(chains)
        ]
        for i, score in enumerate(self.scores[4:]):
            found.append(FoldedPair(to=chains[i % 2], x=chains[i % 2], y=score))
        return (*found, FoldedPair(to=chains[0], x=chains[0], y=chains[1]))
