"""Calls of a program with lists, numbers, arrays of other libraries, and sessions of threads."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

import kgen
import kgen_runtime
from kgen_runtime.calls import program_session
from kgen_runtime.dtypes import DType
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.memory import dlpack, lending
from tests.onnx_models import DECODER, DECODER_STATES, Maker
from tests.programs import ROWS, WIDE, mlp_bundle

pytestmark = pytest.mark.integration

TABLE = np.arange(20, dtype="f").reshape(5, 4)


def loaded(model: Any, folder: Path, **options: Any) -> Any:
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    bundle = kgen.compile_model(path, ["x86-64-v3"], **options)
    return kgen_runtime.load(bundle.bundle.save(folder / "m.kgen"), device="cpu", num_threads=1)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a program that multiplies a row of a table by a number, and subtracts the sum of
    all rows so far, a state."""
    m = Maker()
    ids, scale = m.input("ids", (1, 1), TensorProto.INT64), m.input("scale", ())
    past = m.input("past", (1, 1, 4))
    row = m.add("Mul", m.add("Gather", m.constant(TABLE), ids), scale)
    total = m.add("Add", past, row)
    model = m.model(row, m.add("Neg", total), total)
    with loaded(model, tmp_path_factory.mktemp("rows"), states={"past": total}) as kernels:
        yield kernels.program


@pytest.fixture(scope="module")
def mlp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mlp_bundle("x86-64-v3").save(tmp_path_factory.mktemp("mlp") / "mlp.kgen")


@pytest.fixture(scope="module")
def mlp(mlp_path: Path) -> Iterator[Any]:
    with kgen_runtime.load(mlp_path, device="cpu", num_threads=1) as kernels:
        yield kernels.program


@pytest.mark.parametrize(
    ("ids", "scale"),
    [
        ([[3]], 2),
        (((3,),), 2.0),
        ([[np.int32(3)]], np.float64(2)),
        ([np.array([3])], [2][0]),
        (np.array([[3]]), np.float32(2)),
    ],
)
def test_lists_and_numbers_are_arrays(rows: Any, ids: Any, scale: Any) -> None:
    row, _ = rows.run(ids=ids, scale=scale).values()
    np.testing.assert_array_equal(row, 2 * TABLE[[[3]]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ids": [3], "scale": 1}, "main: ids has shape 1; expected 1x1"),
        ({"ids": 3, "scale": 1}, r"main: ids has shape \(\); expected 1x1"),
        ({"ids": [[3.5]], "scale": 1}, r"main: ids: 3.5 is not a value of s64; pass integers"),
        ({"ids": [[2**63]], "scale": 1}, "main: ids: 9223372036854775808 is not a value of s64"),
        (
            {"ids": [[2**70]], "scale": 1},
            "main: ids: cannot convert this list to s64: a number is out of range",
        ),
        (
            {"ids": [[1], [2, 3]], "scale": 1},
            "main: ids: cannot convert this list to s64: setting an",
        ),
        ({"ids": [["a"]], "scale": 1}, "main: ids: cannot convert this list to s64: it holds 'a'"),
        (
            {"ids": [[3]], "scale": [1j]},
            "main: scale: cannot convert this list to f32: it holds '1j'",
        ),
        ({"ids": [[3]], "scale": None}, "main: scale: NoneType is neither a numpy nor a DLPack"),
    ],
)
def test_lists_that_are_no_such_arrays(rows: Any, given: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}") as error:
        rows.run(given)
    assert "\n" not in str(error.value) and len(str(error.value)) <= 500


def test_states_take_lists(rows: Any) -> None:
    rows.set_states({rows.states[0].name: [[[1, 2, 3, 4]]]})
    _, sums = rows.run(ids=[[0]], scale=1).values()
    np.testing.assert_array_equal(sums, [[[-1, -3, -5, -7]]])


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a decoder's step with caches of 12 rows."""
    made = kgen.compile_model(DECODER["step"], targets="x86-64-v3", states=DECODER_STATES)
    path = made.save(tmp_path_factory.mktemp("decoder") / "d.kgen")
    with kgen_runtime.load(path, device="cpu", num_threads=1) as kernels:
        yield kernels.program


def test_a_state_takes_the_beginning_of_a_cache(decoder: Any) -> None:
    """States are set to caches of three tokens; the next token's result is that of ONNX's
    reference with these caches."""
    from onnx.reference import ReferenceEvaluator

    decoder.reset()
    model = ReferenceEvaluator(str(DECODER["step"]))
    caches = {s.name: np.zeros(s.shape, "f") for s in decoder.states}
    names = list(model.output_names)
    given = {name: np.zeros((2, 12, 8), "f") for name in caches}
    for pos, token in enumerate((7, 1, 30)):
        found = model.run(None, {"ids": np.array([[token]]), "pos": np.array([pos]), **given})
        given = dict(zip(given, found[1:], strict=True))
    next_token = {"ids": np.array([[5]]), "pos": np.array([3])}
    wanted = model.run([names[0]], {**next_token, **given})[0]
    for s in decoder.states:
        assert s.shape == (2, 12, 8)
    decoder.set_states({n: a[:, :3] for n, a in given.items()})
    np.testing.assert_allclose(decoder.run(next_token).ravel(), wanted.ravel(), atol=1e-4)
    decoder.reset()


def test_states_that_are_no_beginning(decoder: Any) -> None:
    name = decoder.state_names[0]
    for shape, message in (
        (
            (2, 13, 8),
            f"{name} has 12 positions along axis 1, and this array has 13; pass the last 12",
        ),
        ((1, 3, 8), f"{name} has shape 1x3x8; expected 2x12x8, or less along one axis"),
        ((3, 8), f"{name} has shape 3x8; expected 2x12x8, or less along one axis"),
    ):
        with pytest.raises(ArgumentError, match=f"main: {message}"):
            decoder.set_states({name: np.zeros(shape, "f")})
    with pytest.raises(ArgumentError, match=f"main: {name} is f64; expected f32"):
        decoder.set_states({name: np.zeros((2, 3, 8))})
    session, (first, second) = decoder.session(), decoder.state_names[:2]
    with pytest.raises(ArgumentError, match="has 12 positions"):
        session.set_states({first: np.ones((2, 12, 8), "f"), second: np.ones((2, 13, 8), "f")})
    assert not session.get_state(first).any()  # nothing is set


@pytest.mark.parametrize("shape", [(2, 3, 8), (2, 0, 8), (1, 12, 8), (2, 12, 5), (2, 12, 8)])
def test_zeros_follow_the_beginning_of_a_state(decoder: Any, shape: tuple[int, ...]) -> None:
    session, name = decoder.session(), decoder.state_names[0]
    session.set_states({name: np.full((2, 12, 8), 9, "f")})
    given = np.arange(1.0, 1 + np.prod(shape), dtype="f").reshape(shape)
    session.set_states({name: np.asfortranarray(given)})
    wanted = np.zeros((2, 12, 8), "f")
    wanted[tuple(map(slice, shape))] = given
    np.testing.assert_array_equal(session.get_state(name), wanted)


def test_writing_past_a_cache_is_an_error(decoder: Any) -> None:
    """The position is an input; the error comes before anything runs."""
    decoder.reset()
    for pos in range(12):
        last = decoder.run(ids=[[pos]], pos=[pos])
    message = r"^main: pos selects position 12 of the state past.0.key, which has 12 positions; ca"
    for run in (decoder.run, decoder.session().run):
        with pytest.raises(ArgumentError, match=message):
            run(ids=[[1]], pos=[12])
    np.testing.assert_array_equal(decoder.run(ids=[[11]], pos=[11]), last)
    decoder.reset()


def test_inputs_and_outputs_say_what_they_are(rows: Any, mlp: Any) -> None:
    assert repr(rows.inputs) == "(ids: 1x1 s64, scale: () f32)"
    assert [state.shape for state in rows.states] == [(1, 1, 4)]
    (x,), (out,) = mlp.inputs, mlp.outputs
    assert (x.name, x.shape, x.dtype) == ("x", (ROWS, WIDE), DType.F32)
    assert repr(out).startswith("out: ") and out.dtype is DType.F32


def test_outputs_as_a_dict(mlp: Any) -> None:
    x = np.ones((ROWS, WIDE), "f")
    found = mlp.run_dict(x=x)
    assert [*found] == ["out"]
    np.testing.assert_array_equal(found["out"], mlp.run({"x": x}))
    np.testing.assert_array_equal(mlp.session().run_dict({"x": x})["out"], found["out"])


def test_a_run_takes_few_calls(mlp: Any) -> None:
    """Calls of Python and C functions are counted, because times differ between machines."""
    x = np.ones((ROWS, WIDE), "f")
    counts = {"call": 0, "c_call": 0}

    def count(_: Any, event: str, __: Any) -> None:
        counts[event] = counts.get(event, 0) + 1

    for _ in range(20):  # the first runs are timed, to settle which launches are shared
        mlp.run(x=x)
    sys.setprofile(count)
    try:
        mlp.run(x=x)
    finally:
        sys.setprofile(None)
    assert counts["call"] <= 12 and counts["c_call"] <= 10, counts


def test_a_run_has_memory_of_its_own(mlp: Any) -> None:
    """Results of runs do not share memory, nor do they change with the input."""
    x = np.ones((ROWS, WIDE), "f")
    first = mlp.run(x=x)
    kept = first.copy()
    second = mlp.run(x=2 * x)
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(first, second)


def test_sessions_have_states_of_their_own(rows: Any) -> None:
    """Each thread adds up its own rows."""
    found: dict[int, Any] = {}

    def work(row: int) -> None:
        session = rows.session()
        for _ in range(100):
            _, sums = session.run(ids=[[row]], scale=1).values()
        found[row] = sums

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for row in range(4):
        np.testing.assert_array_equal(found[row], -100 * TABLE[[[row]]])


def test_a_session_is_reset_and_given_states(rows: Any) -> None:
    session = rows.session()
    session.set_states({rows.states[0].name: [[[4, 4, 4, 4]]]})
    _, first = session.run(ids=[[0]], scale=0).values()
    session.reset()
    _, second = session.run(ids=[[0]], scale=0).values()
    assert first.tolist() == [[[-4] * 4]] and second.tolist() == [[[0] * 4]]


def test_a_state_of_a_session_is_read(rows: Any) -> None:
    session, other, name = rows.session(), rows.session(), rows.states[0].name
    assert session.get_state(name).tolist() == [[[0] * 4]]
    session.set_states({name: [[[4, 5, 6, 7]]]})
    found = session.get_state(name)
    assert found.tolist() == [[[4, 5, 6, 7]]] and found.dtype == np.float32
    found[:] = 9
    assert session.get_state(name).tolist() == [[[4, 5, 6, 7]]]
    assert not other.get_state(name).any()
    message = f"^main: 'nothing' is not a state; states are {name}$"
    for use in (session.get_state, lambda n: session.set_states({n: 0})):
        with pytest.raises(ArgumentError, match=message):
            use("nothing")
        with pytest.raises(ArgumentError, match=rf"^main: '{name}\\0' is not a state; states are"):
            use(f"{name}\0")


def test_states_that_are_no_arrays_by_name(rows: Any) -> None:
    session, name = rows.session(), rows.states[0].name
    with pytest.raises(ArgumentError, match=f"pass arrays by name, such as {name}=..., or one"):
        session.set_states([[[[4, 5, 6, 7]]]])
    with pytest.raises(ArgumentError, match=f"{name} is >f4; expected f32; convert it first"):
        session.set_states({name: np.ones((1, 1, 4), ">f4")})
    with pytest.raises(ArgumentError, match=f"{name} is void32; expected f32; convert it first"):
        session.set_states({name: np.ones((1, 1, 4), [("x", "f")])})
    assert not session.get_state(name).any()


def test_a_checked_run_ends_before_its_bundle(
    mlp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread closes the bundle during the run, and the kernels stay until it ends."""
    kernels = kgen_runtime.load(mlp_path, device="cpu", num_threads=1)
    session = kernels.program.session()
    wanted = session.run(x=np.ones((ROWS, WIDE), "f"))
    one = session.session
    used = [weakref.ref(kernel) for kernel in one.kernels.held().values()]
    run_step, ran = one.run_step, []

    def closing_step(number: int) -> None:
        kernels.close()
        assert all(kernel() is not None for kernel in used)
        run_step(number)
        ran.append(number)

    monkeypatch.setattr(one, "run_step", closing_step)
    found = session.run(x=np.ones((ROWS, WIDE), "f"), check_indices=True)
    np.testing.assert_array_equal(found, wanted)
    assert ran and not any(kernel() for kernel in used)


def test_a_session_of_a_closed_bundle(mlp_path: Path) -> None:
    with kgen_runtime.load(mlp_path, device="cpu", num_threads=1) as kernels:
        session = kernels.program.session()
    for use in (session.reset, lambda: session.get_state("past"), session.set_states, session.run):
        with pytest.raises(DeviceError, match=r"^main: the bundle was closed; load it again$"):
            use()


def test_a_session_refuses_a_second_thread(mlp: Any) -> None:
    session, errors = mlp.session(), []

    def second() -> None:
        try:
            session.run(x=np.ones((ROWS, WIDE), "f"))
        except ArgumentError as error:
            errors.append(str(error))

    class Slow:
        """Session in which another thread runs in between."""

        def __dlpack_device__(self) -> Any:
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
            raise BufferError("not today")

        def __dlpack__(self, **_: Any) -> Any: ...

    with pytest.raises(ArgumentError, match="not today"):
        session.run(x=Slow())
    assert errors == [
        "main: another thread is using this session; make one per thread with program.session()"
    ]
    session.run(x=np.ones((ROWS, WIDE), "f"))


def test_two_threads_that_come_at_once(mlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second thread enters while the first one checks whether the session is free."""
    session, is_inside, may_leave = mlp.session(), threading.Event(), threading.Event()

    def stay() -> None:
        is_inside.set()
        may_leave.wait(10)

    second = threading.Thread(target=lambda: session._alone(stay))

    def get_ident() -> int:
        if threading.current_thread() is not second and not is_inside.is_set():
            second.start()
            assert is_inside.wait(10)
        return threading.get_ident()

    monkeypatch.setattr(program_session, "get_ident", get_ident)
    try:
        with pytest.raises(ArgumentError, match="another thread is using this session"):
            session.run(x=np.ones((ROWS, WIDE), "f"))
    finally:
        may_leave.set()
        second.join()
    session.run(x=np.ones((ROWS, WIDE), "f"))


class Tensor:
    """Array of a library that shares only its memory with numpy."""

    def __init__(self, data: Any, dtype: DType = DType.F32) -> None:
        self.data, self.dtype = data, dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return (dlpack.HOST, 0)

    def __dlpack__(self, **_: Any) -> object:
        return lending.HostTensor(self.data, self.dtype).__dlpack__(max_version=(1, 0))


class Subclass(Tensor):
    """Subclass of that library's array type."""


def from_dlpack(value: Any) -> Tensor:
    read = dlpack.read(value)
    assert isinstance(read.dtype, DType)
    from kgen_runtime.array import lent_array

    data = lent_array(
        read.address, read.dtype, read.shape, read.strides, owner=read, read_only=False
    )
    return Tensor(data, read.dtype)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tensors")
    vars(module).update(Tensor=Tensor, from_dlpack=from_dlpack)
    monkeypatch.setitem(sys.modules, "tensors", module)
    monkeypatch.setattr(Tensor, "__module__", "tensors.nested")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", [Tensor, Subclass])
def test_an_array_of_a_library_gives_one_of_it(mlp: Any, kind: type[Tensor]) -> None:
    x = np.random.default_rng(0).standard_normal((ROWS, WIDE)).astype("f")
    wanted = mlp.run(x=x)
    for found in (mlp.run(x=kind(x)), mlp.run_dict(x=kind(x))["out"], mlp.session().run(x=kind(x))):
        assert type(found) is Tensor
        np.testing.assert_array_equal(found.data, wanted)
    call = mlp.prepare(x=kind(x))
    assert type(call()) is Tensor and call() is call.out
    np.testing.assert_array_equal(call.out.data, wanted)
    out = np.empty_like(wanted)
    assert mlp.prepare(x=kind(x), out=out)() is out


@pytest.mark.usefixtures("library")
def test_prepared_calls_return_a_part_of_a_librarys_array(tmp_path: Path) -> None:
    m = Maker()
    model = m.model(m.add("NonZero", m.input("x", (7,))), dtype=TensorProto.INT64)
    with loaded(model, tmp_path) as kernels:
        x = Tensor(np.array([0, 1, 0, 1, 1, 0, 0], "f"))
        call = kernels.program.prepare(x=x)
        for found in (call(), kernels.program.run(x=x)):
            assert type(found) is Tensor
            np.testing.assert_array_equal(found.data, [[1, 3, 4]])
        assert call.out.data.shape == (1, 7) and np.shares_memory(call().data, call.out.data)


@pytest.mark.integration
def test_tensors_of_pytorch(mlp: Any) -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(ROWS, WIDE)
    found = mlp.run(x=x)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), mlp.run(x=x.numpy()))
    np.testing.assert_array_equal(mlp.prepare(x=x)().numpy(), found.numpy())
