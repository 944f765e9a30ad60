"""What a program in the manifest says, held against its kernels and against itself.

Checked are names, sizes, and that every tensor lies in its memory; and the order of the steps: no
step may run beside one whose results it reads or overwrites, whatever a runtime makes of `after`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from kgen_runtime.errors import BundleError
from kgen_runtime.manifest import KernelEntry, TensorParam
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.schema.kernel_check import MAX_BYTES, check_tensor
from kgen_runtime.schema.program import Place, Program, Step, Value, weight_file
from kgen_runtime.schema.scattered import lies_upon

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
    entries = {kernel.name: kernel for kernel in kernels}
    names = Counter(program.qualified_name for program in programs)
    for program in programs:
        try:
            _refuse(names[program.qualified_name] > 1, "it is there twice")
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
        _refuse(not name or count > 1, f"{kind} {name!r} is there twice, or has no name")


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
            raise BundleError(f"value {value.name} lies in {place}, which there is not")
        if place.offset < 0 or place.offset % value.dtype.itemsize:
            raise BundleError(f"value {value.name} lies at {place}, between two elements")
        if value.end > size:
            raise BundleError(
                f"value {value.name} of {value.nbytes} bytes at {place} ends past the "
                f"{size} bytes there"
            )


def _interface(program: Program) -> None:
    """Inputs, outputs and states."""
    _refuse(not program.outputs, "it has no output")
    values = program.by_name
    for kind, several in (("input", program.inputs), ("output", program.outputs)):
        _once(kind, [v.name for v in several])
        for value in several:
            own = value.place == Place(kind=kind, name=value.name)  # type: ignore[arg-type]
            packed = value.strides == packed_strides(value.shape)
            if not own or not packed or values.get(value.name) != value:
                raise BundleError(f"{kind} {value.name} is no packed value in its own memory")
    for state in program.states:
        for name in (state.input, state.output):
            wanted = Place(kind="state", name=state.name)
            if name not in values or values[name].place != wanted:
                raise BundleError(f"state {state.name} has no value {name!r} at its start")


def _steps(program: Program, entries: Mapping[str, KernelEntry]) -> None:
    values = program.by_name
    _refuse(not program.steps, "it has no step")
    known: dict[str, dict[str, TensorParam]] = {}
    for number, step in enumerate(program.steps):
        kernel = entries.get(f"{program.target}/{step.kernel}")
        if kernel is None:
            raise BundleError(f"{_shown(number, step)}: the bundle has no such kernel")
        if step.kernel not in known:
            known[step.kernel] = {p.name: p for p in bound(kernel)}
        tensors = known[step.kernel]
        if step.bindings.keys() != tensors.keys():
            raise BundleError(
                f"{_shown(number, step)}: it binds {', '.join(sorted(step.bindings)) or 'nothing'};"
                f" the kernel takes {', '.join(sorted(tensors))}"
            )
        for name, param in tensors.items():
            called = step.bindings[name]
            value = values.get(called) if isinstance(called, str) else None
            if value is None:
                raise BundleError(
                    f"{_shown(number, step)}: {name} is {called!r:.60}, which is no value"
                )
            problem = _misfit(param, value, ALIGNMENTS.get(kernel.target.family, 1))
            if problem is not None:
                raise BundleError(f"{_shown(number, step)}: {name} is {value.name}, {problem}")
        table = lies_upon(kernel.spec)
        outs = [step.bindings[p.name] for p in kernel.outputs]
        if table and any(values[out].place != values[step.bindings[table]].place for out in outs):
            raise BundleError(
                f"{_shown(number, step)}: it writes rows of {table}, which its output does not lie "
                "upon"
            )
        if late := [n for n in step.after if not 0 <= n < number]:
            raise BundleError(
                f"{_shown(number, step)}: it waits for step {late[:1]}, which is not earlier"
            )


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
        return f"in {value.place}, which is only read"
    return None


def _shown(number: int, step: Step) -> str:
    return f"step {number} ({step.kernel})"


class Access:
    """A tensor that a step reads or writes: `param` as the kernel sees it, from byte `start` on."""

    __slots__ = ("end", "is_whole", "param", "start", "step", "value", "writes")

    def __init__(self, step: int, value: Value, param: TensorParam) -> None:
        self.step, self.value, self.param = step, value.name, param
        self.start = value.place.offset
        self.end = self.start + param.nbytes
        self.writes = param.role == "output"
        #: Whether it touches every byte from its start to its end.
        self.is_whole = math.prod(param.shape) * param.dtype.itemsize == param.nbytes

    def meets(self, other: Access) -> bool:
        """Whether both touch one byte."""
        if self.end <= other.start or other.end <= self.start:
            return False
        if self.is_whole and other.is_whole:
            return True
        from kgen_runtime.memory.overlap import share_an_element  # numpy: most programs need none

        return share_an_element(self.start, self.param, other.start, other.param)


Use = tuple[Access, Place, list[Access]]


def uses(program: Program, entries: Mapping[str, KernelEntry]) -> Iterator[list[Use]]:
    """Of each step what it reads and writes, where, and the earlier accesses which conflict with
    that: both touch one byte, and one of them writes it.

    An access that a later one has wholly overwritten is left out: whoever waits for the later one
    has waited for both.
    """
    values = program.by_name
    live: dict[tuple[str, str], list[Access]] = {}
    tensors = {name: bound(entries[name]) for name in program.kernels}
    for number, step in enumerate(program.steps):
        found: list[Use] = []
        for param in tensors[f"{program.target}/{step.kernel}"]:
            value = values[step.bindings[param.name]]
            access = Access(number, value, param)
            start, end, writes = access.start, access.end, access.writes
            others = [
                other
                for other in live.get(value.place.memory, ())
                if (writes or other.writes)
                and (start < other.end and other.start < end)
                and access.meets(other)
            ]
            found.append((access, value.place, others))
        yield found
        for access, place, _ in found:
            kept = live.setdefault(place.memory, [])
            if access.writes and access.is_whole:
                kept[:] = [
                    other
                    for other in kept
                    if other.step == number or other.start < access.start or access.end < other.end
                ]
            kept.append(access)


def _order(program: Program, entries: Mapping[str, KernelEntry]) -> None:
    """That steps wait for those they conflict with, and read and give out only what is written."""
    earlier: list[int] = []  # bit i of a step's number says that it runs after step i
    written = {("input", v.name) for v in program.inputs}
    written |= {("weights", w.name) for w in program.weights}
    written |= {("state", s.name) for s in program.states}
    made = set()
    for step, found in zip(program.steps, uses(program, entries), strict=True):
        before = 0
        for i in step.after:
            before |= earlier[i] | 1 << i
        earlier.append(before)
        for access, place, others in found:
            for other in others:
                if not before >> other.step & 1:
                    shown = _shown(len(earlier) - 1, step)
                    raise BundleError(
                        f"{shown} {_verb(access)} {access.value} and step {other.step} "
                        f"{_verb(other)} {other.value}, on one byte; it has to wait for it"
                    )
            if access.writes:
                made.add(place.memory)
            elif not others and place.memory not in written:
                shown = _shown(len(earlier) - 1, step)
                raise BundleError(f"{shown} reads {access.value}, which no earlier step writes")
        _apart(_shown(len(earlier) - 1, step), found, entries[f"{program.target}/{step.kernel}"])
    for output in program.outputs:
        _refuse(output.place.memory not in made, f"no step writes output {output.name}")
    for state in program.states:
        _refuse(("state", state.name) not in made, f"no step writes state {state.name}")


def _verb(access: Access) -> str:
    return "writes" if access.writes else "reads"


def _apart(shown: str, found: Sequence[Use], kernel: KernelEntry) -> None:
    """That nothing else of its step touches what an access writes, but what may lie there element
    upon element."""
    for (one, place, _), (other, others_place, _) in combinations(found, 2):
        conflict = (
            (one.writes or other.writes)
            and place.memory == others_place.memory
            and one.meets(other)
        )
        if conflict and not _is_in_place(one, other, kernel):
            raise BundleError(f"{shown} takes {one.value} and {other.value}, which overlap")


def _is_in_place(one: Access, other: Access, kernel: KernelEntry) -> bool:
    """Whether one of them is an input that the kernel's output lies upon as it may."""
    if one.start != other.start or one.writes is other.writes:
        return False
    from kgen_runtime.schema.in_place import in_place

    read = other if one.writes else one
    found = in_place(
        kernel.spec, kernel.arguments, kernel.outputs, kernel.launches, kernel.schedule
    )
    return read.param.name in found
