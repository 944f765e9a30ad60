"""Limits on the size and the counts of a manifest: one table for every reader of bundles.

Both runtimes check a count before they look at what is counted, so the cost of judging a manifest
is linear in its bytes. `make reference` writes the table into runtime/c/manifest_limits.h and
docs/reference/bundle-format.md.
"""

from __future__ import annotations

from typing import NamedTuple

from kgen_runtime.errors import BundleError
from kgen_runtime.values import fields_of, is_frozen


class Limit(NamedTuple):
    """Largest allowed value, and what it counts."""

    most: int
    what: str


#: The limits by name.
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
    "steps": Limit(32768, "steps of a program"),
}

#: Limit on the entries of a list or object, by the class and field that hold it. Fields of a
#: manifest that are not here are limited by `json_values` alone.
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
}


def check_bytes(nbytes: int) -> None:
    """Raises BundleError if a manifest has too many bytes; asked before they are read."""
    _refuse("manifest_bytes", nbytes, "bytes")


def check_text(text: bytes) -> None:
    """Raises BundleError if a manifest's text has too many bytes, levels or values. No value is
    made, so a hostile text costs no memory."""
    check_bytes(len(text))
    opened, commas, deepest = _structure(text)
    _refuse("nesting", deepest, "levels of lists and objects")
    _refuse("json_values", 1 + opened + commas, "values")


def check_counts(value: object) -> None:
    """Raises BundleError if a part of a manifest that is about to be written has more entries than
    a reader takes."""
    for field in fields_of(type(value)):
        held = getattr(value, field)
        limit = COUNTED.get(f"{type(value).__name__}.{field}")
        if limit is not None and len(held) > LIMITS[limit].most:
            raise BundleError(
                f"{getattr(value, 'name', 'the bundle')!s:.120}: {field} has {len(held)} entries; "
                f"the limit is {LIMITS[limit].most} ({limit}); make several kernels or programs"
            )
        for one in held if isinstance(held, tuple) else (held,):
            if is_frozen(type(one)):
                check_counts(one)


def _refuse(name: str, count: int, what: str) -> None:
    most = LIMITS[name].most
    if count > most:
        raise BundleError(
            f"manifest.json has more than {most} {what}, the limit ({name}); "
            "build it again, as several bundles"
        )


def _structure(text: bytes) -> tuple[int, int, int]:
    """Counts of opening brackets and of commas outside of texts, and the deepest level. What is
    beyond a limit, or no JSON, is looked at no further."""
    text = text.replace(rb"\\", b"").replace(rb"\"", b"")  # escapes that could hide a quote
    opened = commas = level = deepest = 0
    inside = False
    for start in range(0, len(text), CHUNK):
        parts = text[start : start + CHUNK].split(b'"')
        bare = b"".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0
        opened += bare.count(b"[") + bare.count(b"{")
        commas += bare.count(b",")
        if 1 + opened + commas > LIMITS["json_values"].most:
            break
        for bracket in bare.translate(None, _NO_BRACKETS):
            level += 1 if bracket in b"[{" else -1
            if level > deepest:
                deepest = level
        if level < 0 or deepest > LIMITS["nesting"].most:
            break
    return opened, commas, deepest


#: Bytes that are counted at a time.
CHUNK = 1 << 16
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
