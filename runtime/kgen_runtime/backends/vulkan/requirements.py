"""Requirements of Vulkan artifacts: a device that lacks one is refused or ranked lower.

`api`, the lowest version of the API as text ("1.3"); `features`, names of features.py; `limits`,
the least value of limits by Vulkan's names, where a kernel needs more than Vulkan guarantees;
`device`, the only type of device that it suits; `cooperative_matrix`, the shape and types of its
product, and `cooperative_matrix_out`, a product whose sums have the type of its output's matrices;
`subgroup_size`, that of its subgroups, and `full_subgroups` if no lane may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgen_runtime.manifest import ArtifactEntry

KNOWN_REQUIREMENTS = frozenset(
    (
        "api",
        "features",
        "limits",
        "device",
        "cooperative_matrix",
        "cooperative_matrix_out",
        "subgroup_size",
        "full_subgroups",
    )
)


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
    """Cooperative matrices first, then what is for this type of device, then more features of
    it and the newer API. Of matrices, the larger product."""
    requires = artifact.requires
    matrix = requires.get("cooperative_matrix", {})
    return (
        matrix.get("m", 0) * matrix.get("n", 0) * matrix.get("k", 0),
        int("device" in requires),
        len(requires.get("features", ())),
        *_version(requires.get("api", "1.0")),
    )


def _product(matrix: Mapping[str, Any]) -> str:
    """16x16x16 f16 to f32, of a cooperative matrix's shape and types."""
    return f"{matrix['m']}x{matrix['n']}x{matrix['k']} {matrix['a']} to {matrix['c']}"


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
