"""Checked runs name an index outside of its table, with the limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto as T

import kgen
import kgen_runtime
from kgen.cli.main import main
from kgen_runtime.backends.cpu.cpu_session import CpuSession
from kgen_runtime.calls import checked_runs
from kgen_runtime.calls.attention_limits import AttentionLimits
from kgen_runtime.errors import ArgumentError
from tests.onnx_models import Maker

pytestmark = pytest.mark.integration

PLACES = 10


def saved(m: Maker, y: Any, folder: Path) -> Path:
    onnx.save(m.model(str(y)), folder / "m.onnx")
    found = folder / "m.kgen"
    kgen.compile_model(folder / "m.onnx", ["x86-64-v3"]).bundle.save(found)
    return found


def embedding(folder: Path) -> Path:
    m = Maker(18)
    ids = m.input("ids", (2, 3), T.INT64)
    return saved(m, m.add("Relu", m.add("Gather", m.weight(PLACES, 4), ids)), folder)


@pytest.mark.parametrize("wrong", [PLACES, -PLACES - 1, 1 << 40])
def test_an_index_of_an_input(wrong: int, tmp_path: Path) -> None:
    program = kgen_runtime.load(embedding(tmp_path)).program
    ids = np.array([[0, -PLACES, PLACES - 1], [1, 2, 3]])
    checked = program.run(ids=ids, check_indices=True)
    np.testing.assert_array_equal(checked, program.run(ids=ids))
    ids[1, 2] = wrong
    assert not np.any(program.run(ids=ids)[1, 2])
    with pytest.raises(ArgumentError) as found:
        program.run(ids=ids, check_indices=True)
    message = str(found.value)
    assert f"input ids[1, 2] is {wrong}, outside of its table" in message
    assert "give an index from -10 to 9 (node " in message and "\n" not in message
    with pytest.raises(ArgumentError, match=r"ids\[1, 2\]"):
        program.session().run({"ids": ids}, check_indices=True)


def test_an_index_that_steps_compute(tmp_path: Path) -> None:
    m = Maker(18)
    x = m.input("x", (2, 6))
    place = m.add("ArgMax", m.add("Relu", x), axis=1, keepdims=0)
    program = kgen_runtime.load(saved(m, m.add("Gather", m.weight(4, 3), place), tmp_path)).program
    given = np.zeros((2, 6), np.float32)
    given[:, 3] = 1
    program.run(x=given, check_indices=True)
    given[1, 5] = 2
    with pytest.raises(ArgumentError, match=r" is 5, outside of its table; .*Gather"):
        program.run(x=given, check_indices=True)


def test_indices_of_several_numbers(tmp_path: Path) -> None:
    """GatherND's indices become one number, inside the kernel or before it."""
    m = Maker(18)
    at = m.input("at", (3, 2), T.INT64)
    y = m.add("GatherND", m.weight(4, 5, 2), at)
    program = kgen_runtime.load(saved(m, y, tmp_path)).program
    program.run(at=[[0, 0], [3, 4], [-1, -5]], check_indices=True)
    for wrong in ([4, 0], [1, 5], [3, -6], [-5, 4]):
        assert not np.any(program.run(at=[[0, 0], wrong, [1, 1]])[1])
        with pytest.raises(ArgumentError) as refused:
            program.run(at=[[0, 0], wrong, [1, 1]], check_indices=True)
        message = (
            f"main: an index computed from input at[1] = {wrong} is outside of its table of 20"
        )
        assert str(refused.value).startswith(message)


def test_rows_that_are_written(tmp_path: Path) -> None:
    m = Maker(18)
    at = m.input("at", (2,), T.INT64)
    rows = m.add("Unsqueeze", at, m.constant([1], np.int64))
    y = m.add("ScatterND", m.weight(6, 3), rows, m.weight(2, 3))
    program = kgen_runtime.load(saved(m, y, tmp_path)).program
    program.run(at=[5, 0], check_indices=True)
    with pytest.raises(ArgumentError, match=r" is 6, outside of its table"):
        program.run(at=[5, 6], check_indices=True)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = embedding(tmp_path)
    np.save(tmp_path / "ids.npy", np.full((2, 3), PLACES))
    argv = ["run", str(bundle), "--input", f"ids={tmp_path / 'ids.npy'}"]
    assert main(argv) == 0
    capsys.readouterr()
    assert main([*argv, "--check"]) == 2
    err = capsys.readouterr().err
    assert "input ids[0, 0] is 10, outside of its table" in err and err.count("\n") == 1


def test_an_index_that_the_kernel_turns() -> None:
    """The kernel transposes the index; the message has the coordinates after that."""
    spec = kgen.Elementwise(
        expression="gather(table, permute(at, 1, 0))",
        shapes=((PLACES, 4), (2, 3)),
        dtype="f32",
        index_dtype="s64",
    )
    (entry,) = kgen.build(spec, targets=["x86-64-v3"]).manifest.kernels
    (use,) = checked_runs.index_uses(entry)
    at = np.array([[0, PLACES, -PLACES], [-PLACES - 1, 1, PLACES - 1]])
    assert list(checked_runs._wrong(entry, use, {"at": at})) == [
        ((0, 1), -PLACES - 1),
        ((1, 0), PLACES),
    ]


def test_nothing_runs_before_an_index_of_an_input_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lookup is the second step; the index is refused before the first one."""
    m = Maker(18)
    x, ids = m.input("x", (8, 8)), m.input("ids", (2,), T.INT64)
    y = m.add("Gather", m.add("MatMul", x, m.weight(8, 8)), ids)
    program = kgen_runtime.load(saved(m, y, tmp_path)).program
    assert len(program.entry.steps) == 2
    ran: list[int] = []
    run_step = CpuSession.run_step

    def counted(self: CpuSession, number: int) -> None:
        ran.append(number)
        run_step(self, number)

    monkeypatch.setattr(CpuSession, "run_step", counted)
    given = np.ones((8, 8), np.float32)
    program.run(x=given, ids=[0, 7], check_indices=True)
    assert ran == [0, 1]
    with pytest.raises(ArgumentError, match=r"ids\[1\] is 8"):
        program.run(x=given, ids=[0, 8], check_indices=True)
    assert ran == [0, 1]


def lengths_of_attention(folder: Path, dtype: int) -> Path:
    """Return attention of 3 queries and 5 keys; the numbers of valid keys are an input."""
    m = Maker(18)
    q, k, v = (m.input(name, (2, 2, n, 8)) for name, n in (("q", 3), ("k", 5), ("v", 5)))
    keys = m.constant(np.arange(5).reshape(1, 1, 1, 5), onnx.helper.tensor_dtype_to_np_dtype(dtype))
    seen = m.add("Less", keys, m.input("number", (2, 1, 1, 1), dtype))
    mask = m.add("Where", seen, m.constant(0.0), m.constant(-np.inf))
    scores = m.add("MatMul", q, m.add("Transpose", k, perm=[0, 1, 3, 2]))
    weights = m.add("Softmax", m.add("Add", scores, mask), axis=-1)
    return saved(m, m.add("MatMul", weights, v), folder)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_number_of_keys_that_is_an_input(device: str, tmp_path: Path) -> None:
    path = lengths_of_attention(tmp_path, T.INT32)
    with kgen_runtime.load(path, device=device) as kernels:
        program = kernels.program
        given = {i.name: np.ones(i.shape, np.float32) for i in program.inputs[:3]}
        number = np.array([3, 5], np.int32).reshape(2, 1, 1, 1)
        assert np.all(program.run(given, number=number) == 1.0)
        number[1] = 6
        message = r"^main.*: number\[1\]=6 exceeds the 5 keys of k and v; give 0 to 5, or build"
        for checks in (False, True):
            with pytest.raises(ArgumentError, match=message):
                program.run(given, number=number, check_indices=checks)
        if device == "cpu":
            with pytest.raises(ArgumentError, match=message):
                program.prepare(given, number=number)()


def test_a_number_of_keys_that_a_step_computes(tmp_path: Path) -> None:
    """The kernel clamps the number, as the model's mask does; a checked run names it."""
    program = kgen_runtime.load(lengths_of_attention(tmp_path, T.INT64)).program
    given = {i.name: np.ones(i.shape, np.float32) for i in program.inputs[:3]}
    number = np.array([3, 6]).reshape(2, 1, 1, 1)
    assert np.all(program.run(given, number=number) == 1.0)
    message = r"^main, node .*: kv_length\[1\]=6 exceeds the 5 keys of k and v; give 0 to 5"
    with pytest.raises(ArgumentError, match=message):
        program.run(given, number=number, check_indices=True)


@pytest.mark.parametrize(("page", "refused"), [(4, True), (-1, True), (3, False)])
def test_pages_of_a_table(page: int, refused: bool) -> None:
    """Page numbers after the valid keys are not checked."""
    spec = kgen.Attention(q=(1, 1, 2, 8), k=(1, 1, 12, 8), page_size=4, pages=4, dtype="f32")
    (entry,) = kgen.build(spec, targets=["x86-64-v3"]).manifest.kernels
    limits = AttentionLimits.of(entry)
    assert limits is not None and limits.names == ("kv_length", "page_table")
    table = np.array([[0, page, 99]], np.int32)
    limits.check("it", "kv_length", np.array([4], np.int32), table)
    if not refused:
        limits.check("it", "kv_length", np.array([8], np.int32), table)
        return
    with pytest.raises(ArgumentError, match=rf"^it: page_table\[0, 1\]={page} is no page of k and"):
        limits.check("it", "kv_length", np.array([5], np.int32), table)
