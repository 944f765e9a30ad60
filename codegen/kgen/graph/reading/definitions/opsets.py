"""Version of ONNX that a definition is run for."""

from __future__ import annotations

from onnx.reference.op_run import OpRun


def opset_of(run: OpRun) -> int:
    """The version of ONNX's operators that a model takes."""
    opsets = run.run_params["opsets"]
    return int(opsets.get("", opsets.get("ai.onnx", 1)))
