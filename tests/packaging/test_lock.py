"""requirements-dev.txt, the locked packages of development, against pyproject.toml."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements-dev.txt").read_text()
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", LOCK, re.MULTILINE)
}


def project(folder: Path) -> Any:
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


OURS = {found["name"]: found for found in map(project, (ROOT, ROOT / "runtime"))}


def required(name: str, extras: set[str]) -> Iterator[Requirement]:
    """Yield the requirements of a distribution, through extras that name extras."""
    found = OURS[name]
    lists = [found["dependencies"], *(found["optional-dependencies"][extra] for extra in extras)]
    for requirement in map(Requirement, itertools.chain(*lists)):
        if requirement.name in OURS:
            yield from required(requirement.name, requirement.extras)
        else:
            yield requirement


def test_every_package_of_development_is_locked_as_allowed() -> None:
    found = list(required("kgen-kernels", {"dev"}))
    assert {"numpy", "pytest", "onnx", "vulkan"} <= {requirement.name for requirement in found}
    for requirement in found:
        version = PINS.get(canonicalize_name(requirement.name))
        assert version is not None and version in requirement.specifier, requirement


def test_every_line_is_a_version_or_a_hash() -> None:
    """No line has an address: the machine decides where packages come from."""
    for line in LOCK.splitlines():
        if not line.startswith("#"):
            assert re.fullmatch(
                r"[\w.-]+==[\w.]+( ; [\w<>=!.' ]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line
            ), line
    entries = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries) and len(entries) >= len(PINS)


def test_the_full_distribution_needs_the_runtime_of_its_version() -> None:
    import kgen

    (found,) = (
        requirement
        for requirement in map(Requirement, OURS["kgen-kernels"]["dependencies"])
        if requirement.name == "kgen-kernels-runtime"
    )
    assert str(found.specifier) == f"=={kgen.__version__}"
