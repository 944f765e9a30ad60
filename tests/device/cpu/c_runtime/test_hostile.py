"""Small bundles that claim a lot: the C runtime judges them in time linear in their bytes. Basic
blocks are counted instead of seconds, so that a busy machine gives the same result."""

from __future__ import annotations

import copy
import hashlib
import json
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import kgen
from kgen_runtime.schema import manifest_json
from tests.device.cpu.c_runtime import compiled
from tests.specs import relu_of
from tests.unit.runtime.bundle import test_hostile as python
from tests.unit.runtime.bundle.zips import MANIFEST, zipped

TARGET = {"x86_64": "x86-64", "aarch64": "aarch64-neon"}[platform.machine()]
COUNTED = (*compiled.WARNINGS, "-O1", "-fsanitize-coverage=trace-pc")


@pytest.fixture(scope="module")
def counter(folder: Path) -> Path:
    """Return the runtime with counted basic blocks, and a program without."""
    return compiled.compiled(folder, "count", COUNTED, own_flags=compiled.WARNINGS)


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    specs = [relu_of((4, 8), dtype="f32"), kgen.Matmul(m=3, n=8, k=4, dtype="f32", constant=("b",))]
    return kgen.build(specs, [TARGET], constants={"b": np.ones((4, 8), "f")})


@pytest.fixture(scope="module")
def whole(bundle: kgen.Bundle) -> Any:
    return json.loads(json.dumps(manifest_json.to_json(bundle.manifest)))


class Judged(NamedTuple):
    blocks: int
    status: int
    why: str


def judged(
    counter: Path, tmp_path: Path, manifests: Sequence[Any], files: Mapping[str, bytes]
) -> list[Judged]:
    paths = []
    for number, manifest in enumerate(manifests):
        text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        path = tmp_path / f"{number}.kgen"
        path.write_bytes(zipped({MANIFEST: text, **files}))
        paths.append(str(path))
    done = subprocess.run([str(counter), *paths], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = []
    for line in done.stdout.splitlines():
        blocks, status, why = line.split(" ", 2)
        found.append(Judged(int(blocks), int(status), why))
    return found


#: Blocks of the runtime for a byte of a manifest: to count it, to read it, and to check it.
BLOCKS_PER_BYTE = 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (python.long_tile, "shape: "),
        (python.many_workspaces, "workspaces: "),
        (python.many_launches, "launches: "),
        (python.many_parameters, "parameters: "),
        (python.many_constants, "constants: "),
        (python.many_artifacts, "artifacts: "),
        (python.many_runs, "runs: "),
        (python.twice_at_the_end, "occurs twice"),
        (python.deep, "more than 32 levels"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_count_is_checked_before_what_it_counts(
    counter: Path, bundle: kgen.Bundle, whole: Any, tmp_path: Path, change: python.Change,
    message: str,
) -> None:  # fmt: skip
    manifests = []
    for n in (2000, 4000):
        data = copy.deepcopy(whole)
        change(data, n)
        manifests.append(data)
    small, large = judged(counter, tmp_path, manifests, bundle.files)
    assert message in large.why, large
    assert large.blocks <= 2.2 * small.blocks
    assert large.blocks <= BLOCKS_PER_BYTE * len(json.dumps(manifests[1]))


@pytest.mark.parametrize("place_of", [lambda i: 0, lambda i: 128 * i], ids=["one", "each"])
def test_a_chain_of_steps_is_linear(
    counter: Path, bundle: kgen.Bundle, whole: Any, tmp_path: Path, place_of: Callable[[int], int]
) -> None:
    manifests = [python.program(whole, n, place_of, target=TARGET) for n in (2000, 4000)]
    small, large = judged(counter, tmp_path, manifests, bundle.files)
    assert large.why == ""
    assert large.blocks <= 2.3 * small.blocks


def test_many_readers_of_one_value_are_linear(
    counter: Path, bundle: kgen.Bundle, whole: Any, tmp_path: Path
) -> None:
    manifests = [python.many_readers(whole, n, target=TARGET) for n in (2000, 4000)]
    small, large = judged(counter, tmp_path, manifests, bundle.files)
    assert large.why == ""
    assert large.blocks <= 2.3 * small.blocks


def test_steps_that_meet_without_end_are_refused(
    counter: Path, bundle: kgen.Bundle, whole: Any, tmp_path: Path
) -> None:
    manifests = [python.meetings_without_end(whole, n, target=TARGET) for n in (1500, 3000)]
    small, large = judged(counter, tmp_path, manifests, bundle.files)
    assert "its steps share memory more than" in large.why
    assert large.blocks <= 2.3 * small.blocks


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "more than 32 levels of lists and objects"),
        (b"[0" + b",0" * 2**20 + b"]", "more than 1048576 values"),
        (b" " * (2**24 + 1), "more than 16777216 bytes"),
    ],
    ids=["levels", "values", "bytes"],
)
def test_a_text_is_counted_before_it_is_parsed(
    counter: Path, tmp_path: Path, text: bytes, message: str
) -> None:
    (found,) = judged(counter, tmp_path, [text], {})
    assert message in found.why


def test_a_file_of_many_kernels_is_hashed_once(
    counter: Path, bundle: kgen.Bundle, whole: Any, tmp_path: Path
) -> None:
    """Many kernels name one constant and one file of code."""
    kernel = next(k for k in whole["kernels"] if k["constants"])
    files = dict(bundle.files)
    large = bytes(1 << 20)
    for artifact in kernel["artifacts"]:
        if artifact["format"].startswith("elf"):
            code = files[artifact["file"]] = files[artifact["file"]] + large
            artifact |= {"nbytes": len(code), "sha256": hashlib.sha256(code).hexdigest()}
    manifests = [
        whole | {"kernels": [kernel | {"key": f"k{i}"} for i in range(n)]} for n in (1, 33)
    ]
    files = {name: files[name] for name in _files(kernel)}
    one, many = judged(counter, tmp_path, manifests, files)
    assert one.why == many.why == ""
    # A kernel of these 32 takes what its text takes, and not a megabyte's hash.
    text = len(json.dumps(manifests[1])) - len(json.dumps(manifests[0]))
    assert many.blocks - one.blocks <= BLOCKS_PER_BYTE * text


def test_each_kernel_s_claim_on_a_shared_file_is_checked(
    counter: Path, bundle: kgen.Bundle, whole: Any, tmp_path: Path
) -> None:
    kernel = next(k for k in whole["kernels"] if k["constants"])
    manifests = []
    for part, field, value in (
        ("constants", "sha256", "0" * 64),
        ("artifacts", "sha256", "0" * 64),
        ("artifacts", "nbytes", 7),
    ):
        lie = copy.deepcopy(kernel) | {"key": "second"}
        for one in lie[part]:
            one[field] = value
        manifests.append(whole | {"kernels": [kernel, lie]})
    files = {name: bundle.files[name] for name in _files(kernel)}
    digests = judged(counter, tmp_path, manifests, files)
    assert ["the manifest says" in found.why for found in digests] == [True] * 3


def _files(kernel: Any) -> set[str]:
    return {one["file"] for one in (*kernel["artifacts"], *kernel["constants"])}
