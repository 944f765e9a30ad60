"""Comment on top of a kernel: the same facts, in the same order and words, on all targets."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from kgen_runtime.manifest import TensorMap, TensorParam, Workspace

#: Columns of a label with its colon, and of the text behind it.
LABEL, TEXT = 11, 100


def lines(title: str, sections: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the title, then each label with its statements in a column.

    Long statements wrap, except for the schedule, which a reader copies.
    """
    found = [title, ""]
    for label, statements in sections.items():
        whole = label == "schedule"
        column = [line for words in statements for line in ([words] if whole else _wrapped(words))]
        found += [f"{'' if i else label + ':':{LABEL}}{line}" for i, line in enumerate(column)]
    return tuple(found)


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(
        words, TEXT, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def times(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: ``1 stage``, ``2 stages``; `nouns` is an irregular plural."""
    return f"1 {noun}" if count == 1 else f"{count} {nouns or noun + 's'}"


def k_tiles_note(count: int, depth: int, remainder: int = 0) -> str:
    """Return the trip count of a K loop in tiles of `depth`, and the remainder of K."""
    rest = f" and a remainder of {remainder}" if remainder else ""
    return f"K loop: {counted(count, 'tile')} of {depth}{rest}"


def arguments(
    parameters: Sequence[TensorParam],
    workspaces: Sequence[Workspace],
    maps: Sequence[TensorMap],
    remarks: Mapping[str, str],
) -> tuple[str, ...]:
    """Return lines on the kernel's arguments, each with the remark of its name."""
    rows: list[tuple[str, str, str]] = [(p.name, p.role, _tensor(p)) for p in parameters]
    rows += [(w.name, "workspace", _workspace(w)) for w in workspaces]
    rows += [(m.name, "map", _map(m)) for m in maps]
    return tuple(f"{name}: {role} {words}{remarks.get(name, '')}" for name, role, words in rows)


def _tensor(p: TensorParam) -> str:
    shape, strides = (", ".join(map(str, sizes)) for sizes in (p.shape, p.strides))
    words = f"{p.dtype}[{shape}], strides [{strides}]"
    if p.packing is None:
        return words
    n, k = p.packing.width, p.packing.depth
    if p.packing.runs:
        runs = ", ".join(map(str, p.packing.runs))
        return f"{words}, prepacked: [n / {n}][k / {k}][runs of {runs}][n % {n}], zero past K and N"
    return f"{words}, prepacked: (k, n) at [n / {n}][k / {k}][n % {n}][k % {k}], zero past K and N"


def _workspace(w: Workspace) -> str:
    return f"{w.nbytes} B" + (", zero before and after each launch" if w.initial == "zero" else "")


def _map(m: TensorMap) -> str:
    """Return a tensor map's fields, as the driver encodes them."""
    shape = ", ".join(map(str, m.shape))
    swizzle = f"{m.swizzle}-byte swizzle" if m.swizzle else "no swizzle"
    rounded = ", rounded to tf32" if m.tf32 else ""
    return f"of {m.tensor}: {m.dtype}[{shape}] in boxes of {times(m.box)}, {swizzle}{rounded}"
