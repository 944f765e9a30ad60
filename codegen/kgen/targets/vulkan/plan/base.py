"""What all plans of this family share: buffers, workgroup memory, and what they ask of a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kgen.errors import ScheduleError
from kgen.schedule import Schedule
from kgen.spec import DType
from kgen.targets.base import Plan, Target
from kgen.targets.header import times
from kgen.targets.vulkan.limits import (
    CEILING,
    NARROW_STORAGE,
    ROUNDS_F16,
    STORAGE_8BIT,
    STORAGE_16BIT,
)
from kgen.targets.vulkan.plan import declarations
from kgen_runtime.launch_limits import VULKAN_GUARANTEED, Limits, vulkan_limits
from kgen_runtime.manifest import Extent3, Launch
from kgen_runtime.values import frozen

#: Scalars in one access, widest first.
VECTOR_WIDTHS = (4, 2, 1)
#: Bytes of the scalars that workgroup memory holds.
WORD = 4

_VECTORS = {
    "float": "vec",
    "half": "f16vec",
    "bfloat16": "bf16vec",
    "uint": "uvec",
    "ushort": "u16vec",
    "uchar": "u8vec",
}
_BYTES = {"float": 4, "uint": 4, "uvec2": 8, "ushort": 2, "half": 2, "uchar": 1}
#: What scalars of fewer than 32 bits take: the capability, and the device's feature.
_NARROW = {
    "half": ("StorageBuffer16BitAccess", STORAGE_16BIT),
    "ushort": ("StorageBuffer16BitAccess", STORAGE_16BIT),
    "uchar": ("StorageBuffer8BitAccess", STORAGE_8BIT),
}
#: Modes that make conversions from and to f16 what kgen promises (Vulkan 1.3, "Precision and
#: Operation of SPIR-V Instructions"), which are capabilities too, and the device's properties.
FLOAT_MODES = {
    "DenormPreserve": "shaderDenormPreserveFloat16",
    "SignedZeroInfNanPreserve": "shaderSignedZeroInfNanPreserveFloat16",
    "RoundingModeRTE": "shaderRoundingModeRTEFloat16",
}
#: Features of modules whose lanes shuffle numbers.
SHUFFLES = ("subgroupShuffle", "subgroupSizeControl", "computeFullSubgroups")
#: What tells an invocation where it is in its subgroup, by SPIR-V's names.
BUILT_IN = {
    "subgroup_id": "SubgroupId",
    "subgroup_size": "SubgroupSize",
    "subgroup_lane": "SubgroupLocalInvocationId",
}
#: The API that has elements of 8 bits, and the version of SPIR-V that needs no extension for them.
API_8BIT, SPIRV_8BIT = (1, 2), (1, 5)


@frozen
class Part:
    """Element `number` of an access lies in its scalar `word`, `bits` from `bit` on, behind `place`
    others there; it `is_last` if there is no other of the access behind it."""

    number: int
    word: int
    place: int
    bit: int
    bits: int
    is_last: bool

    @property
    def is_first(self) -> bool:
        return self.place == 0


@frozen
class Tensor:
    """A storage buffer: an array of scalars, or of vectors of `vector` scalars.

    `scalar` is the SPIR-V type that memory holds: float, half, or uint, ushort or uchar for bits;
    uvec2 for those of 64 bits, the lower word first. `packed` elements of fewer than 32 bits share
    a scalar that is a uint, the first one in its lowest bits; accesses of fewer than 32 bits share
    it too, `per_word` of them.
    """

    name: str
    binding: int
    dtype: DType
    scalar: str
    vector: int = 1
    packed: int = 1
    per_word: int = 1
    read_only: bool

    @property
    def variable(self) -> str:
        """The id of the buffer, which is none of the kernel's own whatever the tensor is called."""
        return f"{self.name}_tensor"

    @property
    def element(self) -> str:
        """The type of the array's elements."""
        return self.scalar if self.vector == 1 else vector_type(self.scalar, self.vector)

    @property
    def width(self) -> int:
        """Elements of the tensor in one access."""
        return self.vector * self.packed // self.per_word

    @property
    def parts(self) -> tuple[Part, ...]:
        """Where each element of an access lies in it."""
        bits, together = 8 * WORD // self.packed, self.packed // self.per_word
        return tuple(
            Part(
                number=n,
                word=n // together,
                place=n % together,
                bit=n % together * bits,
                bits=bits,
                is_last=n % together == together - 1,
            )
            for n in range(self.width)
        )

    @property
    def shares_words(self) -> bool:
        """A word has several accesses, which several invocations may have."""
        return self.per_word > 1

    @property
    def per_word_log2(self) -> int:
        return log2(self.per_word)

    @property
    def place_mask(self) -> int:
        """The bits of an access's index that tell its place in a word."""
        return self.per_word - 1

    @property
    def access_bits(self) -> int:
        """Of an access that shares a word."""
        return 8 * WORD // self.per_word

    @property
    def access_bits_log2(self) -> int:
        return log2(self.access_bits)

    @property
    def as_computed(self) -> bool:
        """Numbers go to memory as they are: f32, or s32 as words."""
        return self.packed == 1 and self.scalar in ("float", "uint")

    @property
    def is_narrow(self) -> bool:
        """Its scalars have fewer than 32 bits."""
        return self.scalar in _NARROW

    @property
    def word(self) -> str:
        """The type that a scalar's bits are computed with in."""
        return "uvec2" if self.scalar == "uvec2" else "uint"

    @property
    def words(self) -> str:
        """The type of an element of such scalars."""
        return self.word if self.vector == 1 else vector_type("uint", self.vector)

    @property
    def floats(self) -> str:
        """The type of an access of as many f32."""
        return "float" if self.width == 1 else vector_type("float", self.width)

    @property
    def components(self) -> range:
        return range(self.vector)

    @property
    def numbers(self) -> range:
        """Of the tensor's elements in an access."""
        return range(self.width)

    @property
    def element_bytes(self) -> int:
        return _BYTES[self.scalar] * self.vector


@frozen
class Shared:
    """An array in workgroup memory, of 4-byte scalars or of vectors of `vector` of them; `stages`
    of them, one behind another, if that is not None. `by_component`: some accesses are of scalars
    of a vector."""

    name: str
    scalar: str
    vector: int = 1
    length: int
    stages: int | None = None
    by_component: bool = False

    @property
    def element(self) -> str:
        return self.scalar if self.vector == 1 else vector_type(self.scalar, self.vector)

    @property
    def is_staged(self) -> bool:
        return self.stages is not None

    @property
    def shape(self) -> str:
        """For readers: the number of elements."""
        return f"[{self.length}]" if self.stages is None else f"[{self.stages}][{self.length}]"

    @property
    def nbytes(self) -> int:
        return (self.stages or 1) * self.length * self.vector * WORD


@frozen
class VulkanPlan(Plan):
    """`functions` names the helper functions of the module, in the order of their definition.

    `constants` are floating-point constants of this kernel by name, as literals. `fallbacks` are
    the plans for devices that lack what this one uses of the target's options, each with a name.
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
        """Each buffer's element type and its bytes, without repetition."""
        return tuple(dict.fromkeys((t.element, t.element_bytes) for t in self.tensors))

    @property
    def shared_types(self) -> tuple[str, ...]:
        """What accesses of workgroup memory are of, without repetition."""
        scalars = (s.scalar for s in self.shared if s.by_component)
        return tuple(dict.fromkeys((*(s.element for s in self.shared), *scalars)))

    @property
    def memory_model(self) -> str:
        """That of SPIR-V."""
        return "GLSL450"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Variables that tell an invocation which one it is."""
        return ("local_id", "workgroup_id", *(BUILT_IN if self.shuffles else ()))

    @property
    def subgroup_inputs(self) -> tuple[tuple[str, str], ...]:
        """Those that are one number: their names, and those of SPIR-V."""
        return tuple((name, BUILT_IN[name]) for name in self.inputs if name in BUILT_IN)

    @property
    def extension(self) -> str:
        """That of the module's file."""
        return f"{self.fallback_name}.spv" if self.fallback_name else "spv"

    @property
    def rounds_f16(self) -> bool:
        """The device converts from and to f16, as kgen does."""
        converts = {"narrow_f16", "widen_f16"} & {*self.functions}
        return self.target.has(ROUNDS_F16) and bool(converts)

    @property
    def shuffles(self) -> bool:
        """Lanes of a subgroup read one another's numbers."""
        return False

    @property
    def uses_options(self) -> bool:
        """Whether it asks for instructions that some devices lack, and others need not."""
        return self.rounds_f16 or self.shuffles

    @property
    def variants(self) -> tuple[VulkanPlan, ...]:
        return self.fallbacks

    @property
    def execution_modes(self) -> tuple[str, ...]:
        """Those of the entry point besides its size: how 16-bit floats are rounded and kept."""
        return tuple(f"{mode} 16" for mode in FLOAT_MODES) if self.rounds_f16 else ()

    @property
    def ordered(self) -> tuple[str, ...]:
        """Results of additions that a driver must do as they stand: NoContraction (Vulkan 1.3,
        "Precision and Operation of SPIR-V Instructions")."""
        return ()

    @property
    def further_requirements(self) -> Mapping[str, Any]:
        """What a main loop needs of a device besides memory and tensors."""
        return {}

    @property
    def interface(self) -> tuple[str, ...]:
        """The variables that OpEntryPoint lists."""
        names = [*self.inputs]
        if self.target.has("interface-lists-all"):
            names += [t.variable for t in self.tensors] + [s.name for s in self.shared]
        return tuple(names)

    @property
    def narrow(self) -> tuple[tuple[str, str], ...]:
        """What tensors of fewer than 32 bits take: capabilities, and features of the device."""
        found = (_NARROW[t.scalar] for t in self.tensors if t.scalar in _NARROW)
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
        """Extensions of SPIR-V."""
        limits = self.target.limits
        version = (limits["spirv_major"], limits["spirv_minor"])
        return ("SPV_KHR_8bit_storage",) if self.has_8bit and version < SPIRV_8BIT else ()

    @property
    def requires(self) -> Mapping[str, Any]:
        """What the device must have: the API's version, and all that this version leaves open."""
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
        return f"{self.target.name}, {version}; the device has {', '.join(words)}"

    def launch_line(self, launch: Launch) -> str:
        return f"{times(launch.grid)} workgroups of {self.num_threads} invocations"

    def declarations(self, text: str) -> tuple[str, ...]:
        """The types and constants that the text names."""
        return declarations.find(text, self.constants)

    def not_finite(self, text: str) -> tuple[str, ...]:
        """What makes the infinities and NaN that a function's text names."""
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


def vector_type(scalar: str, width: int) -> str:
    return f"{_VECTORS[scalar]}{width}"


def bits_of(dtype: DType) -> str:
    """The scalar type that holds a dtype's bits."""
    return {1: "uchar", 2: "ushort", WORD: "uint", 2 * WORD: "uvec2"}[dtype.itemsize]


def stored(tensor: Tensor, target: Target) -> Tensor:
    """A tensor of fewer than 32 bits as words if its accesses are whole ones, or if devices of the
    target need not have other memory."""
    access = tensor.element_bytes
    if not tensor.is_narrow or (access % WORD and target.has(NARROW_STORAGE)):
        return tensor
    return dataclasses.replace(
        tensor,
        scalar="uint",
        vector=max(1, access // WORD),
        packed=WORD // tensor.dtype.itemsize,
        per_word=max(1, WORD // access),
    )


def log2(value: int) -> int:
    """The exact base-2 logarithm of a power of two."""
    assert value > 0 and value & (value - 1) == 0, value
    return value.bit_length() - 1


def fold_grid(blocks: int) -> Extent3:
    """A grid of at least this many workgroups; past the limit of x they go on in y.

    Workgroup (x, y) is block y * grid[0] + x.
    """
    limit = VULKAN_GUARANTEED["maxComputeWorkGroupCount"]
    rows = -(-blocks // limit)
    return (-(-blocks // rows), rows, 1)


def check_powers_of_two(schedule: Schedule, *names: str) -> None:
    """These fields must be powers of two: indices are made of shifts and masks."""
    for name in names:
        value = getattr(schedule, name)
        if value & (value - 1):
            lower = 1 << (value.bit_length() - 1)
            raise ScheduleError(
                f"{name}={value} is not a power of two; try {name}={lower} or {name}={2 * lower}"
            )


def check_threads(num_threads: int, target: Target, remedy: str) -> None:
    limit = CEILING["maxComputeWorkGroupInvocations"]
    if num_threads > limit:
        raise ScheduleError(
            f"the schedule has {num_threads} invocations per workgroup; {target.name} allows "
            f"{limit}; try {remedy}"
        )


def check_vector(vector: int, elements: int, what: str) -> None:
    """SPIR-V has vectors of 2 and 4, and a tensor must be a whole number of them."""
    if vector in VECTOR_WIDTHS and elements % vector == 0:
        return
    fitting = next(v for v in VECTOR_WIDTHS if elements % v == 0)
    raise ScheduleError(
        f"vector={vector} is not one of {', '.join(map(str, VECTOR_WIDTHS))} that divides "
        f"{elements} {what}; try vector={fitting}"
    )


def check_blocks(blocks: int, field: str, value: int, target: Target) -> None:
    """One dimension of the grid must hold as many workgroups."""
    limit = VULKAN_GUARANTEED["maxComputeWorkGroupCount"]
    if blocks > limit:
        raise ScheduleError(
            f"{field}={value} needs {blocks} workgroups in a row; {target.name} allows {limit}; "
            f"try {field}={2 * value}"
        )
