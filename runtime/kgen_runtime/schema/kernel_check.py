"""Check of a kernel's manifest against itself.

Digests say that the bytes are those of the manifest. This module checks that sizes, launches and
arguments in the manifest agree with each other and with the limits of devices. It cannot check what
code does with its arguments ("Trust" in docs/reference/bundle-format.md).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from kgen_runtime.errors import BundleError
from kgen_runtime.launch_limits import ANYTHING, CPU, refusal
from kgen_runtime.manifest import KernelEntry, Launch, Packing, TensorMap, TensorParam, Tile
from kgen_runtime.memory.strides import extent, packed_strides
from kgen_runtime.schema.limits import LIMITS
from kgen_runtime.schema.spec_tensors import tensors

Shape = tuple[int, ...]

#: Bytes of a tensor or a workspace, and of a step in one: what numpy and drivers count in.
MAX_BYTES = LIMITS["tensor_bytes"].most
MAX_RANK = LIMITS["rank"].most
#: Dimensions of a tensor map (cuTensorMapEncodeTiled).
MAX_MAP_RANK, MAX_BOX = 5, 256
#: Characters of a list of names in a message.
MAX_LISTED = 200
#: Rows that `packing` moves at a time, of which every depth is a divisor.
MAX_DEPTH = 64
DEPTHS = (1, 2, 4, 8, 16, 32, MAX_DEPTH)
#: Formats of artifacts: the families whose devices run it, and its content.
FORMATS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "cubin": (
        ("cuda",),
        "machine code: ELF from ptxas; runs on the same major compute capability, same or later "
        "minor",
    ),
    "ptx": (
        ("cuda",),
        "portable: text that the driver compiles for the same or a later GPU; PTX of a target with "
        "suffix `a` runs on that target only",
    ),
    "hsaco": (("amdgpu",), "machine code: linked code object (ET_DYN) for one gfx architecture"),
    "spirv": (("vulkan",), "portable: SPIR-V module that the driver compiles"),
    "spirv-asm": (("vulkan",), "source: rendered kernel, to read"),
    "msl": (
        ("vulkan",),
        "portable (metal3): Metal Shading Language, for an application that hands it to Metal",
    ),
    "elf-x86_64": (
        ("cpu",),
        "machine code: shared object without undefined symbols, writable data or relocations",
    ),
    "elf-aarch64": (("cpu",), "machine code: likewise, for aarch64"),
    "llvm-ir": (("amdgpu", "cpu"), "source: rendered kernel, to read and to emulate"),
}


def check(kernel: KernelEntry) -> None:
    """Raises BundleError, which names the kernel, for the first thing that is amiss."""
    try:
        for look in CHECKS:
            look(kernel)
    except BundleError as error:
        raise BundleError(f"{kernel.name}: {error}; build the bundle again") from None


def _refuse(amiss: object, message: str) -> None:
    if amiss:
        raise BundleError(message)


def _all_names(kernel: KernelEntry) -> list[str]:
    """What a launch may take."""
    names = [p.name for p in kernel.parameters] + [w.name for w in kernel.workspaces]
    return names + [map_.name for map_ in kernel.tensor_maps]


def _names(kernel: KernelEntry) -> None:
    twice = [name for name, count in Counter(_all_names(kernel)).items() if count > 1]
    _refuse(twice, f"{''.join(twice[:1])} is used as a name twice")
    named = kernel.key and kernel.op.isidentifier() and not kernel.op.startswith("_")
    _refuse(not named, f"op={kernel.op!r} or key={kernel.key!r} is not a valid name")
    op = kernel.spec.get("op")
    # Kernels of expressions are called by their functions' names.
    renamed = op not in (kernel.op, "elementwise", "rowwise")
    _refuse(renamed, f"op={kernel.op} is {op!r} in its spec")


def _parameters(kernel: KernelEntry) -> None:
    _refuse(not kernel.outputs, "it has no outputs")
    for p in kernel.parameters:
        check_tensor(p.name, p.shape, p.strides, p.dtype.itemsize)
        if p.packing is not None:
            _packing(p, p.packing)
    for output in kernel.outputs:
        _refuse(
            not _is_disjoint(output),
            f"elements of {output.name} overlap with strides {list(output.strides)}",
        )
    wanted = tensors(kernel.spec)
    given = tuple(p.unpacked for p in kernel.parameters)
    if wanted is None or wanted == given:
        return
    names = [p.name for p in wanted]
    _refuse(names != [p.name for p in given], f"its spec requires the tensors {listed(names)}")
    for one, other in zip(wanted, given, strict=True):
        _refuse(one != other, f"its spec requires {_described(one)}, not {_described(other)}")


def check_tensor(name: str, shape: Shape, strides: Shape, itemsize: int) -> None:
    """Raises BundleError unless a tensor has one stride for each dimension and can be addressed."""
    if (problem := _tensor_problem(shape, strides, itemsize)) is not None:
        raise BundleError(f"{name} {problem}")


@lru_cache(maxsize=1024)  # a program's values have few shapes
def _tensor_problem(shape: Shape, strides: Shape, itemsize: int) -> str | None:
    if len(shape) != len(strides):
        return "needs one stride per dimension"
    if len(shape) > MAX_RANK:
        return f"has {len(shape)} dimensions; the limit is {MAX_RANK}"
    if shape and (min(shape) < 1 or min(strides) < 0):
        return "has a size below 1 or a stride below 0"
    if (most := max(extent(shape, strides), *strides, 0) * itemsize) > MAX_BYTES:
        return f"spans {most} bytes; the limit is {MAX_BYTES}"
    return None


def _is_disjoint(p: TensorParam) -> bool:
    """Whether every element has a place of its own: each step leads past all that the smaller ones
    reach."""
    reached = 0
    for stride, n in sorted(zip(p.strides, p.shape, strict=True)):
        if n > 1 and stride <= reached:
            return False
        reached += (n - 1) * stride
    return True


def _packing(p: TensorParam, packing: Packing) -> None:
    check_tensor(p.name, packing.shape, packing.strides, p.dtype.itemsize)
    fits = len(packing.shape) >= 2 and len(p.shape) == len(packing.shape) + 2
    if fits:
        rows, cols = packing.shape[-2:]
        k, n = (cols, rows) if packing.transposed else (rows, cols)
        *batch, panels, steps, width, depth = p.shape
        fits = (
            (width, depth) == (packing.width, packing.depth)
            and (sum(packing.runs) == depth if packing.runs else depth in DEPTHS)
            and all(run > 0 for run in packing.runs)
            and depth <= MAX_DEPTH
            and batch == list(packing.shape[:-2])
            and -(-n // width) <= panels
            and -(-k // depth) <= steps
            and p.strides == packed_strides(p.shape)
        )
    _refuse(not fits, f"{p.name} has a packing that does not fit its shape")


def _described(p: TensorParam) -> str:
    return f"{p.role} {p.name} {list(p.shape)} {p.dtype} with strides {list(p.strides)}"


def _workspaces(kernel: KernelEntry) -> None:
    for workspace in kernel.workspaces:
        if not 1 <= workspace.nbytes <= MAX_BYTES:
            raise BundleError(
                f"{workspace.name} has {workspace.nbytes} bytes; a workspace has 1 or more"
            )


def _tensor_maps(kernel: KernelEntry) -> None:
    sizes = kernel.sizes
    for map_ in kernel.tensor_maps:
        _refuse(map_.tensor not in sizes, f"{map_.name} views {map_.tensor}, which does not exist")
        rank = len(map_.shape)
        same = rank == len(map_.strides) == len(map_.box)
        _refuse(not same or not rank, f"{map_.name} needs one number per dimension")
        _tensor_map(map_, sizes[map_.tensor])


def _tensor_map(map_: TensorMap, nbytes: int) -> None:
    _refuse(len(map_.shape) > MAX_MAP_RANK, f"{map_.name} has {len(map_.shape)} dimensions")
    check_tensor(map_.name, map_.shape, map_.strides, map_.dtype.itemsize)
    spans = extent(map_.shape, map_.strides) * map_.dtype.itemsize
    _refuse(spans > nbytes, f"{map_.name} spans {spans} bytes; {map_.tensor} has {nbytes}")
    if map_.strides[-1] != 1 or not all(1 <= n <= MAX_BOX for n in map_.box):
        raise BundleError(
            f"{map_.name} has a box or stride that is not supported; boxes are 1 to {MAX_BOX}"
        )


def _constants(kernel: KernelEntry) -> None:
    sizes = {p.name: p.nbytes for p in kernel.inputs}
    for constant in kernel.constants:
        # A parameter that was taken out has its bytes already.
        if sizes.pop(constant.parameter, None) != constant.nbytes:
            raise BundleError(f"{constant.file} does not hold an input {constant.parameter}")


class _Named:
    """A kernel's tensors, workspaces and tensor maps by name, made once for all of its launches."""

    def __init__(self, kernel: KernelEntry) -> None:
        self.sizes = kernel.sizes
        #: Places of the parameters in the order of the code; a map has that of its tensor.
        self.places = {p.name: i for i, p in enumerate(kernel.parameters)}
        maps = {map_.name: map_.tensor for map_ in kernel.tensor_maps}
        self.places |= {name: self.places[of] for name, of in maps.items() if of in self.places}
        self.all = {*self.sizes, *maps}
        self.written = {*(p.name for p in kernel.outputs), *(w.name for w in kernel.workspaces)}
        self.largest = max(math.prod(p.shape) for p in kernel.outputs)


def _launches(kernel: KernelEntry) -> None:
    _refuse(not kernel.launches, "it has no launches")
    named = _Named(kernel)
    for launch in kernel.launches:
        _arguments(named, launch)
        _extents(kernel, named, launch)
        if launch.tile is not None:
            _tile(named, launch, launch.tile)
    used = {name for launch in kernel.launches for name in launch.arguments}
    used |= {map_.tensor for map_ in kernel.tensor_maps}
    unused = [name for name in _all_names(kernel) if name not in used]
    _refuse(unused, f"no launch uses {listed(unused)}")


def listed(names: Iterable[str]) -> str:
    """Names for a message, which has 500 characters at most."""
    text = ", ".join(names)
    return text if len(text) <= MAX_LISTED else f"{text[:MAX_LISTED]}..."


def _arguments(named: _Named, launch: Launch) -> None:
    """Each once, and parameters (or maps of them) in their order, which is that of the code."""
    given = launch.arguments
    unknown = set(given) - named.all
    _refuse(unknown, f"no argument is called {', '.join(sorted(unknown)[:1])}")
    twice = len(set(given)) != len(given)
    _refuse(twice, f"a launch takes {listed(given)}, one of them twice")
    places = [named.places[name] for name in given if name in named.places]
    _refuse(places != sorted(places), f"its arguments are {listed(given)}, in the wrong order")


def _extents(kernel: KernelEntry, named: _Named, launch: Launch) -> None:
    """That there is something to run. What the devices of a GPU's target allow is asked when one is
    chosen, so that a kernel beyond it is left out and the others run."""
    is_cpu = kernel.target.family == "cpu"
    beyond = refusal(launch, CPU if is_cpu else ANYTHING)
    _refuse(beyond, str(beyond))
    if is_cpu:
        most = sum(named.sizes[name] for name in launch.arguments if name in named.written)
        tasks = launch.grid[0]
        _refuse(tasks > most, f"grid={launch.grid} has more tasks than the {most} bytes they write")


def _tile(named: _Named, launch: Launch, tile: Tile) -> None:
    rank = len(tile.shape)
    if not (
        0 < rank <= MAX_RANK
        and rank == len(tile.extent) == len(tile.axes)
        and all(n > 0 for n in (*tile.shape, *tile.extent, tile.parts))
        and all(-1 <= axis <= 2 for axis in tile.axes)
        and math.prod(tile.shape) == named.largest
    ):
        raise BundleError("its tile does not fit its output")
    if tile.walk is not None:
        walk = tile.walk
        pieces = math.prod(-(-n // e) for n, e in zip(tile.shape, tile.extent, strict=True))
        fits = rank >= 2 and walk.group > 0 and 0 <= walk.shared <= pieces and walk.steps >= 0
        _refuse(not fits, "its walk does not fit its tiles")
        return
    for dim, axis in enumerate(tile.axes):
        pieces = -(-tile.shape[dim] // tile.extent[dim]) * (tile.parts if dim == 0 else 1)
        if axis < 0 or tile.axes.count(axis) > 1:
            continue
        # Whole clusters: some of the last one's workgroups may have no tile.
        cluster = launch.cluster[axis]
        if launch.grid[axis] != -(-pieces // cluster) * cluster:
            raise BundleError(
                f"grid={list(launch.grid)} does not match the {pieces} tiles of dimension {dim}"
            )


def _artifacts(kernel: KernelEntry) -> None:
    ready = {a.module for a in kernel.artifacts if a.role != "source"}
    for module in {launch.module for launch in kernel.launches} - ready:
        raise BundleError(f"it has no code for its module {module}")
    for artifact in kernel.artifacts:
        family = kernel.target.family
        fits = family in FORMATS.get(artifact.format, ((family,), ""))[0]
        _refuse(not fits, f"{artifact.file} is {artifact.format}, which is not for {family}")
        for name, value in artifact.requires.items():
            fits = REQUIREMENTS.get(name, _anything)(value)
            _refuse(
                not fits, f"{artifact.file} requires {name}={value!r}, which is not a valid value"
            )


def _anything(_: Any) -> bool:
    return True


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v for v in value)


def _is_version(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value)


#: What backends may ask of each requirement that they know; others they refuse by name.
REQUIREMENTS: Mapping[str, Callable[[Any], bool]] = {
    "arch": lambda value: isinstance(value, str),
    "features": _is_texts,
    "compute_capability": _is_version,
    "cuda": _is_version,
    "exact": lambda value: isinstance(value, bool),
    "api": lambda value: isinstance(value, str) and bool(re.fullmatch(r"\d+(\.\d+)*", value)),
    "limits": lambda value: (
        isinstance(value, dict) and all(type(limit) is int for limit in value.values())
    ),
}

CHECKS: Iterable[Callable[[KernelEntry], None]] = (
    _names,
    _parameters,
    _workspaces,
    _tensor_maps,
    _constants,
    _launches,
    _artifacts,
)
