"""Texts of a few bytes that would take hours or all memory: each is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate import run
from kgen.errors import EmulationError
from tests.emulate.ptx.ptx_kernels import HEADER

_BILLION = 10**9


def _entry(body: str, *, module: str = "", parameters: str = ".param .u64 out") -> str:
    return f"{HEADER}{module}.visible .entry k({parameters})\n{{\n{body}\n  ret;\n}}\n"


def _use(space: str) -> str:
    return f"  .reg .b32 %r<4>;\n  ld.{space}.b8 %r1, [big];\n"


def _doubling(levels: int) -> str:
    """Return functions that each call the next one twice."""
    last = f".func f{levels}()\n{{\n  .reg .b32 %a;\n  mov.u32 %a, 1;\n  ret;\n}}\n"
    return last + "".join(
        f".func f{i}()\n{{\n  call f{i + 1};\n  call f{i + 1};\n  ret;\n}}\n"
        for i in reversed(range(levels))
    )


def _chain(levels: int) -> str:
    return f".func f{levels}()\n{{\n  ret;\n}}\n" + "".join(
        f".func f{i}()\n{{\n  call f{i + 1};\n  ret;\n}}\n" for i in reversed(range(levels))
    )


HOSTILE = {
    "registers": (_entry(f"  .reg .b32 %q<{_BILLION}>;"), "more registers"),
    "register-digits": (_entry(f"  .reg .b32 %q<{'9' * 5000}>;"), "more registers"),
    "register-families": (
        _entry("".join(f"  .reg .b32 %q{i}_<200000>;\n" for i in range(50))),
        "more registers",
    ),
    "registers-of-calls": (
        _entry("  call f;\n" * 50, module=".func f()\n{\n  .reg .b32 %q<20000>;\n  ret;\n}\n"),
        "more registers",
    ),
    **{
        space: (
            _entry(_use(space), module=f".{space} .align 4 .b8 big[{_BILLION}];\n"),
            f"{space} variables",
        )
        for space in ("shared", "global", "const")
    },
    "local": (_entry(f"  .local .b8 big[{_BILLION}];\n" + _use("local")), "local variables"),
    "rows": (
        _entry(_use("shared"), module=".shared .b8 big[1000][1000][1000];\n"),
        "shared variables",
    ),
    "digits": (_entry(_use("shared"), module=f".shared .b8 big[{'9' * 5000}];\n"), "digits"),
    "alignment": (
        _entry(_use("shared"), module=f".shared .align {2**60} .b8 big[4];\n"),
        "alignment",
    ),
    "no-alignment": (_entry(_use("shared"), module=".shared .align 0 .b8 big[4];\n"), "alignment"),
    "parameter": (_entry("", parameters=f".param .align 4 .b8 big[{_BILLION}]"), "parameters"),
    "blocks": (_entry("{" * 20_000 + "}" * 20_000), "nested"),
    "calls": (_entry("  call f0;", module=_chain(2000)), "more calls"),
    "calls-of-calls": (_entry("  call f0;", module=_doubling(40)), "more calls"),
    "vectors": (_entry("  mov.b32 %r1, " + "{" * 5000 + "1" + "}" * 5000 + ";"), "vector"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_in_one_line(name: str) -> None:
    source, match = HOSTILE[name]
    with pytest.raises(EmulationError, match=match) as caught:
        run(
            source, language="ptx", entry="k", grid=(1, 1, 1), block=(32, 1, 1),
            arguments=[np.zeros(32, np.uint32)],
        )  # fmt: skip
    message = str(caught.value)
    assert "\n" not in message and len(message) <= 500
