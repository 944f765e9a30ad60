"""Generations of cached files: those of the newest few keys are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from kgen_runtime.file_cache import FileCache

#: Generations of files that are kept, so that checkouts and versions side by side do not remove
#: one another's.
GENERATIONS = 8


class Generation(FileCache):
    """Files of one generation. `key` identifies everything that their content depends on."""

    def __init__(self, folder: Path, key: str) -> None:
        super().__init__(folder / key)
        self._all = folder

    def _make_folder(self) -> None:
        super()._make_folder()
        self._remove_old()

    def _remove_old(self) -> None:
        """Remove the oldest generations. A process that still uses one writes its files again."""
        generations = sorted(self._all.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
        for folder in generations[GENERATIONS:]:
            shutil.rmtree(folder, ignore_errors=True)
