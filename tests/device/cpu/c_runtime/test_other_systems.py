"""libkgen on other systems than the one that tests run on: cross-compiled by zig, and executed
where an emulator is there."""

from __future__ import annotations

import fcntl
import os
import platform
import random
import re
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import kgen
from scripts import amalgamate
from tests import needs
from tests.binaries import macho
from tests.device.cpu.c_runtime.compiled import HERE, PLAIN, ROOT, SOURCES, compiled, run
from tests.programs import mlp_bundle
from tests.specs import relu_of

#: Set by `make test-windows`, which installs Wine; compiling for Windows takes a minute at first.
WINE = "KGEN_TEST_WINE"
#: Names of a dynamic library that the linker of macOS makes.
LINKER_NAMES = ("__dso_handle", "_mh_dylib_header")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


@dataclass(frozen=True)
class System:
    name: str
    #: zig's name of the system.
    triple: str
    #: CPU targets that it runs.
    targets: tuple[str, ...]
    #: Emulator, and the Debian package of it.
    emulator: str = ""
    package: str = ""
    suffix: str = ""

    def command(self) -> list[str]:
        """Words before a program. The test skips where they cannot be run."""
        if self.name == "windows":
            if os.environ.get(WINE) != "1":
                pytest.skip("make test-windows runs it under Wine")
            found = Path("/usr/lib/wine/wine64")
            if not found.exists():
                needs.absent("wine64 is not installed; apt install wine64", by_apt=True)
            return [str(found)]
        if self.targets[0].startswith("x86-64") and platform.machine() != "x86_64":
            pytest.skip(f"this CPU is {platform.machine()}")
        if self.emulator:
            needs.program(self.emulator, self.package)
            return [self.emulator]
        return []


SYSTEMS = (
    System("musl", "x86_64-linux-musl", ("x86-64", "x86-64-v3")),
    System("aarch64", "aarch64-linux-musl", ("aarch64-neon",), "qemu-aarch64", "qemu-user"),
    System("windows", "x86_64-windows-gnu", ("x86-64", "x86-64-v3"), suffix=".exe"),
)


def zig(folder: Path, *words: str) -> None:
    needs.module("ziglang")
    run([sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined", *words], cwd=folder)


class Machine:
    """A system, with programs that were compiled for it once for all test processes."""

    def __init__(self, system: System, folder: Path) -> None:
        self.system, self.folder = system, folder / system.name
        self.words = system.command()

    def program(self, source: Path, *flags: str) -> Path:
        self.folder.mkdir(exist_ok=True)
        made = self.folder / (source.stem + self.system.suffix)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            target = ("-target", self.system.triple)
            if not (self.folder / "kgen_all.o").exists():
                amalgamate.main(str(self.folder))
                zig(
                    self.folder,
                    *target,
                    "-std=c99",
                    "-O2",
                    *WARNINGS,
                    "-c",
                    "kgen_all.c",
                    "-o",
                    "kgen_all.o",
                )
            if not made.exists():
                common = ("-O1", "-UNDEBUG", "-I.", *flags)
                zig(self.folder, *target, *common, str(source), "kgen_all.o", "-o", made.name)
        return made

    def run(self, program: Path, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program, with the files of Wine in the folder of this session."""
        prefix = {"WINEDEBUG": "-all", "WINEPREFIX": str(self.folder / "wine")}
        return subprocess.run(
            [*self.words, str(program), *map(str, words)],
            capture_output=True,
            text=True,
            cwd=cwd,
            env=os.environ | prefix,
            timeout=240,
        )


@pytest.fixture(scope="module", params=SYSTEMS, ids=lambda system: system.name)
def machine(request: pytest.FixtureRequest, folder: Path) -> Machine:
    return Machine(request.param, folder)


def test_the_example(machine: Machine, tmp_path: Path) -> None:
    """The example of the documents prints what Python computes, to three digits."""
    encoder = ROOT / "examples" / "encoder"
    made = kgen.compile_model(encoder.with_suffix(".onnx"), list(machine.system.targets))
    made.bundle.save(tmp_path / "encoder.kgen")
    done = machine.run(machine.program(encoder.with_suffix(".c")), cwd=tmp_path)
    assert done.stdout == "-0.382 0.312 -0.569\n", done.stderr
    done = machine.run(machine.program(encoder.with_suffix(".c")), cwd=tmp_path.parent)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "encoder.kgen: cannot read: No such file or directory; check the path\n"
    )


def test_kernels_and_programs(machine: Machine, tmp_path: Path) -> None:
    """Every assertion of programs.c holds; workers share the launches."""
    targets = machine.system.targets
    relu = kgen.build(relu_of((7, 1001), dtype="f32"), targets).save(tmp_path / "relu.kgen")
    mlp = mlp_bundle(targets[0]).save(tmp_path / "mlp.kgen")
    done = machine.run(machine.program(HERE / "programs.c"), mlp.name, relu.name, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_threads(machine: Machine, tmp_path: Path) -> None:
    """Threads that call one kernel, each with workers, give the bits of one thread."""
    spec = kgen.Matmul(m=96, n=80, k=64, dtype="f32")
    path = kgen.build(spec, machine.system.targets[:1]).save(tmp_path / "matmul.kgen")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((96, 64), "f"), rng.standard_normal((64, 80), "f")
    for name, array in (("a", a), ("b", b)):
        (tmp_path / name).write_bytes(array.tobytes())
    program = machine.program(HERE / "driver.c")
    words = ("threads", spec.key, 2, 30, "a", "b", "out")
    done = machine.run(program, path.name, 3, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "out", "f").reshape(96, 80)
    np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-4)


def mutated(data: bytes, count: int) -> list[bytes]:
    """The file, cut or with flipped bits."""
    rng = random.Random(7)
    found = [data]
    for number in range(count):
        if number % 4 == 0:
            found.append(data[: rng.randrange(len(data))])
            continue
        changed = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        found.append(bytes(changed))
    return found


def verdicts(text: str) -> list[str]:
    """Lines of the output, without the blank ones that end in Wine."""
    return [line for line in text.splitlines() if line]


def test_the_same_verdicts(machine: Machine, folder: Path, tmp_path: Path) -> None:
    """Damaged bundles: status and message are those of this system, word by word."""
    if "aarch64" in machine.system.name:
        pytest.skip("messages of another CPU name another architecture")
    bundle = kgen.build(relu_of((4, 8), dtype="f32"), ["x86-64"])
    data = bundle.save(tmp_path / "relu.kgen").read_bytes()
    packed = b"".join(struct.pack("<Q", len(one)) + one for one in mutated(data, 400))
    (tmp_path / "pack").write_bytes(packed)
    # Nothing wraps the allocations here.
    plain = ("-D__real_malloc=malloc", "-D__real_calloc=calloc")
    here = compiled(folder, "fuzz", PLAIN, own_flags=("-std=c99", *plain))
    expected = subprocess.run([here, "each", tmp_path / "pack"], capture_output=True, text=True)
    program = machine.program(HERE / "fuzz.c", *plain)
    done = machine.run(program, "each", "pack", cwd=tmp_path)
    assert done.returncode == expected.returncode == 0, done.stderr + expected.stderr
    assert verdicts(done.stdout) == verdicts(expected.stdout)
    assert len(verdicts(done.stdout)) == 401
    assert len({line.split()[0] for line in verdicts(done.stdout)}) >= 3


@pytest.mark.parametrize("arch", ["aarch64", "x86_64"])
def test_macos_links(arch: str, tmp_path: Path) -> None:
    """A dynamic library for macOS: linked, its headers read, not run."""
    amalgamate.main(str(tmp_path))
    words = ("-target", f"{arch}-macos", "-std=c99", "-O2", "-fvisibility=hidden", *WARNINGS)
    zig(tmp_path, *words, "-dynamiclib", "kgen_all.c", "-o", "libkgen.dylib")
    found = macho.read((tmp_path / "libkgen.dylib").read_bytes())
    assert found.arch == {"aarch64": "arm64"}.get(arch, arch) and found.kind == "dylib"
    assert found.name.endswith("libkgen.dylib")
    assert found.libraries == ["/usr/lib/libSystem.B.dylib"]
    headers = "".join(path.read_text() for path in SOURCES.glob("*.h"))
    declared = set(re.findall(r"^KGEN_API [^;(]*?(kgen_\w+)\(", headers, re.MULTILINE))
    exported = {name.removeprefix("_") for name in found.exports} - {*LINKER_NAMES}
    assert exported == declared and len(declared) > 50
    both = macho.WRITE | macho.EXECUTE
    assert not any(protection & both == both for protection in found.protections.values())
    assert {"_mmap", "_pthread_create"} <= set(found.imports)
    jit = {"_pthread_jit_write_protect_np"}
    assert jit <= set(found.imports) if arch == "aarch64" else "_mprotect" in found.imports
