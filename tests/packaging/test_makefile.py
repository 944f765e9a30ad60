"""Commands of the Makefile: the programs that they start, and their environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts import demo, heartbeat

ROOT = Path(__file__).parents[2]


def commands(*words: str) -> list[str]:
    """Return the command lines of `make WORDS`, each on one line."""
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", *words], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.replace("\\\n", " ").splitlines()


@pytest.mark.parametrize("target", ["test", "unit", "fast", "test-avx2"])
def test_tests_start_with_a_clean_environment(target: str) -> None:
    started = [line for line in commands(target) if "-m pytest" in line]
    assert started
    assert all(line.startswith("scripts/clean-env.sh ") for line in started)


def test_a_clean_environment_holds_what_is_listed_and_no_more() -> None:
    given = {
        "PATH": os.environ["PATH"],
        "HOME": "/a home",
        "CI": "",
        "https_proxy": "http://user:a'b$c@proxy:1",
        "PIP_CERT": "/etc/a b.pem",
        "PYTHONUNBUFFERED": "1",
        "KGEN_CACHE_DIR": "/elsewhere",
        "LC_ALL": "C",
        "PIPX": "no variable of pip",
    }
    done = subprocess.run(
        [ROOT / "scripts" / "clean-env.sh", "env"], env=given, capture_output=True, text=True
    )
    kept = ("PATH", "HOME", "CI", "https_proxy", "PIP_CERT")
    assert sorted(done.stdout.splitlines()) == sorted(f"{name}={given[name]}" for name in kept)


def test_a_change_runs_only_its_tests() -> None:
    found = [line for line in commands("test", "CHANGED=1", "BASE=HEAD") if "-m pytest" in line]
    assert len(found) == 1 and found[0].split("worksteal")[1].split()[0].startswith("tests")
    assert not any("perf check" in line for line in commands("test", "CHANGED=1"))
    assert any("perf check" in line for line in commands("test"))


def test_setup_installs_locked_packages() -> None:
    found = [line for line in commands("setup") if "pip install" in line]
    assert "--require-hashes -r requirements-dev.txt" in found[0]
    assert all("--no-deps" in line for line in found[1:])


def test_the_demo_installs_little() -> None:
    """The demo installs no Debian package and none of the extra [dev]."""
    found = commands("demo")
    assert not [line for line in found if "system-packages" in line or "requirements-dev" in line]
    (installs,) = (line for line in found if "pip install" in line)
    assert "--editable '.[vulkan,onnx]'" in installs and "heartbeat.py" in installs


def test_a_silent_command_gets_lines(tmp_path: Path) -> None:
    """A line is printed after every interval until the command ends; this one waits for the
    third."""
    said, told = list[str](), tmp_path / "told"
    wait = f"while [ ! -e {told} ]; do sleep 0.01; done; exit 3"

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 3:
            told.touch()

    assert heartbeat.run("waiting", ["sh", "-c", wait], 0.5, say) == 3
    assert said[:3] == ["waiting: 0.5 s", "waiting: 1 s", "waiting: 1.5 s"]


@pytest.mark.parametrize("has_driver", [False, True])
def test_the_demo_says_what_was_not_executed(
    has_driver: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    calls = list[tuple[str, ...]]()

    def kgen(_: str, *words: str, shows: bool = True) -> int:
        assert shows == (words[0] == "build" and "--verify" in words)
        calls.append(words)
        return 0

    monkeypatch.setattr(demo, "kgen", kgen)
    monkeypatch.setattr(demo, "no_vulkan", lambda: None if has_driver else "no driver here")
    monkeypatch.setattr("sys.argv", ["demo.py", "-o", str(tmp_path / "demo.kgen")])
    assert demo.main() == 0
    targets = [words[words.index("--target") + 1] for words in calls if words[0] == "build"]
    verified = [words[words.index("--target") + 1] for words in calls if "--verify" in words]
    out = capsys.readouterr().out
    if has_driver:
        assert targets == verified == ["sm_80,gfx942,native,vulkan1.3"] and not out
    else:
        assert targets == ["sm_80,gfx942,native", "vulkan1.3"]
        assert verified == targets[:1] and calls[-1][:2] == ("bundle", "merge")
        (line,) = out.splitlines()
        assert line.startswith("added vulkan1.3 to ") and "was not executed: no driver here" in line
