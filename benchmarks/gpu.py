"""Verify and time a spread of kernels on every GPU of this machine.

    python -m benchmarks.gpu [--software]

Each device (CUDA, HIP, Vulkan) gets the kernels of its nearest target and a result file of its own.
PyTorch is timed on the same device where it is installed. Exit status 1: a kernel is wrong.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

import kgen
import kgen_runtime
from benchmarks import suite
from benchmarks.machine import this_machine
from benchmarks.results import Row
from kgen import targets
from kgen.check.bench.run import bench
from kgen.check.verify.run import verify
from kgen.spec import DType, Matmul, Spec, text
from kgen_runtime.backend import DeviceInfo

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
    """Return the kernels that every device runs."""
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
    """Return the nearest target; None if there is none."""
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


def main() -> int:
    parser = suite.options(__doc__)
    parser.add_argument("--software", action="store_true", help="include software drivers")
    args = parser.parse_args()
    found = [
        d
        for d in kgen_runtime.devices()
        if d.backend in ("cuda", "hip", "vulkan") and (d.kind == "gpu" or args.software)
    ]
    if not found:
        print("no GPU here; see kgen devices")
        return 0
    failed = False
    for device in found:
        target = target_for(device)
        if target is None:
            print(f"{device.id} {device.name}: no target for it")
            continue
        print(f"{device.id} {device.name}: {target}")
        machine = this_machine(gpu=device.name)
        run = suite.Run("gpu", args, versions=suite.versions("torch"), machine=machine)
        todo = {text.form(spec): spec for spec in specs()}
        for name, spec in todo.items():
            if not run.has(target, name) and (not args.only or args.only in name):
                row = measured(spec, name, target, device.id)
                run.add(row)
                failed |= row.values["verified"] == "no"
        print(f"written: {run.path}")
    return int(failed)


def measured(spec: Spec, name: str, target: str, device: str) -> Row:
    """Verify a kernel on the device, and time it against PyTorch on the same device."""
    with tempfile.TemporaryDirectory() as folder:
        path = kgen.build(spec, targets=[target]).save(Path(folder) / "kernel.kgen")
        (verified,) = verify(path, on="device").kernels
        (result,) = bench(path, device=device, against=("torch",)).kernels
    row = suite.timed(result, target, name)
    verdict = "yes" if verified.passed else "no"
    return dataclasses.replace(row, values={**row.values, "verified": verdict})


if __name__ == "__main__":
    sys.exit(main())
