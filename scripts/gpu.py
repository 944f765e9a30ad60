"""On a machine with a GPU: build, verify and time every kernel that it runs, and write the figures.

For each GPU found (CUDA, HIP, Vulkan) it builds a spread of shapes for the nearest target, verifies
them on the device, times them against PyTorch on the same device where that is installed, and
appends a section with the device's name to docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import kgen
import kgen_runtime
from kgen import targets
from kgen.check.bench.run import BenchReport, bench
from kgen.check.verify.run import Report, verify
from kgen.cli.output import progress
from kgen.spec import DType, Matmul, Spec, text
from kgen_runtime.backend import DeviceInfo
from scripts import documents

SHAPES = (
    (4096, 4096, 4096),
    (1024, 1024, 1024),
    (512, 512, 512),
    (256, 256, 256),
    (1, 4096, 4096),
    (16, 4096, 4096),
    (128, 1536, 384),
    (1000, 1000, 1000),
    (127, 131, 113),
)


def specs() -> list[Spec]:
    """What is built for every device."""
    matmuls = [
        Matmul(m=m, n=n, k=k, dtype=dtype)
        for m, n, k in SHAPES
        for dtype in (DType.F16, DType.BF16, DType.F32)
    ]
    fused = Matmul(m=1024, n=1024, k=1024, epilogue=("bias", "gelu"))
    rows = [
        op
        for dtype in (DType.F16, DType.F32)
        for op in (
            text.parse(f"softmax 4096x4096 {dtype}"),
            text.parse(f"softmax 4x131072 {dtype}"),
            text.parse(f"layer_norm(x,scale,shift) 4096x4096,4096,4096 {dtype}"),
            text.parse(f"rms_norm(x+residual,scale) 4096x8192,4096x8192,8192 {dtype}"),
            text.parse(f"relu 4096x4096 {dtype}"),
        )
    ]
    return [*matmuls, fused, *rows]


def target_for(device: DeviceInfo) -> str | None:
    """The target whose code suits the device best, or None if there is none."""
    names = {t.name for family in targets.families() for t in family.targets}
    if device.backend == "cuda":
        major, minor = device.capabilities["compute_capability"]
        same = [n for n in names if n.startswith("sm_") and n[3:].rstrip("a")[:-1] == str(major)]
        exact = [n for n in same if n[3:].rstrip("a") == f"{major}{minor}"]
        return max(exact or same, default=None)
    if device.backend == "hip":
        arch = str(device.capabilities["arch"])
        return arch if arch in names else None
    return "vulkan1.3" if device.backend == "vulkan" else None


def section(device: DeviceInfo, target: str, verified: Report, timed: BenchReport) -> str:
    """The Markdown section of one device."""
    passed = sum(r.passed for r in verified.kernels)
    lines = [
        f"\n## {device.name} (target `{target}`)\n",
        f"{passed} of {len(verified.kernels)} kernels verified on the device. Medians, interleaved "
        "with the library in one process: `make gpu`. "
        f"{documents.measured([documents.moment()])}\n",
        "| kernel | median us | GFLOP/s | GB/s | against |",
        "| --- | --: | --: | --: | --- |",
    ]
    for result in timed.kernels:
        peers = ", ".join(f"{p.ratio:.2f}x {p.name}" for p in result.peers if p.ratio is not None)
        lines.append(
            f"| {result.kernel} | {result.seconds * 1e6:.1f} | {result.gflops:.0f} "
            f"| {result.gbytes:.0f} | {peers or '-'} |"
        )
    failures = [f"- failed: {r.kernel}: {r.reason}" for r in verified.kernels if not r.passed]
    return "\n".join([*lines, "", *failures, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--software", action="store_true", help="take software drivers too")
    args = parser.parse_args()
    found = [
        d
        for d in kgen_runtime.devices()
        if d.backend in ("cuda", "hip", "vulkan") and (d.kind == "gpu" or args.software)
    ]
    if not found:
        print("no GPU here; kgen devices says what was looked for")
        return 0
    failed = False
    for device in found:
        target = target_for(device)
        if target is None:
            print(f"{device.id} {device.name}: no target for it")
            continue
        print(f"{device.id} {device.name}: {target}")
        with tempfile.TemporaryDirectory() as folder:
            path = kgen.build(specs(), targets=[target], progress=print).save(Path(folder) / "g")
            verified = verify(path, on="device", progress=progress)
            timed = bench(path, device=device.id, against=("torch",), progress=print)
        text = section(device, target, verified, timed)
        print(text)
        with documents.PERFORMANCE.open("a") as out:
            out.write(text)
        failed |= not verified.passed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
