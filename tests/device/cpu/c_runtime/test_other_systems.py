"""libkgen for other systems: cross-compiled by zig, and executed if an emulator is installed."""

from __future__ import annotations

import fcntl
import itertools
import platform
import re
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
from tests.device.cpu.c_runtime import differential
from tests.device.cpu.c_runtime.compiled import HERE, PLAIN, ROOT, SOURCES, compiled, run
from tests.programs import mlp_bundle
from tests.specs import relu_of
from tests.wine import Wine

#: Names of a dynamic library that the linker of macOS makes.
LINKER_NAMES = ("__dso_handle", "_mh_dylib_header")
#: Mutated bundles that each system judges.
CASES = 2000
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


#: Flags with which zig links programs for Windows and kgen.dll of the wheels with one and the same
#: C runtime, whose compilation takes a minute of processor time.
SHARED_RUNTIME = ("-Os", "-s")
#: Libraries of Linux on aarch64, where Debian puts them.
AARCH64 = "/usr/aarch64-linux-gnu"


@dataclass(frozen=True, kw_only=True)
class System:
    name: str
    #: zig's name of the system.
    triple: str
    #: CPU targets that it runs.
    targets: tuple[str, ...]
    #: Flags that link with the shared libraries of the system: zig compiles static ones first.
    flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = WARNINGS
    #: Program loader of these libraries, and the Debian package of it.
    loader: str = ""
    package: str = ""
    #: Words before a program, and the Debian package of the first.
    words: tuple[str, ...] = ()
    emulator_package: str = ""
    suffix: str = ""

    def command(self) -> list[str]:
        """Return the words before a program's name. Skip the test if the emulator is missing."""
        if self.targets[0].startswith("x86-64") and platform.machine() != "x86_64":
            pytest.skip(f"this CPU is {platform.machine()}")
        if self.loader:
            found = Path(self.loader).exists()
            needs.debian(self.package, None if found else f"{self.loader} is not there")
        if self.words:
            needs.program(self.words[0], self.emulator_package)
        return [*self.words]


SYSTEMS = (
    System(
        name="musl",
        triple="x86_64-linux-musl",
        targets=("x86-64", "x86-64-v3"),
        flags=("-dynamic", "-rtlib=none"),
        loader="/lib/ld-musl-x86_64.so.1",
        package="musl",
    ),
    System(
        name="aarch64",
        triple="aarch64-linux-gnu.2.17",
        targets=("aarch64-neon",),
        flags=("-rtlib=none", "-pthread"),
        # glibc's macros use _Generic in every standard of C.
        warnings=(*WARNINGS, "-Wno-c11-extensions"),
        loader=f"{AARCH64}/lib/ld-linux-aarch64.so.1",
        package="libc6-arm64-cross",
        words=("qemu-aarch64", "-L", AARCH64),
        emulator_package="qemu-user",
    ),
    System(
        name="windows",
        triple="x86_64-windows-gnu",
        targets=("x86-64", "x86-64-v3"),
        suffix=".exe",
    ),
)


def zig(folder: Path, *words: str) -> None:
    needs.module("ziglang")
    run([sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined", *words], cwd=folder)


class Machine:
    """A system, and programs compiled for it once for all test processes."""

    def __init__(self, system: System, folder: Path, wine: Wine | None) -> None:
        self.system, self.folder, self.wine = system, folder / system.name, wine
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
                    *self.system.warnings,
                    "-c",
                    "kgen_all.c",
                    "-o",
                    "kgen_all.o",
                )
            if not made.exists():
                common = (*SHARED_RUNTIME, "-UNDEBUG", "-I.", *flags)
                zig(
                    self.folder,
                    *target,
                    *self.system.flags,
                    *common,
                    str(source),
                    "kgen_all.o",
                    "-o",
                    made.name,
                )
        return made

    def run(self, program: Path, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        if self.wine is not None:
            return self.wine.run([program, *words], cwd)
        command = [*self.words, str(program), *map(str, words)]
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", cwd=cwd, timeout=600
        )


@pytest.fixture(scope="module", params=SYSTEMS, ids=lambda system: system.name)
def machine(request: pytest.FixtureRequest, folder: Path) -> Machine:
    is_windows = request.param.name == "windows"
    wine = request.getfixturevalue("wine") if is_windows else None
    return Machine(request.param, folder, wine)


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
    """Threads that call one kernel, each with workers, get the results of one thread."""
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


def lines(text: str) -> list[str]:
    """Return the lines of the output without blank ones, which Wine adds."""
    return [line for line in text.splitlines() if line]


def test_the_same_verdicts(machine: Machine, folder: Path, tmp_path: Path) -> None:
    """Status and message of mutated bundles are those of this system, word by word."""
    if "aarch64" in machine.system.name:
        pytest.skip("messages of another CPU name another architecture")
    mutated = [case.data for case in itertools.islice(differential.cases(7), CASES)]
    differential.write_pack(tmp_path / "pack", mutated)
    # Nothing wraps the allocations here.
    plain = ("-D__real_malloc=malloc", "-D__real_calloc=calloc")
    here = compiled(folder, "fuzz", PLAIN, own_flags=("-std=c99", *plain))
    command = [str(here), "each", str(tmp_path / "pack")]
    expected = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    done = machine.run(machine.program(HERE / "fuzz.c", *plain), "each", "pack", cwd=tmp_path)
    assert done.returncode == expected.returncode == 0, done.stderr + expected.stderr
    found = lines(done.stdout)
    assert found == lines(expected.stdout) and len(found) == CASES
    assert len({line.split()[0] for line in found}) >= 4


@pytest.mark.parametrize("arch", ["aarch64", "x86_64"])
def test_macos_links(arch: str, tmp_path: Path) -> None:
    """The dynamic library for macOS is linked and its headers are checked; it is not run."""
    amalgamate.main(str(tmp_path))
    words = ("-target", f"{arch}-macos", "-std=c99", "-O2", "-fvisibility=hidden", *WARNINGS)
    zig(tmp_path, *words, "-dynamiclib", "-rtlib=none", "kgen_all.c", "-o", "libkgen.dylib")
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
