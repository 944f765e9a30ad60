"""nvcc's PTX of cuda::barrier, cuda::pipeline, h2sqrt and clocks: data/libcudacxx/kernels.cu."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, run

SOURCE = (Path(__file__).parents[2] / "data" / "libcudacxx" / "kernels.ptx").read_text()
each_seed = pytest.mark.parametrize("seed", range(4))


def launch(entry: str, *arguments: Any, threads: int = 128, seed: int = 0) -> None:
    run(
        SOURCE,
        language="ptx",
        entry=entry,
        grid=(1, 1, 1),
        block=(threads, 1, 1),
        arguments=arguments,
        seed=seed,
    )


def table(rows: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).integers(-99, 99, (rows, 128), np.int32)


def test_roots() -> None:
    values = np.random.default_rng(6).uniform(0, 9, 256).astype(np.float16)
    out = np.zeros(256, np.float16)
    launch("roots", values, out)
    np.testing.assert_allclose(out, np.sqrt(values.astype("f4")).astype("f2"), rtol=2**-10)


@each_seed
def test_a_barrier_that_copies_arrive_at(seed: int) -> None:
    data, out = table(1), np.zeros(128, np.int32)
    launch("reversed", data, out, seed=seed)
    assert (out == data[0, ::-1]).all()


@each_seed
def test_two_barriers(seed: int) -> None:
    data, out = table(2), np.zeros(128, np.int32)
    launch("both", data, out, seed=seed)
    assert (out == data.sum(axis=0)[::-1]).all()


@each_seed
def test_a_copy_whose_barrier_is_not_waited_for(seed: int) -> None:
    with pytest.raises(EmulationFault, match=r"pending-copy|race"):
        launch("hasty", table(2), np.zeros(128, np.int32), seed=seed)


@each_seed
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_a_pipeline(rows: int, seed: int) -> None:
    data, out = table(rows), np.zeros(128, np.int32)
    launch("rows", data, out, np.int32(rows), seed=seed)
    assert (out == data.sum(axis=0)[::-1]).all()


@pytest.mark.parametrize("cycles", [1, 1000, 20_000_000])
def test_a_delay_ends(cycles: int) -> None:
    out = np.zeros((64, 2), np.int64)
    launch("delay", np.int64(cycles), out, threads=64)
    assert (out[:, 0] >= cycles).all() and (out[:, 1] >= 1000).all()
