"""Devices that several test files open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan.vulkan_support import open_vulkan


@pytest.fixture(scope="module")
def vulkan() -> Iterator[VulkanBackend]:
    backend = open_vulkan()
    yield backend
    backend.close()
