"""Sample of a large grid: chosen workgroups and elements, and accesses outside of their tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kgen.check import tensors
from kgen.check.execute import executor
from kgen.check.oracle import operations as oracle
from kgen.check.verify import cost, inputs, sampling
from kgen.check.verify import run as verification
from kgen.errors import VerificationError
from kgen.spec import Matmul
from kgen_runtime.manifest import Extent3, KernelEntry, Tile

EntryFor = Callable[..., KernelEntry]


def big_entry(entry_for: EntryFor, cluster: Sequence[int] = (1, 1, 1)) -> KernelEntry:
    spec = Matmul(m=1000, n=700, k=64, batch=5)
    tile = Tile(shape=(5, 1000, 700), extent=(1, 128, 64), axes=(2, 1, 0))
    entry = entry_for(spec, grid=(11, 8, 5), tile=tile)
    launch = replace(entry.launches[0], cluster=tuple(cluster))  # type: ignore[arg-type]
    return replace(entry, launches=(launch,))


def test_a_sample_holds_every_kind_of_corner(entry_for: EntryFor) -> None:
    found = sampling.sample(big_entry(entry_for), budget=40, seed=0)
    assert found is not None
    (workgroups,) = found.workgroups
    assert 27 <= len(workgroups) <= 40 and len(found.boxes) == len(workgroups)
    kinds = {
        tuple(
            "first" if i == 0 else "last" if i == n - 1 else "interior"
            for i, n in zip(w, (11, 8, 5), strict=True)
        )
        for w in workgroups
    }
    assert len(kinds) == 27
    assert any(b == (slice(4, 5), slice(896, 1000), slice(640, 700)) for b in found.boxes)


def test_a_sample_holds_whole_clusters(entry_for: EntryFor) -> None:
    found = sampling.sample(big_entry(entry_for, (1, 2, 1)), budget=60, seed=0)
    assert found is not None
    chosen = set(found.workgroups[0])
    assert all((x, y ^ 1, z) in chosen for x, y, z in chosen)


def test_what_would_be_emulated_for_hours_is_refused(entry_for: EntryFor) -> None:
    entry = big_entry(entry_for)
    sample = sampling.sample(entry, budget=40, seed=0)
    assert cost.emulation_refusal(replace(entry, schedule={"mainloop": "mma"}), sample) is None
    slow = cost.emulation_refusal(
        replace(entry, schedule={"mainloop": "blis", "mr": 3, "nr": 12}), None
    )
    assert slow is not None and "verify it on a device" in slow


class Sampled(executor.Executor):
    """Kernel that writes the tiles of the chosen workgroups, shifted to the right by some
    elements."""

    on, form, samples = "emulator", "ptx", True

    def __init__(self, entry: KernelEntry, excess: int) -> None:
        self.entry, self.excess = entry, excess

    def run(
        self, buffers: Mapping[str, Any], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        assert workgroups is not None
        (tile,) = (launch.tile for launch in self.entry.launches)
        assert tile is not None
        batches, rows, cols = oracle.output_shape(self.entry)
        whole = (slice(0, batches), slice(0, rows), slice(0, cols))
        value = oracle.estimate(self.entry, buffers, whole).value
        dtype = self.entry.output.dtype
        result = tensors.encode(tensors.round_to(value, dtype), dtype)
        out = tensors.strided_bits(buffers["out"], self.entry.output)
        for workgroup in workgroups[0]:
            (b0, b1), (m0, m1), (n0, n1) = sampling.written(tile, workgroup)
            box = (slice(b0, b1), slice(m0, m1), slice(n0, min(n1 + self.excess, cols)))
            out[box] = result[box]


def test_workgroups_of_a_sample_keep_to_their_tiles(entry_for: EntryFor) -> None:
    entry = big_entry(entry_for)
    sample = sampling.sample(entry, budget=40, seed=0)
    data = next(iter(inputs.data_sets(entry, 0)))
    assert verification.run(Sampled(entry, 0), entry, data, sample, 0).passed
    with pytest.raises(
        VerificationError, match=r"out\[0, 0, \d+\] was written by a workgroup whose"
    ):
        verification.run(Sampled(entry, 1), entry, data, sample, 0)


def test_small_grids_are_run_in_full(entry_for: EntryFor) -> None:
    assert sampling.sample(big_entry(entry_for), budget=440, seed=0) is None


def test_scalar_samples_cover_tile_edges(entry_for: EntryFor) -> None:
    entry = big_entry(entry_for)
    box = (slice(0, 5), slice(0, 1000), slice(0, 700))
    chosen = set(sampling.elements(entry, box, limit=3000, seed=0))
    assert {(b, m, n) for b in (0, 4) for m in (0, 999) for n in (0, 699)} <= chosen
    assert {127, 128, 895, 896, 999} <= {m for _, m, _ in chosen}
    assert len(chosen) >= 1000
    small = (slice(0, 1), slice(3, 5), slice(2, 4))
    assert sampling.elements(entry, small, 4, 0) == [(0, 3, 2), (0, 3, 3), (0, 4, 2), (0, 4, 3)]
