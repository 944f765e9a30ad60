"""The opset that a definition runs for."""

from __future__ import annotations

from onnx.reference.op_run import OpRun


def opset_of(run: OpRun) -> int:
    """Return the opset of ONNX's own domain that a model imports."""
    opsets = run.run_params["opsets"]
    return int(opsets.get("", opsets.get("ai.onnx", 1)))
