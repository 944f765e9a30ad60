"""Time whole models side by side with ONNX Runtime and OpenVINO.

    python -m benchmarks.models [--only MODEL,...] [--threads N,...] [--resume]

All three run in turn in one process, on the same inputs, with the same number of threads. Ratios
are of first deciles, which a busy machine disturbs less than medians. Models are fetched by pip,
once. kgen also times the float model of a quantised one (`kgen-f32`), and a network of convolutions
with Winograd's arithmetic (`kgen-winograd`). If one thread was timed before, a row of several
threads has the gain of the fastest library (`library_gain`).
"""

from __future__ import annotations

import dataclasses
import gc
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import kgen
from benchmarks import suite
from benchmarks.differences import apart
from benchmarks.models import cost, engines
from benchmarks.models.ceiling import least_seconds
from benchmarks.models.models import MODELS, Model
from benchmarks.results import Peer, Row, Timing
from kgen.check.bench import timing
from kgen_runtime.errors import DeviceError

#: Rounds of a model, and the seconds after which no further round starts.
ROUNDS, LIMIT = 21, 8.0


def first_decile(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=10, method="inclusive")[0]


def measured(model: Model, folder: Path, rounds: int, limit: float) -> Iterator[Row]:
    """Yield the rows of one model: its time for each number of threads, and its other costs."""
    onnx, bundle = model.path(), folder / f"{model.name}.kgen"
    made, manifest = cost.compiled(model, onnx, bundle)
    others = variants(model, onnx, folder)
    alone: Row | None = None
    for threads in model.threads:
        try:
            least: float | str = least_seconds(manifest, threads)
        except DeviceError as error:  # an instruction whose rate is not measured
            least = str(error)
        row = timed(model, onnx, bundle, others, threads, rounds, limit, least)
        if threads == 1:
            alone = row
        elif alone is not None:
            gain = library_gain(model, alone, row)
            row = dataclasses.replace(row, values={**row.values, **gain})
        yield row
        gc.collect()
    values = {name: value for name, value in vars(made).items() if value is not None}
    # Processes start with a program without states.
    if not model.states:
        for name, kind, path, verify in (
            ("", "kgen", bundle, "code"),
            ("all_digests_", "kgen", bundle, "all"),
            ("onnxruntime_", "onnxruntime", onnx, "code"),
        ):
            started = dataclasses.asdict(cost.started(model, kind, path, verify))
            values |= {f"{name}{field}": value for field, value in started.items()}
    for path in folder.glob("*.kgen"):
        path.unlink()
    yield Row(table="cost", work=model.name, values=values)


def library_gain(model: Model, alone: Row, several: Row) -> dict[str, float]:
    """Return how much faster the fastest library is in several threads than in one."""
    times = [
        [found.time.median for name in model.peers if (found := row.peers[name]).time is not None]
        for row in (alone, several)
    ]
    return {"library_gain": min(times[0]) / min(times[1])} if all(times) else {}


def variants(model: Model, onnx: Path, folder: Path) -> dict[str, Path]:
    """Return kgen's other bundles by name: of the float model, and with Winograd's arithmetic."""
    found: dict[str, Path] = {}
    if model.unquantized:
        found["kgen-f32"] = folder / f"{model.name}-f32.kgen"
        made = kgen.compile_model(model.unquantized(), ["native"], shapes=model.shapes)
        made.bundle.save(found["kgen-f32"])
    if model.has_winograd:
        found["kgen-winograd"] = folder / f"{model.name}-winograd.kgen"
        made = kgen.compile_model(onnx, ["native"], shapes=model.shapes, conv="winograd")
        made.bundle.save(found["kgen-winograd"])
    return found


def timed(
    model: Model,
    onnx: Path,
    bundle: Path,
    variants: Mapping[str, Path],
    threads: int,
    rounds: int,
    limit: float,
    ceiling: float | str,
) -> Row:
    """Time kgen, the peers that are installed, and other bundles of kgen, in turn.

    `ceiling` is the least time in seconds, or the reason why it is not known.
    """
    found, peers = [engines.kgen(model, bundle, threads)], dict[str, Peer]()
    for name in model.peers:
        try:
            found.append(engines.PEERS[name](model, onnx, threads))
        except Exception as error:  # any error of a library
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            peers[name] = Peer(missing=reason)
    ours = found[0].outputs()
    errors = [apart(ours, peer.outputs()) for peer in found[1:]]
    found += [engines.kgen(model, path, threads, name) for name, path in variants.items()]
    rest = timing.rest_of(threads)
    taken = timing.quiet_samples([one.call for one in found], rounds, limit, rest=rest, attempts=2)
    mine, *others = taken.times
    best = first_decile(mine)
    for one, times in zip(found[1:], others, strict=True):
        peers[one.name] = Peer(
            time=Timing.of(times),
            ratio=first_decile(times) / best,
            noise=timing.ratio_noise(mine, times),
        )
    if isinstance(ceiling, str):
        peers["ceiling"] = Peer(missing=ceiling)
    else:
        peers["ceiling"] = Peer(ratio=ceiling / best)
    return Row(
        table="models",
        work=model.name,
        variant={"threads": threads},
        time=Timing.of(mine),
        peers=peers,
        values={"first_decile": best, "load": found[0].load, "others": taken.load}
        | ({"furthest_apart": max(errors)} if errors else {}),
    )


def counts(text: str) -> tuple[int, ...]:
    """Return the numbers of threads in a text. Raises ValueError unless all are positive."""
    found = tuple(map(int, text.split(",")))
    if min(found) < 1:
        raise ValueError
    return found


def main() -> None:
    parser = suite.options(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a model's rounds")
    parser.add_argument(
        "--threads", type=counts, metavar="N,...", help="numbers of threads (each model's own)"
    )
    args = parser.parse_args()
    todo = suite.chosen(parser, args.only, {model.name: model for model in MODELS})
    engines.limit_onnxruntime()
    run = suite.Run("models", args, versions=suite.versions(*engines.PEERS))
    with tempfile.TemporaryDirectory() as folder:
        for model in todo:
            if args.threads:
                model = dataclasses.replace(model, threads=args.threads)
            if not run.has("cost", model.name):
                for row in measured(model, Path(folder), args.rounds, args.limit):
                    run.add(row)
    print(f"written: {run.path}")


if __name__ == "__main__":
    main()
