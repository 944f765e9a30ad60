"""The SPIR-V assembler against spirv-as, spirv-val and the published grammar (Debian: spirv-tools,
headers). The same text must give the same bytes, and every kernel must be valid in its target's
environment."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kgen import pipeline, targets
from kgen.spec import DType, Elementwise, Epilogue, Layout, Matmul, Rowwise, Spec
from kgen.targets.vulkan.spirv import assemble, assembler
from kgen.targets.vulkan.spirv.enumerants import ENUMERANTS, MASKS
from kgen.targets.vulkan.spirv.opcodes import INSTRUCTIONS
from tests import needs
from tests.specs import relu_of

FAMILY = targets.family("vulkan")
ENVIRONMENTS = {"vulkan1.1": (1, 3), "vulkan1.3": (1, 6)}
GRAMMAR = Path("/usr/include/spirv/unified1")
#: What Debian 12's grammar is too old for; `test_cooperative_matrices` has the newest assembler.
NEWER = ("CooperativeMatrix", "BFloat16", "FPEncoding")


def is_newer(name: str) -> bool:
    return any(word in name for word in NEWER)


@pytest.fixture(scope="module", autouse=True)
def spirv_tools() -> None:
    needs.program("spirv-as", "spirv-tools")


def oracle(text: str, environment: str, folder: Path) -> bytes:
    """Return the module that spirv-as makes from the text."""
    source, output = folder / "kernel.spvasm", folder / "kernel.spv"
    source.write_text(text)
    command = ["spirv-as", "--target-env", environment, str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output.read_bytes()


def validate(module: bytes, environment: str, folder: Path) -> None:
    path = folder / "kernel.spv"
    path.write_bytes(module)
    command = ["spirv-val", "--target-env", environment, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def specs() -> list[Spec]:
    found: list[Spec] = []
    for dtype in (DType.F32, DType.F16, DType.BF16):
        found += [Matmul(m=m, n=n, k=k, dtype=dtype) for m, n, k in SHAPES]
        found += [relu_of((n,), dtype=dtype) for n in (1, 1000, 1000003)]
    odd: dict[str, Any] = {"m": 65, "n": 66, "k": 67, "batch": 3, "alpha": 0.5, "beta": -1.25}
    found += [Matmul(**odd, layout=layout, epilogue=tuple(Epilogue)) for layout in Layout]
    found.append(Matmul(m=65, n=66, k=67, dtype=DType.BF16, out_dtype=DType.F16, beta=1.0))
    found += [Matmul(m=65, n=66, k=k, dtype=DType.S8, out_dtype=DType.S8) for k in (64, 67)]
    row: dict[str, Any] = {"expression": "softmax(x)", "dtype": DType.BF16}
    found.append(Rowwise(**row, shapes=((3, 70),), out_dtype=DType.F32))
    found.append(relu_of((2**31 - 2,), dtype=DType.BF16))
    shapes: tuple[tuple[int, ...], ...] = ((5, 1, 12), (12,), (3, 1))
    found.append(Elementwise(expression="relu(x) * y + z", shapes=shapes))
    found += [
        Rowwise(expression=text, shapes=shapes, dtype=dtype, axes=tuple(range(-last, 0)))
        for text, shapes, last in ROWS
        for dtype in (DType.F32, DType.BF16)
    ]
    found.append(Rowwise(expression="softmax(x)", shapes=((2**24 + 1, 16),), dtype=DType.F32))
    return found


#: Held and streamed; one lane and many; inputs of a row, of columns and of groups; masks; numbers.
ROWS: tuple[tuple[str, tuple[tuple[int, ...], ...], int], ...] = (
    ("softmax(x)", ((7, 1),), 1),
    ("log_softmax(x)", ((4, 131072),), 1),
    ("layer_norm(x, scale, shift)", ((33, 1000), (1000,), (1000,)), 1),
    ("layer_norm(x, scale, shift)", ((2, 3, 4, 10), (3, 4, 1), (3, 4, 1)), 2),
    ("layer_norm(x, scale, shift)", ((2, 3, 4, 10001), (3, 4, 1), (3, 4, 1)), 2),
    ("softmax(where(column <= row, x + mask, -inf))", ((2, 3, 16, 16), (2, 1, 1, 16)), 1),
    ("softmax(where(column <= row, x, -inf))", ((3, 50001),), 1),
    ("mean(x) * scale", ((7, 9), (7, 1)), 1),
    ("amax(x) - amin(x)", ((3, 40000),), 1),
    ("argmax(x)", ((5, 100),), 1),
)
SHAPES = ((1, 1, 1), (16, 16, 16), (127, 131, 113), (1, 4096, 4096), (64, 2048, 33))


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("spec", specs(), ids=lambda s: s.key)
def test_kernels(spec: Spec, environment: str, tmp_path: Path) -> None:
    """Every kernel is valid SPIR-V, and its bytes are those of spirv-as."""
    kernel = pipeline.kernel(spec, targets.find(environment))
    artifact = kernel.assembled.artifacts[0]
    assert (artifact.format, artifact.extension, artifact.role) == ("spirv", "spv", "portable")
    assert artifact.data == oracle(kernel.source.text, environment, tmp_path)
    validate(artifact.data, environment, tmp_path)


@pytest.mark.parametrize("dtype", [DType.F16, DType.S8])
def test_cooperative_matrices(dtype: DType, tmp_path: Path) -> None:
    """The bytes of each size of matrices are those of the newest spirv-as, which knows no bf16."""
    folder = needs.driver("mesa")
    spec = Matmul(m=64, n=64, k=128, dtype=dtype)
    if dtype is DType.F16:
        gelu = (Epilogue.BIAS, Epilogue.GELU)
        spec = Matmul(m=64, n=64, k=128, out_dtype=DType.F32, epilogue=gelu)
    kernel = pipeline.kernel(spec, targets.find("vulkan1.3+coopmat"))
    source, output = tmp_path / "kernel.spvasm", tmp_path / "kernel.spv"
    source.write_text(kernel.source.text)
    newest = [str(folder / "run"), str(folder / "usr/bin/spirv-as"), "--target-env", "vulkan1.3"]
    subprocess.run([*newest, str(source), "-o", str(output)], check=True)
    made = [a.data for a in kernel.assembled.artifacts if a.format == "spirv"]
    assert output.read_bytes() in made and len(made) > 1


#: Numbers in every spelling, by type.
NUMBERS = {
    "u32": "0 1 4294967295 0xffffffff 010",
    "i32": "-1 2147483647 -2147483648 0xffffffff 0x80000000 -0x10",
    "u64": "18446744073709551615 1 0x123456789abcdef0",
    "i64": "-1 -9223372036854775808 5 0xffffffffffffffff",
    "u16": "65535 7 0xffff",
    "i16": "-1 -32768 32767 0xffff 0x8000",
    "u8": "255 0x80",
    "i8": "-128 0x80 127",
    "f16": "0 1 -1.5 65504 0.1 0.33333 1e-7 6e-8 5.96e-8 1e-5 -0 0x1p+16 -0x1p+16 0x1.8p+16 "
    "0x1.ffcp+15 0x1p-24 -2.71828",
    "f32": "0 1 -1.5 0.1 3.4028234e38 1e-45 1e-40 0.333333333333333 0x1p+128 -0x1p+128 "
    "0x1.8p+128 0x1.921fb6p+1 -0 16777217 1.00000005960464477540 .5 5. 1e10 0x1p-149",
    "f64": "0 1 0.1 1e308 1e-320 0x1p+1024 0x1.8p+1024 -0x1.fffffffffffffp+1023 3.141592653589793",
}

MODULE = r"""
OpCapability Shader
OpCapability Int64 ; not all are used
OpCapability Float16
OpCapability Int16
OpCapability Int8
OpCapability Float64
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %7 "a \"name\" with \\ ; and spaces" %lid
OpExecutionMode %7 LocalSize 4 0x10 1
OpSource GLSL 450
OpName %7 "héllo"
OpDecorate %lid BuiltIn LocalInvocationId
OpDecorate %sine LinkageAttributes "foo" Export
OpDecorate %shuffled FPFastMathMode NSZ|NotNaN
%void = OpTypeVoid
%function = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%i32 = OpTypeInt 32 1
%u64 = OpTypeInt 64 0
%i64 = OpTypeInt 64 1
%u16 = OpTypeInt 16 0
%i16 = OpTypeInt 16 1
%u8 = OpTypeInt 8 0
%i8 = OpTypeInt 8 1
%f16 = OpTypeFloat 16
%f32 = OpTypeFloat 32
%f64 = OpTypeFloat 64
NUMBERS
%selector = OpConstant %i64 -77
%narrow_selector = OpConstant %i16 -77
%bool = OpTypeBool
%spec = OpSpecConstant %u32 3
%sum = OpSpecConstantOp %u32 IAdd %spec %spec
%v3 = OpTypeVector %u32 3
%pointer = OpTypePointer Input %v3
%lid = OpVariable %pointer Input
%7 = OpFunction %void None %function
%8 = OpLabel
%volatile = OpLoad %v3 %lid Aligned|Volatile 16
%plain = OpLoad %v3 %lid
%shuffled = OpVectorShuffle %v3 %plain %plain 0 1 0xffffffff
%sine = OpExtInst %v3 %glsl UMin %plain %plain
OpSelectionMerge %end None
OpSwitch %selector %end 0x123456789abc %end -5 %end
%end = OpLabel
OpSelectionMerge %end2 DontFlatten
OpSwitch %narrow_selector %end2 -5 %end2 7 %end2
%end2 = OpLabel
OpLoopMerge %end2 %end2 DependencyLength|Unroll 4
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_kind_of_operand(environment: str, tmp_path: Path) -> None:
    """Masks, strings, optional operands, and literals of every width and spelling."""
    numbers = [
        f"%n_{kind}_{i} = OpConstant %{kind} {spelling}"
        for kind, spellings in NUMBERS.items()
        for i, spelling in enumerate(spellings.split())
    ]
    text = MODULE.replace("NUMBERS", "\n".join(numbers))
    assert assemble(text, ENVIRONMENTS[environment]) == oracle(text, environment, tmp_path)


def grammar(name: str) -> Any:
    path = GRAMMAR / name
    needs.debian("spirv-headers", None if path.is_file() else f"{path} is not here")
    return json.loads(path.read_text())


def spelled(operands: list[dict[str, str]]) -> str:
    return " ".join(o["kind"] + o.get("quantifier", "") for o in operands)


def test_the_instructions_are_those_of_the_grammar() -> None:
    published = {
        i["opname"]: (i["opcode"], spelled(i.get("operands", [])))
        for i in grammar("spirv.core.grammar.json")["instructions"]
    }
    for signature, names in INSTRUCTIONS:
        for entry in names.split():
            name, _, value = entry.partition("=")
            if is_newer(name):
                continue
            known = " ".join(kind for kind in signature.split() if not is_newer(kind))
            assert published[name] == (int(value), known), name


def test_the_enumerants_are_those_of_the_grammar() -> None:
    kinds = {k["kind"]: k for k in grammar("spirv.core.grammar.json")["operand_kinds"]}
    for kind in ENUMERANTS:
        if is_newer(kind):
            continue
        assert (kind in MASKS) == (kinds[kind]["category"] == "BitEnum")
        published = {
            e["enumerant"]: (int(str(e["value"]), 0), spelled(e.get("parameters", [])))
            for e in kinds[kind]["enumerants"]
        }
        for name, (value, operands) in assembler._enumerants(kind).items():
            if is_newer(name):
                continue
            parameters = " ".join(
                o.kind + ("?" if o.optional else "*" if o.repeated else "") for o in operands
            )
            assert published[name] == (value, parameters), name


def test_the_extended_instructions_are_those_of_the_grammar() -> None:
    published = {
        i["opname"]: i["opcode"]
        for i in grammar("extinst.glsl.std.450.grammar.json")["instructions"]
    }
    assert assembler._glsl().items() <= published.items()
