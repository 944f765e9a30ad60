"""Files that are replaced at once: a full disk leaves the old one, and nothing beside it."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import kgen
from kgen.check.bench.tune import Tuner
from kgen.check.gate import tighten
from kgen.cli.commands import emulate
from kgen.errors import BundleError, KgenError
from kgen.files import replacing
from scripts.bench_cpu.results import Results
from tests.programs import mlp_bundle
from tests.specs import relu_of


@contextmanager
def full_disk(room: int = 0) -> Iterator[None]:
    """No file of this process takes more bytes than these."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


BUNDLE = kgen.build(relu_of((8,)), "vulkan1.3")

WRITERS: dict[str, Callable[[Path], object]] = {
    "a bundle": BUNDLE.save,
    "what --tune found": lambda path: Tuner(path=path)._write({"key": {"steps": 1}}),
    "budgets": lambda path: tighten.write(path, "[defaults]\n"),
    "an emulated kernel's output": lambda path: emulate._save(path, np.ones(9)),
    "figures": Results(machine="this one").write,
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
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
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
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"again")
    assert path.stat().st_mode & 0o777 == 0o600 and path.read_bytes() == b"again"
