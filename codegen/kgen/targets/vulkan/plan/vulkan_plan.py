"""Base of all plans of Vulkan kernels: the module around a kernel, and its device requirements."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kgen.targets.base import Plan
from kgen.targets.header import times
from kgen.targets.vulkan.limits import ROUNDS_F16, STORAGE_8BIT
from kgen.targets.vulkan.plan import declarations
from kgen.targets.vulkan.plan.memory import NARROW, Shared, Tensor
from kgen_runtime.launch_limits import VULKAN_GUARANTEED, Limits, vulkan_limits
from kgen_runtime.manifest import Extent3, Launch
from kgen_runtime.values import frozen

#: Execution modes with which conversions from and to f16 round as kgen requires, and the property
#: of a device that supports each (Vulkan 1.3, "Precision and Operation of SPIR-V Instructions").
#: Each mode is also the name of its capability.
FLOAT_MODES = {
    "DenormPreserve": "shaderDenormPreserveFloat16",
    "SignedZeroInfNanPreserve": "shaderSignedZeroInfNanPreserveFloat16",
    "RoundingModeRTE": "shaderRoundingModeRTEFloat16",
}
#: Features that shuffles need.
SHUFFLES = ("subgroupShuffle", "subgroupSizeControl", "computeFullSubgroups")
#: Inputs with an invocation's position in its subgroup, by SPIR-V's names.
BUILT_IN = {
    "subgroup_id": "SubgroupId",
    "subgroup_size": "SubgroupSize",
    "subgroup_lane": "SubgroupLocalInvocationId",
}
#: API version with elements of 8 bits, and the SPIR-V version that needs no extension for them.
API_8BIT, SPIRV_8BIT = (1, 2), (1, 5)


@frozen
class VulkanPlan(Plan):
    """Plan of a Vulkan kernel.

    - `functions`: helper functions of the module, in the order of their definition.
    - `constants`: floating-point constants of the kernel by name, as literals.
    - `fallbacks`: plans, by name, for devices that lack an option which this plan uses.
    """

    num_threads: int
    tensors: tuple[Tensor, ...]
    shared: tuple[Shared, ...] = ()
    functions: tuple[str, ...] = ()
    constants: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fallbacks: tuple[VulkanPlan, ...] = ()
    fallback_name: str = ""

    @property
    def shared_bytes(self) -> int:
        return sum(s.nbytes for s in self.shared)

    def tensor(self, name: str) -> Tensor:
        return next(t for t in self.tensors if t.name == name)

    @property
    def element_types(self) -> tuple[tuple[str, int], ...]:
        """Distinct element types of buffers, with their bytes."""
        return tuple(dict.fromkeys((t.element, t.element_bytes) for t in self.tensors))

    @property
    def shared_types(self) -> tuple[str, ...]:
        """Distinct types of workgroup memory accesses."""
        scalars = (s.scalar for s in self.shared if s.by_component)
        return tuple(dict.fromkeys((*(s.element for s in self.shared), *scalars)))

    @property
    def memory_model(self) -> str:
        """Memory model of the SPIR-V module."""
        return "GLSL450"

    @property
    def has_vulkan_model(self) -> bool:
        return self.memory_model == "Vulkan"

    @property
    def shared_access(self) -> str:
        """Operand of accesses to workgroup memory whose effect other invocations see."""
        return " NonPrivatePointer" if self.has_vulkan_model else ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Input variables with the position of an invocation."""
        return ("local_id", "workgroup_id", *(BUILT_IN if self.shuffles else ()))

    @property
    def subgroup_inputs(self) -> tuple[tuple[str, str], ...]:
        """Inputs that are one number, with SPIR-V's names for them."""
        return tuple((name, BUILT_IN[name]) for name in self.inputs if name in BUILT_IN)

    @property
    def extension(self) -> str:
        """File extension of the module."""
        return f"{self.fallback_name}.spv" if self.fallback_name else "spv"

    @property
    def rounds_f16(self) -> bool:
        """Whether the device converts from and to f16 and rounds as kgen does."""
        converts = {"narrow_f16", "widen_f16"} & {*self.functions}
        return self.target.has(ROUNDS_F16) and bool(converts)

    @property
    def shuffles(self) -> bool:
        """Whether lanes of a subgroup read one another's values."""
        return False

    @property
    def uses_options(self) -> bool:
        """Whether the plan uses an option for which a fallback exists."""
        return self.rounds_f16 or self.shuffles

    @property
    def variants(self) -> tuple[VulkanPlan, ...]:
        return self.fallbacks

    @property
    def execution_modes(self) -> tuple[str, ...]:
        """Execution modes of the entry point besides its size: rounding and denormals of f16."""
        return tuple(f"{mode} 16" for mode in FLOAT_MODES) if self.rounds_f16 else ()

    @property
    def ordered(self) -> tuple[str, ...]:
        """Results of additions that a driver must not reorder, which get NoContraction (Vulkan 1.3,
        "Precision and Operation of SPIR-V Instructions")."""
        return ()

    @property
    def further_requirements(self) -> Mapping[str, Any]:
        """Device requirements of a main loop besides memory and tensors."""
        return {}

    @property
    def interface(self) -> tuple[str, ...]:
        """Variables that OpEntryPoint lists."""
        names = [*self.inputs]
        if self.target.has("interface-lists-all"):
            names += [t.variable for t in self.tensors] + [s.name for s in self.shared]
        return tuple(names)

    @property
    def narrow(self) -> tuple[tuple[str, str], ...]:
        """Capabilities and device features for tensors of fewer than 32 bits."""
        found = (NARROW[t.scalar] for t in self.tensors if t.scalar in NARROW)
        return tuple(dict.fromkeys(found))

    @property
    def capabilities(self) -> tuple[str, ...]:
        modes = ("Float16", *FLOAT_MODES) if self.rounds_f16 else ()
        lanes = ("GroupNonUniform", "GroupNonUniformShuffle") if self.shuffles else ()
        return ("Shader", *(capability for capability, _ in self.narrow), *modes, *lanes)

    @property
    def has_8bit(self) -> bool:
        return any(feature == STORAGE_8BIT for _, feature in self.narrow)

    @property
    def extensions(self) -> tuple[str, ...]:
        """Extensions of SPIR-V that the module declares."""
        limits = self.target.limits
        version = (limits["spirv_major"], limits["spirv_minor"])
        return ("SPV_KHR_8bit_storage",) if self.has_8bit and version < SPIRV_8BIT else ()

    @property
    def requires(self) -> Mapping[str, Any]:
        """Device requirements: the API version, and optional features and limits."""
        limits = self.target.limits
        largest = max(p.nbytes for p in self.spec.parameters)
        used = {
            "maxComputeSharedMemorySize": self.shared_bytes,
            "maxComputeWorkGroupInvocations": self.num_threads,
            "maxComputeWorkGroupSize": self.num_threads,
            "maxPerStageDescriptorStorageBuffers": len(self.tensors),
            "maxStorageBufferRange": largest,
        }
        beyond = {
            "features": [feature for _, feature in self.narrow],
            "limits": {name: n for name, n in used.items() if n > VULKAN_GUARANTEED[name]},
        }
        if self.target.has("unstaged"):
            beyond |= {"device": "cpu"}
        own = dict(self.further_requirements)
        modes = ["shaderFloat16", *FLOAT_MODES.values()] if self.rounds_f16 else []
        lanes = list(SHUFFLES) if self.shuffles else []
        features = [*beyond["features"], *own.pop("features", []), *modes, *lanes]
        beyond["features"] = [*dict.fromkeys(features)]
        beyond |= own | ({"full_subgroups": True} if self.shuffles else {})
        version = (limits["api_major"], limits["api_minor"])
        api = max(version, API_8BIT) if self.has_8bit else version
        return {"api": ".".join(map(str, api))} | {
            name: value for name, value in beyond.items() if value
        }

    @property
    def launch_limits(self) -> Limits:
        return vulkan_limits(self.requires.get("limits", {}), self.target.name)

    @property
    def target_line(self) -> str:
        requires, limits = self.requires, self.target.limits
        words = ["a CPU"] if "device" in requires else []
        words += [f"Vulkan {requires['api']}", *requires.get("features", [])]
        words += [f"{name} >= {n}" for name, n in requires.get("limits", {}).items()]
        version = f"SPIR-V {limits['spirv_major']}.{limits['spirv_minor']}"
        return f"{self.target.name}, {version}; requires {', '.join(words)}"

    def launch_line(self, launch: Launch) -> str:
        return f"{times(launch.grid)} workgroups of {self.num_threads} invocations"

    def declarations(self, text: str) -> tuple[str, ...]:
        """Return declarations of the types and constants that the text uses."""
        return declarations.find(text, self.constants)

    def not_finite(self, text: str) -> tuple[str, ...]:
        """Return the instructions that compute the infinities and NaN that a function's text
        uses."""
        return declarations.not_finite(text, self.constants)

    @property
    def argument_remarks(self) -> Mapping[str, str]:
        return {t.name: f", binding {t.binding}" for t in self.tensors}

    @property
    def memory_map(self) -> tuple[str, ...]:
        if not self.shared:
            return ()
        found = (f"{s.name}: {s.element} {s.shape}, {s.nbytes} B" for s in self.shared)
        return (f"workgroup memory, {self.shared_bytes} B", *found)


def fold_grid(blocks: int) -> Extent3:
    """Return a grid of at least `blocks` workgroups, which extends along y past the limit of x.

    Workgroup (x, y) is block y * grid[0] + x.
    """
    limit = VULKAN_GUARANTEED["maxComputeWorkGroupCount"]
    rows = -(-blocks // limit)
    return (-(-blocks // rows), rows, 1)
