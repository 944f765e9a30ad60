"""The wheel holds both packages and the templates, and builds kernels from where it is unpacked."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_every_module_and_template(unpacked: Path) -> None:
    for source, packaged in (
        (ROOT / "codegen", unpacked),
        (ROOT / "runtime", unpacked),
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
