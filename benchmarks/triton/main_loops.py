"""Instructions of the main loops of GEMMs, beside Triton's."""

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
#: Clocks of a SIMD's matrix unit for which instructions are counted: a trip of most loops, or two.
CLOCKS = 1024
#: In the notes that an assembly ends with.
SPILLS = re.compile(r"\.[sv]gpr_spill_count: +[1-9]")


@dataclass(frozen=True, kw_only=True)
class Count:
    """Instructions of the loop for each CLOCKS of the matrix unit, and the tile."""

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
    """None if registers were spilled, or if it multiplies without matrix instructions."""
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
    """Rows of the GEMMs: instructions of the main loop, and those of Triton's best tile."""
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
