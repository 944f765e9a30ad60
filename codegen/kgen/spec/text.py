"""A spec as one line of text, such as ``matmul 1024x1024x1024 f16 layout=nt +bias+relu``.

::

    spec     = op size{xsize} dtype {option} {+step}
    option   = field=value | flag

The operation is a name, or an expression without blanks such as ``silu(gate)*up``. Its sizes are
one of:

- M x N x K of a matmul;
- ROWS x COLS of a row-wise function;
- input and weights of a convolution: ``1x64x56x56,64x64x3x3``;
- q, k and v of attention by name, with v only if it differs from k:
  ``q=1x12x512x64,k=1x12x512x64``;
- the inputs of an expression, one shape for all or one for each: ``64x512,512``.

An expression may also have one dtype for each input, ``bool,f32``, and for each output,
``out=f16,f32``.

An option sets another field of the operation by its name (layout, lda, batch, batch_stride_a,
alpha, axes=0,2, ...); `out` is short for out_dtype. A boolean field such as causal is given by its
name alone.

Steps are those of the epilogue; blanks around the plus are allowed. An epilogue that is no chain of
steps is an option: ``epilogue=gelu(x+bias)*scale``.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from typing import Any, Literal

from kgen import suggest
from kgen.errors import SpecError
from kgen.ops import parse as parse_expression
from kgen.ops.expression import infix
from kgen.spec import Attention, Conv2d, Formula, Rowwise, Spec, formula_class, op_class
from kgen.spec.enum_fields import Members
from kgen.spec.epilogue import EpilogueDtypes, EpilogueShapes, steps_of
from kgen.spec.formula import by_name, expression_of
from kgen.spec.rowwise import Axes
from kgen.spec.shapes import by_x
from kgen.spec.strides import Dims

FORM = "op size{xsize} dtype {option} [+epilogue]"
EXAMPLE = "matmul 1024x1024x1024 f16 +bias+relu"
#: Short names of options, and their fields.
SHORT = {"out": "out_dtype"}
#: Options that are one number, or one for each spatial axis.
AXIS_FIELDS = ("stride", "padding", "dilation")
LONG = {field: name for name, field in SHORT.items()}
_WHOLE = re.compile(r"-?[0-9]{1,30}")


def parse(text: str) -> Spec:
    """Return the spec that a line describes. Raises SpecError."""
    words = re.sub(r"\+\s+", "+", text).split()
    if len(words) < 3:
        raise SpecError(f"kernel={text!r} is not of the form {FORM}; write one such as {EXAMPLE!r}")
    cls, fields = _operation(words[0], words[1])
    fields |= dtype_fields(cls, fields.get("expression", ""), words[2])
    for word in words[3:]:
        if word[0] == "+":
            steps = fields.get("epilogue", ())
            if isinstance(steps, str):
                raise SpecError(f"kernel={text!r} gives epilogue twice; give it once")
            fields["epilogue"] = (*steps, *word[1:].split("+"))
            continue
        name, value = _option(cls, word)
        if name == "out_dtype":
            ((name, value),) = out_dtype_fields(cls, fields.get("expression", ""), value).items()
        if name in fields:
            raise SpecError(f"kernel={text!r} gives {name} twice; give it once")
        fields[name] = value
    if not {"batch", "batch_dims"} & fields.keys():
        for name in fields:
            if name.startswith("batch_stride_"):
                raise SpecError(f"{name} needs a batch; add batch=N")
    try:
        return cls(**fields)
    except TypeError:
        unknown = next(name for name in fields if name not in _names(cls))
        raise SpecError(f"{unknown} is not an option of {words[0]}; leave it out") from None


def _operation(name: str, sizes: str) -> tuple[type[Spec], dict[str, Any]]:
    """Return the spec class of an operation, and the fields that its name and sizes set."""
    expression = expression_of(name)
    if expression is None:
        cls = op_class(name)
        return cls, _sizes(cls, sizes)
    fields = {"expression": expression, "shapes": shapes(expression, sizes)}
    return formula_class(expression), fields


def shapes(expression: str, text: str) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of an expression's inputs, from one for all, one for each, or by name."""
    parts = [part.strip().rpartition("=") for part in text.split(",")]
    for part in (part for _, _, sizes in parts for part in sizes.lower().split("x")):
        if not _WHOLE.fullmatch(part):
            raise SpecError(f"shape={text}: {part!r} is not an integer; give sizes such as 64x1024")
    found = [tuple(map(int, sizes.lower().split("x"))) for _, _, sizes in parts]
    names = [name for name, equals, _ in parts if equals]
    if not names:
        return tuple(found)
    if len(names) < len(parts) or len(set(names)) < len(names):
        raise SpecError(
            f"shape={text} names some inputs and not others, or one twice; name each once"
        )
    return by_name("shape", expression, dict(zip(names, found, strict=True)))


def dtype_fields(cls: type[Spec], expression: str, text: str) -> dict[str, Any]:
    """Return fields for the inputs' dtypes: one for all, one for each in order, or by name."""
    if "dtypes" not in _names(cls) or not re.search("[,=]", text):
        return {"dtype": text}
    return {"dtypes": _each_dtype("dtype", expression, text, "input")}


def out_dtype_fields(cls: type[Spec], expression: str, text: str) -> dict[str, Any]:
    """Return fields for the outputs' dtypes: one for all, one for each in order, or by name."""
    if "out_dtypes" not in _names(cls) or not re.search("[,=]", text):
        return {"out_dtype": text}
    return {"out_dtypes": _each_dtype("out_dtype", expression, text, "output")}


def _each_dtype(
    what: str, expression: str, text: str, of: Literal["input", "output"]
) -> tuple[str, ...]:
    parts = [part.strip().rpartition("=") for part in text.split(",")]
    named = {name: dtype for name, equals, dtype in parts if equals}
    if not named:
        return tuple(dtype for _, _, dtype in parts)
    if len(named) < len(parts):
        raise SpecError(
            f"{what}={text} names some {of}s and not others, or one twice; name each once"
        )
    return by_name(what, expression, named, of)


def form(spec: Spec) -> str:
    """Return the shortest line from which `parse` makes this spec."""
    fields = dataclasses.fields(spec)
    if isinstance(spec, Formula):
        shapes = spec.shapes if len(set(spec.shapes)) > 1 else spec.shapes[:1]
        places = ",".join("x".join(map(str, shape)) for shape in shapes)
        words = [spec.text, places, spec.dtype_words(",")]
        if spec.output_dtypes != tuple(map(spec.default_out, spec.formula_calls)):
            words.append(f"out={','.join(spec.out_dtypes or (spec.out,))}")
        if isinstance(spec, Rowwise) and spec.axes != (len(spec.domain) - 1,):
            words.append(f"axes={','.join(map(str, spec.axes))}")
        return " ".join(words)
    sizes = [getattr(spec, f.name) for f in fields if f.default is dataclasses.MISSING]
    places = ",".join(map(by_x, sizes)) if isinstance(spec, Conv2d) else ""
    if isinstance(spec, Attention):
        names = [name for name in ("q", "k", "v") if name != "v" or spec.v != spec.k]
        places = ",".join(f"{name}={by_x(getattr(spec, name))}" for name in names)
    words = [spec.op, places or by_x(tuple(sizes)), spec.dtype]
    options = [f for f in fields if f.default is not dataclasses.MISSING]
    options = [f for f in options if f.name not in ("dtype", "v")]
    words += [_word(f.name, getattr(spec, f.name)) for f in options if not _is_default(spec, f)]
    return " ".join(words)


def _is_default(spec: Spec, field: dataclasses.Field[Any]) -> bool:
    """Whether a field has its default, or the value that the spec fills in for None."""
    value = getattr(spec, field.name)
    if field.default is not None:
        return bool(value == field.default)
    unset: dict[str, Any] = {field.name: None}
    try:
        return bool(value == getattr(dataclasses.replace(spec, **unset), field.name))
    except SpecError:  # the other fields do not fit the default
        return False


def _word(name: str, value: Any) -> str:
    if value is True:
        return name
    if name == "epilogue":
        steps = steps_of(value)
        return (
            f"epilogue={infix(parse_expression(value))}".replace(" ", "")
            if steps is None
            else ("+" + "+".join(steps))
        )
    if isinstance(value, tuple) and all(isinstance(number, int) for number in value):
        return f"{name}={by_x(value)}"
    shown = ",".join(value) if isinstance(value, tuple) else value
    return f"{LONG.get(name, name)}={shown}"


def _names(cls: type[Spec]) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


def _sizes(cls: type[Spec], word: str) -> dict[str, Any]:
    """Return the fields that the sizes set: those without a default."""
    needed = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    if issubclass(cls, Conv2d):
        return convolution_shapes(word)
    if issubclass(cls, Attention):
        return attention_shapes(word)
    sizes = tuple(_whole("shape", part) for part in word.split("x"))
    if len(sizes) != len(needed):
        form = "x".join(name.upper() for name in needed)
        raise SpecError(f"shape={word} has {len(sizes)} sizes; give {len(needed)}, as {form}")
    return dict(zip(needed, sizes, strict=True))


def convolution_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a convolution's input and weights."""
    parts = text.lower().split(",")
    if len(parts) != 2:
        raise SpecError(
            f"shape={text} does not have conv2d's form INPUT,WEIGHTS; give two shapes such as "
            "1x64x56x56,64x64x3x3"
        )
    found = [tuple(_whole("shape", size) for size in part.split("x")) for part in parts]
    return dict(zip(("input", "weights"), found, strict=True))


def attention_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes of q, k and, if given, v."""
    found = {}
    for part in text.lower().split(","):
        name, _, sizes = part.strip().partition("=")
        if name not in ("q", "k", "v") or name in found:
            raise SpecError(
                f"shape={text} does not have attention's form q=SHAPE,k=SHAPE[,v=SHAPE]; give "
                "shapes of batch, heads, sequence and elements, such as "
                "q=1x12x512x64,k=1x12x512x64"
            )
        found[name] = tuple(_whole("shape", size) for size in sizes.split("x"))
    if missing := {"q", "k"} - found.keys():
        raise SpecError(f"shape={text} lacks {min(missing)}; give q=SHAPE,k=SHAPE[,v=SHAPE]")
    return found


def per_axis(name: str, text: str) -> int | tuple[int, ...] | str:
    """Return one number, one for each axis, or the name of a padding."""
    if name == "padding" and text[:1].isalpha():
        return text
    found = tuple(_whole(name, part) for part in text.lower().split("x"))
    return found[0] if len(found) == 1 else found


def _option(cls: type[Spec], word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    name = SHORT.get(name, name)
    kinds = {k: v for k, v in typing.get_type_hints(cls).items() if k in _names(cls)}
    optional = [f.name for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING]
    by_word = {"dtype", *({"v"} if cls is Attention else ())}
    if name not in optional or name in by_word:
        known = sorted(set(optional) - by_word)
        question = suggest.meant(name, known, after=" ")
        raise SpecError(
            f"{name} is not an option of {cls.op}; {question}its options are "
            f"{' '.join(known) or '-'}"
        )
    kind = kinds[name]
    if kind is bool:
        if equals:
            raise SpecError(f"{word} has a value; write {name} alone")
        return name, True
    if not value:
        raise SpecError(f"{word} has no value; write {name}=VALUE")
    if name in AXIS_FIELDS:
        return name, per_axis(name, value)
    if str in typing.get_args(kind) and not _WHOLE.fullmatch(value):
        return name, value
    if float in (kind, *typing.get_args(kind)):
        return name, _number(name, value)
    if Dims in typing.get_args(kind) and ("x" in value or int not in typing.get_args(kind)):
        return name, tuple(_whole(name, part) for part in value.split("x"))
    if kind is Axes:
        return name, tuple(_whole(name, axis) for axis in value.split(","))
    if typing.get_origin(kind) is Members or kind in (EpilogueShapes, EpilogueDtypes):
        return name, tuple(value.split(","))
    return name, _whole(name, value) if int in (kind, *typing.get_args(kind)) else value


def _whole(name: str, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise SpecError(f"{name}={text} is not an integer; give one such as 1024")
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"{name}={text} is not a number; give one such as 0.5") from None
