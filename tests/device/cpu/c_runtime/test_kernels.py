"""Kernels called by the C runtime give the bits of the Python runtime, and the right result."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import pipeline, targets
from kgen.bundle import pack
from kgen.schedule import CpuSplitMatmul
from kgen.targets.base import Target
from kgen_runtime.manifest import KernelEntry
from tests.device.cpu.c_runtime.compiled import (
    SANITIZED,
    Driver,
    arrays,
    compiled,
    files_of,
    run,
    spread,
    write,
)
from tests.device.cpu.cpu_support import here
from tests.needs import LEVELS
from tests.unit.runtime.bundle.zips import zipped

SPLIT = CpuSplitMatmul(mr=2, nr=16, mc=6, kc=16, nc=64, pack_a=True, pack_b=False, split_k=3)


def one_bundle(folder: Path, target: Target) -> Path:
    """Return a kernel of each kind: types, packed and constant operands, gaps, several launches
    with a workspace, several outputs, a table that is written in place."""
    weights = np.random.default_rng(1).standard_normal((24, 17)).astype("f")
    specs: list[Any] = [
        kgen.Matmul(m=33, n=40, k=50, dtype="f32", epilogue=("bias", "relu")),
        kgen.Matmul(m=9, n=17, k=24, dtype="f64", layout="tn", lda=11, ldb=19, ldc=23),
        kgen.Matmul(m=7, n=19, k=33, dtype="bf16", constant=("b",)),
        kgen.Matmul(m=7, n=19, k=33, dtype="f16", batch=3),
        kgen.Matmul(m=7, n=19, k=33, dtype="s8", constant=("b",)),
        kgen.Matmul(m=5, n=37, k=96, dtype="f32", b_dtype="s4", layout="nt", constant=("b",)),
        kgen.Elementwise(expression="relu(x)", shapes=((7, 1001),), dtype="f32"),
        kgen.Elementwise(
            expression="scatter(table, index, rows)",
            shapes=((12, 3, 8), (2,), (3, 8)),
            dtype="f32",
        ),
        kgen.Rowwise(expression="softmax(x)", shapes=((13, 129),), dtype="f32"),
        kgen.Rowwise(expression="low = amin(x); high = amax(x)", shapes=((6, 31),), dtype="f16"),
    ]
    made = [pipeline.kernel(spec, target) for spec in specs]
    split = kgen.Matmul(m=5, n=40, k=75, dtype="f32", epilogue=("bias",))
    made.append(pipeline.kernel(split, target, SPLIT))
    stored = kgen.build(
        kgen.Matmul(m=6, n=17, k=24, dtype="f32", constant=("b",)),
        [target],
        constants={"b": weights},
    )
    (folder / "stored.kgen").unlink(missing_ok=True)
    stored.save(folder / "stored.kgen")
    path = folder / "kernels.kgen"
    pack(made).save(path)
    return path


@pytest.fixture(scope="module", params=LEVELS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_bundle(tmp_path_factory.mktemp("kernels"), here(request.param))


def keys() -> list[str]:
    """Return the first parts of the keys in `one_bundle`, which are equal for all CPUs."""
    return [
        "matmul_33x40x50_f32",
        "matmul_9x17x24_f64",
        "matmul_7x19x33_bf16",
        "matmul_7x19x33_f16",
        "matmul_7x19x33_s8",
        "matmul_5x37x96_f32",
        "relu",
        "scatter",
        "softmax",
        "amin_amax",
        "matmul_5x40x75_f32",
    ]


def find(kernels: Any, start: str) -> Any:
    (found,) = (kernel for key, kernel in kernels.items() if key.startswith(start))
    return found


def inputs_of(kernel: Any) -> list[np.ndarray[Any, Any]]:
    """Return random inputs; a scatter's index is in range, and a packed operand is packed."""
    entry: KernelEntry = kernel.entry
    given = arrays(dataclasses.replace(entry.unpacked, constants=entry.constants))
    for i, p in enumerate(entry.arguments):
        if p.packing is not None:
            given[i] = kernel.pack(given[i])
        if p.name == "index":
            given[i] = np.array([7, 2], given[i].dtype)
    return given


def expected(kernel: Any, inputs: list[np.ndarray[Any, Any]]) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the results of the Python runtime."""
    out = kernel(*(array.copy() for array in inputs))
    return out if isinstance(out, tuple) else (out,)


def check_files(entry: KernelEntry, folder: Path, wanted: tuple[np.ndarray[Any, Any], ...]) -> None:
    """Check that the outputs' files are these arrays bit by bit, with unchanged gaps."""
    for p, array in zip(entry.outputs, wanted, strict=True):
        found = np.frombuffer((folder / p.name).read_bytes(), array.dtype)
        assert found.nbytes == p.nbytes
        whole = np.frombuffer(b"\xa5" * p.nbytes, array.dtype).copy()
        steps = tuple(s * array.itemsize for s in p.strides)
        np.lib.stride_tricks.as_strided(whole, p.shape, steps)[...] = array
        assert found.tobytes() == whole.tobytes(), p.name


def call_files(entry: KernelEntry, inputs: list[np.ndarray[Any, Any]], folder: Path) -> list[Path]:
    """Write the files of a call; the output of a scatter is its table."""
    files = files_of(entry, inputs, folder)
    if entry.key.startswith("scatter"):
        files[-1] = files[0]
    return files


@pytest.mark.parametrize("start", keys())
def test_the_same_bits_as_python(sanitized: Driver, path: Path, start: str, tmp_path: Path) -> None:
    """The driver calls each kernel in all four ways; the last way runs task by task, backwards."""
    with kgen_runtime.load(path, device="cpu", num_threads=1) as kernels:
        kernel = find(kernels, start)
        inputs = inputs_of(kernel)
        wanted = expected(kernel, inputs)
        for how in ("run", "pointers", "call", "tasks"):
            files = call_files(kernel.entry, inputs, tmp_path)
            sanitized.done(path, how, kernel.key, *files, threads=2)
            if start == "scatter":
                files[0].rename(tmp_path / "out")
            check_files(kernel.entry, tmp_path, wanted)
            assert all(array.view(np.uint8).std() > 0 for array in wanted)


def test_right(sanitized: Driver, path: Path, tmp_path: Path) -> None:
    """The results agree with numpy in f64."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((33, 50), "f"), rng.standard_normal((50, 40), "f")
    bias = rng.standard_normal(40, "f")
    files = [write(tmp_path, n, x) for n, x in (("a", a), ("b", b), ("bias", bias))]
    out = tmp_path / "out"
    sanitized.done(path, "run", "matmul_33x40x50_f32_nn_bias_relu", *files, out)
    found = np.fromfile(out, "f").reshape(33, 40)
    np.testing.assert_allclose(
        found, np.maximum(a.astype("d") @ b.astype("d") + bias, 0), rtol=1e-5, atol=1e-5
    )
    x = rng.standard_normal((13, 129), "f")
    sanitized.done(path, "run", "softmax_13x129_f32", write(tmp_path, "x", x), out)
    e = np.exp(x.astype("d"))
    found = np.fromfile(out, "f").reshape(13, 129)
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("start", [k for k in keys() if k[7:] in ("7x19x33_bf16", "7x19x33_s8")])
def test_packing(sanitized: Driver, path: Path, start: str, tmp_path: Path) -> None:
    check_packing(sanitized, path, start, tmp_path)


def test_packing_of_blocks(sanitized: Driver, path: Path, tmp_path: Path) -> None:
    """The depth of 4-bit blocks is cut into runs."""
    check_packing(sanitized, path, "matmul_5x37x96_f32", tmp_path)


def check_packing(driver: Driver, path: Path, start: str, folder: Path) -> None:
    with kgen_runtime.load(path, device="cpu") as kernels:
        kernel = find(kernels, start)
        place = [p.name for p in kernel.entry.arguments].index("b")
        param = kernel.entry.arguments[place]
        if param.packing is None:
            pytest.skip("this CPU's target does not pack it")
        matrix = arrays(kernel.entry.unpacked)[place]
        wanted = np.asarray(kernel.pack(matrix))
    spread_out = spread(matrix, param.unpacked.shape, param.unpacked.strides)
    given = write(folder, "matrix", spread_out)
    driver.done(path, "pack", kernel.key, place, given, folder / "packed")
    assert (folder / "packed").read_bytes() == wanted.tobytes() != bytes(wanted.nbytes)
    refusal = driver.refused(path, "pack", kernel.key, 0, given, folder / "packed")
    assert refusal == (f"1: {kernel.key}: argument 0 is not packed; build it with --constant b")


@pytest.mark.parametrize("shape", [(3, 20, 13), (2, 33, 9)])
@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_packing_a_batch(
    sanitized: Driver, layout: str, shape: tuple[int, int, int], tmp_path: Path
) -> None:
    batch, k, n = shape
    spec = kgen.Matmul(m=4, n=n, k=k, batch=batch, dtype="f32", layout=layout, constant=("b",))  # type: ignore[arg-type]
    path = kgen.build([spec], ["native"]).save(tmp_path / "batch.kgen")
    check_packing(sanitized, path, "matmul", tmp_path)


def test_constants_in_the_bundle(sanitized: Driver, path: Path, tmp_path: Path) -> None:
    """Calls leave stored constants out; unaligned ones are copied."""
    stored = path.with_name("stored.kgen")
    with kgen_runtime.load(stored, device="cpu") as kernels:
        (kernel,) = kernels.values()
        inputs = inputs_of(kernel)
        wanted = expected(kernel, inputs)
    assert kernel.entry.constants
    moved = tmp_path / "moved.kgen"
    with zipfile.ZipFile(stored) as old:
        moved.write_bytes(zipped({name: old.read(name) for name in old.namelist()}))
    for bundle in (stored, moved, f"memory:{moved}"):
        sanitized.done(bundle, "run", kernel.key, *files_of(kernel.entry, inputs, tmp_path))
        check_files(kernel.entry, tmp_path, wanted)


# -- Threads


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return kernels of dozens of tasks, and one of two launches with a workspace."""
    specs: list[Any] = [
        kgen.Matmul(m=384, n=320, k=64, dtype="f32"),
        kgen.Matmul(m=24, n=32, k=40, batch=100, dtype="f32"),
        kgen.Rowwise(expression="softmax(x)", shapes=((600, 500),), dtype="f32"),
    ]
    split = kgen.Matmul(m=5, n=40, k=2000, dtype="f32")
    made = [pipeline.kernel(spec, targets.find("native")) for spec in specs]
    made.append(pipeline.kernel(split, targets.find("native"), SPLIT.override(split_k=25)))
    path = tmp_path_factory.mktemp("many") / "many.kgen"
    pack(made).save(path)
    return path


@pytest.mark.parametrize("start", ["matmul_384", "matmul_24", "softmax", "matmul_5x40"])
def test_threads(plain: Driver, raced: Driver, many: Path, start: str, tmp_path: Path) -> None:
    """Several callers at once, with and without workers, get the results of one thread."""
    with kgen_runtime.load(many, device="cpu", num_threads=1) as kernels:
        kernel = find(kernels, start)
        assert max(launch.grid[0] for launch in kernel.entry.launches) > (
            24 if "24" in start else 1
        )
        inputs = inputs_of(kernel)
        wanted = expected(kernel, inputs)
    files = files_of(kernel.entry, inputs, tmp_path)
    for driver, threads, callers, runs in ((plain, 3, 4, 150), (raced, 4, 3, 20)):
        files[-1].unlink(missing_ok=True)
        driver.done(many, "threads", kernel.key, callers, runs, *files, threads=threads)
        check_files(kernel.entry, tmp_path, wanted)


def test_a_child_after_fork(plain: Driver, many: Path, tmp_path: Path) -> None:
    """The child has none of its parent's workers, and ends without waiting for them."""
    with kgen_runtime.load(many, device="cpu", num_threads=1) as kernels:
        kernel = find(kernels, "softmax")
        inputs = inputs_of(kernel)
        wanted = expected(kernel, inputs)
    files = files_of(kernel.entry, inputs, tmp_path)
    plain.done(many, "fork", kernel.key, *files, threads=4)
    check_files(kernel.entry, tmp_path, wanted)


# -- Arguments that do not fit


def test_wrong_arguments(sanitized: Driver, path: Path, tmp_path: Path) -> None:
    key = "matmul_33x40x50_f32_nn_bias_relu"
    sizes = {"a": 33 * 50 * 4, "b": 50 * 40 * 4, "bias": 160}
    files = {name: write(tmp_path, name, bytes(size)) for name, size in sizes.items()}
    out = tmp_path / "out"
    assert (
        sanitized.refused(path, "run", key, files["a"], files["b"], files["bias"])
        == f"1: {key}: takes 4 arguments, got 3"
    )
    short = write(tmp_path, "short", bytes(159))
    assert (
        sanitized.refused(path, "call", key, files["a"], files["b"], short, out)
        == f"1: {key}: bias has 159 bytes; expected 160"
    )
    assert sanitized.refused(path, "run", "conjure").startswith(
        "no kernel 'conjure' runs here: the bundle has no kernel of this key"
    )
    assert (
        sanitized.refused(path, "list", threads=5000)
        == "1: num_threads=5000 is out of range; give 1 to 1024, or 0 for all CPUs of this process"
    )


def test_misuse(folder: Path, path: Path) -> None:
    """A C program makes the mistakes that a caller can make."""
    run([str(compiled(folder, "misuse", SANITIZED)), str(path)])


def test_attention_refuses_lengths_and_pages_out_of_range(
    sanitized: Driver, tmp_path: Path
) -> None:
    """Each way of calling checks lengths, and page numbers of valid keys only."""
    spec = kgen.Attention(q=(2, 1, 3, 8), k=(2, 1, 12, 8), page_size=4, pages=5, dtype="f32")
    path = pack([pipeline.kernel(spec, targets.find("x86-64-v3"))]).save(tmp_path / "paged.kgen")
    with kgen_runtime.load(path, device="cpu", num_threads=1) as kernels:
        kernel = find(kernels, "attention")
        inputs = inputs_of(kernel)
        entry = kernel.entry
        lengths, table = np.array([5, 12], np.int32), np.array([[0, 4, 5], [1, 2, 3]], np.int32)
        wanted = kernel(*inputs[:3], lengths, table)
    start = f"1: {entry.key}: "
    cases = [
        (13, 4, f"{start}kv_length[1]=13 exceeds the 12 keys of k and v; give 0 to 12, or build"),
        (
            12,
            5,
            f"{start}page_table[0, 1]=5 is no page of k and v; give 0 to 4 for the keys before",
        ),
        (12, -1, f"{start}page_table[0, 1]=-1 is no page of k and v; give 0 to 4 for the keys"),
    ]
    for how in ("run", "pointers", "call"):
        lengths[1], table[0, 1] = 12, 4
        files = call_files(entry, [*inputs[:3], lengths, table], tmp_path)
        sanitized.done(path, how, entry.key, *files)
        check_files(entry, tmp_path, (wanted,))
        for length, page, message in cases:
            lengths[1], table[0, 1] = length, page
            files = call_files(entry, [*inputs[:3], lengths, table], tmp_path)
            assert sanitized.refused(path, how, entry.key, *files).startswith(message)
