"""C format strings, against the C library of this machine."""

from __future__ import annotations

import ctypes
import itertools
import math
import platform
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from kgen.emulate.c_format import FormatConversion, convert, parse
from kgen.emulate.printed import MOST_CHARACTERS, MOST_LINES, PrintLog
from kgen.errors import EmulationError

FLAGS = ["", "-", "+", " ", "#", "0", "-0", "+0", " #", "+ #0"]
FIELDS = ["", "5", "12", ".0", ".3", "12.3", "3.12", "12."]
INTEGERS = [0, 1, -1, 7, 255, -32768, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -2.5, 1e-5, 123456789.0, 1e22, 0.1, math.inf, -math.inf, math.nan]

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries differ")


def ours(form: str, values: Sequence[int], strings: Sequence[bytes] = ()) -> bytes:
    left = list(values)
    text = b""
    for part in parse(form.encode()):
        if isinstance(part, FormatConversion):
            taken = [left.pop(0) for _ in part.sizes]
            part = convert(part, taken, lambda address: strings[address - 1])
        text += part
    assert not left
    return text


def theirs(form: str, *values: Any) -> bytes:
    buffer = ctypes.create_string_buffer(4096)
    ctypes.CDLL(None).snprintf(buffer, ctypes.c_size_t(len(buffer)), form.encode(), *values)
    return buffer.value


@glibc
@pytest.mark.parametrize("length", ["hh", "h", "", "l", "ll"])
def test_integers_as_the_c_library_prints_them(length: str) -> None:
    for flags, field, kind in itertools.product(FLAGS, FIELDS, "diuxXo"):
        for number in INTEGERS:
            form = f"<%{flags}{field}{length}{kind}>"
            expected = theirs(form, ctypes.c_longlong(number))
            assert ours(form, [number & (2**64 - 1)]) == expected, (form, number)


@glibc
@pytest.mark.parametrize("kind", "eEfFgG")
def test_floats_as_the_c_library_prints_them(kind: str) -> None:
    for flags, field, number in itertools.product(FLAGS, FIELDS, FLOATS):
        form = f"<%{flags}{field}{kind}>"
        (bits,) = struct.unpack("<Q", struct.pack("<d", number))
        assert ours(form, [bits]) == theirs(form, ctypes.c_double(number)), (form, number)


@glibc
def test_characters_strings_and_pointers_as_the_c_library_prints_them() -> None:
    for flags, field in itertools.product(["", "-"], FIELDS):
        form = f"100%%<%{flags}{field}s>"
        assert ours(form, [1], [b"tensor"]) == theirs(form, b"tensor")
        form = f"<%{flags}{field.split('.')[0]}c>%%"
        assert ours(form, [65]) == theirs(form, ctypes.c_int(65))
        form = f"<%{flags}{field.split('.')[0]}p>"
        for address in (0, 0x7F00DEAD0010):
            assert ours(form, [address]) == theirs(form, ctypes.c_void_p(address))


@glibc
def test_widths_and_precisions_that_are_arguments() -> None:
    for width, digits in itertools.product((-9, 0, 9), (-1, 0, 3)):
        form = "<%*.*d>"
        values = [ctypes.c_int(v) for v in (width, digits, 42)]
        assert ours(form, [v & 0xFFFFFFFF for v in (width, digits, 42)]) == theirs(form, *values)


@pytest.mark.parametrize("form", ["%n", "%a", "%ls", "%Lf", "%", "%5", "%k"])
def test_a_conversion_that_is_not_supported_is_named(form: str) -> None:
    with pytest.raises(EmulationError, match=f"'{form}' is not supported"):
        parse(form.encode())


def test_a_huge_field_is_refused() -> None:
    with pytest.raises(EmulationError, match="1024 is the emulator's limit"):
        ours("%2000000000d", [1])


def test_the_log_is_bounded_in_lines_and_characters() -> None:
    log = PrintLog()
    log.add(b"a" * 100_000)
    log.add(b"a\nb\n" + b"x\n" * MOST_LINES + b"unfinished")
    lines = log.lines()
    assert len(lines) == MOST_LINES + 1
    assert lines[0] == "a" * (MOST_CHARACTERS - 4) + " ..."
    assert lines[1:3] == ("b", "x")
    assert lines[-1] == "... and 3 more lines"


def test_a_line_in_pieces_and_without_an_end() -> None:
    log = PrintLog()
    for piece in (b"one ", b"line\nand", b" \x1b[2J\xff"):
        log.add(piece)
    assert log.lines() == ("one line", "and \\x1b[2J\\xff")
