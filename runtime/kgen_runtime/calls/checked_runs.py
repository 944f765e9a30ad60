"""Checked runs of a program: indices are compared with the sizes of their tables before use, and
attention's lengths and pages with their limits."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kgen_runtime.calls.attention_limits import AttentionLimits
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError
from kgen_runtime.expressions import views
from kgen_runtime.expressions.evaluators import Integers
from kgen_runtime.expressions.formulas import Formulas, formulas_in, input_names
from kgen_runtime.expressions.mathematics import Scalars
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.program import Step
from kgen_runtime.schema.spec_tensors import check_spec
from kgen_runtime.values import frozen

if TYPE_CHECKING:
    from kgen_runtime.calls.session import Session


#: Computed index with which a scatter deliberately skips an element.
NO_PLACE = (1 << 31) - 1


@frozen
class IndexUse:
    """Index expression of a kernel over `inputs` of the kernel; `places` is the size of the indexed
    axis."""

    at: ast.expr
    inputs: tuple[str, ...]
    places: int


def index_uses(entry: KernelEntry) -> tuple[IndexUse, ...]:
    """Return the index expressions of a kernel's gathers and scatters."""
    if entry.spec["op"] != "elementwise":
        return ()
    check_spec(entry)
    formulas = formulas_in(entry.spec["expression"])
    shapes = _shapes(entry, formulas)
    known = {**shapes, **views.shapes_of(formulas, shapes)}
    found: dict[tuple[str, int], IndexUse] = {}
    for table, at, axis in views.gathers(formulas):
        shape = views.shape_of(table, known)
        places = shape[views.axis_of(axis, len(shape))]
        names = tuple(input_names({"": at}))
        found[ast.unparse(at), places] = IndexUse(at=at, inputs=names, places=places)
    return tuple(found.values())


def _shapes(entry: KernelEntry, formulas: Formulas) -> dict[str, tuple[int, ...]]:
    names = input_names(formulas)
    return {n: tuple(shape) for n, shape in zip(names, entry.spec["shapes"], strict=True)}


class CheckedSteps:
    """Runner of a session's steps, one at a time, which checks the indices of each step first."""

    def __init__(self, session: Session) -> None:
        self._run_step, self._read_step = session.run_step, session.read_step
        self._program, self._kernels = session.entry, session.kernels.entries
        self._held = session.kernels.held
        self._uses = {key: index_uses(kernel) for key, kernel in self._kernels.items()}
        self._limits = {key: AttentionLimits.of(kernel) for key, kernel in self._kernels.items()}

    def run(self) -> None:
        """Run all steps. Raises ArgumentError for an index outside its table, and for a length or a
        page of attention outside its limits.

        Numbers that depend on inputs of the program only are checked before any step runs, others
        before the step that uses them.
        """
        # The reference keeps the code until the run is done, if another thread closes the bundle.
        held = self._held()
        later: set[int] = set()
        for number, step in enumerate(self._program.steps):
            for use in self._uses[step.kernel]:
                if self._are_inputs(step, use.inputs):
                    self._check(number, step, use)
                else:
                    later.add(number)
            limits = self._limits[step.kernel]
            if limits is not None and self._are_inputs(step, limits.names):
                self._check_keys(number, step, limits)
            elif limits is not None:
                later.add(number)
        for number, step in enumerate(self._program.steps):
            if number in later:
                for use in self._uses[step.kernel]:
                    self._check(number, step, use)
                if (limits := self._limits[step.kernel]) is not None:
                    self._check_keys(number, step, limits)
            self._run_step(number)
        del held

    def _are_inputs(self, step: Step, parameters: Iterable[str]) -> bool:
        return all(self._memory(step, name) == "input" for name in parameters)

    def _memory(self, step: Step, parameter: str) -> str:
        kind, _ = self._program.by_name[step.bindings[parameter]].place.memory
        return kind

    def _check(self, number: int, step: Step, use: IndexUse) -> None:
        arrays = {name: self._array(number, step, name) for name in use.inputs}
        is_input = self._are_inputs(step, use.inputs)
        for coordinates, value in _wrong(self._kernels[step.kernel], use, arrays):
            if value == NO_PLACE and not is_input:
                continue
            if row := self._row(number, step, use, coordinates):
                raise ArgumentError(
                    f"{self._program.name}: an index computed from {row} is outside of its table "
                    f"of {use.places} elements; give indices inside of the table{_nodes(step)}"
                )
            raise ArgumentError(
                f"{self._program.name}: {self._shown(step, use, coordinates)} is {value}, outside "
                f"of its table; give an index from {-use.places} to {use.places - 1}{_nodes(step)}"
            )

    def _check_keys(self, number: int, step: Step, limits: AttentionLimits) -> None:
        values = (self._array(number, step, name) for name in limits.names)
        kind, name = self._program.by_name[step.bindings[limits.names[0]]].place.memory
        who = ", node ".join((self._program.name, *step.nodes[:1]))
        limits.check(who, name if kind == "input" else limits.names[0], *values)

    def _array(self, number: int, step: Step, parameter: str) -> np.ndarray[Any, Any]:
        """Return an index tensor as the kernel reads it."""
        (param,) = (p for p in self._kernels[step.kernel].inputs if p.name == parameter)
        found = np.empty(param.shape, param.dtype.storage)
        self._read_step(number, parameter, found.reshape(-1).view(np.uint8))
        return found

    def _row(self, number: int, step: Step, use: IndexUse, at: tuple[int, ...]) -> str | None:
        """Describe the input row from which one wrong index was computed, as by GatherND; None if
        the index does not come from exactly one row of an integer input."""
        entry, sources = self._kernels[step.kernel], [(number, name) for name in use.inputs]
        if isinstance(use.at, ast.Name):
            shape = _shape_of(entry, use.at.id)
            sources = self._sources(number, step.bindings[use.at.id])
        else:
            shape = views.shape_of(use.at, _shapes(entry, formulas_in(entry.spec["expression"])))
        found = {}
        for source, parameter in sources:
            value = self._program.by_name[self._program.steps[source].bindings[parameter]]
            found[value.name] = value, source, parameter
        if len(found) != 1:
            return None
        ((value, source, parameter),) = found.values()
        *rows, count = value.shape or (1,)
        is_input = value.place.memory[0] == "input" and value.dtype.is_integer
        if not is_input or count < 2 or math.prod(rows) != math.prod(shape):
            return None
        flat = int(np.ravel_multi_index(at, shape)) if shape else 0
        array = self._array(source, self._program.steps[source], parameter)
        row = [int(number) for number in array.reshape(-1, count)[flat]]
        place = [int(i) for i in np.unravel_index(flat, rows)] if rows else []
        return f"input {value.name}{place or ''} = {row}"

    def _sources(self, number: int, name: str) -> list[tuple[int, str]]:
        """Return the step, and its parameters, that computed the value of this name before step
        `number`."""
        by_name = self._program.by_name
        place = by_name[name].place
        for earlier in reversed(range(number)):
            step = self._program.steps[earlier]
            entry = self._kernels[step.kernel]
            if any(by_name[step.bindings[p.name]].place == place for p in entry.outputs):
                return [(earlier, p.name) for p in entry.arguments]
        return []

    def _shown(self, step: Step, use: IndexUse, at: tuple[int, ...]) -> str:
        """Describe a wrong index for the user: as an element of an input, if it is one."""
        values = [self._program.by_name[step.bindings[name]] for name in use.inputs]
        if not isinstance(use.at, ast.Name):
            names = ", ".join(value.name for value in values)
            return f"an index computed from {names}, at {list(at)},"
        (value,) = values
        shape = _shape_of(self._kernels[step.kernel], use.inputs[0])
        if math.prod(shape) == math.prod(value.shape):
            flat = np.ravel_multi_index(at, shape)
            at = tuple(int(i) for i in np.unravel_index(flat, value.shape))
        kind = "input" if value.place.memory[0] == "input" else "index"
        return f"{kind} {value.name}{list(at) if at else ''}"


def _shape_of(entry: KernelEntry, parameter: str) -> tuple[int, ...]:
    (shape,) = (p.shape for p in entry.inputs if p.name == parameter)
    return shape


def _nodes(step: Step) -> str:
    return f" (node {', '.join(step.nodes)})" if step.nodes else ""


def _wrong(
    entry: KernelEntry, use: IndexUse, arrays: Mapping[str, np.ndarray[Any, Any]]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the coordinates and values of indices outside the table."""
    if isinstance(use.at, ast.Name):
        array = arrays[use.at.id]
        outside = (array < -use.places) | (array >= use.places)
        for at in np.argwhere(outside):
            coordinates = tuple(int(i) for i in at)
            yield coordinates, int(array[coordinates])
        return
    value = _elements(entry, arrays)
    formulas = formulas_in(entry.spec["expression"])
    shape = views.shape_of(use.at, _shapes(entry, formulas))
    for coordinates in itertools.product(*map(range, shape)):
        found = value(use.at, coordinates)
        if not -use.places <= found < use.places:
            yield coordinates, found


def _elements(
    entry: KernelEntry, arrays: Mapping[str, np.ndarray[Any, Any]]
) -> Callable[[ast.expr, tuple[int, ...]], int]:
    """Return a function that computes elements of index expressions in the kernel's index type."""
    formulas = formulas_in(entry.spec["expression"])
    evaluator = Integers({}, Scalars(), 8 * DType(entry.spec["index_dtype"]).itemsize)
    elements = views.Elements(
        formulas,
        _shapes(entry, formulas),
        lambda name, at: int(arrays[name][at]),
        evaluator.apply,
        evaluator.value,
    )
    return lambda at, coordinates: int(elements.value(at, coordinates))
