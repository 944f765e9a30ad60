"""Cold caches of `kgen bench --cold`: each call takes other copies of the operands."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.check import peers
from kgen.check.bench import cold, timing
from kgen.check.bench import run as bench
from kgen.check.peers import ceilings
from kgen.check.tensors import Bytes
from kgen.cli.main import main
from kgen.errors import VerificationError
from kgen.spec import DType, Matmul
from kgen.targets import find
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.kernels import Kernels
from kgen_runtime.manifest import KernelEntry

EntryFor = Callable[..., KernelEntry]
CPU = DeviceInfo(backend="cpu", index=0, name="here", kind="cpu")


def product(m: int, n: int, k: int) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype=DType.F32)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return kgen.build(product(8, 8, 8), targets=["native"]).save(tmp_path / "x.kgen")


def test_calls_are_made_in_turn() -> None:
    made: list[int] = []
    (run,) = timing.in_turn([[partial(made.append, i) for i in range(3)]])
    for _ in range(7):
        run()
    assert made == [0, 1, 2, 0, 1, 2, 0]


def test_ways_share_the_turn() -> None:
    """Copies that one way of calling has just used are in the caches, so the next way takes
    others."""
    made: list[str] = []
    ways = [[partial(made.append, f"{way}{i}") for i in range(3)] for way in "ab"]
    a, b = timing.in_turn(ways)
    for run in (a, a, b, a, b, b):
        run()
    assert made == ["a0", "a1", "b2", "a0", "b1", "b2"]


def test_so_many_sets_that_no_cache_keeps_them() -> None:
    nbytes = 4 * (1024 * 1024 + 2 * 4 * 1024)
    sets = cold.sets_of(nbytes)
    least = max(2**28, 4 * find("native").limits["l3_bytes"])
    assert least <= sets * nbytes < least + nbytes
    assert cold.kept(nbytes, sets) is None


def test_what_is_larger_than_that_is_one_set() -> None:
    assert cold.sets_of(2**40) == 1 and cold.kept(2**40, 1) is None


def test_copies_are_the_same_elsewhere() -> None:
    data = {"a": np.arange(100, dtype=np.uint8), "b": np.arange(7, dtype=np.uint8)}
    sets = cold.copies(data, 3)
    assert len(sets) == 3 and all(sets[0][name] is data[name] for name in data)
    for name in data:
        assert all(np.array_equal(found[name], data[name]) for found in sets)
        assert len({found[name].ctypes.data for found in sets}) == 3
        assert all(found[name].ctypes.data % 64 == 0 for found in sets[1:])


@pytest.mark.integration
def test_kernel_and_library_take_every_set(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording caller and peer get the sets of operands in order."""
    called: list[tuple[str, int]] = []
    numbers: dict[int, int] = {}

    def number(data: dict[str, Bytes]) -> int:
        return numbers.setdefault(data["b"].ctypes.data, len(numbers))

    def caller(kernels: Kernels, kernel: Kernel, data: dict[str, Bytes]) -> timing.Run:
        return lambda: called.append(("kernel", number(data)))

    def peer(entry: KernelEntry, data: dict[str, Bytes], device: DeviceInfo) -> peers.Peer:
        return peers.Peer(name="x", run=lambda: called.append(("peer", number(data))))

    monkeypatch.setattr(cold, "sets_of", lambda _: 3)
    monkeypatch.setattr(bench, "caller", caller)
    monkeypatch.setitem(peers.PEERS, "x", peer)
    (result,) = bench.bench(bundle, device="cpu", against=["x"], rounds=2, is_cold=True).kernels
    assert result.sets == 3
    first, *timed = called
    assert first == ("peer", 0)  # whether it computes at all
    assert {*timed} == {(name, i) for name in ("kernel", "peer") for i in range(3)}
    assert all((b - a) % 3 == 1 for (_, a), (_, b) in itertools.pairwise(timed))


@pytest.mark.integration
@pytest.mark.parametrize("name", ["read", "copy"])
def test_ceilings_of_memory_take_every_set(
    name: str, entry_for: EntryFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ceilings have as many memories of their own, and try each pattern on all of them."""
    made: list[int] = []
    tried: list[int] = []
    memory, fastest = ceilings._memory, ceilings.fastest_in_turn

    def counted(nbytes: int) -> Bytes:
        made.append(nbytes)
        return memory(nbytes)

    def watched(ways: Any) -> timing.Run:
        tried.extend(len(way) for way in ways)
        return fastest(ways)

    monkeypatch.setattr(ceilings, "_memory", counted)
    monkeypatch.setattr(ceilings, "fastest_in_turn", watched)
    entry = entry_for(product(4, 64, 64))
    each = peers.make_each(name, entry, [{}, {}, {}], CPU)
    assert len(each) == 3 and each[0] is each[1] is each[2]
    each[0].run()
    nbytes = {"read": 4 * (4 * 64 + 64 * 64), "copy": 4 * 4 * 64}[name]
    assert made == [nbytes] * (3 if name == "read" else 6)
    assert len(tried) > 3 and set(tried) == {3}


def test_the_fastest_way_in_turn() -> None:
    made: list[str] = []

    def slow() -> None:
        made.append("slow")
        sum(range(100_000))

    quick = [partial(made.append, f"quick {i}") for i in range(2)]
    run = ceilings.fastest_in_turn([[slow, slow], quick])
    made.clear()
    run()
    run()
    assert made == ["quick 0", "quick 1"]


@pytest.mark.integration
def test_kgen_bench_says_what_a_cache_may_keep(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cold, "MOST", 5)
    assert main(["bench", str(bundle), "--device", "cpu", "--rounds", "1", "--cold"]) == 0
    assert "--cold: 5 copies, the limit, of 768 bytes" in capsys.readouterr().out
    assert main(["bench", str(bundle), "--device", "cpu", "--rounds", "1", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["kernels"]
    assert result["sets"] == 1 and result["warm"] is None


@pytest.mark.integration
def test_sets_must_have_room(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgen.check.verify.cost.available_memory", lambda: 2**16)
    bench.bench(bundle, device="cpu", against=[], rounds=1)
    with pytest.raises(
        VerificationError, match=r"timing it needs .* bytes of memory; 65536 bytes are"
    ):
        bench.bench(bundle, device="cpu", against=[], rounds=1, is_cold=True)
