"""Time whole models side by side with ONNX Runtime and OpenVINO, and hold them against the bars.

All three run in turn in one process, on the same inputs, in as many threads. Times are the first
deciles of the rounds, which repeat where a machine is shared; ratios are of these. Models are
fetched by pip, once, and kept in the cache folder. What is measured is kept in a file of this kind
of CPU after every model: a run that was stopped goes on with --resume, and --only measures some
models anew. The document has a section for each kind of CPU, of which a run replaces its own.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import os
import platform
import statistics
import tempfile
from pathlib import Path

import numpy as np

from kgen.check.bench import timing
from kgen_runtime.cpu_features import cpu_name
from scripts import documents, readme_figures
from scripts.bench_cpu.kinds import kind_here
from scripts.bench_models import cost, engines, report
from scripts.bench_models.ceiling import least_seconds
from scripts.bench_models.models import MODELS, Model
from scripts.bench_models.results import Costs, Measured, Results, Row

#: Rounds of a model, and the seconds after which no more are begun.
ROUNDS, LIMIT = 21, 8.0


def first_decile(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=10, method="inclusive")[0]


def measured(model: Model, folder: Path, rounds: int, limit: float, moment: str) -> Measured:
    onnx, bundle = model.path(), folder / f"{model.name}.kgen"
    made, manifest = cost.compiled(model, onnx, bundle)
    found = []
    for threads in model.threads:
        least = least_seconds(manifest, threads)
        found.append(timed(model, onnx, bundle, threads, rounds, limit, least))
        print(report.row_line(found[-1]), flush=True)
        gc.collect()
    beside = costs(model, onnx, bundle, made)
    print(report.cost_line(beside), flush=True)
    bundle.unlink()
    return Measured(rows=tuple(found), costs=beside, moment=moment)


def timed(
    model: Model, onnx: Path, bundle: Path, threads: int, rounds: int, limit: float, ceiling: float
) -> Row:
    """kgen and the peers that are installed, in turn."""
    found, missing = [engines.kgen(model, bundle, threads)], {}
    for name in model.peers:
        try:
            found.append(engines.PEERS[name](model, onnx, threads))
        except Exception as error:  # whatever a peer says of a model
            missing[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    ours = found[0].outputs()
    errors = {peer.name: apart(ours, peer.outputs()) for peer in found[1:]}
    rest = timing.rest_of(threads)
    taken = timing.quiet_samples([one.call for one in found], rounds, limit, rest=rest, attempts=2)
    seconds = {one.name: first_decile(t) for one, t in zip(found, taken.times, strict=True)}
    medians = {one.name: statistics.median(t) for one, t in zip(found, taken.times, strict=True)}
    return Row(
        model=model.name,
        threads=threads,
        seconds=seconds,
        medians=medians,
        load={one.name: one.load for one in found},
        errors=errors,
        missing=missing,
        noise=taken.noise,
        others=taken.load,
        ceiling=ceiling,
    )


def apart(ours: engines.Outputs, theirs: engines.Outputs) -> float:
    """How far apart results are, as a part of the largest one."""
    return max(
        float(np.abs(array - theirs[name]).max() / max(np.abs(theirs[name]).max(), 1e-30))
        for name, array in ours.items()
    )


def costs(model: Model, onnx: Path, bundle: Path, made: cost.Compiled) -> Costs:
    """What it costs beside time, of models whose caches do not live in the program."""
    if model.states:
        return Costs(model=model.name, compiled=made)
    return Costs(
        model=model.name,
        compiled=made,
        kgen=cost.started(model, "kgen", bundle),
        checked=cost.started(model, "kgen", bundle, verify="all"),
        onnxruntime=cost.started(model, "onnxruntime", onnx),
    )


def machine() -> str:
    cores = len(os.sched_getaffinity(0))
    words = [f"{cpu_name()} ({cores} cores, {platform.machine()})"]
    for name in engines.PEERS:
        try:
            words.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            words.append(f"{name} not installed")
    return ", ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a model's rounds")
    parser.add_argument("--only", metavar="M,...", help="these models; the others as they were")
    parser.add_argument("--resume", action="store_true", help="go on: models that are not there")
    parser.add_argument(
        "--write", action="store_true", help="write docs/performance.md, and README"
    )
    args = parser.parse_args()
    known = {model.name: model for model in MODELS}
    names = args.only.split(",") if args.only else list(known)
    if unknown := set(names) - known.keys():
        parser.error(f"--only {unknown.pop()}: models are {', '.join(known)}")
    now, here, kind = documents.moment(), machine(), kind_here()
    results = Results(machine=here, kind=kind)
    if args.resume or args.only:
        results = Results.read(here, kind)
    print(f"{here}.", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if args.resume and name in results.models:
                continue
            found = measured(known[name], Path(folder), args.rounds, args.limit, now)
            results.models[name] = found
            results.write()
    lines = report.lines(results)
    print("\n".join(lines))
    if args.write:
        documents.put_kind(documents.PERFORMANCE, "make bench-models", kind, lines)
        readme_figures.write()


if __name__ == "__main__":
    main()
