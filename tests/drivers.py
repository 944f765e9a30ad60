"""Vulkan drivers besides the system's, as a command that runs Python on each of them.

`make drivers` unpacks them into .drivers/ (scripts/fetch_drivers.py). One process sees one driver:
the loader reads its environment once, and those of `.drivers/mesa` need a C library of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from kgen_runtime.values import frozen
from tests import needs

ROOT = Path(__file__).parents[1]
#: The checks of the validation layer: wrong use of the API, accesses that are not ordered, and, by
#: instrumented kernels, those that are out of bounds or race in workgroup memory.
LAYER_SETTINGS = """
khronos_validation.validate_core = true
khronos_validation.validate_sync = true
khronos_validation.gpuav_enable = true
khronos_validation.gpuav_shared_memory_data_race = true
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error
khronos_validation.enable_message_limit = false
"""
#: The file in the layer's folder that it writes to.
LAYER_LOG = "messages.txt"


@frozen
class Driver:
    """One driver of one folder below .drivers/. `own_libraries`: it runs on that folder's C
    library, and `preload` is what pretends that its GPU is there."""

    name: str
    tree: str
    own_libraries: bool = False
    preload: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def with_environment(self, **environment: str) -> Driver:
        """The same driver, for programs that read these variables."""
        return replace(self, environment={**self.environment, **environment})

    def python(
        self, *arguments: str, layer: Path | None = None, expect: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        """Python with these arguments on this driver; the checkout and what this process imports
        can be imported. `layer`: under the newest validation layer, whose settings and
        messages are in this folder.

        Skips where the driver is absent; fails if the exit status is not `expect`.
        """
        folder = needs.driver(self.tree)
        command = [sys.executable, *arguments]
        environment = os.environ | self.environment
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
        if self.own_libraries:
            command = [str(folder / "run"), *command]
            environment |= {"DRIVER": self.name, "PRELOAD": self.preload}
        else:
            environment["VK_DRIVER_FILES"] = str(folder / f"{self.name}.json")
        if layer is not None:
            log = f"khronos_validation.log_filename = {layer / LAYER_LOG}\n"
            (layer / "vk_layer_settings.txt").write_text(LAYER_SETTINGS + log)
            environment |= {
                "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
                "VK_LAYER_PATH": str(needs.driver("chromium")),
                "VK_LAYER_SETTINGS_PATH": str(layer),
            }
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
        if expect is not None:
            assert done.returncode == expect, done.stdout + done.stderr
        return done


#: Executes, with cooperative matrices of 8x8x8.
LAVAPIPE = Driver(name="lvp", tree="mesa", own_libraries=True)
#: Executes; no 16-bit storage, subgroups of 4.
SWIFTSHADER = Driver(name="swiftshader", tree="chromium")
#: Accepts every call and does nothing.
MOCK = Driver(name="mock", tree="chromium")
#: Compile, for GPUs that are not here.
RADV = Driver(
    name="radeon",
    tree="mesa",
    own_libraries=True,
    preload="libamdgpu_noop_drm_shim.so",
    environment={"AMDGPU_GPU_ID": "navi31"},
)
NVK = Driver(
    name="nouveau",
    tree="mesa",
    own_libraries=True,
    preload="libnouveau_noop_drm_shim.so",
    environment={"NOUVEAU_CHIPSET": "172"},
)
