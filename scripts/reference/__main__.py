"""Write every generated table of README.md and docs/, and runtime/c/manifest_schema.h."""

from __future__ import annotations

from scripts.reference import manifest_schema
from scripts.reference.pages import pages, rewritten


def main() -> None:
    for page in pages():
        page.write_text(rewritten(page.read_text(), page.name))
    manifest_schema.HEADER.write_text(manifest_schema.header())


if __name__ == "__main__":
    main()
