"""Tuning files: written and read back; damaged and shipped ones."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from kgen.errors import TargetError
from kgen.targets.tuning import file
from kgen.targets.tuning.file import TunedRow, TuningSource, parse, read, written

SOURCE = TuningSource(
    kind="measured", machine="a CPU", day="2026-01-02", commit="abc", conditions="warm"
)


def random_rows(random_: random.Random) -> list[TunedRow]:
    sizes = {
        tuple(random_.randint(1, 9999) for _ in range(3)) for _ in range(random_.randint(0, 9))
    }
    return [
        TunedRow(
            sizes=each,
            fields={"mainloop": "blis", "mr": random_.randint(0, 99), "nr": 16},
            gain=random_.choice([None, 1.25]),
            seconds=random_.choice([None, 2.5e-6]),
            source="s",
        )
        for each in sorted(sizes)
    ]


def test_what_is_written_is_read_back() -> None:
    random_ = random.Random(3)
    for _ in range(50):
        classes = {f"matmul f32 nn {i}": random_rows(random_) for i in range(3)}
        checked = {'matmul "f32" nn': ["1 2 3 s"]}
        text = written("a core", {"s": SOURCE}, classes, checked)
        found = parse(text, "x.toml")
        assert (found.core, found.sources) == ("a core", {"s": SOURCE})
        for name, rows in classes.items():
            assert [row.text for row in found.rows(name)] == [row.text for row in rows]
        again = {name: found.rows(name) for name in classes}
        kept = {name: lines.splitlines() for name, lines in found.checked.items()}
        assert written(found.core, found.sources, again, kept) == text


def test_rows_are_literal_strings() -> None:
    """Basic strings, which `tomllib` reads several times slower, are read as well."""
    rows = random_rows(random.Random(1))
    text = written("c", {"s": SOURCE}, {"x": rows}, {"x": ["1 2 3 s"]})
    assert '"""' not in text and text.count("'''") == 4
    basic = parse(text.replace("'''", '"""'), "x.toml")
    assert basic.rows("x") == parse(text, "x.toml").rows("x")
    shipped = Path(file.__file__).parent.glob("*.toml")
    assert not any('"""' in path.read_text(encoding="utf-8") for path in shipped)


def test_the_order_of_rows_does_not_matter() -> None:
    rows = random_rows(random.Random(1))
    assert len(rows) > 1
    one, other = (written("c", {"s": SOURCE}, {"x": each}) for each in (rows, rows[::-1]))
    assert one == other


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = ", "x.toml is not a tuning file: "),
        ('{"x": 1}', "x.toml is not a tuning file: "),
        ("schema = 9", "x.toml has schema 9; this version of kgen reads schema 1"),
        ("schema = 1", "x.toml: core and all classes must be text"),
        ("schema = 1\ncore = 1", "x.toml: core and all classes must be text"),
        ('schema = 1\ncore = "c"\nclasses = 1', "x.toml: classes is not a table"),
        ('schema = 1\ncore = "c"\n[classes]\nx = 1', "core and all classes must be text"),
        ('schema = 1\ncore = "c"\n[sources.s]\nkind = "measured"', "x.toml: sources.s: "),
        ('schema = 1\ncore = "c"\n[sources]\ns = 1', "x.toml: sources.s: "),
        ('schema = 1\ncore = "c"\n[sources."a b"]', "x.toml: source 'a b' is not letters, "),
    ],
)
def test_a_damaged_file_is_one_line(text: str, message: str) -> None:
    with pytest.raises(TargetError) as error:
        parse(text, "x.toml", is_lenient=True)
    assert message in str(error.value)
    assert "kgen tune" in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "binary"):
        why = "is not UTF-8 text" if path.name == "binary" else "cannot be read: .*"
        with pytest.raises(TargetError, match=rf"{path} {why}; name a file of kgen"):
            read(path)


def test_a_core_without_a_file_parses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomllib", None)
    assert file.shipped("no core of this name") is None


def test_names_of_files() -> None:
    assert file.file_name("Zen 5 (X3D)") == "zen-5-x3d-.toml"


def test_shipped_files_are_named_after_their_cores() -> None:
    for path in Path(file.__file__).parent.glob("*.toml"):
        found = read(path)
        assert file.file_name(found.core) == path.name
        assert file.shipped(found.core) is not None
        for name in found.texts:
            assert found.rows(name), name
