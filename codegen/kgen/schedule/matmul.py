"""Tilings of a matmul: GPU tiles for the two kinds of main loop, and CPU blocking."""

from __future__ import annotations

from typing import ClassVar, Self

from kgen.errors import ScheduleError
from kgen.schedule.base import Schedule
from kgen_runtime.values import frozen


@frozen
class GpuMatmul(Schedule):
    """What all GPU main loops have: a block tile of block_m x block_n, fed block_k at a time."""

    block_m: int
    block_n: int
    block_k: int
    num_stages: int = 1

    def __post_init__(self) -> None:
        self.check_positive()


@frozen
class MmaMatmul(GpuMatmul):
    """Matrix instructions: each warp (wave, subgroup) owns a warp_m x warp_n piece of the tile."""

    mainloop: ClassVar[str] = "mma"
    warp_m: int
    warp_n: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_divides("warp_m", "block_m")
        self.check_divides("warp_n", "block_n")

    @property
    def num_warps(self) -> int:
        return (self.block_m // self.warp_m) * (self.block_n // self.warp_n)


@frozen
class SharedMatmul(MmaMatmul):
    """Matrix instructions, and how workgroups share the output and k.

    Block tiles are numbered in groups of `group_m` rows of them, column by column; of `num_xcds`
    dies, which workgroups go round, each has neighbours. `split_k` workgroups share k of a block
    tile; or `num_workgroups` persistent ones have an equal share of all K-tiles (stream-k; 0: each
    block tile has a workgroup). Whichever workgroup comes last at a block tile adds the parts.
    """

    may_be_zero: ClassVar[frozenset[str]] = frozenset({"num_workgroups"})
    group_m: int = 1
    num_xcds: int = 1
    split_k: int = 1
    num_workgroups: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.split_k > 1 and self.num_workgroups:
            raise ScheduleError(
                f"num_workgroups={self.num_workgroups} share all of k, and split_k={self.split_k} "
                "cuts it; try split_k=1"
            )

    def override(self, **fields: int) -> Self:
        """As for all schedules. What is asked for turns off what cannot be beside it."""
        if fields.get("split_k", 1) > 1:
            fields = {"num_workgroups": 0} | fields
        elif fields.get("num_workgroups"):
            fields = {"split_k": 1} | fields
        return super().override(**fields)

    @property
    def cuts_k(self) -> bool:
        return self.split_k > 1 or self.num_workgroups > 0


@frozen
class PingPongMatmul(SharedMatmul):
    """Matrix instructions with the waves in two halves that alternate: while one multiplies, the
    other moves data. Each K-tile is multiplied in phases, and one half is half a phase behind."""

    mainloop: ClassVar[str] = "pingpong"


@frozen
class DirectMatmul(PingPongMatmul):
    """The same with copies from global memory straight to LDS, of which there are two stages."""

    mainloop: ClassVar[str] = "direct"
    num_stages: int = 2


@frozen
class SplitK(GpuMatmul):
    """k is cut in `split_k` parts that different blocks multiply. A second kernel adds them or,
    with `one_kernel`, whichever block of an output tile comes last."""

    split_k: int = 1
    one_kernel: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.one_kernel and self.split_k == 1:
            raise ScheduleError(
                "one_kernel=1 adds split-k slices, and split_k=1 has none; try split_k=2"
            )

    def override(self, **fields: int) -> Self:
        """As for all schedules. A single part needs no one to add it."""
        if fields.get("split_k") == 1:
            fields = {"one_kernel": 0} | fields
        return super().override(**fields)


@frozen
class SplitMatmul(SplitK, MmaMatmul):
    """Matrix instructions, with k cut in parts; or, with `stream_k`, `num_ctas` blocks that share
    all output tiles along k, in groups of `group_m` rows of them."""

    may_be_zero: ClassVar[frozenset[str]] = frozenset({"num_ctas"})
    num_ctas: int = 0
    group_m: int = 1
    stream_k: bool = False

    def override(self, **fields: int) -> Self:
        """As for all schedules. What is asked for turns off what cannot be beside it."""
        if fields.get("split_k", 1) > 1 or fields.get("stream_k") == 0:
            fields = {"stream_k": 0, "num_ctas": 0, "group_m": 1} | fields
        elif fields.get("stream_k"):
            fields = {"split_k": 1, "one_kernel": 0} | fields
        return super().override(**fields)


@frozen
class PromotedMatmul(SplitMatmul):
    """The same where matrix instructions add with few bits: after every `promote_k` of k their sums
    are added to others in f32, and begin again. A promote_k of all of k never does that."""

    promote_k: int = 128


@frozen
class WgmmaMatmul(GpuMatmul):
    """Warpgroups of Hopper: one loads, `consumers` others multiply rows of the block tile each.

    With `swap` operands change places: the product's transpose, B^T A^T, is computed, and
    consumers share the columns of the block tile. With `pingpong` each multiplies a block tile of
    its own, one storing while another multiplies. `cluster_m` CTAs, one above another, load each
    column tile of B together, or `cluster_n`, side by side, each row tile of A. `num_ctas` CTAs
    share all block tiles (0: each has one), in groups of `group_m` rows of them. `tma_store`:
    outputs go out through shared memory and TMA. `split_k`: k is cut in so many parts, which
    different CTAs multiply. `stream_k`: persistent CTAs share the last block tiles along k.
    """

    mainloop: ClassVar[str] = "wgmma"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"num_ctas"})
    consumers: int = 2
    swap: bool = False
    pingpong: bool = False
    cluster_m: int = 1
    cluster_n: int = 1
    num_ctas: int = 0
    group_m: int = 1
    tma_store: bool = False
    split_k: int = 1
    stream_k: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pingpong:
            self.check_divides("consumers", "block_n" if self.swap else "block_m")

    def override(self, **fields: int) -> Self:
        """As for all schedules. Split-k slices leave no choice of what is for many tiles: each has
        a CTA, and sums to store from registers."""
        if fields.get("split_k", 1) > 1:
            fields = {
                "pingpong": 0,
                "num_ctas": 0,
                "group_m": 1,
                "tma_store": 0,
                "stream_k": 0,
            } | fields
        return super().override(**fields)

    @property
    def rows(self) -> int:
        """Of what a consumer multiplies: the block tile's, or its columns if `swap`."""
        shared = self.block_n if self.swap else self.block_m
        return shared if self.pingpong else shared // self.consumers

    @property
    def columns(self) -> int:
        """Of the same."""
        return self.block_m if self.swap else self.block_n

    @property
    def cluster(self) -> int:
        """CTAs in a cluster."""
        return self.cluster_m * self.cluster_n


@frozen
class PromotedWgmmaMatmul(WgmmaMatmul):
    """The same where the instruction adds with few bits, as in PromotedMatmul."""

    promote_k: int = 128


@frozen
class FmaMatmul(GpuMatmul):
    """Scalar multiply-adds: each thread owns a thread_m x thread_n piece of the tile."""

    mainloop: ClassVar[str] = "fma"
    thread_m: int
    thread_n: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_divides("thread_m", "block_m")
        self.check_divides("thread_n", "block_n")

    @property
    def num_threads(self) -> int:
        return (self.block_m // self.thread_m) * (self.block_n // self.thread_n)


@frozen
class SplitFmaMatmul(SplitK, FmaMatmul):
    """The same, with k cut in parts."""


@frozen
class UnstagedMatmul(FmaMatmul):
    """The same straight from global memory, with nothing staged; `slices` parts of a block multiply
    K-tiles in turn, and add up what they have in the end."""

    mainloop: ClassVar[str] = "unstaged"
    slices: int = 1

    @property
    def num_threads(self) -> int:
        return super().num_threads * self.slices


@frozen
class CooperativeMatmul(GpuMatmul):
    """Matrices that a subgroup multiplies together, of the size that the device has: the subgroups
    of `num_threads` threads share the tile."""

    mainloop: ClassVar[str] = "coopmat"
    num_threads: int


def check_level(level: int) -> None:
    """Of a cache that tiles fetch into."""
    if level not in (1, 2):
        raise ScheduleError(f"level={level} is no cache that tiles fetch into; try level=1 or 2")


@frozen
class CpuMatmul(Schedule):
    """BLIS blocking: an mr x nr register tile inside mc x kc of A and kc x nc of B.

    `pack_a`, `pack_b`: whether each is copied next to itself before it is multiplied (F. Van Zee
    and R. van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality", 2015).
    """

    mainloop: ClassVar[str] = "blis"
    mr: int
    nr: int
    mc: int
    kc: int
    nc: int
    pack_a: bool = True
    pack_b: bool = True

    def __post_init__(self) -> None:
        self.check_positive()
        self.check_divides("mr", "mc")
        self.check_divides("nr", "nc")


#: Bytes that a tile of all rows reads ahead in each panel of a B that comes packed: 4 x 2048 x 2048
#: takes 432 us with none, 390 with 2048, 348 with 4096, 6 x 2048 x 2048 678, 512 and 493; on AVX2
#: 911, 731 and 542, and 1197, 869 and 699 (Zen 4).
PANELS_AHEAD = 4096


@frozen
class AheadMatmul(CpuMatmul):
    """The same blocking, whose register tiles fetch B: some rows each of the panel that is packed
    next, where B is packed as it lies; what they read `ahead` bytes later of their own panels, into
    the cache of `level` 1 or 2, where it comes packed, or lies in rows that one tile of all rows of
    A takes along all of K."""

    mainloop: ClassVar[str] = "ahead"
    ahead: int = PANELS_AHEAD
    level: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_level(self.level)


@frozen
class CpuSplitMatmul(CpuMatmul):
    """Split-k of the same blocking: one block of out (mc >= m, nc >= n), whose K is cut into
    `split_k` slices, a task each; the sums of slices are added up in a launch of their own."""

    mainloop: ClassVar[str] = "split-k"
    split_k: int = 2


@frozen
class AmxMatmul(CpuMatmul):
    """The same blocking with mr x nr made of AMX tiles of 16 rows x 64 bytes."""

    mainloop: ClassVar[str] = "amx"


@frozen
class DotMatmul(CpuMatmul):
    """The same blocking around dot products of groups of K: two bf16 or four s8 at a time. Tiles
    fetch what they read `ahead` bytes later of their panels, where B comes packed."""

    mainloop: ClassVar[str] = "dot"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"ahead"})
    ahead: int = 0


@frozen
class LimbsMatmul(CpuMatmul):
    """The same blocking of a B of few bits, with A in block floating point: the numbers of each
    block of kc of K are integers of one exponent, each in three or four signed bytes (limbs).
    Tiles fetch what they read `ahead` bytes later of their panels."""

    mainloop: ClassVar[str] = "limbs"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"ahead"})
    ahead: int = 0


@frozen
class InnerMatmul(CpuMatmul):
    """Inner products of mr rows of A with nr columns of B, vectors along all of K (kc = k),
    `unroll` of them at a time, for operands whose K lies side by side; pack_b: for a B whose few
    columns do, which is transposed. Where K is cut into blocks, what `prefetch` tiles behind read
    of B is fetched meanwhile, and where out has more rows than columns or B is transposed, what a
    tile so many below reads of A; into the cache of `level` 1 or 2."""

    mainloop: ClassVar[str] = "inner"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"prefetch"})
    unroll: int = 1
    prefetch: int = 2
    level: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_level(self.level)


@frozen
class OuterMatmul(CpuMatmul):
    """All rows of A (mr = mc = m) by `parts` rows of B at once, each from another part of kc of K,
    nr columns at a time over nc; the sums of nc columns stay in a cache, and nothing is packed.
    `prefetch`: so many rows behind each are fetched meanwhile, `apart` rows from one to the next,
    into the cache of `level` 1 or 2.
    `together`: so many tasks at most are one pass if one thread has them, for the longer the rows,
    the better memory follows. `halves`: in vectors of half a line where the target's have a whole
    one, and `words`: bf16 widened in words where the target multiplies pairs, as what asks for
    lines faster than memory gives them is no faster."""

    mainloop: ClassVar[str] = "outer"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"prefetch"})
    parts: int = 4
    prefetch: int = 2
    apart: int = 1
    level: int = 2
    together: int = 1
    halves: bool = False
    words: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_level(self.level)
        self.check_divides("parts", "kc")
