"""Write docs/performance.md and README's table of figures from the result files.

    python -m benchmarks.page [--write]

A table of a suite is taken from the newest file of each machine that has it. Without --write the
page goes to standard output. Exit status 1: a result file is damaged.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.machine import ROOT
from benchmarks.results import ResultError, Results, Row, geometric_mean, read_all
from benchmarks.suite import seconds, table_lines

PAGE, README = ROOT / "docs" / "performance.md", ROOT / "README.md"
BEGIN, END = "<!-- figures: make figures: begin -->", "<!-- figures: make figures: end -->"

HEAD = """# Performance

For engineers who look for a measured figure, or who want to repeat one. `make figures` writes this
page from [benchmarks/results](../benchmarks/results), which hold every row;
[benchmarks](../benchmarks/README.md) says how a suite is run and how a file is read.

- A ratio is the other library's time divided by kgen's, measured in turn in one process. Above 1x,
  kgen is faster.
- A cell is the geometric mean over the kernels of a table, with the minimum in brackets.
- *Cold*: each call uses another copy of its operands, so that they come from memory, as a model's
  weights do. Other tables are warm.
- *Packed*: B is in the order that kgen chose; copying it there is not timed. Otherwise packing is
  part of the time.
- *Of read*: the rate of a kernel as a fraction of the rate of reading the same bytes.

No GPU has been available. Figures of GPU kernels are counts of instructions, predictions, or times
on a software driver.
"""
LIBRARIES = ("numpy", "torch", "onednn")
PACKED = ("torch-mkl", "torch-onednn", "onednn-packed")
BEST = "best of MKL, OpenBLAS, oneDNN"


@dataclass(frozen=True, kw_only=True)
class Line:
    """Line of the CPU tables: the rows of a table relative to the fastest of some peers."""

    what: str
    table: str
    against: str
    peers: tuple[str, ...]
    is_fraction: bool = False


PRODUCTS = (
    *(
        Line(
            what=f"GEMM shapes from models, f32{', packed' * bool(packed)}{', cold' * bool(cold)}",
            table=f"models-f32{packed}{cold}",
            against=BEST,
            peers=PACKED if packed else LIBRARIES,
        )
        for packed in ("", "-packed")
        for cold in ("", "-cold")
    ),
    Line(what="squares and others, f32", table="f32", against=BEST, peers=LIBRARIES),
    Line(what="bf16", table="bf16", against="PyTorch", peers=("torch",)),
    Line(
        what="bf16, packed", table="bf16-packed", against="PyTorch packed", peers=("torch-onednn",)
    ),
    Line(what="s8", table="s8", against="oneDNN", peers=("onednn",)),
    Line(what="s8, packed", table="s8-packed", against="oneDNN packed", peers=("onednn-packed",)),
    Line(what="f32 + bias + gelu", table="fused-f32", against="PyTorch", peers=("torch",)),
    Line(what="bf16 + bias + gelu", table="fused-bf16", against="PyTorch", peers=("torch",)),
    Line(what="skinny N", table="columns", against=BEST, peers=LIBRARIES),
    Line(what="M of 1 to 16", table="gemv", against="of read", peers=("read",), is_fraction=True),
    Line(
        what="weights of f32, bf16, s8, s4", table="narrow", against="of read", peers=("read",),
        is_fraction=True,
    ),
    *(
        Line(
            what=f"convolutions of {model}, f32, {arithmetic}",
            table=f"{model.lower()}-{arithmetic}",
            against="best of oneDNN",
            peers=("onednn-packed", "torch-onednn"),
        )
        for arithmetic in ("exact", "winograd4")
        for model in ("ResNet-50", "U-Net")
    ),
    Line(what="two threads", table="threads", against="one thread", peers=("one thread",)),
)  # fmt: skip
ROWS = tuple(
    Line(what=f"{what}, {words}", table=f"{name}-{dtype}", against="PyTorch", peers=("torch",))
    for dtype, words in (
        ("f32", "f32"), ("bf16", "bf16"), ("f32-2", "f32, two threads"),
        ("bf16-2", "bf16, two threads"),
    )
    for what, name in (
        ("element-wise functions", "functions"), ("softmax and norms", "rows"),
        ("reductions", "reductions"),
    )
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Rows of one table on one machine, and the file that they are from."""

    results: Results
    rows: list[Row]


class Data:
    """Result files, and the newest rows of each table."""

    def __init__(self, files: Sequence[Results]) -> None:
        self.files = sorted(files, key=lambda results: results.date)

    def machines(self, suite: str) -> list[str]:
        """Names of the machines of a suite."""
        return sorted({found.machine.name for found in self.files if found.suite == suite})

    def newest(self, suite: str, table: str, machine: str | None = None) -> Measured | None:
        """Rows of a table from the newest file that has it."""
        for results in reversed(self.files):
            is_machine = machine in (None, results.machine.name)
            rows = results.table(table) if results.suite == suite and is_machine else []
            if rows:
                return Measured(results=results, rows=rows)
        return None

    def used(self, suite: str, tables: Sequence[str]) -> list[Results]:
        """Return the files that contain the tables of a suite, newest first."""
        found = [
            measured.results
            for machine in self.machines(suite)
            for table in tables
            if (measured := self.newest(suite, table, machine))
        ]
        return [results for results in reversed(self.files) if results in found]


def ratios(rows: Sequence[Row], peers: Sequence[str]) -> list[float]:
    """Return the ratio to the fastest of the peers, for each row that has one of them."""
    return [ratio for row in rows if (ratio := row.ratio(*peers)) is not None]


def cell(rows: Sequence[Row], line: Line) -> str:
    """Geometric mean and minimum."""
    found = ratios(rows, line.peers)
    if not found:
        return "-"
    mean, least = geometric_mean(found), min(found)
    if line.is_fraction:
        return f"{mean:.0%} ({least:.0%})"
    return f"{mean:.2f}x ({least:.2f}x)"


def cpu_table(data: Data, lines: Sequence[Line]) -> list[str]:
    """Return a table of the lines, with a column for each machine that has one of them."""
    names = [
        name
        for name in data.machines("cpu")
        if any(data.newest("cpu", line.table, name) for line in lines)
    ]
    rows = []
    for line in lines:
        found = [data.newest("cpu", line.table, name) for name in names]
        cells = ["-" if one is None else cell(one.rows, line) for one in found]
        if set(cells) != {"-"}:
            rows.append([line.what, line.against, *cells])
    return table_lines(["kernels", "against", *names], rows)


def sources(files: Sequence[Results]) -> list[str]:
    """Table of files: machine, peers with versions, days and commits."""
    rows = []
    for results in sorted(files, key=lambda found: found.machine.name):
        machine = results.machine
        cores = f", {machine.cores} cores" if machine.cores else ""
        versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
        rows.append(
            [
                machine.name,
                f"{machine.gpu or machine.cpu or '-'}{cores}",
                versions or "-",
                f"[{when(results)}](../benchmarks/results/{results.path.name})",
            ]
        )
    return table_lines(["machine", "processor", "compared with", "measured"], rows)


def source(results: Results) -> str:
    """Line with processor, peers, day and commit of one file."""
    machine = results.machine
    where = machine.gpu or machine.cpu
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    words = [where, versions, f"[{when(results)}](../benchmarks/results/{results.path.name})"]
    return f"\n{'; '.join(filter(None, words))}.\n"


def when(results: Results) -> str:
    """Return the days of a file, and its last commit."""
    days = sorted({moment.split()[0] for moment in results.also} | {results.date})
    words = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return words if results.commit is None else f"{words}, commit {results.commit}"


def section(title: str, suite: str, words: str = "") -> str:
    """Return a heading, the command that repeats the figures, and how to read them."""
    words = f" {words}" if words else ""
    return f"## {title}\n\nRepeat with `make bench SUITE={suite}`.{words}\n"


def cpu(data: Data) -> Iterator[str]:
    yield section("CPU kernels", "cpu", "All rows but the last are GEMMs in one thread:")
    yield from cpu_table(data, PRODUCTS)
    yield "\nElement-wise functions and rows:\n"
    yield from cpu_table(data, ROWS)
    yield ""
    yield from sources(data.used("cpu", [line.table for line in (*PRODUCTS, *ROWS)]))
    yield ""


def models(data: Data) -> Iterator[str]:
    words = (
        "A cell has the ratios to ONNX Runtime and OpenVINO, both in f32, as far as they were "
        "measured, then kgen's time."
    )
    yield section("Whole models", "models", words)
    names = data.machines("models")
    tables = {name: data.newest("models", "models", name) for name in names}
    works = dict.fromkeys(
        (row.work, row.variant["threads"])
        for found in tables.values()
        if found is not None
        for row in found.rows
    )
    rows = []
    for work, threads in works:
        cells = []
        for found in tables.values():
            row = _of_model(found, work, threads)
            cells.append("-" if row is None else _model_cell(row))
        rows.append([work, str(threads), *cells])
    yield from table_lines(["model", "threads", *names], rows)
    yield "\nOther costs of MiniLM-L6:\n"
    rows = []
    for name in names:
        found = data.newest("models", "cost", name)
        for row in found.rows if found else ():
            if row.work == "minilm":
                rows.append([name, *(_cost(row, field) for field, _ in COSTS)])
    yield from table_lines(["machine", *(title for _, title in COSTS)], rows)
    yield ""
    yield from sources(data.used("models", ["models"]))
    yield ""


#: Fields of a model's other costs, and their titles.
COSTS = (
    ("seconds", "compile"), ("again", "compile again"), ("load", "load"), ("start", "start"),
    ("onnxruntime_start", "ONNX Runtime: start"), ("resident", "resident"),
    ("onnxruntime_resident", "ONNX Runtime: resident"),
)  # fmt: skip


def _of_model(found: Measured | None, work: str, threads: object) -> Row | None:
    rows = found.rows if found else ()
    return next((r for r in rows if (r.work, r.variant["threads"]) == (work, threads)), None)


def _model_cell(row: Row) -> str:
    found = [row.ratio(peer) for peer in ("onnxruntime", "openvino")]
    words = ", ".join(f"{ratio:.2f}x" for ratio in found if ratio is not None)
    return f"{words or '-'}; {seconds(row.time.median) if row.time else '-'}"


def _cost(row: Row, field: str) -> str:
    value = row.values.get(field)
    if not isinstance(value, int | float):
        return "-"
    return f"{value / 1e6:.0f} MB" if "resident" in field else seconds(value)


def vulkan(data: Data) -> Iterator[str]:
    words = "Times on a software driver say nothing about a GPU."
    yield section("Vulkan kernels", "vulkan", words)
    found = data.newest("vulkan", "kernels")
    if found is not None:
        names = list(dict.fromkeys(name for row in found.rows for name in row.peers))
        yield from table_lines(
            ["problem", "kgen", *(f"against {name}" for name in names)],
            [
                [row.work, seconds(row.time.median) if row.time else "-", *_ratio_cells(row, names)]
                for row in found.rows
            ],
        )
        yield source(found.results)


def _ratio_cells(row: Row, peers: Sequence[str]) -> list[str]:
    found = [row.ratio(name) for name in peers]
    return ["-" if ratio is None else f"{ratio:.2f}x" for ratio in found]


def triton(data: Data) -> Iterator[str]:
    words = (
        "Triton's count of instructions divided by kgen's, per element of a fused "
        "formula, or per clock of the matrix unit in the main loop of a 4096x4096x4096 "
        "GEMM."
    )
    yield section("Instruction counts beside Triton", "triton", words)
    rows, files = [], []
    for table in ("formulas", "main loops"):
        found = data.newest("triton", table)
        if found is None:
            continue
        files.append(found.results)
        for target in dict.fromkeys(row.variant["target"] for row in found.rows):
            alike = [row for row in found.rows if row.variant["target"] == target]
            line = Line(what="", table=table, against="", peers=("triton",))
            rows.append([table, str(target), str(len(alike)), cell(alike, line)])
    yield from table_lines(["kernels", "target", "number", "mean (minimum)"], rows)
    yield from map(source, files[:1])


def flagships(data: Data) -> Iterator[str]:
    words = (
        "Predicted: the roofline's time divided by the cost model's, for the GPU "
        "that the cost model assumes."
    )
    yield section("NVIDIA kernels, verified in the emulator", "flagships", words)
    rows, files = [], []
    for results in data.files:
        if results.suite == "flagships":
            files = [results]
    for results in files:
        for target in dict.fromkeys(row.table for row in results.rows):
            alike = results.table(target)
            verified = sum(row.values.get("status") == "passed" for row in alike)
            fractions = [float(row.values["predicted_over_roofline"]) for row in alike]
            mean = f"{geometric_mean(fractions):.0%} ({min(fractions):.0%})"
            rows.append([target, f"{verified} of {len(alike)}", mean])
    yield from table_lines(["target", "verified", "predicted, mean (minimum)"], rows)
    yield from map(source, files)


def tool(data: Data) -> Iterator[str]:
    yield section("The tool", "tool")
    found = data.newest("tool", "tool")
    if found is not None:
        rows = []
        for row in found.rows:
            limit = row.values.get("limit")
            words = "" if limit is None else seconds(float(limit))
            rows.append([f"`{row.work}`", seconds(row.time.median) if row.time else "-", words])
        yield from table_lines(["what", "median", "limit"], rows)
        yield source(found.results)


def gpus(data: Data) -> Iterator[str]:
    """Yield a section for each GPU that was measured."""
    for results in data.files:
        if results.suite == "gpu":
            yield section(results.machine.name, "gpu")
            line = Line(what="", table="", against="", peers=("torch",))
            verified = sum(row.values.get("verified") == "yes" for row in results.rows)
            words = (
                f"{verified} of {len(results.rows)} kernels verified on the device; against PyTorch"
            )
            yield f"{words}: {cell(results.rows, line)}.\n"
            yield from sources([results])
            yield ""


SECTIONS: tuple[Callable[[Data], Iterator[str]], ...] = (
    cpu, models, vulkan, triton, flagships, tool, gpus,
)  # fmt: skip


def page(data: Data) -> str:
    """Return the text of docs/performance.md."""
    lines = [line for section in SECTIONS for line in section(data)]
    return "\n".join([HEAD, *lines]).rstrip("\n") + "\n"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Row of README's table: ratios of a workload by machine."""

    workload: str
    peer: str
    suite: str
    table: str
    peers: tuple[str, ...]
    model: str | None = None

    def found(self, data: Data) -> list[tuple[float, str]]:
        """Return the mean and the text of the cell for each machine."""
        cells = []
        for machine in data.machines(self.suite):
            measured = data.newest(self.suite, self.table, machine)
            rows = measured.rows if measured else []
            if self.model is not None:
                rows = [r for r in rows if (r.work, r.variant["threads"]) == (self.model, 1)]
            if values := ratios(rows, self.peers):
                mean = geometric_mean(values)
                least = f" (minimum {min(values):.2f}x)" if self.model is None else ""
                cells.append((mean, f"{mean:.2f}x{least} on {machine}"))
        return cells

    def cells(self, data: Data) -> list[str]:
        """Cells of the row: the lowest and the highest mean, each with its CPU."""
        found = sorted(self.found(data))
        slowest = found[0][1] if found else "not measured"
        fastest = found[-1][1] if len(found) > 1 else "not measured"
        return [self.workload, self.peer, slowest, fastest]


def _model(model: str, workload: str) -> Figure:
    return Figure(
        workload=workload, peer="ONNX Runtime, f32", suite="models", table="models",
        peers=("onnxruntime",), model=model,
    )  # fmt: skip


FIGURES = (
    _model("minilm", "MiniLM-L6, 128 tokens, f32"),
    _model("smollm2-step", "SmolLM2-135M, one token, f32"),
    _model("smollm2-step-s8", "SmolLM2-135M, one token, s8 weights"),
    Figure(
        workload="40 GEMM shapes from models, f32", peer=BEST, suite="cpu", table="models-f32",
        peers=LIBRARIES,
    ),
    Figure(
        workload="bf16 matmul, prepacked B", peer="PyTorch, packed", suite="cpu",
        table="bf16-packed", peers=("torch-onednn",),
    ),
    Figure(
        workload="softmax and norms, f32", peer="PyTorch", suite="cpu", table="rows-f32",
        peers=("torch",),
    ),
)  # fmt: skip


def readme(text: str, data: Data) -> str:
    """Return the text of README.md with its table of figures."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"README.md has no lines {BEGIN} ... {END}")
    heads = ["workload, one thread", "compared with", "slowest CPU", "fastest CPU"]
    lines = table_lines(heads, [figure.cells(data) for figure in FIGURES])
    return "\n".join([before + BEGIN, "", *lines, "", end + after])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    try:
        data = Data(read_all())
    except ResultError as error:
        print(error, file=sys.stderr)
        return 1
    if args.write:
        PAGE.write_text(page(data))
        README.write_text(readme(README.read_text(), data))
    else:
        print(page(data), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
