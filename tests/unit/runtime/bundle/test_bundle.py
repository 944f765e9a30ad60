"""Bundles are deterministic, aligned, checked when read, and never written in part."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen.errors import BundleError, IntegrityError, OutOfMemory
from kgen_runtime.bundle import MANIFEST, BundleFile
from kgen_runtime.memory.host import copied_bytes
from tests.specs import relu_of


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    return kgen.build(relu_of((100,)), targets=["sm_80", "vulkan1.1"])


def rewrite(path: Path, name: str, data: bytes) -> None:
    """Replace one file of a bundle; the manifest keeps the old digest."""
    with zipfile.ZipFile(path) as old:
        files = {n: old.read(n) for n in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for n, content in files.items():
            new.writestr(n, data if n == name else content)


@pytest.mark.integration
def test_round_trip(bundle: kgen.Bundle, tmp_path: Path) -> None:
    with BundleFile(bundle.save(tmp_path / "x.kgen")) as read:
        assert read.manifest == bundle.manifest
        for kernel in read.manifest.kernels:
            for artifact in kernel.artifacts:
                assert read.read(artifact) == bundle.files[artifact.file]
            assert kernel.key in read.source(kernel)[1]


@pytest.mark.integration
def test_layout_of_the_archive(bundle: kgen.Bundle, tmp_path: Path) -> None:
    path = bundle.save(tmp_path / "x.kgen")
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        assert archive.testzip() is None
    assert infos[0].filename == MANIFEST
    assert [i.filename for i in infos[1:]] == sorted(i.filename for i in infos[1:])
    for info in infos:
        assert info.compress_type == zipfile.ZIP_STORED
        header = data[info.header_offset :][:30]
        name, extra = (
            int.from_bytes(header[26:28], "little"),
            int.from_bytes(header[28:30], "little"),
        )
        assert (info.header_offset + 30 + name + extra) % 64 == 0


@pytest.mark.integration
def test_same_input_same_bytes(bundle: kgen.Bundle, tmp_path: Path) -> None:
    again = kgen.build(relu_of((100,)), targets=["sm_80", "vulkan1.1"])
    one, two = bundle.save(tmp_path / "1"), again.save(tmp_path / "2")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.integration
def test_changed_code_is_refused(bundle: kgen.Bundle, tmp_path: Path) -> None:
    path = bundle.save(tmp_path / "x.kgen")
    artifact = bundle.manifest.kernels[0].artifacts[0]
    rewrite(path, artifact.file, b"something else")
    with BundleFile(path) as read, pytest.raises(IntegrityError, match="was changed after"):
        read.read(artifact)


@pytest.mark.integration
def test_a_missing_file_is_named(bundle: kgen.Bundle, tmp_path: Path) -> None:
    path = bundle.save(tmp_path / "x.kgen")
    artifact = bundle.manifest.kernels[0].artifacts[0]
    with zipfile.ZipFile(path) as old:
        text = old.read(MANIFEST)
    with zipfile.ZipFile(path, "w") as new:
        new.writestr(MANIFEST, text)
    with BundleFile(path) as read, pytest.raises(IntegrityError, match=r"\.cubin is missing"):
        read.read(artifact)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_bundle(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.kgen"
    path.write_bytes(content)
    with pytest.raises(BundleError, match="not a kgen bundle, or a truncated one; make one with"):
        BundleFile(path)


@pytest.mark.integration
def test_what_is_no_path(bundle: kgen.Bundle) -> None:
    values: dict[str, Any] = {"NoneType": None, "int": 3, "Bundle": bundle}
    for kind, value in values.items():
        message = f"^path is of type {kind}; give a bundle as a str or Path, as bytes"
        with pytest.raises(BundleError, match=message):
            kgen_runtime.load(value)
    for value in ("x\0.kgen", b"x.kgen", io.BytesIO(b"x.kgen")):
        with pytest.raises(BundleError, match="not a kgen bundle"):
            kgen_runtime.load(value)
    with pytest.raises(BundleError, match=r"^path is of type StringIO; give a bundle as a str"):
        kgen_runtime.load(io.StringIO("x.kgen"))  # type: ignore[arg-type]


class Place(os.PathLike[bytes]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


class Pipe(io.RawIOBase):
    """File that can be read once."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._file.read(size)


@pytest.mark.integration
def test_bytes_and_open_files(bundle: kgen.Bundle, tmp_path: Path) -> None:
    """Bundles load from bytes and open files as from paths; an open file stays open."""
    path = bundle.save(tmp_path / "x.kgen")
    data = path.read_bytes()
    with path.open("rb") as file:
        sources: list[Any] = [data, bytearray(data), memoryview(data), io.BytesIO(data), file]
        for source in (*sources, Pipe(data), str(path), path, Place(path)):
            x = np.linspace(-1, 1, 100, dtype=np.float16)
            with kgen_runtime.load(source, device="reference") as kernels:
                out = kernels.relu(kernels.to_device(x)).numpy()
            np.testing.assert_array_equal(out, np.maximum(x, 0))
        assert not file.closed
    with pytest.raises(BundleError, match=r"^\S+x\.kgen: cannot read: "):
        kgen_runtime.load(file)
    with pytest.raises(IntegrityError, match=r"^a bundle of \d+ bytes: sm_80\S+ has sha256"):
        kgen_runtime.load(data.replace(b"\x7fELF\x02", b"\x7fELF\x03"), device="reference")


@pytest.mark.integration
def test_a_manifest_that_is_not_json(bundle: kgen.Bundle, tmp_path: Path) -> None:
    path = bundle.save(tmp_path / "x.kgen")
    rewrite(path, MANIFEST, b"{")
    with pytest.raises(BundleError, match=r"manifest\.json is not JSON"):
        BundleFile(path)
    rewrite(path, MANIFEST, json.dumps({"schema_version": 1}).encode())
    with pytest.raises(BundleError, match=r"x\.kgen: manifest: field 'kernels' missing"):
        BundleFile(path)


@pytest.mark.integration
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    bundle: kgen.Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.kgen"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(BundleError, match="No space left on device"):
        bundle.save(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.kgen"]


def test_one_kernel_twice_is_refused() -> None:
    relu = relu_of((3,))
    with pytest.raises(BundleError, match="relu_3_f16 is requested twice"):
        kgen.build([relu, relu], targets=["sm_80"])


@pytest.mark.integration
@pytest.mark.parametrize(
    ("offset", "value"),
    [(6, 0xFF), (8, 0x01), (10, 0x63), (10, 0x08), (28, 0xFF)],
    ids=["version", "encrypted", "unknown compression", "deflated", "length of the name"],
)
def test_a_damaged_archive_is_one_line(
    offset: int, value: int, bundle: kgen.Bundle, tmp_path: Path
) -> None:
    """Damage the manifest's entry in the directory at the archive's end."""
    path = bundle.save(tmp_path / "x.kgen")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + offset] |= value
    path.write_bytes(data)
    with pytest.raises(BundleError, match=r"^\S+x\.kgen: not a kgen bundle.*$"):
        BundleFile(path)


@pytest.mark.integration
def test_any_damage_is_an_error_of_ours(bundle: kgen.Bundle, tmp_path: Path) -> None:
    path = bundle.save(tmp_path / "x.kgen")
    data, random = path.read_bytes(), Random(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        damaged[-random.randrange(1, 1200)] = random.randrange(256)
        path.write_bytes(damaged)
        try:
            with BundleFile(path) as read:
                for kernel in read.manifest.kernels:
                    for artifact in kernel.artifacts:
                        read.read(artifact)
        except BundleError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100


@pytest.mark.integration
def test_what_is_checked_is_what_is_loaded(
    bundle: kgen.Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that changes in the file while it is read is never loaded unchecked."""
    path = bundle.save(tmp_path / "x.kgen")
    kernel = bundle.manifest.kernels[0]
    content = bundle.files[kernel.artifacts[0].file]

    def copied_later(address: int, nbytes: int) -> bytes:
        start = path.read_bytes().index(content)
        with path.open("r+b") as file:
            file.seek(start)
            file.write(bytes(len(content)))
        return copied_bytes(address, nbytes)

    monkeypatch.setattr("kgen_runtime.bundle.copied_bytes", copied_later)
    with BundleFile(path) as read, pytest.raises(IntegrityError, match="was changed after"):
        read.read(kernel.artifacts[0])


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(BundleError, match=r"^'\\ud800\.kgen': not a kgen bundle: no file has this"):
        kgen_runtime.load("\ud800.kgen")


def test_an_open_file_may_have_any_name() -> None:
    file = io.BytesIO(b"PK")
    file.name = "\ud800"
    with pytest.raises(BundleError, match=r"^\?: not a kgen bundle"):
        kgen_runtime.load(file)


@pytest.mark.integration
@pytest.mark.parametrize("maps", [np.False_, None, np.True_])
def test_any_truth_says_whether_files_are_mapped(
    bundle: kgen.Bundle, tmp_path: Path, maps: Any
) -> None:
    with BundleFile(bundle.save(tmp_path / "x.kgen"), map=maps) as read:
        assert read.manifest == bundle.manifest


def test_copies_of_memory_have_sizes_of_64_bits() -> None:
    data = np.arange(100, dtype=np.uint8)
    assert copied_bytes(data.ctypes.data, 100) == data.tobytes()
    with pytest.raises(OutOfMemory, match=f"cannot allocate {2**62} bytes"):
        copied_bytes(data.ctypes.data, 2**62)
