"""Malformed SPIR-V, which must not reach a driver."""

from __future__ import annotations

import random
import re
import struct

import pytest

from kgen import pipeline, targets
from kgen_runtime.backends.vulkan.modules import malformed
from tests.specs import relu_of

NAME = "relu_64_f32"


@pytest.fixture(scope="module")
def module() -> bytes:
    kernel = pipeline.kernel(relu_of((64,), dtype="f32"), targets.find("vulkan1.3"))
    return kernel.assembled.artifacts[0].data


def test_a_sound_module(module: bytes) -> None:
    assert malformed(module, [NAME]) is None
    assert malformed(module, ["other"]) == "has no entry point other"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({0: 0}, "is not a SPIR-V module"),
        ({1: 0x00010700}, r"is SPIR-V 1\.7; the newest supported version is 1\.6"),
        ({5: 17}, "is not a SPIR-V module: word 5 begins an instruction of 0 words"),
        ({5: 0xFFFF0011}, "is not a SPIR-V module: word 5 begins an instruction of 65535 words"),
    ],
)
def test_damaged_words(module: bytes, words: dict[int, int], why: str) -> None:
    damaged = list(struct.unpack(f"<{len(module) // 4}I", module))
    for at, word in words.items():
        damaged[at] = word
    reason = malformed(struct.pack(f"<{len(damaged)}I", *damaged), [NAME])
    assert reason is not None and re.fullmatch(why, reason)


def test_any_cut_is_seen_or_leaves_whole_instructions(module: bytes) -> None:
    """Checking raises nothing, whatever the bytes are."""
    for size in range(0, len(module), 7):
        reason = malformed(module[:size], [NAME])
        assert size % 4 == 0 or reason == "is not a SPIR-V module"
    generator = random.Random(1)
    for _ in range(200):
        damaged = bytearray(module)
        damaged[generator.randrange(len(module))] ^= 1 << generator.randrange(8)
        malformed(bytes(damaged), [NAME])
