"""Files that are replaced atomically: a full disk leaves the old file, and nothing beside it."""

from __future__ import annotations

import errno
import functools
import mmap
import os
import re
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import kgen
from benchmarks.machine import Machine
from benchmarks.results import Results
from kgen.check.gate import tighten
from kgen.check.gate.judge import GateReport
from kgen.cli.commands import emulate
from kgen.cli.commands.perf import check
from kgen.errors import BundleError, KgenError
from kgen.tune.record import TuningFile
from kgen_runtime.files import is_own, open_plain, replacing
from tests.programs import mlp_bundle
from tests.specs import relu_of


@contextmanager
def full_disk(room: int = 0) -> Iterator[None]:
    """Limit the size of this process's files to these bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


ROOT = Path(__file__).parents[2]
#: Modules that write into temporary folders, to standard streams, or are `replacing` itself.
OTHER_WRITERS = {
    "codegen/kgen/check/execute/qemu.py",
    "codegen/kgen/check/execute/worker.py",
    "codegen/kgen/check/static/disassemble.py",
    "codegen/kgen/targets/cuda/assemble.py",
    "codegen/kgen/targets/vulkan/assemble.py",
    "codegen/kgen/temporary.py",
    "runtime/kgen_runtime/files.py",
}
REPORT = GateReport(path="", entries=(), seconds=0.0)
RESULTS = Results(
    suite="cpu", machine=Machine(name="a CPU"), date="2026-01-02", commit=None, command="none"
)


@functools.cache
def one_kernel() -> kgen.Bundle:
    return kgen.build(relu_of((8,)), "vulkan1.3")


@functools.cache
def with_weights() -> kgen.Bundle:
    return mlp_bundle("vulkan1.3")


WRITERS: dict[str, Callable[[Path], object]] = {
    "a bundle": lambda path: one_kernel().save(path),
    "tuning data": lambda path: TuningFile(path=path, core="a core").save(),
    "budgets": lambda path: tighten.write(path, "[defaults]\n"),
    "a summary": lambda path: check._write_summary(str(path), REPORT),
    "a bundle and its weights": lambda path: with_weights().save(path, external_weights=True),
    "an emulated kernel's output": lambda path: emulate._save(path, np.ones(9)),
    "figures": RESULTS.write,
}


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there(name: str, old: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    with full_disk(), pytest.raises((KgenError, OSError), match="File too large"):
        WRITERS[name](path)
    assert [p.name for p in tmp_path.iterdir()] == ([] if old is None else ["file"])
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("name", WRITERS)
def test_with_room_it_is_written(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "file")
    assert {p.name for p in tmp_path.iterdir()} <= {"file", "weights"}
    assert (tmp_path / "file").stat().st_size > 0


#: There is room for no weight, and for all of them but not for the bundle.
@pytest.mark.parametrize("room", [0, 10_000])
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_full_disk_leaves_no_new_weights(room: int, is_shared: bool, tmp_path: Path) -> None:
    bundle = mlp_bundle("vulkan1.3")
    kept = tmp_path / list(bundle.weights)[-1]
    if is_shared:
        bundle.save(tmp_path / "x.kgen", external_weights=True)
        for file in set(tmp_path.rglob("*.*")) - {kept}:
            file.unlink()
    with (
        full_disk(room),
        pytest.raises(BundleError, match=r"x\.kgen cannot be written: File too l"),
    ):
        bundle.save(tmp_path / "x.kgen", external_weights=True)
    assert set(tmp_path.rglob("*")) == ({kept, kept.parent} if is_shared else set())


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_is_not_replaced(name: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises((KgenError, OSError), match=r"pipe.*plain file"):
        WRITERS[name](pipe)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_link_to_a_plain_file_is_replaced_and_one_to_a_pipe_is_not(tmp_path: Path) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with pytest.raises(OSError, match="pipe"), replacing(link):
        pass
    assert link.is_symlink() and pipe.is_fifo()
    link.unlink()
    link.symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"old")
    with replacing(link) as file:
        file.write(b"new")
    assert link.read_bytes() == b"new" and (tmp_path / "file").read_bytes() == b"old"


def test_an_interrupt_leaves_nothing_and_a_mode_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    with replacing(path) as file:
        file.write(b"whole")
    for mode in (0o600, 0o664):
        path.chmod(mode)
        with replacing(path) as file:
            file.write(b"again")
        assert path.stat().st_mode & 0o777 == mode and path.read_bytes() == b"again"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077])
@pytest.mark.parametrize("name", WRITERS)
def test_the_umask_is_obeyed(name: str, umask: int, tmp_path: Path) -> None:
    old = os.umask(umask)
    try:
        WRITERS[name](tmp_path / "file")
    finally:
        os.umask(old)
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o777 if path.is_dir() else 0o666) & ~umask


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_on_disk_before_it_has_its_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is on disk before the writer returns: a power failure leaves the old file or the
    new one."""
    done: list[tuple[str, bool]] = []
    fsync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        fsync(handle)
        done.append(("fsync", stat.S_ISDIR(os.fstat(handle).st_mode)))

    def renamed(path: Path, target: Path) -> Path:
        assert path.parent == target.parent
        done.append(("rename", False))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    WRITERS[name](tmp_path / "file")
    one = [("fsync", False), ("rename", False), ("fsync", True)]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert done == one * len(files) and files


def test_an_old_file_that_is_mapped_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.kgen"
    with_weights().save(path)
    old = path.read_bytes()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        one_kernel().save(path)
        assert bytes(mapped) == old != path.read_bytes()


def test_every_file_of_ours_is_written_so() -> None:
    """Other ways to write are only for temporary folders."""
    ways = re.compile(r"write_bytes|write_text|\.open\(\"w|\bopen\([^)]*\"w|mkstemp|fdopen\(.*\"w")
    found = {
        str(path.relative_to(ROOT))
        for root in (ROOT / "codegen", ROOT / "runtime")
        for path in root.rglob("*.py")
        if ways.search(path.read_text())
    }
    assert found == OTHER_WRITERS


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate Python on Windows, which lacks functions of `os` and cannot open folders."""
    for name in ("O_CLOEXEC", "O_NONBLOCK", "fchmod", "geteuid"):
        monkeypatch.delattr(os, name)
    plain = os.open

    def opened(path: str, flags: int, mode: int = 0o777) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return plain(path, flags, mode)

    monkeypatch.setattr(os, "open", opened)


@pytest.mark.usefixtures("windows")
def test_files_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data in (b"a\r\n\x1a", b"b"):
        with replacing(path) as file:
            file.write(data)
        with open_plain(str(path)) as read:
            assert read.read() == data
    path.chmod(0o666)
    assert is_own(path.stat())
    assert [one.name for one in tmp_path.iterdir()] == ["x"]
