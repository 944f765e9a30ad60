"""What a program in the manifest says, held against its kernels and against itself.

Checked are names, sizes, and that every tensor lies in its memory; and the order of the steps: no
step may run beside one whose results it reads or overwrites, whatever a runtime makes of `after`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgen_runtime.errors import BundleError
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.schema.accesses import Budget, Live, StepAccess, conflicts_within
from kgen_runtime.schema.ancestors import Ancestors, ancestors
from kgen_runtime.schema.kernel_check import MAX_BYTES, check_tensor, listed
from kgen_runtime.schema.partial_writes import lies_upon
from kgen_runtime.schema.program import Place, Program, Step, Value, weight_file
from kgen_runtime.values import cached

#: What a tensor's first byte is a multiple of, at least, by the family of the target: CUDA and HIP
#: kernels load 16 bytes at once; of storage buffers 256 is the most that Vulkan devices ask for.
#: CPU kernels take any address of an element.
ALIGNMENTS: Mapping[str, int] = {"cuda": 16, "amdgpu": 16, "vulkan": 256}
WRITABLE = ("arena", "output", "state")


def check_programs(
    programs: Sequence[Program], kernels: Iterable[KernelEntry], *, order: bool = True
) -> None:
    """Raises BundleError, which names the program, for the first thing that is amiss; without
    `order`, of all but what steps wait for."""
    entries = BoundKernels(kernels)
    names = Counter(program.qualified_name for program in programs)
    for program in programs:
        try:
            _refuse(names[program.qualified_name] > 1, "it occurs twice")
            _refuse(not program.name or not program.target, "it has no name or no target")
            _memories(program)
            _values(program)
            _interface(program)
            _steps(program, entries)
            if order:
                _order(program, entries)
        except BundleError as error:
            where = f"program {program.qualified_name}"
            raise BundleError(f"{where}: {error}; build the bundle again") from None


def _refuse(amiss: object, message: str) -> None:
    if amiss:
        raise BundleError(message)


def _once(kind: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        _refuse(not name or count > 1, f"{kind} {name!r} occurs twice or has no name")


def _memories(program: Program) -> None:
    _once("weight", [w.name for w in program.weights])
    _once("state", [s.name for s in program.states])
    sizes = {f"weight {w.name}": w.nbytes for w in program.weights}
    sizes |= {f"state {s.name}": s.nbytes for s in program.states}
    for name, nbytes in sizes.items():
        _refuse(not 1 <= nbytes <= MAX_BYTES, f"{name} has {nbytes} bytes")
    arena = program.arena_bytes
    _refuse(not 0 <= arena <= MAX_BYTES, f"its arena has {arena} bytes")
    for weight in program.weights:
        known = re.fullmatch("[0-9a-f]{64}", weight.sha256) is not None
        if not known or weight.file != weight_file(weight.sha256):
            raise BundleError(
                f"weight {weight.name} is in {weight.file!a}, which is not named by its digest"
            )


def _values(program: Program) -> None:
    _once("value", [v.name for v in program.values])
    for value in (*program.values, *program.inputs, *program.outputs):
        check_tensor(value.name, value.shape, value.strides, value.dtype.itemsize)
    sizes = program.memories
    for value in program.values:
        place, size = value.place, sizes.get(value.place.memory)
        if size is None:
            raise BundleError(f"value {value.name} lies in {place}, which does not exist")
        if place.offset < 0 or place.offset % value.dtype.itemsize:
            raise BundleError(
                f"value {value.name} lies at {place}, which is not a multiple of its element size"
            )
        if value.end > size:
            raise BundleError(
                f"value {value.name} of {value.nbytes} bytes at {place} ends past the "
                f"{size} bytes there"
            )


def _interface(program: Program) -> None:
    """Inputs, outputs and states."""
    _refuse(not program.outputs, "it has no outputs")
    values = program.by_name
    for kind, several in (("input", program.inputs), ("output", program.outputs)):
        _once(kind, [v.name for v in several])
        for value in several:
            own = value.place == Place(kind=kind, name=value.name)  # type: ignore[arg-type]
            packed = value.strides == packed_strides(value.shape)
            if not own or not packed or values.get(value.name) != value:
                raise BundleError(f"{kind} {value.name} is not a packed value in memory of its own")
    for state in program.states:
        for name in (state.input, state.output):
            wanted = Place(kind="state", name=state.name)
            if name not in values or values[name].place != wanted:
                raise BundleError(f"state {state.name} has no value {name!r} at its start")


def _steps(program: Program, kernels: BoundKernels) -> None:
    values = program.by_name
    _refuse(not program.steps, "it has no steps")
    for number, step in enumerate(program.steps):
        name = f"{program.target}/{step.kernel}"
        if name not in kernels.entries:
            raise BundleError(f"{_shown(number, step)}: the bundle has no such kernel")
        kernel = kernels[name]
        try:
            _bindings(step, kernel, values)
        except BundleError as error:
            raise BundleError(f"{_shown(number, step)}: {error}") from None
        if late := [n for n in step.after if not 0 <= n < number]:
            raise BundleError(
                f"{_shown(number, step)}: it depends on step {late[0]}, which is not earlier"
            )


def _bindings(step: Step, kernel: BoundKernel, values: Mapping[str, Value]) -> None:
    """Check that a step binds every tensor of its kernel to a value that fits."""
    if step.bindings.keys() != kernel.tensors.keys():
        raise BundleError(
            f"it binds {listed(sorted(step.bindings)) or 'nothing'}; the kernel takes "
            f"{listed(sorted(kernel.tensors))}"
        )
    alignment = ALIGNMENTS.get(kernel.entry.target.family, 1)
    for name, param in kernel.tensors.items():
        called = step.bindings[name]
        value = values.get(called) if isinstance(called, str) else None
        if value is None:
            raise BundleError(f"{name} is {called!r:.60}, which is not a value")
        problem = _misfit(param, value, alignment)
        if problem is not None:
            raise BundleError(f"{name} is {value.name}, {problem}")
    if kernel.table is None:
        return
    place = values[step.bindings[kernel.table]].place
    if any(values[step.bindings[out]].place != place for out in kernel.outputs):
        raise BundleError(f"it writes rows of {kernel.table}, but its output lies elsewhere")


def bound(kernel: KernelEntry) -> tuple[TensorParam, ...]:
    """The tensors that a step binds: all but those whose bytes are with the kernel."""
    return (*kernel.arguments, *kernel.outputs)


def _misfit(param: TensorParam, value: Value, alignment: int) -> str | None:
    """Why a kernel cannot take a value as this parameter. They may see the same bytes in different
    dimensions, so the bytes are compared."""
    if value.dtype is not param.dtype:
        return f"which is {value.dtype}; the kernel takes {param.dtype}"
    if value.nbytes != param.nbytes:
        return f"which spans {value.nbytes} bytes; the kernel takes {param.nbytes}"
    if value.place.offset % alignment:
        return f"at {value.place}; the target takes multiples of {alignment}"
    if param.role == "output" and value.place.kind not in WRITABLE:
        return f"in {value.place}, which is read-only"
    return None


def _shown(number: int, step: Step) -> str:
    return f"step {number} ({step.kernel})"


Use = tuple[StepAccess, Place, list[StepAccess]]


def uses(
    program: Program, entries: Mapping[str, KernelEntry], budget: Budget | None = None
) -> Iterator[list[Use]]:
    """Of each step what it reads and writes, where, and the earlier accesses which conflict with
    that: both touch one byte, and one of them writes it.

    An access that a later one has wholly overwritten is left out: whoever waits for the later one
    has waited for both. Raises BundleError where steps meet so often that the check would take
    more than its `budget`.
    """
    values = program.by_name
    tensors = {name: bound(entries[name]) for name in program.kernels}
    accesses: list[list[tuple[StepAccess, Place]]] = []
    spans: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for number, step in enumerate(program.steps):
        accesses.append([])
        for param in tensors[f"{program.target}/{step.kernel}"]:
            value = values[step.bindings[param.name]]
            access = StepAccess(number, value, param)
            accesses[-1].append((access, value.place))
            if value.place.kind in WRITABLE:
                spans.setdefault(value.place.memory, set()).add((access.start, access.end))
    budget = budget or Budget(sum(map(len, accesses)))
    live = {memory: Live(found, budget) for memory, found in spans.items()}
    for of_step in accesses:
        yield [
            (access, place, live[place.memory].conflicts(access) if place.memory in live else [])
            for access, place in of_step
        ]
        for access, place in of_step:
            if place.memory in live:
                live[place.memory].add(access)


def _order(program: Program, kernels: BoundKernels) -> None:
    """That steps wait for those they conflict with, and read and give out only what is written."""
    earlier: list[Ancestors] = []
    written = {("input", v.name) for v in program.inputs}
    written |= {("weights", w.name) for w in program.weights}
    written |= {("state", s.name) for s in program.states}
    made = set()
    budget = Budget(sum(len(step.bindings) for step in program.steps))
    found_uses = uses(program, kernels.entries, budget)
    for number, (step, found) in enumerate(zip(program.steps, found_uses, strict=True)):
        before = ancestors(step.after, earlier)
        earlier.append(before)
        for access, place, others in found:
            for other in others:
                if other.step not in before:
                    raise BundleError(
                        f"{_shown(number, step)} {_verb(access)} {access.value} and step "
                        f"{other.step} {_verb(other)} {other.value}, at the same bytes; `after` "
                        f"must name step {other.step}"
                    )
            if access.writes:
                made.add(place.memory)
            elif not others and place.memory not in written:
                raise BundleError(
                    f"{_shown(number, step)} reads {access.value}, which no earlier step writes"
                )
        _apart(_shown(number, step), found, kernels[f"{program.target}/{step.kernel}"], budget)
    for output in program.outputs:
        _refuse(output.place.memory not in made, f"no step writes output {output.name}")
    for state in program.states:
        _refuse(("state", state.name) not in made, f"no step writes state {state.name}")


def _verb(access: StepAccess) -> str:
    return "writes" if access.writes else "reads"


def _apart(shown: str, found: Sequence[Use], kernel: BoundKernel, budget: Budget) -> None:
    """That nothing else of its step touches what an access writes, but what may lie there element
    upon element."""
    by_memory: dict[tuple[str, str], list[StepAccess]] = {}
    for access, place, _ in found:
        by_memory.setdefault(place.memory, []).append(access)
    for accesses in by_memory.values():
        for one, other in conflicts_within(accesses, budget):
            read, written = (other, one) if one.writes else (one, other)
            upon = one.start == other.start and one.writes is not other.writes
            if not upon or read.param.name not in kernel.in_place:
                raise BundleError(
                    f"{shown} takes {read.value} and {written.value}, which overlap in memory"
                )


class BoundKernel:
    """Kernel as program steps bind it, checked once for all steps."""

    def __init__(self, entry: KernelEntry) -> None:
        self.entry = entry
        self.tensors = {p.name: p for p in bound(entry)}
        self.outputs = [p.name for p in entry.outputs]
        self.table = lies_upon(entry.spec)

    @cached
    def in_place(self) -> frozenset[str]:
        """Inputs that its output may lie upon."""
        from kgen_runtime.schema.in_place import in_place

        entry = self.entry
        return in_place(entry.spec, entry.arguments, entry.outputs, entry.launches, entry.schedule)


class BoundKernels(dict[str, BoundKernel]):
    """Kernels of a bundle by name, each with what program steps bind."""

    def __init__(self, entries: Iterable[KernelEntry]) -> None:
        super().__init__()
        self.entries = {entry.name: entry for entry in entries}

    def __missing__(self, name: str) -> BoundKernel:
        self[name] = made = BoundKernel(self.entries[name])
        return made
