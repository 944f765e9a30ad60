"""Base of all plans of CUDA kernels: the launch, shared memory, and the checks on both."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kgen.errors import ScheduleError
from kgen.ops import Expression
from kgen.schedule import GpuMatmul, GpuRows, GpuStream, Schedule
from kgen.spec import Elementwise, Matmul, Rowwise, Spec
from kgen.targets import powers_of_two
from kgen.targets.base import Plan, Target
from kgen.targets.contraction import grid
from kgen.targets.cuda.expressions import PtxRenderer
from kgen.targets.cuda.limits import FEATURES
from kgen.targets.cuda.plan.constants import CONSTANTS, Constants
from kgen.targets.expressions import Rendered
from kgen.targets.header import times
from kgen_runtime.manifest import Launch
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen.targets.cuda.plan.staging.copy import TileCopy

#: Registers for indices, predicates and addresses, beside a kernel's accumulators and fragments.
REGISTERS_FOR_ADDRESSES = 24
#: Fields of schedules that no address depends on.
ANY_NUMBER = frozenset({"origin", "num_stages", "split_k", "num_workgroups", "group_m"})


@frozen
class CudaPlan(Plan):
    """Plan of a CUDA kernel. `shared_bytes` is all the shared memory of a CTA; above the static
    limit it is dynamic."""

    num_threads: int
    shared_bytes: int = 0
    ptx_version: int

    @property
    def version(self) -> str:
        """The argument of PTX's .version directive."""
        return f"{self.ptx_version // 10}.{self.ptx_version % 10}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for the header of the kernel: how operands are copied, multiplied and added."""
        return ()

    def rendered(self, expression: Expression, inputs: Mapping[str, str], result: str) -> Rendered:
        """Return the lines that compute an expression into an f32 register that is declared
        already.

        `numbers` and `truths` of the result are the registers to declare.
        """
        found = PtxRenderer(target=self.target).render(expression, inputs, result)
        return replace(found, numbers=found.numbers[:-1])

    @property
    def tabled(self) -> tuple[TileCopy, ...]:
        """Copies that read a table of K-tiles, which the module contains."""
        return ()

    @property
    def shared_alignment(self) -> int:
        """Alignment of shared memory in bytes: one access to all 32 banks."""
        return 128

    def is_map(self, name: str) -> bool:
        """Return whether an argument is a tensor map."""
        return any(map_.name == name for map_ in self.tensor_maps)

    @property
    def dynamic_shared(self) -> bool:
        return is_dynamic(self.shared_bytes, self.target)

    @property
    def constants(self) -> Constants:
        return CONSTANTS

    @property
    def target_line(self) -> str:
        return f"{self.target.name}, PTX {self.version}"

    def launch_line(self, launch: Launch) -> str:
        cluster = f", clusters of {times(launch.cluster)}" if launch.is_clustered else ""
        return f"{times(launch.grid)} CTAs of {launch.block[0]} threads{cluster}"

    @property
    def memory_map(self) -> tuple[str, ...]:
        if not self.shared_bytes:
            return ()
        kind = "dynamic" if self.dynamic_shared else "static"
        return (f"shared memory ({kind}), {self.shared_bytes} B", *self.shared_map)

    @property
    def shared_map(self) -> tuple[str, ...]:
        """Map of shared memory, one line per part."""
        return ()


def is_dynamic(shared_bytes: int, target: Target) -> bool:
    return shared_bytes > target.limits["static_shared_memory"]


def plan_launch(
    spec: Matmul, schedule: GpuMatmul, num_threads: int, shared_bytes: int, target: Target
) -> Launch:
    """Return the launch of one CTA per block tile."""
    dynamic = shared_bytes if is_dynamic(shared_bytes, target) else 0
    return grid.plan_launch(spec, schedule, num_threads, dynamic)


def ptx_version(target: Target, spec: Spec, *features: str) -> int:
    """Return the lowest PTX version (times ten) that has the target, the outputs' conversions and
    the features used."""
    outputs = (p.dtype for p in spec.parameters if p.is_output)
    if any(dtype.is_integer and dtype.itemsize == 1 for dtype in outputs):
        features = (*features, "cvt_pack")
    return max([target.limits["ptx_version"], *(FEATURES[f] for f in features)])


def check_powers_of_two(schedule: Schedule) -> None:
    """Check that every field on which an address depends is a power of two. Raises
    ScheduleError."""
    names = (f.name for f in dataclasses.fields(schedule))
    powers_of_two.check_powers_of_two(schedule, *(n for n in names if n not in ANY_NUMBER))


def check_threads(num_threads: int, limit_of: Target, remedy: str) -> None:
    """Check that a CTA has whole warps, and no more threads than the target allows. Raises
    ScheduleError."""
    limit = limit_of.limits["threads_per_block"]
    if num_threads > limit or num_threads % limit_of.subgroup:
        raise ScheduleError(
            f"the schedule has {num_threads} threads per block; {limit_of.name} requires a "
            f"multiple of {limit_of.subgroup} and allows {limit}; try {remedy}"
        )


def register_limit(num_threads: int, target: Target) -> int:
    """Return the registers per thread beside those for addresses."""
    per_block = target.limits["registers_per_block"] // num_threads
    return min(target.limits["registers_per_thread"], per_block) - REGISTERS_FOR_ADDRESSES


def check_registers(needed: int, what: str, num_threads: int, target: Target, remedy: str) -> None:
    """Check that `needed` registers per thread for `what` do not spill. Raises ScheduleError."""
    limit = register_limit(num_threads, target)
    if needed > limit:
        raise ScheduleError(
            f"{what} needs {needed} registers per thread; {target.name} leaves {limit} with "
            f"{num_threads} threads per block; try {remedy}"
        )


def check_shared(
    schedule: GpuMatmul, stage_bytes: int, target: Target, *, beside: int = 0, instead: str = ""
) -> None:
    """Check that all stages fit, with the bytes that lie `beside` them. Raises ScheduleError.

    The remedy is fewer stages or, where fewer than two would fit, `instead`: by default a smaller
    block_k.
    """
    limit = target.limits["dynamic_shared_memory"]
    stages = schedule.num_stages * stage_bytes
    needed, room = stages + beside, max(1, limit - beside)
    if needed <= limit:
        return
    if room // stage_bytes >= 2:
        advice = f"num_stages={room // stage_bytes}"
    else:
        # The bytes of a stage are proportional to block_k, which is a power of two.
        smaller = schedule.block_k >> (-(-stages // room) - 1).bit_length()
        advice = instead or f"block_k={smaller}"
    raise ScheduleError(
        f"num_stages={schedule.num_stages} needs {needed} B of shared memory; "
        f"{target.name} allows {limit}; try {advice}"
    )


@frozen
class FormulaPlan(CudaPlan):
    """Plan of a formula's kernel: tensors are accessed in vectors of `schedule.vector` elements."""

    spec: Elementwise | Rowwise
    schedule: GpuStream | GpuRows
