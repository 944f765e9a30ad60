"""Names of the counters of both emulators, which profiles and budgets share.

Counters are sums over the workgroups that ran, except those of `MOST_OF_ANY`.
"""

from __future__ import annotations

#: Counters that are the maximum over the workgroups.
MOST_OF_ANY = frozenset({"barriers", "copies_in_flight"})

#: Meaning of each counter. An instruction counts once per warp or wave that issues it.
MEANING = {
    "instructions": "instructions issued",
    "lane_instructions": "instructions, each times its active lanes",
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
    "copy": "asynchronous copies: cp.async, bulk copies, TMA, loads to LDS",
    "atomic": "atomic operations and reductions",
    "warp": "shuffles, votes, permutations",
    "barrier": "barriers of any scope, waits for copies and mbarriers",
    "fence": "memory and proxy fences",
    "prefetch": "software prefetches",
    "other": "all other instructions",
    "barriers": "barriers of the whole workgroup; the largest count of any workgroup",
    "divergent_branches": "branches that split a warp",
    "shared_wavefronts": "cycles of shared memory (LDS)",
    "shared_wavefronts_ideal": "shared_wavefronts without bank conflicts",
    "bank_conflicts": "shared_wavefronts minus shared_wavefronts_ideal",
    "global_load_sectors": "sectors read from global memory by loads and copies",
    "global_store_sectors": "sectors written to global memory by stores and copies",
    "global_sectors": "global_load_sectors plus global_store_sectors",
    "global_sectors_ideal": "global_sectors if every access were contiguous and aligned",
    "global_load_bytes": "bytes that lanes request from global memory",
    "global_store_bytes": "bytes that lanes write to global memory",
    "global_unique_bytes": "distinct bytes of global memory that are accessed",
    "dead_prefetches": "prefetches by instructions whose addresses are all outside of every buffer",
    "prefetches_outside": "prefetches whose address is outside of every buffer",
    "copies_in_flight": "bytes of cp.async copies under way after a wait for older copies; the "
    "largest of any workgroup. They hide memory latency",
}
