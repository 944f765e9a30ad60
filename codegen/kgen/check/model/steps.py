"""Step-by-step verification of a program: each step runs on the exact inputs from the model.

The memory holds what a device's memory would hold. After each step its output is compared with the
model's value and then replaced by it, so that a wrong kernel, view or memory plan shows at its own
node. An output without a value in the model stays. A second run replaces nothing and checks the
outputs of the whole program.
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
from kgen_runtime.array import host_dtype
from kgen_runtime.dtypes import DType
from kgen_runtime.schema.partial_writes import overwritten_table
from kgen_runtime.schema.program import Program, Step, Value, Weight
from kgen_runtime.values import frozen

Array = npt.NDArray[Any]
#: Tolerance of a step: units in the last place of an element, and multiples of the model's f32
#: error.
ROUNDINGS, ERRORS = 32.0, 8.0
#: Largest relative rounding errors of the floats below 32 bits, by names of their arrays.
UNITS = {d.array_name: d.unit_roundoff for d in DType if not d.is_integer and d.itemsize < 4}
#: Largest share of quantised numbers that may be off by one, and the offset between u8 and s8.
MOST_TIES, OFFSET = 0.02, 128
#: Numbers this many times larger than the median stand for infinity, as in attention masks.
OUTLYING = 1e6


class ProgramReader(Reader, Protocol):
    """Open bundle with programs."""

    def weight(self, weight: Weight) -> Any: ...


@frozen
class StepResult:
    """Result of one step. `error` is the worst one relative to its bound.

    `error` is None if the model lacks the value.
    """

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
    """Results of all steps, run on the model's values, and of the outputs of the whole program."""

    program: str
    target: str
    on: str
    steps: tuple[StepResult, ...]
    outputs: Mapping[str, float]
    reason: str = ""
    #: Narrow types: distance of each output from that of the original model, relative to its norm.
    deviation: Mapping[str, float] = field(default_factory=dict)
    #: Whether this machine can run the program; if not, `reason` says why.
    executed: bool = True

    @property
    def status(self) -> str:
        """Status of the program: `passed`, `failed` or `not-executed`."""
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
        """Return the results as JSON: the wrong steps, and with `nodes` all steps."""
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
    """Run a program's steps on a device or in an emulator, and compare them with the model."""
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
    """Memory and kernels of a program."""

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
        #: Name and executor of the loaded kernel; a device holds one at a time.
        self.loaded: tuple[str, Executor] | None = None
        self.used: set[str] = set()
        self.memories: dict[tuple[str, str], Bytes] = {}

    def close(self) -> None:
        if self.loaded is not None:
            self.loaded[1].close()
        self.loaded = None

    def executor(self, kernel: str) -> Executor:
        """Return the executor of a kernel. Raises Unavailable if it cannot run here."""
        if self.loaded is None or self.loaded[0] != kernel:
            self.close()
            entry = self.entries[kernel]
            self.loaded = (kernel, executor_of(self.reader, entry, self.on, self.devices))
            self.used.add(self.loaded[1].on)
        return self.loaded[1]

    def reset(self) -> None:
        """Load inputs and weights, and poison all other memory."""
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
            if p.name not in outputs or overwritten_table(entry.spec)
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
            part = slice(None)
            if exact is not None and exact.size > made.size:
                part = self.part(shown)
                exact = exact.reshape(-1)[part]
            if exact is not None and exact.size != made.size:
                reason = f"{value} has {made.size} elements, {exact.size} in the model"
                continue
            found = self.compare(value, made, part=part)
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

    def part(self, shown: Value) -> slice:
        """Return the elements that a value has of the model's value: all of them, unless several
        values are joined in place, of which the first has the lowest place."""
        name, place = model_name(shown.name), shown.place
        starts = [
            value.place.offset
            for value in self.values.values()
            if model_name(value.name) == name and value.place.memory == place.memory
        ]
        if len(starts) == 1:
            return slice(None)
        start = (place.offset - min(starts)) // shown.dtype.itemsize
        return slice(start, start + math.prod(shown.shape))

    def compare(
        self, value: str, made: Array, least: float = 0.0, part: slice = slice(None)
    ) -> float | None:
        """Return a value's worst error relative to its bound; None if the model lacks the value.

        The bound is at least `least`. `made` are these elements of the value.
        """
        exact, rounded = (beside(v, value) for v in (self.truth.exact, self.truth.rounded))
        if exact is None or rounded is None:
            return None
        exact, rounded = (a.reshape(-1)[part].reshape(made.shape) for a in (exact, rounded))
        made = without_steps(made, exact, self.farthest_step(value))
        return worst(made, exact, rounded, least)

    def farthest_step(self, value: str) -> float:
        """Return the tolerance for numbers next to a rounding tie.

        A quantised value may be off by one. Other values of a quantised model may be off by as much
        as such a difference moves them.
        """
        parts = [order_in(part)[0].removesuffix(SIGNED) for part in value.split(BESIDE)]
        numbers = self.truth.quantized
        least = 1.0 if all(part in numbers for part in parts) else 0.0
        moved = max((self.truth.moved.get(part, 0.0) for part in parts), default=0.0)
        return max(least, moved) if numbers else 0.0

    def sized(self, name: str, made: Array) -> Array:
        """Return the elements of an output that count, if its size depends on data."""
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
            # In 16 bits, an operand that is off by one unit moves everything that follows.
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
    """Return numbers rounded to a type, in the numpy type of :func:`host_dtype`."""
    found = to_bf16(exact) if dtype is DType.BF16 else exact
    return found.astype(host_dtype(dtype))


def elements(data: Bytes, value: Value) -> Array:
    """Return the elements of a value at the start of a memory range."""
    storage = value.dtype.storage
    flat = data[: len(data) // storage.itemsize * storage.itemsize].view(storage)
    strides = tuple(s * storage.itemsize for s in value.strides)
    found = np.lib.stride_tricks.as_strided(flat, value.shape, strides)
    return found.view(host_dtype(value.dtype))


def beside(values: Mapping[str, Array], name: str) -> Array | None:
    """Return the model's value of a name, or None.

    A name may join several values, which are concatenated, and may end in an order of axes.
    """
    parts = [in_named_order(values, part) for part in (name, *name.split(BESIDE))]
    found = [part for part in parts[1:] if part is not None]
    if parts[0] is not None or len(found) < len(parts) - 1:
        return parts[0]
    return np.concatenate(found, axis=-1)


def without_steps(made: Array, exact: Array, farthest: float) -> Array:
    """Replace numbers within `farthest` of the exact ones by these, if there are few of them.

    A number close to a tie may be rounded to either side.
    """
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
    """Return the model's name of a value; the program appends a number to further views of it."""
    whole, hash_, number = name.rpartition("#")
    return whole if hash_ and number.isdecimal() else name


def worst(made: Array, exact: Array, rounded: Array, least: float = 0.0) -> float:
    """Return the largest error relative to its bound.

    The bound adds roundings of the element to f32, one rounding to its stored type if that is
    narrower, and a multiple of the model's own largest error in f32, which is at least `least`. A
    result that is infinite because its type lacks the number is correct.
    """
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
        # A Relu leaves mostly zeros, so take the median of the other numbers.
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
    """Return the median; 0 for an empty array."""
    return float(np.median(sizes)) if sizes.size else 0.0


def beyond_range(made: Array, exact: Array, rounded: Array) -> Array:
    """Return a mask of results that are correctly infinite or NaN.

    Either the model in f32 has the same, or the exact number is out of range of the result's type.
    """
    if made.dtype.kind in "iub":
        return np.zeros(made.shape, bool)
    ours = made.astype(np.float64)
    found = np.zeros(made.shape, bool)
    for theirs in (rounded.astype(np.float64), exact.astype(made.dtype).astype(np.float64)):
        found |= ~np.isfinite(theirs) & ((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
    return found
