"""Time the CPU kernels side by side with libraries, and write the table into docs/performance.md.

Every figure is a ratio of medians taken in turn in one process, one thread unless --threads says
otherwise. Peers that are not installed are left out and named.
"""

from __future__ import annotations

import argparse
import math
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import kgen
from kgen import pipeline
from kgen.check.bench import BenchResult, bench
from kgen.check.tune import Tuner, prepared, race
from kgen.spec import DType, Matmul, Operand, Relu, Softmax, Spec
from kgen.targets import find
from kgen_runtime.cpu_features import cpu_name

SHAPES = (
    *((n, n, n) for n in (16, 32, 64, 128, 256, 512, 1024, 2048)),
    (127, 131, 113),
    (1000, 1000, 1000),
    (1, 4096, 4096),
    (8, 4096, 4096),
    (128, 384, 384),
    (128, 1536, 384),
    (512, 4096, 1024),
)
ROWS = ((64, 512), (1024, 1024), (8192, 4096))
#: Multiply-adds of the largest shape of a quick run.
QUICK = 2**28
PEERS = ("numpy", "torch")
#: PyTorch with weights packed ahead, by what packs them; and packing in every call.
PACKED_PEERS = ("torch-onednn", "torch-mkl", "torch")
DOCUMENT = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- make bench-cpu: begin -->", "<!-- make bench-cpu: end -->"


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of the document."""

    title: str
    specs: Sequence[Spec]
    peers: Sequence[str] = PEERS


def tables(quick: bool) -> list[Table]:
    shapes = [s for s in SHAPES if math.prod(s) <= QUICK] if quick else SHAPES
    rows = ROWS[:2] if quick else ROWS
    found = [
        Table(
            title=f"matmul {dtype}",
            specs=[Matmul(m=m, n=n, k=k, dtype=dtype) for m, n, k in shapes],
        )
        for dtype in (DType.F32, DType.BF16, DType.F16)
    ]
    found += [
        Table(
            title=f"matmul {dtype}, B packed ahead",
            specs=[Matmul(m=m, n=n, k=k, dtype=dtype, constant=(Operand.B,)) for m, n, k in shapes],
            peers=PACKED_PEERS,
        )
        for dtype in (DType.F32, DType.BF16)
    ]
    for dtype in (DType.F32, DType.BF16):
        softmax = [Softmax(rows=r, cols=c, dtype=dtype) for r, c in rows]
        relu = [Relu(shape=shape, dtype=dtype) for shape in rows]
        found.append(Table(title=f"softmax and relu {dtype}", specs=[*softmax, *relu]))
    return found


def timed(spec: Spec, peers: Sequence[str], folder: str, threads: int, rounds: int) -> BenchResult:
    path = kgen.build(spec, targets=["native"]).save(Path(folder) / "kernel.kgen")
    report = bench(path, device="cpu", num_threads=threads, against=peers, rounds=rounds)
    return report.kernels[0]


def show(table: Table, threads: int, rounds: int) -> list[str]:
    """The table's lines, with the geometric mean of each peer's ratio."""
    lines = [
        f"\n**{table.title}**\n",
        f"| kernel | us | GFLOP/s | GB/s | {' | '.join(f'against {p}' for p in table.peers)} |",
        f"| --- | --- | --- | --- | {' | '.join('---' for _ in table.peers)} |",
    ]
    ratios: dict[str, list[float]] = {peer: [] for peer in table.peers}
    for line in lines:
        print(line)
    with tempfile.TemporaryDirectory() as folder:
        for spec in table.specs:
            result = timed(spec, table.peers, folder, threads, rounds)
            cells = []
            for name in table.peers:
                # A peer's name may be followed by what it computes in.
                found = (p.ratio for p in result.peers if p.name.partition(" ")[0] == name)
                ratio = next(found, None)
                cells.append("-" if ratio is None else f"{ratio:.2f}x")
                if ratio is not None:
                    ratios[name].append(ratio)
            row = f"| {spec.key} | {result.seconds * 1e6:.1f} | {result.gflops:.0f} "
            lines.append(f"{row}| {result.gbytes:.1f} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    means = [f"{math.prod(r) ** (1 / len(r)):.2f}x" if r else "-" for r in ratios.values()]
    lines.append(f"| geometric mean | | | | {' | '.join(means)} |")
    print(lines[-1], flush=True)
    return lines


def tune_gap(cache: Path, dtype: DType, quick: bool) -> None:
    """How far the model's schedules are from tuned ones: ratios of least times, and their mean.

    Each pair is timed anew, in turn, so that a lucky moment of the search does not count.
    """
    ratios = []
    for m, n, k in SHAPES:
        if quick and m * n * k > QUICK:
            continue
        model = pipeline.plan(Matmul(m=m, n=n, k=k, dtype=dtype), find("native"))
        ours, tuned = race([prepared(model), prepared(Tuner(path=cache)(model))])
        ratios.append(ours / tuned)
        print(f"{model.spec.key}: {ratios[-1]:.3f}", flush=True)
    mean = math.prod(ratios) ** (1 / len(ratios))
    print(f"geometric mean of {len(ratios)}, model over tuned: {mean:.3f} (the bar is 1.10)")


def versions() -> str:
    import numpy

    found = [f"numpy {numpy.__version__} (computing in f32 for 16-bit types)"]
    try:
        import torch

        found.append(f"torch {torch.__version__}")
    except ImportError:
        found.append("torch not installed")
    return ", ".join(found)


def write(lines: Sequence[str]) -> None:
    """Put the lines between the document's markers."""
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text("\n".join([before + BEGIN, *lines, END + after]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="the smaller shapes only")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument(
        "--tune-gap", type=Path, metavar="FILE",
        help="instead: the model's schedules against tuned ones, which FILE remembers",
    )  # fmt: skip
    parser.add_argument("--dtype", type=DType, default=DType.F32, help="of --tune-gap")
    args = parser.parse_args()
    if args.tune_gap:
        tune_gap(args.tune_gap, args.dtype, args.quick)
        return
    head = f"\n{cpu_name()} ({platform.machine()}), {args.threads} thread(s); {versions()}."
    print(head)
    lines = [head]
    for table in tables(args.quick):
        lines += show(table, args.threads, args.rounds)
    if args.write:
        write(lines)


if __name__ == "__main__":
    main()
