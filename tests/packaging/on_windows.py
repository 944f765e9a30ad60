"""Checks that test_windows_python.py runs on Python for Windows: python on_windows.py CHECK...

It needs numpy and kgen_runtime alone, and bundles in the working folder. Each check that holds
prints its name.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import kgen_runtime
from kgen_runtime import libkgen
from kgen_runtime.bundle import BundleFile
from kgen_runtime.errors import KgenError

ONES = np.ones((2, 4), "f")
IDS = np.array([[2, 7, 1, 8, 2, 8, 1]], np.int64)
ENCODER = {"input_ids": IDS, "attention_mask": np.ones_like(IDS), "token_type_ids": 0 * IDS}
A, B = (
    np.random.default_rng(0).standard_normal(shape).astype("f") for shape in ((96, 64), (64, 80))
)
PRODUCT = A @ B


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def message(call: Callable[[], object], kind: type[Exception] = KgenError) -> str:
    """Return the line of the error that a call must raise."""
    try:
        call()
    except kind as error:
        text = str(error)
        assert "\n" not in text and len(text) <= 500, text
        return text
    raise AssertionError("no error")


def load(path: Any = "matmul.kgen", **options: Any) -> Any:
    return kgen_runtime.load(path, device="cpu", **options)


def the_package() -> None:
    assert sys.platform == "win32" and libkgen.FILE_NAME == "kgen.dll"
    assert "cpu:0" in [device.id for device in kgen_runtime.devices()]


def a_kernel() -> None:
    with load() as kernels:
        close(kernels.matmul(A, B), PRODUCT)
        out = np.empty_like(PRODUCT)
        assert kernels.matmul(A, B, out=out) is out
        close(out, PRODUCT)
        out[:] = 0
        call = kernels.matmul.prepare(A, B, out=out)
        assert call() is out
        close(out, PRODUCT)
        close(kernels.matmul(A[::-1], B), PRODUCT[::-1])
    assert "closed" in message(lambda: kernels.matmul(A, B))


def a_packed_matrix() -> None:
    """Run a kernel with a prepacked B, and one with a stored B."""
    with load("packed.kgen") as kernels:
        close(kernels.matmul(A, kernels.matmul.pack(B)), PRODUCT)
    with load("stored.kgen") as kernels:
        close(kernels.matmul(A), PRODUCT)


def a_program() -> None:
    """Run and profile a model with mapped weights."""
    with load("encoder.kgen") as kernels:
        hidden = kernels.program.run(ENCODER)
        assert [f"{x:.3f}" for x in hidden[0, 0, :3]] == ["-0.382", "0.312", "-0.569"]
        steps = kernels.program.profile(ENCODER)
        assert steps and all(step.seconds >= 0 for step in steps)


def a_session() -> None:
    """States of two sessions are independent."""
    with load("total.kgen") as kernels:
        one, other = kernels.program.session(), kernels.program.session()
        assert [one.run(x=ONES)[1, 3] for _ in range(3)] == [1, 2, 3]
        assert other.run(x=ONES)[1, 3] == 1
        one.set_states(past=10 * ONES)
        assert one.run(x=ONES)[0, 0] == 11 and one.get_state("past")[0, 0] == 11
        one.reset()
        assert one.run(x=ONES)[0, 0] == 1


def threads() -> None:
    """Several threads call one kernel with workers, and get the results of one thread."""
    with load(num_threads=1) as kernels:
        expected = kernels.matmul(A, B).tobytes()
    with load(num_threads=3) as kernels:
        found: list[bytes] = []

        def body() -> None:
            for _ in range(30):
                found.append(kernels.matmul(A, B).tobytes())

        started = [threading.Thread(target=body) for _ in range(3)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    assert found == [expected] * 90


def the_number_of_threads() -> None:
    for count in (1, 2, 1024):
        with load(num_threads=count) as kernels:
            close(kernels.matmul(A, B), PRODUCT)
    for count in (0, -1, 1025):
        assert "num_threads" in message(lambda count=count: load(num_threads=count))  # type: ignore[misc]


def errors() -> None:
    """Files that are missing, damaged, cut, empty or folders, and wrong arguments, raise errors."""
    assert "missing.kgen" in message(lambda: load("missing.kgen"))
    assert "folder" in message(lambda: load("C:\\folder\\missing.kgen"))
    data = Path("matmul.kgen").read_bytes()
    name = data.index(b".so")
    for number, spoilt in enumerate((data[:-9], data[:5], b"", bytes(900), b"MZ" + data[2:])):
        Path(f"damaged-{number}.kgen").write_bytes(spoilt)
        assert f"damaged-{number}.kgen" in message(lambda n=number: load(f"damaged-{n}.kgen"))  # type: ignore[misc]
    flipped = bytearray(data)
    flipped[name + 200] ^= 1
    Path("flipped.kgen").write_bytes(flipped)
    assert "flipped.kgen" in message(lambda: load("flipped.kgen"))
    Path("folder").mkdir()
    assert "folder" in message(lambda: load("folder"))
    assert "NUL" in message(lambda: load("NUL"))
    with load() as kernels:
        assert "matmul" in message(lambda: kernels.matmul(A[1:], B))


def names_of_files() -> None:
    """Paths may have non-ASCII letters, blanks, both separators, and be absolute, bytes, or an
    open file."""
    folder = Path("Größe Δ 模型 🙂")
    folder.mkdir()
    data = Path("matmul.kgen").read_bytes()
    path = folder / "naïve çà.kgen"
    path.write_bytes(data)
    for given in (path, str(path), str(path).replace("\\", "/"), path.absolute(), data):
        with load(given) as kernels:
            close(kernels.matmul(A, B), PRODUCT)
    with path.open("rb") as file, load(file) as kernels:
        close(kernels.matmul(A, B), PRODUCT)
    assert "模型" in message(lambda: load(folder / "none.kgen"))


def weights_beside_the_bundle() -> None:
    with load(Path("beside") / "mlp.kgen") as kernels:
        found = kernels.program.run(x=np.load("x.npy"))
        close(found, np.load("mlp.npy"))


def a_file_that_goes() -> None:
    """A bundle in use that may be removed computes the same; after closing it can be replaced."""
    data = Path("encoder.kgen").read_bytes()
    path = Path("going.kgen")
    path.write_bytes(data)
    with load(path) as kernels:
        with suppress(PermissionError):
            path.unlink()
        first = kernels.program.run(ENCODER)
        assert (kernels.program.run(ENCODER) == first).all()
    path.write_bytes(data)
    with load(path, map=False) as kernels:
        path.write_bytes(b"replaced")
        path.unlink()
        assert (kernels.program.run(ENCODER) == first).all()


def hidden_features() -> None:
    """libkgen reads the environment that Python changed before the first load."""
    os.environ["KGEN_DISABLE_CPU_FEATURES"] = "avx2"
    assert "avx2" in message(load)


def verdict(data: bytes) -> str:
    """Return class and message of the reader's error; "" if it accepts a bundle."""
    try:
        BundleFile(data).close()
    except KgenError as error:
        return f"{type(error).__name__} {error}"
    return ""


def verdicts() -> None:
    """Write the verdict on each bundle of the file `pack`, one per line."""
    data = Path("pack").read_bytes()
    at, found = 0, []
    while at < len(data):
        nbytes = int.from_bytes(data[at : at + 8], "little")
        at += 8 + nbytes
        found.append(verdict(data[at - nbytes : at]) + "\n")
    Path("verdicts").write_bytes("".join(found).encode())


CHECKS = (
    the_package, a_kernel, a_packed_matrix, a_program, a_session, threads, the_number_of_threads,
    errors, names_of_files, weights_beside_the_bundle, a_file_that_goes,
)  # fmt: skip

if __name__ == "__main__":
    for check in (*CHECKS, hidden_features, verdicts):
        if check.__name__ in sys.argv[1:]:
            check()
            print(check.__name__, flush=True)
