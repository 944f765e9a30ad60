"""Products by cooperative matrices, executed by lavapipe 26 under the newest validation layer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kgen.spec import Epilogue, Layout, Matmul
from kgen_runtime.backends.vulkan import VulkanBackend
from tests.device.vulkan import cooperative_matrices
from tests.device.vulkan.cooperative_matrices import TARGET, Changes
from tests.device.vulkan.kernels.test_matmul import check_exact, whole_numbers
from tests.device.vulkan.vulkan_support import build, run

EPILOGUE = (Epilogue.BIAS, Epilogue.RELU)
#: Every layout, a remainder of K, edges, a batch, epilogues, other types of output; sums that are
#: stored from the accumulators, and others.
CASES = (
    Matmul(m=64, n=64, k=64),
    Matmul(m=64, n=64, k=72),
    Matmul(m=70, n=72, k=40, layout=Layout.NT, epilogue=EPILOGUE),
    Matmul(m=72, n=200, k=104, layout=Layout.TN, beta=1.0, batch=2),
    Matmul(m=72, n=80, k=40, beta=0.5, ldc=88, epilogue=(*EPILOGUE, Epilogue.RESIDUAL)),
    Matmul(m=136, n=72, k=264, layout=Layout.TT, out_dtype="f32"),
    Matmul(m=136, n=72, k=40, out_dtype="f32", beta=2.0, batch=2, epilogue=EPILOGUE),
    Matmul(m=12, n=136, k=72),
    Matmul(m=64, n=64, k=64, dtype="s8"),
    Matmul(m=1, n=80, k=144, dtype="s8"),
    Matmul(m=80, n=80, k=80, dtype="s8", layout=Layout.TN),
    Matmul(m=72, n=80, k=112, dtype="s8", out_dtype="f32", layout=Layout.NT, alpha=0.5),
    Matmul(
        m=80,
        n=80,
        k=112,
        dtype="s8",
        out_dtype="f16",
        layout=Layout.TT,
        batch=2,
        alpha=0.5,
        epilogue=EPILOGUE,
    ),
)


def cooperative(vulkan: VulkanBackend) -> None:
    for spec in CASES:
        kernel = build(spec, TARGET)
        assert kernel.plan.schedule.mainloop == "coopmat"
        check_exact(vulkan, spec, kernel)
    for out in ("f32", "f16"):
        check_numbers_of_rows(vulkan, out)
    large = build(Matmul(m=128, n=64, k=96), TARGET)
    schedule = large.plan.schedule.override(block_m=128, block_n=64)
    spec = Matmul(m=128, n=64, k=96)
    check_exact(vulkan, spec, build(spec, TARGET, schedule))


def check_numbers_of_rows(vulkan: VulkanBackend, out: str) -> None:
    """An epilogue with a number for each row and one for all is exact."""
    spec = Matmul(
        m=72,
        n=72,
        k=40,
        out_dtype="f32" if out == "f32" else "f16",
        epilogue="x * each + one",
        epilogue_shapes={"each": "mx1", "one": "1"},
    )
    inputs = whole_numbers(spec)
    wanted = inputs["a"].reshape(72, 40).astype("f8") @ inputs["b"].reshape(40, 72)
    wanted = (wanted * inputs["each"][:, None] + inputs["one"]).astype(out.replace("f", "float"))
    assert (run(vulkan, build(spec, TARGET), inputs) == wanted.reshape(-1)).all()


#: Faults of modules for 8x8x8: a barrier, zeros beyond K, a layout, the order and the place of what
#: is transposed, a guard; where words of a matrix of bytes and matrices of the output begin, and a
#: number of the epilogue.
FAULTS: tuple[tuple[Matmul, Changes], ...] = (
    (
        Matmul(m=70, n=72, k=40),
        (
            ("OpControlBarrier %uint_2 %uint_2 %uint_24840", "OpNop"),
            ("%first_a0_row0_inside = OpULessThan", "%first_a0_row0_inside = OpUGreaterThanEqual"),
            ("%next_b0_row1_inside = OpULessThan", "%next_b0_row1_inside = OpUGreaterThanEqual"),
            ("%matrix_b %b0_0_ptr %uint_1", "%matrix_b %b0_0_ptr %uint_0"),
            ("%f16vec2 %transpose_0_0 %transpose_1_0", "%f16vec2 %transpose_1_0 %transpose_0_0"),
            (
                "%b_word0 = OpBitwiseAnd %uint %b_outer %uint_3",
                "%b_word0 = OpBitwiseAnd %uint %b_outer %uint_1",
            ),
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
            (
                "%finish_next = OpIAdd %uint %finish_number %uint_1",
                "%finish_next = OpIAdd %uint %finish_number %uint_2",
            ),
        ),
    ),
    (
        Matmul(m=72, n=72, k=40, epilogue=("bias",)),
        (
            ("%bias_0_0_ptr %uint_0 %uint_0", "%bias_0_0_ptr %uint_0 %uint_2"),
            ("%half %finish_halves 0", "%half %finish_halves 1"),
        ),
    ),
)


def faults() -> Iterator[tuple[Matmul, Changes]]:
    return iter(FAULTS)


def test_products_are_exact_and_without_races(tmp_path: Path) -> None:
    cooperative_matrices.check(__name__, tmp_path)


def test_mutations_are_seen() -> None:
    cooperative_matrices.check_faults(__name__)
