"""Following the advice of a refused schedule leads to a plan."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline, targets
from kgen.errors import ScheduleError
from kgen.schedule.schedule import current_names
from kgen.spec import Attention, DType, Elementwise, Matmul, Rowwise, Spec

GEMM = Matmul(m=512, n=512, k=512)
LARGE = Matmul(m=4096, n=4096, k=4096)
F32 = Matmul(m=512, n=512, k=512, dtype=DType.F32)
FP8 = Matmul(m=512, n=512, k=512, dtype=DType.E4M3)
BYTES = Matmul(m=64, n=64, k=64, dtype=DType.S8)
SKINNY = Matmul(m=2, n=512, k=512)
ROWS = Rowwise(expression="softmax(x)", shapes=((64, 1004),))
LONG_ROWS = Rowwise(expression="softmax(x)", shapes=((8, 131072),))
HEADS = Attention(q=(1, 4, 256, 128), k=(1, 4, 256, 128))
STREAM = Elementwise(expression="x + y", shapes=((1003, 4), (1003, 4)))

#: Spec, target, and fields of a schedule that does not fit.
REFUSED: list[tuple[Spec, str, dict[str, int | str]]] = [
    (GEMM, "sm_80", {"block_m": 96}),
    (GEMM, "sm_80", {"block_k": 8}),
    (GEMM, "sm_80", {"num_stages": 1}),
    (GEMM, "sm_80", {"num_stages": 40}),
    (GEMM, "sm_80", {"block_m": 256, "block_n": 256, "warp_m": 16, "warp_n": 16}),
    (GEMM, "sm_80", {"block_m": 128, "block_n": 256, "warp_m": 128, "warp_n": 128}),
    (GEMM, "sm_80", {"split_k": 200}),
    (GEMM, "sm_80", {"stream_k": 1, "num_workgroups": 100000}),
    (GEMM, "sm_80", {"group_m": 4}),
    (Matmul(m=512, n=512, k=512, batch=6, batch_dims=(2, 3)), "sm_80", {"split_k": 2}),
    (F32, "sm_80", {"mainloop": "fma", "num_stages": 3}),
    (
        F32,
        "sm_80",
        {"mainloop": "fma", "block_m": 128, "block_n": 128, "thread_m": 1, "thread_n": 1},
    ),
    (F32, "sm_80", {"mainloop": "fma", "block_k": 1}),
    (SKINNY, "sm_80", {"mainloop": "gemv", "block_n": 48}),
    (SKINNY, "sm_80", {"mainloop": "gemv", "num_threads": 96}),
    (SKINNY, "sm_80", {"mainloop": "gemv", "block_k": 64}),
    (LARGE, "sm_90a", {"block_k": 32}),
    (LARGE, "sm_90a", {"consumers": 4}),
    (LARGE, "sm_90a", {"pingpong": 1, "num_workgroups": 0}),
    (LARGE, "sm_90a", {"cluster_m": 3}),
    (LARGE, "sm_90a", {"cluster_m": 2, "cluster_n": 2}),
    (LARGE, "sm_90a", {"num_workgroups": 5, "cluster_m": 2}),
    (LARGE, "sm_90a", {"block_n": 260}),
    (LARGE, "sm_90a", {"block_m": 256, "block_n": 256, "consumers": 1}),
    (FP8, "sm_90a", {"promote_k": 48}),
    (ROWS, "sm_80", {"vector": 8}),
    (ROWS, "sm_80", {"num_threads": 96}),
    (ROWS, "sm_80", {"num_threads": 128, "rows_per_block": 2}),
    (LONG_ROWS, "sm_80", {"resident": 1}),
    (STREAM, "sm_80", {"vector": 16}),
    (STREAM, "sm_80", {"num_threads": 2048}),
    (GEMM, "gfx942", {"num_stages": 9}),
    (GEMM, "gfx942", {"warp_m": 24}),
    (GEMM, "gfx942", {"block_k": 4}),
    (GEMM, "gfx942", {"split_k": 1000}),
    (LARGE, "gfx942", {"mainloop": "pingpong", "num_stages": 2}),
    (LARGE, "gfx942", {"mainloop": "pingpong", "warp_m": 64}),
    (LARGE, "gfx950", {"mainloop": "direct", "block_n": 64, "warp_m": 64, "warp_n": 32}),
    (GEMM, "gfx1100", {"block_m": 512, "block_n": 512}),
    (
        F32,
        "gfx1030",
        {"mainloop": "fma", "block_m": 128, "block_n": 128, "thread_m": 1, "thread_n": 1},
    ),
    (ROWS, "gfx942", {"vector": 32}),
    (ROWS, "gfx942", {"num_threads": 4096}),
    (STREAM, "gfx942", {"vector": 3}),
    (GEMM, "vulkan1.3", {"block_m": 96}),
    (F32, "vulkan1.3", {"thread_m": 1, "thread_n": 1, "block_m": 128, "block_n": 128}),
    (F32, "vulkan1.3", {"num_stages": 3}),
    (F32, "vulkan1.3", {"block_k": 4096}),
    (BYTES, "vulkan1.3", {"block_k": 1024}),
    (BYTES, "vulkan1.3", {"thread_m": 1}),
    (HEADS, "vulkan1.3+coopmat", {"mainloop": "coopmat", "block_q": 32, "num_threads": 32}),
    (HEADS, "vulkan1.3+coopmat", {"mainloop": "coopmat", "num_threads": 256}),
    (HEADS, "vulkan1.3+coopmat", {"mainloop": "coopmat", "block_k": 64}),
    (HEADS, "vulkan1.3+coopmat", {"mainloop": "coopmat", "block_q": 48, "num_threads": 96}),
    (GEMM, "vulkan1.3+coopmat", {"mainloop": "coopmat", "block_n": 8}),
    (GEMM, "vulkan1.3+coopmat", {"mainloop": "coopmat", "block_k": 1}),
    (GEMM, "vulkan1.3+coopmat", {"mainloop": "coopmat", "num_threads": 2048}),
    (LONG_ROWS, "vulkan1.3", {"resident": 1}),
    (ROWS, "vulkan1.3", {"vector": 16}),
    (STREAM, "vulkan1.3", {"num_threads": 4096}),
]


def followed(message: str, fields: dict[str, int | str]) -> dict[str, int | str]:
    """Return the fields after the user follows the message's advice."""
    if leave := re.search(r"; leave ([\w, ]+) out$", message):
        return {name: v for name, v in fields.items() if name not in leave[1].split(", ")}
    advice = re.search(r"; try (\w+=[\w-]+(?:,\w+=[\w-]+)*)$", message)
    assert advice is not None, message
    pairs = (pair.partition("=") for pair in advice[1].split(","))
    return fields | {name: int(v) if v.isdecimal() else v for name, _, v in pairs}


def _name(value: Spec | str | dict[str, int | str]) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    return value if isinstance(value, str) else value.key


@pytest.mark.parametrize(("spec", "target", "fields"), REFUSED, ids=_name)
def test_the_remedy_leads_to_a_plan(spec: Spec, target: str, fields: dict[str, int | str]) -> None:
    found = targets.find(target)
    with pytest.raises(ScheduleError) as refused:
        pipeline.plan_with(spec, found, fields)
    message = str(refused.value)
    assert len(message) <= 500 and "\n" not in message
    pipeline.plan_with(spec, found, followed(message, fields))


@pytest.mark.parametrize(
    ("target", "field", "new"),
    [
        ("sm_80", "num_ctas", "num_workgroups"),
        ("sm_90a", "num_ctas", "num_workgroups"),
        ("x86-64-v3", "together", "tasks_per_pass"),
    ],
)
def test_a_former_name_of_a_field_names_the_new_one(target: str, field: str, new: str) -> None:
    spec = Matmul(m=512, n=512, k=512, dtype=DType.F32 if "x86" in target else DType.F16)
    with pytest.raises(ScheduleError, match=f"^{field}=3 is called {new} now; write {new}=3$"):
        pipeline.plan_with(spec, targets.find(target), {field: 3})


@pytest.mark.parametrize(("target", "mainloop"), [("sm_80", "mma"), ("gfx942", "mma")])
def test_stream_k_has_the_same_fields_in_all_families(target: str, mainloop: str) -> None:
    """Turning stream-k off resets both fields, and turning it on needs both."""
    spec, fields = Matmul(m=512, n=512, k=1024), {"mainloop": mainloop, "num_stages": 2}
    tile = {"block_m": 128, "block_n": 128, "block_k": 64, "warp_m": 64, "warp_n": 64}
    on = {**fields, **tile, "stream_k": 1, "num_workgroups": 24}
    plan = pipeline.plan_with(spec, targets.find(target), on)
    assert plan.schedule.to_json().items() >= {"stream_k": True, "num_workgroups": 24}.items()
    off = plan.schedule.override(stream_k=0)
    assert off.to_json().items() >= {"stream_k": False, "num_workgroups": 0}.items()
    with pytest.raises(ScheduleError, match=r"stream_k=1 .*num_workgroups.*; try "):
        pipeline.plan_with(spec, targets.find(target), {**on, "num_workgroups": 0})


@pytest.mark.parametrize("workgroups", [0, 24])
def test_a_schedule_of_an_older_version_is_read(workgroups: int) -> None:
    """Bundles and tuning data keep their meaning: num_ctas of CUDA, AMD without stream_k."""
    cuda = {"split_k": 1, "num_ctas": workgroups, "stream_k": False}
    assert current_names(cuda) == {"split_k": 1, "num_workgroups": workgroups, "stream_k": False}
    amd = current_names({"num_workgroups": workgroups})
    assert amd == {"num_workgroups": workgroups, "stream_k": workgroups > 0}
    assert current_names({"kc": 2, "together": 3}) == {"kc": 2, "tasks_per_pass": 3}
