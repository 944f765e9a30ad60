"""Lexer of textual LLVM IR (LLVM Language Reference, "Syntax" and "Identifiers")."""

from __future__ import annotations

import re

from kgen.errors import EmulationError

#: Blanks and comments, then a token; the token at the end of the text is empty.
_TOKEN = re.compile(
    r"""
    (?:[ \t\r]|;[^\n]*|\#dbg_[^\n]*)*
    (?:(?P<newline>\n)
  | (?P<label>(?:[-a-zA-Z$._0-9]+|"[^"\n]*"):(?!:))
  | (?P<string>c?"[^"]*")
  | (?P<local>%(?:[-a-zA-Z$._0-9]+|"[^"]*"))
  | (?P<global>@(?:[-a-zA-Z$._0-9]+|"[^"]*"))
  | (?P<metadata>!(?:[-a-zA-Z$._0-9\\]+|"[^"]*")?)
  | (?P<attribute>\#\d+)
  | (?P<number>[-+](?:inf\b|qnan\b|s?nan\(0x[0-9A-Fa-f]+\))
    |[-+]?\d+\.\d*(?:[eE][-+]?\d+)?|[fsu]?0x[KLMHR]?[0-9A-Fa-f]+|[-+]?\d+)
  | (?P<word>[a-zA-Z_$][-a-zA-Z$._0-9]*)
  | (?P<punctuation>\.\.\.|[(){}\[\]<>,=*|^:])
  | (?P<end>\Z))
    """,
    re.VERBOSE,
)


class Tokens:
    """Tokens of a text, with a cursor. Every error names the line."""

    def __init__(self, source: str) -> None:
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.lines: list[int] = []
        self.at = 0
        self._read(source)

    def _read(self, source: str) -> None:
        kinds, texts, lines = self.kinds, self.texts, self.lines
        line = 1
        position = 0
        for match in _TOKEN.finditer(source):
            if match.start() != position:
                break
            position = match.end()
            kind = match.lastgroup
            if kind == "newline":
                line += 1
                continue
            assert kind is not None
            text = match[kind]
            kinds.append(kind)
            texts.append(text)
            lines.append(line)
            if kind == "string":
                line += text.count("\n")
        if self.kinds[-1:] != ["end"]:
            raise EmulationError(f"line {line}: cannot read {source[position : position + 20]!r}")

    @property
    def text(self) -> str:
        return self.texts[self.at]

    @property
    def kind(self) -> str:
        return self.kinds[self.at]

    @property
    def line(self) -> int:
        return self.lines[self.at]

    def next(self) -> str:
        """Return the token at the cursor and move past it."""
        if self.kinds[self.at] == "end":
            raise self.error("the text ends too early")
        text = self.texts[self.at]
        self.at += 1
        return text

    def accept(self, text: str) -> bool:
        """Move past ``text`` if it is at the cursor; return whether it is."""
        if self.texts[self.at] == text:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if self.texts[self.at] != text:
            raise self.error(f"expected {text!r}")
        self.at += 1

    def expect_kind(self, kind: str) -> str:
        if self.kinds[self.at] != kind:
            raise self.error(f"expected a {kind}")
        return self.next()

    def integer(self) -> int:
        try:
            return int(self.expect_kind("number"))
        except ValueError:
            self.at -= 1
            raise self.error("expected an integer") from None

    def skip_brackets(self) -> None:
        """Move past the balanced group that opens at the cursor."""
        depth = 0
        while True:
            text = self.next()
            if text in ("(", "[", "{", "<"):
                depth += 1
            elif text in (")", "]", "}", ">"):
                depth -= 1
                if depth == 0:
                    return

    def starts_line(self) -> bool:
        return self.at == 0 or self.lines[self.at] != self.lines[self.at - 1]

    def error(self, what: str) -> EmulationError:
        return EmulationError(f"line {self.line}: {what}, found {self.text!r}")


def words(text: str) -> list[str]:
    """Split a table of words that is written as one string."""
    return text.split()


def symbol(text: str) -> str:
    """Return a name without its sigil and quotes: ``%"a b"`` is ``a b``."""
    return text[1:].strip('"')
