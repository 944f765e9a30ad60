"""Code that the documentation shows as rendered is what the goldens hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    "how-it-works.md": (
        "vulkan1.3+coopmat/matmul_64x64x128_f16_nn.spvasm",
        "vulkan1.3+coopmat/matmul_64x64x64_f16_nn_to_f32_bias_relu.spvasm",
        "vulkan1.3/relu_3x333_f16.words.spvasm",
        "sm_80/matmul_64x64x128_f16_nn.ptx",
        "sm_90a/matmul_128x64x256_f16_nn.ptx",
        "sm_90a/matmul_128x16x320_f16_nt.ptx",
    ),
    "nvidia-mainloop.md": (
        "sm_80/matmul_64x64x128_f16_nn.ptx",
        "sm_90a/matmul_1024x512x512_f16_nt.ptx",
        "sm_90a/matmul_64x32x1000_f16_nt.ptx",
        "sm_90a/matmul_128x16x320_f16_nt.ptx",
        "sm_90a/matmul_16x128x384_s8_nn_to_s32.ptx",
        "sm_90a/matmul_64x16x96_f32_tt_tf32.ptx",
        "sm_80/matmul_32x32x256_s8_nn_scalea_scaleb_scaleout.ptx",
        "sm_89/matmul_32x32x512_e4m3_nt_to_bf16.ptx",
        "sm_80/matmul_1x64x512_f16_nn.ptx",
        "sm_80/matmul_16x32x88_f32_nn.ptx",
        "sm_80/matmul_32x32x192_f16_nn.ptx",
        "sm_80/matmul_64x32x160_f16_nn.ptx",
    ),
    "amd-mainloop.md": (
        "gfx942/matmul_64x128x256_f16_nt.ll",
        "gfx942/matmul_64x32x384_f16_nn.ll",
        "gfx950/matmul_64x128x192_f16_nn.ll",
    ),
}


@pytest.mark.parametrize("page", PAGES)
def test_excerpts_are_in_a_golden_kernel(page: str) -> None:
    goldens = [(ROOT / "generated" / name).read_text() for name in PAGES[page]]
    text = (ROOT / "docs" / page).read_text()
    excerpts = re.findall(r"```(?:ptx|llvm|spvasm)\n(.*?)```", text, re.DOTALL)
    assert excerpts
    for excerpt in excerpts:
        assert any(excerpt in golden for golden in goldens), excerpt
