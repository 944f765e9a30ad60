"""extractvalue and insertvalue: structs and arrays as tuples (LangRef "Aggregate Operations")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build


def _extract(ins: LlvmInstruction) -> Callable[[Any], Any]:
    def extract(value: Any) -> Any:
        for index in ins.indices:
            value = value[index]
        return value

    return extract


def _insert(ins: LlvmInstruction) -> Callable[[Any, Any], Any]:
    return lambda whole, part: _replaced(whole, part, ins.indices)


def _replaced(whole: Any, part: Any, path: tuple[int, ...]) -> Any:
    if not path:
        return part
    at, *rest = path
    return (*whole[:at], _replaced(whole[at], part, tuple(rest)), *whole[at + 1 :])


PURE: dict[str, Build] = {"extractvalue": _extract, "insertvalue": _insert}
