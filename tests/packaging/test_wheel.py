"""Both wheels together have every module, and no file twice; kernels build after installation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the runtime's wheel and the full one."""
    made = list[Path]()
    for source in (ROOT / "runtime", ROOT):
        folder = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(command, check=True, cwd=source, capture_output=True)
        made += folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def unpacked(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    return site


def test_no_file_is_in_both_wheels(wheels: list[Path]) -> None:
    """Otherwise, removing one distribution would break the other."""
    runtime, full = (set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels)
    assert not runtime & full
    assert {name.partition("/")[0] for name in full} == {"kgen", "kgen_kernels-0.1.0.dist-info"}


def test_wheels_carry_the_licence_and_say_what_they_are_for(wheels: list[Path]) -> None:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (info,) = {name.partition("/")[0] for name in archive.namelist() if "-info/" in name}
            assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
            fields = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        assert fields["License-Expression"] == "Apache-2.0"
        assert "Operating System :: POSIX :: Linux" in fields.get_all("Classifier", [])
        assert fields.get_payload(), "the description is the README"


def test_the_full_wheel_holds_no_machine_code(wheels: list[Path]) -> None:
    """Its tag fits every machine."""
    with zipfile.ZipFile(wheels[1]) as archive:
        assert not [n for n in archive.namelist() if archive.read(n).startswith(b"\x7fELF")]
    assert wheels[1].name.endswith("-py3-none-any.whl")


def test_the_wheel_holds_every_module_and_template(unpacked: Path) -> None:
    for source, packaged in (
        (ROOT / "codegen" / "kgen", unpacked / "kgen"),
        (ROOT / "runtime" / "kgen_runtime", unpacked / "kgen_runtime"),
        (ROOT / "templates", unpacked / "kgen" / "templates"),
    ):
        for path in source.rglob("*"):
            if path.suffix in (".py", ".j2", ".typed"):
                assert (packaged / path.relative_to(source)).is_file(), path


def test_it_builds_from_its_own_templates(unpacked: Path, tmp_path: Path) -> None:
    code = (
        "import kgen, kgen.render; print(kgen.render.template_root());"
        "kgen.build(kgen.Matmul(m=7, n=7, k=7), targets=['sm_80']).save('x.kgen')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
    )
    assert Path(done.stdout.strip()) == unpacked / "kgen" / "templates"
    assert (tmp_path / "x.kgen").is_file()


def test_the_first_example_of_the_readme_needs_no_other_extra(
    unpacked: Path, tmp_path: Path
) -> None:
    """The environment has only what the extras before the example require."""
    before, code = (ROOT / "README.md").read_text().split("```python\n", 1)
    (extras,) = re.findall(r"pip install \./runtime '\.\[([\w,]+)\]'", before)
    venv.create(tmp_path / "env", with_pip=False)
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    needed = installed("kgen-kernels", set(extras.split(",")), unpacked)
    for path in {path.name: path for path in (*unpacked.iterdir(), *needed)}.values():
        if path.name != "__pycache__":
            (site / path.name).symlink_to(path)
    shutil.copy(ROOT / "examples" / "encoder.onnx", tmp_path)
    done = subprocess.run(
        [tmp_path / "env" / "bin" / "python", "-I", "-c", code.split("```", 1)[0]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "(1, 7, " in done.stdout


def installed(name: str, extras: set[str], wheels: Path) -> Iterator[Path]:
    """Yield files and folders of the installed packages that a distribution requires with its
    extras."""
    queue, seen = [(name, frozenset(extras))], set[tuple[str, frozenset[str]]]()
    while queue:
        if (found := queue.pop()) in seen:
            continue
        seen.add(found)
        ours = found[0].startswith("kgen-kernels")
        finder = Distribution.discover(name=found[0], path=[str(wheels)] if ours else sys.path)
        distribution = next(iter(finder))
        if not ours:
            tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}
            yield from (Path(str(distribution.locate_file(top))) for top in sorted(tops))
        for requirement in map(Requirement, distribution.requires or []):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in ("", *found[1])):
                queue.append((requirement.name, frozenset(requirement.extras)))
