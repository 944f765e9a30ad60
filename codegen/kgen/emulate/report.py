"""Results of an emulated launch: a report, or the faults of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgen.emulate.wording import numbers, shorten
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

Index3 = tuple[int, int, int]
#: Most characters of a fault's line, so that it has at most 500 with its source line and its fix.
MOST_CHARACTERS = 370

#: Classes of faults and their meaning.
FAULTS: Mapping[str, str] = {
    "race": "two threads access the same bytes, at least one writes, and nothing orders the two",
    "uninitialised-read": "a thread reads shared memory or uses an mbarrier that nothing has "
    "initialised",
    "pending-copy": "a thread reads the destination of an asynchronous copy before it is complete",
    "pending-wgmma": "an instruction uses registers of a wgmma.mma_async that is under way",
    "missing-wgmma-fence": "wgmma.mma_async uses registers written since the last wgmma.fence",
    "missing-proxy-fence": "TMA or wgmma accesses bytes that threads wrote, with no "
    "fence.proxy.async between",
    "transaction-count": "an mbarrier expects other bytes or arrivals than it gets",
    "out-of-bounds": "an access outside a buffer, the cluster, shared, local or parameter memory",
    "misaligned": "an address that is not a multiple of the size of the access",
    "deadlock": "threads wait at a barrier that never completes, or a loop never ends",
    "divergent-warp-instruction": "lanes are missing at an instruction that needs the whole warp "
    "or the lanes of its member mask",
    "poison": "an integer operation overflows that promises not to by nuw or nsw",
    "trap": "the kernel executes a trap, or an instruction whose operands are not valid",
}
#: Suggested fix of each class of faults.
FIXES: Mapping[str, str] = {
    "race": "put a barrier between the two accesses, or give each thread its own bytes",
    "uninitialised-read": "write the bytes first, or read fewer bytes",
    "pending-copy": "wait for the copy (cp.async.wait_group, s_waitcnt), then pass a barrier",
    "pending-wgmma": "put wgmma.wait_group before the instruction",
    "missing-wgmma-fence": "put wgmma.fence between the registers' last write and wgmma.mma_async",
    "missing-proxy-fence": "put fence.proxy.async between the writes and the copy or wgmma",
    "transaction-count": "give expect_tx the bytes of the copies, and the count the arrivals",
    "out-of-bounds": "guard the access by the size of the array, or pass a larger array",
    "misaligned": "align the address to the size of the access, or use narrower accesses",
    "deadlock": "let every thread of the barrier arrive, and every loop end",
    "divergent-warp-instruction": "move it out of the branch, or name only lanes that execute it",
    "poison": "drop nuw and nsw, or compute in a wider type",
    "trap": "see which condition the kernel tests before the trap",
}
#: Classes of warnings: legal code that deserves a look.
WARNINGS: Mapping[str, str] = {
    "proxy-read-overwritten": "TMA overwrites bytes that threads have read, with no "
    "fence.proxy.async between",
    "missing-proxy-fence": "a bulk copy completes on an mbarrier with no fence after its "
    "initialisation",
    "same-value-write": "unordered threads write the same value to the same bytes",
    "nearly-same-value-write": "unordered waves write floating-point values that differ in the "
    "last bits",
    "order-by-collective": "only a warp collective, such as match.sync, is between two accesses",
}


@frozen
class Fault:
    """Fault or warning about the emulated program.

    - `kind`: its class in `FAULTS`, or in `WARNINGS` for a warning.
    - `line`: line of the source text, from 1.
    - `lanes`: first few threads of the workgroup at fault; there are `more_lanes`.
    - `array`: array at `address`; "" if unknown.
    - `seed`: seed of the schedule.
    """

    kind: str
    message: str
    entry: str
    instruction: str
    line: int
    workgroup: Index3
    lanes: tuple[int, ...]
    address: int | None = None
    seed: int = 0
    more_lanes: int = 0
    array: str = ""

    @property
    def fix(self) -> str:
        """Suggested fix; empty for a warning."""
        return FIXES.get(self.kind, "")

    def __str__(self) -> str:
        """Line of at most MOST_CHARACTERS, without the fix."""
        lanes = numbers("lane", self.lanes) if self.lanes else "no lanes"
        more = f" and {self.more_lanes} more" if self.more_lanes else ""
        address = "" if self.address is None else f", address {self.address:#x}"
        array = f" ({shorten(self.array, 40)})" if self.array else ""
        place = (
            f" in {shorten(self.entry, 30)}, line {self.line}: `{shorten(self.instruction, 50)}` "
            f"(workgroup {self.workgroup}, {lanes}{more}{address}{array}, seed {self.seed})"
        )
        room = MOST_CHARACTERS - len(f"{self.kind}: {place}")
        return f"{self.kind}: {shorten(self.message, room)}{place}"


class EmulationFault(EmulationError):
    """Error for a program with faults.

    `faults` are all distinct faults of the run, in order; `fault` is the first. `printed` are the
    lines that the threads printed before the run ended.
    """

    printed: tuple[str, ...] = ()

    def __init__(self, fault: Fault, others: Sequence[Fault] = ()) -> None:
        self.fault, self.faults = fault, (fault, *others)
        super().__init__(str(fault))


class UnknownInstruction(EmulationError):
    """Error for an instruction that the emulator does not know; it is never skipped."""

    def __init__(self, entry: str, instruction: str, line: int) -> None:
        self.instruction, self.line = instruction, line
        super().__init__(
            f"{shorten(entry)}, line {line}: the emulator does not know "
            f"`{shorten(instruction, 200)}`; use another instruction, or add this one under "
            "kgen/emulate/"
        )


@dataclass(kw_only=True)
class LineCounts:
    """Counts of the instructions of one source line, summed over all workgroups that ran.

    - `kind`: class of the instructions as in the counters; that of the last one if there are
      several.
    - `issued`: warps (waves) that issued them; `lanes`: their active lanes.
    - A wavefront is one cycle of shared memory (LDS). Its ideal is the number of wavefronts for the
      same bytes without bank conflicts.
    - A sector is the unit of global traffic: 32 bytes in PTX, 64 in AMDGPU IR. Its ideal is the
      number of sectors for the same bytes if they were contiguous.
    """

    kind: str = "other"
    issued: int = 0
    lanes: int = 0
    shared_wavefronts: int = 0
    shared_wavefronts_ideal: int = 0
    global_sectors: int = 0
    global_sectors_ideal: int = 0
    global_bytes: int = 0
    dead_prefetches: int = 0
    prefetches_outside: int = 0


@frozen
class LaunchReport:
    """Report of a launch that ran to its end.

    `instructions` counts dynamic instructions per warp or wave (a warp that is partly active counts
    as one). `counters` has the names that :mod:`kgen.emulate.counters` lists; `lines` holds the
    counts beside the source's lines, numbered from 1. Without profiling, traffic is not counted.
    `subgroup_width` is the number of lanes of a warp or wave.

    `warnings` are legal but suspicious operations in foreign code. `printed` are the lines that the
    threads printed, in order of execution.
    """

    workgroups_run: int
    workgroups_total: int
    instructions: int
    seconds: float
    subgroup_width: int = 32
    counters: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[int, LineCounts] = field(default_factory=dict)
    warnings: tuple[Fault, ...] = ()
    printed: tuple[str, ...] = ()
