"""The arguments that describe a problem, and the spec that they make."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterable
from shlex import quote
from typing import TYPE_CHECKING

from kgen.cli.lists import comma_list
from kgen.errors import SpecError
from kgen.spec import OPS, DType, Epilogue, Layout, Math, Matmul, Relu, Softmax, Spec, op_class

if TYPE_CHECKING:
    from kgen.constants import Array

#: Options that go with the operations that have the field of the same name, or of this one.
_FIELDS = {
    name: name
    for name in (
        "out_dtype", "layout", "lda", "ldb", "ldc", "batch", "alpha", "beta", "epilogue", "math",
        "scales", "constant", "log",
    )
} | {"batch_stride": "batch_stride_a"}  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    problem = parser.add_argument_group("problem")
    problem.add_argument(
        "--shape", required=True, metavar="MxNxK",
        help="matmul takes MxNxK, relu AxBx..., softmax ROWSxCOLS",
    )  # fmt: skip
    problem.add_argument(
        "--op", default="matmul", metavar="OP", help=f"{_names(o.op for o in OPS)} (matmul)"
    )
    problem.add_argument("--dtype", default="f16", metavar="D", help=f"{_names(DType)} (f16)")
    problem.add_argument(
        "--out-dtype", metavar="D", help="output type (that of the input; s8: s32, fp8: bf16)"
    )
    problem.add_argument(
        "--layout", metavar="L", help=f"{_names(Layout)}; t = stored transposed (nn)"
    )
    for name, matrix in (("lda", "A"), ("ldb", "B"), ("ldc", "C and the output")):
        problem.add_argument(
            f"--{name}", metavar="N", help=f"leading dimension of {matrix}, elements (packed)"
        )
    problem.add_argument("--batch", metavar="B", help="number of products (1)")
    problem.add_argument(
        "--batch-stride", metavar="a=N,b=0,c=N", help="elements between products; 0 = shared"
    )
    problem.add_argument("--alpha", metavar="X", help="scale of A @ B (1)")
    problem.add_argument("--beta", metavar="X", help="scale of the added C (0: no C)")
    problem.add_argument(
        "--epilogue", metavar="E,...", help=f"in the order given: {_names(Epilogue)}"
    )
    problem.add_argument(
        "--math", metavar="M", help=f"how products of f32 are computed: {_names(Math)} (exact)"
    )
    problem.add_argument(
        "--scales",
        metavar="a,b,out",
        help="f32 arguments that multiply A, B or the output (8 bits)",
    )
    problem.add_argument(
        "--constant",
        metavar="b[=FILE.npy]",
        help="also build a kernel that takes B prepacked (CPU), or that has it in the bundle",
    )
    problem.add_argument("--log", action="store_true", default=None, help="log-softmax")


def spec_of(args: argparse.Namespace) -> Spec:
    """The spec that the arguments describe. Raises SpecError."""
    cls = op_class(args.op)
    op, fields = cls.op, {field.name for field in dataclasses.fields(cls)}
    for name, field in _FIELDS.items():
        if getattr(args, name) is not None and field not in fields:
            raise SpecError(f"--{name.replace('_', '-')} does not go with --op {op}; leave it out")
    if op == Relu.op:
        return Relu(shape=tuple(_shape(args.shape)), dtype=args.dtype)
    if op == Softmax.op:
        rows, cols = _shape(args.shape, "ROWSxCOLS")
        return Softmax(
            rows=rows, cols=cols, dtype=args.dtype, out_dtype=args.out_dtype, log=bool(args.log)
        )
    m, n, k = _shape(args.shape, "MxNxK")
    if args.batch_stride is not None and args.batch is None:
        raise SpecError("--batch-stride is between the products of a batch; give --batch with it")
    strides = _whole_numbers(
        "batch-stride", _assignments("batch-stride", args.batch_stride, ("a", "b", "c"))
    )
    return Matmul(
        m=m,
        n=n,
        k=k,
        dtype=args.dtype,
        out_dtype=args.out_dtype,
        layout=Layout.NN if args.layout is None else args.layout,
        lda=_integer("lda", args.lda),
        ldb=_integer("ldb", args.ldb),
        ldc=_integer("ldc", args.ldc),
        batch=1 if args.batch is None else _whole("batch", args.batch, args.batch),
        batch_stride_a=strides.get("a"),
        batch_stride_b=strides.get("b"),
        batch_stride_c=strides.get("c"),
        alpha=_number("alpha", args.alpha, 1.0),
        beta=_number("beta", args.beta, 0.0),
        epilogue=comma_list(args.epilogue or None),
        math=Math.EXACT if args.math is None else args.math,
        scales=comma_list(args.scales or None),
        constant=(args.constant.partition("=")[0],) if args.constant is not None else (),
    )


def specs_of(args: argparse.Namespace) -> list[Spec]:
    """The kernels to build: beside one with a constant operand, the same without. SpecError."""
    spec = spec_of(args)
    if isinstance(spec, Matmul) and spec.constant:
        return [dataclasses.replace(spec, constant=()), spec]
    return [spec]


def constants_of(args: argparse.Namespace) -> dict[str, Array]:
    """The constants that are given as files, by name. Raises SpecError."""
    name, given, path = (args.constant or "").partition("=")
    if not given:
        return {}
    if not path:
        raise SpecError(f"--constant {name}= names no file; write {name}=FILE.npy, or {name} alone")
    from kgen.constants import read

    return {name: read(path)}


def schedule_fields(text: str | None) -> dict[str, int | str]:
    """`mainloop=mma,num_stages=4` as a dictionary. Raises SpecError."""
    given = _assignments("schedule", text, None)
    mainloop = {name: given.pop(name) for name in ("mainloop",) if name in given}
    return mainloop | _whole_numbers("schedule", given)


def _names(values: Iterable[object]) -> str:
    return " ".join(str(v) for v in values)


def _shape(text: str, form: str | None = None) -> list[int]:
    parts = text.lower().split("x")
    if form is not None and len(parts) != len(form.split("x")):
        raise SpecError(f"--shape {_shown(text)} is not of this operation's form {form}")
    return [_whole("shape", part, text) for part in parts]


def _integer(name: str, text: str | None) -> int | None:
    return None if text is None else _whole(name, text, text)


#: What Python's int() also takes (spaces, underscores, other scripts' digits) is a typing error
#: here; and it takes no more than some 4000 digits.
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}")


def _whole(name: str, text: str, given: str) -> int:
    """`text` as an integer; `given` is the whole value of the option, for the message."""
    if not _WHOLE.fullmatch(text):
        raise SpecError(f"--{name} {_shown(given)} is not a whole number; give one such as 1024")
    return int(text)


def _number(name: str, text: str | None, default: float) -> float:
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"--{name} {_shown(text)} is not a number; give one such as 0.5") from None


def _shown(text: str) -> str:
    """A value as the user gave it, visible when it is empty, cut short when it is endless."""
    return quote(text if len(text) <= 80 else f"{text[:80]}...")


def _assignments(option: str, text: str | None, names: tuple[str, ...] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in comma_list(text or None):
        name, equals, value = part.partition("=")
        if not equals or (names is not None and name not in names):
            form = "name=N" if names is None else " ".join(f"{n}=N" for n in names)
            raise SpecError(f"--{option} {_shown(part)} is not of the form {form}")
        if name in found:
            raise SpecError(f"--{option} {text} gives {name} twice; once is the limit")
        found[name] = value
    return found


def _whole_numbers(option: str, given: dict[str, str]) -> dict[str, int]:
    return {name: _whole(option, value, f"{name}={value}") for name, value in given.items()}
