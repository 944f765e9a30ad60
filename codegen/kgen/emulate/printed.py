"""Lines that a program prints, limited in number and in length."""

from __future__ import annotations

#: Most lines that are kept, and most characters of each.
MOST_LINES, MOST_CHARACTERS = 1000, 500


class PrintLog:
    """Collects the text that threads print, in order of execution."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._open = bytearray()
        self._dropped = 0

    def add(self, text: bytes) -> None:
        """Append text, which may end within a line or contain several lines."""
        *whole, rest = text.split(b"\n")
        for part in whole:
            self._extend(part)
            self._close()
        self._extend(rest)

    def lines(self) -> tuple[str, ...]:
        """Return the printed lines, the unfinished one included; the last counts those left out."""
        found = [*self._lines]
        dropped = self._dropped
        if self._open and len(found) < MOST_LINES:
            found.append(_readable(bytes(self._open)))
        elif self._open:
            dropped += 1
        if dropped:
            found.append(f"... and {dropped} more line{'s' if dropped > 1 else ''}")
        return tuple(found)

    def _extend(self, part: bytes) -> None:
        # A UTF-8 character has at most 4 bytes; one byte more shows that the line is too long.
        self._open += part[: max(0, 4 * MOST_CHARACTERS + 1 - len(self._open))]

    def _close(self) -> None:
        if len(self._lines) < MOST_LINES:
            self._lines.append(_readable(bytes(self._open)))
        else:
            self._dropped += 1
        self._open.clear()


def _readable(line: bytes) -> str:
    """Return a line as text with escaped control characters."""
    text = line.decode("utf-8", "backslashreplace")[: MOST_CHARACTERS + 1]
    text = "".join(
        c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text
    )
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 4]} ..."
