"""Schedules of a matmul: block tiles of GPUs, and the blocking of CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from kgen.errors import ScheduleError
from kgen.schedule.schedule import Schedule
from kgen_runtime.values import frozen


@frozen
class GpuMatmul(Schedule):
    """GPU matmul: a block computes a tile of block_m x block_n, in steps of block_k along K."""

    #: [rows] Height of the block tile.
    block_m: int
    #: [columns] Width of the block tile.
    block_n: int
    #: [elements of K] Depth of a K-tile.
    block_k: int
    #: [stages] Buffers in shared memory (LDS), each of one K-tile; a kernel without shared memory
    #: needs 1.
    num_stages: int = 1


@frozen
class MmaMatmul(GpuMatmul):
    """Matrix instructions: each warp or wave owns a warp_m x warp_n piece of the block tile."""

    mainloop: ClassVar[str] = "mma"
    divides: ClassVar[Mapping[str, str]] = {"warp_m": "block_m", "warp_n": "block_n"}
    #: [rows] Height of the tile of a warp (wave).
    warp_m: int
    #: [columns] Width of the tile of a warp (wave).
    warp_n: int

    @property
    def num_warps(self) -> int:
        return (self.block_m // self.warp_m) * (self.block_n // self.warp_n)


@frozen
class SharedMatmul(MmaMatmul):
    """Matrix instructions of AMD GPUs, with rasterisation, split-k and stream-k. The last-arriving
    workgroup of a block tile adds the partial sums."""

    may_be_zero: ClassVar[frozenset[str]] = frozenset({"num_workgroups"})
    #: [block tiles] Rasterisation: height of the groups of block tiles in which workgroups walk the
    #: output, column by column.
    group_m: int = 1
    #: [dies] Dies (XCDs) among which the hardware distributes workgroups in turn; workgroups of one
    #: die get neighbouring block tiles.
    num_xcds: int = 1
    #: [slices] Split-k slices of K, each multiplied by another workgroup.
    split_k: int = 1
    #: [workgroups] Persistent workgroups of stream-k; 0 without stream_k.
    num_workgroups: int = 0
    #: 1 lets num_workgroups workgroups share the K-tiles of the first block tiles equally
    #: (stream-k): those that fill no round of workgroups, or one round if all rounds are full. Each
    #: other block tile has one workgroup.
    stream_k: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stream_k != (self.num_workgroups > 0):
            remedy = "num_workgroups=304" if self.stream_k else "num_workgroups=0"
            raise ScheduleError(
                f"stream_k={int(self.stream_k)} and num_workgroups={self.num_workgroups} "
                f"contradict each other; try {remedy}"
            )
        if self.split_k > 1 and self.num_workgroups:
            raise ScheduleError(
                f"num_workgroups={self.num_workgroups} share all of K, and split_k={self.split_k} "
                "cuts it into slices; try split_k=1"
            )

    def override(self, **fields: int) -> Self:
        """Return a copy with some fields set. split-k turns stream-k off, and the reverse."""
        if fields.get("num_workgroups") == 0 or fields.get("stream_k") == 0:
            fields = {"num_workgroups": 0, "stream_k": 0} | fields
        elif fields.get("num_workgroups"):
            fields = {"split_k": 1, "stream_k": 1} | fields
        elif fields.get("split_k", 1) > 1:
            fields = {"num_workgroups": 0, "stream_k": 0} | fields
        return super().override(**fields)

    @property
    def cuts_k(self) -> bool:
        return self.split_k > 1 or self.stream_k


@frozen
class PingPongMatmul(SharedMatmul):
    """Matrix instructions with two halves of the waves in ping-pong: one half multiplies while the
    other moves data."""

    mainloop: ClassVar[str] = "pingpong"


@frozen
class DirectMatmul(PingPongMatmul):
    """Ping-pong with copies from global memory straight to LDS."""

    mainloop: ClassVar[str] = "direct"
    #: [stages] Buffers in LDS, each of one K-tile.
    num_stages: int = 2


@frozen
class SplitK(GpuMatmul):
    """GPU matmul with split-k."""

    #: [slices] Split-k slices of K, each multiplied by another CTA.
    split_k: int = 1
    #: 1 lets the last-arriving CTA of a block tile add the partial sums; 0 launches a second kernel
    #: for that. 1 needs split_k > 1.
    one_kernel: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.one_kernel and self.split_k == 1:
            raise ScheduleError(
                "one_kernel=1 adds the slices of split-k, and split_k=1 makes none; try split_k=2"
            )

    def override(self, **fields: int) -> Self:
        """Return a copy with some fields set. split_k=1 leaves nothing to add."""
        if fields.get("split_k") == 1:
            fields = {"one_kernel": 0} | fields
        return super().override(**fields)


@frozen
class SplitMatmul(SplitK, MmaMatmul):
    """Matrix instructions (mma.sync) of NVIDIA GPUs, with split-k or stream-k."""

    may_be_zero: ClassVar[frozenset[str]] = frozenset({"num_workgroups"})
    #: [CTAs] Persistent CTAs of stream-k; 0 without stream_k.
    num_workgroups: int = 0
    #: [block tiles] Rasterisation of stream-k: height of the groups of block tiles in which CTAs
    #: walk the output, column by column.
    group_m: int = 1
    #: 1 lets num_workgroups CTAs share the K-tiles of the first block tiles (stream-k): those
    #: that fill no wave of CTAs, and one wave more. Each other block tile has one CTA.
    stream_k: bool = False

    def override(self, **fields: int) -> Self:
        """Return a copy with some fields set. split-k turns stream-k off, and the reverse."""
        if fields.get("split_k", 1) > 1 or fields.get("stream_k") == 0:
            fields = {"stream_k": 0, "num_workgroups": 0, "group_m": 1} | fields
        elif fields.get("stream_k"):
            fields = {"split_k": 1, "one_kernel": 0} | fields
        return super().override(**fields)


@frozen
class PromotedMatmul(SplitMatmul):
    """Matrix instructions whose accumulators have less precision than f32 (fp8)."""

    #: [elements of K] Interval at which the accumulators are added to sums in f32 and start again
    #: from 0; K or more: never.
    promote_k: int = 128


@frozen
class WgmmaMatmul(GpuMatmul):
    """Warpgroups of Hopper (wgmma): one loads by TMA, `consumers` others multiply."""

    mainloop: ClassVar[str] = "wgmma"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"num_workgroups"})
    #: [warpgroups] Warpgroups that multiply. Without pingpong they share the rows of the block tile
    #: (its columns if swap=1), so this divides block_m (block_n).
    consumers: int = 2
    #: 1 computes the transposed product, B^T A^T.
    swap: bool = False
    #: 1 gives each consumer a block tile of its own: one stores while the other multiplies.
    pingpong: bool = False
    #: [CTAs] Height of a cluster: CTAs that compute block tiles of one column and share each tile
    #: of B (multicast).
    cluster_m: int = 1
    #: [CTAs] Width of a cluster: CTAs that compute block tiles of one row and share each tile of A
    #: (multicast).
    cluster_n: int = 1
    #: [CTAs] Persistent CTAs that share all block tiles; 0 gives each block tile a CTA.
    num_workgroups: int = 0
    #: [block tiles] Rasterisation of persistent CTAs: height of the groups of block tiles in which
    #: they walk the output, column by column.
    group_m: int = 1
    #: 1 stores outputs through shared memory by TMA; 0 stores them from registers.
    tma_store: bool = False
    #: [slices] Split-k slices of K, each multiplied by another CTA.
    split_k: int = 1
    #: 1 lets num_workgroups CTAs share the K-tiles of the first block tiles (stream-k): those
    #: that fill no wave of CTAs, and one wave more. Each other block tile has one CTA.
    stream_k: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pingpong:
            self.check_divides("consumers", "block_n" if self.swap else "block_m")

    def override(self, **fields: int) -> Self:
        """Return a copy with some fields set. With split-k each slice has a CTA of its own, which
        stores its sums from registers."""
        if fields.get("split_k", 1) > 1:
            fields = {
                "pingpong": 0,
                "num_workgroups": 0,
                "group_m": 1,
                "tma_store": 0,
                "stream_k": 0,
            } | fields
        return super().override(**fields)

    @property
    def rows(self) -> int:
        """Rows that a consumer multiplies: rows of the block tile, or its columns if `swap`."""
        shared = self.block_n if self.swap else self.block_m
        return shared if self.pingpong else shared // self.consumers

    @property
    def columns(self) -> int:
        """Columns that a consumer multiplies."""
        return self.block_m if self.swap else self.block_n

    @property
    def cluster(self) -> int:
        """CTAs in a cluster."""
        return self.cluster_m * self.cluster_n


@frozen
class PromotedWgmmaMatmul(WgmmaMatmul):
    """Warpgroups of Hopper with accumulators that have less precision than f32 (fp8)."""

    #: [elements of K] Interval at which the accumulators are added to sums in f32 and start again
    #: from 0: block_k, or K or more for never.
    promote_k: int = 128


@frozen
class FmaMatmul(GpuMatmul):
    """Scalar multiply-adds: each thread owns a thread_m x thread_n piece of the block tile."""

    mainloop: ClassVar[str] = "fma"
    divides: ClassVar[Mapping[str, str]] = {"thread_m": "block_m", "thread_n": "block_n"}
    #: [rows] Height of the tile of a thread.
    thread_m: int
    #: [columns] Width of the tile of a thread.
    thread_n: int

    @property
    def num_threads(self) -> int:
        return (self.block_m // self.thread_m) * (self.block_n // self.thread_n)


@frozen
class SplitFmaMatmul(SplitK, FmaMatmul):
    """Scalar multiply-adds with split-k."""


@frozen
class UnstagedMatmul(FmaMatmul):
    """Scalar multiply-adds of operands read straight from global memory, without shared memory."""

    mainloop: ClassVar[str] = "unstaged"
    #: [slices] Groups of threads of a workgroup that take K-tiles in turn and add their partial
    #: sums at the end.
    slices: int = 1

    @property
    def num_threads(self) -> int:
        return super().num_threads * self.slices


@frozen
class CooperativeMatmul(GpuMatmul):
    """Cooperative matrices of Vulkan, of a size that the device supports."""

    mainloop: ClassVar[str] = "coopmat"
    #: [threads] Threads of a workgroup, whose subgroups share the block tile.
    num_threads: int


@frozen
class BlockedMatmul(Schedule):
    """CPU matmul in blocks: an mr x nr register tile inside mc x kc of A and kc x nc of B.

    F. Van Zee and R. van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS
    Functionality", 2015.
    """

    divides: ClassVar[Mapping[str, str]] = {"mr": "mc", "nr": "nc"}
    #: [rows] Height of the register tile.
    mr: int
    #: [columns] Width of the register tile.
    nr: int
    #: [rows] Height of a block of A.
    mc: int
    #: [elements of K] Depth of the blocks of A and B.
    kc: int
    #: [columns] Width of a block of B.
    nc: int
    #: 1 copies a block of A into panels of mr rows before it is multiplied.
    pack_a: bool = True
    #: 1 copies a block of B into panels of nr columns before it is multiplied.
    pack_b: bool = True


@frozen
class CpuMatmul(BlockedMatmul):
    """BLIS blocking: vectors multiply and add, register tile by register tile."""

    mainloop: ClassVar[str] = "blis"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"pair_sums"})
    #: 1 keeps partial sums between blocks of K in the output, 0 in scratch memory. 1 needs kc < K,
    #: an output of the type of the sums, and an epilogue that reads no tensor of the output's
    #: shape.
    sums_in_out: bool = False
    #: [tasks] Most neighbouring tasks that a thread computes in one pass over A, which makes the
    #: rows of B that it reads longer. More than 1 needs sums_in_out=1 (`blis`, `ahead`).
    tasks_per_pass: int = 1
    #: 1: the register tiles of a panel of B prefetch the next panel, each a part of it. 0: they
    #: prefetch the next block of K of an unpacked B (`amx`: nothing).
    prefetch_panel: bool = False
    #: 1: tasks go down a block of columns, and the first one packs all panels of B for the others.
    #: 1 needs pack_b=1, kc >= K, mc < M, and pack_a=0 or nc >= N.
    keep_b: bool = False
    #: [steps of K] Prefetch distance in the rows of an unpacked B of a register tile that packs
    #: them (pack_b=1).
    packing_ahead: int = 8
    #: [steps of K] The same where the tile's part of a row is at most one cache line.
    packing_ahead_narrow: int = 32
    #: [accumulators] A register tile with fewer accumulators than this keeps the sums of the first
    #: and of the second elements of pairs apart, if B is prepacked pairs of bf16 and the registers
    #: hold both; 0 never does.
    pair_sums: int = 8


#: Prefetch distance of a register tile that covers all rows of A, in each panel of a prepacked B.
PANELS_AHEAD = 4096
#: Prefetch distance in the rows (layout tn: columns) of A that the kernel packs.
A_AHEAD = 4


@frozen
class AheadMatmul(CpuMatmul):
    """BLIS blocking with software prefetch of B.

    If B is packed by the kernel, tiles prefetch the panel that is packed next. If B is prepacked,
    or unpacked with one tile for all rows of A, tiles prefetch their own panel.
    """

    mainloop: ClassVar[str] = "ahead"
    may_be_zero: ClassVar[frozenset[str]] = CpuMatmul.may_be_zero | {"prefetch_a"}
    most: ClassVar[Mapping[str, int]] = {"level": 2}
    #: [bytes] Prefetch distance in B; a whole number of rows if B is unpacked.
    ahead: int = PANELS_AHEAD
    #: [cache level] Cache that the prefetch fills.
    level: int = 2
    #: [rows] Prefetch distance in the rows (layout tn: columns) of A that the kernel packs, if it
    #: packs B as well; 0 prefetches nothing.
    prefetch_a: int = A_AHEAD

    @classmethod
    def kind_of(cls, fields: Mapping[str, int]) -> type[Any]:
        return cls if fields["ahead"] else CpuMatmul


@frozen
class CpuSplitMatmul(CpuMatmul):
    """BLIS blocking with split-k of one block of the output (mc >= m, nc >= n): each slice is a
    task, and a second launch adds the partial sums."""

    mainloop: ClassVar[str] = "split-k"
    #: [slices] Split-k slices of K, each a task.
    split_k: int = 2


@frozen
class AmxMatmul(BlockedMatmul):
    """BLIS blocking whose register tile consists of AMX tiles of 16 rows of 64 bytes."""

    mainloop: ClassVar[str] = "amx"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"packer"})
    most: ClassVar[Mapping[str, int]] = {"packer": 2, "band_groups": 16}
    #: 1: the register tiles of a panel of B prefetch the next panel, each a part of it. 0: they
    #: prefetch the next block of K of an unpacked B (`amx`: nothing).
    prefetch_panel: bool = False
    #: [0 to 2] Who packs B: 0 a launch before the product, for all tasks; 1 each task, on its
    #: stack, which needs nc >= N; 2 the register tiles, each panel beside the products of the one
    #: before, which needs a row-major B, mr < M <= mc, nr < N, and nr and kc that divide N and K.
    #: A prepacked B needs 0.
    packer: int = 0
    #: 1 keeps the packed rows of A of each task in a workspace, 0 on the stack. 1 needs pack_a=1.
    a_in_workspace: bool = False
    #: [groups] Groups of rows of B that are packed in one pass over the columns (`packer` 0 and 1);
    #: divides 16.
    band_groups: int = 8


@frozen
class DotMatmul(BlockedMatmul):
    """BLIS blocking around dot-product instructions, which multiply groups of K: two bf16 or four
    s8. On x86-64 without VNNI, pack_b=1 with a prepacked B of s8 splits B in each task, so that
    pairs of products fit in 16 bits; it needs pack_a=1. It is chosen if the build knows values of B
    for which it is faster."""

    mainloop: ClassVar[str] = "dot"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"ahead"})
    #: [bytes] Prefetch distance in the panels of a prepacked B; 0 prefetches nothing.
    ahead: int = 0
    #: 1: tasks go down a block of columns, and the first one packs all panels of B for the others.
    #: 1 needs pack_b=1, kc >= K, mc < M, and pack_a=0 or nc >= N.
    keep_b: bool = False
    #: [steps of K] Prefetch distance in the rows of an unpacked B of a register tile that packs
    #: them (pack_b=1).
    packing_ahead: int = 8


@frozen
class LimbsMatmul(BlockedMatmul):
    """BLIS blocking of a B of 8 or 4 bits, with A in block floating point: the elements of a block
    of kc of K are integers that share an exponent, each in three or four signed bytes (limbs)."""

    mainloop: ClassVar[str] = "limbs"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"ahead"})
    #: [bytes] Prefetch distance in the panels of B; 0 prefetches nothing.
    ahead: int = 0


@frozen
class InnerMatmul(BlockedMatmul):
    """Inner products of mr rows of A and nr columns of B along all of K (kc = K), for operands that
    are contiguous along K; pack_b=1 transposes a B that is not."""

    mainloop: ClassVar[str] = "inner"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"prefetch"})
    most: ClassVar[Mapping[str, int]] = {"level": 2}
    #: [vectors] Vectors along K per iteration of the loop, each with its own accumulators.
    unroll: int = 1
    #: [tiles] Prefetch distance. The kernel prefetches columns of B if K is blocked, else rows of A
    #: if the output has more rows than columns or B is transposed. 0 prefetches nothing.
    prefetch: int = 2
    #: [cache level] Cache that the prefetch fills.
    level: int = 2


@frozen
class OuterMatmul(BlockedMatmul):
    """Outer products of all rows of A (mr = mc = M) and `parts` rows of B at once; the accumulators
    of nc columns stay in a cache, and nothing is packed."""

    mainloop: ClassVar[str] = "outer"
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"prefetch"})
    most: ClassVar[Mapping[str, int]] = {"level": 2}
    divides: ClassVar[Mapping[str, str]] = {**BlockedMatmul.divides, "parts": "kc"}
    #: [streams] Rows of B that are read at the same time, each kc / parts rows from the next.
    parts: int = 4
    #: [rows] Rows of B that each stream prefetches; 0 prefetches nothing.
    prefetch: int = 2
    #: [rows] Distance from one prefetched row of B to the next.
    apart: int = 1
    #: [cache level] Cache that the prefetch fills.
    level: int = 2
    #: [tasks] Most neighbouring tasks that a thread computes in one pass over A, which makes the
    #: rows of B that it reads longer. More than 1 needs sums_in_out=1 (`blis`, `ahead`).
    tasks_per_pass: int = 1
    #: 1 uses vectors of half a cache line on targets whose vectors have a whole line.
    halves: bool = False
    #: 1 widens bf16 to f32 on targets that could multiply pairs of bf16 instead.
    words: bool = False
