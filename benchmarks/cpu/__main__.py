"""Time CPU kernels side by side with libraries.

    python -m benchmarks.cpu [--only TABLE,...] [--quick] [--resume]

Kernel and libraries run in turn in one process, in one thread except for the tables of two threads.
Libraries that are not installed are left out. scripts/as-avx2.sh and scripts/as-avx512.sh make a
CPU, and its libraries, stand for one with fewer instructions.
"""

from __future__ import annotations

from functools import partial

from benchmarks import suite
from benchmarks.cpu.measure import measure
from benchmarks.cpu.tables import tables
from benchmarks.results import geometric_mean
from kgen.check.peers import dnnl
from kgen.errors import DeviceError


def peers() -> dict[str, str]:
    """Versions of the libraries that are here."""
    found = suite.versions("numpy", "torch", "iree-base-compiler", "onnxruntime", "openvino")
    try:
        found["oneDNN"] = str(dnnl.dnnl().version)
    except DeviceError:
        print("oneDNN is not installed: not measured", flush=True)
    return found


def main() -> None:
    parser = suite.options(__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="small shapes: a minute or two")
    args = parser.parse_args()
    if args.quick and args.output is None:
        parser.error("--quick measures a part of each table; name its file with --output FILE")
    known = {table.name: table for table in tables(args.quick)}
    todo = suite.chosen(parser, args.only, known)
    run = suite.Run("cpu", args, versions=peers())
    for table in todo:
        print(f"\n{table.title} ({table.name})", flush=True)
        for row in measure(table, args.rounds, partial(run.has, table.name)):
            run.add(row)
        rows = run.results.table(table.name)
        if ratios := [ratio for row in rows if (ratio := row.ratio(*table.peers)) is not None]:
            mean, least = geometric_mean(ratios), min(ratios)
            print(f"fastest library: geometric mean {mean:.2f}x (minimum {least:.2f}x)", flush=True)
    print(f"written: {run.path}")


if __name__ == "__main__":
    main()
