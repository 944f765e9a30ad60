"""Verdict of one case of ONNX's backend suite: compiled, run and compared with ONNX's values."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx

import kgen
import kgen_runtime
from kgen.errors import KgenError
from tests.conformance.cases import Array, Case
from tests.conformance.exceptions import EXCEPTIONS

TARGET = "x86-64-v3"
Outcome = Literal["right", "right with constants", "refused", "exception", "wrong"]
#: Relative tolerance of narrow types: two units in the last place. ONNX's runner has the same for
#: bfloat16. Its 1e-3 for float16 is one unit, which another order of operations exceeds.
NARROW = {"bfloat16": 2.0**-6, "float16": 2.0**-9}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Outcome of a case; `why` is the refusal, or the difference from ONNX's values."""

    name: str
    outcome: Outcome
    why: str = ""


def judged(case: Case) -> Verdict:
    """Compile and run a case, and compare it; a known exception must still differ."""
    found = _judged(case)
    if case.name not in EXCEPTIONS:
        return found
    if found.outcome == "wrong":
        return Verdict(name=case.name, outcome="exception", why=EXCEPTIONS[case.name])
    return Verdict(
        name=case.name, outcome="wrong", why=f"{found.outcome}, but listed as an exception"
    )


def _judged(case: Case) -> Verdict:
    """Return the verdict without regard to exceptions. A refused case is tried again with all
    inputs but the first as initializers (for Range, ConstantOfShape and windows: all inputs): ONNX
    passes axes and shapes as inputs, but exporters write them as constants."""
    why = _why_refused_or_wrong(case)
    if why is None:
        return Verdict(name=case.name, outcome="right")
    if isinstance(why, Refused) and (other := case.with_constants()) is not None:
        found = _why_refused_or_wrong(other)
        if found is None:
            return Verdict(name=case.name, outcome="right with constants")
        if not isinstance(found, Refused):
            return Verdict(name=case.name, outcome="wrong", why=f"with constants: {found}")
        why = found
    outcome: Outcome = "refused" if isinstance(why, Refused) else "wrong"
    return Verdict(name=case.name, outcome=outcome, why=str(why))


class Refused(str):
    """Message of a refusal."""


def _why_refused_or_wrong(case: Case) -> str | None:
    """Return why a case is refused or wrong; None for the values that ONNX expects. An error at run
    time counts as wrong."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            try:
                bundle = _compiled(case, Path(folder))
            except KgenError as error:
                return Refused(error)
            found = _run(case, bundle)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    names = [value.name for value in case.model.graph.output]
    for name, expected in zip(names, case.outputs, strict=True):
        if why := difference(found[name], expected, case.rtol, case.atol):
            return f"{name}: {why}"
    return None


def _compiled(case: Case, folder: Path) -> Path:
    """Compile a case; return its bundle."""
    if not case.has_only_tensors:
        for value, array in zip(case.model.graph.input, case.inputs, strict=False):
            if not isinstance(array, np.ndarray) and value.type.HasField("tensor_type"):
                raise TypeError(f"the suite gives {value.name} as {type(array).__name__}")
    shapes = {
        name: array.shape
        for name, array in zip(case.input_names, case.inputs, strict=True)
        if _is_open(case.model, name) and isinstance(array, np.ndarray)
    }
    made = kgen.compile_model(case.model, [TARGET], shapes=shapes).bundle
    return made.save(folder / "model.kgen")


def _run(case: Case, bundle: Path) -> dict[str, Any]:
    program = kgen_runtime.load(bundle).program
    given = zip(case.input_names, case.inputs, strict=True)
    arrays = {name: np.ascontiguousarray(v).reshape(v.shape) for name, v in given}
    found = program.run(arrays)
    return found if isinstance(found, dict) else {program.output_names[0]: found}


def _is_open(model: onnx.ModelProto, name: str) -> bool:
    """Return whether the shape of an input is not fixed in the model."""
    kind = next(value.type for value in model.graph.input if value.name == name)
    if not kind.HasField("tensor_type"):
        return False
    dims = kind.tensor_type.shape.dim
    return not kind.tensor_type.HasField("shape") or any(not d.HasField("dim_value") for d in dims)


def difference(found: Array, expected: Array, rtol: float, atol: float) -> str:
    """Return the first difference that ONNX's runner would report; "" for none."""
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype} instead of {expected.dtype}"
    if expected.dtype.name in NARROW:
        rtol = max(rtol, NARROW[expected.dtype.name])
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    try:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    except AssertionError as error:
        return re.sub(r"\s+", " ", str(error))[:400]
    return ""
