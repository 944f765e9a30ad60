"""Limits on the size of a manifest: one table for every reader of bundles.

libkgen checks a count before it reads the entries, so that checking a manifest takes time linear in
its bytes. `make reference` writes the table into runtime/c/manifest_schema.h and
docs/reference/bundle-format.md.
"""

from __future__ import annotations

from typing import NamedTuple


class Limit(NamedTuple):
    """Largest allowed value, and the quantity that it limits."""

    most: int
    what: str


#: Limits by name.
LIMITS: dict[str, Limit] = {
    "manifest_bytes": Limit(16 << 20, "bytes of `manifest.json`"),
    "nesting": Limit(32, "lists and objects inside one another"),
    "json_values": Limit(1 << 20, "JSON values: 1 + the count of `[`, `{` and `,` outside texts"),
    "kernels": Limit(16384, "kernels of a bundle"),
    "programs": Limit(1024, "programs of a bundle"),
    "tensors": Limit(256, "tensors of a kernel: its `parameters`, and the `bindings` of a step"),
    "constants": Limit(256, "constants of a kernel"),
    "workspaces": Limit(64, "workspaces of a kernel"),
    "tensor_maps": Limit(64, "tensor maps of a kernel"),
    "launches": Limit(64, "launches of a kernel"),
    "arguments": Limit(256, "arguments of a launch"),
    "artifacts": Limit(64, "artifacts of a kernel"),
    "rank": Limit(8, "dimensions of a tensor, of a tile, or of a shape in a spec"),
    "runs": Limit(64, "runs of a packed panel"),
    "tensor_bytes": Limit(2**63 - 1, "bytes that a tensor, a workspace or a memory spans"),
    "inputs": Limit(4096, "inputs of a program"),
    "outputs": Limit(4096, "outputs of a program"),
    "states": Limit(4096, "states of a program"),
    "weights": Limit(65536, "weights of a program"),
    "values": Limit(131072, "values of a program"),
    "steps": Limit(32768, "steps of a program, in all turns of its repetitions"),
    "repeats": Limit(4096, "repetitions of steps of a program"),
    # Eight per step at the limit of steps. A small manifest can state many turns; this limit bounds
    # the memory that Python needs for the steps of all of them.
    "turn_entries": Limit(1 << 18, "`bindings` and `after` of a program's steps, in all turns"),
}

#: Limit on the entries of a list or object, by the class and field that hold it. Only `json_values`
#: limits the fields of a manifest that are not listed.
COUNTED: dict[str, str] = {
    "Manifest.kernels": "kernels",
    "Manifest.programs": "programs",
    "Packing.shape": "rank",
    "Packing.strides": "rank",
    "Packing.runs": "runs",
    "TensorParam.shape": "rank",
    "TensorParam.strides": "rank",
    "TensorMap.shape": "rank",
    "TensorMap.strides": "rank",
    "TensorMap.box": "rank",
    "Tile.shape": "rank",
    "Tile.extent": "rank",
    "Tile.axes": "rank",
    "Launch.arguments": "arguments",
    "KernelEntry.parameters": "tensors",
    "KernelEntry.workspaces": "workspaces",
    "KernelEntry.tensor_maps": "tensor_maps",
    "KernelEntry.launches": "launches",
    "KernelEntry.artifacts": "artifacts",
    "KernelEntry.constants": "constants",
    "Value.shape": "rank",
    "Value.strides": "rank",
    "Step.bindings": "tensors",
    "Program.inputs": "inputs",
    "Program.outputs": "outputs",
    "Program.states": "states",
    "Program.values": "values",
    "Program.weights": "weights",
    "Program.steps": "steps",
    "Program.repeats": "repeats",
    "Repeat.moves": "values",
    "Program.counts": "outputs",
}
