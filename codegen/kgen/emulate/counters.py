"""The names under which both emulators count, so that a profile and a budget read the same.

All are sums over the workgroups that ran, except those of `MOST_OF_ANY`.
"""

from __future__ import annotations

#: Counters that are the most of any workgroup.
MOST_OF_ANY = frozenset({"barriers", "copies_in_flight"})

#: What each counter counts. An instruction is one issue by one warp or wave.
MEANING = {
    "instructions": "instructions issued",
    "lane_instructions": "instructions times active lanes",
    "integer": "integer arithmetic, shifts, logic, addresses",
    "float": "floating-point add, multiply, minimum, maximum",
    "fma": "fused multiply-add",
    "special": "exponential, logarithm, reciprocal, square root and the like",
    "convert": "conversions between types",
    "move": "moves, selections, packing",
    "compare": "comparisons and predicate logic",
    "control": "branches and exits",
    "matrix": "matrix instructions of every shape; matrix.NAME counts each",
    "load.global": "loads from global memory",
    "store.global": "stores to global memory",
    "load.shared": "loads from shared memory (LDS), ldmatrix included",
    "store.shared": "stores to shared memory (LDS)",
    "load.other": "loads from local, constant and parameter memory",
    "store.other": "stores to local memory",
    "copy": "asynchronous copies, from single elements to whole tensors' boxes",
    "atomic": "atomic operations and reductions",
    "warp": "shuffles, votes, permutations: exchange between lanes",
    "barrier": "barriers of any scope, waits for copies and for transaction barriers",
    "fence": "memory and proxy fences",
    "prefetch": "software prefetches",
    "other": "anything else",
    "barriers": "barriers of the whole workgroup that one workgroup passed (the most of any)",
    "divergent_branches": "branches that parted the lanes of a warp",
    "shared_wavefronts": "cycles of shared memory (LDS)",
    "shared_wavefronts_ideal": "the same with no bank conflict",
    "bank_conflicts": "shared_wavefronts beyond the ideal",
    "global_load_sectors": "sectors that loads and copies from global memory fetched",
    "global_store_sectors": "sectors that stores and copies to global memory wrote",
    "global_sectors": "both",
    "global_sectors_ideal": "the same with every access contiguous",
    "global_load_bytes": "bytes that lanes asked for from global memory",
    "global_store_bytes": "bytes that lanes wrote to global memory",
    "global_unique_bytes": "different bytes of global memory that were touched",
    "dead_prefetches": "prefetches by instructions that never name a byte of a buffer",
    "copies_in_flight": "bytes of cp.async copies that a workgroup still has under way when it "
    "goes on after a wait for older ones (the most of any): what hides the latency of memory",
}
