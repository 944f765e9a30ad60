"""Profiles of kernels: against sums by hand, and as printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kgen
from kgen.check.profile import KernelProfile, profile
from kgen.cli.main import main
from kgen.emulate.profile import Profile, Waste
from kgen.spec import DType, Epilogue, Spec
from kgen_runtime.manifest import KernelEntry


@pytest.fixture(scope="module", name="sm_80")
def flagship() -> tuple[KernelEntry, Profile]:
    spec = kgen.Matmul(
        m=1024, n=1024, k=1024, dtype=DType.F16, epilogue=(Epilogue.BIAS, Epilogue.RELU)
    )
    bundle = kgen.build(spec, targets=["sm_80"])
    (found,) = profile(bundle)
    assert found.reason is None
    (launch,) = found.launches
    return bundle.manifest.kernels[0], launch


@pytest.mark.integration
def test_the_mainloop_of_the_flagship_by_hand(sm_80: tuple[KernelEntry, Profile]) -> None:
    """Every sum of the mma.sync main loop follows from the schedule; there are no bank
    conflicts."""
    entry, launch = sm_80
    m = n = k = 1024
    schedule, counters = entry.schedule, launch.report.counters
    block_m, block_n, block_k = (schedule[f"block_{axis}"] for axis in "mnk")
    ctas = (m // block_m) * (n // block_n)
    warps = (block_m // schedule["warp_m"]) * (block_n // schedule["warp_n"])
    assert launch.report.workgroups_run == launch.report.workgroups_total == ctas
    assert launch.threads == 32 * warps

    assert counters["matrix"] == counters["matrix.mma.m16n8k16.f16"] == m * n * k // (16 * 8 * 16)
    # Every tile of A and B comes once for each CTA that needs it, 16 bytes to a lane.
    tile_bytes = (block_m + block_n) * block_k * 2
    tiles = ctas * (k // block_k)
    copied = list(executed(launch, ".shared.global").values())
    assert sum(line.global_bytes for line in copied) == tiles * tile_bytes
    assert sum(line.lanes for line in copied) == tiles * tile_bytes // 16
    assert sum(line.global_sectors for line in copied) == tiles * tile_bytes // 32
    # A wavefront moves 128 bytes: each tile is written once, and read by the warps that share it.
    written = sum(line.shared_wavefronts for line in copied)
    assert written == tiles * tile_bytes // 128
    fragments = executed(launch, "ldmatrix").values()
    assert all(line.shared_wavefronts == 4 * line.issued for line in fragments)
    per_warp = (schedule["warp_m"] + schedule["warp_n"]) * block_k * 2
    needed = tiles * warps * per_warp // 128
    # The fragments of the step after the last may be asked for too.
    steps = k // 16
    assert (
        needed <= sum(line.shared_wavefronts for line in fragments) <= needed // steps * (steps + 1)
    )
    assert counters["bank_conflicts"] == 0 and launch.wasteful(Waste.BANK_CONFLICTS) == []
    # One barrier for each tile along k at least.
    assert counters["barriers"] >= k // block_k
    assert counters["divergent_branches"] == 0


@pytest.mark.integration
def test_the_whole_flagship_by_hand(sm_80: tuple[KernelEntry, Profile]) -> None:
    """The kernel accesses all of A, B, the output and the bias."""
    entry, launch = sm_80
    counters = launch.report.counters
    assert counters["global_unique_bytes"] == sum(p.nbytes for p in entry.parameters)
    assert counters["global_store_bytes"] == entry.output.nbytes
    assert counters["instructions"] == launch.report.instructions
    # Nothing is guarded but copies: those past the last tile find nothing to do.
    guarded = executed(launch, "@")
    assert all(line.kind in ("copy", "control") for line in guarded.values())
    idle = 32 * counters["instructions"] - counters["lane_instructions"]
    assert idle == sum(32 * line.issued - line.lanes for line in guarded.values())
    for name in ("issued", "lanes", "shared_wavefronts", "global_sectors", "global_sectors_ideal"):
        total = sum(getattr(line, name) for line in launch.report.lines.values())
        named = {"issued": "instructions", "lanes": "lane_instructions"}.get(name, name)
        assert total == counters[named]


def executed(launch: Profile, word: str) -> dict[int, kgen.emulate.report.LineCounts]:
    text = launch.source.splitlines()
    return {n: c for n, c in launch.report.lines.items() if word in text[n - 1]}


@pytest.mark.integration
@pytest.mark.parametrize(
    "spec",
    [
        kgen.Matmul(m=130, n=72, k=40, dtype=DType.F16, epilogue=(Epilogue.BIAS,)),
        kgen.Rowwise(expression="softmax(x)", shapes=((5, 100),)),
    ],
    ids=lambda spec: spec.key,
)
def test_the_same_counters_for_every_seed(spec: Spec) -> None:
    bundle = kgen.build(spec, targets=["sm_80", "sm_75", "gfx942", "gfx1100"])

    def counted(seed: int) -> list[dict[str, object]]:
        return [found.to_json(lines=True) for found in profile(bundle, seed=seed)]

    first = counted(0)
    assert all(kernel["launches"] for kernel in first)
    assert counted(0) == first and counted(1) == first


@pytest.mark.integration
def test_what_has_no_emulator_says_so() -> None:
    spec = kgen.Matmul(m=16, n=16, k=16, dtype=DType.F32)
    bundle = kgen.build(spec, targets=["vulkan1.1", "x86-64-v3"])
    found: list[KernelProfile] = list(profile(bundle))
    assert [kernel.reason for kernel in found] == [
        f"{name} kernels have no profile; only NVIDIA and AMD kernels have one"
        for name in ("vulkan1.1", "x86-64-v3")
    ]


# ---------------------------------------------------------------------------- as it is read

#: A transpose of 32x32 floats through shared memory, whose columns are read without padding.
TRANSPOSE = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry transpose(.param .u64 in, .param .u64 out)
{
    .reg .u64 %in, %out, %at;
    .reg .u32 %t, %lane, %row, %i, %s;
    .reg .f32 %x;
    .reg .pred %first;
    .shared .align 16 .b8 tile[4096];
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %at, %t, 4, %in;
    ld.global.f32 %x, [%at];       // in rows
    mov.u32 %s, tile;
    mad.lo.u32 %s, %t, 4, %s;
    st.shared.f32 [%s], %x;
    bar.sync 0;
    and.b32 %lane, %t, 31;
    shr.u32 %row, %t, 5;
    mad.lo.u32 %i, %lane, 32, %row;
    mov.u32 %s, tile;
    mad.lo.u32 %s, %i, 4, %s;
    ld.shared.f32 %x, [%s];        // a column: all in one bank
    setp.lt.u32 %first, %t, 512;
    mad.wide.u32 %at, %i, 4, %out;
    @%first st.global.f32 [%at], %x;   // half of the lanes, in columns too
    ret;
}
"""


@pytest.fixture(name="shown")
def transposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("transpose.ptx").write_text(TRANSPOSE)
    np.save("x.npy", np.zeros((32, 32), np.float32))
    launch = ["emulate", "transpose.ptx", "--entry=transpose", "--grid=1", "--block=1024"]
    arguments = ["--arg=in:x.npy", "--arg=out:f32:32x32:y.npy"]
    assert main([*launch, *arguments, "--profile", "--source", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counters"]["bank_conflicts"] == 32 * 31 and found["lines"]["26"]["issued"] == 32
    assert main([*launch, *arguments, "--profile", "--source"]) == 0
    return capsys.readouterr().out.splitlines()


def row(shown: list[str], start: str) -> list[str]:
    return next(line for line in shown if line.startswith(start)).split()


@pytest.mark.integration
def test_the_table(shown: list[str]) -> None:
    assert "counted in 1 CTA, 1024 threads (32 warps) each" in shown[2]
    assert row(shown, "shared memory cycles")[3:6] == ["1,056", "64", "16.50"]
    # 32 warps load 4 sectors each; 16 store to 32 sectors each, where 4 would do.
    assert row(shown, "global sectors")[2:5] == ["640", "192", "3.33"]
    assert row(shown, "barriers")[1] == "1"


@pytest.mark.integration
def test_the_worst_lines(shown: list[str]) -> None:
    at = shown.index("bank conflicts: 992 cycles above the ideal, from 1 line:")
    assert shown[at + 1].split()[:4] == ["line", "26", "992", "ld.shared.f32"]
    at = shown.index(
        "uncoalesced accesses to global memory: 448 sectors above the ideal, from 1 line:"
    )
    assert shown[at + 1].split()[:4] == ["line", "29", "448", "@%first"]


@pytest.mark.integration
def test_the_source(shown: list[str]) -> None:
    start = next(
        i for i, line in enumerate(shown) if line.split()[:3] == ["line", "issued", "lanes"]
    )
    cells = {n: line.split("|")[0].split() for n, line in enumerate(shown[start + 1 :], 1)}
    assert len(cells) == len(TRANSPOSE.splitlines())
    assert cells[8] == ["8"]  # a declaration
    assert cells[16] == [">", "16", "32", "128"]
    assert cells[20] == [">", "20", "32"]
    assert cells[26] == [">!", "26", "32", "1,024", "x32.00"]
    assert cells[29] == [">!", "29", "32", "50", "%", "512", "x8.00"]


@pytest.mark.integration
def test_an_empty_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.ptx"
    empty.write_text(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n}\n")
    launch = ["emulate", str(empty), "--entry=f", "--grid=1", "--block=1"]
    assert main([*launch, "--profile", "--source"]) == 0
    assert "bank conflicts: none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["verify", "x.kgen", "--source"], "--source needs --profile; add it"),
        (["verify", "x.kgen", "--profile", "--on=device"], "--profile counts in the emulator"),
        (
            ["emulate", "x.ptx", "--entry=f", "--grid=1", "--block=1", "--source"],
            "--source needs --profile; add it",
        ),
    ],
)
def test_bad_options(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not captured.out


@pytest.mark.integration
def test_verify_shows_a_profile_of_what_has_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = kgen.Matmul(m=32, n=32, k=32, dtype=DType.F16)
    file = tmp_path / "f.kgen"
    kgen.build(spec, targets=["sm_80", "gfx942", "x86-64-v3"]).save(file)
    assert main(["verify", str(file), "--on=emulator", "--profile", "--source"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("counted in") == 2
    assert "shared memory cycles" in shown and "LDS cycles" in shown
    assert "x86-64-v3 kernels have no profile" in shown
    assert main(["verify", str(file), "--on=emulator", "--profile", "--json"]) == 0
    profiles = json.loads(capsys.readouterr().out)["profiles"]
    assert [len(kernel["launches"]) for kernel in profiles] == [1, 1, 0]
    assert profiles[1]["launches"][0]["subgroup_width"] == 64
    assert "lines" not in profiles[0]["launches"][0]
