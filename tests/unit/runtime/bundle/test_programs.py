"""Programs: written, read back, refused if wrong, and run on available devices."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import kgen
import kgen_runtime
from kgen import bundle, pipeline, targets
from kgen.errors import BundleError, IntegrityError
from kgen.merge import merge
from kgen_runtime.bundle import BundleFile
from kgen_runtime.errors import ArgumentError, DeviceError, DeviceMismatchError
from kgen_runtime.schema.manifest_json import to_json
from kgen_runtime.schema.program import PAGE
from tests import onnx_models
from tests.manifests import from_json
from tests.programs import ROWS, WIDE, answer, mlp, mlp_bundle, parameters
from tests.unit.runtime.bundle.zips import archive

pytestmark = pytest.mark.integration

X = np.random.default_rng(7).standard_normal((ROWS, WIDE)).astype("f")


@pytest.fixture(scope="module")
def made() -> kgen.Bundle:
    return mlp_bundle("native", "vulkan1.1", "sm_80")


@pytest.fixture(scope="module")
def path(made: kgen.Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.save(tmp_path_factory.mktemp("programs") / "mlp.kgen")


@pytest.fixture
def program(path: Path) -> Iterator[Any]:
    with kgen_runtime.load(path, device="cpu", num_threads=2) as kernels:
        yield kernels.program


def close(out: npt.NDArray[Any]) -> None:
    np.testing.assert_allclose(out, answer(X, parameters()), rtol=2e-5, atol=2e-5)


def test_what_is_written_is_read(made: kgen.Bundle, path: Path) -> None:
    with BundleFile(path) as read:
        assert read.manifest.programs == made.manifest.programs
        for weight in read.manifest.programs[0].weights:
            data = read.weight(weight)
            assert data.ctypes.data % PAGE == 0 and not data.flags.writeable
            assert data.tobytes() == made.weights[weight.file].tobytes()
            read.weight(weight, check=True)
    (steps,) = {tuple(step.after for step in p.steps) for p in made.manifest.programs}
    assert steps == ((), (0,), (1,))


def test_a_program_is_not_pickled(program: Any) -> None:
    for found in (program, program.run, program.prepare(x=X)):
        with pytest.raises(ArgumentError, match=r"cannot be pickled .* load the bundle in"):
            pickle.dumps(found)


def test_changed_and_missing_weights(path: Path, tmp_path: Path) -> None:
    """A changed byte is found if digests are checked; a missing file always."""
    with BundleFile(path) as read:
        weight = read.manifest.programs[0].weights[0]
        data = read.weight(weight).tobytes()
    changed = tmp_path / "changed.kgen"
    changed.write_bytes(path.read_bytes().replace(data, data[::-1]))
    kgen_runtime.load(changed, device="cpu").close()
    with pytest.raises(IntegrityError, match=rf"{weight.file} has sha256 .* the manifest says"):
        kgen_runtime.load(changed, device="cpu", verify="all")
    for files, message in (
        ({}, "is neither in the bundle nor beside it"),
        ({weight.file: b"1"}, "1 bytes"),
    ):
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "x.kgen", "w") as new:
            for name in old.namelist():
                if name != weight.file or files:
                    new.writestr(name, files.get(name, old.read(name)))
        with pytest.raises(IntegrityError, match=rf"{weight.file}.*{message}"):
            kgen_runtime.load(tmp_path / "x.kgen", device="cpu")
    with pytest.raises(ArgumentError, match="verify='some' is unknown; give 'code' or 'all'"):
        kgen_runtime.load(path, verify="some")  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["nbytes", "sha256"])
def test_weights_that_say_one_file(
    made: kgen.Bundle, path: Path, tmp_path: Path, field: str
) -> None:
    """Size and digest of each weight are checked, in any order."""
    data = json.loads(json.dumps(to_json(made.manifest)))
    for program in data["programs"]:
        one = next(w for w in program["weights"] if w["name"] == "gamma")
        other = next(w for w in program["weights"] if w["name"] == "beta")
        other |= {name: one[name] for name in ("file", "sha256", "nbytes")}
        other[field] = one[field] + 4 if field == "nbytes" else one[field][:16] + "0" * 48
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    (tmp_path / "x.kgen").write_bytes(archive(data, files))
    message = "has 96 bytes, the manifest says 100" if field == "nbytes" else "has sha256 .* says"
    with pytest.raises(IntegrityError, match=message):
        kgen_runtime.load(tmp_path / "x.kgen", device="cpu", verify="all")


def test_weights_beside_the_bundle(made: kgen.Bundle, tmp_path: Path) -> None:
    path = made.save(tmp_path / "x.kgen", external_weights=True)
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if name.startswith("weights")]
    assert len([*(tmp_path / "weights").iterdir()]) == len(made.weights)
    with kgen_runtime.load(path, device="cpu", verify="all") as kernels:
        close(kernels.program.run(x=X))
    with pytest.raises(IntegrityError, match="is neither in the bundle nor beside it"):
        kgen_runtime.load(path.read_bytes(), device="cpu")


def test_weights_that_an_interrupted_copy_leaves(made: kgen.Bundle, tmp_path: Path) -> None:
    path = made.save(tmp_path / "x.kgen", external_weights=True)
    for file in (tmp_path / "weights").iterdir():
        file.write_bytes(b"")
    with pytest.raises(IntegrityError, match="has 0 bytes, the manifest says"):
        kgen_runtime.load(path, device="cpu")


def test_weights_that_cannot_be_read(made: kgen.Bundle, tmp_path: Path) -> None:
    path = made.save(tmp_path / "x.kgen", external_weights=True)
    for file in (tmp_path / "weights").iterdir():
        file.unlink()
        file.mkdir()
    with pytest.raises(BundleError, match=r"weights/\w+\.bin: cannot read: Is a directory"):
        kgen_runtime.load(path, device="cpu")


RESIDENT = """
import sys, numpy as np, kgen_runtime
def resident():
    with open("/proc/self/status") as file:
        words = file.read().split()
    return [int(words[words.index(name) + 1]) >> 10 for name in ("RssAnon:", "RssFile:")]
kgen_runtime.load(sys.argv[1], device="cpu", num_threads=1).close()  # imports
before = resident()
kernels = kgen_runtime.load(sys.argv[1], device="cpu", num_threads=1)
call = kernels.program.prepare(x=np.ones((1, 1024), "f"))
call(); call()
print(*(b - a for a, b in zip(before, resident())))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize("beside", [False, True])
def test_weights_are_in_memory_once(tmp_path: Path, beside: bool) -> None:
    """Weights are pages of the file: 32 MiB of them add little to the process's own memory."""
    model = tmp_path / "m.onnx"
    model.write_bytes(onnx_models.mlp(1, 1024, 4096, 1024).SerializeToString())
    made = kgen.compile_model(model, ["native"]).bundle
    path = made.save(tmp_path / "m.kgen", external_weights=beside)
    done = subprocess.run(
        [sys.executable, "-c", RESIDENT, str(path)], capture_output=True, text=True, check=True
    )
    own, of_file = map(int, done.stdout.split())
    assert own < 4 and 32 <= of_file < 36, done.stdout


def test_from_bytes_and_other_archives(made: kgen.Bundle, path: Path, tmp_path: Path) -> None:
    """Weights that do not start at a page are copied."""
    with kgen_runtime.load(path.read_bytes(), device="cpu", verify="all") as kernels:
        close(kernels.program.run(x=X))
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "x.kgen", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with kgen_runtime.load(tmp_path / "x.kgen", device="cpu") as kernels:
        close(kernels.program.run(x=X))


def test_merging(tmp_path: Path) -> None:
    paths = [mlp_bundle(n).save(tmp_path / f"{n}.kgen") for n in ("native", "vulkan1.1")]
    merged = merge([*paths, paths[0]])
    assert [p.target for p in merged.manifest.programs] == ["native", "vulkan1.1"]
    with kgen_runtime.load(merged.save(tmp_path / "both.kgen"), device="cpu") as kernels:
        close(kernels.program.run(x=X))
    program, kernels_, files = mlp("native")
    other = dataclasses.replace(program, arena_bytes=2**20)
    bundle.pack(kernels_, programs=[other], weights=files).save(tmp_path / "other.kgen")
    with pytest.raises(BundleError, match=r"other.kgen: native/main is not the program of that"):
        merge([paths[0], tmp_path / "other.kgen"])


def test_version_1_is_read(path: Path) -> None:
    with BundleFile(path) as read:
        data = json.loads(json.dumps(to_json(read.manifest)))
    del data["programs"]
    assert from_json(data | {"schema_version": 1}).kernels == from_json(data).kernels
    with pytest.raises(BundleError, match="unknown field 'programs' of schema 1"):
        from_json(data | {"schema_version": 1, "programs": []})


def test_one_file_for_weights_of_several_targets(made: kgen.Bundle) -> None:
    """Biases are equal for all targets, packed matrices are not."""
    files = [[w.file for w in p.weights] for p in made.manifest.programs]
    assert (
        len(made.weights) == len({f for several in files for f in several}) < sum(map(len, files))
    )


@pytest.mark.parametrize("device", ["cpu", "reference", "vulkan"])
def test_it_runs(path: Path, device: str) -> None:
    try:
        kernels = kgen_runtime.load(path, device=device)
    except DeviceError:
        pytest.skip(f"no {device} here")
    with kernels:
        close(kernels.program.run(x=X))
        close(kernels.program.run({"x": X}))
        assert kernels.program.entry.target in ("native", "vulkan1.1")


def test_prepared_calls(program: Any) -> None:
    x = X.copy()
    call, other = program.prepare(x=x), program.prepare(x=-X)
    close(call())
    x[:] = 0
    zero = call().copy()
    x[:] = X
    other()
    assert call() is call.out
    close(call.out)
    np.testing.assert_allclose(zero, answer(0 * X, parameters()), rtol=2e-5, atol=2e-5)


def test_outputs_have_memory_of_their_own(program: Any) -> None:
    """A step may read an input after another one has written the output."""
    memory = np.zeros((2 * ROWS, WIDE), "f")
    x, out = memory[:ROWS], memory[ROWS:]
    for overlapping in (x, memory[1 : ROWS + 1]):
        with pytest.raises(
            ArgumentError, match="main: out overlaps x in memory; pass separate memory"
        ):
            program.prepare(x=x, out=overlapping)
    x[:] = X
    close(program.prepare(x=x, out=out)())


def test_outputs_do_not_overlap_each_other(tmp_path: Path) -> None:
    m = onnx_models.Maker()
    x = m.input("x", (3, 5))
    outputs = m.add("Exp", x), m.add("Tanh", x)
    model = tmp_path / "two.onnx"
    model.write_bytes(m.model(*outputs).SerializeToString())
    path = kgen.compile_model(model, ["native"]).bundle.save(tmp_path / "two.kgen")
    with kgen_runtime.load(path, device="cpu") as kernels:
        first, second = kernels.program.output_names
        out = np.zeros((3, 5), "f")
        with pytest.raises(ArgumentError, match=f"main: {second} overlaps {first}"):
            kernels.program.prepare(x=out + 1, out={first: out, second: out})


def test_arguments_are_kept_alive(program: Any) -> None:
    call = program.prepare(x=X.copy())
    for _ in range(100):
        np.empty(X.shape, "f").fill(np.nan)
    close(call())


def test_nothing_of_the_run_before_is_seen(program: Any) -> None:
    bad = X.copy()
    bad[0, 0] = np.nan
    assert np.isnan(program.run(x=bad)[0]).all()
    close(program.run(x=X))


def test_threads_run_at_once(program: Any) -> None:
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal(X.shape).astype("f")
        for _ in range(20):
            if not np.allclose(program.run(x=x), answer(x, parameters()), atol=1e-4):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_runs_what_its_parent_was_running(path: Path) -> None:
    """The parent's thread that holds the lock or the session does not exist in the child."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


#: Children run it while another thread of the parent has the turn; one that hangs is killed.
FORKED = """
import os, signal, sys, threading
import numpy as np, kgen_runtime
program = kgen_runtime.load(sys.argv[1], device="cpu", num_threads=2).program
x = np.ones((5, 24), "f")
expected = program.run(x=x)
held, ended = threading.Event(), threading.Event()
def hold():
    with program._turn.lock:
        session = program._idle.pop()
        held.set()
        ended.wait()
        program._idle.append(session)
holder = threading.Thread(target=hold)
holder.start()
held.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    program.reset()
    os._exit(0 if np.array_equal(program.run(x=x), expected) else 1)
status = os.waitpid(pid, 0)[1]
ended.set()
holder.join()
assert np.array_equal(program.run(x=x), expected)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_arguments_that_do_not_fit(program: Any) -> None:
    for given, message in (
        ({}, "main: missing: x; it takes x"),
        ({"x": X, "y": X}, "main: no argument is called y; it takes x"),
        ({"x": X[:2]}, "main: x has shape 2x24; expected 5x24"),
        ({"x": X.astype("f8")}, "main: x is f64; expected f32; convert it first"),
        ({"x": [1, 2]}, "main: x has shape 2; expected 5x24"),
        ({"x": "12"}, "main: x: str is neither a numpy nor a DLPack array"),
    ):
        with pytest.raises(ArgumentError, match=f"^{message}"):
            program.run(**given)
    with pytest.raises(ArgumentError, match="pass arrays by name, such as x="):
        program.run(X)
    with pytest.raises(ArgumentError, match="main: x is given both in the mapping and by name"):
        program.run({"x": X}, x=X)
    with pytest.raises(
        ArgumentError, match="main: out has 'z', which is not an output; outputs are out"
    ):
        program.prepare(x=X, out={"z": X, 1: X})
    with pytest.raises(ArgumentError, match="main: x has element strides"):
        program.prepare(x=np.zeros((WIDE, ROWS), "f").T)
    close(program.run(x=np.asfortranarray(X)))


def test_host_arrays_on_a_device(path: Path) -> None:
    with kgen_runtime.load(path, device="reference") as kernels:
        with pytest.raises(DeviceMismatchError, match=r"main: x is on the host"):
            kernels.program.prepare(x=X)
        call = kernels.program.prepare(x=kernels.to_device(X))
        close(call().numpy())


def test_after_close(path: Path) -> None:
    kernels = kgen_runtime.load(path, device="cpu")
    program, call = kernels.program, kernels.program.prepare(x=X)
    kernels.close()
    kernels.close()
    for run in (call, lambda: program.run(x=X), lambda: program.prepare(x=X)):
        with pytest.raises(DeviceError, match="main: the bundle was closed; load it again"):
            run()


def test_profile(program: Any) -> None:
    times = program.profile(x=X)
    assert [t.nodes for t in times] == [("MatMul_0", "Gelu_1"), ("MatMul_2",), ("LayerNorm_3",)]
    assert all(0 < t.seconds < 1 for t in times)


def test_choosing(path: Path) -> None:
    with kgen_runtime.load(path, device="cpu") as kernels:
        assert "sm_80/main" in kernels.skipped
        with pytest.raises(ArgumentError, match=r"cpu:0; sm_80/main is not used: sm_80"):
            _ = kernels.programs["sm_80/main"]
    with kgen_runtime.load(path) as kernels:
        assert kernels.device.backend == "cpu" and kernels.program
    plain = bundle.pack([pipeline.kernel(kgen.Matmul(m=2, n=2, k=2), targets.find("native"))])
    lone = plain.save(path.parent / "plain.kgen")
    with (
        kgen_runtime.load(lone, device="cpu") as kernels,
        pytest.raises(
            ArgumentError,
            match=r"the bundle has no program; make one with kgen compile MODEL\.onnx",
        ),
    ):
        _ = kernels.program
    two = mlp_bundle("native", programs=("one", "two"))
    with kgen_runtime.load(two.save(path.parent / "two.kgen"), device="cpu") as kernels:
        with pytest.raises(ArgumentError, match=r"several programs; choose one as .*: one, two"):
            _ = kernels.program
        close(kernels.programs["two"].run(x=X))
        with pytest.raises(
            ArgumentError, match=r"^no program three on cpu:0; programs here are one, two$"
        ):
            _ = kernels.programs["three"]
