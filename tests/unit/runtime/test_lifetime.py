"""Release of a device's kernels and of the device, and rights of a forked child."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from kgen_runtime.backends.cuda import CudaBackend
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.errors import DeviceError, DeviceLost
from kgen_runtime.manifest import Workspace
from tests.unit.runtime.drivers import fake_cuda
from tests.unit.runtime.fakes import (
    Adding,
    HostFake,
    OpaqueFake,
    array,
    code_of,
    entry,
    in_a_child,
    kernels_on,
)

A, B = array((3, 5)), array((3, 5), start=100)


class Watched(OpaqueFake):
    """Backend that records its closing."""

    def __init__(self, events: list[str]) -> None:
        super().__init__()
        self.events = events

    def close(self) -> None:
        self.events.append("close")

    def unload(self, kernel: Any) -> None:
        self.events.append(f"unload with {self.live} buffers")


def test_a_bundle_that_is_dropped_is_closed_with_its_last_array() -> None:
    events: list[str] = []
    kernels = kernels_on(Watched(events), entry())
    result = kernels.add(kernels.to_device(A), kernels.to_device(B))
    del kernels
    gc.collect(1)
    assert events == ["unload with 1 buffers"]
    np.testing.assert_array_equal(result.numpy(), A + B)
    del result
    assert events[1:] == ["close"]


def test_the_last_of_several_calls_closes() -> None:
    """Code, scratch memory and device stay until a call has finished."""
    running, go_on = threading.Event(), threading.Event()
    events: list[str] = []

    class Slow(HostFake):
        def launch(self, kernel: Any, buffers: Any, stream: int | None = None) -> None:
            running.set()
            assert go_on.wait(10)
            events.append(f"ran with {self.live} buffers")
            super().launch(kernel, buffers, stream)

        def unload(self, kernel: Any) -> None:
            events.append("unload")

        def close(self) -> None:
            events.append("close")

    e = entry(workspaces=(Workspace(name="scratch", nbytes=64),))
    kernels = kernels_on(Slow(), e)
    add, results = kernels.add, []
    thread = threading.Thread(target=lambda: results.append(add(A, B)))
    thread.start()
    assert running.wait(10)
    kernels.close()
    with pytest.raises(DeviceError, match="add_kernel: the bundle was closed; load it again"):
        add(A, B)
    assert events == []
    go_on.set()
    thread.join()
    np.testing.assert_array_equal(results[0], A + B)
    assert events == ["ran with 1 buffers", "unload", "close"]


@pytest.mark.integration
def test_a_forked_child_may_not_use_the_drivers_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cuda.installed(monkeypatch) as driver:
        fork_in_use(driver)


def fork_in_use(driver: fake_cuda.FakeDriver) -> None:
    backend = CudaBackend()
    e = entry(format="ptx")
    kernels = Adding(backend, [Kernel(backend, e, backend.load(e, code_of(e)))], {})
    ad = kernels.to_device(A)
    asked = len(driver.calls)

    def check() -> None:
        for use in (
            lambda: kernels.add(ad, ad),
            lambda: kernels.to_device(A),
            ad.numpy,
            CudaBackend,
            CudaBackend.devices,
        ):
            with pytest.raises(
                DeviceLost, match=r"^cuda: the driver does not work in a forked process"
            ):
                use()
        kernels.close()
        assert len(driver.calls) == asked

    assert in_a_child(check) == 0
    np.testing.assert_array_equal(kernels.add(ad, ad).numpy(), A + A)
