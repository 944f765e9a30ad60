"""Base of all plans of AMD kernels, and the checks that they share."""

from __future__ import annotations

from kgen.errors import ScheduleError
from kgen.schedule.matmul import GpuMatmul
from kgen.targets.base import Plan, Target
from kgen.targets.llvm_ir import FloatType
from kgen.targets.llvm_remainder import Remainder
from kgen_runtime.manifest import Extent3, Launch
from kgen_runtime.values import frozen


@frozen
class AmdgpuPlan(Plan):
    """Plan of an AMD kernel."""

    def stem(self, name: str) -> str:
        """Return the name of a tensor in the kernel."""
        return name

    @property
    def attributes(self) -> int:
        """Number of the group of attributes of the kernel's function."""
        return 0

    def pointers(self, suffix: str = "") -> tuple[str, ...]:
        """Return the kernel's arguments with their attributes; `suffix` ends tensors' names."""
        tensors = (
            f"noalias {'writeonly' if p.is_output else 'readonly'} %{self.stem(p.name)}{suffix}"
            for p in self.spec.parameters
        )
        return (*tensors, *(f"%{w.name}" for w in self.workspaces))

    @property
    def threads(self) -> int:
        return self.launches[0].block[0]

    @property
    def wave(self) -> int:
        return self.target.subgroup

    @property
    def wave_mask(self) -> int:
        return self.wave - 1

    def launch_line(self, launch: Launch) -> str:
        return f"{super().launch_line(launch)}, waves of {self.wave}"

    @property
    def wave_shift(self) -> int:
        return self.wave.bit_length() - 1

    @property
    def waves(self) -> int:
        return -(-self.threads // self.wave)

    @property
    def preloads_arguments(self) -> bool:
        """Whether arguments are in registers when the kernel starts, as far as registers
        suffice."""
        return self.target.has("preloaded-arguments")

    @property
    def exponentials(self) -> tuple[FloatType, ...]:
        """Vector types whose exponential is a function of the module."""
        return ()

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        """Function of the module for remainders, if an expression needs it."""
        return ()

    @property
    def division_ulps(self) -> str:
        """Permitted error of divisions in ulps, as an LLVM literal; empty if there are none."""
        return ""

    @property
    def target_features(self) -> tuple[str, ...]:
        """LLVM features that differ from the processor's defaults."""
        return ()

    @property
    def has_barriers(self) -> bool:
        """Whether the threads of a workgroup exchange data through LDS."""
        return False


def check_threads(target: Target, threads: int, field: str, value: int) -> None:
    """Check that a workgroup is not too large. Raises ScheduleError.

    `field` of the schedule, now `value`, is the work of a thread or wave; a larger value gives
    fewer threads.
    """
    limit = target.limits["threads"]
    if threads > limit:
        raise ScheduleError(
            f"{field}={value} gives {threads} threads per workgroup; {target.name} allows "
            f"{limit}; try {field}={value * -(-threads // limit)}"
        )


def check_num_threads(target: Target, threads: int) -> None:
    """Check that a workgroup is not too large. Raises ScheduleError."""
    limit = target.limits["threads"]
    if threads > limit:
        raise ScheduleError(
            f"num_threads={threads} is more than the {limit} per workgroup that {target.name} "
            f"allows; "
            f"try num_threads={limit}"
        )


def larger_blocks(schedule: GpuMatmul) -> str:
    """Return the remedy for a grid that is too large: block tiles of four times the size."""
    return f"block_m={2 * schedule.block_m},block_n={2 * schedule.block_n}"


def check_grid(grid: Extent3, threads: int, target: Target, remedy: str) -> None:
    """Check that a grid fits a dispatch packet. Raises ScheduleError."""
    if grid[0] * threads > (limit := target.limits["grid_threads"]):
        raise ScheduleError(
            f"the grid has {grid[0] * threads} threads along x; {target.name} allows {limit}; "
            f"try {remedy}"
        )
    for name, size in zip(("grid_y", "grid_z"), grid[1:], strict=True):
        if size > (limit := target.limits[name]):
            raise ScheduleError(
                f"the grid has {size} workgroups along {name[-1]}; {target.name} allows {limit}; "
                f"try {remedy}"
            )
