"""A changed byte anywhere in a bundle with a program: it is refused in one line, or the program
gives the same result. All digests are checked, also of weights."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.programs import mlp_bundle

#: Changed bytes of each part of the file.
FLIPS = 80
#: Bytes before a file's name: in its header, and in the directory.
LOCAL, LISTED = 30, 46
#: Each (part, place, bits): what became of the program. A crash ends the process.
WORKER = """
import sys
from pathlib import Path
import numpy as np
import kgen_runtime
path = Path(sys.argv[1])
data = path.read_bytes()
x = np.random.default_rng(0).standard_normal((5, 24)).astype("f")
def answer():
    with kgen_runtime.load(path, device="cpu", num_threads=1, verify="all") as kernels:
        return kernels.program.run(x=x).tobytes()
want = answer()
for line in sys.stdin:
    part, place, bits = line.split()
    print(part, place, bits, end=" ", flush=True)
    changed = bytearray(data)
    changed[int(place)] ^= int(bits)
    path.unlink()
    path.write_bytes(changed)
    try:
        print("same" if answer() == want else "another answer")
    except kgen_runtime.KgenError as error:
        print("refused" if len(str(error).splitlines()) == 1 else f"refused at length: {error!r}")
print("done")
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mlp_bundle("x86-64-v3").save(tmp_path_factory.mktemp("bundle") / "m.kgen")


def parts(path: Path) -> Iterator[tuple[str, range]]:
    """Yield the bytes of each kind: headers and directory without padding, and contents of
    files."""
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        at = archive.start_dir
        for info in archive.infolist():
            name = info.filename
            lengths = struct.unpack_from("<HH", data, info.header_offset + LOCAL - 4)
            start = info.header_offset + LOCAL + sum(lengths)
            kind = "weights" if name.startswith("weights") else Path(name).suffix.strip(".")
            yield "header", range(info.header_offset, info.header_offset + LOCAL + len(name))
            yield kind, range(start, start + info.file_size)
            yield "directory", range(at, at + LISTED + len(name))
            at += LISTED + len(name) + len(info.extra)
        yield "directory", range(at, path.stat().st_size)


@pytest.mark.integration
def test_any_changed_byte(path: Path) -> None:
    places: dict[str, list[int]] = {}
    for part, found in parts(path):
        places.setdefault(part, []).extend(found)
    assert {"header", "json", "weights", "directory"} < places.keys() and len(places) > 4
    rng = Random(0)
    flips = [
        f"{part} {rng.choice(among)} {rng.randrange(1, 256)}"
        for part, among in places.items()
        for _ in range(FLIPS)
    ]
    command = [sys.executable, "-c", WORKER, str(path)]
    done = subprocess.run(
        command, input="\n".join(flips), capture_output=True, text=True, timeout=100
    )
    *lines, last = done.stdout.splitlines()
    assert last == "done", f"{last}: status {done.returncode}: {done.stderr[-2000:]}"
    outcomes = [line.split(" ", 3) for line in lines]
    assert not [o for o in outcomes if o[3] not in ("same", "refused")]
    refused = {part: sum(o[0] == part and o[3] == "refused" for o in outcomes) for part in places}
    # A file's own header repeats its entry of the directory, but for the version. Which system
    # wrote an entry, and a file's mode, say nothing.
    assert refused["json"] == refused["weights"] == FLIPS, refused
    assert refused["header"] > FLIPS * 0.9 and FLIPS / 4 < refused["directory"] < FLIPS, refused
    assert sum(refused.values()) > 3 * FLIPS, refused
