"""Manifests that were edited consistently: each is refused in one line, or harmless. Accepted
ones are loaded and called; a wrong result or a crash fails the test."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import pipeline, targets
from kgen.cli.main import main
from kgen.errors import BundleError, KgenError
from kgen.spec import Spec
from kgen_runtime.bundle import MANIFEST, BundleFile
from kgen_runtime.manifest import (
    ArtifactEntry,
    KernelEntry,
    Manifest,
    Resources,
    TargetEntry,
    Tolerance,
)
from kgen_runtime.schema import manifest_json
from kgen_runtime.schema.spec_tensors import check_spec, tensors
from tests.manifests import from_json
from tests.specs import relu_of, softmax_of
from tests.unit.runtime.bundle.lies import lies, use_each
from tests.unit.runtime.bundle.zips import archive, zipped

MATMUL = kgen.Matmul(m=5, n=24, k=16, dtype="f32", epilogue=("bias", "relu"), batch=2)
PACKED = kgen.Matmul(m=3, n=24, k=16, dtype="f32", constant=("b",))
RELU = relu_of((40, 3), dtype="f32")
ADD = kgen.Elementwise(expression="x + y * 2", shapes=((40, 3), (3,)), dtype="f32")
rng = np.random.default_rng(0)
A, B, BIAS = (
    rng.standard_normal((2, 5, 16), "f"),
    rng.standard_normal((2, 16, 24), "f"),
    np.ones(24, "f"),
)
X = rng.standard_normal((40, 3), "f")
#: By the name of a kernel's code: arguments and result.
CALLS = {
    MATMUL.key: ((A, B, BIAS), np.maximum(A @ B + BIAS, 0)),
    PACKED.key: ((A[0, :3],), A[0, :3] @ B[0]),
    RELU.key: ((X,), np.maximum(X, 0)),
    ADD.key: ((X, X[0]), X + X[0] * 2),
}


@pytest.fixture(scope="module")
def bundle() -> kgen.Bundle:
    return kgen.build([MATMUL, PACKED, RELU, ADD], ["native"], constants={"b": B[0]})


def data_of(bundle: kgen.Bundle) -> Any:
    return json.loads(json.dumps(manifest_json.to_json(bundle.manifest)))


def accepted(data: Any) -> bool:
    """Whether the reader accepts a manifest, and its specs fit; an error that is not kgen's
    fails the test."""
    try:
        for kernel in from_json(data).kernels:
            check_spec(kernel)
    except BundleError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000
        return False
    return True


#: Every kernel called: a wrong result or a crash counts.
CALL = """
with kgen_runtime.load(bundle, device="cpu", num_threads=1) as kernels:
    for kernel in kernels.values():
        arguments, wanted = data[kernel.entry.launches[0].entry_point]
        given = kernel(*arguments)
        np.testing.assert_allclose(given, wanted, 1e-5, 1e-5, err_msg=what)
        assert given.shape == wanted.shape
if ".spec." in what:  # which the reference goes by, whatever it then computes
    with kgen_runtime.load(bundle, device="reference") as kernels:
        for kernel in kernels.values():
            kernel(*map(kernels.to_device, data[kernel.entry.launches[0].entry_point][0]))
"""


def is_trusted(what: str) -> bool:
    """Whether a change is of the number of tasks, which only the code knows unless a tile states
    it: docs/reference/bundle-format.md, "Trust"."""
    return ".grid" in what


@pytest.mark.integration
def test_every_field(bundle: kgen.Bundle, tmp_path: Path) -> None:
    whole = data_of(bundle)
    tried, taken = 0, []
    for number in range(len(whole["kernels"])):
        one = whole | {"kernels": [whole["kernels"][number]]}
        for what, manifest in lies(one):
            tried += 1
            told = any(f".{part}." in what for part in ("schedule", "resources", "tolerance"))
            # What people read changes nothing that runs: an eighth of it is enough.
            if accepted(manifest) and not is_trusted(what) and not (told and tried % 8):
                taken.append((what, manifest))
    assert tried > 5000 and 300 < len(taken) < tried / 8
    use_each(CALL, bundle.files, taken, tmp_path, CALLS)


def entries(spec: Spec, name: str, format: str) -> KernelEntry:
    """Return a planned kernel with code that nobody runs."""
    target = targets.find(name)
    plan = pipeline.plan(spec, target)
    code = ArtifactEntry(
        file="x", format=format, role="machine-code", sha256="", nbytes=1, requires={"api": "1.1"}
    )
    return KernelEntry(
        key=spec.key,
        op=spec.op,
        spec=spec.to_json(),
        target=TargetEntry(name=name, family=target.family, arch=target.arch),
        schedule=plan.schedule.to_json(),
        parameters=plan.parameters,
        workspaces=plan.workspaces,
        tensor_maps=plan.tensor_maps,
        launches=plan.launches,
        artifacts=(code,),
        resources=Resources(registers=3),
        tolerance=Tolerance(accumulate=kgen.DType.F32, factor=1.0, reason="a test"),
    )


@pytest.mark.parametrize(
    ("target", "format", "size"),
    [
        ("sm_90a", "cubin", (2048, 2048, 512)),
        ("sm_80", "cubin", (64, 64, 16384)),
        ("gfx942", "hsaco", (64, 64, 64)),
        ("vulkan1.1", "spirv", (64, 64, 64)),
    ],
)
def test_every_field_of_gpus(target: str, format: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    kernel = entries(kgen.Matmul(m=m, n=n, k=k, dtype="f16"), target, format)
    data = json.loads(json.dumps(manifest_json.to_json(Manifest(kernels=(kernel,)))))
    assert accepted(data)
    results = [accepted(manifest) for _, manifest in lies(data)]
    assert len(results) > 1000 and sum(results) < len(results) / 3


def kernel_of(data: Any, begin: str) -> Any:
    return next(k for k in data["kernels"] if k["key"].startswith(begin))


def fewer_arguments(data: Any) -> None:
    kernel_of(data, "matmul_5")["launches"][0]["arguments"].remove("bias")


def extra_argument(data: Any) -> None:
    kernel_of(data, "relu")["launches"][0]["arguments"].append("out")


def swapped_arguments(data: Any) -> None:
    arguments = kernel_of(data, "matmul_5")["launches"][0]["arguments"]
    arguments[0], arguments[1] = arguments[1], arguments[0]


def extra_parameter(data: Any) -> None:
    kernel = kernel_of(data, "relu")
    kernel["parameters"].insert(0, kernel["parameters"][0] | {"name": "y"})
    kernel["launches"][0]["arguments"].insert(0, "y")


def smaller_out(data: Any) -> None:
    kernel_of(data, "relu")["parameters"][1] |= {"shape": [2, 3]}


def smaller_type(data: Any) -> None:
    kernel_of(data, "relu")["parameters"][1]["dtype"] = "f16"


def overlapping_out(data: Any) -> None:
    kernel_of(data, "matmul_5")["parameters"][-1]["strides"] = [24, 24, 1]


def odd_strides(data: Any) -> None:
    kernel_of(data, "matmul_5")["parameters"][-1]["strides"] = [2**61, 2**60, 1]


def grid(*extents: int) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        kernel_of(data, "matmul_5")["launches"][0]["grid"] = [*extents]

    change.__name__ = f"grid {extents}"
    return change


def more_workspace(data: Any) -> None:
    kernel = kernel_of(data, "relu")
    kernel["workspaces"] = [{"name": "w", "nbytes": 2**62, "initial": "zero"}]
    kernel["launches"][0]["arguments"].append("w")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (fewer_arguments, "no launch uses bias"),
        (extra_argument, "a launch takes out twice"),
        (swapped_arguments, "argument a of a launch is in the wrong order"),
        (smaller_out, "its tile does not fit its output"),
        (overlapping_out, "elements of out overlap, or are packed"),
        (odd_strides, "out spans more than 9223372036854775807 bytes, the limit"),
        (grid(0, 1, 1), r"grid=\(0, 1, 1\) is empty; each number must be 1 or more"),
        (grid(-1, 1, 1), r"grid=\(-1, 1, 1\) is empty; each number must be 1 or more"),
        (grid(2**40, 1, 1), r"grid=\(1099511627776, 1, 1\) has more tasks than the 960 bytes they"),
        (grid(1, 2, 1), "2 workgroups along y of the grid; the CPU allows 1"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_crashed(
    bundle: kgen.Bundle, change: Callable[[Any], None], message: str, tmp_path: Path
) -> None:
    data = data_of(bundle)
    change(data)
    with pytest.raises(BundleError, match=rf"native/\w+: {message}.*; build the bundle again$"):
        kgen_runtime.load(archive(data, bundle.files), device="cpu")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (extra_parameter, "its spec requires the tensors x, out"),
        (smaller_type, r"its spec requires output out \[40, 3\] f32 .*, not .* f16 with"),
    ],
)
def test_a_spec_that_contradicts_its_kernel(
    bundle: kgen.Bundle,
    change: Callable[[Any], None],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kernels run by the manifest alone; the reference and commands read specs."""
    data = data_of(bundle)
    change(data)
    held = archive(data, bundle.files)
    with pytest.raises(BundleError, match=rf"native/\w+: {message}.*; build the bundle again$"):
        kgen_runtime.load(held, device="reference")
    path = tmp_path / "x.kgen"
    path.write_bytes(held)
    for command in ("inspect", "check", "verify"):
        assert main([command, str(path)]) == 2
        assert "its spec requires" in capsys.readouterr().err


@pytest.mark.integration
def test_memory_that_is_not_there(bundle: kgen.Bundle) -> None:
    data = data_of(bundle)
    more_workspace(data)
    kernels = kgen_runtime.load(archive(data, bundle.files), device="cpu")
    with pytest.raises(KgenError, match=r"cannot allocate \d+ bytes; free arrays or use"):
        kernels.relu(X)


@pytest.mark.integration
def test_swapped_code(bundle: kgen.Bundle) -> None:
    """Code of another kernel with a right digest, and bytes of any length that are not code."""
    data = data_of(bundle)
    one, other = (
        kernel_of(data, "relu")["artifacts"][0],
        kernel_of(data, "matmul_5")["artifacts"][0],
    )
    for field in ("file", "sha256", "nbytes"):
        one[field], other[field] = other[field], one[field]
    with pytest.raises(
        KgenError, match="its code has no function matmul_5x24x16_f32_nn_b2_bias_relu"
    ):
        kgen_runtime.load(archive(data, bundle.files), device="cpu")
    original = bundle.files[other["file"]]
    for code in (
        b"",
        b"\0" * 5000,
        original[:-1500],
        original[:300],
        b"\x7fELF" + bytes(range(256)),
    ):
        data = data_of(bundle)
        artifact = kernel_of(data, "relu")["artifacts"][0]
        artifact |= {"sha256": hashlib.sha256(code).hexdigest(), "nbytes": len(code)}
        files = dict(bundle.files) | {artifact["file"]: code}
        with pytest.raises(KgenError, match=r"its code cannot be mapped: .*; build it again$"):
            kgen_runtime.load(archive(data, files), device="cpu")


@pytest.mark.integration
@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_deep_json(bundle: kgen.Bundle, depth: int) -> None:
    text = json.dumps(data_of(bundle)).replace('"schedule": {', '"schedule": {"deep": @, ', 1)
    deep = text.replace("@", "[" * depth + "]" * depth)
    for manifest in (deep, "[" * depth + "]" * depth):
        with pytest.raises(BundleError, match="more than 32 levels of lists and objects"):
            kgen_runtime.load(archive(manifest, bundle.files))


@pytest.mark.integration
def test_compressed_files_are_refused_unread(bundle: kgen.Bundle) -> None:
    """Stored files are never larger than the archive, unlike compressed ones."""
    bomb = archive(" " * 10**7 + "{}", bundle.files, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10**6
    with pytest.raises(BundleError, match=r"not a kgen bundle.*'manifest.json' is compressed"):
        kgen_runtime.load(bomb)
    twice = io.BytesIO(archive(data_of(bundle), bundle.files))
    with zipfile.ZipFile(twice, "a") as more, pytest.warns(UserWarning, match="Duplicate name"):
        more.writestr(MANIFEST, "{}")
    with pytest.raises(BundleError, match=r"not a kgen bundle.*'manifest.json' occurs twice"):
        kgen_runtime.load(twice)


@pytest.mark.integration
def test_entries_that_share_bytes_are_refused(bundle: kgen.Bundle) -> None:
    """Entries that point at one large file would together exceed the archive."""
    data = bytearray(archive(data_of(bundle), bundle.files))
    first = data.index(b"PK\1\2")
    second = data.index(b"PK\1\2", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    with pytest.raises(BundleError, match=r"does not start where the file before it ends"):
        kgen_runtime.load(bytes(data))


@pytest.mark.integration
def test_files_that_the_manifest_does_not_name_are_refused(bundle: kgen.Bundle) -> None:
    text = json.dumps(data_of(bundle))
    files = {MANIFEST: text.encode(), **bundle.files}
    kgen_runtime.load(zipped(files), device="cpu").close()
    with pytest.raises(BundleError, match=r"'native/more\.so' is not in the manifest"):
        kgen_runtime.load(zipped(files | {"native/more.so": b"x"}), device="cpu")


@pytest.mark.integration
def test_names_of_operations(bundle: kgen.Bundle) -> None:
    """An operation's name hides no method; commands that need its meaning refuse an unknown one."""
    for op, message in {
        "close": "op=close is reserved and cannot name an operation",
        "_x": "is not a valid name",
    }.items():
        data = data_of(bundle)
        for kernel in data["kernels"]:
            kernel["op"] = kernel["spec"]["op"] = op
        with pytest.raises(BundleError, match=message):
            kgen_runtime.load(archive(data, bundle.files), device="cpu")


@pytest.mark.integration
@pytest.mark.parametrize("command", ["verify", "inspect", "check", "bench"])
def test_commands_refuse_an_unknown_operation(
    bundle: kgen.Bundle, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_of(bundle)
    kernel = kernel_of(data, "relu")
    kernel["op"] = kernel["spec"]["op"] = "conjure"
    data["kernels"] = [kernel]
    path = tmp_path / "x.kgen"
    path.write_bytes(archive(data, bundle.files))
    status = main([command, str(path)])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    if command in ("verify", "bench"):
        assert (
            status == 2
            and "op=conjure is unknown; known are matmul, conv2d, attention, functions" in err
        )


def test_the_runtime_and_kgen_mean_the_same_tensors() -> None:
    options: list[dict[str, Any]] = [
        {},
        {"layout": "tn", "lda": 9, "ldb": 40, "ldc": 41},
        {"layout": "nt", "batch": 3, "batch_stride_b": 0, "ldc": 40, "beta": 0.5},
        {"layout": "tt", "batch": 2, "epilogue": ("residual", "bias", "gelu"), "alpha": 3},
        {"dtype": "s8", "out_dtype": "s8", "scales": ("a", "b", "out"), "epilogue": ("bias",)},
        {"dtype": "s8"},
        {"dtype": "e4m3", "scales": ("b",), "out_dtype": "f16", "epilogue": ("bias", "residual")},
        {"dtype": "f64"},
    ]
    specs: list[Spec] = [kgen.Matmul(m=5, n=33, k=7, **fields) for fields in options]
    specs += [relu_of((2, 3, 4)), softmax_of(3, 5, out_dtype="f32", log=True)]
    specs += [
        kgen.Elementwise(expression="silu(gate) * up + 1", shapes=((3, 1, 4), (2, 4))),
        kgen.Elementwise(expression="x + x", shapes=((3, 4),), out_dtype="f32"),
    ]
    both: dict[str, Any] = {"input": (1, 8, 5, 6), "weights": (6, 4, 3, 3), "groups": 2}
    scaled: dict[str, Any] = {"b_dtype": "s8", "epilogue": "x * scale + bias", "out_dtype": "f16"}
    for fields in ({}, {"constant": ("b",)}, {"weight_layout": "hwio", "constant": ("b",)}):
        specs += [kgen.Conv2d(**both, **fields)]
        specs += [kgen.Conv2d(**both, **fields, **scaled, dtype="f32")]
    for spec in specs:
        assert tensors(json.loads(json.dumps(spec.to_json()))) == spec.parameters
    assert tensors({"op": "conjure"}) is None


@pytest.mark.integration
def test_the_check_sees_every_entry(bundle: kgen.Bundle) -> None:
    """Kernels for other devices are checked, too."""
    data = data_of(bundle)
    data["kernels"][-1]["launches"][0]["grid"] = [0, 0, 0]
    with pytest.raises(BundleError, match="is empty; each number"):
        BundleFile(archive(data, bundle.files))
