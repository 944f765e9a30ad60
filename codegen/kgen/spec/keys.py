"""What specs' keys are made of: identifiers for numbers and expressions."""

from __future__ import annotations

import hashlib
import re

#: Characters of a key that an expression may take; a longer one is cut and gets a digest.
KEY_CHARACTERS = 60


def expression_key(text: str) -> str:
    """An expression as an identifier: its words, and a digest that tells it from others."""
    words = re.sub(r"[^a-z0-9]+", "_", text.lower())[:KEY_CHARACTERS]
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{words.strip('_')}_{digest}"


def number_name(value: float) -> str:
    """A float as an identifier: 0.5 -> 0p5, -1e-05 -> m1em05."""
    return re.sub(r"[+]", "", repr(value)).replace(".", "p").replace("-", "m")
