"""Machine code per step of products on AMX tiles, which must fit behind the products."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen import pipeline
from kgen.spec import ConstantOperand, DType, Epilogue, Layout, Matmul
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.assemble import assembly
from kgen.targets.cpu.plan.amx.matmul import AmxPlan
from kgen.targets.cpu.rates import TILE_PRODUCT
from kgen.targets.cpu.schedule.cost_model import best

AMX = FAMILY.find("x86-64-amx")
#: Instructions that a core starts per cycle (Intel's Optimization Reference Manual, Golden Cove).
PER_CYCLE = 6
TILE_LINES = 16


def planned(m: int, n: int, k: int, **fields: Any) -> AmxPlan:
    assert AMX is not None
    k_blocked = {"kc": fields.pop("kc")} if "kc" in fields else {}
    spec = Matmul(m=m, n=n, k=k, dtype=fields.pop("dtype", DType.BF16), **fields)
    tile = {"mr": 32, "nr": 32, "pack_a": 1, **k_blocked}
    found = pipeline.plan(spec, AMX, best(spec, AMX, tile, "amx"))
    assert isinstance(found, AmxPlan)
    return found


def steps(plan: AmxPlan) -> list[list[str]]:
    """Return the instructions of each loop around the products, with the code that it branches
    to and back."""
    text = assembly(pipeline.source(plan).text, "x86_64", plan.features)
    body = text[text.index(f"{plan.entry_point}:") :]
    loops = re.findall(
        r"Inner Loop Header.*?(?=\n[^\n]*(?:Inner Loop Header|Parent Loop|retq))", body, re.DOTALL
    )
    found = [re.findall(r"^\t([a-z]\w+)", once(loop), re.MULTILINE) for loop in loops]
    return [loop for loop in found if any(name.startswith("tdp") for name in loop)]


def once(loop: str) -> str:
    """Return the loop's text without the code after it: another first step, which loads a tile
    again, or stores of sums from the first four registers."""
    loads = [*re.finditer(r"^\ttileload\w+\t.*(%tmm\d)$", loop, re.MULTILINE)]
    names = [load[1] for load in loads]
    again = (load.start() for i, load in enumerate(loads) if load[1] in names[:i])
    stores = (m.start() for m in re.finditer(r"^\ttilestored\t%tmm[0-3]", loop, re.MULTILINE))
    return loop[: min((*again, *stores), default=len(loop))]


CASES: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "prepacked": (256, 256, 256, {"constant": (ConstantOperand.B,)}),
    "packed beside": (512, 512, 512, {"epilogue": (Epilogue.BIAS, Epilogue.RELU)}),
    "blocks of k": (1024, 1024, 1024, {"kc": 256}),
    "packed before": (1000, 1000, 1000, {"epilogue": (Epilogue.BIAS,)}),
    "transposed": (512, 512, 512, {"layout": Layout.NT}),
    "bytes": (512, 512, 512, {"dtype": DType.S8}),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", CASES)
def test_a_step_hides_behind_its_products(name: str) -> None:
    """Four products load two tiles of A and of B; other instructions are no more than a core
    issues meanwhile."""
    m, n, k, fields = CASES[name]
    plan = planned(m, n, k, **fields)
    found = steps(plan)
    assert found
    for loop in found:
        tiles = [name for name in loop if name.startswith(("tile", "tdp"))]
        assert sum(name.startswith("tdp") for name in tiles) == 4
        assert sum(name.startswith("tileloadd") for name in tiles) == 4
        # Copies of two tiles of A.
        stores = tiles.count("tilestored")
        assert stores <= 2
        lines = (4 + stores) * TILE_LINES
        assert len(loop) + lines <= 4 * TILE_PRODUCT * PER_CYCLE


@pytest.mark.parametrize("name", CASES)
def test_sums_are_stored_one_by_one(name: str) -> None:
    """Each tile of the previous register tile is stored right before the first step needs its
    register: four stores at once delay the products."""
    m, n, k, fields = CASES[name]
    plan = planned(m, n, k, **fields)
    calls = re.findall(
        r"call void @llvm\.x86\.(tilestored|tilezero|tileloadd|tdp)\w*\(i8 ([0-3])[,)]",
        pipeline.source(plan).text,
    )
    begins = "tileloadd" if plan.blocking.k.is_split else "tilezero"
    first = [
        call for tile in "0123" for call in (("tilestored", tile), (begins, tile), ("tdp", tile))
    ]
    firsts = [i for i in range(len(calls)) if calls[i : i + len(first)] == first]
    assert len(firsts) == 1 + plan.tiled_a.copies
    # And behind the last register tile.
    assert [name for name, _ in calls].count("tilestored") == 4 * (len(firsts) + 1)
