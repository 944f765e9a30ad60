"""`kgen compile`: compile an ONNX model into one bundle, with a program per target."""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.cli import workers
from kgen.cli.lists import comma_list
from kgen.cli.model_check import print_results, verified
from kgen.cli.output import end_progress, print_json, print_table, progress
from kgen.errors import GraphError, TargetError

if TYPE_CHECKING:
    from kgen.graph.compile import CompiledModel
    from kgen.graph.lowering.calls import AttentionChoice
    from kgen.spec import Spec

#: Meaning of exit status 1.
FAILED = "with --verify: a step or the whole program is wrong; nothing is written"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.onnx", help="model to compile")
    parser.add_argument(
        "--target", required=True, metavar="T,...",
        help="comma list of targets: sm_80, gfx942, vulkan1.3, native, ... (list them with kgen "
        "targets)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="bundle to write (default: MODEL.kgen)"
    )
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME=1x128,...",
        help="shape of an input that the model leaves open, or size of a named dimension (batch=8)",
    )  # fmt: skip
    parser.add_argument(
        "--state", action="append", default=[], metavar="PAST=PRESENT",
        help="keep the output PRESENT in the program as the input PAST of the next run (KV cache); "
        "repeat the option, or use * for any text: 'past.*=present.*'",
    )  # fmt: skip
    parser.add_argument(
        "--capacity", action="append", default=[], metavar="NAME=300",
        help="largest size of an output whose size depends on data, such as that of "
        "NonMaxSuppression (default: as many as the model may give); repeat the option",
    )  # fmt: skip
    parser.add_argument(
        "--weights", metavar="D",
        help="round constant weights of matrix products to bf16, s8 (one scale per column) or s4 "
        "(one scale per 32 elements of a column)",
    )  # fmt: skip
    parser.add_argument(
        "--products", metavar="D",
        help="round both operands of matrix products to bf16 or f16; sums stay f32",
    )  # fmt: skip
    parser.add_argument(
        "--conv", metavar="C", default="exact",
        help="arithmetic of 3x3 convolutions of f32 on CPUs: exact, or winograd where it is "
        "predicted to be faster; its rounding differs (default: exact)",
    )  # fmt: skip
    parser.add_argument(
        "--external-weights",
        action="store_true",
        help="write weights into the folder weights beside the bundle, which several bundles may "
        "share",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="first run each step and the whole program and compare them with the model in f64; "
        "write nothing if one is wrong",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show for each attention of the model whether it is one kernel or separate steps, and "
        "predicted times and lower bounds of both",
    )
    workers.configure_tuning(parser)
    workers.configure(parser)


def run(args: argparse.Namespace) -> int:
    from kgen.bundle import check_output
    from kgen.graph.compile import compile_model

    targets = comma_list(args.target)
    if twice := [name for name in targets if name and targets.count(name) > 1]:
        raise TargetError(f"--target {args.target} names {twice[0]} twice; name each once")
    output = check_output(f"{Path(args.model).stem}.kgen" if args.output is None else args.output)
    start = time.perf_counter()
    shapes = shapes_of(args.shape)
    with workers.executor_of(args) as executor:
        compiled = compile_model(
            args.model,
            targets,
            shapes=shapes,
            states=pairs_of(args.state),
            capacities=capacities_of(args.capacity),
            weights=args.weights,
            products=args.products,
            conv=args.conv,
            tuning=workers.tuning_of(args),
            progress=progress,
            executor=executor,
            cache=not args.no_cache,
        )
    if args.verify:
        results = verified(compiled.bundle, args.model)
        if not args.json or not all(result.passed for result in results):
            print_results(results, json=args.json)
        if not all(result.passed for result in results):
            return 1
    compiled.bundle.save(output, external_weights=args.external_weights)
    end_progress()
    rows = rows_of(compiled)
    choices = choices_of(compiled) if args.explain else []
    if args.json:
        explained = {"attention": choices} if args.explain else {}
        print_json({"bundle": str(output), "programs": rows} | explained)
        return 0
    if args.explain:
        print_choices(choices)
    print_table(COLUMNS, [tuple(row.values()) for row in rows])
    print(f"\n{LEGEND}")
    seconds = time.perf_counter() - start
    print(f"wrote {output} ({output.stat().st_size} bytes) in {seconds:.1f} s")
    return 0


def choices_of(compiled: CompiledModel) -> list[dict[str, Any]]:
    """Return a row per attention that a model writes out and that has other sizes or times."""
    from kgen.spec.shapes import by_x

    counts = Counter(
        (target, dataclasses.replace(choice, nodes=()))
        for target, lowered in compiled.lowered.items()
        for choice in lowered.choices
    )
    rows = Counter[tuple[object, ...]]()
    for (name, choice), count in counts.items():
        way = "one kernel" if choice.is_one_kernel else "steps"
        rows[name, by_x(choice.spec.q), by_x(choice.spec.k), *times_of(name, choice), way] += count
    return [
        {
            "target": target,
            "q": q,
            "k": k,
            "count": count,
            "one_kernel": seconds,
            "steps": apart,
            "one_kernel_floor": floor,
            "steps_floor": floor_apart,
            "choice": way,
        }
        for (target, q, k, seconds, apart, floor, floor_apart, way), count in rows.items()
    ]


def times_of(name: str, choice: AttentionChoice) -> tuple[float | None, ...]:
    """Return predicted seconds of one kernel and of its steps, and their floors by the roofline.

    A time is None if the target does not support the kernel, or if no model or device is known.
    """
    from kgen import targets
    from kgen.check.static.roofline import roofline_of

    target = targets.find(name)
    family = targets.family(target.family)

    def total(times: Iterable[float | None]) -> float | None:
        known = list(times)
        return None if None in known else sum(each for each in known if each is not None)

    def floor(spec: Spec) -> float | None:
        line = roofline_of(spec, target)
        return None if line is None else line.floor

    seconds, apart = choice.seconds, choice.seconds_apart
    if seconds is None:
        seconds = family.predicted_seconds(target, choice.spec)
        apart = total(family.predicted_seconds(target, step) for step in choice.steps)
    is_supported = choice.is_one_kernel or family.planned(choice.spec, target) is not None
    least = floor(choice.spec) if is_supported else None
    return seconds, apart, least, total(map(floor, choice.steps))


def print_choices(choices: Sequence[dict[str, Any]]) -> None:
    if not choices:
        print("attention: no target computes any attention of the model in one kernel\n")
        return
    header = ("target", "q", "k", "count", "one kernel (us)", "steps (us)", "at least (us)",
              "steps at least (us)", "choice")  # fmt: skip
    rows = [
        [value * 1e6 if isinstance(value, float) else value for value in choice.values()]
        for choice in choices
    ]
    print_table(header, rows)
    print(
        "\nAttention as one kernel, or as the model's steps: two products and a softmax. Times\n"
        "are predicted by the target's cost model, on CPUs for one thread. 'At least' is a lower\n"
        "bound by the peak rates of a well-known device, with each tensor of a kernel moved once.\n"
        "-: no cost model, device or kernel is known. Count: attentions of these sizes.\n"
    )


def shapes_of(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the inputs' shapes by name. Raises GraphError."""
    found: dict[str, tuple[int, ...]] = {}
    for text in (part.strip() for several in texts for part in several.split(",")):
        name, equals, sizes = text.rpartition("=")
        parts = sizes.lower().split("x") if sizes else []
        if not equals or not name or not all(part.isdecimal() for part in parts):
            raise GraphError(
                f"--shape {text} does not have the form NAME=SIZExSIZE; "
                "give one such as input_ids=1x128"
            )
        if name in found:
            raise GraphError(f"--shape sets {name} twice; set it once")
        found[name] = tuple(map(int, parts))
    return found


def capacities_of(texts: Sequence[str]) -> dict[str, int]:
    """Return the largest sizes of outputs by name. Raises GraphError."""
    found: dict[str, int] = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal():
            raise GraphError(
                f"--capacity {text} does not have the form NAME=SIZE; give one such as selected=300"
            )
        if name in found:
            raise GraphError(f"--capacity sets {name} twice; set it once")
        found[name] = int(size)
    return found


def pairs_of(texts: Sequence[str]) -> dict[str, str]:
    """Return the states as {input: output}. Raises GraphError."""
    found: dict[str, str] = {}
    for text in texts:
        past, _, present = text.partition("=")
        if not past or not present:
            raise GraphError(
                f"--state {text} does not have the form PAST=PRESENT; give the name of an input "
                "and that of the output which becomes it"
            )
        if past in found:
            raise GraphError(f"--state sets {past} twice; set it once")
        found[past] = present
    return found


#: Headers of `rows_of`.
COLUMNS = ("target", "steps", "kernels", "arena (B)", "least arena (B)", "weights (B)")
LEGEND = """\
steps: kernel launches of one run; kernels: different kernels among them; arena: memory for the
values of one run; least arena: size of the values that are alive at one time, below which no memory
plan can go; weights: constants in the bundle, after rounding by --weights."""


def rows_of(compiled: CompiledModel) -> list[dict[str, object]]:
    """Return a row per program; `least` is a lower bound of the memory that any plan needs."""
    return [
        {
            "target": program.target,
            "steps": len(program.steps),
            "kernels": len(program.kernels),
            "arena": program.arena_bytes,
            "least": compiled.memory[program.target].least,
            "weights": sum({w.file: w.nbytes for w in program.weights}.values()),
        }
        for program in compiled.bundle.manifest.programs
    ]
