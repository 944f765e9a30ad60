"""Core of this CPU, by CPUID."""

from __future__ import annotations

import itertools

import pytest

from kgen import targets
from kgen.targets.cpu import host
from kgen.targets.cpu.cores import AMD, INTEL, core_name, core_of, cores
from kgen.targets.cpu.limits import TARGETS, V3_FEATURES, V4_FEATURES, known
from tests.fake_cpu import FakeCpu

V3, V4 = frozenset(V3_FEATURES), frozenset(V4_FEATURES)


@pytest.mark.parametrize("name", ["x86-64-v5", "x86-64-v4+vni", "x86-64-v4+vnni+vnni", ""])
def test_a_misspelt_level_is_an_error(name: str) -> None:
    with pytest.raises(KeyError, match="is not a CPU target"):
        known(name)


@pytest.mark.parametrize(
    ("identity", "flags", "core"),
    [
        ((INTEL, 6, 0x3F), V3, "Haswell"),
        ((INTEL, 6, 0x9E), V3, "Skylake"),
        ((INTEL, 6, 0x55), V4, "Skylake-SP"),
        ((INTEL, 6, 0x6A), V4, "Sunny Cove"),
        ((INTEL, 6, 0x8F), V4, "Golden Cove"),
        ((INTEL, 6, 0xCF), V4, "Golden Cove"),
        ((INTEL, 6, 0xFFF), V4, "Golden Cove"),  # Newer than the table.
        ((INTEL, 6, 0xFFF), V3, "Skylake"),
        ((INTEL, 6, 0xA7), V4, "Sunny Cove"),
        ((INTEL, 6, 0xA7), V4 | {"serialize"}, "Golden Cove"),  # A hypervisor's number.
        ((INTEL, 6, 0xA7), V3 | {"serialize"}, "Golden Cove"),
        ((AMD, 0x17, 0x01), V3, "Zen"),
        ((AMD, 0x17, 0x31), V3, "Zen 2"),
        ((AMD, 0x19, 0x01), V3, "Zen 3"),
        ((AMD, 0x19, 0x21), V3, "Zen 3"),
        ((AMD, 0x19, 0x11), V4, "Zen 4"),
        ((AMD, 0x19, 0x61), V4, "Zen 4"),
        ((AMD, 0x1A, 0x02), V4, "Zen 5"),
        ((AMD, 0x1A, 0x24), V4, "Zen 4"),
        ((AMD, 0x50, 0x01), V4, "Zen 4"),
        (("", 0, 0), V3, "Zen 3"),
        (("another", 6, 0x8F), V4, "Zen 4"),
    ],
)
def test_cores(
    fake_cpu: FakeCpu,
    identity: tuple[str, int, int],
    flags: frozenset[str],
    core: str,
) -> None:
    fake_cpu.set("x86_64", flags, identity)
    assert core_name() == core
    found = core_of(host.native())
    assert found.name == core
    assert host.native().limits["vector_bytes"] in found.multiply_adds


def test_a_model_is_of_one_core() -> None:
    for vendor, families in ((INTEL, (6,)), (AMD, (0x17, 0x19, 0x1A))):
        for family, model in itertools.product(families, range(256)):
            found = [
                core.name for core in cores().values() if core.has_model(vendor, family, model)
            ]
            assert len(found) == 1 if vendor == AMD else len(found) <= 1, (family, model)


def test_a_named_target_has_its_own_core_on_every_machine(fake_cpu: FakeCpu) -> None:
    fake_cpu.set("x86_64", V4, (INTEL, 6, 0x8F))
    for found in TARGETS:
        assert core_of(targets.find(found.name)).name == found.device
    assert core_of(targets.find("x86-64-v4")).name == "Zen 4"
    assert core_of(targets.find("x86-64-v4+vnni+bf16")).name == "Zen 4"
