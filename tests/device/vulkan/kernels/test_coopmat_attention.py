"""Attention by cooperative matrices, executed by lavapipe 26 under the newest validation layer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kgen import pipeline, targets
from kgen.spec import Attention
from kgen.targets.base import BuiltKernel
from kgen_runtime.backends.vulkan import VulkanBackend
from tests import attention_specs
from tests.attention_specs import BOTTOM
from tests.device.vulkan import cooperative_matrices
from tests.device.vulkan.cooperative_matrices import TARGET, Changes
from tests.device.vulkan.support_table import executed
from tests.device.vulkan.vulkan_support import open_vulkan
from tests.drivers import LAVAPIPE

attention = partial(attention_specs.attention, dtype="f16")
#: Remainders of queries, keys and heads; every option.
CASES = (
    attention(17, 33, 128, heads=2, out=16, layout="bshd", lse=True),
    attention(9, 1, 8, out=72),
    attention(1, 129, 40, heads=12, **BOTTOM, out_dtype="f32"),
    attention(20, 37, 16, heads=2, mask=(2, 20, 37), softcap=5.0, causal=True),
    attention(9, 74, 24, batch=2, heads=2, mask=(2, 1, 1, 74), mask_dtype="f32"),
    attention(17, 37, 8, mask=(17, 37), mask_dtype="bool", mask_value=-3.0, empty_rows="nan"),
    attention(
        20, 64, 16, heads=6, kv_heads=3, page_size=32, pages=2, kv_layout="bhsd",
        v_strides=(1776, 592, 24), mask=(20, 64), mask_dtype="bool", empty_rows="no_nan", lse=True,
    ),
)  # fmt: skip
#: Executed by instrumented kernels, which see races.
OBSERVED = (
    attention(19, 70, 32, heads=4, kv_heads=2, batch=2, out=48, **BOTTOM, kv_length=True, lse=True),
    attention(12, 96, 8, heads=4, kv_heads=2, batch=3, page_size=12, pages=17, **BOTTOM, window=60),
)


def built(spec: Attention) -> BuiltKernel:
    kernel = pipeline.kernel(spec, targets.find(TARGET))
    assert kernel.plan.schedule.mainloop == "coopmat"
    return kernel


def cooperative(vulkan: VulkanBackend) -> None:
    for spec in OBSERVED:
        check_exact(vulkan, spec, built(spec))


def check_exact(vulkan: VulkanBackend, spec: Attention, kernel: BuiltKernel) -> None:
    assert executed(vulkan, kernel) == {"wrong": []}, spec.key


#: Faults of modules for 8x8x8, by what is wrong.
FAULTS: tuple[tuple[Attention, Changes], ...] = (
    (
        attention(20, 70, 8, batch=2, kv_length=True),
        (
            # No barriers; a dropped rescale, and factors along the wrong axis; a stale maximum.
            ("OpControlBarrier %uint_2 %uint_2 %uint_24840", "OpNop"),
            ("OpStore %own_factor_ptr %shrink_q0", "OpStore %own_factor_ptr %float_1"),
            ("%factors0_ptr %uint_1 %uint_0", "%factors0_ptr %uint_0 %uint_0"),
            ("%scaled_q0_k1 %max_q0_next", "%scaled_q0_k1 %max_q0"),
            # A key too many; keys behind the last one, whose numbers are NaN.
            ("OpULessThan %bool %key", "OpULessThanEqual %bool %key"),
            ("%next_v0_row0_key_read = OpExtInst %uint %glsl UMin",
             "%next_v0_row0_key_read = OpExtInst %uint %glsl UMax"),
            # Swapped fragments: keys by rows, weights of other keys, keys of a pair of values.
            ("%matrix_b %keys_0_0_ptr %uint_1", "%matrix_b %keys_0_0_ptr %uint_0"),
            ("%matrix_sums %weights_0_1 %values_0_1", "%matrix_sums %weights_0_0 %values_0_1"),
            ("%f16vec2 %transpose_0_0 %transpose_1_0", "%f16vec2 %transpose_1_0 %transpose_0_0"),
            # Numbers past the end of a head; results of another column.
            ("%first_k0_inside = OpULessThan %bool", "%first_k0_inside = OpUGreaterThan %bool"),
            ("%take_lane = OpIMul %uint %lane %uint_4", "%take_lane = OpIMul %uint %lane %uint_8"),
        ),
    ),
    (
        attention(12, 48, 8, batch=2, page_size=12, pages=9),
        (
            ("%next_k0_column = OpUDiv %uint %next_k0_key_read",
             "%next_k0_column = OpUDiv %uint %block_key"),
            ("%first_v0_row1_entry = OpIAdd %uint %table_row",
             "%first_v0_row1_entry = OpIAdd %uint %uint_0"),
        ),
    ),
)  # fmt: skip


def faults() -> Iterator[tuple[Attention, Changes]]:
    return iter(FAULTS)


def test_groups_and_pages_without_races(tmp_path: Path) -> None:
    cooperative_matrices.check(__name__, tmp_path)


def test_options_and_remainders() -> None:
    LAVAPIPE.python("-m", __name__)


def test_mutations_are_seen() -> None:
    cooperative_matrices.check_faults(__name__)


def main() -> None:
    vulkan = open_vulkan()
    for spec in CASES:
        check_exact(vulkan, spec, built(spec))
    vulkan.close()


if __name__ == "__main__":
    main()
