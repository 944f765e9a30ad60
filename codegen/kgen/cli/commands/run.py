"""`kgen run`: run a bundle's program on arrays from files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kgen.cli import programs
from kgen.cli.output import print_json, print_table

if TYPE_CHECKING:
    from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    programs.configure(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE",
        help="file of the outputs: .npz for all of them, .npy for a single one",
    )  # fmt: skip
    parser.add_argument(
        "--check",
        action="store_true",
        help="refuse indices that are outside of their table (slower)",
    )


def run(args: argparse.Namespace) -> int:
    from kgen.bundle import check_output
    from kgen.errors import SpecError

    target = None if args.output is None else check_output(args.output)
    if target is not None and target.suffix not in (".npy", ".npz"):
        raise SpecError(f"-o {target} does not end in .npy or .npz; rename it")
    given = programs.arrays(args.input)
    with programs.loaded(args) as program:
        names = program.output_names
        if target is not None and target.suffix == ".npy" and len(names) > 1:
            raise SpecError(
                f"-o {target}: a .npy file holds one array, and the program has the outputs "
                f"{', '.join(names)}; give a name that ends in .npz"
            )
        programs.check_given(program, given)
        result = program.run(given, check_indices=args.check)
        outputs = result if isinstance(result, dict) else {names[0]: result}
        device = program.backend.info.id
        dtypes = {value.name: str(value.dtype) for value in program.entry.outputs}
    if target is not None:
        _save(target, outputs)
    rows = [(n, "x".join(map(str, a.shape)), dtypes[n], *_range(a)) for n, a in outputs.items()]
    if args.json:
        keys = ("name", "shape", "dtype", "least", "largest")
        found = [dict(zip(keys, row, strict=True)) for row in rows]
        saved = None if target is None else str(target)
        print_json({"device": device, "outputs": found, "saved": saved})
    else:
        print_table(("output", "shape", "type", "least", "largest"), rows)
        print(f"\non {device}" + (f", saved to {target}" if target is not None else ""))
    return 0


def _range(array: Any) -> tuple[float | None, float | None]:
    """Return the least and the largest number; NaN if there is one, None for an empty array."""
    import numpy as np

    if not array.size:
        return None, None
    numbers = array if array.dtype.kind in "iub" else array.astype(np.float64)
    return float(numbers.min()), float(numbers.max())


def _save(target: Path, outputs: dict[str, Any]) -> None:
    import numpy as np

    from kgen.bundle import writing

    with writing(target) as file:
        if target.suffix == ".npy":
            np.save(file, *outputs.values())
        else:
            np.savez(file, **outputs)
