"""Cost of a call, measured with GEMMs of one number, whose kernels take no time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kgen
import kgen_runtime
from benchmarks.results import Row, Timing
from kgen.check.bench import timing
from kgen.spec import DType, Matmul

Call = Callable[[], object]
PREPARED, ORDINARY = "prepared call", "ordinary call"
REPEATS = 3
#: Kernels of one operation in a bundle; a call's arguments choose among them.
SEVERAL = 8
NUMPY, ML_DTYPES, PYTORCH = "numpy", "numpy with ml_dtypes", "PyTorch"


def rows(rounds: int) -> list[Row]:
    """Return a row for each way to call, type and kind of arrays.

    The lowest of a few medians counts: no other library is timed in turn, so a disturbance would
    not cancel.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = [*_calls(DType.F32, folder), *_calls(DType.BF16, folder)]
        medians = [timing.interleaved([call for _, call in found], rounds) for _ in range(REPEATS)]
    return [
        Row(table="calls", work=name, time=Timing(median=min(seconds), rounds=rounds))
        for (name, _), *seconds in zip(found, *medians, strict=True)
    ]


def _calls(dtype: DType, folder: str) -> Iterator[tuple[str, Call]]:
    alone, among = (_loaded(dtype, folder, count) for count in (1, SEVERAL))
    for kind, make in _arrays(dtype):
        a, b, out = make(), make(), make()
        if kind == NUMPY or dtype is DType.BF16:
            yield f"{PREPARED}, {dtype}, {kind}", alone.matmul.prepare(a, b, out=out)
        yield f"{ORDINARY}, {dtype}, {kind}, out given", _with_out(alone, a, b, out)
        several = f"one of {SEVERAL} kernels"
        yield f"{ORDINARY}, {dtype}, {kind}, out given, {several}", _with_out(among, a, b, out)
    if dtype is DType.F32:
        a, b = np.ones((1, 1), np.float32), np.ones((1, 1), np.float32)
        yield f"{ORDINARY}, {dtype}, {NUMPY}, out made by the call", lambda: alone.matmul(a, b)


def _loaded(dtype: DType, folder: str, count: int) -> Any:
    """Load `count` kernels whose result is one number; they differ in K, from 1."""
    specs = [Matmul(m=1, n=1, k=k, dtype=dtype) for k in range(1, count + 1)]
    bundle = kgen.build(specs, targets=["native"])
    path = bundle.save(Path(folder) / f"{dtype}-{count}.kgen")
    return kgen_runtime.load(path, num_threads=1)


def _with_out(kernels: Any, a: Any, b: Any, out: Any) -> Call:
    return lambda: kernels.matmul(a, b, out=out)


def _arrays(dtype: DType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the installed kinds of arrays, each with a function that makes a 1 x 1 array."""
    if dtype is DType.F32:
        yield NUMPY, lambda: np.ones((1, 1), np.float32)
    else:
        try:
            import ml_dtypes
        except ImportError:
            pass
        else:
            yield ML_DTYPES, lambda: np.ones((1, 1), ml_dtypes.bfloat16)
    try:
        import torch
    except ImportError:
        return
    kind = {DType.F32: torch.float32, DType.BF16: torch.bfloat16}[dtype]
    yield PYTORCH, lambda: torch.ones((1, 1), dtype=kind)
