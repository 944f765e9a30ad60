"""A Vulkan device that is lost, out of memory or closed gives one clean error and leaks nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgen.spec import DType
from kgen_runtime.errors import DeviceError
from tests.device.vulkan.vulkan_support import build, loadable, open_vulkan
from tests.drivers import MOCK
from tests.specs import relu_of


def test_each_call_of_the_driver_may_fail() -> None:
    """Each driver call fails in three ways. The error is kgen's; closing destroys every object;
    after a lack of memory the device works, and a lost device reports it each time."""
    lines = MOCK.python("-m", "tests.device.vulkan.runtime.failing_driver").stdout.splitlines()
    runs = [json.loads(line) for line in lines]
    assert len({run["call"] for run in runs}) > 20 and len(runs) > 150
    assert [run for run in runs if not run["clean"] or run["left"]] == []
    kept = {"vkGetPipelineCacheData"}  # what cannot be kept on disk is compiled again
    other_memory = {"vkAllocateMemory"}  # a type of memory that has room is taken instead
    silent = {run["call"] for run in runs if run["raised"] is None}
    assert silent <= kept | other_memory
    for run in runs:
        expected = "DeviceLost" if run["how"] == "lost" else "OutOfMemory"
        assert run["raised"] == expected or run["call"] in silent, run
        lost = run["how"] == "lost" and "is lost" in (run["again"] or "")
        assert run["again"] in ("right", None) or lost, run


def test_a_closed_device_is_used_no_more() -> None:
    """Mapped memory is gone; releasing an object after the close raises nothing."""
    backend = open_vulkan()
    kernel = backend.load(*loadable(build(relu_of((1000,), dtype=DType.F32))))
    x, out, host = backend.alloc(4000), backend.alloc(4000), np.zeros(4000, np.uint8)
    buffers = {"x": x, "out": out}
    launch, replay = backend.launcher(kernel, ("x", "out")), backend.prepare(kernel, buffers)
    backend.close()
    for use in (
        replay,
        lambda: launch([x, out], None),
        lambda: backend.launch(kernel, buffers),
        lambda: backend.prepare(kernel, buffers),
        lambda: backend.load(*loadable(build(relu_of((9,), dtype=DType.F32)))),
        lambda: backend.alloc(4),
        lambda: backend.copy_to_device(x, host),
        lambda: backend.copy_from_device(host, x),
        backend.synchronize,
    ):
        with pytest.raises(DeviceError, match="vulkan: the device was closed; open it again"):
            use()
    backend.free(x)
    backend.unload(kernel)
    del replay
    backend.close()
