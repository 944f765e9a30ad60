"""A program run step by step against its model: each step fed with what the model has there.

Memory is kept as a device has it. A step's result is compared, and then replaced by the model's, so
that a wrong kernel, view or memory plan is found where it is, by the name of its node. Where the
model has no value of that name, the step's own result stays. A second run replaces nothing: that is
the whole program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kgen.check.execute.executor import POISON_BYTE, Executor, Unavailable
from kgen.check.execute.isolate import IsolatedDevices
from kgen.check.execute.runners import On, Reader
from kgen.check.execute.runners import executor as executor_of
from kgen.check.model.narrow import to_bf16
from kgen.check.model.truth import NEAR_TIES, Truth
from kgen.check.tensors import Bytes
from kgen.errors import EmulationError, VerificationError
from kgen.graph.rewrites.orders import SIGNED, order_in
from kgen.graph.rewrites.siblings import BESIDE
from kgen_runtime.dtypes import DType
from kgen_runtime.schema.partial_writes import lies_upon
from kgen_runtime.schema.program import Program, Step, Value, Weight
from kgen_runtime.values import frozen

Array = npt.NDArray[Any]
#: Units of the last place of an element that a step may be off by, and errors of the model in f32.
ROUNDINGS, ERRORS = 32.0, 8.0
#: Largest relative errors of rounding to types of 16 bits.
UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
#: Part of quantised numbers that may be one step apart, and what numbers of u8 are less as s8.
MOST_TIES, OFFSET = 0.02, 128
#: What is this many times larger than the median stands for infinity, as a mask's numbers do.
OUTLYING = 1e6


class ProgramReader(Reader, Protocol):
    """An open bundle with programs."""

    def weight(self, weight: Weight) -> Any: ...


@frozen
class StepResult:
    """`error` is the worst one, as a part of its bound; None where the model has no such value."""

    number: int
    kernel: str
    nodes: tuple[str, ...]
    value: str
    error: float | None
    reason: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason and (self.error is None or self.error <= 1.0)

    def to_json(self) -> dict[str, Any]:
        return {
            "step": self.number,
            "kernel": self.kernel,
            "nodes": self.nodes,
            "value": self.value,
            "error": self.error,
            "reason": self.reason,
        }


@frozen
class ProgramResult:
    """Every step's result, fed with the model's values, and the whole program's outputs."""

    program: str
    target: str
    on: str
    steps: tuple[StepResult, ...]
    outputs: Mapping[str, float]
    reason: str = ""
    #: Of narrow weights: how far outputs are from those of the model as it is, by their norm.
    deviation: Mapping[str, float] = field(default_factory=dict)
    #: Whether this machine can run the program; if not, `reason` says why.
    executed: bool = True

    @property
    def status(self) -> str:
        """`passed`, `failed` or `not-executed`."""
        if not self.executed:
            return "not-executed"
        return "passed" if self.passed else "failed"

    @property
    def passed(self) -> bool:
        whole = all(error <= 1.0 for error in self.outputs.values())
        return not self.reason and whole and all(step.passed for step in self.steps)

    @property
    def first_wrong(self) -> StepResult | None:
        return next((step for step in self.steps if not step.passed), None)

    def to_json(self, *, nodes: bool = False) -> dict[str, Any]:
        """The steps that are wrong, and with `nodes` all of them."""
        listed = {"nodes": [step.to_json() for step in self.steps]} if nodes else {}
        return {
            "program": self.program,
            "target": self.target,
            "executed_on": self.on,
            "status": self.status,
            "passed": self.passed,
            "steps": len(self.steps),
            "wrong": [step.to_json() for step in self.steps if not step.passed],
            **listed,
            "outputs": dict(self.outputs),
            "reason": self.reason,
            "deviation": dict(self.deviation),
        }


def verify_program(
    reader: ProgramReader,
    program: Program,
    truth: Truth,
    *,
    on: On = "auto",
    progress: Callable[[str], None] = lambda _: None,
) -> ProgramResult:
    """Run a program's steps on a device, or in an emulator, and compare them with the model."""
    with IsolatedDevices() as devices:
        machine = _Machine(reader, program, truth, on, devices)
        results: tuple[StepResult, ...] = ()
        try:
            results = tuple(machine.steps(progress, replace=True))
            if not all(result.passed for result in results):
                return machine.result(results, {})
            for _ in machine.steps(progress, replace=False):
                pass
            return machine.result(results, machine.outputs())
        except Unavailable as reason:
            return machine.result(results, {}, str(reason), executed=False)
        finally:
            machine.close()


class _Machine:
    """A program's memory and kernels."""

    def __init__(
        self,
        reader: ProgramReader,
        program: Program,
        truth: Truth,
        on: On,
        devices: IsolatedDevices,
    ) -> None:
        self.reader, self.program, self.truth = reader, program, truth
        self.on, self.devices = on, devices
        self.entries = {
            entry.key: entry
            for entry in reader.manifest.kernels
            if entry.target.name == program.target
        }
        self.values = program.by_name
        #: The one that is loaded, and its kernel: a device has one at a time.
        self.loaded: tuple[str, Executor] | None = None
        self.used: set[str] = set()
        self.memories: dict[tuple[str, str], Bytes] = {}

    def close(self) -> None:
        if self.loaded is not None:
            self.loaded[1].close()
        self.loaded = None

    def executor(self, kernel: str) -> Executor:
        """Raises Unavailable if the kernel cannot be executed here."""
        if self.loaded is None or self.loaded[0] != kernel:
            self.close()
            entry = self.entries[kernel]
            self.loaded = (kernel, executor_of(self.reader, entry, self.on, self.devices))
            self.used.add(self.loaded[1].on)
        return self.loaded[1]

    def reset(self) -> None:
        """Memory before a run: inputs and weights, and poison everywhere else."""
        weights = {w.name: w for w in self.program.weights}
        for memory, nbytes in self.program.memories.items():
            kind, name = memory
            if kind == "weights":
                self.memories[memory] = np.asarray(self.reader.weight(weights[name])).view(np.uint8)
                continue
            self.memories[memory] = np.full(nbytes, POISON_BYTE, np.uint8)
            if kind in ("input", "state"):
                given = np.ascontiguousarray(self.truth.inputs[name]).reshape(-1)
                self.memories[memory][:] = given.view(np.uint8)

    def steps(self, progress: Callable[[str], None], replace: bool) -> Iterator[StepResult]:
        self.reset()
        for number, step in enumerate(self.program.steps):
            progress(f"{'step' if replace else 'whole'} {number + 1} of {len(self.program.steps)}")
            yield self.run(number, step, replace)

    def run(self, number: int, step: Step, replace: bool) -> StepResult:
        entry = self.entries[step.kernel]
        outputs = [p.name for p in entry.outputs]
        buffers = {
            p.name: self.bytes_of(step, p.name, p.nbytes).copy()
            if p.name not in outputs or lies_upon(entry.spec)
            else np.full(p.nbytes, POISON_BYTE, np.uint8)
            for p in entry.parameters
        }
        reason, error, value = "", None, ""
        try:
            self.executor(step.kernel).run(buffers, None)
        except (VerificationError, EmulationError) as fault:
            reason = str(fault)
        for name in outputs:
            shown = self.values[step.bindings[name]]
            value = model_name(shown.name)
            place = elements(self.bytes_of(step, name, len(buffers[name])), shown)
            made = elements(buffers[name], shown)
            place[...] = made
            exact = beside(self.truth.exact, value)
            place, made = self.sized(value, place), self.sized(value, made)
            if exact is not None and exact.size != made.size:
                reason = f"{value} has {made.size} elements, {exact.size} in the model"
                continue
            found = self.compare(value, made)
            error = found if error is None or (found or 0.0) > error else error
            if replace and exact is not None:
                place[...] = stored_as(exact.reshape(place.shape), shown.dtype)
        return StepResult(
            number=number, kernel=step.kernel, nodes=step.nodes, value=value, error=error,
            reason=reason,
        )  # fmt: skip

    def bytes_of(self, step: Step, parameter: str, nbytes: int) -> Bytes:
        place = self.values[step.bindings[parameter]].place
        return self.memories[place.memory][place.offset : place.offset + nbytes]

    def compare(self, value: str, made: Array, least: float = 0.0) -> float | None:
        """The worst error of a value as a part of its bound, which is `least` or more; None where
        the model has none."""
        exact, rounded = (beside(v, value) for v in (self.truth.exact, self.truth.rounded))
        if exact is None or rounded is None:
            return None
        exact, rounded = (array.reshape(made.shape) for array in (exact, rounded))
        made = without_steps(made, exact, self.farthest_step(value))
        return worst(made, exact, rounded, least)

    def farthest_step(self, value: str) -> float:
        """How far numbers next to a tie may be off, which a kernel rounds on its way to a value, or
        to its parts side by side: one where it quantises, or as far as they move the value."""
        parts = [order_in(part)[0].removesuffix(SIGNED) for part in value.split(BESIDE)]
        numbers = self.truth.quantized
        least = 1.0 if all(part in numbers for part in parts) else 0.0
        moved = max((self.truth.moved.get(part, 0.0) for part in parts), default=0.0)
        return max(least, moved) if numbers else 0.0

    def sized(self, name: str, made: Array) -> Array:
        """The elements of an output whose size depends on data that the model has; all elements of
        any other value."""
        exact = self.truth.exact.get(name)
        found = made
        for count in self.program.counts:
            if count.output == name and exact is not None and exact.ndim > count.axis:
                kept = (slice(None),) * count.axis + (slice(exact.shape[count.axis]),)
                found = found.reshape(self.values[name].shape)[kept]
        return found

    def outputs(self) -> dict[str, float]:
        found = {}
        kept = (self.values[state.output] for state in self.program.states)
        for shown in (*self.program.outputs, *kept):
            made = self.sized(shown.name, elements(self.memories[shown.place.memory], shown))
            # A step of 16 bits that one operand is off by moves all that follows it.
            error = self.compare(shown.name, made, self.truth.moved.get(shown.name, 0.0))
            found[shown.name] = math.inf if error is None else error
        return found

    def result(
        self,
        steps: tuple[StepResult, ...],
        outputs: Mapping[str, float],
        reason: str = "",
        *,
        executed: bool = True,
    ) -> ProgramResult:
        return ProgramResult(
            program=self.program.name,
            target=self.program.target,
            on=", ".join(sorted(self.used)),
            steps=steps,
            outputs=outputs,
            reason=reason,
            deviation=self.truth.deviation,
            executed=executed,
        )


def stored_as(exact: Array, dtype: DType) -> Array:
    """The nearest numbers of a type, in which arrays of :func:`elements` are."""
    found = to_bf16(exact) if dtype is DType.BF16 else exact
    return found.astype(array_dtype(dtype))


def array_dtype(dtype: DType) -> np.dtype[Any]:
    """numpy's type, or that of ml_dtypes, which knows what the bits mean."""
    if dtype is not DType.BF16:
        return dtype.storage
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def elements(data: Bytes, value: Value) -> Array:
    """A value's elements in memory that begins with it."""
    dtype = array_dtype(value.dtype)
    flat = data[: len(data) // dtype.itemsize * dtype.itemsize].view(dtype)
    strides = tuple(s * dtype.itemsize for s in value.strides)
    return np.lib.stride_tricks.as_strided(flat, value.shape, strides)


def beside(values: Mapping[str, Array], name: str) -> Array | None:
    """The model's value of a name, or several of them side by side, each with its axes in the order
    that the name says; None if it has no such one."""
    parts = [in_named_order(values, part) for part in (name, *name.split(BESIDE))]
    found = [part for part in parts[1:] if part is not None]
    if parts[0] is not None or len(found) < len(parts) - 1:
        return parts[0]
    return np.concatenate(found, axis=-1)


def without_steps(made: Array, exact: Array, farthest: float) -> Array:
    """Numbers with the exact ones in place of few that are apart, but no farther than that: those
    near to a tie are rounded to either side."""
    if made.dtype.kind not in "iuf" or not farthest or not exact.size:
        return made
    apart = np.abs(made.astype(np.float64) - exact.astype(np.float64))
    least = 0.0 if made.dtype.kind in "iu" else NEAR_TIES * float(np.abs(exact).max())
    near = (apart > least) & (apart <= farthest)
    if near.sum() > max(1.0, MOST_TIES * made.size):
        return made
    return np.where(near, exact.astype(made.dtype), made)


def in_named_order(values: Mapping[str, Array], name: str) -> Array | None:
    if name in values:
        return values[name]
    plain, order = order_in(name)
    if plain.endswith(SIGNED) and (unsigned := plain.removesuffix(SIGNED)) in values:
        signed = (values[unsigned].astype(np.int16) - OFFSET).astype(np.int8)
        return signed.transpose(order) if order else signed
    if plain not in values or sorted(order) != list(range(values[plain].ndim)):
        return None
    return values[plain].transpose(order)


def model_name(name: str) -> str:
    """The model's name of a value that memory is looked at as in several ways."""
    whole, hash_, number = name.rpartition("#")
    return whole if hash_ and number.isdecimal() else name


def worst(made: Array, exact: Array, rounded: Array, least: float = 0.0) -> float:
    """The largest error as a part of its bound: some roundings of the element to f32, one to the
    type that it is stored in where that is narrower, and some times what the model in f32 is off by
    where it is farthest off, or `least`. Where f32, or the narrower type, has no such number, what
    it has in its place is right."""
    narrow = made.dtype.itemsize < np.dtype(np.float32).itemsize and made.dtype.kind not in "iub"
    stored = UNITS[made.dtype.name] if narrow else 0.0
    with np.errstate(all="ignore"):
        beyond = beyond_range(made, exact, rounded)
        made, exact = made.astype(np.float64), exact.astype(np.float64)
        rounded = rounded.astype(np.float64)
        if made.dtype.kind != "f" or not exact.size:
            return 0.0
        size = np.abs(exact)
        known = np.isfinite(exact) & np.isfinite(rounded)
        median = middle(size[known])
        # Of what a Relu left most is zero, which says nothing of how large the others are.
        plain = known & (size <= max(OUTLYING * middle(size[known & (size > 0.0)]), 1.0))
        apart = np.abs(rounded - exact)[plain]
        unit = float(np.finfo(np.float32).eps) / 2
        floor = max(float(apart.max(initial=0.0)) * ERRORS, ROUNDINGS * unit * median, least)
        bound = (ROUNDINGS * unit + stored) * size + floor
        error = np.abs(made - exact)
        same = (made == exact) | (np.isnan(made) & np.isnan(exact)) | beyond
        ratio = np.where(same, 0.0, error / np.where(bound > 0.0, bound, np.finfo(float).tiny))
        ratio = np.where(np.isfinite(error) | same, ratio, np.inf)
        return float(ratio.max())


def middle(sizes: Array) -> float:
    """The median; 0 of nothing."""
    return float(np.median(sizes)) if sizes.size else 0.0


def beyond_range(made: Array, exact: Array, rounded: Array) -> Array:
    """Mask of results that are rightly infinite or NaN: the model in f32 has the same, or the exact
    number is beyond the type of the result."""
    if made.dtype.kind in "iub":
        return np.zeros(made.shape, bool)
    ours = made.astype(np.float64)
    found = np.zeros(made.shape, bool)
    for theirs in (rounded.astype(np.float64), exact.astype(made.dtype).astype(np.float64)):
        found |= ~np.isfinite(theirs) & ((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
    return found
