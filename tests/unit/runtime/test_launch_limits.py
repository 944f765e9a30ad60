"""Launch limits of devices: each limit applies, and is exact."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kgen import targets
from kgen_runtime.backends.cpu import CpuBackend
from kgen_runtime.backends.cuda import CudaBackend
from kgen_runtime.backends.hip import HipBackend
from kgen_runtime.backends.reference import ReferenceBackend
from kgen_runtime.backends.vulkan import VulkanBackend
from kgen_runtime.launch_limits import (
    CPU,
    VULKAN_GUARANTEED,
    Limits,
    Usage,
    amdgpu_limits,
    cuda_limits,
    kernel_refusal,
    known_devices,
    parameter_bytes,
    refusal,
    target_limits,
    vulkan_limits,
)
from kgen_runtime.manifest import Launch, Resources
from tests.specs import relu_of
from tests.unit.conftest import EntryFor

SM_75, SM_90A = cuda_limits("sm_75"), cuda_limits("sm_90a")
GFX942, GFX1100 = amdgpu_limits("gfx942"), amdgpu_limits("gfx1100")
VULKAN = vulkan_limits({}, "vulkan1.1")

#: Limits; a launch and a usage that just fit; what makes one of them too much; what is then said.
CASES: list[tuple[Limits, dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    (SM_75, {"grid": (2**31 - 1, 1, 1)}, {}, {"grid": (2**31, 1, 1)},
     "2147483648 workgroups along x of the grid; sm_75 allows 2147483647; try a larger"),
    (SM_75, {"grid": (1, 65535, 1)}, {}, {"grid": (1, 65536, 1)}, "65536 workgroups along y of"),
    (SM_75, {"grid": (1, 1, 65535)}, {}, {"grid": (1, 1, 65536)}, "65536 workgroups along z of"),
    (SM_75, {"block": (1024, 1, 1)}, {}, {"block": (1056, 1, 1)}, "1056 threads along x of a wo"),
    (SM_75, {"block": (1, 1, 64)}, {}, {"block": (1, 1, 65)}, "65 threads along z of a workgroup"),
    (SM_75, {"block": (32, 32, 1)}, {}, {"block": (32, 33, 1)},
     "1056 threads per workgroup; sm_75 allows 1024; try 1024 or fewer"),
    (SM_75, {"cluster": (1, 1, 1)}, {}, {"cluster": (2, 1, 1), "grid": (2, 1, 1)},
     "2 workgroups in a cluster; sm_75 allows 1; leave the cluster out"),
    (SM_90A, {"cluster": (16, 1, 1), "grid": (16, 1, 1)}, {},
     {"cluster": (4, 8, 1), "grid": (4, 8, 1)}, "32 workgroups in a cluster; sm_90a allows 16"),
    (SM_90A, {"cluster": (2, 4, 1), "grid": (2, 4, 1)}, {}, {"grid": (2, 6, 1)},
     "6 workgroups along y of the grid are not a multiple of the cluster of 4; try 8"),
    (SM_75, {"dynamic_shared_memory": 65536}, {}, {"dynamic_shared_memory": 65552},
     "65552 bytes of shared memory; sm_75 allows 65536; try fewer stages or a smaller block tile"),
    (SM_75, {"dynamic_shared_memory": 16384}, {"static_shared_memory": 49152},
     {"dynamic_shared_memory": 16385},
     "65537 bytes of shared memory (49152 static, 16385 dynamic); sm_75 allows 65536"),
    (SM_90A, {}, {"static_shared_memory": 49152}, {"static_shared_memory": 49168},
     "49168 bytes of static shared memory; sm_90a allows 49152; make it dynamic"),
    (SM_75, {}, {"registers": 255}, {"registers": 256}, "256 registers per thread; sm_75 allows"),
    (SM_75, {"block": (1024, 1, 1)}, {"registers": 64}, {"registers": 65},
     "73728 registers for 1024 threads of 65 each; sm_75 allows 65536; try a smaller tile"),
    # The hardware counts five warps as eight, two for each partition.
    (SM_75, {"block": (256, 1, 1)}, {"registers": 255}, {"block": (288, 1, 1)},
     "98304 registers for 288 threads of 255 each"),
    (SM_75, {}, {"parameters": 32764}, {"parameters": 32768}, "32768 bytes of parameters"),
    (GFX942, {"block": (32, 32, 1)}, {}, {"block": (1024, 2, 1)}, "2048 threads per workgroup"),
    (GFX942, {"grid": (2**24 - 1, 1, 1), "block": (256, 1, 1)}, {}, {"grid": (2**24, 1, 1)},
     "4294967296 threads along x of the grid; gfx942 allows 4294967295"),
    (GFX942, {"grid": (1, 65535, 1)}, {}, {"grid": (1, 65536, 1)}, "gfx942 allows 65535"),
    (GFX942, {}, {"static_shared_memory": 65536}, {"static_shared_memory": 65540},
     "65540 bytes of shared memory; gfx942 allows 65536"),
    (amdgpu_limits("gfx950"), {}, {"static_shared_memory": 163840},
     {"static_shared_memory": 163844}, "163844 bytes of shared memory; gfx950 allows 163840"),
    (GFX942, {}, {"registers": 512}, {"registers": 513}, "513 registers per thread"),
    (GFX942, {"block": (1024, 1, 1)}, {"registers": 128}, {"registers": 129},
     "139264 registers for 1024 threads of 129 each; gfx942 allows 131072"),
    (GFX1100, {"block": (1024, 1, 1)}, {"registers": 192}, {"registers": 193},
     "221184 registers for 1024 threads of 193 each; gfx1100 allows 196608"),
    (GFX942, {}, {"parameters": 2**32 - 1}, {"parameters": 2**32}, "bytes of parameters"),
    (VULKAN, {"grid": (65535, 65535, 65535)}, {}, {"grid": (1, 65536, 1)},
     "65536 workgroups along y of the grid; vulkan1.1 allows 65535"),
    (VULKAN, {"block": (128, 1, 1)}, {}, {"block": (129, 1, 1)}, "129 threads along x of"),
    (VULKAN, {"block": (16, 8, 1)}, {}, {"block": (16, 16, 1)}, "256 threads per workgroup"),
    (VULKAN, {}, {"static_shared_memory": 16384}, {"static_shared_memory": 16388},
     "16388 bytes of shared memory; vulkan1.1 allows 16384"),
    (VULKAN, {}, {"buffers": 4}, {"buffers": 5}, "5 tensors; vulkan1.1 allows 4"),
    (VULKAN, {}, {"buffer_bytes": 2**27}, {"buffer_bytes": 2**27 + 4}, "bytes in a tensor"),
    (CPU, {"grid": (2**40, 1, 1)}, {}, {"grid": (1, 2, 1)}, "2 workgroups along y of the grid"),
    (CPU, {}, {}, {"dynamic_shared_memory": 1}, "1 bytes of shared memory; the CPU allows 0"),
    (CPU, {}, {}, {"grid": (0, 1, 1)}, "grid=(0, 1, 1) is empty; each number must be 1"),
    (CPU, {}, {}, {"block": (1, -1, 1)}, "block=(1, -1, 1) is empty"),
    (CPU, {}, {}, {"cluster": (1, 1, 0)}, "cluster=(1, 1, 0) is empty"),
    (SM_75, {}, {}, {"dynamic_shared_memory": -1}, "-1 bytes of dynamic shared memory; it must be"),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "fits", "uses", "more", "said"), CASES)
def test_a_limit_is_exact(
    limits: Limits, fits: dict[str, Any], uses: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    launch = Launch(**{"entry_point": "f", "grid": (1, 1, 1), "arguments": (), **fits})
    usage = Usage(**uses)
    assert refusal(launch, limits, usage) is None
    of_usage = {name: n for name, n in more.items() if hasattr(usage, name)}
    of_launch = {name: n for name, n in more.items() if name not in of_usage}
    found = refusal(
        dataclasses.replace(launch, **of_launch), limits, dataclasses.replace(usage, **of_usage)
    )
    assert found is not None and said in found


def test_every_limit_has_its_case() -> None:
    """A new limit needs a case that exceeds it."""
    said = " ".join(case[-1] for case in CASES)
    words = {
        "grid": "workgroups along", "block": "threads along", "grid_threads": "along x of the grid",
        "workgroup": "threads per workgroup", "cluster": "in a cluster",
        "shared_memory": "of shared memory", "static_shared_memory": "static shared memory",
        "registers": "registers for", "parameters": "of parameters", "buffers": "tensors;",
        "buffer_bytes": "in a tensor",
    }  # fmt: skip
    assert {f.name for f in dataclasses.fields(Limits)} == {"device", *words}
    assert all(word in said for word in words.values())


@pytest.mark.parametrize("target", [t for f in targets.families() for t in f.targets])
def test_targets_have_their_limits_from_the_table(target: targets.base.Target) -> None:
    limits = target_limits(target.family, target.arch)
    if target.family == "cuda":
        assert target.limits["dynamic_shared_memory"] == limits.shared_memory
        assert target.limits["threads_per_block"] == limits.workgroup
    if target.family == "amdgpu":
        assert target.limits["shared_memory"] == limits.shared_memory
        assert limits.registers is not None and target.subgroup == limits.registers.lanes


def test_backends_say_the_limits_of_their_devices() -> None:
    here = {"compute_capability": [9, 0], "shared_memory_per_block": 1000}
    assert CudaBackend.limits(here) == dataclasses.replace(
        SM_90A, device="sm_90", shared_memory=1000
    )
    assert CudaBackend.limits({"compute_capability": [7, 5]}) == SM_75
    assert HipBackend.limits({"arch": "gfx942"}) == GFX942
    large = VulkanBackend.limits({"limits": {**VULKAN_GUARANTEED, "maxComputeWorkGroupCount": 9}})
    assert large.grid == (9, 9, 9)
    assert CpuBackend.limits({}) == CPU
    assert ReferenceBackend.limits({}) is None


def test_a_device_that_is_not_known_has_what_any_has() -> None:
    assert cuda_limits("sm_999").shared_memory == SM_90A.shared_memory
    assert cuda_limits("").device == "any NVIDIA GPU"
    assert amdgpu_limits("gfx9999").registers is None


def test_devices_that_are_known_go_by_the_names_of_compilers() -> None:
    for family in ("cuda", "amdgpu"):
        for name in known_devices(family):
            found = target_limits(family, name)
            assert found.device == name and found.registers is not None
    names = known_devices("cuda")
    assert {"sm_80", "sm_90a", "sm_100f"} <= {*names} and not {"sm_80a", "sm_90f"} & {*names}


def test_pointers_and_tensor_maps_lie_as_c_has_them() -> None:
    launch = Launch(entry_point="f", grid=(1, 1, 1), arguments=("a", "map", "b"))
    assert parameter_bytes(launch, ()) == 24
    assert parameter_bytes(launch, {"map"}) == 64 + 128 + 8


def test_of_several_launches_the_one_is_named(entry_for: EntryFor) -> None:

    entry = entry_for(relu_of((100,)))
    second = dataclasses.replace(entry.launches[0], entry_point="second", grid=(1, 65536, 1))
    entry = dataclasses.replace(
        entry,
        launches=(entry.launches[0], second),
        resources=Resources(registers=32, shared_memory=100),
    )
    assert kernel_refusal(entry, GFX942) == (
        "second: 65536 workgroups along y of the grid; gfx942 allows 65535; "
        "try a larger block tile or a smaller shape"
    )
