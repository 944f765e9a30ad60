"""`kgen tune`: measure schedules on a device of this machine, and record the fastest."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.cli import problem
from kgen.cli.output import end_progress, number, print_json, print_table, progress
from kgen.errors import SpecError, TargetError

if TYPE_CHECKING:
    from kgen.spec import Spec
    from kgen.targets.base import Target
    from kgen.tune.record import TuningFile
    from kgen.tune.tuner import Tuned, Tuner

OUTPUT = "kgen-tuning.toml"
BUNDLE = ".kgen"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", default=OUTPUT, metavar="TUNING",
        help=f"tuning file to write or extend (default: {OUTPUT}); kgen build --tuning reads it",
    )  # fmt: skip
    parser.add_argument(
        "--survey",
        action="store_true",
        help="measure a grid of matmuls of all types and layouts, where the choice is least "
        "certain",
    )
    parser.add_argument(
        "--minutes", metavar="N",
        help="begin no kernel after N minutes (default: no limit; 60 with --survey)",
    )  # fmt: skip
    parser.add_argument(
        "--device", default="cpu", metavar="D",
        help="device to measure on: cpu, cuda:0, hip, vulkan, ... (default: cpu)",
    )  # fmt: skip
    parser.add_argument(
        "--target", metavar="T",
        help="target to tune (default: native on a CPU, else the best target of the device)",
    )  # fmt: skip
    parser.add_argument(
        "--executor",
        metavar="dask://HOST:PORT",
        help="measure on the workers of a Dask scheduler, each on a machine of its own (pip "
        "install 'kgen-kernels[dask]')",
    )
    problem.configure(parser, kernel="FILE.kgen", kinds="bundle whose kernels are tuned, or ")


def run(args: argparse.Namespace) -> int:
    from kgen.tune.record import TuningFile
    from kgen.tune.tuner import Tuner

    minutes = _minutes(args.minutes)
    bundles = [name for name in args.kernels if name.endswith(BUNDLE)]
    args.kernels = [name for name in args.kernels if name not in bundles]
    given = bool(args.kernels or args.shape)
    if args.survey and (bundles or given):
        raise SpecError("--survey chooses its own kernels; leave out kernels and bundles")
    if not args.survey and not bundles and not given:
        raise SpecError(
            "no kernel is given; pass --shape 1024x1024x1024, a quoted kernel, FILE.kgen or "
            "--survey"
        )
    if not given:
        problem.refuse_options(args)
    target = _target(args)
    specs = _supported(problem.specs_of(args), target) if given else []
    specs += [spec for name in bundles for spec in _specs(name, target)]
    path = Path(args.output)
    file = TuningFile.opened(path, _core(target))
    converted = _converted(path, file, target)
    with _executor_of(args) as executor:
        tuner = Tuner(
            file=file, target=target, device=args.device, executor=executor, progress=progress
        )
        if args.survey:
            from kgen.tune.survey import MINUTES, Survey

            tuner.limit(MINUTES if minutes is None else minutes)
            Survey(tuner).run()
        else:
            tuner.limit(minutes)
            tuner.tune(specs)
    end_progress()
    _print(args, tuner, len(set(specs)), converted)
    return 0


def _minutes(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < float("inf"):
        raise SpecError(f"--minutes {text} is not a number above 0; give one such as 10")
    return minutes


def _target(args: argparse.Namespace) -> Target:
    from kgen import targets
    from kgen.tune.local_cpu import device_info, target_of

    device_info(args.device)
    return target_of(args.device) if args.target is None else targets.find(args.target)


def _core(target: Target) -> str:
    from kgen import targets

    return targets.family(target.family).core(target)


def _specs(name: str, target: Target) -> list[Spec]:
    """Return the kernels of a bundle. Raises SpecError if none is for the target's family."""
    from kgen import spec, targets
    from kgen.bundle_file import SpecifiedBundle
    from kgen.tune.tuner import specs_of_bundle

    with SpecifiedBundle(name) as bundle:
        entries = bundle.manifest.kernels
    found = specs_of_bundle(
        [(spec.from_json(entry.spec), targets.find(entry.target.name)) for entry in entries], target
    )
    if not found:
        raise SpecError(
            f"{name} has no kernel for {target.family} targets such as {target.name}; name another "
            "bundle or --device"
        )
    return found


def _supported(specs: list[Spec], target: Target) -> list[Spec]:
    """Return the kernels in the target's form. Raises TargetError for an unsupported one."""
    from kgen import pipeline, targets

    found = [pipeline.for_target(spec, target, {}) for spec in specs]
    for spec in found:
        targets.family(target.family).check_support(spec, target)
    return found


def _converted(path: Path, file: TuningFile, target: Target) -> str | None:
    """Convert the file of kgen build --tune beside a new tuning file; return a message."""
    from kgen.tune.former import NAME, convert

    former = path.with_name(NAME)
    if path.exists() or not former.is_file():
        return None
    return convert(former, file, target).message


@contextmanager
def _executor_of(args: argparse.Namespace) -> Iterator[Executor | None]:
    if args.executor is None:
        yield None
        return
    from kgen.parallel import executors

    if args.device.partition(":")[0] != "cpu":
        raise TargetError(
            f"--executor measures CPUs, not --device {args.device}; leave one of them out"
        )
    with executors.cluster(args.executor) as workers:
        yield workers


def _print(args: argparse.Namespace, tuner: Tuner, wanted: int, converted: str | None) -> None:
    rows = [_row(each) for each in tuner.results]
    left = 0 if args.survey else max(0, wanted - len(rows))
    if args.json:
        print_json(
            {
                "tuning": str(tuner.file.path),
                "core": tuner.file.core,
                "target": tuner.target.name,
                "rows": tuner.file.count,
                "left": left,
                "converted": converted,
                "kernels": rows,
            }
        )
        return
    if converted:
        print(converted)
    if rows:
        print_table(
            ("kernel", "result", "over the choice", "over the model", "us", "schedule"),
            [
                (
                    row["kernel"],
                    row["result"],
                    _times(row["over_choice"]),
                    _times(row["over_model"]),
                    None if row["seconds"] is None else row["seconds"] * 1e6,
                    row["schedule"],
                )
                for row in rows
            ],
        )
    if left:
        print(f"{left} of {wanted} kernels are left; run the same command again to continue")
    print(
        f"wrote {tuner.file.path} (rows for {tuner.file.core}: {tuner.file.count}); use it: kgen "
        f"build ... --tuning {tuner.file.path}"
    )


def _row(each: Tuned) -> dict[str, Any]:
    found = each.found
    result = "in the file" if found is None else "faster" if found.is_better else "kept"
    fields = {name: int(getattr(each.schedule, name)) for name in each.schedule.names}
    schedule = ",".join(f"{name}={value}" for name, value in fields.items())
    return {
        "kernel": each.spec.key,
        "target": each.target.name,
        "result": result,
        "choice": each.how.value,
        "over_choice": None if found is None else found.gain,
        "over_model": None if found is None else found.over_model,
        "gains": {} if found is None else dict(found.gains),
        "seconds": None if found is None else found.seconds,
        "schedule": f"mainloop={each.schedule.mainloop},{schedule}",
    }


def _times(value: float | None) -> str | None:
    return None if value is None else f"{number(value)}x"
