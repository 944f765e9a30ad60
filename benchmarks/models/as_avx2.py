"""Copy of an installed package that takes the CPU for one with AVX2 alone.

A library that executes CPUID itself has no setting for the instructions that it uses. The copy has
UD2, an illegal instruction of the same length, for each CPUID, and a signal handler executes CPUID
and hides AVX-512, AVX-VNNI and AMX. Needs `objdump` and a C compiler.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

CPUID, UD2 = b"\x0f\xa2", b"\x0f\x0b"
#: A section's size, address and offset in `objdump -h`, and an instruction in `objdump -d`.
SECTION = re.compile(
    r"^ +\d+ \.\S+ +([0-9a-f]+) +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) ", re.MULTILINE
)
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(?:[0-9a-f]{2} )+ *\tcpuid", re.MULTILINE)


def use(package: str, folder: Path) -> ctypes.CDLL:
    """Make `import package` import the copy in this folder, which is created if it is missing.

    Return the library of the signal handler.
    """
    assert package not in sys.modules, f"{package} was imported before"
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    own, made = Path(spec.origin).parent, folder / package
    if not made.exists():
        part = folder / "part"
        shutil.rmtree(part, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(own, part, copy_function=copied, ignore=shutil.ignore_patterns("*.pyc"))
        part.rename(made)
    found = handler(folder)
    assert found.as_avx2_begin() == 0
    sys.path.insert(0, str(folder))
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin == str(made / "__init__.py"), spec
    return found


def folder_of(package: str) -> Path | str:
    """Return the folder if the package is imported from a copy that `use` made, else ""."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parents[1]
    return folder if handler_in(folder).exists() else ""


def copied(source: str, target: str) -> None:
    if ".so" in Path(source).name and (data := without_cpuid(Path(source))) is not None:
        Path(target).write_bytes(data)
    else:
        shutil.copyfile(source, target)


def without_cpuid(library: Path) -> bytes | None:
    """Return the bytes of a library with UD2 in place of CPUID; None if it has no CPUID."""
    places = [int(found[1], 16) for found in INSTRUCTION.finditer(listed("-d", library))]
    headers = SECTION.findall(listed("-h", library))
    sections = [[int(word, 16) for word in found] for found in headers]
    data = bytearray(library.read_bytes())
    for place in places:
        (at,) = (place - start + offset for n, start, offset in sections if 0 <= place - start < n)
        assert data[at : at + 2] == CPUID, hex(place)
        data[at : at + 2] = UD2
    return bytes(data) if places else None


def listed(option: str, library: Path) -> str:
    command = ["objdump", option, str(library)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def handler_in(folder: Path) -> Path:
    return folder / "as_avx2.so"


def handler(folder: Path) -> ctypes.CDLL:
    """Compile and load the signal handler. `as_avx2_count` counts what it executed."""
    library = handler_in(folder)
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library))
