"""Kernels whose machine code is a placeholder: tests that execute only their text in an emulator
need not assemble them."""

from __future__ import annotations

import dataclasses
from typing import Any

from kgen import pipeline
from kgen.schedule import Schedule
from kgen.spec import Spec
from kgen.targets.base import Artifact, Assembled, BuiltKernel, Source, Target
from kgen.targets.cpu.plan.cpu_plan import CpuPlan
from kgen_runtime.manifest import Resources, Role

#: By family: formats of the machine code and of the text, and the text's role.
FORMATS: dict[str, tuple[str, str, Role]] = {
    "amdgpu": ("hsaco", "llvm-ir", "source"),
    "cpu": ("elf-x86_64", "llvm-ir", "source"),
    "cuda": ("cubin", "ptx", "portable"),
}


def text_only(spec: Spec, target: Target, schedule: Schedule | None = None) -> BuiltKernel:
    """Return a kernel that no device can run."""
    plan = pipeline.plan(spec, target, schedule)
    source = pipeline.source(plan)
    compiled, language, role = FORMATS[target.family]
    requires: dict[str, Any] = {"arch": target.arch}
    if isinstance(plan, CpuPlan):
        requires["features"] = plan.features
    never_run = Artifact(
        format=compiled, extension=compiled, role="machine-code", data=b"none", requires=requires
    )
    of_text = {} if role == "source" else requires
    text = Artifact(
        format=language, extension=source.extension, role=role, data=b"", requires=of_text
    )
    code = Assembled(artifacts=(never_run, text), resources=Resources())
    return with_text(BuiltKernel(plan=plan, source=source, assembled=code, seconds=0.0), source)


def with_text(kernel: BuiltKernel, source: Source) -> BuiltKernel:
    """Return a kernel with another text beside its machine code."""
    *code, text = kernel.assembled.artifacts
    text = dataclasses.replace(text, data=source.text.encode())
    assembled = dataclasses.replace(kernel.assembled, artifacts=(*code, text))
    return dataclasses.replace(kernel, source=source, assembled=assembled)
