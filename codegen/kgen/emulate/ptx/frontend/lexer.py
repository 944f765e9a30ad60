"""Lexer of PTX text (PTX ISA 4.2 to 4.5).

Blanks may separate any two tokens, and must where two tokens would otherwise be one. All other
modules use tokens, or text with one blank between tokens.
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r'("[^"\n]*")|/\*.*?\*/|//[^\n]*', re.S)
#: Token: a string; a modifier, directive or part of a special register such as `.shared::cta`; a
#: name or a number, whose fraction is a separate token; or any other character.
_TOKEN = re.compile(r'"[^"]*"|\.\w+(?:::\w+)*|[%$\w][\w$]*|\S')
_STATEMENT = re.compile(r'(?:[^;"]+|"[^"]*")*')


def without_comments(text: str) -> str:
    """Replace comments by blanks; line numbers do not change."""
    return _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def end_of_statement(text: str, position: int) -> int:
    """Return the position of the next semicolon outside of strings, or the end of the text."""
    found = _STATEMENT.match(text, position)
    return len(text) if found is None else found.end()


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def spaced(text: str) -> str:
    """Return the text with one blank between tokens."""
    return " ".join(tokens(text))
