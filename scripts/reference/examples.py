"""Programs of examples/ as code blocks."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples"


def encoder_c() -> str:
    """Return the C program that runs a model."""
    return block("c", "encoder.c")


def encoder_cpp() -> str:
    """Return the C++ program that runs a model."""
    return block("cpp", "encoder.cpp")


def block(language: str, name: str) -> str:
    """Return a file of examples/ as a code block."""
    return f"```{language}\n{(FOLDER / name).read_text()}```\n"
