"""Drivers that `make drivers` unpacks: each runs, and is the driver that its users expect."""

from __future__ import annotations

import pytest

from tests.drivers import LAVAPIPE, MOCK, NVK, RADV, SWIFTSHADER, Driver

DESCRIBE = """
from kgen_runtime.backends.vulkan import VulkanBackend
import vulkan as vk
from kgen_runtime.backends.vulkan.driver import create_instance, physical_devices
(info,) = VulkanBackend.devices()
(device,) = physical_devices(create_instance())
extensions = {e.extensionName for e in vk.vkEnumerateDeviceExtensionProperties(device, None)}
print(info.kind, "VK_KHR_cooperative_matrix" in extensions, info.name, sep="|")
"""


@pytest.mark.parametrize(
    ("driver", "kind", "has_matrices", "name"),
    [
        (LAVAPIPE, "software", True, "llvmpipe"),
        (SWIFTSHADER, "software", False, "SwiftShader"),
        (MOCK, "gpu", True, "Mock"),
        (RADV, "gpu", True, "NAVI31"),
        (NVK, "gpu", True, "NVK"),
    ],
    ids=lambda value: value.name if isinstance(value, Driver) else "",
)
def test_each_is_what_it_is_taken_for(
    driver: Driver, kind: str, has_matrices: bool, name: str
) -> None:
    found, matrices, called = driver.python("-c", DESCRIBE).stdout.strip().split("|")
    assert (found, matrices) == (kind, str(has_matrices)) and name in called
