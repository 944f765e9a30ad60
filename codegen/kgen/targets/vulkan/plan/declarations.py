"""Types and constants of a module, found by the names that its text uses.

A constant is named for its value (``%uint_16``, ``%int_0x807fffff``, ``%float_0p5``), or for its
meaning (``%f16_smallest``), which `MEANINGS` lists. So templates use any of them, and a rendered
kernel declares exactly those that its text uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Declarations by name; a declaration uses only earlier ones.
TYPES = {
    "void": "OpTypeVoid",
    "bool": "OpTypeBool",
    "uint": "OpTypeInt 32 0",
    "int": "OpTypeInt 32 1",
    "ushort": "OpTypeInt 16 0",
    "uchar": "OpTypeInt 8 0",
    "char": "OpTypeInt 8 1",
    "float": "OpTypeFloat 32",
    "half": "OpTypeFloat 16",
    "bfloat16": "OpTypeFloat 16 BFloat16KHR",
    "vec2": "OpTypeVector %float 2",
    "vec4": "OpTypeVector %float 4",
    "f16vec2": "OpTypeVector %half 2",
    "f16vec4": "OpTypeVector %half 4",
    "bf16vec2": "OpTypeVector %bfloat16 2",
    "uvec2": "OpTypeVector %uint 2",
    "uvec3": "OpTypeVector %uint 3",
    "uvec4": "OpTypeVector %uint 4",
    "ivec4": "OpTypeVector %int 4",
    "bvec2": "OpTypeVector %bool 2",
    "bvec4": "OpTypeVector %bool 4",
    "u16vec2": "OpTypeVector %ushort 2",
    "u16vec4": "OpTypeVector %ushort 4",
    "u8vec2": "OpTypeVector %uchar 2",
    "u8vec4": "OpTypeVector %uchar 4",
    "kernel_type": "OpTypeFunction %void",
    "float_from_float": "OpTypeFunction %float %float",
    "float_from_uint": "OpTypeFunction %float %uint",
    "uint_from_float": "OpTypeFunction %uint %float",
    "uint_from_uint": "OpTypeFunction %uint %uint",
    "uint_from_uvec2": "OpTypeFunction %uint %uvec2",
    "float_from_uint_float": "OpTypeFunction %float %uint %float",
    "float_from_2_float": "OpTypeFunction %float %float %float",
    "uint_from_2_uint": "OpTypeFunction %uint %uint %uint",
    "uvec2_from_uvec2": "OpTypeFunction %uvec2 %uvec2",
    "uvec4_from_uvec4": "OpTypeFunction %uvec4 %uvec4",
    "uvec2_from_uint": "OpTypeFunction %uvec2 %uint",
    "uvec2_from_2_uvec2": "OpTypeFunction %uvec2 %uvec2 %uvec2",
    "uvec2_from_bool_2_uvec2": "OpTypeFunction %uvec2 %bool %uvec2 %uvec2",
    "bool_from_2_uvec2": "OpTypeFunction %bool %uvec2 %uvec2",
}

#: Zeros by their type.
ZEROS = {
    "vec2_zero": "vec2",
    "vec4_zero": "vec4",
    "half_zero": "half",
    "uvec2_zero": "uvec2",
    "uvec4_zero": "uvec4",
}

#: Literals of f32 constants with a meaning.
MEANINGS = {
    # The smallest normal f16.
    "f16_smallest": "0x1p-14",
    # The lowest and the highest s32 that f32 holds.
    "s32_lowest": "-2147483648",
    "s32_highest": "2147483520",
}

#: Name of a function type with a number of f32 parameters.
_FUNCTION = re.compile(r"float_from_(\d+)_floats")
_NAME = re.compile(r"%(\w+)")
#: Constant of s64, named by its bits.
_PAIR = re.compile(r"s64_0x([0-9a-f]{8})_([0-9a-f]{8})")
#: Literals of infinity and NaN. naga refuses them, so kernels compute them from their bits.
_NOT_FINITE = re.compile(r"-?0x1(\.8)?p\+128")
_VALUE = re.compile(r"(uint|int|float)_(m?)(0x[0-9a-f]+|\d+)(?:p(\d+))?")


def find(text: str, constants: Mapping[str, str]) -> tuple[str, ...]:
    """Return declarations of all types and constants that the text uses, in a valid order.

    `constants` are further f32 constants by name; only finite ones are declared.
    """
    literals = MEANINGS | {n: c for n, c in constants.items() if not _NOT_FINITE.fullmatch(c)}
    names = set(_NAME.findall(text))
    pairs = {n: found for n in sorted(names) if (found := _PAIR.fullmatch(n))}
    for found in pairs.values():
        names |= {"uvec2", *map(word_name, found.groups())}
    values = {n: found for n in names if (found := _VALUE.fullmatch(n))}
    named = [n for n in literals if n in names]
    zeros = [n for n in ZEROS if n in names]
    names |= {ZEROS[name] for name in zeros}
    names |= {found[1] for found in values.values()} | ({"float"} if named else set())
    for name in reversed(TYPES):
        if name in names:
            names |= set(_NAME.findall(TYPES[name]))
    lines = [f"%{name} = {TYPES[name]}" for name in TYPES if name in names]
    lines += [
        f"%{name} = OpTypeFunction %float{' %float' * int(found[1])}"
        for name in sorted(names)
        if (found := _FUNCTION.fullmatch(name))
    ]
    lines += [
        f"%{name} = OpConstant %{found[1]} {_literal(found)}"
        for name, found in sorted(values.items(), key=lambda item: (_order(item[1]), item[0]))
    ]
    lines += [
        f"%{name} = OpConstantComposite %uvec2 %{word_name(found[2])} %{word_name(found[1])}"
        for name, found in pairs.items()
    ]
    lines += [f"%{name} = OpConstantNull %{ZEROS[name]}" for name in zeros]
    return (*lines, *(f"%{name} = OpConstant %float {literals[name]}" for name in named))


def not_finite(text: str, constants: Mapping[str, str]) -> tuple[str, ...]:
    """Return the instructions of a function's first block that compute the infinities and NaN that
    the text uses."""
    used = set(_NAME.findall(text))
    return tuple(
        f"%{name} = OpBitcast %float %uint_0x{name.removeprefix('f32_')}"
        for name, literal in constants.items()
        if name in used and _NOT_FINITE.fullmatch(literal)
    )


def pair_name(number: int) -> str:
    """Return the name of a constant of s64."""
    digits = f"{number & (1 << 64) - 1:016x}"
    return f"s64_0x{digits[:8]}_{digits[8:]}"


def word_name(digits: str) -> str:
    return f"uint_0x{int(digits, 16):x}" if int(digits, 16) else "uint_0"


def _literal(found: re.Match[str]) -> str:
    sign = "-" if found[2] else ""
    return f"{sign}{found[3]}" + (f".{found[4]}" if found[4] else "")


def _order(found: re.Match[str]) -> tuple[str, float]:
    number = int(found[3], 0) + float(f"0.{found[4] or 0}")
    return (found[1], -number if found[2] else number)
