"""`frozen` makes classes that behave as the standard library's frozen, keyword-only dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import ClassVar

import pytest

from kgen_runtime.values import frozen


@frozen
class Point:
    """Value with two numbers."""

    COUNT: ClassVar[int] = 3

    x: int
    y: int = 2
    note: str = field(default="", repr=False, compare=False)
    extra: Mapping[str, int] = field(default_factory=dict, compare=False)


@frozen
class Marked(Point):
    """Point with an additional mark, which must be positive."""

    mark: int = 1

    def __post_init__(self) -> None:
        if self.mark < 1:
            raise ValueError(f"mark={self.mark}")

    def __repr__(self) -> str:
        return "marked"


@frozen
class Named:
    """Value with its own rule of comparison."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name.lower() == other.name.lower()


@frozen
class Moved(Point):
    """Point whose first number has a default, and whose second one has another type."""

    x: int = 5
    y: bool


@frozen
class Empty:
    """A value without fields."""


def test_values_are_equal_and_hash_by_the_fields_that_are_compared() -> None:
    one, other = Point(x=1, note="a", extra={"k": 1}), Point(x=1, note="b")
    assert one == other and hash(one) == hash(other) and len({one, other}) == 1
    others: tuple[object, ...] = (Point(x=2), Marked(x=1), (1, 2))
    assert one not in others
    assert Empty() == Empty() and len({Empty(), Empty()}) == 1


def test_values_show_their_fields_and_cannot_be_changed() -> None:
    point = Point(x=1, note="a")
    assert repr(point) == "Point(x=1, y=2, extra={})"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x


def test_a_value_takes_its_fields_by_name() -> None:
    first, second = Point(x=1), Point(x=1)
    assert first.extra is not second.extra
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required .* 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Point.__init__\(\) got an unexpected .* 'z'"):
        Point(x=1, z=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Point(1)  # type: ignore[call-arg]
    assert list(inspect.signature(Marked).parameters) == ["x", "y", "note", "extra", "mark"]


def test_a_class_keeps_the_methods_that_it_has() -> None:
    assert repr(Marked(x=1)) == "marked"
    assert Named(name="A") == Named(name="a")
    assert hash(Named(name="A")) == hash(Named(name="A"))
    with pytest.raises(ValueError, match="mark=0"):
        Marked(x=1, mark=0)


def test_a_field_may_be_declared_again() -> None:
    assert repr(Moved()) == "Moved(x=5, y=2, extra={})"  # type: ignore[call-arg]
    assert [field.type for field in dataclasses.fields(Moved)][:2] == ["int", "bool"]
    assert Moved(y=True, extra={"k": 1}) == Moved(y=True) != Moved(y=False)
    assert Point.COUNT == Moved.COUNT == 3


def test_threads_that_ask_at_once_see_one_class() -> None:
    """The standard library removes a field's default from the class while it reads it."""

    @frozen
    class Fresh:
        extra: Mapping[str, int] = field(default_factory=dict)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: (dataclasses.fields(Fresh)[0].name, Fresh()), range(16)))
    assert found == [("extra", Fresh())] * 16


def test_the_standard_library_takes_values_for_dataclasses() -> None:
    marked = Marked(x=1, mark=4)
    assert dataclasses.is_dataclass(marked)
    assert dataclasses.replace(marked, y=5) == Marked(x=1, y=5, mark=4)
    assert dataclasses.asdict(Point(x=1)) == {"x": 1, "y": 2, "note": "", "extra": {}}
    assert copy.copy(marked) == copy.deepcopy(marked) == pickle.loads(pickle.dumps(marked))
    with pytest.raises(ValueError, match="mark=-1"):
        dataclasses.replace(marked, mark=-1)


#: Builds a kernel, then counts the texts that were compiled for it, and its classes of values.
COUNTED = """
import gc, sys
compiled = 0
def count(event, arguments):
    global compiled
    compiled += event == "compile" and arguments[1] == "<string>"
sys.addaudithook(count)
from kgen.cli.main import main
main(["build", "--shape", "256x256x256", "--target", "vulkan1.3", "--json", "-o", sys.argv[1]])
classes = [c for c in gc.get_objects() if isinstance(c, type) and "__dataclass_fields__" in vars(c)]
print(compiled, len(classes))
"""


@pytest.mark.integration
def test_a_build_compiles_few_texts_for_its_classes(tmp_path: Path) -> None:
    """A class needs no compiled text; a frozen dataclass of the standard library needs six.
    Jinja compiles its own."""
    command = [sys.executable, "-c", COUNTED, str(tmp_path / "x.kgen")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    compiled, classes = map(int, done.stdout.splitlines()[-1].split())
    assert classes > 50
    assert compiled < 2 * classes
