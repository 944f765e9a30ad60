"""What an emulated launch gives back: a report, or the first fault of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgen.emulate.wording import shorten
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

Index3 = tuple[int, int, int]

#: The classes of faults, and what each means.
FAULTS: Mapping[str, str] = {
    "race": "two accesses to the same bytes, one of them a write, that nothing orders",
    "uninitialised-read": "shared memory is read that nothing has written",
    "pending-copy": "the destination of an asynchronous copy is read before it is waited for",
    "pending-wgmma": "registers of wgmma.mma_async are used before it is waited for",
    "missing-wgmma-fence": "wgmma.mma_async uses registers that changed since the last wgmma.fence",
    "missing-proxy-fence": "the async proxy reads or overwrites generic writes without a fence",
    "transaction-count": "an mbarrier expects other bytes or arrivals than it gets",
    "out-of-bounds": "an access beyond a buffer, shared memory or the cluster",
    "misaligned": "an address that is no multiple of what the access needs",
    "deadlock": "threads wait for what never comes, or a loop does not end",
    "divergent-warp-instruction": "lanes are missing at an instruction that needs the whole warp",
    "trap": "the program gives up, or uses an instruction in a way that has no meaning",
}
#: What helps against each class of faults; against some of them, what helps in one language.
FIXES: Mapping[str, str] = {
    "race": "order the two accesses by a barrier, or give each thread its own bytes",
    "uninitialised-read": "write the bytes first, or read fewer of them",
    "pending-copy": "wait for the copy (cp.async.wait_group, s_waitcnt), then pass a barrier",
    "pending-wgmma": "put wgmma.wait_group before the registers are used",
    "missing-wgmma-fence": "put wgmma.fence between the registers' last write and wgmma.mma_async",
    "missing-proxy-fence": "put fence.proxy.async between the writes and the copy or wgmma",
    "transaction-count": "make expect_tx the bytes of the copies, and the count the arrivals",
    "out-of-bounds": "guard the access by the array's size, or pass a larger array",
    "misaligned": "align the address to the bytes of the access, or access fewer at once",
    "deadlock": "let every thread that is waited for arrive, and every loop end",
    "divergent-warp-instruction": "take it out of the branch, or name only lanes that execute it",
    "trap": "see what the program checked before it gave up",
}
#: The classes of warnings: what no rule forbids but a reader of foreign code should know.
WARNINGS: Mapping[str, str] = {
    "proxy-read-overwritten": "the async proxy overwrites generic reads without a fence",
    "missing-proxy-fence": "a bulk copy completes on an mbarrier that no fence has made known",
    "same-value-write": "threads that nothing orders write the same value to the same bytes",
    "nearly-same-value-write": "threads that nothing orders write values that differ in last bits",
    "order-by-collective": "only a warp collective, such as match.sync, orders two accesses",
}


@frozen
class Fault:
    """A fault in the emulated program.

    `kind` is its class, of `FAULTS`; in a warning, of `WARNINGS`. `line` counts from 1 in the
    source text, `lanes` are the first few threads of the workgroup that are concerned, besides
    which there are `more_lanes`. `array` says what lies at `address`, "" if that is not known.
    `seed` is that of the schedule.
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
        """Line of about 500 characters at most, without the fix."""
        lanes = ", ".join(map(str, self.lanes)) or "none"
        more = f" and {self.more_lanes} more lanes" if self.more_lanes else ""
        address = "" if self.address is None else f", address {self.address:#x}"
        array = f" ({self.array})" if self.array else ""
        return (
            f"{self.kind}: {shorten(self.message, 240)} in {shorten(self.entry)}, "
            f"line {self.line}: `{shorten(self.instruction, 80)}` (workgroup {self.workgroup}, "
            f"lanes {lanes}{more}{address}{array}, seed {self.seed})"
        )


class EmulationFault(EmulationError):
    """The program did something wrong; `fault` says what, where and in which lanes.

    `faults` are all distinct ones that the run met, in their order, `fault` being the first.
    `printed` are the lines that the threads printed before the run ended.
    """

    printed: tuple[str, ...] = ()

    def __init__(self, fault: Fault, others: Sequence[Fault] = ()) -> None:
        self.fault, self.faults = fault, (fault, *others)
        super().__init__(str(fault))


class UnknownInstruction(EmulationError):
    """An instruction that the emulator does not know; it is never skipped."""

    def __init__(self, entry: str, instruction: str, line: int) -> None:
        self.instruction, self.line = instruction, line
        super().__init__(
            f"{entry}, line {line}: the emulator does not know `{instruction}`; "
            "use an instruction that it knows, or add it under kgen/emulate/"
        )


@dataclass(kw_only=True)
class LineCounts:
    """What the instructions of one source line did, summed over all workgroups that ran.

    `kind` is their class as the counters name it, that of the last if there are several. `issued`
    counts the warps (waves) that issued them, `lanes` their active lanes. A wavefront is one cycle
    of shared memory (LDS); the ideal is what the same bytes need with no two lanes in one bank. A
    sector is the unit of global traffic: 32 bytes in PTX, 64 in AMDGPU IR; the ideal is what the
    same bytes need when they lie side by side.
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


@frozen
class Report:
    """A launch that ran to its end.

    `instructions` counts dynamic instructions per warp or wave (a warp that is partly active counts
    as one). `counters` has the names that :mod:`kgen.emulate.counters` lists; `lines` holds the
    counts beside the source's lines, numbered from 1. Without profiling, traffic is not counted.
    `subgroup_width` is how many lanes a warp or wave has.
    `warnings` are what no rule forbids but a reader of foreign code should know. `printed` are the
    lines that the threads printed, in order of execution.
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
