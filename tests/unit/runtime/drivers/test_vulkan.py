"""Messages of the Vulkan backend without a driver: requirements, and a missing package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.bundle import pack
from kgen.spec import DType, Matmul
from kgen_runtime.backends.vulkan import VulkanBackend
from kgen_runtime.backends.vulkan.driver import driver
from kgen_runtime.errors import DeviceError
from kgen_runtime.manifest import ArtifactEntry
from tests.specs import relu_of

FAMILY = targets.family("vulkan")
VULKAN11, VULKAN13, *_ = FAMILY.targets


def artifact(**requires: Any) -> ArtifactEntry:
    return ArtifactEntry(
        file="k.spv", format="spirv", role="portable", sha256="", nbytes=4, requires=requires
    )


CAPABILITIES = {"api": [1, 2], "features": [], "limits": {"maxStorageBufferRange": 1 << 27}}


@pytest.mark.parametrize(
    ("requires", "reason"),
    [
        ({}, None),
        ({"api": "1.2", "features": [], "limits": {}}, None),
        ({"api": "1.3"}, "it needs Vulkan 1.3, and the device supports 1.2; build for vulkan1.1"),
        ({"api": "1.10"}, "it needs Vulkan 1.10"),
        ({"features": ["storageBuffer16BitAccess"]}, "it needs storageBuffer16BitAccess, which"),
        ({"limits": {"maxStorageBufferRange": 1 << 27}}, None),
        (
            {"limits": {"maxStorageBufferRange": (1 << 27) + 1}},
            "it needs maxStorageBufferRange = 134217729, and the device allows 134217728; build it",
        ),
        ({"limits": {"maxMeshes": 1}}, "it needs maxMeshes = 1, and the device allows 0"),
        ({"extensions": []}, "it requires extensions, which this runtime does not know"),
    ],
)
def test_requirements(requires: dict[str, Any], reason: str | None) -> None:
    refusal = VulkanBackend.refusal(artifact(**requires), CAPABILITIES)
    if reason is None:
        assert refusal is None
    else:
        assert refusal is not None and refusal.startswith(reason) and "\n" not in refusal


def test_more_features_and_a_newer_api_rank_higher() -> None:
    backend = object.__new__(VulkanBackend)
    ranked = [
        artifact(api="1.1"),
        artifact(api="1.3"),
        artifact(api="1.1", features=["a"]),
        artifact(api="1.3", features=["a"]),
    ]
    shuffled = [ranked[i] for i in (2, 0, 3, 1)]
    assert sorted(shuffled, key=backend.rank) == ranked


def test_what_a_target_guarantees_runs_its_f32_kernels() -> None:
    """A device with the guaranteed limits runs f32, and refuses 16-bit tensors of odd rows."""
    for target in (target for target in FAMILY.targets if not target.has("msl")):
        for dtype in (DType.F32, DType.BF16):
            spec = Matmul(m=71, n=71, k=71, dtype=dtype)
            (entry,) = pack([pipeline.kernel(spec, target)]).manifest.kernels
            refusal = VulkanBackend.refusal(entry.artifacts[0], FAMILY.capabilities(target))
            assert (refusal is None) == (dtype is DType.F32)


def test_a_newer_target_is_refused_by_an_older_device() -> None:
    spec = relu_of((3,), dtype=DType.F32)
    (entry,) = pack([pipeline.kernel(spec, VULKAN13)]).manifest.kernels
    refusal = VulkanBackend.refusal(entry.artifacts[0], FAMILY.capabilities(VULKAN11))
    assert refusal is not None and "build for vulkan1.1" in refusal


@pytest.fixture
def fresh_driver() -> Iterator[None]:
    driver.cache_clear()
    yield
    driver.cache_clear()


@pytest.mark.usefixtures("fresh_driver")
def test_a_device_without_cooperative_matrices_is_told_so() -> None:
    """The message names cooperative matrices, not a feature that they imply."""
    matrix = {"m": 16, "n": 16, "k": 16, "a": "f16", "c": "f32"}
    needs_matrix = artifact(features=("cooperativeMatrix",), cooperative_matrix=matrix)
    refusal = VulkanBackend.refusal(needs_matrix, CAPABILITIES)
    assert refusal is not None
    assert "16x16x16 f16 to f32" in refusal and refusal.endswith("build for vulkan1.3")
    capable = CAPABILITIES | {"cooperative_matrices": [matrix]}
    of_f16 = {"cooperative_matrix": matrix, "cooperative_matrix_out": matrix | {"c": "f16"}}
    refusal = VulkanBackend.refusal(artifact(**of_f16), capable)
    assert refusal is not None and "16x16x16 f16 to f16" in refusal
    both = [matrix, matrix | {"c": "f16"}]
    assert (
        VulkanBackend.refusal(artifact(**of_f16), capable | {"cooperative_matrices": both}) is None
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vulkan", None)
    for use in (VulkanBackend.devices, VulkanBackend):
        with pytest.raises(DeviceError, match="pip install vulkan"):
            use()
