"""Pages that hold generated tables, and the tables by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.reference import (
    artifact_formats,
    budget_keys,
    c_header,
    conformance,
    cpu_cores,
    element_functions,
    emulation,
    emulator_faults,
    emulator_warnings,
    environment,
    errors,
    examples,
    exit_statuses,
    failed_checks,
    loading,
    main_loops,
    manifest_fields,
    manifest_schema,
    metrics,
    operators,
    other_names,
    packed_orders,
    row_functions,
    schedule_fields,
    target_groups,
    targets,
    views,
)

ROOT = Path(__file__).parents[2]
TABLES: Mapping[str, Callable[[], str]] = {
    "arguments of load": loading.arguments,
    "artifact formats": artifact_formats.table,
    "backends": loading.devices,
    "budget keys": budget_keys.table,
    "C functions": c_header.functions,
    "C types": c_header.types,
    "CPU cores": cpu_cores.table,
    "conformance": conformance.table,
    "element functions": element_functions.table,
    "emulator arguments": emulation.arguments,
    "emulator faults": emulator_faults.table,
    "emulator numerics": emulation.numerics,
    "emulator options": emulation.options,
    "emulator warnings": emulator_warnings.table,
    "encoder.c": examples.encoder_c,
    "encoder.cpp": examples.encoder_cpp,
    "environment": environment.table,
    "errors": errors.table,
    "exit statuses": exit_statuses.table,
    "failed checks": failed_checks.table,
    "loaded objects": loading.members,
    "main loops": main_loops.table,
    "manifest fields": manifest_fields.table,
    "manifest limits": manifest_schema.table,
    "metrics": metrics.table,
    "operators": operators.table,
    "other names": other_names.table,
    "packed orders": packed_orders.table,
    "row functions": row_functions.table,
    "schedule fields": schedule_fields.table,
    "target groups": target_groups.table,
    "targets": targets.table,
    "tensor maps": emulation.tensor_map_fields,
    "views": views.table,
}
_TABLE = re.compile(
    r"(?P<begin><!-- table (?P<name>[^:\n]+): make reference -->\n)"
    r".*?(?P<end><!-- end of table -->\n)",
    re.DOTALL,
)


def pages() -> list[Path]:
    """Return the documents that contain a generated table."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if names(page.read_text())]


def names(text: str) -> list[str]:
    """Return the names of the tables on a page."""
    return [match["name"] for match in _TABLE.finditer(text)]


def rewritten(text: str, page: str) -> str:
    """Return the text of a page with new tables. Raises SystemExit for an unknown table."""

    def made(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in TABLES:
            raise SystemExit(f"{page}: no table {name!r}; the tables are {', '.join(TABLES)}")
        return match["begin"] + TABLES[name]() + match["end"]

    return _TABLE.sub(made, text)
