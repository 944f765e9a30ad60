"""Import rules between packages, and no arithmetic in templates."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import nodes

from kgen.render import _environment

ROOT = Path(__file__).parents[2]
CODEGEN, RUNTIME = ROOT / "codegen", ROOT / "runtime"


@functools.cache
def import_nodes(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def imports(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, also inside functions."""
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def offenders(folder: Path, *forbidden: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted(folder.rglob("*.py"))
        for module in imports(path)
        if any(module == f or module.startswith(f + ".") for f in forbidden)
    ]


def test_the_runtime_never_imports_the_build_machine() -> None:
    assert offenders(RUNTIME, "kgen", "jinja2", "llvmlite") == []


def test_emulators_know_nothing_of_the_planner() -> None:
    hidden = ("kgen.targets", "kgen.schedule", "kgen.render", "kgen.spec", "kgen.pipeline")
    assert offenders(CODEGEN / "kgen" / "emulate", *hidden) == []


def test_specs_know_no_hardware() -> None:
    hidden = ("kgen.targets", "kgen.schedule", "kgen.render", "llvmlite")
    assert offenders(CODEGEN / "kgen" / "spec", *hidden) == []


def test_only_render_imports_jinja() -> None:
    found = {line.split(" ")[0] for line in offenders(CODEGEN, "jinja2")}
    assert found == {"codegen/kgen/render.py"}


def test_the_reference_shares_no_code_with_numpy_or_plans() -> None:
    path = RUNTIME / "kgen_runtime" / "backends" / "reference.py"
    assert not {"kgen", "scipy"} & {module.partition(".")[0] for module in imports(path)}


@pytest.mark.parametrize("folder", ["cuda", "amdgpu", "vulkan", "cpu"])
def test_families_do_not_import_each_other(folder: str) -> None:
    others = [f"kgen.targets.{f}" for f in ("cuda", "amdgpu", "vulkan", "cpu") if f != folder]
    assert offenders(CODEGEN / "kgen" / "targets" / folder, *others) == []


def test_templates_do_no_arithmetic_on_architecture_names() -> None:
    """Templates test features; an architecture's name occurs only in a header."""
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            statement = "<%" in line and "target.arch" in line
            assert not statement, f"{path.relative_to(ROOT)}:{number}: decides on target.arch"


#: What the planner does instead.
ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)
MATHEMATICAL = {"abs", "float", "int", "max", "min", "round", "sum"}


def arithmetic(text: str) -> list[int]:
    """Return the lines of a template that compute; a literal may be negative."""
    found = []
    for node in _environment().parse(text).find_all((*ARITHMETIC, nodes.Neg, nodes.Filter)):
        literal = isinstance(node, nodes.Neg) and isinstance(node.node, nodes.Const)
        plain = isinstance(node, nodes.Filter) and node.name not in MATHEMATICAL
        if not literal and not plain:
            found.append(node.lineno)
    return found


def test_templates_do_no_arithmetic() -> None:
    """Integers come from plans, which tests reach."""
    assert arithmetic("${ a + b }\n${ -1 }\n<% set x = -a %>\n${ a|sum }\n${ a|join }") == [1, 3, 4]
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        assert not arithmetic(path.read_text()), path.relative_to(ROOT)


def modules(root: Path) -> dict[str, Path]:
    """Return the modules under a source root by name; a package stands for its `__init__`."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in root.rglob("*.py")
    }


def imported_modules(path: Path, known: set[str]) -> set[str]:
    """Return the known modules that a file imports; a package only if names are imported from
    itself."""
    found = set()
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else node.module for name in inside}
    return found & known


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the modules that import each other, directly or through others: those that remain
    after removing, again and again, modules that no other imports or that import no other."""
    left = {module: set(imported) for module, imported in graph.items()}
    while True:
        imported = set().union(*left.values()) if left else set()
        free = {module for module, its in left.items() if not its or module not in imported}
        if not free:
            return [[module, *sorted(its)] for module, its in sorted(left.items())]
        left = {module: its - free for module, its in left.items() if module not in free}


def test_cycles_are_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"], ["c", "b"]]


@pytest.mark.parametrize("root", [CODEGEN, RUNTIME], ids=lambda root: root.name)
def test_no_module_imports_itself_through_others(root: Path) -> None:
    """Imports at the top, inside functions and for types count, so a reader can start with the
    imported modules."""
    known = modules(root)
    graph = {name: imported_modules(path, set(known)) - {name} for name, path in known.items()}
    assert cycles(graph) == []
