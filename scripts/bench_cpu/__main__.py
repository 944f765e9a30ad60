"""Time the CPU kernels side by side with libraries, and hold them against the bars.

Ratios are of medians taken in turn in one process, one thread except for the table of two. What is
measured is kept in a file of this kind of CPU after every kernel: a run that was stopped goes on
with --resume, and --only measures some tables anew. Peers that are not installed are left out and
named. The documents have a section for each kind of CPU, of which a run replaces its own;
scripts/as-avx2.sh makes a CPU with AVX-512, and its libraries, one with AVX2.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import os
import platform
from pathlib import Path

from kgen.check.peers import dnnl
from kgen.errors import DeviceError
from kgen_runtime.cpu_features import cpu_features, cpu_name
from scripts import documents, readme_figures
from scripts.bench_cpu import report, tune_gap
from scripts.bench_cpu.kinds import kind_here
from scripts.bench_cpu.measure import measure
from scripts.bench_cpu.results import Results
from scripts.bench_cpu.tables import Table, tables

#: The distributions of the peers, and what is said of them.
PEERS = {
    "numpy": "computing in f32 for narrower types",
    "torch": None,
    "iree-base-compiler": None,
}
#: What of a CPU decides on its peaks.
FEATURES = ("fma", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "asimd")


def machine() -> str:
    """The CPU and the libraries, in words."""
    able = cpu_features()
    cores = len(os.sched_getaffinity(0))
    features = " ".join(word for word in FEATURES if word in able)
    words = [f"{cpu_name()} ({cores} cores, {platform.machine()} with {features})"]
    for name, remark in PEERS.items():
        try:
            version = f"{name} {importlib.metadata.version(name)}"
            words.append(f"{version} ({remark})" if remark else version)
        except importlib.metadata.PackageNotFoundError:
            words.append(f"{name} not installed")
    try:
        words.append(f"oneDNN {dnnl.dnnl().version} from C")
    except DeviceError:
        words.append("oneDNN's C library not installed")
    return ", ".join(words)


def chosen(parser: argparse.ArgumentParser, words: str | None, known: list[Table]) -> list[Table]:
    """The tables that --only names."""
    if words is None:
        return known
    names = words.split(",")
    if unknown := set(names) - {table.name for table in known}:
        parser.error(f"--only {unknown.pop()}: tables are {', '.join(t.name for t in known)}")
    return [table for table in known if table.name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="small shapes only, a minute or two")
    parser.add_argument("--only", metavar="T,...", help="these tables; the others as they were")
    parser.add_argument("--resume", action="store_true", help="go on: kernels that are not there")
    parser.add_argument("--write", action="store_true", help="write docs/performance*, README.md")
    parser.add_argument(
        "--tune-gap", type=Path, metavar="FILE",
        help="instead: the model's schedules against tuned ones, which FILE remembers",
    )  # fmt: skip
    args = parser.parse_args()
    now = documents.moment()
    if args.tune_gap:
        lines = tune_gap.lines(tune_gap.tune_gaps(args.tune_gap, args.quick, args.resume))
        print("\n".join(lines))
        if args.write:
            lines += [documents.measured([now]), ""]
            documents.put_in_page(kind_here(), "tune gap", lines)
        return
    if args.quick and (args.write or args.resume):
        parser.error("--quick times a part of each table, which is not kept or written")
    known = tables(args.quick)
    todo = chosen(parser, args.only, known)
    here, kind = machine(), kind_here()
    keeps = not args.quick
    results = Results(machine=here, kind=kind)
    if keeps and (args.resume or args.only):
        results = Results.read(here, kind)
    print(f"{here}.")
    for table in todo:
        rows = results.tables.get(table.name, []) if args.resume else []
        rows = [row for row in rows if row.seconds is not None]
        results.tables[table.name] = rows
        print(f"\n{table.title} ({table.name})")
        for row in measure(table, args.rounds, [row.kernel for row in rows]):
            print(report.row_line(table, row), flush=True)
            rows.append(dataclasses.replace(row, measured=now))
            if keeps:
                results.write()
    print("\n" + "\n".join(report.bar_lines(report.verdicts(results))))
    if args.write:
        report.write(results, known)
        readme_figures.write()


if __name__ == "__main__":
    main()
