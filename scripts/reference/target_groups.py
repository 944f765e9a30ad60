"""Targets in five groups: names, data types and proof, short enough for README."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from kgen.support import support_table
from scripts.reference.markdown import rows


class Group(NamedTuple):
    """Row of the table: targets of a family whose names start with one of `prefixes`."""

    title: str
    family: str
    prefixes: tuple[str, ...]
    #: How the tests prove the targets. It uses the verbs of the targets' own proofs.
    proof: str


GROUPS = (
    Group(
        "CPU",
        "cpu",
        ("",),
        "machine code executed, AArch64 under qemu; VNNI, BF16 and AMX matmuls are also "
        "emulated from LLVM IR",
    ),
    Group("NVIDIA", "cuda", ("",), "PTX emulated; no GPU has run it"),
    Group("AMD", "amdgpu", ("",), "LLVM IR emulated; no GPU has run it"),
    Group(
        "Vulkan",
        "vulkan",
        ("vulkan",),
        "SPIR-V executed on CPU drivers (lavapipe, SwiftShader); bf16 matrices are compiled only",
    ),
    Group("Metal", "vulkan", ("metal",), "SPIR-V translated by spirv-cross; not executed"),
)


def table() -> str:
    """Return one row per group; types that only some targets have name those targets."""
    left = support_table()
    cells = []
    for group in GROUPS:
        members = [
            row
            for row in left
            if row["family"] == group.family and row["target"].startswith(group.prefixes)
        ]
        left = [row for row in left if row not in members]
        shown = {word for row in members for word in _words(row["proof"])}
        assert shown == _words(group.proof), f"{group.title}: {shown}"
        cells.append(
            [
                group.title,
                ", ".join(f"`{name}`" for name in short_names([row["target"] for row in members])),
                types(members, "matmul"),
                types(members, "elementwise"),
                group.proof,
            ]
        )
    assert not left, f"no group has {left[0]['target']}"
    header = ["devices", "targets", "types of a matmul", "types of other operations", "verified by"]
    return rows(header, cells)


def _words(proof: str) -> set[str]:
    """Return the words of a proof that say how far it goes."""
    return set(re.findall("executed|emulated|translated|compiled", proof))


def short_names(names: Sequence[str]) -> list[str]:
    """Return each base name once, with its suffixes in brackets: `x86-64-v4[+vnni][+bf16]`."""
    found: dict[str, str] = {}
    for name in names:
        base, plus, suffix = name.partition("+")
        found[base] = found.get(base, base) + (f"[{plus}{suffix}]" if plus else "")
    return [*found.values()]


def types(members: Sequence[dict[str, Any]], operation: str) -> str:
    """Return the types that all targets accept, then those of some, with their targets."""
    of = {row["target"]: row["ops"][operation] for row in members}
    every = dict.fromkeys(dtype for dtypes in of.values() for dtype in dtypes)
    common = [dtype for dtype in every if all(dtype in dtypes for dtypes in of.values())]
    some: dict[str, list[str]] = {}
    for dtype in every:
        if dtype not in common:
            where = ", ".join(f"`{name}`" for name, dtypes in of.items() if dtype in dtypes)
            some.setdefault(where, []).append(dtype)
    parts = [f"{' '.join(dtypes)} ({where})" for where, dtypes in some.items()]
    return "; ".join([" ".join(common), *parts])
