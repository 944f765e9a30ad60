"""Every file of the repository follows the rules of style, and each rule finds violations."""

from __future__ import annotations

import ast

import pytest

from tests.style import scan


def test_every_file_follows_the_rules() -> None:
    found = [str(finding) for finding in scan.findings()]
    assert not found, "\n".join(found)


LARGE = "class Large:\n" + "".join(f"    @property\n    def p{n}(self): ...\n" for n in range(61))

SEEDED = [
    ("codegen/kgen/cli/x.py", '"""Of the loop."""', scan.FRAGMENT, 1),
    ("scripts/x.py", 'def f():\n    # why\n    """The same step of others."""', scan.FRAGMENT, 3),
    ("codegen/kgen/x.py", 'raise E("weights as "\n    "they lie")', scan.MESSAGE, 1),
    ("runtime/c/x.c", '/* why */\nfail("few columns");', scan.MESSAGE, 2),
    ("runtime/c/x.c", "x = 1; // few\n// rows", scan.PHRASE, 1),
    ("docs/x.md", "A kernel of few\nrows", scan.PHRASE, 1),
    ("tests/x.py", "a = 1\n# Products of\n# models", scan.PHRASE, 2),
    ("codegen/kgen/cli/x.py", "x = 1  # 2.5 us before", scan.MEASUREMENT, 1),
    ("codegen/kgen/cli/x.py", '"""Copy.\n\nReaches 30 GB/s."""', scan.MEASUREMENT, 3),
    ("runtime/c/x.c", "/* 12 % faster */", scan.MEASUREMENT, 1),
    ("templates/x.j2", "<# twice as fast #>", scan.MEASUREMENT, 1),
    ("templates/x.j2", "a\n<% if plan.stages > 1 %>", scan.LOGIC, 2),
    ("templates/x.j2", "${ plan.rows * 4 }", scan.LOGIC, 1),
    ("templates/x.j2", "<% if name in plan.names %>", scan.LOGIC, 1),
    ("codegen/kgen/targets/x.py", LARGE, scan.CLASS, 1),
]


@pytest.mark.parametrize(("path", "text", "kind", "line"), SEEDED)
def test_a_seeded_violation_is_found(path: str, text: str, kind: str, line: int) -> None:
    found = [(finding.kind, finding.line) for finding in scan.violations(path, text)]
    assert found == [(kind, line)]


CLEAN = [
    ("codegen/kgen/x.py", '"""Trip count of the K loop."""\nx = "Of the loop, 3 ms"'),
    ("codegen/kgen/x.py", 'def f(a):\n    return g(\n        """Of a."""\n    )'),
    ("codegen/kgen/x.py", "# Read 16 bytes of %r1 in 2 steps."),
    ("templates/x.j2", "${- module(*plan.names[-1]) }\n<%- for (a, b), c in plan.x -%>\n%r1 < 2"),
    ("templates/x.j2", '<# a == b #>${ load("%a" ~ b, "+ 4") }'),
    ("codegen/kgen/x.py", LARGE.replace("p60", "p59").replace("@property", "@staticmethod", 1)),
]


@pytest.mark.parametrize(("path", "text"), CLEAN)
def test_ordinary_text_is_not_found(path: str, text: str) -> None:
    assert [str(finding) for finding in scan.violations(path, text)] == []


def test_the_lexer_finds_the_docstrings_that_python_finds() -> None:
    text = "\n".join(
        [
            "# A comment with \"one quote and a '''",
            'r"""Module with \\d and "quotes"."""',
            'x = {"key": "value", 1: """Of text."""}',
            "class A:  # noqa",
            "    '''Class.'''",
            "    def f(self, a: str = 'b:') -> None:",
            "        # A comment first.",
            '        """Function."""',
            '        """Second string."""',
            "    async def g(self) -> None:",
            '        x = """Of a value."""',
        ]
    )
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    expected = {d for node in nodes if (d := ast.get_docstring(node, clean=False))}
    assert {part.text for part in scan.python_parts(text)[0]} == expected
    assert len(expected) == 3


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("codegen/kgen/targets/cpu/plan/x.py", "codegen/kgen/targets"),
        ("codegen/kgen/render.py", "codegen/kgen"),
        ("tests/unit/cli/x.py", "tests"),
        ("README.md", "."),
    ],
)
def test_folders(path: str, folder: str) -> None:
    assert scan.folder(path) == folder


def test_every_folder_is_read() -> None:
    read = {scan.folder(path) for path, _ in scan.sources()}
    expected = {".", "codegen/kgen", "codegen/kgen/targets", "runtime", "scripts", "tests"}
    assert read >= {*expected, "templates", "docs", "examples"}
