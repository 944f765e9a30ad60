"""Domains of operators and the opset that a model takes from each."""

from __future__ import annotations

import onnx

#: ONNX's own domain, under both of its names.
DOMAINS = ("", "ai.onnx")
#: Domain of ONNX's preview operators, which kgen supports through their function bodies.
PREVIEW = "ai.onnx.preview"


def opsets_of(model: onnx.ModelProto | onnx.FunctionProto) -> dict[str, int]:
    """Return the opset version of each domain; ONNX's own domain is ''."""
    return {o.domain if o.domain not in DOMAINS else "": o.version for o in model.opset_import}
