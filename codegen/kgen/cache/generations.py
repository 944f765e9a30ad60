"""Generations of cached files: those of the newest few keys are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from kgen_runtime.file_cache import FileCache

#: Generations of files that are kept, so that checkouts and versions side by side do not remove
#: one another's.
GENERATIONS = 8


class Generation(FileCache):
    """The files of one generation, which `key` names: all that their content depends on."""

    def __init__(self, folder: Path, key: str) -> None:
        super().__init__(folder / key)
        self._all = folder

    def _make_folder(self) -> None:
        super()._make_folder()
        self._remove_old()

    def _remove_old(self) -> None:
        """Remove the generations written longest ago. One that is in use is made again."""
        generations = sorted(self._all.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
        for folder in generations[GENERATIONS:]:
            shutil.rmtree(folder, ignore_errors=True)
