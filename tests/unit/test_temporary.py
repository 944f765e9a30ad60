"""Temporary folders are removed after their block, also if their process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from kgen import temporary

#: Makes a folder, says so, and waits for ever.
OWNER = (
    "import sys, time\nfrom kgen import temporary\n"
    "with temporary.folder() as made: print(made, flush=True); time.sleep(600)\n"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    temporary._remove_abandoned.cache_clear()
    return tmp_path


def owner(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process with a temporary folder; return both."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_folder_ends_with_its_block(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt), temporary.folder() as made:
        (made / "file").write_bytes(b"x")
        assert list(made.iterdir()) == [made / "file"]
        raise KeyboardInterrupt
    assert list(place.iterdir()) == []


@pytest.mark.integration
def test_what_a_killed_process_left_is_removed_at_the_next_start(place: Path) -> None:
    """Folders of running processes and of other programs stay."""
    victim, left = owner(place)
    living, kept = owner(place)
    try:
        (left / "file").write_bytes(b"x")
        killed(victim)
        for name in ("kgen-notes", "other"):
            (place / name).mkdir()
        assert left.is_dir()
        with temporary.folder():
            assert not left.parent.exists()
            assert kept.is_dir() and (place / "kgen-notes").is_dir() and (place / "other").is_dir()
    finally:
        killed(living)


def test_a_folder_without_a_held_lock_is_removed(place: Path) -> None:
    """Its process was killed before it acquired the lock. A folder with other files stays."""
    for name, file in (
        ("kgen-empty_01", ""),
        ("kgen-locking1", "lock-new"),
        ("kgen-others12", "x"),
    ):
        (place / name).mkdir()
        if file:
            (place / name / file).touch()
    with temporary.folder() as made:
        assert {path.name for path in place.iterdir()} == {made.parent.name, "kgen-others12"}


def test_a_folder_that_is_taken_for_abandoned_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, names = tempfile.mkdtemp, list[str]()

    def make_and_remove(*, prefix: str) -> str:
        names.append(make(prefix=prefix))
        if len(names) == 1:
            Path(names[0]).rmdir()
        return names[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_remove)
    with temporary.folder() as made:
        assert made.parent == Path(names[1]) and len(names) == 2


def test_a_link_is_not_followed(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / temporary.LOCK).touch()
    (place / "kgen-link").symlink_to(other)
    with temporary.folder():
        assert (other / temporary.LOCK).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other users")
def test_folders_of_other_users_stay(place: Path) -> None:
    theirs = place / "kgen-theirs"
    theirs.mkdir()
    (theirs / temporary.LOCK).touch()
    os.chown(theirs, 12345, 12345)
    with temporary.folder():
        assert theirs.is_dir()


@pytest.mark.integration
def test_a_killed_build_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    """Folders of assemblers and of processes are removed."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "kgen",
        "build",
        "--target",
        "sm_80",
        "-o",
        str(tmp_path / "x"),
    ]
    sizes = [f"matmul {size}x{size}x{size} f16 +gelu" for size in range(512, 640, 8)]
    building = subprocess.Popen([*command, *sizes, "--jobs", "3"], env=environment)
    end = time.monotonic() + 60
    while not list(tmp_path.rglob("kernel.ptx")) and time.monotonic() < end:
        time.sleep(0.005)
    assert list(tmp_path.rglob("kernel.ptx")), "nothing was assembled yet"
    building.kill()
    building.wait()
    assert list(tmp_path.glob("kgen-*")), "it has left its folder"
    subprocess.run([*command, "relu 8 f16"], env=environment, check=True, capture_output=True)
    # Processes of the pool end just after their owner, and hold its lock till then.
    for _ in range(100):
        if not list(tmp_path.glob("kgen-*")):
            return
        time.sleep(0.05)
        subprocess.run([*command, "relu 8 f16"], env=environment, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_every_temporary_folder_is_one_of_these() -> None:
    root = Path(temporary.__file__).parent
    texts = {path: path.read_text() for path in root.rglob("*.py")}
    assert [p.name for p, text in texts.items() if "mkdtemp" in text] == ["temporary.py"]
    assert not [p for p, text in texts.items() if "TemporaryDirectory" in text]
