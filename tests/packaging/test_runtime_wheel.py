"""The wheel of the runtime alone: small, numpy is all it needs, and it runs a bundle."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import numpy as np
import pytest

import kgen

ROOT = Path(__file__).parents[2]
LIMIT_BYTES = 300_000

pytestmark = pytest.mark.slow

PROGRAM = """
import importlib.util, sys
import numpy as np
import kgen_runtime
for absent in ("kgen", "jinja2", "llvmlite", "cuda", "vulkan", "pip"):
    assert importlib.util.find_spec(absent) is None, absent
bundle, a, out = sys.argv[1:]
with kgen_runtime.load(bundle) as kernels:
    assert kernels.device.id == "cpu:0"
    np.save(out, kernels.matmul(np.load(a)))
print(kgen_runtime.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT / "runtime", capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_its_tag_is_that_of_its_machine_code(wheel: Path, tmp_path: Path) -> None:
    """ELF files for the architectures of the tag, which need no library; none in `any`."""
    architectures = {62: "x86_64", 183: "aarch64"}  # e_machine of the ELF header
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    environment = os.environ | {"KGEN_WHEEL": "any"}
    subprocess.run(command, check=True, cwd=ROOT / "runtime", capture_output=True, env=environment)
    (plain,) = tmp_path.glob("*.whl")
    for path, pure in ((wheel, "false"), (plain, "true")):
        found = set()
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if (data := archive.read(name)).startswith(b"\x7fELF"):
                    found.add(architectures[int.from_bytes(data[18:20], "little")])
            (listed,) = (name for name in archive.namelist() if name.endswith("/WHEEL"))
            fields = Parser().parsestr(archive.read(listed).decode())
        platforms = {tag.split("-")[2] for tag in fields.get_all("Tag", [])}
        assert fields["Root-Is-Purelib"] == pure
        if pure == "true":
            assert platforms == {"any"} and not found
        else:
            assert {platform.split("_", 3)[3] for platform in platforms} == found
            assert found == set(architectures.values())
            assert all(platform.startswith(("manylinux_", "musllinux_")) for platform in platforms)


def test_it_is_small_and_asks_for_numpy_alone(wheel: Path) -> None:
    assert wheel.stat().st_size < LIMIT_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        fields = Parser().parsestr(archive.read(metadata).decode())
    required = [r for r in fields.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert [r.partition("<")[0] for r in required] == ["numpy"]
    assert fields["Version"] == kgen.__version__
    assert {name.partition("/")[0] for name in names} == {
        "kgen_runtime", metadata.partition("/")[0]
    }  # fmt: skip
    for path in (ROOT / "runtime" / "kgen_runtime").rglob("*"):
        if path.suffix in (".py", ".so", ".typed"):
            assert path.relative_to(ROOT / "runtime").as_posix() in names


def test_it_runs_a_bundle_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    a, b = (np.random.default_rng(0).standard_normal(s).astype("f") for s in ((3, 13), (13, 21)))
    spec = kgen.Matmul(m=3, n=21, k=13, dtype="f32", constant=("b",))
    bundle = kgen.build(spec, ["x86-64", "aarch64-neon"], constants={"b": b})
    np.save(tmp_path / "a.npy", a)

    venv.create(tmp_path / "empty", with_pip=False)
    (site,) = (tmp_path / "empty" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for name in ("numpy", "numpy.libs"):
        (site / name).symlink_to(Path(np.__file__).parents[1] / name)
    arguments = [bundle.save(tmp_path / "x.kgen"), tmp_path / "a.npy", tmp_path / "out.npy"]
    done = subprocess.run(
        [tmp_path / "empty" / "bin" / "python", "-I", "-c", PROGRAM, *map(str, arguments)],
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert Path(done.stdout.strip()).is_relative_to(site)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), a @ b, rtol=1e-5, atol=1e-5)
