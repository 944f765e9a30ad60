"""Copy of a package that takes the CPU for one with AVX2 alone."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

#: Prints what CPUID says to a library: leaf 7, subleaves 0 and 1, and leaf 0.
LIBRARY = """
#include <cpuid.h>
void ask(unsigned leaf, unsigned subleaf, unsigned *r) {
    __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
}
"""
PACKAGE = """
import ctypes, pathlib
library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("own.so")))
def ask(*leaf):
    found = (ctypes.c_uint * 4)()
    library.ask(*leaf, found)
    return list(found)
"""
CHILD = """
import ctypes, json, sys
from pathlib import Path
folder = Path(sys.argv[1])
sys.path[:0] = [sys.argv[2], str(folder)]
LEAVES = (7, 0), (7, 1), (0, 0)
from benchmarks.models import as_avx2
if sys.argv[3] == "copy":
    handler = as_avx2.use("own", folder / "copy")
import own
found = [own.ask(*leaf) for leaf in LEAVES]
count = ctypes.c_int.in_dll(handler, "as_avx2_count").value if sys.argv[3] == "copy" else 0
print(json.dumps([found, count, own.__file__, str(as_avx2.folder_of("own"))]))
"""
#: Bits of AVX2 in EBX; of AVX-512's foundation in EBX, of its VNNI in ECX, of AMX's tiles in EDX;
#: of AVX-VNNI and AVX-512's BF16 in EAX of subleaf 1.
AVX2, AVX512, VNNI, AMX, LATER = 1 << 5, 1 << 16, 1 << 11, 1 << 24, 1 << 4 | 1 << 5


def asked(folder: Path, which: str) -> tuple[list[list[int]], int, str, str]:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", CHILD, str(folder), root, which]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, count, file, copy = json.loads(done.stdout)
    return found, count, file, copy


def test_the_copy_has_no_avx512(tmp_path: Path) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("CPUID is an instruction of x86-64")
    needs.program("cc", "gcc")
    needs.program("objdump", "binutils")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text(PACKAGE)
    (tmp_path / "own.c").write_text(LIBRARY)
    library = str(tmp_path / "own" / "own.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "own.c"], check=True)
    plain, none, _, no_copy = asked(tmp_path, "installed")
    found, count, file, copy = asked(tmp_path, "copy")
    assert no_copy == "" and copy == str(tmp_path / "copy")
    assert none == 0 and count == 3 and file == str(tmp_path / "copy" / "own" / "__init__.py")
    (_, ebx, ecx, edx), (later, *_), maker = found
    assert ebx & AVX2 == plain[0][1] & AVX2 and maker == plain[2]
    assert not (ebx & AVX512 or ecx & VNNI or edx & AMX or later & LATER)
    # The installed library is as it was.
    assert asked(tmp_path, "installed")[0][2] == plain[2]
