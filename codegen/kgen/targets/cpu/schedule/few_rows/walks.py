"""How outer products read rows of B: how many at once and how far apart, and what they fetch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import field
from enum import Enum, auto
from typing import Any

from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.cpu.plan.base import LINE_BYTES
from kgen.targets.cpu.plan.kernels.gemv_strips import RowsOfB, Taken
from kgen.targets.cpu.schedule.core import core_of
from kgen.targets.cpu.schedule.few_rows.place import (
    HALF_NEAR,
    NEAR,
    PAGE,
    PARTLY,
    SMALL,
    TWICE,
    WALKED_NEAR,
    Place,
    place_of_b,
    takes_part,
)
from kgen_runtime.values import frozen


class Rows(Enum):
    """What vectors of rows of B are (`Taken`): elements, a line of B or less; groups, of bf16 or of
    bytes; or words."""

    LINES = auto()
    HALVES = auto()
    GROUPS = auto()
    BYTES = auto()
    WORDS = auto()


@frozen
class Walk:
    """How rows of B are read: `parts` at once at most, by rows of A, each with another `part` of
    rows (1: side by side), in steps of so many `strips` at most; so many rows behind the current
    ones are fetched, `apart` rows from one to the next. `sums`: bytes of a row of sums, at most, if
    fewer than there is room for; `whole`: that is in the second-level cache, for rows that are
    read from end to end. `level`, `halves`, `words`: see `OuterMatmul`."""

    parts: Mapping[int, int] = field(default_factory=lambda: {4: 4})
    part: int = 64
    strips: int = 2
    prefetch: int = 0
    apart: int = 1
    sums: int = 0
    whole: bool = False
    level: int = 2
    halves: bool = False
    words: bool = False


def _pairs(prefetch: int = 0) -> Walk:
    return Walk(parts={2: 4, 4: 8}, part=128, prefetch=prefetch)


def _words(prefetch: int = 0) -> Walk:
    return Walk(parts={4: 2}, part=256, prefetch=prefetch)


#: By what a row of B is made of and where it lies, on Zen 4 but for `FOUND` (Golden Cove).
#:
#: Four streams are followed best, far enough apart: on cores that do not find rows by themselves,
#: 128 rows of groups, or of vectors of half a line (1 and 4 rows by 4096 x 4096 of bf16 with
#: AVX-512 take 894 and 1356 us, 1124 and 1425 by 64 in the same blocks, of f32 on AVX2 4 rows 2.15
#: ms and 2.37; but of f32 with AVX-512 1 row 2.07 ms and 1.87). Pairs for more than two rows of A,
#: where sums take as long, take eight rows at once.
#:
#: Near rows in vectors of half a line, of which there are twice as many, are read side by side (1 x
#: 2304 x 768 in f32 on AVX2 takes 88 us, by four 64 rows apart 106, by eight 102).
#:
#: Rows that are fetched come twice where B is far, as prefetches are lost where many are on their
#: way (4 rows by 4096 x 4096 in f32: 28 GB/s instead of 24); of half a line, each half a step of
#: its own, so that both ask for the next lines (1 row by 4096 x 4096 in f32 on AVX2 takes 2.2 ms,
#: 2.4 in steps of a line, 2 rows 2.2 and 2.6).
#:
#: Two rows of words far apart (1 x 768 x 3072 takes 82 us, 115 side by side; 1 x 4096 x 4096 0.87
#: of the time by four; AVX2).
WALKS: Mapping[Rows, Mapping[Place, Walk]] = {
    Rows.LINES: {
        Place.FOUND: Walk(),
        Place.NEAR: Walk(),
        Place.HALF_NEAR: Walk(prefetch=1),
        Place.FAR: Walk(prefetch=2),
    },
    Rows.HALVES: {
        Place.FOUND: Walk(),
        Place.NEAR: Walk(parts={4: 8}, part=1),
        Place.HALF_NEAR: Walk(part=128, prefetch=1),
        Place.FAR: Walk(part=128, prefetch=2, strips=1),
    },
    Rows.GROUPS: {
        Place.FOUND: Walk(parts={2: 4, 4: 8}),
        Place.NEAR: _pairs(),
        Place.HALF_NEAR: _pairs(prefetch=1),
        Place.FAR: _pairs(prefetch=2),
    },
    Rows.BYTES: {
        Place.FOUND: Walk(parts={2: 4, 4: 8}),
        Place.NEAR: _pairs(),
        Place.HALF_NEAR: _pairs(prefetch=1),
        Place.FAR: _pairs(prefetch=2),
    },
    Rows.WORDS: {
        Place.FOUND: _words(),
        Place.NEAR: _words(),
        Place.HALF_NEAR: _words(prefetch=2),
        Place.FAR: _words(prefetch=2),
    },
}


#: Of A, of which outer products by rows of B side by side were measured.
MOST_ROWS = 6


def _beside(parts: int, columns: int, ahead: int = 0, **fields: Any) -> Walk:
    """So many rows of B side by side over so many columns, and lines `ahead` rows behind each
    fetched, into the first-level cache unless said."""
    sums, level = columns * DType.F32.itemsize, 1 if ahead else 2
    walk = Walk(parts={MOST_ROWS: parts}, part=1, strips=1, sums=sums, level=level)
    return dataclasses.replace(walk, prefetch=int(ahead > 0), apart=max(ahead, 1), **fields)


#: One row of B at once, a page's width of it, which is slow enough for prefetches not to be lost:
#: each page is asked for from end to end.
PAGES = Walk(parts={4: 1}, strips=1, prefetch=2, apart=6, sums=4096)
#: The same of bf16, one row of words or two far apart: 1, 2 and 3 x 4096 x 4096 take 544, 597 and
#: 793 us so, 851, 799 and 1005 with none or the next two rows fetched (AVX2).
ONE_WORD = Walk(parts={4: 1}, strips=1, prefetch=1, apart=8, sums=16384)
FEW_WORDS = Walk(parts={4: 2}, part=256, prefetch=1, apart=4, sums=8192)
#: Rows of B side by side: of a page's width, those 8 behind which are fetched, or unfetched; and in
#: vectors of half a line where whole ones ask for lines faster than they come (f32: 4 x 2560 x 2048
#: takes 752 us by lines with none fetched, 354 so).
ONE_LINE, TWO_ROWS, EIGHT_LINES = (
    _beside(1, PAGE, 8),
    _beside(2, PAGE, 8),
    _beside(8, PAGE, strips=2),
)
HALF_LINES = _beside(4, PAGE, 8, halves=True)
HALF_PAIRS = _beside(4, PAGE, 16, halves=True)
HALF_WORDS = _beside(2, PAGE, 16, halves=True, words=True)
#: On Zen 3 the hardware follows four rows of B, far enough apart, and loses by what is fetched
#: besides, and side by side: 1 x 2048 x 2048 takes 460 us again and again and 840 from memory, 516
#: and 1313 with the next row fetched, 1 x 4096 x 4096 3.0 and 3.1 ms, 4.3 and 4.4 with two, 2 x
#: 2304 x 768 185 and 396 us, 214 and 538 by six side by side, 3 x 2048 x 2048 652 and 1070, 750 and
#: 2310 by tiles. 3 x 5120 x 2048 takes 2.67 and 2.54 ms from end to end, 3.6 and 3.5 in halves. 4
#: rows by tiles where B stays in the last-level cache: 4 x 2048 x 2048 takes 629 and 1380 us so,
#: 812 and 1240 by rows of B, but 4 x 768 x 768 75 and 240, 80 and 170. Of bf16 1 x 4096 x 4096
#: takes 1.56 and 1.75 ms so, 3.3 and 3.4 by two rows with two fetched, 3 rows 2.27 and 2.75 ms by
#: tiles, 2.5 and 2.8 by rows; of s8 2 rows 1.34 and 1.25 ms, 2.6 and 2.3 by tiles.
WHOLE = Walk(whole=True)
_ZEN_3: Mapping[Rows, Mapping[float, Mapping[int, Walk]]] = {
    Rows.HALVES: {SMALL: {4: WHOLE}, HALF_NEAR: {3: WHOLE}, math.inf: {4: WHOLE}},
    Rows.BYTES: {math.inf: {2: WHOLE}},
    Rows.WORDS: {math.inf: {2: WHOLE}},
}
#: By core that walks rows by itself, by the part of the last-level cache that B has at most and by
#: rows of A at most, where rows were measured to gain: called again and again on one B, and on
#: several in turn, of which no cache keeps any (Zen 5; of AVX-512, and both times, unless said).
#:
#: F32. 2 x 2304 x 768 takes 62 us by two rows of B, 70 by four; 4 x 3072 x 768 94 and 407 us by
#: four side by side, 106 and 440 by four 64 apart, 103 and 338 with the next four fetched; 4 x 4096
#: x 1280 388 and 753 us in half lines, 501 and 813 by four apart; 2 x 5120 x 2048 0.93 and 1.26 ms
#: by eight, 1.16 and 1.34 by four; 3 x 4096 x 4096 1.63 and 2.24 ms by one row, 1.82 and 2.28 by
#: pages. From 32 MB on 4 rows stay with pages, though half lines are faster again and again: 4 x
#: 4096 x 3072 takes 1.22 and 1.42 ms by pages, 0.90 and 1.78 in half lines. 5 rows of pages that
#: meet in a cache set: 5 x 1024 x 1024 takes 58 and 158 us so.
#:
#: On AVX2 1 x 2304 x 768 takes 61 us by one row of B, 82 by eight side by side (1 x 768 x 3072 80
#: us in steps of two lines, 95 of one), 2 rows 61 us by four far apart in passes of 1152 columns,
#: 71 of 2304, 75 by six, and 3 rows 101 us by two, 180 by tiles (3 x 2048 x 2048: 232 us, 538 by
#: tiles); 3 x 4096 x 1280 0.47 and 0.70 ms by one row of B that is fetched, 0.80 and 1.44 by two
#: unfetched; 2 x 4096 x 4096 1.41 ms by pages and 1.79, 3 rows 1.72 and 1.89, but 4 rows 1.9 and
#: 1.5.
#:
#: Bf16. 2 x 3072 x 1536 takes 83 and 317 us by eight rows of B, 117 and 415 by tiles; 2 x 4096 x
#: 4096 0.59 and 1.12 ms by words in half lines, 1.04 and 1.47 by whole ones, 3 rows 0.62 and 1.19
#: by pairs in half lines, 0.68 and 1.41 by whole ones, 5 rows 0.85 and 1.08, 1.27 and 1.37 by
#: tiles.
#:
#: S8. 3 x 4096 x 2048 takes 107 and 380 us by eight rows of B, 182 and 701 by tiles, 4 rows 215 and
#: 338 us by four, 204 and 774 by tiles; 3 x 8192 x 4096 0.91 and 1.14 ms by four in half lines,
#: 1.35 and 1.69 by tiles.
_ZEN_5: Mapping[Rows, Mapping[float, Mapping[int, Walk]]] = {
    Rows.LINES: {
        NEAR: {
            1: Walk(),
            2: Walk(parts={4: 2}),
            3: Walk(),
            4: _beside(4, PAGE, 4),
            5: _beside(4, PAGE, 8),
        },
        HALF_NEAR: {3: Walk(), 5: _beside(4, PAGE, 8)},
        WALKED_NEAR: {1: Walk(), 2: EIGHT_LINES, 5: HALF_LINES},
        PARTLY: {1: Walk(), 2: EIGHT_LINES, 3: ONE_LINE, 4: PAGES, 5: HALF_LINES},
        TWICE: {2: Walk(), 3: ONE_LINE, 4: PAGES},
        math.inf: {2: Walk(), 4: PAGES},
    },
    Rows.HALVES: {
        NEAR: {1: Walk(parts={4: 1}, strips=4), 2: Walk(sums=8192), 4: Walk(parts={4: 2})},
        HALF_NEAR: {
            2: Walk(),
            3: Walk(parts={4: 2}),
            4: Walk(parts={4: 2}, prefetch=1, apart=2, sums=4096),
        },
        WALKED_NEAR: {2: Walk(), 3: _beside(1, 2 * PAGE, 4), 4: _beside(2, PAGE, 8)},
        PARTLY: {1: Walk(), 2: PAGES, 3: _beside(1, 2 * PAGE, 4), 4: _beside(2, PAGE, 8)},
        math.inf: {1: Walk(), 3: PAGES},
    },
    Rows.GROUPS: {
        NEAR: {1: _pairs(), 4: _beside(8, PAGE), 5: _beside(4, PAGE, 8)},
        HALF_NEAR: {1: _pairs(), 4: _beside(8, PAGE)},
        WALKED_NEAR: {1: _pairs(), 4: HALF_PAIRS, 5: _beside(4, PAGE, 8)},
        PARTLY: {1: _pairs(), 2: HALF_WORDS, 3: HALF_PAIRS, 4: TWO_ROWS, 5: HALF_PAIRS},
        math.inf: {
            1: _pairs(),
            2: HALF_WORDS,
            3: _beside(2, 2 * PAGE, 16, strips=2, halves=True),
            4: TWO_ROWS,
            6: HALF_PAIRS,
        },
    },
    Rows.BYTES: {
        NEAR: {1: _pairs(), 3: _beside(8, PAGE), 4: _beside(4, 2 * PAGE, 16, level=2)},
        WALKED_NEAR: {1: _pairs(), 3: _beside(8, PAGE)},
        math.inf: {
            1: _pairs(),
            2: _beside(8, PAGE, 16, halves=True, level=2),
            3: HALF_PAIRS,
        },
    },
    Rows.WORDS: {NEAR: {3: _words()}, math.inf: {1: ONE_WORD, 3: FEW_WORDS}},
}
WALKED: Mapping[str, Mapping[Rows, Mapping[float, Mapping[int, Walk]]]] = {
    "Zen 3": _ZEN_3,
    "Zen 5": _ZEN_5,
}


def walked(spec: Matmul, target: Target, kind: Rows) -> Walk | None:
    """On a core that walks rows, if that was measured for so many."""
    places = WALKED.get(core_of(target).name, {}).get(kind)
    if places is None:
        return None
    plain = spec.dtype is spec.b_type
    parts = (part for part in places if plain and takes_part(spec, target, part))
    walks = places[next(parts, math.inf)]
    return next((walk for most, walk in walks.items() if spec.m <= most), None)


def walk_of(spec: Matmul, target: Target, kind: Rows) -> tuple[Walk, Place]:
    """How rows of B are read, and from where as far as passes over them go."""
    place = place_of_b(spec, target)
    if walk := walked(spec, target, kind):
        return walk, Place.NEAR if place is Place.NEAR else Place.FOUND
    return WALKS[kind][place], place


def made_of(rows: RowsOfB, spec: Matmul, target: Target) -> Rows:
    if rows.taken is Taken.ELEMENTS:
        return Rows.HALVES if target.limits["vector_bytes"] < LINE_BYTES else Rows.LINES
    if rows.taken is Taken.WORDS:
        return Rows.WORDS
    return Rows.BYTES if spec.dtype is DType.S8 else Rows.GROUPS
