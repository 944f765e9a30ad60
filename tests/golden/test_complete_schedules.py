"""A CPU kernel depends only on its spec, its target's instructions and its schedule."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import kgen
from kgen import pipeline, targets
from kgen.schedule import Overrides
from kgen.spec import Matmul, Spec, text
from kgen.targets.base import Target
from tests.golden.goldens import Golden, goldens

CACHES = ("l1_bytes", "l2_bytes", "l3_bytes")
CPU_GOLDENS = [g for g in goldens() if targets.find(g.target).family == "cpu"]
#: Schedules that prefetch, keep sums in the output, or read rows once.
CHOSEN: tuple[tuple[str, Spec, Overrides], ...] = (
    (
        "x86-64-v4",
        Matmul(m=4, n=2304, k=768, dtype="f32"),
        {
            "mainloop": "ahead",
            "mr": 4,
            "nr": 64,
            "mc": 4,
            "kc": 768,
            "nc": 576,
            "pack_a": 0,
            "pack_b": 0,
            "ahead": 73728,
            "level": 1,
        },
    ),
    (
        "x86-64-v4",
        Matmul(m=64, n=2304, k=768, dtype="f32", constant=("b",)),
        {
            "mainloop": "blis",
            "mr": 8,
            "nr": 48,
            "mc": 64,
            "kc": 768,
            "nc": 2304,
            "pack_a": 0,
            "pack_b": 0,
            "prefetch_panel": 1,
        },
    ),
    (
        "x86-64-v3",
        Matmul(m=512, n=512, k=2048, dtype="f32"),
        {
            "mainloop": "blis",
            "mr": 6,
            "nr": 16,
            "mc": 132,
            "kc": 256,
            "nc": 512,
            "pack_a": 0,
            "pack_b": 1,
            "sums_in_out": 1,
        },
    ),
    (
        "x86-64-amx",
        Matmul(m=512, n=4096, k=4096, dtype="bf16", constant=("b",)),
        {
            "mainloop": "amx",
            "mr": 32,
            "nr": 32,
            "mc": 512,
            "kc": 1024,
            "nc": 512,
            "pack_a": 1,
            "pack_b": 0,
            "prefetch_panel": 1,
        },
    ),
    ("x86-64-v3", text.parse("softmax 8x200000 f32"), {"online": 1}),
    ("x86-64-v3", text.parse("var(x) 8192x4096 f32"), {"variance_head": 128, "prefetch": 2048}),
    ("x86-64-v3", text.parse("softmax 8192x4096 f32"), {"keep_in_output": 1}),
    (
        "x86-64-v3",
        text.parse("layer_norm(x,w,b) x=4096x1024,w=1024,b=1024 f32"),
        {"prefetch_next_row": 1},
    ),
)


def bare(target: Target) -> Target:
    """Return the target without cache sizes and core, and with a larger stack."""
    limits = {name: value for name, value in target.limits.items() if name not in CACHES}
    limits["stack_bytes"] *= 64
    return dataclasses.replace(target, limits=limits, device="")


@pytest.mark.parametrize("golden", CPU_GOLDENS, ids=lambda golden: str(golden.path.name))
def test_goldens_are_planned_without_caches_and_core(golden: Golden) -> None:
    target = targets.find(golden.target)
    schedule = pipeline.schedule_for(golden.spec, target, golden.schedule)
    whole, without = (pipeline.plan(golden.spec, t, schedule) for t in (target, bare(target)))
    assert pipeline.source(whole).text == pipeline.source(without).text


@pytest.mark.parametrize(("name", "spec", "fields"), CHOSEN, ids=lambda value: str(value)[:40])
def test_schedules_hold_the_choices_that_depend_on_caches(
    name: str, spec: Spec, fields: Overrides
) -> None:
    target = targets.find(name)
    schedule = pipeline.schedule_for(spec, target, fields)
    assert {field: getattr(schedule, field) for field in fields} == fields
    whole, without = (pipeline.plan(spec, t, schedule) for t in (target, bare(target)))
    assert pipeline.source(whole).text == pipeline.source(without).text


def test_no_plan_reads_caches_cores_or_heuristics() -> None:
    forbidden = re.compile(r"l[123]_bytes|core_of|\btarget\.device\b|targets\.cpu\.schedule")
    plans = Path(kgen.__file__).parent / "targets" / "cpu" / "plan"
    files = sorted(plans.rglob("*.py"))
    found = [
        f"{path.relative_to(plans)}: {match[0]}"
        for path in files
        for match in forbidden.finditer(path.read_text())
    ]
    assert len(files) > 40 and found == []
