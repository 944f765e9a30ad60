"""Requirements of Vulkan artifacts: refusal and ranking of artifacts for a device.

- `api`: lowest API version, as text ("1.3")
- `features`: names in features.py
- `limits`: smallest value of limits, by Vulkan's names, above Vulkan's guarantees
- `device`: only device type that the artifact suits
- `cooperative_matrix`: shape and types of the matrix product
- `cooperative_matrix_out`: product whose accumulator has the type of the output
- `subgroup_size`: required size; `full_subgroups`: no lane may be missing
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgen_runtime.manifest import ArtifactEntry

KNOWN_REQUIREMENTS = frozenset((
    "api", "features", "limits", "device", "cooperative_matrix", "cooperative_matrix_out",
    "subgroup_size", "full_subgroups",
))  # fmt: skip


def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
    requires = artifact.requires
    if unknown := sorted(requires.keys() - KNOWN_REQUIREMENTS):
        return f"it requires {unknown[0]}, which this runtime does not know; upgrade the runtime"
    api = tuple(capabilities["api"])
    if _version(requires.get("api", "1.0")) > api:
        return (
            f"it needs Vulkan {requires['api']}, and the device supports "
            f"{'.'.join(map(str, api))}; build for vulkan1.1, or upgrade the driver"
        )
    for name in ("cooperative_matrix", "cooperative_matrix_out"):
        matrix = requires.get(name)
        offered = capabilities.get("cooperative_matrices", ())
        if matrix is not None and not any(matrix.items() <= product.items() for product in offered):
            return (
                f"it needs cooperative matrices of {_product(matrix)}, and the device supports "
                f"{', '.join(map(_product, offered)) or 'none'}; build for vulkan1.3"
            )
    if missing := sorted(set(requires.get("features", ())) - set(capabilities["features"])):
        return f"it needs {', '.join(missing)}, which the device lacks; build it with dtype f32"
    if (suits := requires.get("device", here := capabilities.get("device_type"))) != here:
        return f"it is for a device of type {suits}, and this one is of type {here}"
    if (size := requires.get("subgroup_size")) is not None:
        least, most = capabilities.get("subgroup_sizes", (0, 0))
        if not least <= size <= most:
            return (
                f"it needs subgroups of {size} lanes, and the device supports {least} to {most}; "
                "build for vulkan1.3"
            )
    for name, needed in requires.get("limits", {}).items():
        if (limit := capabilities["limits"].get(name, 0)) < needed:
            return (
                f"it needs {name} = {needed}, and the device allows {limit}; build it with a "
                "smaller tile or for a smaller shape"
            )
    return None


def rank(artifact: ArtifactEntry) -> tuple[int, ...]:
    """Prefer larger cooperative matrices, then code for this device type, then more features, then
    a newer API."""
    requires = artifact.requires
    matrix = requires.get("cooperative_matrix", {})
    return (
        matrix.get("m", 0) * matrix.get("n", 0) * matrix.get("k", 0),
        int("device" in requires),
        len(requires.get("features", ())),
        *_version(requires.get("api", "1.0")),
    )


def _product(matrix: Mapping[str, Any]) -> str:
    """Format a cooperative matrix product: 16x16x16 f16 to f32."""
    return f"{matrix['m']}x{matrix['n']}x{matrix['k']} {matrix['a']} to {matrix['c']}"


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
