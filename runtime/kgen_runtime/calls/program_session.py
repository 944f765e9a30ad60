"""Session of a program: an arena, states, inputs and outputs for one thread."""

from __future__ import annotations

from _thread import get_ident  # threading takes longer to import.
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kgen_runtime.calls.arguments import Slot
from kgen_runtime.calls.attention_limits import limited_inputs
from kgen_runtime.calls.host_values import getter, host_value, imported, putter
from kgen_runtime.calls.named_arguments import by_name
from kgen_runtime.calls.session import Session
from kgen_runtime.errors import ArgumentError
from kgen_runtime.uncopied import Uncopied

if TYPE_CHECKING:
    import numpy.typing as npt

    from kgen_runtime.backend import HostBytes
    from kgen_runtime.calls.cache_places import CachePlaces
    from kgen_runtime.calls.checked_runs import CheckedSteps

R = TypeVar("R")
StateBytes = Callable[[Mapping[str, Any] | None, Mapping[str, Any]], Mapping[str, "HostBytes"]]


class ProgramSession(Uncopied):
    """Program with its own memory: an arena, inputs, outputs and states.

    One thread at a time may use a session; sessions of several threads run concurrently.
    """

    def __init__(
        self,
        session: Session,
        inputs: Sequence[Slot],
        outputs: Sequence[Slot],
        state_bytes: StateBytes,
        places: CachePlaces | None,
    ) -> None:
        self.session = session
        backend = session.backend
        self._outputs = outputs
        self._input_names = tuple(slot.name for slot in inputs)
        self._names = frozenset(self._input_names)
        self._puts = [
            (slot.name, putter(slot, backend, session.input_buffer(value)))
            for slot, value in zip(inputs, session.entry.inputs, strict=True)
        ]
        self._gets = [
            (slot.name, getter(slot, backend, session.output_buffer(value)))
            for slot, value in zip(outputs, session.entry.visible_outputs, strict=True)
        ]
        self._state_bytes = state_bytes
        self._places = places
        needed = set() if places is None else places.needed
        self._needed = [slot for slot in inputs if slot.name in needed]
        slots = {slot.name: slot for slot in inputs}
        found = (
            () if session.checks_inputs else limited_inputs(session.entry, session.kernels.entries)
        )
        self._limited = [(limits, [slots[name] for name in names]) for limits, names in set(found)]
        self._checked: CheckedSteps | None = None
        #: Thread that uses the session, under the key "thread".
        self._user: dict[str, int] = {}

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        check_indices: bool = False,
        **named: Any,
    ) -> Any:
        """Run the program like `program.run`, with the states of this session."""
        return result(self._alone(self.results, inputs, named, check_indices))

    def run_dict(
        self,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        check_indices: bool = False,
        **named: Any,
    ) -> dict[str, Any]:
        """Run the program like `program.run_dict`, with the states of this session."""
        return self._alone(self.results, inputs, named, check_indices)

    def reset(self) -> None:
        """Fill the states of this session with zeros."""
        self._alone(self.session.reset)

    def set_states(self, states: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Set some states of this session to host arrays. Raises ArgumentError."""
        self._alone(self.session.set_states, self._state_bytes(states, named))

    def get_state(self, name: str) -> npt.NDArray[Any]:
        """Return a copy of a state of this session as a host array. Raises ArgumentError."""
        return self._alone(self.session.state, name)

    def results(
        self,
        inputs: Mapping[str, Any] | None,
        named: Mapping[str, Any],
        check_indices: bool = False,
    ) -> dict[str, Any]:
        """Run the program like `run_dict`, for callers that ensure that one thread runs at a
        time."""
        if inputs is None and named.keys() == self._names:
            given = named
        else:
            given = by_name(self.session.name, self._input_names, inputs, named)
        if self._places is not None:
            self._places.check({s.name: host_value(s, given[s.name]) for s in self._needed})
        for limits, slots in self._limited:
            values = (host_value(slot, given[slot.name]) for slot in slots)
            limits.check(self.session.name, slots[0].name, *values)
        library = None
        for name, put in self._puts:
            library = put(given[name]) or library
        if check_indices:
            if self._checked is None:
                from kgen_runtime.calls.checked_runs import CheckedSteps

                self._checked = CheckedSteps(self.session)
            self._checked.run()
        else:
            self.session.run()
        found = {name: get() for name, get in self._gets}
        for value in self.session.entry.sized_outputs:
            shape = self.session.output_shape(value)
            found[value.name] = found[value.name][tuple(map(slice, shape))].copy()
        if library is None:
            return found
        return {slot.name: imported(library, slot, found[slot.name]) for slot in self._outputs}

    def _alone(self, function: Callable[..., R], *arguments: Any) -> R:
        """Call a function; raise ArgumentError if another thread uses the session, DeviceError if
        the bundle is closed."""
        self.session.kernels.held()
        me = get_ident()
        # setdefault is atomic: no thread can intervene.
        if self._user.setdefault("thread", me) != me:
            raise ArgumentError(
                f"{self.session.name}: another thread is using this session; "
                "make one per thread with program.session()"
            )
        try:
            return function(*arguments)
        finally:
            self._user.clear()

    def __repr__(self) -> str:
        return f"<Session of {self.session!r}>"


def result(arrays: dict[str, Any]) -> Any:
    """Return the array if a program has one output, else all arrays by name."""
    return arrays if len(arrays) > 1 else next(iter(arrays.values()))
