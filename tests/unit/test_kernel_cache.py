"""Cached kernels have the same bytes, and are used only for equal inputs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kgen
from kgen import pipeline, render, settings, targets
from kgen.cache import kernel_cache
from kgen.cache.kernel_cache import KernelCache
from kgen.cli.main import main
from kgen.errors import AssembleError, KgenError
from kgen.schedule import ScheduleOrigin
from kgen.spec import DType, Layout, Matmul, Spec
from kgen.targets import find
from kgen_runtime.file_cache import FileCache
from tests.specs import softmax_of

SPEC = Matmul(m=8, n=24, k=16, dtype=DType.F32)
TARGETS = ["sm_80", "gfx942", "vulkan1.3", "x86-64-v3"]
FOLDERS = ("kgen.check.", "kgen.cli.", "kgen.emulate.", "kgen.graph.")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of cached kernels, as for a user."""
    monkeypatch.setenv(settings.CACHE, "1")
    monkeypatch.setenv(settings.CACHE_DIR, str(tmp_path / "kept"))
    return tmp_path / "kept" / "kernels"


@pytest.fixture
def no_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(plan: object) -> None:
        raise AssembleError("the cache was not used")

    monkeypatch.setattr(pipeline, "assembled", fail)


def saved(path: Path, *, cache: bool = True, specs: tuple[Spec, ...] = (SPEC,)) -> bytes:
    return kgen.build(specs, targets=TARGETS, cache=cache).save(path).read_bytes()


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if len(path.name) == 64]


@pytest.mark.integration
def test_a_bundle_from_the_cache_has_the_same_bytes(
    folder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Bundles are built without the cache, while it is filled, and from it, on all families."""
    specs = (SPEC, softmax_of(3, 40, dtype=DType.F32))
    fresh = saved(tmp_path / "a", cache=False, specs=specs)
    assert not folder.exists()
    assert saved(tmp_path / "b", specs=specs) == fresh
    assert len(entries(folder)) == len(specs) * len(TARGETS)
    request.getfixturevalue("no_builds")
    assert saved(tmp_path / "c", specs=specs) == fresh
    with pytest.raises(AssembleError, match=r"matmul_8x24x16_f32_nn: the cache was not used"):
        saved(tmp_path / "d", cache=False)


def test_nothing_is_kept_where_the_environment_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(settings.CACHE, "0")
    kgen.build(SPEC, targets=["vulkan1.3"])
    assert not folder.exists()
    assert main(["cache"]) == 2
    assert capsys.readouterr().err.startswith(
        "kgen cache: KGEN_CACHE=0 turns the cache off; unset it"
    )


def test_a_key_is_of_all_that_a_kernel_is_made_from(monkeypatch: pytest.MonkeyPatch) -> None:
    target = find("native")
    schedule = pipeline.plan(SPEC, target).schedule
    assert schedule.origin is not ScheduleOrigin.USER
    features = target.features - {sorted(target.features)[0]}
    caches = {**target.limits, "l2_bytes": target.limits.get("l2_bytes", 0) + 1}
    made_from = [
        (SPEC, target, schedule),
        (dataclasses.replace(SPEC, layout=Layout.NT), target, schedule),
        (dataclasses.replace(SPEC, constant=("b",)), target, schedule),
        (SPEC, dataclasses.replace(target, name="x86-64-v9"), schedule),
        # native is what the CPU has.
        (SPEC, dataclasses.replace(target, features=features), schedule),
        (SPEC, dataclasses.replace(target, limits=caches), schedule),
        (SPEC, target, dataclasses.replace(schedule, origin=ScheduleOrigin.USER)),
        (SPEC, target, schedule.override(**{schedule.names[0]: 1})),
    ]
    keys = [kernel_cache.key(*parts) for parts in made_from]
    assert len(set(keys)) == len(keys)
    assert kernel_cache.key(*made_from[0]) == keys[0]
    for module, name in ((render, "template_digest"), (kernel_cache, "code_digest")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, lambda: "d" * 64)
            kernel_cache._tools.cache_clear()
            keys.append(kernel_cache.key(*made_from[0]))
    for family in ("cuda", "cpu"):
        kernel_cache._tools.cache_clear()
        tools = kernel_cache._tools(family)
        assert any(tool.version in tools for tool in targets.family(family).toolchain())
    kernel_cache._tools.cache_clear()
    assert len(set(keys)) == len(keys)


@pytest.mark.integration
def test_nothing_else_takes_part_in_a_build() -> None:
    """Modules outside of the code's digest are not loaded where kernels are built."""
    program = (
        "import sys, kgen\n"
        "kgen.build(kgen.Matmul(m=8, n=8, k=8, dtype='f32'), "
        f"targets={TARGETS!r}, cache=False)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = done.stdout.split()
    assert "kgen.targets.cpu.assemble" in loaded, done.stderr
    assert [name for name in loaded if f"{name}.".startswith(FOLDERS)] == []


@pytest.mark.integration
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    ],
    ids=["empty", "short", "changed"],
)
def test_a_damaged_kernel_is_built_again(folder: Path, tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    fresh = saved(tmp_path / "a")
    for path in entries(folder):
        path.write_bytes(damage(path.read_bytes()))
    assert saved(tmp_path / "b") == fresh
    cache = KernelCache(folder)
    assert all(cache.get(path.name) for path in entries(folder)), "sound ones took their places"


@pytest.mark.integration
def test_garbage_under_the_right_key_is_built_again(folder: Path, tmp_path: Path) -> None:
    fresh = saved(tmp_path / "a")
    for path in entries(folder):
        FileCache(folder).write(path.name, b"{}\n")
        assert FileCache(folder).read(path.name) == b"{}\n"
    assert saved(tmp_path / "b") == fresh


@pytest.mark.integration
def test_what_another_user_may_have_written_is_not_used(folder: Path, tmp_path: Path) -> None:
    fresh = saved(tmp_path / "a")
    for path in entries(folder):
        path.chmod(0o666)
    assert KernelCache(folder).get(entries(folder)[0].name) is None
    assert saved(tmp_path / "b") == fresh


@pytest.mark.integration
def test_an_entry_in_the_place_of_another_is_not_used(folder: Path, tmp_path: Path) -> None:
    """Entries contain their keys, so a copied or renamed file does not match."""
    fresh = saved(tmp_path / "a")
    names = [path.name for path in entries(folder)]
    contents = [path.read_bytes() for path in entries(folder)]
    assert len(names) > 1
    for name, content in zip(names, contents[1:] + contents[:1], strict=True):
        (folder / name).write_bytes(content)
    assert not any(KernelCache(folder).get(name) for name in names)
    assert saved(tmp_path / "b") == fresh


@pytest.mark.integration
def test_a_folder_that_cannot_be_written_keeps_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.parent.write_text("a file")
    assert saved(tmp_path / "a") == saved(tmp_path / "b")
    assert main(["cache"]) == 0
    assert "kernels  0" in capsys.readouterr().out
    assert main(["cache", "limit", "1GiB"]) == 2
    assert "cannot be written: " in capsys.readouterr().err


@pytest.mark.integration
def test_processes_fill_one_cache(folder: Path, tmp_path: Path) -> None:
    """The processes build the same kernels at the same time."""
    program = (
        "import kgen, sys\n"
        "specs = [kgen.Matmul(m=m, n=8, k=8, dtype='f32') for m in range(1, 5)]\n"
        "kgen.build(specs, targets=['vulkan1.3', 'sm_80']).save(sys.argv[1])\n"
    )
    paths = [tmp_path / str(number) for number in range(2)]
    running = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for path in paths]
    assert [process.wait() for process in running] == [0, 0]
    assert len({path.read_bytes() for path in paths}) == 1
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        path.name for path in entries(folder)
    ), "no temporary file is left"
    assert len(entries(folder)) == 8


def kernel(cache: KernelCache, number: int, moment: float) -> str:
    """Add an entry of 1 KB, used now."""
    name = hashlib.sha256(str(number).encode()).hexdigest()
    (cache.folder / name).write_bytes(bytes(1000))
    os.utime(cache.folder / name, (moment, moment))
    return name


@pytest.mark.integration
def test_what_was_used_longest_ago_goes_first(folder: Path, tmp_path: Path) -> None:
    saved(tmp_path / "a")
    cache = KernelCache(folder)
    used = {path.name for path in entries(folder)}
    for name in used:
        os.utime(folder / name, (1, 1))
    saved(tmp_path / "b")  # that uses them
    nbytes = cache.usage().nbytes
    old = [kernel(cache, number, 1000.0 + number) for number in range(60)]
    cache.set_limit(int((nbytes + 10_500) / kernel_cache.LEFT))
    left = {path.name for path in entries(folder)}
    assert used <= left
    kept = [name in left for name in old]
    assert kept == sorted(kept) and sum(kept) == 10
    assert cache.usage().nbytes <= cache.limit
    cache.set_limit(0)
    assert entries(folder) == []
    saved(tmp_path / "c")
    assert entries(folder) == [], "each build holds to it"
    assert saved(tmp_path / "d") == (tmp_path / "a").read_bytes()


def test_what_a_killed_process_left_is_removed(folder: Path) -> None:
    cache = KernelCache(folder)
    cache.set_limit(10**6)
    old, new = (folder / f".{'a' * 64}.{word}" for word in ("old", "new"))
    other = folder / "mine.txt"
    for path in (old, new, other):
        path.touch()
    moment = time.time() - kernel_cache.ABANDONED - 1
    os.utime(old, (moment, moment))
    os.utime(other, (moment, moment))
    cache.clear()
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*arguments: str) -> dict[str, object]:
        assert main(["cache", *arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert isinstance(found, dict)
        return found

    assert shown() == {"path": str(folder), "kernels": 0, "bytes": 0, "limit": 2**30}
    kgen.build(SPEC, targets=["vulkan1.3"])
    (entry,) = entries(folder)
    size = entry.stat().st_size
    assert shown("limit", "3MiB")["limit"] == 3 * 2**20
    assert shown()["bytes"] == size
    assert shown("clear")["removed"] == {"kernels": 1, "bytes": size}
    assert shown() == {"path": str(folder), "kernels": 0, "bytes": 0, "limit": 3 * 2**20}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["limit"], "limit needs a size; to set the limit, write kgen cache limit 2GiB"),
        (
            ["clear", "2GiB"],
            "clear takes no size (2GiB); to set the limit, write kgen cache limit 2GiB",
        ),
        (["limit", "-5"], "limit=-5 is not a size; give one such as 500MiB or 2GiB"),
        (["limit", "2XiB"], "limit=2XiB is not a size; give one such as 500MiB or 2GiB"),
        (["limit", "1"], "limit=1 has no unit; give 1MiB, 1GiB or 1B (bytes)"),
        (["limit", "5MB"], "limit=5MB has the unknown unit mb; give 5MiB, 5GiB or 5B (bytes)"),
        (["limit", "²"], "limit=² is not a size; give one such as 500MiB or 2GiB"),
    ],
)
def test_refusals(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["cache", *words]) == 2
    assert capsys.readouterr().err == f"kgen cache: {message}\n"


def test_sizes() -> None:
    assert kernel_cache.size("7B") == 7
    assert kernel_cache.size("0") == 0
    assert kernel_cache.size("2kib") == 2048
    assert kernel_cache.size("1GiB") == kernel_cache.LIMIT
    with pytest.raises(KgenError):
        kernel_cache.size("1.5GiB")


def test_the_folder_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(settings.CACHE_HOME, "/var/cache/me")
    monkeypatch.setenv(settings.CACHE_DIR, "here")
    monkeypatch.chdir(tmp_path)
    assert settings.cache_folder() == tmp_path / "here"
    monkeypatch.setenv(settings.CACHE_DIR, "")
    assert settings.cache_folder() == Path("/var/cache/me/kgen")
