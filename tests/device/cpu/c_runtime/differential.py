"""Differential fuzzer: C and Python open mutated bundles, and must agree.

    python -m tests.device.cpu.c_runtime.differential [--seconds N] [--seed S]

A case is determined by the seed and its number. A third of the cases each change the archive, the
manifest's text, and the manifest's values. Checksums and digests are corrected, so that a change
reaches the code that it is meant for.
"""

from __future__ import annotations

import argparse
import copy
import functools
import io
import json
import os
import platform
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import kgen
import kgen_runtime
from kgen import pipeline, targets
from kgen.bundle import pack
from kgen_runtime.bundle import BundleFile
from kgen_runtime.errors import KgenError
from tests.device.cpu.c_runtime.compiled import OPTIONS, SANITIZED, WRAPPED, compiled
from tests.programs import counted_bundle, gru_bundle, mlp_bundle, repeating
from tests.specs import relu_of
from tests.unit.runtime.bundle.lies import WRONG, edited, places
from tests.unit.runtime.bundle.zips import MANIFEST, with_right_crc, with_wide_records, zipped

#: Bundles that are judged at a time.
BATCH = 400


class Case(NamedTuple):
    what: str
    data: bytes


class Verdict(NamedTuple):
    """Verdict of a language on a bundle; `why` is empty if it is accepted. Both languages share the
    reader and its messages; other messages come from each language's loader."""

    why: str
    is_of_reader: bool = False

    @property
    def taken(self) -> bool:
        return not self.why

    def agrees(self, c: Verdict) -> bool:
        """Return whether Python's verdict agrees with that of C."""
        return self.why == c.why if self.is_of_reader else self.taken == c.taken


# -- Bundles to start from


@dataclass(frozen=True, kw_only=True)
class Base:
    manifest: Any
    files: Mapping[str, bytes]

    @functools.cached_property
    def text(self) -> str:
        return json.dumps(self.manifest)

    @functools.cached_property
    def data(self) -> bytes:
        return zipped({MANIFEST: self.text.encode(), **self.files})

    @functools.cached_property
    def tokens(self) -> Sequence[re.Match[str]]:
        return list(TOKEN.finditer(self.text))

    @functools.cached_property
    def places(self) -> Sequence[Any]:
        """Return the paths of all values of the manifest."""
        return list(places(self.manifest))


def bases() -> list[Base]:
    """Return a bundle of kernels with a constant, a workspace and a GPU kernel, and bundles of
    programs; one repeats steps, one has an output whose size depends on data."""
    cpu = {"x86_64": "x86-64", "aarch64": "aarch64-neon"}[platform.machine()]
    target = targets.find(cpu)
    kernels = pack(
        [
            pipeline.kernel(kgen.Matmul(m=3, n=8, k=4, dtype="f32", constant=("b",)), target),
            pipeline.kernel(relu_of((8, 3), dtype="f32"), target),
            pipeline.kernel(relu_of((8, 3), dtype="f32"), targets.find("gfx942")),
        ]
    )
    found = []
    for bundle in (kernels, mlp_bundle(cpu), gru_bundle(cpu), counted_bundle(cpu)):
        files = {**bundle.files, **{name: d.tobytes() for name, d in bundle.weights.items()}}
        # Texts for people are long, and no reader reads them.
        files = {n: d[:64] if n.endswith(".ll") else d for n, d in files.items()}
        manifest = repeating(bundle.manifest)
        found.append(Base(manifest=manifest, files=files))
    return found


# -- Changes of the archive


def flipped(rng: random.Random, base: Base) -> bytes:
    """Change a few bytes of headers, of the directory, or anywhere."""
    data = bytearray(base.data)
    heads = [m.start() for m in re.finditer(rb"PK[\1\3\5][\2\4\6]", data)]
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = min(len(data) - 1, rng.choice(heads) + rng.randrange(60))
        if rng.random() < 0.1:
            at = rng.randrange(len(data))
        data[at] = rng.choice((0, 1, 255, data[at] ^ 1 << rng.randrange(8)))
    return bytes(data)


def cut(rng: random.Random, base: Base) -> bytes:
    """Remove or insert bytes, anywhere or at the ends."""
    data = base.data
    at = rng.choice((0, len(data), len(data) - 22, data.index(b"PK\1\2"), rng.randrange(len(data))))
    length = rng.choice((1, 2, 4, 22, 76))
    if rng.random() < 0.5:
        return data[:at] + data[at + length :]
    return data[:at] + rng.choice((bytes(length), data[:length], rng.randbytes(length))) + data[at:]


NAMES = (
    "", "/", "a/../b", "..", "../x", "/etc/x", "a//b", "a/", "./a", "a\\b", "é", "a\0b", "a\nb",
    "manifest.json", "MANIFEST.JSON", "a b", "native/x.so", "x" * 300,
)  # fmt: skip


def rezipped(rng: random.Random, base: Base) -> bytes:
    """Change the list of files: rename, duplicate, drop, add, reorder or reformat some."""
    files = [(MANIFEST, base.text.encode()), *base.files.items()]
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.randrange(len(files))
        name, content = files[at]
        change = rng.randrange(5)
        if change == 0:
            files[at] = (rng.choice(NAMES), content)
        elif change == 1:
            files.insert(rng.randrange(len(files) + 1), (name, rng.choice((content, b"x"))))
        elif change == 2:
            del files[at]
        elif change == 3:
            files.append((rng.choice(NAMES), b"more"))
        else:
            rng.shuffle(files)
        if not files:
            break
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that occur twice
        for name, content in files:
            info = zipfile.ZipInfo(name or "empty")
            info.extra = rng.choice(
                (b"", b"", struct.pack("<HHI", 0xD935, 4, 0), b"\1\0\0\0", b"x")
            )
            info.compress_type = zipfile.ZIP_DEFLATED if rng.random() < 0.02 else zipfile.ZIP_STORED
            info.comment = b"c" if rng.random() < 0.02 else b""
            with new.open(info, "w", force_zip64=rng.random() < 0.2) as file:
                file.write(content)
        new.comment = b"c" if rng.random() < 0.03 else b""
    data = out.getvalue()
    if rng.random() < 0.3:
        data = with_wide_records(data, short=rng.random() < 0.5)
    if rng.random() < 0.2:
        spoilt = bytearray(data)
        spoilt[-rng.randrange(1, min(140, len(spoilt)))] ^= 1 << rng.randrange(8)
        data = bytes(spoilt)
    return data


# -- Changes of the text

NUMBERS = (
    "0", "-0", "01", "+1", ".5", "1.", "1.0", "1e0", "1E+2", "1e-400", "1e308", "1e309", "-1e309",
    "1.7976931348623157e308", "1.7976931348623159e308", "179769313486231570814527423731704e276",
    "1.79769313486231580793728971405e308", "1.79769313486231580793728971406e308", "0e99999999999",
    "0.00000000000000000000000000001", "0.000000000000000000000000000001", "1e99999999999999999999",
    "1e-99999999999999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "1" * 32, "1" * 33, "NaN", "Infinity", "-Infinity", "-", "1e", "0x1",
    "1_0", "\N{FULLWIDTH DIGIT ONE}",
)  # fmt: skip
TEXTS = (
    r'"\u0041"', r'"\u00e9"', '"é"', r'"\ud83d\ude00"', r'"\ud83d"', r'"\ude00\ud83d"', r'"\n"',
    r'"\/"', r'"\b"', r'"\u0000"', '"\x7f"', '"\x80"', r'"\u00a0"', r'"\u2028"', r'"\u202e"',
    r'"\u2066"', '"\u200b"', '"\ufeff"', '"\ufffe"', '"\U0001f600"', r'"\x41"', r'"\u12"', '"\t"',
    "'x'", '"', "null", "true", "True", "nul", "[]", "[,]", "[1,]", "{}", '{"a":1,"a":1}', "{1:2}",
    '{"a":1,}', '{"a" 1}', "//", "/**/1",
    *("[" * depth + "]" * depth for depth in (1, 20, 27, 28, 29, 30, 31, 32, 33, 40)),
)  # fmt: skip
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+|[][{},:]|\w+')


def reworded(rng: random.Random, base: Base) -> bytes:
    """Replace, double or drop tokens of the text, or add blanks."""
    text = base.text
    if rng.random() < 0.3:
        # Add places at which any value is valid.
        text = text.replace('"schedule": {', '"schedule": {"free": @, ', 1)
        text = text.replace("@", rng.choice((*NUMBERS, *TEXTS)), 1)
    for _ in range(rng.choice((0, 1, 1, 2))):
        token = rng.choice(base.tokens if text is base.text else list(TOKEN.finditer(text)))
        word = token.group()
        change = rng.randrange(6)
        new = (
            rng.choice((*NUMBERS, *TEXTS)) if change < 2
            else word + word if change == 2
            else "" if change == 3
            else rng.choice((" ", "\t", "\r\n", "\f", "\u00a0", "\0")) + word if change == 4
            else "".join(rng.sample(word, len(word)))
        )  # fmt: skip
        text = text[: token.start()] + new + text[token.end() :]
    encoded = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.15:
        whole = (
            b"\xef\xbb\xbf" + encoded, text.encode("utf-16"), text.encode("utf-16-le"),
            text.encode("utf-32"), encoded + b"\0", encoded + b"{}", b" " + encoded + b"\n\n",
            encoded[:-1], encoded.replace(b"r", b"\xff", 1), encoded.replace(b"r", b"\xc0\xf2", 1),
        )  # fmt: skip
        encoded = rng.choice(whole)
    return zipped({MANIFEST: encoded, **base.files})


def garbled(rng: random.Random, base: Base) -> bytes:
    """Change bytes of the text, and correct the checksum."""
    data = bytearray(base.data)
    end = len(base.text)
    start = data.index(b"{")
    for _ in range(rng.choice((1, 1, 2, 5))):
        data[start + rng.randrange(end)] = rng.choice(b'0123456789[]{},:"-ae.\\x\xff \xc3')
    return with_right_crc(bytes(data))


# -- Changes of the values


def lied(rng: random.Random, base: Base) -> bytes:
    """Replace, drop, duplicate or swap values of the manifest; names of files stay."""
    manifest = base.manifest
    for _ in range(rng.choice((1, 1, 2))):
        path = rng.choice(base.places if manifest is base.manifest else list(places(manifest)))

        def change(place: Any, step: Any) -> None:
            kind = rng.randrange(5)
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if kind == 0:
                del place[step]
            elif kind == 1:
                other = rng.choice(keys)
                place[step], place[other] = place[other], place[step]
            elif kind == 2 and isinstance(place, list):
                place.insert(step, copy.deepcopy(place[step]))
            elif kind == 3 and type(place[step]) is int:
                place[step] += rng.choice((-1, 1, 7, 2**31, place[step]))
            else:
                place[step] = rng.choice(WRONG)

        manifest = edited(manifest, path, change)
    text = json.dumps(manifest)
    named = {name: data for name, data in base.files.items() if json.dumps(name) in text}
    return zipped({MANIFEST: text.encode(), **named})


CHANGES: Sequence[Callable[[random.Random, Base], bytes]] = (
    flipped, cut, rezipped, reworded, reworded, garbled, lied, lied,
)  # fmt: skip


def cases(seed: int) -> Iterator[Case]:
    """Yield endless cases of a seed; the first ones are unchanged."""
    origins = bases()
    for number, base in enumerate(origins):
        yield Case(f"base {number}", base.data)
    number = 0
    while True:
        rng = random.Random(f"{seed}:{number}")
        change = CHANGES[number % len(CHANGES)]
        which = rng.randrange(len(origins))
        yield Case(f"{seed}:{number} {change.__name__}", change(rng, origins[which]))
        number += 1


# -- Verdicts


def by_python(data: bytes) -> Verdict:
    try:
        BundleFile(data).close()
    except KgenError as error:
        return Verdict(str(error), is_of_reader=True)
    try:
        kgen_runtime.load(data, device="cpu", num_threads=1, verify="all").close()
    except KgenError as error:
        return Verdict(str(error))
    return Verdict("")


def write_pack(path: Path, bundles: Sequence[bytes]) -> None:
    """Write the file of bundles for the driver's command `fuzz each`."""
    path.write_bytes(b"".join(struct.pack("<Q", len(data)) + data for data in bundles))


def by_c(fuzz: Path, folder: Path, given: Sequence[bytes]) -> list[Verdict]:
    """Open the bundles in C under sanitizers, in one process."""
    packed = folder / "pack"
    write_pack(packed, given)
    done = subprocess.run(
        [str(fuzz), "each", str(packed)],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, **OPTIONS},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"case {len(lines)} of these: {done.stderr[-3000:]}"
    assert len(lines) == len(given)
    return [Verdict(line.split(" ", 1)[1]) for line in lines]


class Outcome(NamedTuple):
    taken: int
    refused: int
    #: Cases on which the languages disagree.
    differences: list[str]


def compared(fuzz: Path, folder: Path, batch: Sequence[Case]) -> Outcome:
    differences = []
    taken = refused = 0
    for case, c in zip(batch, by_c(fuzz, folder, [case.data for case in batch]), strict=True):
        python = by_python(case.data)
        taken += python.taken and c.taken
        refused += not python.taken and not c.taken
        if not python.agrees(c):
            differences.append(f"{case.what}: Python: {python.why or 'yes'}; C: {c.why or 'yes'}")
    return Outcome(taken, refused, differences)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--seed", type=int, default=int(time.time()))
    given = options.parse_args()
    end = time.monotonic() + given.seconds
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fuzz = compiled(folder, "fuzz", SANITIZED, linking=WRAPPED)
        stream = cases(given.seed)
        while time.monotonic() < end:
            found = compared(fuzz, folder, [next(stream) for _ in range(BATCH)])
            total += Counter(taken=found.taken, refused=found.refused)
            total["differences"] += len(found.differences)
            for line in found.differences:
                print(line, flush=True)
    print(f"seed {given.seed}: " + ", ".join(f"{n} {what}" for what, n in total.items()))
    return int(total["differences"] > 0)


if __name__ == "__main__":
    sys.exit(main())
