"""List violations of style, or record fewer shared names: python -m tests.style --help."""

from __future__ import annotations

import argparse
import sys

from tests.style import names, scan


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.style", description=__doc__)
    parser.add_argument("key", nargs="?", default="", help='folder, or "folder: kind"; or all')
    parser.add_argument("--write", action="store_true", help="record shared names that are gone")
    options = parser.parse_args()
    if not options.write:
        print("\n".join(str(f) for f in scan.findings() if f.key.startswith(options.key)))
        return 0
    shared, entries = names.shared(names.files()), names.allowed(names.FILE.read_text("utf-8"))
    if more := names.raised(shared, entries):
        print("\n".join(more), file=sys.stderr)
        return 1
    names.FILE.write_text(names.render(names.lowered(shared, entries)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
