"""Outputs of an invocation of a matmul, and their stores."""

from __future__ import annotations

from kgen.spec import Extent, Matmul
from kgen.targets.batch import BatchTerm, batch_terms
from kgen.targets.contraction.implicit_gemm import vector_terms
from kgen.targets.powers_of_two import log2
from kgen.targets.vulkan.plan.matmul.matrix import in_accesses
from kgen.targets.vulkan.plan.memory import vector_type
from kgen_runtime.values import frozen

#: Most neighbouring values of an invocation.
MAX_GROUP = 4


@frozen
class Number:
    """Value of an invocation: number `member` of group `group`."""

    number: int
    group: int
    member: int


@frozen
class ThreadOutputs:
    """Outputs of a tile along m or n: `per_thread` for each invocation, in groups of neighbours.

    Between two groups of an invocation are groups of all other invocations.
    """

    size: int
    block: int
    per_thread: int

    @property
    def group(self) -> int:
        return min(MAX_GROUP, self.per_thread)

    @property
    def type(self) -> str:
        """Type of a group of f32."""
        return vector_type("float", self.group) if self.has_groups else "float"

    @property
    def has_groups(self) -> bool:
        """Whether a group has several neighbours."""
        return self.group > 1

    @property
    def threads(self) -> int:
        return self.block // self.per_thread

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """Number of each group, and its distance from the first, in groups."""
        return tuple((j, j * self.threads) for j in range(self.per_thread // self.group))

    @property
    def values(self) -> tuple[tuple[int, int], ...]:
        """Number of each value, and its distance from the first."""
        step = self.group * self.threads
        return tuple((i, i // self.group * step + i % self.group) for i in range(self.per_thread))

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Values by number, with their group and their position in it."""
        return tuple(
            Number(number=i, group=i // self.group, member=i % self.group)
            for i in range(self.per_thread)
        )

    @property
    def members(self) -> range:
        """Numbers of the members of a group."""
        return range(self.group)

    @property
    def clamped(self) -> bool:
        """Whether tiles extend past the edge of the matrix; values read from there are not used."""
        return self.size % self.block != 0

    @property
    def blocks(self) -> int:
        return -(-self.size // self.block)


@frozen
class SumGroup:
    """Accumulators of an invocation: row number `m` and column group number `n`."""

    m: int
    n: int

    @property
    def name(self) -> str:
        return f"m{self.m}_n{self.n}"


@frozen
class Outputs:
    """Outputs of each invocation, thread_m x thread_n.

    A group of columns is one vector. It is stored `width` columns at a time, which are all inside
    or all outside of the matrix.
    """

    spec: Matmul
    m: ThreadOutputs
    n: ThreadOutputs
    width: int

    @property
    def sums(self) -> tuple[SumGroup, ...]:
        return tuple(SumGroup(m=m, n=n) for m, _ in self.m.values for n, _ in self.n.groups)

    @property
    def type(self) -> str:
        return self.n.type

    @property
    def is_vector(self) -> bool:
        return self.n.has_groups

    @property
    def zero(self) -> str:
        """Id of a vector of zeros."""
        return f"{self.type}_zero" if self.is_vector else "float_0"

    @property
    def guarded(self) -> bool:
        return self.m.clamped or self.n.clamped

    @property
    def stores(self) -> tuple[SumGroupStore, ...]:
        return tuple(
            SumGroupStore(m=m, n=n, members=members)
            for m, _ in self.m.values
            for n, _ in self.n.groups
            for members in self._accesses
        )

    @property
    def _accesses(self) -> tuple[tuple[int, ...], ...]:
        """Members of a group, one tuple per store."""
        members = tuple(self.n.members)
        return tuple(members[i : i + self.width] for i in range(0, len(members), self.width))

    @property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """Name of each access's column, and its distance from the first, in accesses."""
        return tuple(
            (column_name(n, members), (distance * self.n.group + members[0]) // self.width)
            for n, distance in self.n.groups
            for members in self._accesses
        )

    @property
    def block_columns(self) -> int:
        """Accesses of a tile along n."""
        return self.n.block // self.width

    @property
    def thread_columns(self) -> int:
        """Accesses from an invocation's first column to its neighbour's."""
        return self.n.group // self.width

    @property
    def row_accesses(self) -> int:
        """Accesses of a row of the matrix."""
        return self.n.size // self.width

    @property
    def row_stride(self) -> int:
        return self.spec.out_strides[1] // self.width

    @property
    def batch_terms(self) -> tuple[BatchTerm, ...]:
        return in_accesses(batch_terms(self.spec, "c"), self.width)

    @property
    def column_terms(self) -> tuple[BatchTerm, ...]:
        """Batch terms of a vector along n, in accesses."""
        return in_accesses(vector_terms(self.spec, Extent.N, 1), self.width)

    @property
    def row_terms(self) -> tuple[BatchTerm, ...]:
        """Batch terms of a vector along m, in elements."""
        return vector_terms(self.spec, Extent.M, 1)

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(row_name(m) for m, _ in self.m.values)

    @property
    def threads_n_mask(self) -> int:
        return self.n.threads - 1

    @property
    def threads_n_log2(self) -> int:
        return log2(self.n.threads)


@frozen
class SumGroupStore:
    """Access to the output: `members` of the accumulators of row `m` and column group `n`."""

    m: int
    n: int
    members: tuple[int, ...]

    @property
    def sum(self) -> SumGroup:
        return SumGroup(m=self.m, n=self.n)

    @property
    def name(self) -> str:
        return f"m{self.m}_{self.column[len('col_') :]}"

    @property
    def column(self) -> str:
        return column_name(self.n, self.members)


def row_name(m: int) -> str:
    return f"row_m{m}"


def column_name(n: int, members: tuple[int, ...]) -> str:
    """Return the name of an access's column, which has the number of its first member."""
    return f"col_n{n}_{members[0]}"
