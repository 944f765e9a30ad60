"""PTX text to tokens (PTX ISA 4.2 to 4.5).

Blanks may stand between any two tokens, and must where the two would else be one. All other modules
see tokens, or text that has one blank between any two.
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r'("[^"\n]*")|/\*.*?\*/|//[^\n]*', re.S)
#: A string; a modifier, a directive or the part of a special register, `.shared::cta`; a name or a
#: number, of which a fraction is a token of its own; any other character.
_TOKEN = re.compile(r'"[^"]*"|\.\w+(?:::\w+)*|[%$\w][\w$]*|\S')
_STATEMENT = re.compile(r'(?:[^;"]+|"[^"]*")*')


def without_comments(text: str) -> str:
    """The text with blanks in place of comments; its lines stay the same."""
    return _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def end_of_statement(text: str, position: int) -> int:
    """Return the place of the next semicolon outside of strings, or the end of the text."""
    found = _STATEMENT.match(text, position)
    return len(text) if found is None else found.end()


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def spaced(text: str) -> str:
    """The text with one blank between any two tokens."""
    return " ".join(tokens(text))
