"""The CUDA backend on a real NVIDIA GPU with hand-written PTX, without generated kernels."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from kgen_runtime.array import Array
from kgen_runtime.backend import Code
from kgen_runtime.backends.cuda import CudaBackend
from kgen_runtime.backends.cuda.driver import call, driver
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.errors import DeviceError, LaunchError, OutOfMemory
from kgen_runtime.manifest import Extent3, KernelEntry, Launch
from tests.unit.runtime.fakes import Adding, entry, param

N = 1000
#: out[i] = a[i] + b[i] for i < count, the sum by way of dynamic shared memory where asked for.
ADD = """
.version 7.8
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 scratch[];
.visible .entry add(.param .u64 p_a, .param .u64 p_b, .param .u64 p_out)
{{
    .reg .pred %done;
    .reg .b32 %i, %block, %size, %thread, %slot;
    .reg .b64 %a, %b, %out, %offset;
    .reg .f32 %x, %y, %sum;
    ld.param.u64 %a, [p_a];
    ld.param.u64 %b, [p_b];
    ld.param.u64 %out, [p_out];
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %i, %block, %size, %thread;
    setp.ge.u32 %done, %i, {count};
    @%done ret;
    mul.wide.u32 %offset, %i, 4;
    add.u64 %a, %a, %offset;
    add.u64 %b, %b, %offset;
    add.u64 %out, %out, %offset;
    ld.global.f32 %x, [%a];
    ld.global.f32 %y, [%b];
    add.rn.f32 %sum, %x, %y;
    {through_shared}
    st.global.f32 [%out], %sum;
    ret;
}}
"""
#: Parks the sum in the last 4 bytes per thread of a large dynamic allocation and reads it back.
THROUGH_SHARED = """mov.u32 %slot, scratch;
    add.u32 %slot, %slot, {base};
    mad.lo.u32 %slot, %thread, 4, %slot;
    st.shared.f32 [%slot], %sum;
    mov.f32 %sum, 0f00000000;
    ld.shared.f32 %sum, [%slot];"""


@pytest.fixture(scope="module")
def backend() -> Iterator[CudaBackend]:
    try:
        found = CudaBackend()
    except DeviceError as error:
        pytest.skip(str(error))
    yield found
    found.close()


def kernels_on(
    backend: CudaBackend,
    *,
    launches: Sequence[tuple[str, ...]] = (("a", "b", "out"),),
    cluster: Extent3 = (1, 1, 1),
    shared: int = 0,
    block: int = 128,
    count: int = N,
) -> Adding:
    through = THROUGH_SHARED.format(base=shared - 4 * block) if shared else ""
    text = ADD.format(count=count, through_shared=through).encode()
    blocks = -(-N // block)
    grid = (-(-blocks // cluster[0]) * cluster[0], 1, 1)
    e = entry(
        *(param(name, (N,)) for name in ("a", "b", "out")),
        format="ptx",
        launches=tuple(
            Launch(
                entry_point="add",
                grid=grid,
                block=(block, 1, 1),
                cluster=cluster,
                dynamic_shared_memory=shared,
                arguments=arguments,
            )
            for arguments in launches
        ),
        requires={"compute_capability": [7, 5], "cuda": [11, 8]},
    )
    return Adding(backend, [Kernel(backend, e, backend.load(e, code(e, text)))], {})


def code(e: KernelEntry, text: bytes) -> dict[str, Code]:
    digest = hashlib.sha256(text).hexdigest()
    artifact = dataclasses.replace(e.artifacts[0], sha256=digest, nbytes=len(text))
    return {"main": Code(artifact=artifact, data=text)}


def data(seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(seed).normal(size=N).astype(np.float32)


def test_the_device_describes_itself(backend: CudaBackend) -> None:
    facts = backend.info.capabilities
    assert backend.info.name and backend.info.kind == "gpu"
    assert facts["compute_capability"] >= [5, 0] and facts["cuda"] >= [11, 0]
    assert facts["sm_count"] > 0 and facts["memory_bytes"] > 1 << 30


def test_add(backend: CudaBackend) -> None:
    kernels = kernels_on(backend)
    a, b = data(1), data(2)
    ad, bd = kernels.to_device(a), kernels.to_device(b)
    out = kernels.add(ad, bd)
    np.testing.assert_array_equal(out.numpy(), a + b)
    kernels.add(bd, bd, out=out)
    np.testing.assert_array_equal(out.numpy(), b + b)


def test_launches_run_in_order(backend: CudaBackend) -> None:
    kernels = kernels_on(backend, launches=[("a", "b", "out"), ("out", "b", "out")])
    a, b = data(1), data(2)
    out = kernels.add(kernels.to_device(a), kernels.to_device(b))
    np.testing.assert_array_equal(out.numpy(), (a + b) + b)


def test_dynamic_shared_memory_beyond_48_kib(backend: CudaBackend) -> None:
    kernels = kernels_on(backend, shared=64 * 1024)
    a, b = data(3), data(4)
    out = kernels.add(kernels.to_device(a), kernels.to_device(b))
    np.testing.assert_array_equal(out.numpy(), a + b)


def test_clusters(backend: CudaBackend) -> None:
    if backend.info.capabilities["compute_capability"] < [9, 0]:
        pytest.skip("clusters need compute capability 9.0")
    kernels = kernels_on(backend, cluster=(4, 1, 1))
    a, b = data(3), data(4)
    out = kernels.add(kernels.to_device(a), kernels.to_device(b))
    np.testing.assert_array_equal(out.numpy(), a + b)


def test_foreign_stream(backend: CudaBackend) -> None:
    kernels = kernels_on(backend)
    with backend._current:
        non_blocking = driver().CUstream_flags.CU_STREAM_NON_BLOCKING
        stream = call("cuStreamCreate", int(non_blocking))
    a, b = data(5), data(6)
    ad, bd = kernels.to_device(a), kernels.to_device(b)
    out = kernels.add(ad, bd, stream=int(stream))
    for _ in range(50):
        out = kernels.add(out, bd, stream=int(stream))
    kernels.synchronize(int(stream))
    expected = a + b
    for _ in range(50):
        expected = expected + b
    np.testing.assert_array_equal(out.numpy(), expected)
    with backend._current:
        call("cuStreamDestroy", stream)


def test_another_context_stays_current(backend: CudaBackend) -> None:
    with backend._current:
        before = int(call("cuCtxGetCurrent"))
        kernels = kernels_on(backend)
        ad = kernels.to_device(data(1))
        kernels.add(ad, ad).numpy()
        assert int(call("cuCtxGetCurrent")) == before


def test_strided_round_trip(backend: CudaBackend) -> None:
    x = np.arange(60, dtype=np.float16).reshape(6, 10)[:, 2:7]
    array = Array.from_host(backend, x)
    assert array.strides == (10, 1)
    np.testing.assert_array_equal(array.numpy(), x)


def test_too_much_memory(backend: CudaBackend) -> None:
    with pytest.raises(OutOfMemory, match="out of device memory"):
        backend.alloc(1 << 50)


def test_an_impossible_launch(backend: CudaBackend) -> None:
    kernels = kernels_on(backend, block=2048)
    ad = kernels.to_device(data(1))
    with pytest.raises(LaunchError, match=r"add_kernel: grid \(1, 1, 1\) of blocks \(2048, 1, 1\)"):
        kernels.add(ad, ad)
    # Nothing is lost by it.
    np.testing.assert_array_equal(ad.numpy(), data(1))


def test_broken_code(backend: CudaBackend) -> None:
    e = entry(format="ptx")
    with pytest.raises(DeviceError, match=r"fake1/add_kernel: the driver rejects its ptx"):
        backend.load(e, code(e, b".version 7.8\n.target sm_75\nthis is no instruction;\n"))


def test_torch_shares_memory_and_streams(backend: CudaBackend) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    kernels = kernels_on(backend)
    a, b = (torch.randn(N, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    assert kernels.add(a, b, out=out, stream=stream.cuda_stream) is out
    stream.synchronize()
    assert torch.equal(out, a + b)
    ours = kernels.add(a, b)
    assert torch.equal(torch.from_dlpack(ours), a + b)
