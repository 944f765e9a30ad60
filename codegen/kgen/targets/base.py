"""Interface of a target family, and the values that pass between the stages.

::

    spec + target -> Schedule -> Plan -> Source (template) -> tuple[Artifact, ...] -> bundle
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kgen.errors import ScheduleError, TargetError
from kgen.schedule import Schedule, ScheduleOrigin
from kgen.spec import Attention, Conv2d, DType, ImageLayout, Math, Matmul, Rowwise, Spec
from kgen.spec.choices import BType
from kgen.spec.shapes import by_x
from kgen.targets import header
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, operand_remarks
from kgen.targets.device import Multiplied, Occupancy, Rates, multiplied
from kgen_runtime.launch_limits import Limits, refusal, target_limits
from kgen_runtime.manifest import (
    Extent3,
    Launch,
    Resources,
    Role,
    TensorMap,
    TensorParam,
    Tile,
    Tolerance,
    Workspace,
)
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen.constants import Array

#: Tolerance of expressions that are exact in the type of their elements.
EXACT = Tolerance(
    accumulate=DType.F32, factor=0.0, reason="every step is exact in the type of the elements"
)


@frozen
class Target:
    """Target of code generation: a row of a family's table, without behaviour.

    `features` are the words that plans and templates ask for; `limits` are integers by name, with
    the source of each in the family's limits.py. `subgroup` is the width of a warp or wave; 0 where
    the target leaves it open (Vulkan) or has none (CPU).
    """

    name: str
    family: str
    arch: str
    subgroup: int = 0
    features: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict)
    device: str = ""

    def has(self, feature: str) -> bool:
        return feature in self.features


@frozen
class Plan:
    """Every derived integer of one kernel. Families extend it; all arithmetic lives here.

    `template` is the entry template's path under templates/. It sees `plan`, `spec`, `target` and
    `schedule`.
    """

    spec: Spec
    target: Target
    schedule: Schedule
    template: str
    launches: tuple[Launch, ...]
    workspaces: tuple[Workspace, ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()

    def __post_init__(self) -> None:
        """Raise ScheduleError for a launch that no device of the target would accept.

        What code beside the launch takes (registers, static shared memory) is not known before it
        is assembled; a bundle is held against that (:func:`kgen.bundle.pack`).
        """
        limits = self.launch_limits
        for launch in self.launches:
            if (why := refusal(launch, limits)) is not None:
                raise ScheduleError(f"{launch.entry_point}: {why}")

    @property
    def launch_limits(self) -> Limits:
        """Launch limits of every device of the target, widened by what the kernel requires."""
        return target_limits(self.target.family, self.target.arch)

    @property
    def operation(self) -> Spec:
        """Operation that the kernel computes.

        `spec` differs where a plan is that of another operation: a convolution is planned as the
        product of its windows and its weights.
        """
        return self.spec.operation if isinstance(self.spec, ImplicitGemm) else self.spec

    @property
    def entry_point(self) -> str:
        return self.launches[0].entry_point

    @property
    def variants(self) -> Sequence[Plan]:
        """Plans of the same launches for other devices; a runtime takes the first that suits."""
        return ()

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        """The kernel's tensors: the spec's, prepacked ones in their packed form."""
        return self.operation.parameters

    @property
    def multiplied(self) -> Multiplied:
        """The type that the main loop multiplies in."""
        return multiplied(self.spec)

    # -- the comment on top --------------------------------------------------------------------

    @property
    def target_line(self) -> str:
        """Target, and the features that its code requires."""
        return self.target.name

    def launch_line(self, launch: Launch) -> str:
        return f"{header.times(launch.grid)} workgroups of {math.prod(launch.block)} threads"

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines on the method: loops, tiles, who computes what."""
        return ()

    @property
    def memory_map(self) -> tuple[str, ...]:
        """Lines on the layout of on-chip and scratch memory."""
        return ()

    @property
    def argument_remarks(self) -> Mapping[str, str]:
        return {}

    @property
    def header(self) -> tuple[str, ...]:
        """The comment's lines: the same facts in the same order on all targets."""
        several = len(self.launches) > 1
        sections: dict[str, Sequence[str]] = {
            "computes": (self.operation.formula,),
            "target": (self.target_line,),
            "schedule": (self.schedule.line,),
            "launch": [
                f"{launch.entry_point}: " * several + self.launch_line(launch)
                for launch in self.launches
            ],
            "method": self.notes,
            "memory": self.memory_map,
            "arguments": header.arguments(
                self.parameters,
                self.workspaces,
                self.tensor_maps,
                {**operand_remarks(self.spec), **self.argument_remarks},
            ),
        }
        return header.lines(self.operation.key, sections)


@frozen
class Source:
    """A rendered kernel. `extension` is that of its file, without the dot (ptx, ll, spvasm)."""

    text: str
    extension: str
    entry_point: str


@frozen
class Artifact:
    """File of a finished kernel; see :class:`kgen_runtime.manifest.ArtifactEntry`."""

    format: str
    extension: str
    role: Role
    data: bytes
    requires: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Assembled:
    """Output of a family's assembler; the preferred artifact comes first."""

    artifacts: tuple[Artifact, ...]
    resources: Resources


@frozen
class BuiltKernel:
    """Finished kernel: its plan, its text and its machine code."""

    plan: Plan
    source: Source
    assembled: Assembled
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.plan.target.name}/{self.plan.operation.key}"


@frozen
class Toolchain:
    """A tool that a family's machine code depends on, for the bundle's provenance.

    `package` is what pip installs to get exactly this version.
    """

    name: str
    version: str
    package: str


S_co = TypeVar("S_co", bound=Schedule, covariant=True)


@frozen
class Candidate(Generic[S_co]):
    """A schedule that a family's model has ranked, with its reasons.

    `terms` are clocks (or any other unit, the same for all) that the model compares; `notes` are
    facts beside them. Predicted times rank schedules; they are no measurements.
    """

    schedule: S_co
    seconds: float
    terms: Mapping[str, float]
    notes: Mapping[str, object] = field(default_factory=dict)


S = TypeVar("S", bound=Spec)


@frozen
class Operation(Generic[S]):
    """An operation that a family has kernels for.

    `dtypes` are the input types that all of its targets have. `choose` is the heuristic: a schedule
    that always fits.
    """

    spec: type[S]
    dtypes: tuple[DType, ...]
    choose: Callable[[S, Target], Schedule]


def fits(plan: Callable[..., Plan], *arguments: object) -> bool:
    """Return whether a function makes a plan of a spec, a target and a schedule."""
    try:
        plan(*arguments)
    except ScheduleError:
        return False
    return True


def launch_of(
    spec: Spec, grid: Extent3, num_threads: int, tile: Tile | None = None, **more: Any
) -> Launch:
    """Return the launch of workgroups of `num_threads` threads, whose arguments are all tensors of
    the spec. `more` are further fields of the launch."""
    return Launch(
        entry_point=spec.key,
        grid=grid,
        block=(num_threads, 1, 1),
        arguments=tuple(p.name for p in spec.parameters),
        tile=tile,
        **more,
    )


#: Writes and reads of a score by the steps of attention: both products and a softmax.
SCORE_ACCESSES = 4


def _workgroups(plan: Plan) -> int:
    return max(math.prod(launch.grid) for launch in plan.launches)


class Family(ABC):
    """Family of targets. Its modules import assemblers only when `assemble` is called."""

    name: ClassVar[str]
    #: Extension of the rendered source.
    extension: ClassVar[str]
    #: The runtime's backend that runs its code.
    backend: ClassVar[str]
    #: Whether products take a constant operand prepacked (:meth:`packs`).
    packs_ahead: ClassVar[bool] = False
    #: Largest K of a product, and the most products of a batch, which are workgroups along z of a
    #: grid; None where the spec's own limits are enough.
    most_k: ClassVar[int | None] = 1 << 16
    most_batch: ClassVar[int | None] = (1 << 16) - 1
    #: Operands and outputs of a kernel that several layers of a model share.
    most_tensors: ClassVar[int] = 10
    #: Alignment in bytes of the tensors of its kernels; 1 where any element may be the first.
    alignment: ClassVar[int] = 16
    #: Whether it pads images of s8 with any number, not only 0.
    pads_with_zero_point: ClassVar[bool] = False
    #: Whether measurements correct its cost model, so that predicted times decide which kernels a
    #: model has.
    is_calibrated: ClassVar[bool] = False
    #: Whether convolutions may use Winograd's algorithm.
    has_winograd: ClassVar[bool] = False
    #: All named targets, in the order that `kgen targets` lists them.
    targets: ClassVar[tuple[Target, ...]]
    #: Whether depthwise convolutions of models are lowered to conv2d.
    convolves_channels: ClassVar[bool] = False
    operations: ClassVar[tuple[Operation[Any], ...]]

    def find(self, name: str) -> Target | None:
        """Return the target of this name, or None. Families with suffixes or `native` extend it."""
        return next((t for t in self.targets if t.name == name), None)

    def dtypes(self, op: str, target: Target) -> tuple[DType, ...]:
        """Return the input dtypes that this target supports for an operation (Spec.op)."""
        return next((o.dtypes for o in self.operations if o.spec.op == op), ())

    def check_support(self, spec: Spec, target: Target) -> None:
        """Raise TargetError if the target cannot do what the spec asks."""
        dtypes = self.dtypes(spec.op, target)
        if not dtypes:
            raise TargetError(f"target={target.name} does not support {spec.op}; see kgen targets")
        if missing := [dtype for dtype in spec.needed_dtypes if dtype not in dtypes]:
            others = [t.name for t in self.targets if missing[0] in self.dtypes(spec.op, t)]
            raise TargetError(
                f"dtype={missing[0]} is not supported by {target.name} for {spec.op}; take "
                f"{', '.join(dtypes)}{_with_it(others)}"
            )
        if isinstance(spec, Rowwise) and spec.compute not in (known := self.folded(target)):
            raise TargetError(
                f"{spec.text} is computed in {spec.compute}, and {target.name} reduces rows in "
                f"{', '.join(known)} only; use inputs of one of these dtypes"
            )
        if isinstance(spec, Matmul) and spec.math not in (maths := self.maths(target)):
            others = [t.name for t in self.targets if spec.math in self.maths(t)]
            raise TargetError(
                f"math={spec.math} is not supported by {target.name}; take "
                f"{', '.join(maths)}{_with_it(others)}"
            )
        if isinstance(spec, Matmul):
            for name, size, most in (
                ("k", spec.k, self.most_k),
                ("batch", spec.batch, self.most_batch),
            ):
                if most is not None and size > most:
                    raise TargetError(
                        f"{name}={size} is out of range for {target.name}; the limit is {most}; "
                        "split the matmul, or build it for a CPU target"
                    )
        if isinstance(spec, Conv2d):
            self._check_convolution(spec, target)
        narrow = self.narrow(target)
        if isinstance(spec, Matmul | Conv2d) and spec.b_dtype not in (None, *narrow):
            raise TargetError(
                f"b_dtype={spec.b_dtype} is not supported by {target.name} with "
                f"dtype={spec.dtype}; "
                + (f"take {', '.join(narrow)}, or " if narrow else "")
                + "leave b_dtype out"
            )

    def _check_convolution(self, spec: Conv2d, target: Target) -> None:
        nhwc = spec.layout is ImageLayout.NHWC
        for name, value, supported, only in (
            ("constant", ",".join(spec.constant), nhwc or not spec.constant, "layout=nhwc"),
            ("b_dtype", spec.b_dtype, nhwc or spec.b_dtype is None, "layout=nhwc"),
            (
                "padding_value",
                spec.padding_value,
                spec.padding_value == 0 or self.pads_with_zero_point,
                "padding_value=0",
            ),
            ("math", spec.math, spec.transforms is None or self.has_winograd, "math=exact"),
        ):
            if not supported:
                beside = "" if nhwc else f" with layout={spec.layout}"
                raise TargetError(
                    f"{name}={value} is not supported by {target.name} for conv2d{beside}; take "
                    f"{only}, or compile an ONNX model, which has no such limit"
                )
        images = 1 if nhwc else spec.images
        if self.most_batch is not None and images * spec.groups > self.most_batch:
            of_images = "" if nhwc else f"{images} images of layout={spec.layout} with "
            raise TargetError(
                f"{of_images}groups={spec.groups} is out of range for {target.name}; the limit is "
                f"{self.most_batch}; split the convolution, or build it for a CPU target"
            )
        if self.most_k is not None and spec.product.k > self.most_k:
            raise TargetError(
                f"weights={by_x(spec.weights)} has {spec.product.k} weights per output; "
                f"{target.name} supports {self.most_k}; split the convolution, or build it for a "
                "CPU target"
            )

    def folded(self, target: Target) -> tuple[DType, ...]:
        """Return the types that rows are computed in; lanes exchange values of 32 bits."""
        return (DType.F32, DType.S32)

    def maths(self, target: Target) -> tuple[Math, ...]:
        """Return the ways to multiply f32."""
        return (Math.EXACT,)

    def packs(self, spec: Matmul | Conv2d, target: Target) -> bool:
        """Return whether a kernel takes its constant operand prepacked."""
        return self.packs_ahead

    def narrow(self, target: Target) -> tuple[BType, ...]:
        """Return the types that B may have instead of A's f32."""
        return ()

    def choose(self, spec: Spec, target: Target) -> Schedule:
        """Return the heuristic schedule. Raises TargetError as :meth:`check_support` does."""
        self.check_support(spec, target)
        return next(o for o in self.operations if isinstance(spec, o.spec)).choose(spec, target)

    def for_weights(
        self, spec: Spec, target: Target, schedule: Schedule, weights: Sequence[Array]
    ) -> Schedule:
        """Return the schedule, or a faster one for a constant B. `weights` has the matrix B of each
        call, stored as in the spec."""
        return schedule

    def draft(self, spec: Spec, target: Target) -> Schedule:
        """Return the heuristic schedule before `complete`; a user's fields are set in it."""
        return self.choose(spec, target)

    def complete(
        self, spec: Spec, target: Target, schedule: Schedule, given: Collection[str]
    ) -> Schedule:
        """Choose the fields that follow from others again, but for those that are `given`."""
        return schedule

    def core(self, target: Target) -> str:
        """Name the CPU core or GPU whose tuning file applies to the target."""
        return target.device or target.name

    def instructions(self, spec: Spec, target: Target) -> str:
        """Name the instruction set of the kernel's main loop, for its class of measurements."""
        return target.name

    def schedule_type(self, spec: Spec, target: Target, mainloop: str) -> type[Schedule]:
        """Return the type of schedules of a main loop. Raises KeyError for an unknown one."""
        known = (self.choose(spec, target), *self.alternatives(spec, target))
        return {type(each).mainloop: type(each) for each in reversed(known)}[mainloop]

    def adapted(
        self, spec: Spec, target: Target, schedule: Schedule, sizes: tuple[int, ...]
    ) -> Schedule:
        """Return the schedule, which was measured for other `sizes`, with fields that fit the spec
        (:func:`kgen.targets.choose.sizes_of`)."""
        return schedule

    def doubt(self, spec: Spec, target: Target, schedule: Schedule, distance: float) -> float:
        """Return log(predicted time / least predicted time) of a schedule that was measured at some
        distance, less the model's error over that distance; 0 if the error is not known."""
        return 0.0

    def candidates(self, spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
        """Return the candidates that `choose` ranked, best first; empty where no model ranks.

        Raises TargetError as :meth:`check_support` does.
        """
        self.check_support(spec, target)
        return self._ranked(spec, target)

    def _ranked(self, spec: Spec, target: Target) -> tuple[Candidate[Schedule], ...]:
        """Return the candidates of a spec that the target supports."""
        return ()

    def predicted(
        self, spec: Spec, target: Target, schedule: Schedule, held: int = 0
    ) -> Candidate[Schedule] | None:
        """Return the cost model's prediction for a schedule; None if the model does not rank it.

        `held` is the bytes of constants that a program reads from one call to the next.
        """
        wanted = dataclasses.replace(schedule, origin=ScheduleOrigin.MODEL)
        ranked = self.candidates(spec, target)
        return next((c for c in ranked if c.schedule == wanted), None)

    def predicted_seconds(self, target: Target, spec: Spec) -> float | None:
        """Return the predicted time of an operation by its heuristic schedule; None if the target
        does not support it or no model predicts it."""
        try:
            self.check_support(spec, target)
        except TargetError:
            return None
        found = self.predicted(spec, target, self.choose(spec, target))
        return None if found is None else found.seconds

    def attends(self, target: Target, spec: Attention, steps: Iterable[Spec]) -> bool:
        """Return whether a model computes attention by one kernel, not by kernels of its `steps`.

        No measurements compare them. The steps write the scores twice and read them twice, and the
        kernel does not: a gain if that is most of the elements that they move. The kernel's
        workgroups go through all keys: no loss if the first product goes through as many elements
        of a head. Otherwise, as for the one query of a decoder, no more time must be predicted for
        the kernel than for the steps' products; where no model predicts it, the kernel must have as
        many workgroups as each of them. A form that the target cannot run leaves the other.
        """
        whole = self.planned(spec, target)
        if whole is None:
            return False
        operands = sum(math.prod(spec.parameter(name).shape) for name in ("q", "k", "v", "out"))
        if SCORE_ACCESSES * math.prod(spec.scores) >= operands or spec.keys <= spec.head:
            return True
        products = [each for each in steps if isinstance(each, Matmul)]
        plans = [plan for each in products if (plan := self.planned(each, target))]
        if len(plans) < len(products):
            return True
        times = [self.predicted_seconds(target, each) for each in (spec, *products)]
        own, *others = [seconds for seconds in times if seconds is not None] or [0.0]
        if len(others) == len(products):
            return own <= sum(others)
        return all(_workgroups(plan) <= _workgroups(whole) for plan in plans)

    def planned(self, spec: Spec, target: Target) -> Plan | None:
        """Return the plan of the heuristic schedule; None if the target cannot run it."""
        try:
            self.check_support(spec, target)
            return self.plan(spec, target, self.choose(spec, target))
        except (TargetError, ScheduleError):
            return None

    def alternatives(self, spec: Spec, target: Target) -> tuple[Schedule, ...]:
        """Return schedules that a user may ask for by main loop or by a field, best first."""
        return tuple(candidate.schedule for candidate in self.candidates(spec, target))

    def effort(self, spec: Spec, target: Target) -> Mapping[str, int]:
        """Return how much work `choose` did, by metrics of the gate; empty where a rule chooses."""
        return {}

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        """Return a line on each choice between several ways to do the same."""
        return ()

    @abstractmethod
    def plan(self, spec: Spec, target: Target, schedule: Schedule) -> Plan:
        """Derive all integers; raise ScheduleError, with a value that fits, if one does not."""

    @abstractmethod
    def assemble(self, source: Source, plan: Plan) -> Assembled:
        """Return machine code from source, without a device; raise AssembleError."""

    @abstractmethod
    def tolerance(self, spec: Spec, target: Target, schedule: Schedule) -> Tolerance:
        """Return how far a result of the kernel may be from the reference, and why."""

    @abstractmethod
    def proof(self, target: Target) -> str:
        """Return how the test suite runs this target's kernels, for the support table: "executed",
        and where, or "emulated", and what text. The acceptance test checks it."""

    @abstractmethod
    def capabilities(self, target: Target) -> Mapping[str, Any]:
        """Return the capabilities of every device of this target, in the words of the runtime's
        backend (:meth:`kgen_runtime.backend.Backend.refusal`)."""

    def occupancy(self, target: Target, resources: Resources, launch: Launch) -> Occupancy | None:
        """Return how much of a launch a device holds at once; None where only a driver knows."""
        return None

    def rates(self, target: Target) -> Rates | None:
        """Return the peaks of a well-known device; None where the target has many devices."""
        return None

    def matrix_cycles(self, target: Target, opcode: str) -> float | None:
        """Return the clocks that a matrix instruction keeps a unit busy; None if not published."""
        return None

    def memory_cycles(self, target: Target, opcode: str, operands: str) -> tuple[float, float]:
        """Return the clocks that a warp's access keeps shared memory and L1 busy, if each matrix
        unit that shares them has one such warp; zeros where that is not published."""
        return 0.0, 0.0

    @abstractmethod
    def toolchain(self) -> tuple[Toolchain, ...]:
        """Return the versions of the tools that determine the machine code."""


def _with_it(targets: Sequence[str]) -> str:
    """Return the end of a refusal, which names targets that support the value."""
    return f", or target={' or '.join(targets)}" if targets else ""
