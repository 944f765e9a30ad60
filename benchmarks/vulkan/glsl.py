"""Shader for GEMMs of llama.cpp, compiled by the drivers of GPUs beside kgen's kernels.

FOLDER is ggml-vulkan/vulkan-shaders of a checkout of llama.cpp or ggml, whose GEMM is mul_mm.comp;
PROGRAM is glslangValidator 13 or newer (Debian's glslang-tools from trixie on). The tiles are those
that ggml-vulkan.cpp chooses for the largest GEMMs on each GPU.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Row
from benchmarks.vulkan.compiled import row
from kgen.check.static.vulkan import drivers
from kgen.check.static.vulkan.compiled import compiled_module
from kgen_runtime.manifest import Launch

INCLUDES = "#extension GL_GOOGLE_include_directive : enable"
F32 = {
    "ACC_TYPE": "float",
    "ACC_TYPEV2": "vec2",
    "FLOAT_TYPE": "float",
    "FLOAT_TYPEV2": "vec2",
    "FLOAT_TYPEV4": "vec4",
    "FLOAT_TYPEV8": "mat2x4",
    "DATA_A_F32": "1",
    "LOAD_VEC_A": "4",
    "LOAD_VEC_B": "4",
    "B_TYPE": "vec4",
    "B_TYPE_SCALAR": "float",
    "B_TYPEV4": "vec4",
    "D_TYPE": "float",
}
F16 = F32 | {
    "FLOAT16": "1",
    "COOPMAT": "1",
    "FLOAT_TYPE": "float16_t",
    "FLOAT_TYPEV2": "f16vec2",
    "FLOAT_TYPEV4": "f16vec4",
    "FLOAT_TYPEV8": "f16mat2x4",
    "DATA_A_F16": "1",
    "LOAD_VEC_A": "8",
    "LOAD_VEC_B": "8",
    "B_TYPE": "f16mat2x4",
    "B_TYPE_SCALAR": "float16_t",
    "B_TYPEV4": "f16vec4",
}
del F16["DATA_A_F32"]
#: Features of devices that the modules of f16 ask for.
FEATURES = ("shaderFloat16", "cooperativeMatrix", "vulkanMemoryModel", "storageBuffer16BitAccess")


@dataclass(frozen=True)
class Case:
    """Case of the shader. `specialised` has its specialisation constants in order: invocations, BM,
    BN, BK, WM, WN, WMITER, TM, TN, TK, lanes of a subgroup, whether matrices are whole tiles."""

    problem: str
    compiler: str
    defines: dict[str, str]
    specialised: tuple[int, ...]


CASES = (
    Case("matmul 1024x1024x1024 f32", "radv", F32, (128, 128, 128, 16, 128, 64, 2, 4, 4, 1, 64, 1)),
    Case("matmul 1024x1024x1024 f32", "nvk", F32, (128, 128, 128, 16, 64, 64, 2, 4, 4, 1, 32, 1)),
    Case(
        "matmul 1024x1024x1024 f16",
        "radv",
        F16,
        (256, 128, 128, 16, 64, 64, 2, 16, 16, 16, 64, 1),
    ),
    Case(
        "matmul 1024x1024x1024 f16", "nvk", F16, (128, 128, 128, 16, 64, 64, 2, 16, 16, 16, 32, 1)
    ),
)


def module(case: Case, folder: Path, glslang: list[str]) -> bytes:
    """Return the shader as SPIR-V, with its constants inserted."""
    mesa = drivers.RADV.folder()
    constants = " ".join(f"{i}:{value}" for i, value in enumerate(case.specialised))
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "module.spv"
        defines = [f"-D{name}={value}" for name, value in case.defines.items()]
        target = ["-V", "--target-env", "vulkan1.2", "-S", "comp", f"-P{INCLUDES}", f"-I{folder}"]
        source = [str(folder / "mul_mm.comp"), "-o", str(path)]
        subprocess.run(
            [*glslang, *target, *defines, *source], check=True, stdout=subprocess.DEVNULL
        )
        freeze = [f"--set-spec-const-default-value={constants}", "--freeze-spec-const", "-O"]
        optimizer = [str(mesa / "run"), str(mesa / "usr/bin/spirv-opt")]
        subprocess.run([*optimizer, *freeze, str(path), "-o", str(path)], check=True)
        return path.read_bytes()


def rows(folder: Path, glslang: str) -> Iterator[Row]:
    """Yield rows of the shader for each GPU and type."""
    for case in CASES:
        launch = Launch(entry_point="main", grid=(8, 8, 1), arguments=("a", "b", "out"))
        features = FEATURES if case.defines is F16 else ()
        code = module(case, folder.resolve(), [glslang])
        made = compiled_module(case.compiler, code, launch, features)
        yield row(case.problem, "GLSL", made)
