"""SPIR-V assembler: encodings from the specification, and bad text."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.errors import AssembleError
from kgen.targets.vulkan.spirv import assemble
from kgen.targets.vulkan.spirv.literals import NumberType, number, string

F16, F32, F64 = (NumberType(kind="float", width=w) for w in (16, 32, 64))


def integer(width: int, signed: bool) -> NumberType:
    return NumberType(kind="int", width=width, signed=signed)


def words(text: str) -> tuple[int, ...]:
    """Return the instructions of a module, without its header."""
    data = assemble(text, (1, 3))
    return struct.unpack(f"<{len(data) // 4}I", data)[5:]


def test_header() -> None:
    """The header has magic, version 1.6, the generator of spirv-as, the bound of ids, and schema
    0."""
    data = assemble("%void = OpTypeVoid", (1, 6))
    assert struct.unpack("<5I", data[:20]) == (0x07230203, 0x00010600, 0x00070000, 2, 0)


def test_ids_are_numbered_in_the_order_of_their_operands() -> None:
    """A result's type comes before the result; numeric ids are names."""
    text = "%7 = OpTypeInt 32 0\n%x = OpConstant %7 5"
    assert words(text) == (4 << 16 | 21, 1, 32, 0, 4 << 16 | 43, 1, 2, 5)


def test_comments_and_blank_lines() -> None:
    assert words("; nothing\n\n  OpNop ; more\n\tOpNop") == (1 << 16, 1 << 16)


def test_masks_sort_their_operands_by_bit() -> None:
    text = "%t = OpTypeVoid\n%v = OpUndef %t\nOpStore %v %v Aligned|Volatile 4"
    assert words(text)[5:] == (5 << 16 | 62, 2, 2, 1 | 2, 4)


def test_optional_operands_may_be_left_out() -> None:
    text = "%t = OpTypeVoid\n%v = OpUndef %t\nOpStore %v %v"
    assert words(text)[5:] == (3 << 16 | 62, 2, 2)


def test_strings_are_padded_and_unescaped() -> None:
    assert string('"abc"') == [0x00636261]
    assert string('"abcd"') == [0x64636261, 0]
    assert string(r'"a\"\\"') == [0x005C2261]
    assert string('"é"') == [0x0000A9C3]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("4294967295", integer(32, False), [0xFFFFFFFF]),
        ("-1", integer(32, True), [0xFFFFFFFF]),
        ("0xffffffff", integer(32, True), [0xFFFFFFFF]),
        ("-2", integer(16, True), [0xFFFFFFFE]),
        ("0x8000", integer(16, True), [0xFFFF8000]),
        ("0x8000", integer(16, False), [0x8000]),
        ("-128", integer(8, True), [0xFFFFFF80]),
        ("18446744073709551615", integer(64, False), [0xFFFFFFFF, 0xFFFFFFFF]),
        ("-2", integer(64, True), [0xFFFFFFFE, 0xFFFFFFFF]),
        ("1.5", F16, [0x3E00]),
        ("65504", F16, [0x7BFF]),
        ("0x1p-24", F16, [0x0001]),
        ("0x1p+16", F16, [0x7C00]),
        ("-0x1.8p+16", F16, [0xFE00]),
        ("-0", F32, [0x80000000]),
        ("1e-45", F32, [0x00000001]),
        ("0x1p+128", F32, [0x7F800000]),
        ("0x1.921fb6p+1", F32, [0x40490FDB]),
        ("0.1", F64, [0x9999999A, 0x3FB99999]),
        ("0x1p+1024", F64, [0, 0x7FF00000]),
    ],
)
def test_numbers(text: str, kind: NumberType, expected: list[int]) -> None:
    assert number(text, kind) == expected


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_decimal_floats_round_as_python_does(value: float) -> None:
    assert number(repr(value), F32) == list(struct.unpack("<I", struct.pack("<f", value)))
    low_high = struct.unpack("<2I", struct.pack("<d", value))
    assert number(repr(value), F64) == list(low_high)


@given(st.floats(width=16, allow_nan=False, allow_infinity=False))
def test_exact_half_floats(value: float) -> None:
    assert number(repr(value), F16) == list(struct.unpack("<H", struct.pack("<e", value)))


def test_a_decimal_is_rounded_once() -> None:
    """The number is just above the tie of two f32, and equals the tie as a double."""
    assert number("1.00000005960464477540", F32) == [0x3F800001]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("256", integer(8, False)),
        ("-1", integer(32, False)),
        ("2147483648", integer(32, True)),
        ("0x1ffffffff", integer(32, True)),
        ("1.5", integer(32, True)),
        ("ten", integer(32, True)),
        ("1e39", F32),
        ("65536", F16),
        ("0x1.000001p+0", F16),
        ("nan", F32),
        ("", F32),
    ],
)
def test_numbers_that_do_not_fit(text: str, kind: NumberType) -> None:
    with pytest.raises(ValueError):
        number(text, kind)


PREAMBLE = """%void = OpTypeVoid
%uint = OpTypeInt 32 0
%glsl = OpExtInstImport "GLSL.std.450"
%one = OpConstant %uint 1
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("OpFoo", "unknown instruction OpFoo"),
        ("%x =", "an instruction is missing"),
        ("%x = OpIAdd %uint %one", "too few operands"),
        ("%x = OpIAdd %uint %one %one %one", "unexpected operand %one"),
        ("OpIAdd %uint %one %one", "needs a result"),
        ("%x = OpReturn", "takes no result"),
        ("%one = OpConstant %uint 2", "%one is defined twice"),
        ("%x = OpConstant %uint -1", "does not fit a 32-bit unsigned integer"),
        ("%x = OpConstant %void 1", "%void is not a declared type of numbers"),
        ("%x = OpIAdd uint %one %one", "uint is not an id"),
        ("OpCapability Magic", "Magic is not a Capability"),
        ("OpStore %one %one Volatile|Fast", "Fast is not a MemoryAccess"),
        ("%x = OpExtInst %uint %glsl Sine %one", "GLSL.std.450 has no Sine"),
        ("%x = OpExtInst %uint %one Sin %one", "%one is not an import of GLSL.std.450"),
        ("%x = OpTypeInt 33 0", "33 is not a width of a number"),
        ('OpName %one "x', 'unexpected "'),
        ("OpName %one x", "x is not a quoted string"),
        ("%x = OpSpecConstantOp %uint Magic %one", "unknown instruction OpMagic"),
        ("OpBranch %nowhere", "%nowhere is used and never defined"),
    ],
)
def test_bad_text_names_its_line(line: str, message: str) -> None:
    with pytest.raises(AssembleError) as caught:
        assemble(PREAMBLE + line + "\n", (1, 3))
    assert str(caught.value).startswith("line 5: ")
    assert message in str(caught.value)


def test_a_forward_reference_is_no_error() -> None:
    assert words("OpBranch %next\n%next = OpLabel") == (2 << 16 | 249, 1, 2 << 16 | 248, 1)


def test_switch_literals_have_the_selectors_type() -> None:
    text = """%long = OpTypeInt 64 1
%x = OpConstant %long 0
OpSwitch %x %end -1 %end
%end = OpLabel"""
    assert words(text)[-8:-2] == (6 << 16 | 251, 2, 3, 0xFFFFFFFF, 0xFFFFFFFF, 3)


def test_an_instruction_has_at_most_65535_words() -> None:
    long = f'OpName %x "{"y" * 262200}"\n%x = OpTypeVoid'
    with pytest.raises(AssembleError, match="at most 65535"):
        assemble(long, (1, 3))
