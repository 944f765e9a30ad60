"""Command-line arguments that describe a problem, and the specs they stand for."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from kgen import suggest
from kgen.cli.lists import comma_list
from kgen.errors import SpecError
from kgen.spec import (
    Attention,
    Conv2d,
    ConvMath,
    DType,
    Epilogue,
    Formula,
    ImageLayout,
    Layout,
    Math,
    Matmul,
    Spec,
    WeightLayout,
    formula_class,
    op_class,
)
from kgen.spec.attention import Diagonal, HeadLayout
from kgen.spec.choices import NARROW
from kgen.spec.conv2d import PADDING, PADDINGS
from kgen.spec.elementwise import INDEX_DTYPES
from kgen.spec.epilogue import EXTENTS
from kgen.spec.formula import expression_of
from kgen.spec.text import (
    AXIS_FIELDS,
    EXAMPLE,
    FORM,
    attention_shapes,
    convolution_shapes,
    dtype_fields,
    out_dtype_fields,
    parse,
    per_axis,
    shapes,
)

if TYPE_CHECKING:
    from kgen.constants import Array

_EXAMPLE = f"a quoted kernel such as '{EXAMPLE}'"

#: Options that set the spec's field of this name, for operations that have it.
_FIELDS = {
    name: name
    for name in (
        "out_dtype", "layout", "lda", "ldb", "ldc", "batch", "alpha", "beta", "epilogue",
        "epilogue_shapes", "epilogue_dtypes", "math", "scales", "constant", "axes", "index_dtype",
        "b_dtype", "stride", "padding", "padding_value", "dilation", "groups", "weight_layout",
        "causal", "diagonal", "window", "mask", "mask_dtype", "softcap", "scale", "v_scale",
        "kv_length", "lse", "page_size", "pages", "mask_value", "empty_rows", "kv_layout",
        "q_strides", "k_strides", "v_strides", "out_strides",
    )
} | {"batch_stride": "batch_stride_a"}  # fmt: skip


#: Options that are comma lists of words.
LISTS = ("epilogue_shapes", "epilogue_dtypes", "scales")


def configure(parser: argparse.ArgumentParser, *, kernel: str = "KERNEL", kinds: str = "") -> None:
    problem = parser.add_argument_group("problem")
    problem.add_argument(
        "kernels", metavar=kernel, nargs="*",
        help=f"{kinds}a kernel as one quoted text, such as 'matmul 512x512x1024 f16 +bias'; form: "
        f"{FORM}",
    )  # fmt: skip
    problem.add_argument(
        "--shape", action="append", metavar="MxNxK",
        help="MxNxK of a matmul; input and weights of a convolution (1x64x56x56,64x64x3x3: "
        "images x channels x sizes, outputs x channels of a group x kernel); attention: "
        "q=1x12x512x64,k=1x4x512x64 and v=... if it differs from k (batch x heads x sequence x "
        "elements); for other operations "
        "AxBx..., one shape for all inputs or one per input (64x512,512 or gate=64x512,up=512); "
        "repeat the option to build more kernels with the same options",
    )  # fmt: skip
    problem.add_argument(
        "--op", metavar="OP",
        help="matmul, conv2d, attention, a function such as softmax or relu, or an expression such "
        "as 'silu(gate) * up' (default: matmul)",
    )  # fmt: skip
    problem.add_argument(
        "--dtype", metavar="D",
        help=f"input dtype: {_names(DType)} (default: f16); inputs of an expression may differ: "
        "bool,f32 or mask=bool,x=f32",
    )  # fmt: skip
    problem.add_argument(
        "--out-dtype", metavar="D",
        help="output dtype (default: the input dtype, but s32 for s8 and bf16 for fp8); outputs of "
        "an expression may differ: f16,f32 or out=f16,mean=f32",
    )  # fmt: skip
    problem.add_argument(
        "--b-dtype", metavar="D",
        help=f"dtype of a narrow B with --dtype f32: {_names(NARROW[DType.F32])}; --out-dtype "
        "stays f32 by default",
    )  # fmt: skip
    problem.add_argument(
        "--layout", metavar="L",
        help=f"storage of A and B: {_names(Layout)}; t = stored transposed (default: nn); of a "
        f"convolution's input and output: {_names(ImageLayout)} (default: nhwc); of attention: "
        f"{_names(HeadLayout)} (default: bhsd)",
    )  # fmt: skip
    for name, matrix in (("lda", "A"), ("ldb", "B"), ("ldc", "C and the output")):
        problem.add_argument(
            f"--{name}", metavar="N",
            help=f"leading dimension of {matrix} in elements (default: no gaps)",
        )  # fmt: skip
    problem.add_argument(
        "--batch", metavar="B", help="batch size, or batch dimensions such as 8x12 (default: 1)"
    )
    problem.add_argument(
        "--batch-stride", metavar="a=N,b=0,c=N",
        help="elements between the matrices of a batch; 0 = one matrix for the whole batch",
    )  # fmt: skip
    problem.add_argument(
        "--stride", metavar="S", help="stride of a convolution: 2, or 2x1 by axis (default: 1)"
    )
    problem.add_argument(
        "--padding", metavar="P",
        help="padding of a convolution: 1, 1x2 by axis, 0x0x1x1 before each axis and then after "
        f"each, or {', '.join(PADDINGS)} (default: 0)",
    )  # fmt: skip
    problem.add_argument(
        "--padding-value", metavar="Z",
        help="value of a convolution's padding, for s8: a number (the zero point), or "
        f"'{PADDING}' to pass it as an argument of that name (default: 0)",
    )  # fmt: skip
    problem.add_argument(
        "--dilation", metavar="D", help="dilation of a convolution's kernel (default: 1)"
    )
    problem.add_argument("--groups", metavar="G", help="groups of a convolution (default: 1)")
    problem.add_argument(
        "--weight-layout", metavar="L",
        help=f"storage of a convolution's weights: {_names(WeightLayout)} (default: ohwi beside "
        "nhwc, oihw beside nchw)",
    )  # fmt: skip
    problem.add_argument("--alpha", metavar="X", help="factor of A @ B (default: 1)")
    problem.add_argument(
        "--beta", metavar="X", help="factor of C, an input that is added (default: 0, without C)"
    )
    problem.add_argument(
        "--epilogue",
        metavar="E",
        help="expression of x (the product) and operands: 'gelu(x + bias) * scale'; or a comma "
        f"list of steps in order: {','.join(Epilogue)} and any function of one number",
    )
    problem.add_argument(
        "--epilogue-shapes",
        metavar="NAME=S,...",
        help="shapes of an epilogue's operands: n (one number per column), mx1 (one per row), mxn "
        f"or 1; always {', '.join(f'{name}={extent}' for name, extent in EXTENTS.items())}",
    )
    problem.add_argument(
        "--epilogue-dtypes",
        metavar="NAME=D,...",
        help="dtypes of operands of shape n, mx1 or 1: f32, f16 or bf16 (default: the output "
        "dtype, but f32 for 8-bit outputs)",
    )
    problem.add_argument(
        "--math", metavar="M",
        help=f"arithmetic of f32 products: {_names(Math)}; of 3x3 convolutions on CPUs: "
        f"{_names(ConvMath)} (tiles of 2x2 or 4x4 outputs; winograd is winograd4) (default: exact)",
    )  # fmt: skip
    problem.add_argument(
        "--scales",
        metavar="a,b,out",
        help="8-bit products: f32 arguments that scale A, B or the output",
    )
    problem.add_argument(
        "--constant",
        metavar="b[=FILE.npy]",
        help="also build a kernel with a constant B: the caller packs it once (CPU), or FILE.npy "
        "is stored in the bundle",
    )
    problem.add_argument(
        "--axes",
        metavar="LIST",
        help="axes that row-wise functions reduce, numbered as in numpy: 1 or 0,2 or =-2,-1 "
        "(default: the last)",
    )
    _configure_attention(problem)
    problem.add_argument(
        "--index-dtype", metavar="D",
        help=f"dtype of gather's indices: {' '.join(INDEX_DTYPES)} (default: s32)",
    )  # fmt: skip


def _configure_attention(problem: argparse._ArgumentGroup) -> None:
    for name, what in (
        ("causal", "attention: a query attends to no key after its position"),
        ("kv-length", "attention: an argument has the number of valid keys of each batch element"),
        ("lse", "attention: also write log(sum(exp(scores))) of each query"),
    ):
        problem.add_argument(f"--{name}", action="store_const", const=True, help=what)
    for name, metavar, what in (
        (
            "diagonal",
            "D",
            f"corner of the scores at which positions of queries and keys are equal: "
            f"{_names(Diagonal)} (default: top_left)",
        ),
        ("window", "N", "attention: a query attends to keys less than N from its position"),
        ("mask", "SHAPE", "attention: a mask of this shape, which broadcasts to the scores"),
        (
            "mask-dtype",
            "D",
            "dtype of the mask: bool (true: attend); f32 or --dtype is added to the scores "
            "(default: --dtype)",
        ),
        ("mask-value", "X", "score of keys that a boolean mask hides (default: -infinity)"),
        (
            "empty-rows",
            "R",
            "result of a query whose scores are all -infinity: zeros, nan, or no_nan (zeros, also "
            "if a score is NaN or +infinity) (default: zeros)",
        ),
        ("softcap", "X", "attention: scores become X tanh(score / X) (default: 0, unchanged)"),
        ("scale", "X", "factor of attention's scores (default: 1 / sqrt(elements of a head))"),
        ("v-scale", "X", "scale of attention's V in e4m3, a factor of the result (default: 1)"),
        (
            "kv-layout",
            "L",
            f"storage of K and V: {_names(HeadLayout)} (default: --layout; bshd for pages)",
        ),
        ("page-size", "N", "attention: K and V are pools of pages of N keys, found by a table"),
        ("pages", "N", "number of pages in the pools (default: enough for all keys)"),
        *(
            (f"{name}-strides", "AxBxC", f"strides of {name}'s first three stored axes")
            for name in ("q", "k", "v", "out")
        ),
    ):
        problem.add_argument(f"--{name}", metavar=metavar, help=what)


def specs_of(args: argparse.Namespace) -> list[Spec]:
    """Return the specs to build; one with a constant operand is preceded by one without.

    Raises SpecError.
    """
    shapes = args.shape or []
    if not shapes and not args.kernels:
        raise SpecError(f"no kernel is given; pass --shape 1024x1024x1024, or {_EXAMPLE}")
    specs = [_parsed(text) for text in args.kernels]
    if not shapes:
        refuse_options(args)
    for shape in shapes:
        spec = _spec_of(args, shape)
        if isinstance(spec, Conv2d) and spec.constant:
            specs.append(dataclasses.replace(spec, constant=(), math=ConvMath.EXACT))
        elif isinstance(spec, Matmul) and spec.constant:
            specs.append(dataclasses.replace(spec, constant=()))
        specs.append(spec)
    return specs


def bundle_name(args: argparse.Namespace, specs: Sequence[Spec]) -> str:
    """Return the default file name of a bundle."""
    alone = len(args.kernels) + len(args.shape or []) == 1
    return f"{specs[-1].key if alone else 'kernels'}.kgen"


def _parsed(text: str) -> Spec:
    """Return the spec that one quoted argument describes."""
    if len(text.split()) < 2:
        raise SpecError(f"{_shown(text)} is not a kernel; pass --shape MxNxK, or {_EXAMPLE}")
    try:
        return parse(text)
    except SpecError as error:
        raise error if text in str(error) else SpecError(f"{_shown(text)}: {error}") from None


def refuse_options(args: argparse.Namespace) -> None:
    """Raise SpecError for options that need --shape; a quoted kernel includes all options."""
    for name in ("op", "dtype", *_FIELDS):
        given = getattr(args, name)
        is_file = name == "constant" and "=" in (given or "")
        if given is not None and not is_file:
            option = f"--{name.replace('_', '-')}"
            raise SpecError(
                f"{option} needs --shape; for a quoted kernel, write the option into its text: "
                f"{FORM}"
            )


def _spec_of(args: argparse.Namespace, shape: str) -> Spec:
    """Return the spec of this shape that the options describe."""
    op = "matmul" if args.op is None else args.op
    expression = expression_of(op)
    cls = op_class(op) if expression is None else formula_class(expression)
    names = {field.name for field in dataclasses.fields(cls)}
    for name, field in _FIELDS.items():
        if getattr(args, name) is not None and field not in names:
            option = name.replace("_", "-")
            raise SpecError(f"--{option} is not an option of --op {_shown(op)}; leave it out")
    fields: dict[str, Any] = {}
    if args.dtype is not None:
        fields = dtype_fields(cls, expression or "", args.dtype)
    if args.out_dtype is not None:
        fields |= out_dtype_fields(cls, expression or "", args.out_dtype)
    if issubclass(cls, Formula):
        assert expression is not None
        if args.axes is not None:
            axes = comma_list(args.axes or None)
            fields["axes"] = [_whole("axes", axis, args.axes, "1") for axis in axes]
        if args.index_dtype is not None:
            fields["index_dtype"] = args.index_dtype
        return cls(expression=expression, shapes=shapes(expression, shape), **fields)
    if cls is Conv2d:
        return _conv2d(args, shape, fields)
    if cls is Attention:
        return _attention(args, shape, fields)
    if args.batch_stride is not None and args.batch is None:
        raise SpecError("--batch-stride needs a batch; add --batch N")
    m, n, k = _shape(shape, "MxNxK")
    strides = _assignments("batch-stride", args.batch_stride, ("a", "b", "c"))
    fields |= {
        f"batch_stride_{name}": _one_or_several("batch-stride", text, f"{name}={text}")
        for name, text in strides.items()
    }
    batch = _one_or_several("batch", args.batch or "1", args.batch or "1")
    fields["batch" if isinstance(batch, int) else "batch_dims"] = batch
    fields |= {name: _integer(name, getattr(args, name)) for name in ("lda", "ldb", "ldc")}
    fields |= {name: comma_list(getattr(args, name) or None) for name in LISTS}
    fields["epilogue"] = args.epilogue or ()
    given = {name: getattr(args, name) for name in ("layout", "math", "b_dtype")}
    fields |= {name: value for name, value in given.items() if value is not None}
    if args.constant is not None:
        fields["constant"] = (args.constant.partition("=")[0],)
    return Matmul(
        m=m,
        n=n,
        k=k,
        alpha=_number("alpha", args.alpha, 1.0),
        beta=_number("beta", args.beta, 0.0),
        **fields,
    )


def _conv2d(args: argparse.Namespace, shape: str, fields: dict[str, Any]) -> Conv2d:
    """Return the convolution that the options describe; `fields` are its dtypes."""
    fields |= convolution_shapes(shape)
    fields |= {
        name: per_axis(name, value)
        for name in AXIS_FIELDS
        if (value := getattr(args, name)) is not None
    }
    fields |= {
        name: comma_list(value)
        for name in ("epilogue_shapes", "epilogue_dtypes")
        if (value := getattr(args, name)) is not None
    }
    fields |= {
        name: value
        for name in ("layout", "weight_layout", "epilogue", "b_dtype", "math")
        if (value := getattr(args, name)) is not None
    }
    if args.groups is not None:
        fields["groups"] = _integer("groups", args.groups)
    if (value := args.padding_value) is not None:
        is_number = value.removeprefix("-").isdecimal()
        fields["padding_value"] = int(value) if is_number else value
    if args.constant is not None:
        fields["constant"] = (args.constant.partition("=")[0],)
    return Conv2d(**fields)


def _attention(args: argparse.Namespace, shape: str, fields: dict[str, Any]) -> Attention:
    """Return the attention that the options describe; `fields` are its dtypes."""
    fields |= attention_shapes(shape)
    for name in (
        *("layout", "kv_layout", "diagonal", "mask_dtype", "empty_rows"),
        *("causal", "kv_length", "lse"),
    ):
        if (value := getattr(args, name)) is not None:
            fields[name] = value
    for name in ("mask", "q_strides", "k_strides", "v_strides", "out_strides"):
        if (value := getattr(args, name)) is not None:
            fields[name] = tuple(_shape(value))
    for name in ("scale", "v_scale", "softcap", "mask_value"):
        if getattr(args, name) is not None:
            fields[name] = _number(name, getattr(args, name), 0.0)
    for name in ("window", "page_size", "pages"):
        if getattr(args, name) is not None:
            fields[name] = _integer(name, getattr(args, name))
    return Attention(**fields)


def constants_of(args: argparse.Namespace) -> dict[str, Array]:
    """Return the constants that are given as files, by name. Raises SpecError."""
    name, given, path = (args.constant or "").partition("=")
    if not given:
        return {}
    if not path:
        raise SpecError(
            f"--constant {name}= has no file name; write {name}=FILE.npy, or {name} alone"
        )
    from kgen.constants import read

    return {name: read(path)}


def schedule_fields(text: str | None) -> dict[str, int | str]:
    """Return `mainloop=mma,num_stages=4` as a dictionary. Raises SpecError."""
    given = _assignments("schedule", text, None)
    mainloop = {name: given.pop(name) for name in ("mainloop",) if name in given}
    for name, value in given.items():
        if not _WHOLE.fullmatch(value) and (meant := suggest.meant(name, ["mainloop"])):
            raise SpecError(f"--schedule {name}={value} is not an integer; {meant}")
    return mainloop | {n: _whole("schedule", value, f"{n}={value}") for n, value in given.items()}


def _names(values: Iterable[object]) -> str:
    return " ".join(str(v) for v in values)


def _shape(text: str, form: str | None = None) -> list[int]:
    parts = text.lower().split("x")
    if form is not None and len(parts) != (sizes := len(form.split("x"))):
        raise SpecError(
            f"--shape {_shown(text)} does not have the form {form}; give {sizes} sizes such as "
            f"{'x'.join(['64'] * sizes)}"
        )
    return [_whole("shape", part, text) for part in parts]


def _integer(name: str, text: str | None) -> int | None:
    return None if text is None else _whole(name, text, text)


#: Integers on the command line. Python's int() also accepts spaces, underscores and digits of other
#: scripts, which are typing errors here, and fails beyond 4300 digits.
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}")


def _whole(name: str, text: str, given: str, example: str = "1024") -> int:
    """Return `text` as an integer; `given` is the option's whole value, for the message."""
    if not _WHOLE.fullmatch(text):
        what = _shown(text) if text == given else f"{_shown(given)}: {_shown(text)}"
        raise SpecError(f"{_option(name)} {what} is not an integer; give one such as {example}")
    return int(text)


def _one_or_several(name: str, text: str, given: str) -> int | tuple[int, ...]:
    """Return a number, or one for each dimension of a batch."""
    parts = text.lower().split("x")
    if not all(map(_WHOLE.fullmatch, parts)):
        raise SpecError(
            f"--{name} {_shown(given)} is not an integer for each dimension; give one such as "
            "1024, or 1024x64 for two dimensions"
        )
    found = tuple(map(int, parts))
    return found[0] if len(found) == 1 else found


def _number(name: str, text: str | None, default: float) -> float:
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise SpecError(
            f"{_option(name)} {_shown(text)} is not a number; give one such as 0.5"
        ) from None


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _shown(text: str) -> str:
    """Return a value for a message: quoted, and shortened if long."""
    return quote(text if len(text) <= 80 else f"{text[:80]}...")


def _assignments(option: str, text: str | None, names: tuple[str, ...] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in comma_list(text or None):
        name, equals, value = part.partition("=")
        if not equals or (names is not None and name not in names):
            form = "NAME=N" if names is None else ", ".join(f"{n}=N" for n in names)
            example = f"{name or 'x'}=4" if names is None else f"{names[0]}=1024"
            raise SpecError(
                f"--{option} {_shown(part)} does not have the form {form}; give one such as "
                f"{_shown(example)}"
            )
        if name in found:
            raise SpecError(f"--{option} {text} sets {name} twice; set it once")
        found[name] = value
    return found
