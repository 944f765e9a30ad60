"""Manifests with one change each, and calls of kernels that the reader accepts. Every field is
dropped, given values of every kind, swapped with its neighbours and duplicated."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DEEP: Any = []
for _ in range(100):
    DEEP = [DEEP]
WRONG: tuple[Any, ...] = (
    None, 0, -1, 3, 2**40, 2**62, 2**63, -(2**63), 10**30, 0.5, 1e308, float("inf"), float("nan"),
    True, "", "x", "nn\0", "\ud800", "a" * 300, [], {}, [0], [-1, -1], ["x"], {"x": 1}, DEEP,
)  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value."""
    if path:
        yield path
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for step, value in items:
        yield from places(value, (*path, step))


def edited(data: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """Return a copy in which only objects along the path are new."""
    if len(path) > 1:
        data = copy.copy(data)
        data[path[0]] = edited(data[path[0]], path[1:], change)
        return data
    data = copy.copy(data)
    change(data, path[0])
    return data


def lies(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield manifests with one change each, and the change in words."""
    for path in places(data):
        where = ".".join(map(str, path))

        def drop(place: Any, step: Any) -> None:
            del place[step]

        def swap(place: Any, step: Any) -> None:
            steps = sorted(place) if isinstance(place, dict) else range(len(place))
            other = steps[(list(steps).index(step) + 1) % len(steps)]
            place[step], place[other] = place[other], place[step]

        def double(place: Any, step: Any) -> None:
            if isinstance(place, list):
                place.insert(step, place[step])
            else:
                place[f"{step}_"] = place[step]

        for change in (drop, swap, double):
            yield f"{change.__name__} {where}", edited(data, path, change)
        for value in WRONG:

            def put(place: Any, step: Any, value: Any = value) -> None:
                place[step] = value

            yield f"{where} = {str(value)[:40]!a}", edited(data, path, put)


#: USE is put in: what is done with each manifest.
_WORKER = """
import io, json, pickle, sys, zipfile, numpy as np, kgen_runtime
with open(sys.argv[1], "rb") as file: files, data, manifests = pickle.load(file)
def use(what, bundle):
USE
for number, (what, manifest) in enumerate(manifests):
    print(number, flush=True)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        text = json.dumps(manifest)
        new.writestr("manifest.json", text)
        for name, content in files.items():
            if json.dumps(name) in text:
                new.writestr(name, content)
    try:
        use(what, out)
    except kgen_runtime.KgenError as error:
        assert "\\n" not in str(error), (what, error)
print("done")
"""


def use_each(
    body: str,
    files: Mapping[str, bytes],
    manifests: Sequence[tuple[str, Any]],
    folder: Path,
    data: object = None,
) -> None:
    """Run `body` for each (what, manifest) in a separate process. It may use `what`, the
    manifest's `bundle`, its files and the `data`; an error of kgen is printed in one line."""
    path = folder / "lies.pickle"
    path.write_bytes(pickle.dumps((dict(files), data, manifests)))
    program = _WORKER.replace("USE", textwrap.indent(body, "    "))
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    last = done.stdout.split()[-1:] or ["nothing"]
    what = manifests[int(last[0])][0] if last[0].isdigit() else ""
    assert last == ["done"], f"{what}: status {done.returncode}: {done.stderr[-2000:]}"
