"""Write libkgen as a single-file release, kgen_all.c with kgen.h and kgen.hpp, into a folder:
python scripts/amalgamate.py FOLDER."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "runtime" / "c"
LICENSE = "SPDX-License-Identifier: Apache-2.0"
#: Headers that the file contains, each before the files that include it.
INTERNAL = ("kgen_backend.h", "kgen_reader.h", "manifest_schema.h", "os.h", "internal.h")
#: Headers for users, beside the file.
PUBLIC = ("kgen.h", "kgen.hpp")
_INCLUDE = re.compile(r'^#include "(?P<name>.+)"\n', re.MULTILINE)


def release() -> str:
    """Return the text of kgen_all.c."""
    files = [*INTERNAL, *sources()]
    header = (SOURCES / "kgen.h").read_text()
    found = re.search(r'^#define KGEN_VERSION "(.+)"$', header, re.MULTILINE)
    assert found is not None
    head = (
        f"/* libkgen {found[1]} in one file. {LICENSE}\n"
        " * Compile it beside kgen.h as C99 or C++11, with GCC, Clang or zig, and link with\n"
        " * -pthread. scripts/amalgamate.py writes it from runtime/c. */\n"
        "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#define KGEN_BUILDING\n"
        '#include "kgen.h"\n'
    )
    return head + "".join(map(taken_in, files))


def sources() -> list[str]:
    """Return the C files; the system's come last, as windows.h defines short names."""
    names = sorted(path.name for path in SOURCES.glob("*.c"))
    return sorted(names, key=lambda name: name.startswith("os_"))


def taken_in(name: str) -> str:
    """Return the text of a file without its includes of the runtime's headers."""
    text = _INCLUDE.sub("", (SOURCES / name).read_text())
    return f"\n/* ==== {name} {'=' * (90 - len(name))} */\n\n{text}"


def main(folder: str) -> None:
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "kgen_all.c").write_text(release())
    for name in PUBLIC:
        shutil.copyfile(SOURCES / name, place / name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/amalgamate.py FOLDER")
    main(sys.argv[1])
