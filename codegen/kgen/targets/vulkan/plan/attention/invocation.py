"""Work of an invocation: scores, accesses of results, multiply-adds, and conditions."""

from __future__ import annotations

from kgen_runtime.values import frozen


@frozen
class FusedStep:
    """`result` = `a` * `b` + `before`; all are ids."""

    result: str
    a: str
    b: str
    before: str


@frozen
class Conjunction:
    """Id `name`, which is true if all conditions are; one condition is the result itself."""

    name: str
    conditions: tuple[str, ...]

    @property
    def steps(self) -> tuple[tuple[str, str, str], ...]:
        """Ids of each result and its two operands."""
        found: list[tuple[str, str, str]] = []
        before = self.conditions[0] if self.conditions else ""
        for number, condition in enumerate(self.conditions[1:], 2):
            to = self.name if number == len(self.conditions) else f"{self.name}_{number}"
            found.append((to, before, condition))
            before = to
        return tuple(found)

    @property
    def result(self) -> str:
        return self.name if self.steps else self.conditions[0]


@frozen
class HeadColumn:
    """Access of an invocation along the elements of a value and of the result.

    `is_partial`: some invocations have no such access; `distance` is from the first one.
    """

    number: int
    distance: int
    is_partial: bool


@frozen
class Score:
    """Score of row `row` and key `key` of an invocation."""

    row: int
    key: int

    @property
    def name(self) -> str:
        return f"q{self.row}_k{self.key}"
