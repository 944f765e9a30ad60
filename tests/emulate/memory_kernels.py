"""Kernels of one workgroup of a wave, launched or expected to fault."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.emulate.report import EmulationFault, Fault
from tests.emulate.llvm.llvm_kernels import Array, run

LANES = 64


def launch(source: str, *arguments: Array | np.generic, groups: int = 1, **options: int) -> None:
    run(
        source,
        entry="k",
        grid=(groups, 1, 1),
        block=(LANES, 1, 1),
        arguments=arguments,
        dynamic_shared=options.get("dynamic_shared", 0),
        checks=bool(options.get("checks", True)),
    )


def fault(source: str, *arguments: Array | np.generic, groups: int = 1, **options: int) -> Fault:
    with pytest.raises(EmulationFault) as error:
        launch(source, *arguments, groups=groups, **options)
    return error.value.fault
