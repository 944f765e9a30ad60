"""Write every generated table of README.md and docs/, and runtime/c/manifest_limits.h."""

from __future__ import annotations

from scripts.reference import manifest_limits
from scripts.reference.pages import pages, rewritten


def main() -> None:
    for page in pages():
        page.write_text(rewritten(page.read_text(), page.name))
    manifest_limits.HEADER.write_text(manifest_limits.header())


if __name__ == "__main__":
    main()
