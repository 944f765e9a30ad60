"""Instruction counts of the main loops of GEMMs, of kgen and of Triton."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import kgen
from benchmarks.results import Peer, Row
from kgen import targets
from kgen.check.static import hot_loop
from kgen.check.static.facts import facts
from kgen.check.static.machine_code import MachineInstruction, parse_assembly
from kgen.check.verify.run import opened
from kgen.spec import DType, Layout, Matmul

SIDE = 4096
#: Instructions are counted per this many clocks of a SIMD's matrix unit: one or two loop trips.
CLOCKS = 1024
#: Spills in the notes at the end of an assembly.
SPILLS = re.compile(r"\.[sv]gpr_spill_count: +[1-9]")


@dataclass(frozen=True, kw_only=True)
class Count:
    """Instructions of the loop per CLOCKS of the matrix unit, and the tile."""

    instructions: float
    tile: str


def of_kgen(target: str, dtype: str, layout: str) -> Count:
    spec = Matmul(m=SIDE, n=SIDE, k=SIDE, dtype=DType(dtype), layout=Layout(layout))
    with opened(kgen.build(spec, target)) as reader:
        (entry,) = reader.manifest.kernels
        per_cycle = facts(reader, entry).metrics["instructions_per_matrix_cycle"]
        fields = entry.schedule
    tile = "x".join(str(fields[name]) for name in ("block_m", "block_n", "block_k"))
    return Count(instructions=per_cycle * CLOCKS, tile=f"{tile}, {fields['mainloop']}")


def of_triton(made: Mapping[str, Any]) -> Count | None:
    """Return the count of a Triton kernel; None if it spills or has no matrix instructions."""
    if SPILLS.search(made["code"]):
        return None
    code = parse_assembly(made["code"])
    loop = hot_loop.find(code, hot_loop.WORDS["amdgpu"])
    if loop is None or loop.kind is not hot_loop.WorkKind.MATRIX or loop.unrolled:
        return None
    busy = matrix_clocks(made["target"], [code[i] for i in loop.body])
    return Count(instructions=CLOCKS * loop.instructions / busy, tile=made["tile"])


def matrix_clocks(name: str, body: Sequence[MachineInstruction]) -> float:
    target = targets.find(name)
    family = targets.family(target.family)
    return sum(family.matrix_cycles(target, each.opcode) or 0.0 for each in body)


def rows(found: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield rows of the GEMMs: instructions of the main loop, and those of Triton's best tile."""
    for case in dict.fromkeys((m["target"], m["dtype"], m["layout"]) for m in found):
        alike = [m for m in found if (m["target"], m["dtype"], m["layout"]) == case]
        counts = filter(None, map(of_triton, alike))
        theirs = min(counts, key=lambda count: count.instructions, default=None)
        ours = of_kgen(*case)
        values: dict[str, float | str] = {"instructions": ours.instructions, "tile": ours.tile}
        peer = Peer(missing="every tile spills registers")
        if theirs is not None:
            peer = Peer(ratio=theirs.instructions / ours.instructions)
            values |= {"triton_instructions": theirs.instructions, "triton_tile": theirs.tile}
        target, dtype, layout = case
        yield Row(
            table="main loops",
            work=f"matmul {SIDE}x{SIDE}x{SIDE} {dtype} layout={layout}",
            variant={"target": target},
            peers={"triton": peer},
            values=values | {"triton_tiles": len(alike)},
        )
