"""Vulkan drivers that `make drivers` unpacks, and how to run a program on each.

A process sees one driver: the loader reads its environment once, and the drivers in `mesa` need
their own C library. The variables that tell a driver's compiler which GPU to compile for are here
too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from kgen.errors import DeviceError
from kgen.parallel import children
from kgen.settings import drivers_folder
from kgen_runtime.values import frozen


@frozen
class Driver:
    """Driver in a subfolder of the drivers' folder.

    With `own_libraries` it runs on that folder's C library, and `preload` is the library that
    simulates its GPU.
    """

    name: str
    tree: str
    own_libraries: bool = False
    preload: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def folder(self) -> Path:
        """Return the folder of its files. Raises DeviceError if it is missing."""
        folder = drivers_folder() / self.tree
        if not (folder / "installed").is_file():
            raise DeviceError(f"{folder} does not exist; run make drivers")
        return folder

    def command(self, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return a command and environment that run Python on this driver.

        It can import what this process can. Raises DeviceError if the driver is missing.
        """
        folder = self.folder()
        command, environment = children.python(arguments)
        environment |= self.environment
        if self.own_libraries:
            command = [str(folder / "run"), *command]
            environment |= {"DRIVER": self.name, "PRELOAD": self.preload}
        else:
            environment["VK_DRIVER_FILES"] = str(folder / f"{self.name}.json")
        return command, environment


#: Executes kernels, with cooperative matrices of 8x8x8.
LAVAPIPE = Driver(name="lvp", tree="mesa", own_libraries=True)
#: Executes kernels, without 16-bit storage, with subgroups of 4.
SWIFTSHADER = Driver(name="swiftshader", tree="chromium")
#: Accepts every call and does nothing.
MOCK = Driver(name="mock", tree="chromium")
#: Compile only, for GPUs that need not be present: Radeon RX 7900 (gfx1100), GeForce RTX 3090
#: (sm_86).
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
