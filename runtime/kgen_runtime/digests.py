"""SHA-256 of a bundle's files, by the implementation that is ready first."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

#: Bytes that Python's own implementation is given: 2 ms. OpenSSL's is six times faster, and takes
#: 3 ms to import.
MOST_OWN = 512 << 10


class Digests:
    """Digests of the files of one bundle."""

    def __init__(self) -> None:
        self._left = MOST_OWN

    def sha256(self, data: bytes | memoryview) -> str:
        """In hexadecimal digits."""
        self._left -= len(data)
        if self._left < 0 or "hashlib" in sys.modules:
            from hashlib import sha256
        else:
            sha256 = _own()
        return sha256(data).hexdigest()


def _own() -> Any:
    """The module that hashlib falls back on; some builds of Python are without."""
    try:
        return import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:
        from hashlib import sha256
    return sha256
