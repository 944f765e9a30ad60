"""List violations of style, or record that there are fewer: python -m tests.style --help."""

from __future__ import annotations

import argparse
import sys

from tests.style import counts, names, scan


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.style", description=__doc__)
    parser.add_argument("key", nargs="?", default="", help='folder, or "folder: kind"; or all')
    parser.add_argument("--write", action="store_true", help="record counts that fell")
    options = parser.parse_args()
    found = scan.findings()
    if not options.write:
        print("\n".join(str(f) for f in found if f.key.startswith(options.key)))
        return 0
    now = counts.counted(found)
    limits = counts.allowed(counts.FILE.read_text(encoding="utf-8"))
    shared, entries = names.shared(names.files()), names.allowed(names.FILE.read_text("utf-8"))
    if rose := counts.raised(now, limits) + names.raised(shared, entries):
        print("\n".join(rose), file=sys.stderr)
        return 1
    counts.FILE.write_text(counts.render(now), encoding="utf-8")
    names.FILE.write_text(names.render(names.lowered(shared, entries)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
