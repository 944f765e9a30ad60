"""The runtime's wheel is small, needs only numpy, and runs a bundle."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from email.parser import Parser
from pathlib import Path

import numpy as np
import pytest

import build_libkgen
import kgen

ROOT = Path(__file__).parents[2]

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


@pytest.fixture
def wheel(distributions: Mapping[str, Path]) -> Path:
    """Return the wheel for this machine."""
    platform = f"manylinux_2_17_{os.uname().machine}"
    if platform not in distributions:
        pytest.skip(f"no wheel is for {os.uname().machine}")
    return distributions[platform]


def test_its_tag_is_that_of_its_system(distributions: Mapping[str, Path]) -> None:
    assert {*distributions} == {*build_libkgen.TRIPLES, "sdist"}
    for platform in build_libkgen.TRIPLES:
        path = distributions[platform]
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            (listed,) = (name for name in names if name.endswith("/WHEEL"))
            fields = Parser().parsestr(archive.read(listed).decode())
        assert path.name == f"kgen_kernels_runtime-{kgen.__version__}-py3-none-{platform}.whl"
        assert fields.get_all("Tag") == [f"py3-none-{platform}"]
        assert fields["Root-Is-Purelib"] == "false"
        native = [n for n in names if "/native/" in n]
        assert native == [f"kgen_runtime/native/{build_libkgen.file_name(platform)}"]


def test_it_asks_for_numpy_alone(wheel: Path) -> None:
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
        if path.suffix in (".py", ".typed"):
            assert path.relative_to(ROOT / "runtime").as_posix() in names


def test_it_runs_a_bundle_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Pip installs the wheel, so it accepts the tag."""
    a, b = (np.random.default_rng(0).standard_normal(s).astype("f") for s in ((3, 13), (13, 21)))
    spec = kgen.Matmul(m=3, n=21, k=13, dtype="f32", constant=("b",))
    bundle = kgen.build(spec, ["x86-64", "aarch64-neon"], constants={"b": b})
    np.save(tmp_path / "a.npy", a)

    venv.create(tmp_path / "empty", with_pip=False)
    (site,) = (tmp_path / "empty" / "lib").glob("python*/site-packages")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True)
    for name in ("numpy", "numpy.libs"):
        (site / name).symlink_to(Path(np.__file__).parents[1] / name)
    arguments = [bundle.save(tmp_path / "x.kgen"), tmp_path / "a.npy", tmp_path / "out.npy"]
    done = subprocess.run(
        [tmp_path / "empty" / "bin" / "python", "-I", "-c", PROGRAM, *map(str, arguments)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(site)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), a @ b, rtol=1e-5, atol=1e-5)
