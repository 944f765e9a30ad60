"""Tags of the runtime's wheels, by what they hold.

`native/` holds machine code for Linux on x86-64 and aarch64 that needs no library. Python itself
must offer `os.memfd_create`, which is why older C libraries are not in the tag. With KGEN_WHEEL=any
in the environment the wheel holds no machine code, and suits every system.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = tuple(
    f"{library}_{arch}"
    for arch in ("x86_64", "aarch64")
    for library in ("manylinux_2_28", "musllinux_1_2")
)
NATIVE = "kgen_runtime/native"


class WheelTags(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get("KGEN_WHEEL") == "any":
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{'.'.join(PLATFORMS)}"
        for library in sorted((Path(self.root) / NATIVE).glob("*.so")):
            build_data["force_include"][str(library)] = f"{NATIVE}/{library.name}"
