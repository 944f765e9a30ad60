"""Build hook of the runtime's wheels: compiles libkgen into a wheel, and tags it by the system.

`KGEN_WHEEL` in the environment chooses the wheel:

- not set: libkgen is compiled for this machine, by its C compiler, or by zig without one.
- a platform of `build_libkgen.TRIPLES`, such as win_amd64: libkgen is compiled for it, by zig.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

sys.path.insert(0, str(Path(__file__).parent))
import build_libkgen

NATIVE = "kgen_runtime/native"
VARIABLE = "KGEN_WHEEL"
ZIG = "ziglang>=0.14"


class WheelTags(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return the packages that the build of this wheel needs besides hatchling."""
        platform = os.environ.get(VARIABLE, "")
        needs_zig = platform in build_libkgen.TRIPLES or (
            not platform and build_libkgen.c_compiler() is None
        )
        return [ZIG] if needs_zig else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        platform = os.environ.get(VARIABLE, "")
        if platform and platform not in build_libkgen.TRIPLES:
            known = ", ".join(build_libkgen.TRIPLES)
            raise SystemExit(
                f"{VARIABLE}={platform}: not a wheel of the runtime; use one of {known}"
            )
        if version == "editable":
            build_libkgen.build()
            return
        self.folder = tempfile.TemporaryDirectory()
        made = build_libkgen.compiled(Path(self.folder.name), platform)
        build_data["force_include"][str(made)] = f"{NATIVE}/{made.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform or this_platform()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


def this_platform() -> str:
    """Return the platform tag of this machine; libraries of other Linux systems may be older."""
    tags = (tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
    return next(tags)
