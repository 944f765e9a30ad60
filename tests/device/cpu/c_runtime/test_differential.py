"""Both languages accept the same bundles: see differential.py, whose longer run is `make
fuzz-bundles`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import kgen_runtime
from kgen_runtime.errors import BundleError
from tests.device.cpu.c_runtime import differential
from tests.device.cpu.c_runtime.differential import NUMBERS, TEXTS, by_c, by_python, cases, compared
from tests.unit.runtime.bundle.zips import MANIFEST, zipped

#: Cases of a seed; all seeds together take about a minute.
CASES = 2000


@pytest.mark.parametrize("seed", range(4))
def test_one_verdict(fuzz: Path, seed: int, tmp_path: Path) -> None:
    found = compared(fuzz, tmp_path, list(itertools.islice(cases(seed), CASES)))
    assert not found.differences
    assert found.taken > CASES / 20 and found.refused > CASES / 2


def test_every_number_and_text(fuzz: Path, tmp_path: Path) -> None:
    """Each kind of JSON number and text stands at each place of a manifest."""
    base = differential.bases()[0]
    text = json.dumps(base.manifest).replace('"schedule": {', '"schedule": {"free": @, ', 1)
    given = [
        zipped({MANIFEST: text.replace("@", word, 1).encode(), **base.files})
        for word in (*NUMBERS, *TEXTS)
    ]
    verdicts = dict(
        zip(
            (*NUMBERS, *TEXTS),
            zip(map(by_python, given), by_c(fuzz, tmp_path, given), strict=True),
            strict=True,
        )
    )
    assert not [(word, v) for word, v in verdicts.items() if not v[0].agrees(v[1])]
    # As f64 has them: the largest number, and the first that rounds to infinity.
    for word in NUMBERS:
        try:
            value = json.loads(word, parse_constant=float)
        except ValueError:
            continue
        fits = -(2**63) <= value < 2**63 if type(value) is int else abs(value) < float("inf")
        assert verdicts[word][0].taken == (fits and len(word) <= 32 and "I" not in word)


def test_the_checker_sees_a_difference(
    fuzz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Python runtime that accepts everything differs from C on a refused bundle."""
    monkeypatch.setattr(differential, "by_python", lambda data: differential.Verdict(""))
    found = compared(fuzz, tmp_path, list(itertools.islice(cases(0), 40)))
    assert len(found.differences) > 10


def test_a_byte_order_mark(tmp_path: Path) -> None:
    base = differential.bases()[0]
    text = json.dumps(base.manifest)
    for spoilt in (b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        with pytest.raises(BundleError, match=r"manifest\.json"):
            kgen_runtime.load(zipped({MANIFEST: spoilt, **base.files}), device="cpu")
