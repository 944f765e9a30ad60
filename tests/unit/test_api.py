"""Public Python names, and errors for arguments that are no spec or target."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import targets
from kgen.errors import BundleError, ScheduleError, SpecError, TargetError
from kgen.schedule import Schedule
from kgen.spec import Spec
from kgen.targets.base import Plan, Target
from kgen_runtime import lazy
from kgen_runtime.errors import ArgumentError
from kgen_runtime.memory import dlpack
from tests.onnx_models import Maker
from tests.specs import relu_of
from tests.unit.runtime.fakes import entry, host

SMALL = kgen.Matmul(m=16, n=16, k=16)


def test_one_error_for_both_halves() -> None:
    assert kgen.KgenError is kgen_runtime.KgenError
    with pytest.raises(kgen.KgenError):
        kgen_runtime.load("none.kgen")


def test_a_name_that_needs_a_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kgen.compile_model` without onnx says what to install."""
    (tmp_path / "needs_absent.py").write_text("import absent\nmodel = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    get, _ = lazy.attributes("kgen", {"model": "needs_absent", "own": "kgen.absent"})
    with pytest.raises(ModuleNotFoundError) as error:
        get("model")
    assert str(error.value) == ("kgen.model needs the Python package absent; pip install absent")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'kgen\.absent'"):
        get("own")


@pytest.mark.parametrize("module", [kgen, kgen_runtime])
def test_every_public_name_is_there(module: Any) -> None:
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


def fresh(code: str) -> list[str]:
    """Return the words that a new process prints, in which no name was used before."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.integration
@pytest.mark.parametrize("module", ["kgen", "kgen_runtime"])
def test_dir_and_help_show_every_public_name(module: str) -> None:
    public = set(sys.modules[module].__all__)
    assert public <= set(fresh(f"import {module} as m; print(*dir(m))"))
    page = fresh(f"import {module} as m, pydoc; print(pydoc.plain(pydoc.render_doc(m)))")
    assert all(any(name in word for word in page) for name in public)


@pytest.mark.integration
@pytest.mark.parametrize("module", ["kgen", "kgen_runtime"])
def test_dir_shows_nothing_else(module: str) -> None:
    """Imported submodules, and names that the package itself imports, are hidden."""
    code = f"import kgen, kgen_runtime, {module} as m; kgen.build, kgen.verify; print(*dir(m))"
    assert set(fresh(code)) == {*sys.modules[module].__all__, "__version__"}


@pytest.mark.integration
def test_a_bundle_is_checked_and_loaded_from_kgen() -> None:
    made = kgen.build(relu_of((16,), dtype="f32"), targets="x86-64-v3")
    assert kgen.load is kgen_runtime.load and kgen.verify(made).passed
    x = np.linspace(-1, 1, 16, dtype="f")
    with kgen.load(made.to_bytes(), device="reference") as kernels:
        array = kernels.relu(kernels.to_device(x))
    np.testing.assert_array_equal(array.numpy(), np.maximum(x, 0))


@pytest.mark.integration
def test_a_bundles_bytes_are_those_of_its_file(tmp_path: Path) -> None:
    m = Maker()
    model = tmp_path / "m.onnx"
    model.write_bytes(m.model(m.linear(m.input("x", (2, 8)), 8, 4)).SerializeToString())
    compiled = kgen.compile_model(model, targets=["x86-64-v3"])
    assert repr(compiled) == "<CompiledModel: x86-64-v3/main>" and compiled.bundle.weights
    path = compiled.save(tmp_path / "m.kgen")
    assert compiled.to_bytes() == compiled.bundle.to_bytes() == path.read_bytes()


@pytest.mark.integration
@pytest.mark.parametrize("module", ["kgen", "kgen_runtime"])
def test_errors_need_no_import_of_their_own(module: str) -> None:
    assert fresh(f"import {module} as m; print(m.errors.KgenError.__name__)") == ["KgenError"]


@pytest.mark.integration
def test_one_version() -> None:
    """Both distributions read their version from the runtime's."""
    command = [sys.executable, "-m", "hatchling", "metadata", "version"]
    root = Path(__file__).parents[2]
    for project in (root, root / "runtime"):
        built = subprocess.run(command, cwd=project, check=True, capture_output=True, text=True)
        assert built.stdout.strip() == kgen_runtime.__version__ == kgen.__version__


@pytest.mark.parametrize(
    ("specs", "targets", "schedule", "error", "message"),
    [
        (
            "matmul 16x16x16",
            ["sm_80"],
            {},
            SpecError,
            "spec='matmul 16x16x16' is not a spec; give one such",
        ),
        (SMALL, [80], {}, TargetError, "target=80 is not a target; give a name such as 'sm_80'"),
        (None, ["sm_80"], {}, SpecError, "spec=None is not a spec; give one such"),
        (7, ["sm_80"], {}, SpecError, "spec=7 is not a spec"),
        ([SMALL, None], ["sm_80"], {}, SpecError, "spec=None is not a spec"),
        (SMALL, None, {}, TargetError, "target=None is not a target; give a name such as 'sm_80'"),
        (SMALL, 80, {}, TargetError, "target=80 is not a target"),
        (SMALL, "sm_80", "mma", ScheduleError, "schedule='mma' is not a mapping of fields"),
        (SMALL, [], {}, BundleError, "give a spec and a target"),
        ([], ["sm_80"], {}, BundleError, "give a spec and a target"),
        (SMALL, "sm_80", {"block_m": "x"}, ScheduleError, "block_m='x' is not an integer"),
    ],
)
def test_what_is_no_request(
    specs: Any, targets: Any, schedule: Any, error: type[kgen.KgenError], message: str
) -> None:
    with pytest.raises(error, match=message):
        kgen.build(specs, targets, schedule=schedule)


def test_a_build_plans_a_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    family = targets.family("vulkan")
    planned: list[Spec] = []
    plan = family.plan

    def counted(spec: Spec, target: Target, schedule: Schedule) -> Plan:
        planned.append(spec)
        return plan(spec, target, schedule)

    monkeypatch.setattr(family, "plan", counted)
    spec = relu_of((64,))
    kgen.build(spec, ["vulkan1.3"])
    assert planned == [spec]


def test_constants_that_are_no_mapping() -> None:
    with pytest.raises(SpecError, match="constants=7 is not a mapping of names to arrays; give"):
        kgen.build(SMALL, "sm_80", constants=7)  # type: ignore[arg-type]


def test_an_operation_that_the_bundle_lacks() -> None:
    """The error is one of kgen's and lists the operations; it is also an AttributeError, as
    Python's protocols (hasattr, copy, notebooks) require."""
    kernels: Any = host(entry(), entry(key="other", op="mul"))
    with pytest.raises(
        kgen.KgenError, match="no kernel for foo on cpu:0; operations here are add, mul"
    ):
        kernels.foo(1)
    with pytest.raises(AttributeError):
        _ = kernels.foo
    assert not hasattr(kernels, "foo") and getattr(kernels, "foo", 3) == 3
    assert hasattr(kernels, "add")
    with pytest.raises(AttributeError, match="_repr_html_"):
        _ = kernels._repr_html_


def test_an_array_that_lends_no_capsule() -> None:
    class Broken:
        def __dlpack__(self, **_: Any) -> int:
            return 7

    with pytest.raises(
        ArgumentError, match=r"Broken.__dlpack__ returned int, not a capsule; pass a numpy array"
    ):
        dlpack.read(Broken(), None)
