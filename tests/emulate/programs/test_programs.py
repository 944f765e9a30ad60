"""Whole programs in the emulators of GPU code, with one arena as in a runtime."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.check.execute.executor import POISON_BYTE
from kgen.check.execute.runners import LANGUAGES, Emulation, EmulatorExecutor
from tests.programs import ROWS, WIDE, answer, mlp_bundle, parameters


@pytest.mark.parametrize("target", ["sm_80", "gfx942"])
def test_an_mlp(target: str) -> None:
    made = mlp_bundle(target)
    (program,) = made.manifest.programs
    x = np.random.default_rng(5).standard_normal((ROWS, WIDE)).astype("f")
    memories = {
        memory: np.full(nbytes, POISON_BYTE, np.uint8)
        for memory, nbytes in program.memories.items()
    }
    memories["input", "x"][:] = x.view(np.uint8).reshape(-1)
    for weight in program.weights:
        memories["weights", weight.name] = made.weights[weight.file].copy()
    values = program.by_name
    kernels = {kernel.key: kernel for kernel in made.manifest.kernels}
    for step in program.steps:
        kernel = kernels[step.kernel]
        buffers = {}
        for parameter, name in step.bindings.items():
            value = values[name]
            buffers[parameter] = memories[value.place.memory][value.place.offset : value.end]
        text = next(a for a in kernel.artifacts if a.format in LANGUAGES)
        source = made.files[text.file].decode()
        EmulatorExecutor(kernel, text.format, source, Emulation(strict=True)).run(buffers, None)
    out = memories["output", "out"].view("f").reshape(ROWS, WIDE)
    np.testing.assert_allclose(out, answer(x, parameters()), rtol=2e-5, atol=2e-5)
    for weight in program.weights:
        assert (memories["weights", weight.name] == made.weights[weight.file]).all()
    # What lies between the arena's values is nobody's.
    used = np.zeros(program.arena_bytes, bool)
    for value in program.values:
        if value.place.kind == "arena":
            used[value.place.offset : value.end] = True
    assert (memories["arena", ""][~used] == POISON_BYTE).all() and not used.all()
