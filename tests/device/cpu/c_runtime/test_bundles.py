"""Bundles that the C runtime accepts and refuses, and the entries that it chooses: as the Python
runtime does."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import random
import re
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import kgen
import kgen_runtime
from kgen import pipeline, targets
from kgen.bundle import pack
from kgen_runtime.errors import KgenError
from kgen_runtime.schema.manifest_json import to_json
from tests.device.cpu.c_runtime.compiled import OPTIONS, Driver, write
from tests.device.cpu.c_runtime.test_kernels import SPLIT
from tests.programs import mlp_bundle
from tests.specs import relu_of
from tests.unit.runtime.bundle.lies import lies
from tests.unit.runtime.bundle.zips import archive, with_right_crc, with_wide_records

MANIFEST = "manifest.json"
KEY = "matmul_8x24x20_f32_nn_bias_relu"


def made() -> kgen.Bundle:
    """Return a kernel with a packed constant, one of two launches with a workspace, and an
    element-wise one."""
    native, split = targets.find("native"), kgen.Matmul(m=5, n=40, k=75, dtype="f32")
    return pack(
        [
            pipeline.kernel(kgen.Matmul(m=3, n=24, k=16, dtype="f32", constant=("b",)), native),
            pipeline.kernel(split, native, SPLIT),
            pipeline.kernel(relu_of((40, 3), dtype="f32"), native),
        ]
    )


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    return made()


@pytest.fixture(scope="module")
def mlp() -> kgen.Bundle:
    return mlp_bundle("x86-64-v3")


def data_of(bundle: kgen.Bundle) -> Any:
    return json.loads(json.dumps(to_json(bundle.manifest)))


def files_of(bundle: kgen.Bundle) -> dict[str, bytes]:
    return dict(bundle.files) | {name: data.tobytes() for name, data in bundle.weights.items()}


def each(fuzz: Path, folder: Path, bundles: Iterable[bytes], *words: str) -> list[tuple[int, str]]:
    """Return status and message for each bundle, opened under sanitizers in one process."""
    given = list(bundles)
    packed = write(folder, "pack", b"".join(struct.pack("<Q", len(b)) + b for b in given))
    done = subprocess.run(
        [str(fuzz), "each", str(packed), *words],
        capture_output=True,
        text=True,
        env={**os.environ, **OPTIONS},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"bundle {len(lines)}: {done.stderr[-3000:]}"
    assert len(lines) == len(given)
    return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]


# -- Choosing


def test_programs_of_several_targets(sanitized: Driver, tmp_path: Path) -> None:
    """The chosen program is the one whose kernels all run; without programs, each kernel is
    chosen separately."""
    path = mlp_bundle("x86-64", "native", "vulkan1.1").save(tmp_path / "mlp.kgen")
    lines = sanitized.done(path, "list").splitlines()
    assert "program native main" in lines
    others = [line for line in lines if line.startswith("skipped") and "/main: " in line]
    assert others[0] == "skipped x86-64/main: native is better for cpu:0, or precedes it"
    assert others[1].startswith("skipped vulkan1.1/main: vulkan1.1/matmul")
    assert others[1].endswith(": the bundle has no code for the cpu backend")


# -- Lies: a manifest with one change


#: What Python holds against the spec or derives from the order of steps, which this runtime does
#: not read (docs/reference/c-runtime.md): it opens these.
UNREAD = re.compile(
    r"its spec|in its spec|is reserved and cannot name|op=|must name step"
    r"|which no earlier step writes|which overlap in memory"
)


def verdicts(
    fuzz: Path, folder: Path, files: Mapping[str, bytes], sample: list[tuple[str, Any]]
) -> tuple[int, list[tuple[str, bytes]]]:
    """Return how many of these bundles both runtimes refuse, and the ones that both accept."""
    bundles = [archive(manifest, files) for _, manifest in sample]
    found = each(fuzz, folder, bundles)
    refused, taken = 0, []
    for (what, _), data, (status, message) in zip(sample, bundles, found, strict=True):
        try:
            kgen_runtime.load(data, device="cpu", num_threads=1, verify="all").close()
        except KgenError as error:
            if status == 0:
                assert UNREAD.search(str(error)), f"{what}: {error}"
            else:
                refused += 1
                assert message.startswith(f"a bundle of {len(data)} bytes: "), what
        else:
            assert status == 0, f"{what}: {message}"
            taken.append((what, data))
    return refused, taken


def test_every_field_of_kernels(fuzz: Path, bundle: kgen.Bundle, tmp_path: Path) -> None:
    """For a sample of changes of single fields, C refuses what Python refuses, and runs what
    Python accepts."""
    whole = data_of(bundle)
    sample = []
    for number in range(len(whole["kernels"])):
        one = whole | {"kernels": [whole["kernels"][number]]}
        touched = (
            item
            for item in lies(one)
            if not re.search(r"\.(spec|schedule|provenance|tolerance)\.", item[0])
        )
        sample += list(itertools.islice(touched, number, None, 7))
    refused, taken = verdicts(fuzz, tmp_path, files_of(bundle), sample)
    assert len(sample) > 700 and refused > len(sample) // 2 and len(taken) > 10
    # How many tasks there are, what a launch of several reads and how much of a workspace is used
    # only the code knows: docs/reference/bundle-format.md, "Trust".
    safe = [data for what, data in taken if not re.search(r"launches|workspaces", what)]
    assert {status for status, _ in each(fuzz, tmp_path, safe, "run")} == {0}


def test_every_field_of_programs(fuzz: Path, mlp: kgen.Bundle, tmp_path: Path) -> None:
    whole = data_of(mlp)
    changed = (
        (what, {**whole, **lie})
        for what, lie in lies({"programs": whole["programs"]})
        if "programs" in lie
    )
    sample = list(itertools.islice(changed, 0, None, 11))
    refused, taken = verdicts(fuzz, tmp_path, files_of(mlp), sample)
    assert len(sample) > 400 and refused > len(sample) // 2 and len(taken) > 10
    assert {status for status, _ in each(fuzz, tmp_path, [d for _, d in taken], "run")} == {0}


def put(path: str, new: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        *steps, last = [int(p) if p.isdigit() else p for p in path.split(".")]
        for step in steps:
            data = data[step]
        data[last] = new

    return change


def swap_arguments(data: Any) -> None:
    arguments = data["kernels"][0]["launches"][0]["arguments"]
    arguments[0], arguments[1] = arguments[1], arguments[0]


def drop_argument(data: Any) -> None:
    data["kernels"][0]["launches"][0]["arguments"].pop(0)


def second_kernel(data: Any) -> None:
    data["kernels"].append(data["kernels"][0])


def many_launches(data: Any) -> None:
    data["kernels"][2]["launches"] *= 65


# Kernels: 0 the packed product, 1 the split one, 2 relu.
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swap_arguments, "native/KEY: argument a of a launch is in the wrong order"),
        (drop_argument, "native/KEY: no launch uses a"),
        (
            many_launches,
            "manifest.kernels[2].launches: 65 entries; the limit is 64 (launches)",
        ),
        (second_kernel, "manifest.kernels: native/KEY occurs twice"),
        (
            put("kernels.0.launches.0.arguments.0", "z"),
            "native/KEY: no argument is called z",
        ),
        (
            put("kernels.0.launches.0.arguments.1", "a"),
            "native/KEY: a launch takes a twice",
        ),
        (
            put("kernels.0.launches.0.grid.0", 2**40),
            "native/KEY: grid=(1099511627776, 1, 1) has more tasks than the 288 bytes they write",
        ),
        (
            put("kernels.0.launches.0.grid.0", 0),
            "native/KEY: grid=(0, 1, 1) is empty; each number must be 1 or more",
        ),
        (
            put("kernels.0.parameters.2.strides", [0, 1]),
            "native/KEY: elements of out overlap, or are packed",
        ),
        (
            put("kernels.0.parameters.1.shape.0", 1),
            "native/KEY: b has a packing that does not fit its shape",
        ),
        (
            put("kernels.0.parameters.1.packing.shape.0", 17),
            "native/KEY: b has a packing that does not fit its shape",
        ),
        (
            put("kernels.0.parameters.1.packing.shape.1", 25),
            "native/KEY: b has a packing that does not fit its shape",
        ),
        (
            put("kernels.0.parameters.1.packing.width", 3),
            "native/KEY: b has a packing that does not fit its shape",
        ),
        (
            put("kernels.0.parameters.1.packing.runs", [2]),
            "native/KEY: b has a packing that does not fit its shape",
        ),
        (
            put("kernels.0.parameters.0.strides", [2**62, 1]),
            "native/KEY: a spans more than 9223372036854775807 bytes, the limit",
        ),
        (
            put("kernels.0.parameters.0.shape", [1] * 9),
            "manifest.kernels[0].parameters[0].shape: 9 entries; the limit is 8 (rank)",
        ),
        (
            put("kernels.0.parameters.0.dtype", "f33"),
            "manifest.kernels[0].parameters[0].dtype: 'f33' is not one of f64, f32, f16",
        ),
        (
            put("kernels.0.parameters.0.shape.0", "8"),
            "manifest.kernels[0].parameters[0].shape: expected int, got '8'; build the bundle "
            "again",
        ),
        (
            put("kernels.0.parameters.0.colour", "red"),
            "manifest.kernels[0].parameters[0]: unknown field 'colour'; build the bundle again",
        ),
        (
            put("kernels.1.workspaces.0.nbytes", 0),
            "partial.sums has 0 bytes; a workspace has 1 or more",
        ),
        (
            put("kernels.2.launches.0.tile.shape", [39, 3]),
            "native/relu_40x3_f32: its tile does not fit its output",
        ),
        (
            put("schema_version", 5),
            "manifest schema 5 is not one that this runtime reads (1 to 4)",
        ),
        (
            put("kernels", []),
            "manifest.kernels: it has no kernel and no program; a bundle needs one",
        ),
        (
            put("kernels.0.artifacts.0.nbytes", 5),
            ".so has SIZE bytes, the manifest says 5; it was changed after it was built",
        ),
        (
            put("kernels.0.artifacts.0.file", "native/x.so"),
            "native/x.so is missing or damaged; build or copy the bundle again",
        ),
        (
            put("kernels.0.artifacts.0.requires.colour", ["red"]),
            "",
        ),
    ],
    ids=lambda v: v[:50] if isinstance(v, str) else "",
)
def test_one_lie(
    sanitized: Driver,
    bundle: kgen.Bundle,
    change: Callable[[Any], None],
    message: str,
    tmp_path: Path,
) -> None:
    data = data_of(bundle)
    key = data["kernels"][0]["key"]
    size = data["kernels"][0]["artifacts"][0]["nbytes"]
    change(data)
    path = write(tmp_path, "lie.kgen", archive(data, bundle.files))
    if not message:
        listed = sanitized.done(path, "list")
        assert "requires colour, which this runtime does not know" in listed and key in listed
        return
    refusal = sanitized.refused(path, "list")
    assert message.replace("KEY", key).replace("SIZE", str(size)) in refusal, refusal
    assert refusal.startswith(("3: ", "4: ", "5: "))


def drop_last_step(data: Any) -> None:
    data["programs"][0]["steps"].pop()


def two_programs(data: Any) -> None:
    data["programs"] *= 2


def one_file(data: Any) -> None:
    """Let a weight name the file of a smaller one, which comes first; its size stays right for
    the value."""
    data["programs"][0]["weights"].sort(key=lambda weight: weight["name"] != "gamma")
    weights = {weight["name"]: weight for weight in data["programs"][0]["weights"]}
    weights["w1"]["file"], weights["w1"]["sha256"] = (
        weights["gamma"]["file"],
        weights["gamma"]["sha256"],
    )


# Values: 0 x, 1 out, 2 h in the arena at 0 of 800 bytes, 3 y at 1024 of 480, 4 b1, ...
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            put("values.3.place.offset", 1028),
            "value y of 480 bytes at arena + 1028 ends past the 1504 bytes there",
        ),
        (
            put("values.3.place.offset", 2**62),
            "value y of 480 bytes at arena + 4611686018427387904 ends",
        ),
        (
            put("values.3.place.offset", -4),
            "value y is at arena + -4, which is not a multiple of its element size",
        ),
        (
            put("values.3.place.offset", 1022),
            "value y is at arena + 1022, which is not a multiple of its element size",
        ),
        (put("values.3.place.offset", 256), "takes h and y, which overlap in memory"),
        (
            put("values.4.place.offset", 4),
            "value b1 of 160 bytes at weights b1 + 4 ends past the 160 bytes there",
        ),
        (put("values.2.strides", [2**40, 1]), "ends past the 1504 bytes there"),
        (put("values.2.shape", [5, 39]), "out is h, which spans 796 bytes; the kernel takes 800"),
        (put("values.2.dtype", "s32"), "out is h, which is s32; the kernel takes f32"),
        (put("values.2.place.name", "x"), "value h is in arena x, which does not exist"),
        (put("values.2.name", "x"), "value 'x' occurs twice or has no name"),
        (
            put("values.3.place", {"kind": "weights", "name": "w1"}),
            "out is y, in weights w1, which is read-only",
        ),
        (
            put("values.3.place", {"kind": "input", "name": "x"}),
            "out is y, in input x, which is read-only",
        ),
        (put("inputs.0.strides", [48, 2]), "input x is not a packed value in memory of its own"),
        (put("outputs", []), "value out is in output out, which does not exist"),
        (put("arena_bytes", -1), "its arena has -1 bytes"),
        (put("steps", []), "no step writes output out"),
        (put("steps.0.kernel", "nothing"), "step 0 (nothing): the bundle has no such kernel"),
        (put("steps.0.bindings", {"a": "x"}), "it binds 1 tensors; the kernel takes 4"),
        (put("steps.0.bindings.a", "q"), "a is 'q', which is not a value"),
        (put("steps.0.bindings.a", 7), "steps[0].bindings.a: expected str, got 7"),
        (put("steps.0.after", [0]), "it depends on step 0, which is not earlier"),
        (
            put("weights.0.file", "../../etc/passwd"),
            "is in '../../etc/passwd', which is not named by its digest",
        ),
        (put("weights.0.nbytes", 0), "has 0 bytes"),
        (
            put("states", [{"name": "s", "nbytes": 4, "input": "h", "output": "h"}]),
            "state s has no value 'h' at its start",
        ),
        (put("name", ""), "it has no name or no target"),
        (drop_last_step, "no step writes output out"),
        (two_programs, "program x86-64-v3/main: it occurs twice"),
        (one_file, "has 96 bytes, the manifest says 3840; it was changed after it was built"),
    ],
    ids=lambda v: v[:50] if isinstance(v, str) else "",
)
def test_one_lie_of_a_program(
    sanitized: Driver, mlp: kgen.Bundle, change: Callable[[Any], None], message: str, tmp_path: Path
) -> None:
    data = data_of(mlp)
    is_whole = change in (drop_last_step, two_programs, one_file)
    change(data if is_whole else data["programs"][0])
    path = write(tmp_path, "lie.kgen", archive(data, files_of(mlp)))
    refusal = sanitized.refused(path, "list")
    assert message in refusal and refusal.startswith(("3: ", "4: ")), refusal
    with pytest.raises(KgenError):
        kgen_runtime.load(path, device="cpu", num_threads=1)


def with_code(bundle: kgen.Bundle, code: bytes) -> bytes:
    """Return the third kernel alone, with this code and a correct digest."""
    data = data_of(bundle)
    one = data["kernels"][2]
    artifact = one["artifacts"][0]
    artifact |= {"sha256": hashlib.sha256(code).hexdigest(), "nbytes": len(code)}
    lie = data | {"kernels": [one], "programs": []}
    return archive(lie, {**bundle.files, artifact["file"]: code})


def test_code_that_is_none(fuzz: Path, bundle: kgen.Bundle, tmp_path: Path) -> None:
    """Code with a correct digest may be any bytes, or an ELF file with changed header bytes and
    tables."""
    original = bundle.files[data_of(bundle)["kernels"][2]["artifacts"][0]["file"]]
    rng = random.Random(1)
    codes = [b"", b"\0" * 5000, original[:-1500], original[:300], b"\x7fELF" + bytes(range(256))]
    for at in [*range(64 + 56 * 4), *(rng.randrange(len(original)) for _ in range(300))]:
        for value in (0, 255, original[at] ^ 1):
            codes.append(original[:at] + bytes([value]) + original[at + 1 :])
    found = each(fuzz, tmp_path, [with_code(bundle, code) for code in codes])
    assert all(status == 6 and "its code" in message for status, message in found[:5])
    assert sum(status == 6 for status, _ in found) > 20 and {s for s, _ in found} <= {0, 6}


def test_code_that_asks_for_more(fuzz: Path, bundle: kgen.Bundle, tmp_path: Path) -> None:
    """Relocations, memory without file contents, another machine, a missing entry point, and one
    that is not a function."""
    one = data_of(bundle)["kernels"][2]
    original = bundle.files[one["artifacts"][0]["file"]]
    (table,) = struct.unpack_from("<Q", original, 32)
    (count,) = struct.unpack_from("<H", original, 56)
    # The first segment of each kind.
    places = range(table, table + 56 * count, 56)
    segments = {struct.unpack_from("<I", original, at)[0]: at for at in reversed(places)}
    load, dynamic = segments[1], segments[2]
    tags = struct.unpack_from("<Q", original, dynamic + 8)[0]
    name = original.index(one["launches"][0]["entry_point"].encode())
    entries = dict(struct.iter_unpack("<QQ", original[tags : tags + 16 * 5]))
    first_symbol = entries[6] + 24  # DT_SYMTAB lies in the part that begins the file
    machine = struct.unpack_from("<H", original, 18)[0]

    def changed(at: int, form: str, value: int) -> bytes:
        code = bytearray(original)
        struct.pack_into(form, code, at, value)
        return bytes(code)

    asks = "it needs a dynamic loader"
    brings = "a segment is larger in memory than in the file"
    size = struct.unpack_from("<Q", original, load + 32)[0]
    cases = {
        changed(tags, "<Q", 7): asks,  # DT_RELA
        changed(tags + 16, "<Q", 1): asks,  # DT_NEEDED
        changed(load + 40, "<Q", size + 4096): brings,
        changed(load + 16, "<Q", 1 << 40): brings,
        changed(load + 8, "<Q", 2**64 - 8): "it is truncated",
        changed(load + 32, "<Q", 1 << 30): "it is truncated",
        changed(18, "<H", 183 if machine == 62 else 62): "it is not for",
        changed(16, "<H", 2): "it is not a shared object",
        changed(56, "<H", 60000): "its headers are damaged",
        changed(name, "<B", ord("x")): "its code has no function relu_40x3_f32",
        changed(first_symbol + 8, "<Q", 64): "its code has no function relu_40x3_f32",  # no code
        changed(first_symbol, "<I", 2**31): "its code has no function relu_40x3_f32",
    }
    found = each(fuzz, tmp_path, [with_code(bundle, code) for code in cases])
    for (status, message), wanted in zip(found, cases.values(), strict=True):
        assert status == 6 and wanted in message and "; build it again" in message, wanted


def test_json_that_is_none(fuzz: Path, bundle: kgen.Bundle, tmp_path: Path) -> None:
    text = json.dumps(data_of(bundle))
    deep = text.replace('"schedule": {', '"schedule": {"deep": @, ', 1)
    key = '"schema_version": 4'
    cases = {
        deep.replace("@", "[" * 1000 + "]" * 1000): "more than 32 levels of lists and objects",
        "[" * 100_000: "more than 32 levels of lists and objects",
        deep.replace("@", "1" * 30): "a number of more than 64 bits",
        deep.replace("@", "1e400"): "a number beyond f64",
        deep.replace("@", "1." + "0" * 31): "a number of more than 32 characters",
        deep.replace("@", "1e"): "no digit",
        deep.replace("@", "01"): "no comma and no end",
        deep.replace("@", "NaN"): "no value",
        deep.replace("@", "-"): "no value",
        deep.replace("@", '"\\u0000"'): "a text that cannot be printed",
        deep.replace("@", '"\\ud800"'): "a text that cannot be printed",
        deep.replace("@", '"\\x"'): "a text that cannot be printed",
        deep.replace("@", '"\t"'): "a text that cannot be printed",
        deep.replace("@", '"'): "",
        text[:-1]: "no comma and no end",
        text + "x": "something behind its end",
        text.replace(key, f"{key}, {key}"): "'schema_version' occurs twice in one object",
        "": "no value",
        "[]": "manifest.json: no schema_version",
        '{"schema_version": "2"}': "manifest schema -1 is not one",
        '"': "a text without an end",
        '"\\': "a text without an end",
    }
    found = each(fuzz, tmp_path, [archive(case, bundle.files) for case in cases])
    for (status, message), wanted in zip(found, cases.values(), strict=True):
        assert status in (3, 5) and wanted in message, (wanted, message)
    good = deep.replace("@", '["\\u00e9\\ud83d\\ude00é", -9223372036854775808, 1.5e-7, true, null]')
    assert each(fuzz, tmp_path, [archive(good, bundle.files)]) == [(0, "")]
    for raw in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"):
        data = archive(deep.replace("@", '"@@@@"'[: len(raw) + 1] + '"'), bundle.files)
        at = data.index(b'"deep": "@') + 9
        spoilt = with_right_crc(data[:at] + raw + data[at + len(raw) :])
        ((status, message),) = each(fuzz, tmp_path, [spoilt])
        assert status == 3 and "a text that is not UTF-8" in message


def test_zips(fuzz: Path, bundle: kgen.Bundle, tmp_path: Path) -> None:
    data, files = data_of(bundle), bundle.files
    whole = archive(data, files)
    twice = io.BytesIO(whole)
    with zipfile.ZipFile(twice, "a") as more, pytest.warns(UserWarning, match="Duplicate name"):
        more.writestr(MANIFEST, "{}")
    large = bytearray(whole)
    at = large.index(b"PK\1\2")
    large[at + 20 : at + 28] = large[18:26] = (2**31).to_bytes(4, "little") * 2
    end = whole.rindex(b"PK\5\6")
    (offset,) = struct.unpack_from("<I", whole, end + 16)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    wide = with_wide_records(whole)
    far = struct.pack("<4sIQI", b"PK\6\7", 0, 2**64 - 30, 1)
    none = "not a kgen bundle, or a truncated one"
    # The last file of an archive, moved by its own header until it ends behind the archive.
    alone = archive(data, {})
    behind = len(alone) - alone.index(b"PK\1\2")
    moved = [
        alone[:28] + struct.pack("<H", by) + alone[30:] for by in (behind + 1, behind + 90, 0xFFFF)
    ]
    cases = [
        *((spoilt, none) for spoilt in moved),
        (whole, ""),
        (b"#!/bin/sh\n" + whole, none),
        (with_wide_records(whole, short=True), ""),
        (wide, ""),
        (wide.replace(locator, far), none),
        (wide.replace(struct.pack("<Q", offset), struct.pack("<Q", 2**64 - 1)), none),
        (archive(data, files, compression=zipfile.ZIP_DEFLATED), "('manifest.json' is compressed)"),
        (twice.getvalue(), "('manifest.json' occurs twice)"),
        (bytes(large), "('manifest.json' has a header that differs from the directory)"),
        (whole.replace(b"PK\1\2", b"PK\1\3"), none),
        (whole.replace(b"PK\3\4", b"PK\3\5"), none),
        (whole.replace(b'"kernels"', b'"cernels"'), none),
        (whole[:-1], none),
        (whole + b"x", none),
    ]
    found = each(fuzz, tmp_path, [case for case, _ in cases])
    for (status, message), (_, wanted) in zip(found, cases, strict=True):
        assert (status == 0 and not message) if not wanted else (status == 3 and wanted in message)


def test_long_messages(sanitized: Driver, bundle: kgen.Bundle, tmp_path: Path) -> None:
    """Messages are cut in the middle, between whole characters."""
    folder = tmp_path
    for _ in range(12):
        folder /= "é" * 120
    folder.mkdir(parents=True)
    data = data_of(bundle)
    put("kernels.0.artifacts.0.file", "native/" + "x" * 5000)(data)
    for path in (folder / "missing", write(folder, "lie.kgen", archive(data, bundle.files))):
        refusal = sanitized.refused(path, "list").split(": ", 1)[1]
        assert len(refusal.encode()) <= 500 and " ... " in refusal
        assert refusal.startswith(str(tmp_path))
        assert refusal.endswith(
            ("No such file or directory; check the path", "build or copy the bundle again")
        )


def test_what_is_no_bundle(sanitized: Driver, tmp_path: Path) -> None:
    empty = write(tmp_path, "empty", b"")
    remedy = "not a kgen bundle, or a truncated one; make one with kgen build -o"
    assert sanitized.refused(empty, "list") == f"3: {empty}: {remedy}"
    remedy = "give a file that can be read"
    refusal = f"3: {tmp_path}: cannot read: Is a directory; {remedy}"
    assert sanitized.refused(tmp_path, "list") == refusal
    missing = tmp_path / "missing"
    refusal = f"2: {missing}: cannot read: No such file or directory; check the path"
    assert sanitized.refused(missing, "list") == refusal
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refusal = f"3: {pipe}: cannot read: it is a pipe or device, not a plain file; {remedy}"
    assert sanitized.refused(pipe, "list") == refusal


# -- Damage


@pytest.mark.parametrize("which", ["kernels", "program"])
def test_flipped_bits(fuzz: Path, mlp: kgen.Bundle, which: str, tmp_path: Path) -> None:
    """A flipped bit anywhere, in the directory or in the manifest gives an error or the right
    result."""
    found = made() if which == "kernels" else mlp
    path = found.save(tmp_path / "x.kgen")
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        manifest = archive.getinfo(MANIFEST)
    ranges = [0, len(data), data.index(b"PK\1\2"), len(data)]
    ranges += [0, manifest.header_offset + 200 + manifest.file_size]
    done = subprocess.run(
        [str(fuzz), "flips", str(path), "7", "1500", *map(str, ranges)],
        capture_output=True,
        text=True,
        env={**os.environ, **OPTIONS},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    refused, right = map(int, re.findall(r"\d+", done.stdout))
    assert refused + right == 1500 and refused > 800 and right > 20


def test_flipped_manifests(
    fuzz: Path, bundle: kgen.Bundle, mlp: kgen.Bundle, tmp_path: Path
) -> None:
    """The checksum is corrected, so that the manifest's reader meets the flipped bits."""
    rng = random.Random(5)
    for found in (bundle, mlp):
        whole = archive(data_of(found), files_of(found))
        end = whole.index(b'"provenance"')
        start = whole.index(b'{"schema_version"')
        spoilt = []
        for _ in range(800):
            data = bytearray(whole)
            for _ in range(rng.choice((1, 1, 2, 5))):
                data[rng.randrange(start, end)] = rng.choice(b'0123456789[]{},:"-ax\\\xff')
            spoilt.append(with_right_crc(bytes(data)))
        results = each(fuzz, tmp_path, spoilt)
        assert 400 < sum(status > 0 for status, _ in results) < 800


def test_cut_bundles(fuzz: Path, bundle: kgen.Bundle, tmp_path: Path) -> None:
    path = bundle.save(tmp_path / "x.kgen")
    done = subprocess.run([str(fuzz), "cuts", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 400


def test_memory_that_is_not_there(plain: Driver, bundle: kgen.Bundle, tmp_path: Path) -> None:
    """Only the allocation fails for a workspace and an arena of 2^62 bytes."""
    data = data_of(bundle)
    data["kernels"][1]["workspaces"][0]["nbytes"] = 2**62
    path = write(tmp_path, "x.kgen", archive(data, bundle.files))
    kernel = bundle.manifest.kernels[1]
    files = [write(tmp_path, p.name, bytes(p.nbytes)) for p in kernel.parameters]
    for how in ("run", "call"):
        assert (
            plain.refused(path, how, kernel.key, *files) == "7: no memory for "
            f"{2**62 + 256} bytes; give this process more, or close bundles"
        )
    whole = mlp_bundle("x86-64-v3")
    lie = data_of(whole)
    lie["programs"][0]["arena_bytes"] = 2**62
    path = write(tmp_path, "y.kgen", archive(lie, files_of(whole)))
    file = write(tmp_path, "in", bytes(480))
    assert "no memory for" in plain.refused(path, "program", "main", 1, file, tmp_path / "o")


@pytest.mark.parametrize("which", ["kernels", "program"])
def test_every_allocation_fails_once(
    fuzz: Path, mlp: kgen.Bundle, which: str, tmp_path: Path
) -> None:
    """Each failed allocation ends in an error, without a leak."""
    path = (made() if which == "kernels" else mlp).save(tmp_path / "x.kgen")
    done = subprocess.run([str(fuzz), "memory", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 15
