"""Products by cooperative matrices, executed by lavapipe 26 under the newest validation layer."""

from __future__ import annotations

from pathlib import Path

from tests.drivers import LAVAPIPE, LAYER_LOG

#: Every layout, a remainder of K, edges, a batch, epilogues, other types of output; sums that are
#: stored from the accumulators, and others.
CORRECT = """
from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.device.vulkan.kernels.test_matmul import check_exact, whole_numbers
from tests.device.vulkan.vulkan_support import build, open_vulkan, run

vulkan = open_vulkan()
epilogue = (Epilogue.BIAS, Epilogue.RELU)
for spec in (
    Matmul(m=64, n=64, k=64),
    Matmul(m=64, n=64, k=72),
    Matmul(m=70, n=72, k=40, layout=Layout.NT, epilogue=epilogue),
    Matmul(m=72, n=200, k=104, layout=Layout.TN, beta=1.0, batch=2),
    Matmul(m=72, n=80, k=40, beta=0.5, ldc=88, epilogue=(*epilogue, Epilogue.RESIDUAL)),
    Matmul(m=136, n=72, k=264, layout=Layout.TT, out_dtype=DType.F32),
    Matmul(m=136, n=72, k=40, out_dtype=DType.F32, beta=2.0, batch=2, epilogue=epilogue),
    Matmul(m=12, n=136, k=72),
    Matmul(m=64, n=64, k=64, dtype=DType.S8),
    Matmul(m=1, n=80, k=144, dtype=DType.S8),
    Matmul(m=80, n=80, k=80, dtype=DType.S8, layout=Layout.TN),
    Matmul(m=72, n=80, k=112, dtype=DType.S8, out_dtype=DType.F32, layout=Layout.NT, alpha=0.5),
    Matmul(m=80, n=80, k=112, dtype=DType.S8, out_dtype=DType.F16, layout=Layout.TT, batch=2,
           alpha=0.5, epilogue=epilogue),
):
    kernel = build(spec, "vulkan1.3+coopmat")
    assert kernel.plan.schedule.mainloop == "coopmat"
    check_exact(vulkan, spec, kernel)
shapes = {"each": "mx1", "one": "1"}
for out in ("f32", "f16"):
    spec = Matmul(
        m=72, n=72, k=40, out_dtype=out, epilogue="x * each + one", epilogue_shapes=shapes
    )
    inputs = whole_numbers(spec)
    wanted = inputs["a"].reshape(72, 40).astype("f8") @ inputs["b"].reshape(40, 72)
    wanted = (wanted * inputs["each"][:, None] + inputs["one"]).astype(out.replace("f", "float"))
    assert (run(vulkan, build(spec, "vulkan1.3+coopmat"), inputs) == wanted.reshape(-1)).all()
large = build(Matmul(m=128, n=64, k=96), "vulkan1.3+coopmat")
schedule = large.plan.schedule.override(block_m=128, block_n=64)
check_exact(vulkan, large.plan.spec, build(large.plan.spec, "vulkan1.3+coopmat", schedule))
vulkan.close()
print("all exact")
"""

#: What is wrong with the modules for 8x8x8 on purpose, and that the check above sees it: a barrier,
#: zeros beyond K, a layout, the order and the place of what is transposed, a guard; where words of
#: a matrix of bytes and matrices of the output begin, and a number of the epilogue.
WRONG = """
import dataclasses
from kgen.spec import Matmul
from kgen.targets.vulkan.spirv import assemble
from tests.device.vulkan.kernels.test_matmul import check_exact
from tests.device.vulkan.vulkan_support import build, open_vulkan

vulkan = open_vulkan()
for spec, mutations in (
    (
        Matmul(m=70, n=72, k=40),
        (
            ("OpControlBarrier %uint_2 %uint_2 %uint_24840", "OpNop"),
            ("%first_a0_row0_inside = OpULessThan", "%first_a0_row0_inside = OpUGreaterThanEqual"),
            ("%next_b0_row1_inside = OpULessThan", "%next_b0_row1_inside = OpUGreaterThanEqual"),
            ("%matrix_b %b0_0_ptr %uint_1", "%matrix_b %b0_0_ptr %uint_0"),
            ("%f16vec2 %transpose_0_0 %transpose_1_0", "%f16vec2 %transpose_1_0 %transpose_0_0"),
            ("%b_word0 = OpBitwiseAnd %uint %b_outer %uint_3",
             "%b_word0 = OpBitwiseAnd %uint %b_outer %uint_1"),
            ("%row_first %uint_70", "%row_first %uint_64"),
        ),
    ),
    (
        Matmul(m=72, n=80, k=80, dtype="s8"),
        (
            ("%tiles %from_a %uint_2", "%tiles %from_a %uint_0"),
            ("%row_first %uint_72", "%row_first %uint_64"),
        ),
    ),
    (
        Matmul(m=72, n=72, k=40, out_dtype="f32", epilogue=("bias",)),
        (
            ("%bias_0_0_ptr %uint_0 %uint_0", "%bias_0_0_ptr %uint_0 %uint_2"),
            ("%finish_next = OpIAdd %uint %finish_number %uint_1",
             "%finish_next = OpIAdd %uint %finish_number %uint_2"),
        ),
    ),
    (
        Matmul(m=72, n=72, k=40, epilogue=("bias",)),
        (
            ("%bias_0_0_ptr %uint_0 %uint_0", "%bias_0_0_ptr %uint_0 %uint_2"),
            ("%half %finish_halves 0", "%half %finish_halves 1"),
        ),
    ),
):
    kernel = build(spec, "vulkan1.3+coopmat")
    *_, machine, source = kernel.assembled.artifacts
    text = source.data.decode()
    for old, new in mutations:
        assert old in text, old
        broken = dataclasses.replace(machine, data=assemble(text.replace(old, new), (1, 6)))
        assembled = dataclasses.replace(kernel.assembled, artifacts=(broken, source))
        try:
            check_exact(vulkan, spec, dataclasses.replace(kernel, assembled=assembled))
        except AssertionError:
            print("seen:", old)
vulkan.close()
"""


def test_products_are_exact_and_without_races(tmp_path: Path) -> None:
    assert "all exact" in LAVAPIPE.python("-c", CORRECT, layer=tmp_path).stdout
    log = tmp_path / LAYER_LOG
    assert (log.read_text() if log.exists() else "") == ""


def test_mutations_are_seen() -> None:
    out = LAVAPIPE.python("-c", WRONG).stdout
    assert out.count("seen:") == 13, out
