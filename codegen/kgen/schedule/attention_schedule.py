"""Schedules of attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kgen.schedule.schedule import Schedule
from kgen_runtime.values import frozen


@frozen
class CpuAttention(Schedule):
    """Online softmax: scores of `block_q` queries and `block_k` keys at a time, both products in
    register tiles. Queries of all heads that share a K/V head count as rows of one matrix."""

    mainloop: ClassVar[str] = "attention"
    divides: ClassVar[Mapping[str, str]] = {"mr": "block_q"}
    #: [rows] Queries of a task; a multiple of mr.
    block_q: int
    #: [keys] Keys whose scores are computed at a time; a multiple of a vector's elements.
    block_k: int
    #: [rows] Rows of a register tile.
    mr: int
    #: [vectors] Columns of a register tile, in vectors.
    nv: int
    #: Whether blocks of V are copied, without gaps, before they are multiplied: as f32, or in pairs
    #: of keys (`dots`).
    pack_v: bool
    #: Whether scores are dot products of pairs of bf16. With `pack_v`, results are so, too, and
    #: weights are rounded to bf16.
    dots: bool = False
    #: Whether blocks of K are transposed before they are multiplied. Otherwise a score is an inner
    #: product, added up across the lanes of a vector.
    pack_k: bool = True


@frozen
class MmaAttention(Schedule):
    """Online softmax in registers: each warp multiplies its part of `block_m` queries with
    `block_n` keys at a time by matrix instructions, and the weights, which stay in registers, with
    the values."""

    mainloop: ClassVar[str] = "mma"
    divides: ClassVar[Mapping[str, str]] = {"num_warps": "block_m"}
    #: [rows] Queries of a CTA, which its warps divide.
    block_m: int
    #: [keys] Keys whose scores are computed at a time.
    block_n: int
    #: [warps] Warps of a CTA.
    num_warps: int
    #: [stages] Buffers in shared memory, each of `block_n` keys and values; 1 on AMD.
    num_stages: int = 2
    #: Whether the queries of all heads that share a K/V head are rows of one matrix, so that their
    #: workgroup reads keys and values once for all of them.
    packs_heads: bool = False
    #: [parts] Parts of the keys, each attended to by another workgroup; a second kernel combines
    #: their results.
    split_k: int = 1


@frozen
class FmaAttention(MmaAttention):
    """Online softmax in registers, with products by scalar multiply-adds: lanes of a warp read the
    elements of queries, keys and values that they multiply from shared memory."""

    mainloop: ClassVar[str] = "fma"


@frozen
class PingPongAttention(MmaAttention):
    """Online softmax in registers with two halves of the waves in ping-pong: one half multiplies
    while the other computes weights."""

    mainloop: ClassVar[str] = "pingpong"
    #: [stages] Buffers in LDS, each of `block_n` keys and values: always 4.
    num_stages: int = 4


@frozen
class WgmmaAttention(Schedule):
    """Online softmax by warpgroups of Hopper (wgmma): one loads by TMA, the others multiply 64
    queries each with `block_n` keys at a time, and the weights, which stay in registers, with the
    values."""

    mainloop: ClassVar[str] = "wgmma"
    #: [queries] Queries of a CTA: 64 for each warpgroup that multiplies.
    block_m: int
    #: [keys] Keys whose scores are computed at a time.
    block_n: int
    #: [stages] Buffers in shared memory, each of `block_n` keys and values.
    num_stages: int = 2
    #: 1 lets two warpgroups multiply in turn: one finds weights while the other multiplies.
    pingpong: bool = False

    @property
    def consumers(self) -> int:
        """Warpgroups that multiply."""
        return self.block_m // 64


@frozen
class UnstagedAttention(Schedule):
    """Online softmax by scalar multiply-adds of operands read straight from global memory; weights
    go through shared memory. Queries of all heads that share a K/V head count as rows of one
    matrix."""

    mainloop: ClassVar[str] = "unstaged"
    divides: ClassVar[Mapping[str, str]] = {"thread_q": "block_q", "thread_k": "block_k"}
    #: [rows] Queries of a workgroup.
    block_q: int
    #: [keys] Keys whose scores are computed at a time.
    block_k: int
    #: [rows] Queries of a thread.
    thread_q: int
    #: [keys] Keys of a block whose scores a thread computes. The threads of the same queries also
    #: divide the elements of the result.
    thread_k: int

    @property
    def lanes(self) -> int:
        """Threads with the same queries."""
        return self.block_k // self.thread_k

    @property
    def num_threads(self) -> int:
        return self.block_q // self.thread_q * self.lanes


@frozen
class CooperativeAttention(Schedule):
    """Online softmax by cooperative matrices: blocks of keys and values go through shared memory,
    and so do scores and weights. Queries of all heads that share a K/V head count as rows of one
    matrix."""

    mainloop: ClassVar[str] = "coopmat"
    divides: ClassVar[Mapping[str, str]] = {"block_q": "num_threads"}
    #: [rows] Queries of a workgroup.
    block_q: int
    #: [keys] Keys whose scores are computed at a time.
    block_k: int
    #: [threads] Threads of a workgroup; those of one query divide its keys of a block.
    num_threads: int

    @property
    def lanes(self) -> int:
        """Threads with the same query."""
        return self.num_threads // self.block_q

    @property
    def thread_q(self) -> int:
        """Queries of a thread."""
        return 1

    @property
    def thread_k(self) -> int:
        """Keys of a block of which a thread computes the weights."""
        return self.block_k // self.lanes
