"""Vulkan drivers in .drivers/, and commands that run Python with each of them.

`make drivers` unpacks them (scripts/fetch_drivers.py). A process uses a single driver.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from kgen.check.static.vulkan import drivers
from kgen_runtime.values import frozen
from tests import needs

ROOT = Path(__file__).parents[1]
#: Checks of the validation layer: wrong use of the API, and unordered accesses.
LAYER_SETTINGS = """
khronos_validation.validate_core = true
khronos_validation.validate_sync = true
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error
khronos_validation.enable_message_limit = false
"""
#: Checks by instrumented kernels, which take ten times as long: accesses out of bounds, and races
#: in workgroup memory.
INSTRUMENTED = """
khronos_validation.gpuav_enable = true
khronos_validation.gpuav_shared_memory_data_race = true
"""
#: File to which the layer writes, in its folder.
LAYER_LOG = "messages.txt"


@frozen
class Driver:
    """Driver of kgen's list, for tests."""

    driver: drivers.Driver

    @property
    def name(self) -> str:
        return self.driver.name

    def with_environment(self, **environment: str) -> Driver:
        """Return the same driver for programs that read these variables."""
        merged = {**self.driver.environment, **environment}
        return Driver(driver=replace(self.driver, environment=merged))

    def python(
        self,
        *arguments: str,
        layer: Path | None = None,
        instrumented: bool = True,
        expect: int | None = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments on this driver; it can import what this process can.

        `layer` is the folder of settings and messages of the newest validation layer, which is
        used if it is given; kernels can be `instrumented`. Skip the test if the driver is absent;
        fail if the exit status is not `expect`.
        """
        needs.driver(self.driver.tree)
        command, environment = self.driver.command(arguments)
        environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{environment['PYTHONPATH']}"
        if layer is not None:
            log = f"khronos_validation.log_filename = {layer / LAYER_LOG}\n"
            settings = LAYER_SETTINGS + INSTRUMENTED * instrumented + log
            (layer / "vk_layer_settings.txt").write_text(settings)
            environment |= {
                "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
                "VK_LAYER_PATH": str(needs.driver("chromium")),
                "VK_LAYER_SETTINGS_PATH": str(layer),
            }
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
        if expect is not None:
            assert done.returncode == expect, done.stdout + done.stderr
        return done


LAVAPIPE = Driver(driver=drivers.LAVAPIPE)
SWIFTSHADER = Driver(driver=drivers.SWIFTSHADER)
MOCK = Driver(driver=drivers.MOCK)
RADV = Driver(driver=drivers.RADV)
NVK = Driver(driver=drivers.NVK)
