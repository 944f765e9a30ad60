"""Memory that loading takes: files that many kernels name, and unused states."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.errors import IntegrityError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.schema import manifest_json
from tests.specs import relu_of
from tests.unit.runtime.bundle.test_hostile import program, value
from tests.unit.runtime.bundle.zips import archive

pytestmark = pytest.mark.integration

TARGET = "x86-64-v3"
CONSTANT = kgen.Matmul(m=3, n=8, k=4, dtype="f32", constant=("b",))


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    constants = {"b": np.ones((4, 8), "f")}
    return kgen.build([relu_of((4, 8), dtype="f32"), CONSTANT], [TARGET], constants=constants)


@pytest.fixture(scope="module")
def whole(bundle: kgen.Bundle) -> Any:
    return json.loads(json.dumps(manifest_json.to_json(bundle.manifest)))


def many(whole: Any, count: int) -> Any:
    """Return a bundle of many kernels with one file of code, and one constant."""
    kernel = next(k for k in whole["kernels"] if k["constants"])
    return whole | {"kernels": [kernel | {"key": f"k{i}"} for i in range(count)]}


def files_of(data: Any, bundle: kgen.Bundle) -> dict[str, bytes]:
    kernel = data["kernels"][0]
    named = [one["file"] for one in (*kernel["artifacts"], *kernel["constants"])]
    return {name: bundle.files[name] for name in named}


def test_a_file_of_many_kernels_is_read_and_mapped_once(
    bundle: kgen.Bundle, whole: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = many(whole, 20)
    mapped: list[int] = []

    from kgen_runtime.backends.cpu.code import MappedCode

    plain_code = MappedCode.__init__

    def counted_code(self: MappedCode, objects: Any, functions: Any, name: str) -> None:
        mapped.append(len(objects))
        plain_code(self, objects, functions, name)

    monkeypatch.setattr(MappedCode, "__init__", counted_code)
    held = archive(data, files_of(data, bundle))
    with BundleFile(held) as opened:
        read = {opened.read(one) for kernel in opened.manifest.kernels for one in kernel.files}
        copies = {id(opened.read(one)) for k in opened.manifest.kernels for one in k.files}
    assert len(copies) == len(read) == len(files_of(data, bundle))
    with kgen_runtime.load(held, device="cpu") as kernels:
        assert len(kernels) == 20
        a = np.ones((3, 4), "f")
        for kernel in kernels.values():
            np.testing.assert_array_equal(kernel(a), np.full((3, 8), 4, "f"))
    assert mapped == [1]


@pytest.mark.parametrize(
    ("part", "lie"),
    [
        ("constants", {"sha256": "0" * 64}),
        ("artifacts", {"sha256": "0" * 64}),
        ("artifacts", {"nbytes": 7}),
    ],
)
def test_every_kernel_s_claim_on_a_file_is_checked(
    bundle: kgen.Bundle, whole: Any, part: str, lie: Any
) -> None:
    data = copy.deepcopy(many(whole, 3))
    for one in data["kernels"][2][part]:
        one |= lie
    with pytest.raises(IntegrityError, match="the manifest says"):
        kgen_runtime.load(archive(data, files_of(data, bundle)), device="cpu")


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmRSS")


def with_state(whole: Any, nbytes: int) -> Any:
    """Return a program that reads and writes the start of a large state."""
    only = whole | {"kernels": [k for k in whole["kernels"] if not k["constants"]]}
    data = program(only, 2, lambda i: 0)
    main = data["programs"][0]
    main["states"] = [{"name": "s", "nbytes": nbytes, "input": "old", "output": "new"}]
    main["values"] += [value("old", "state", "s"), value("new", "state", "s")]
    key = data["kernels"][0]["key"]
    main["steps"].append({"kernel": key, "bindings": {"x": "y", "out": "new"}, "after": [1]})
    return data


def test_a_large_state_is_not_touched(bundle: kgen.Bundle, whole: Any) -> None:
    data = with_state(whole, 1 << 30)
    names = [one["file"] for one in data["kernels"][0]["artifacts"]]
    files = {name: bundle.files[name] for name in names}
    x = np.arange(32, dtype="f").reshape(4, 8)
    with kgen_runtime.load(archive(data, files), device="cpu") as kernels:
        before = resident()
        np.testing.assert_array_equal(kernels.program.run(x=x), x)
        assert resident() - before < 64 << 20


def test_the_digest_of_a_shared_file_is_its_own(bundle: kgen.Bundle, whole: Any) -> None:
    """Changed bytes are refused for the first kernel that names them."""
    data = many(whole, 2)
    files = files_of(data, bundle)
    name = data["kernels"][0]["constants"][0]["file"]
    files[name] = bytes(len(files[name]))
    wanted = hashlib.sha256(files[name]).hexdigest()[:12]
    with pytest.raises(IntegrityError, match=wanted):
        kgen_runtime.load(archive(data, files), device="cpu")
