#!/usr/bin/env python3
"""Unpack newer Vulkan drivers and tools than the system's into .drivers/, without root.

    .drivers/mesa      lavapipe 26 with cooperative matrices; the compilers of RADV (AMD) and NVK
                       (NVIDIA), which need no GPU; spirv-val. They are from Debian's
                       trixie-backports, with the C library that they need. `.drivers/mesa/run
                       PROGRAM` runs a program of this system with that C library
    .drivers/chromium  SwiftShader, the newest validation layer and a driver that does nothing, from
                       Debian's chromium; they run with the C library of this system

apt resolves, downloads and verifies packages, in a separate state folder. If it fails, a line says
why and the exit status is 0: tests that need a driver skip, or fail in CI (tests/needs.py).
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).parents[1] / ".drivers"
MULTIARCH = f"{platform.machine()}-linux-gnu"
#: File with the recipe of a tree, written last. If the recipe has changed, the tree is made again.
STAMP = "installed"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Tree:
    """Folder below .drivers/, unpacked from `packages` of Debian's `suites`."""

    name: str
    suites: tuple[str, ...]
    packages: tuple[str, ...]
    #: Whether all dependencies of the packages are unpacked as well, including the C library.
    whole: bool
    #: Files of the packages to keep, as globs below the root of their file system.
    keep: tuple[str, ...]

    @property
    def recipe(self) -> str:
        return f"{self}\n"

    @property
    def folder(self) -> Path:
        return DRIVERS / self.name


MESA = Tree(
    name="mesa",
    suites=("trixie", "trixie-backports"),
    packages=("mesa-vulkan-drivers", "mesa-drm-shim", "libvulkan1", "spirv-tools"),
    whole=True,
    keep=(f"usr/lib/{MULTIARCH}", "usr/lib64", "usr/bin/spirv-*"),
)
CHROMIUM = Tree(
    name="chromium",
    suites=("bookworm-security",),
    packages=("chromium-common",),
    whole=False,
    keep=tuple(
        f"usr/lib/chromium/{name}"
        for name in (
            "libvk_swiftshader.so",
            "libVkLayer_khronos_validation.so",
            "libVkICD_mock_icd.so",
        )
    ),
)


class CannotFetch(Exception):
    """Reason why drivers cannot be fetched, in one line."""


def main() -> int:
    DRIVERS.mkdir(exist_ok=True)
    for tree, finish in ((MESA, finish_mesa), (CHROMIUM, finish_chromium)):
        stamp = tree.folder / STAMP
        if stamp.is_file() and stamp.read_text() == tree.recipe:
            continue
        try:
            fetch(tree)
            finish(tree.folder)
        except (CannotFetch, OSError) as error:
            shutil.rmtree(tree.folder, ignore_errors=True)
            print(f"no .drivers/{tree.name} ({error}); continuing without it", file=sys.stderr)
            continue
        stamp.write_text(tree.recipe)
        print(f".drivers/{tree.name}: {', '.join(tree.packages)} unpacked")
    return 0


def fetch(tree: Tree) -> None:
    """Unpack the files of a tree's packages into its folder."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise CannotFetch("they are in Debian's packages, and this system has no apt-get")
    shutil.rmtree(tree.folder, ignore_errors=True)
    state, root = tree.folder / "apt", tree.folder / "root"
    for folder in (state / "lists/partial", state / "archives/partial", root):
        folder.mkdir(parents=True)
    for deb in download(tree, state):
        command(["dpkg-deb", "--extract", str(deb), str(root)])
        deb.unlink()
    for pattern in tree.keep:
        for found in root.glob(pattern):
            target = tree.folder / found.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            found.rename(target)
    shutil.rmtree(root)
    shutil.rmtree(state)


def download(tree: Tree, state: Path) -> list[Path]:
    """Download the packages; return the files. Mirror and proxy are those of the system's apt,
    whose state is not changed."""
    sources = state / "sources.list"
    mirror, security = mirrors()
    lines = (
        f"deb [signed-by={KEYRING}] {security if 'security' in suite else mirror} {suite} main\n"
        for suite in tree.suites
    )
    sources.write_text("".join(lines))
    (state / "status").touch()
    options: dict[str, object] = {
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": "-",
        # apt would download as a user who may not write here.
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
        # Prefer the newest suite; apt does not prefer backports by default.
        "APT::Default-Release": tree.suites[-1],
        "Acquire::Languages": "none",
        "Acquire::Retries": 3,
        "Debug::NoLocking": "true",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    command([*apt, "update"])
    if tree.whole:
        command([*apt, "install", "--yes", "--download-only", *tree.packages])
    else:
        command([*apt, "download", *tree.packages], state / "archives")
    return sorted((state / "archives").glob("*.deb"))


def mirrors() -> tuple[str, str]:
    """Return the Debian mirror that apt uses on this machine, and the mirror of security
    updates."""
    known = command(["apt-get", "indextargets", "--format", "$(REPO_URI)"]).split()
    debian = [uri for uri in known if "debian" in uri]
    mirror = next((u for u in debian if "security" not in u), "http://deb.debian.org/debian")
    security = next((u for u in debian if "security" in u), f"{mirror.rstrip('/')}-security")
    return mirror, security


def command(words: Sequence[str], folder: Path | None = None) -> str:
    """Return the output of a command. Raises CannotFetch with the first line of its error
    message."""
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        complaint = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0]
        raise CannotFetch(f"{words[0]}: {complaint}")
    return done.stdout


def finish_mesa(folder: Path) -> None:
    """Write the manifests that the loader reads, and the script `run`."""
    libraries = folder / "usr/lib" / MULTIARCH
    loader = next(libraries.glob("ld-linux-*.so.*"))
    for name in ("lvp", "radeon", "nouveau"):
        if (library := libraries / f"libvulkan_{name}.so").is_file():
            write_driver(folder / f"{name}.json", library)
    script = folder / "run"
    script.write_text(RUN.format(multiarch=MULTIARCH, loader=loader.name))
    script.chmod(0o755)


#: A program finds its libraries beside it (a Python built from source) and in the system. PRELOAD
#: takes the place of LD_PRELOAD, which would affect the shell itself, with its other C library.
RUN = """#!/bin/sh
# run PROGRAM ARGUMENTS: with the C library and Vulkan loader of this folder. DRIVER names the
# driver (lvp, radeon, nouveau), PRELOAD a library of this folder to be loaded before all others.
here="$(cd "$(dirname "$0")" && pwd)"
libraries="$here/usr/lib/{multiarch}"
export VK_DRIVER_FILES="$here/${{DRIVER:-lvp}}.json"
name="$1"; shift
program="$(readlink -f "$(command -v "$name")")"
exec "$libraries/{loader}" ${{PRELOAD:+--preload "$libraries/$PRELOAD"}} --argv0 "$name" \\
    --library-path "$libraries:$(dirname "$program")/../lib:/usr/lib/{multiarch}" "$program" "$@"
"""


def finish_chromium(folder: Path) -> None:
    libraries = folder / "usr/lib/chromium"
    write_driver(folder / "swiftshader.json", libraries / "libvk_swiftshader.so")
    write_driver(folder / "mock.json", libraries / "libVkICD_mock_icd.so")
    layer = {
        "name": "VK_LAYER_KHRONOS_validation",
        "type": "GLOBAL",
        "library_path": f"{libraries.relative_to(folder)}/libVkLayer_khronos_validation.so",
        "api_version": "1.4.300",
        "implementation_version": "1",
        "description": "Khronos validation layer",
    }
    content = {"file_format_version": "1.2.0", "layer": layer}
    (folder / "VkLayer_khronos_validation.json").write_text(json.dumps(content))


def write_driver(manifest: Path, library: Path) -> None:
    """Write the manifest by which the Vulkan loader finds a driver."""
    if not library.is_file():
        raise CannotFetch(f"the packages hold no {library.name}")
    path = library.relative_to(manifest.parent)  # the loader starts from the manifest's folder
    icd = {"library_path": str(path), "api_version": "1.4.0"}
    manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": icd}))


if __name__ == "__main__":
    sys.exit(main())
