"""Products by cooperative matrices, executed by lavapipe 26 under the newest validation layer."""

from __future__ import annotations

from pathlib import Path

from tests.drivers import LAVAPIPE, LAYER_LOG

#: Every layout, a remainder of K, edges, a batch, an epilogue, other types of output.
CORRECT = """
from kgen.spec import DType, Epilogue, Layout, Matmul
from tests.device.vulkan.test_matmul import check_exact
from tests.device.vulkan.vulkan_support import build, open_vulkan

vulkan = open_vulkan()
epilogue = (Epilogue.BIAS, Epilogue.RELU)
for spec in (
    Matmul(m=64, n=64, k=64),
    Matmul(m=64, n=64, k=72),
    Matmul(m=70, n=72, k=40, layout=Layout.NT, epilogue=epilogue),
    Matmul(m=72, n=200, k=104, layout=Layout.TN, beta=1.0, batch=2),
    Matmul(m=136, n=72, k=264, layout=Layout.TT, out_dtype=DType.F32),
):
    kernel = build(spec, "vulkan1.3+coopmat")
    assert kernel.plan.schedule.mainloop == "coopmat"
    check_exact(vulkan, spec, kernel)
large = build(Matmul(m=128, n=64, k=96), "vulkan1.3+coopmat")
schedule = large.plan.schedule.override(block_m=128, block_n=64)
check_exact(vulkan, large.plan.spec, build(large.plan.spec, "vulkan1.3+coopmat", schedule))
vulkan.close()
print("all exact")
"""

#: What is wrong with the module for 8x8x8 on purpose, and that the check above sees it.
WRONG = """
import dataclasses
from kgen.spec import Matmul
from kgen.targets.vulkan.spirv import assemble
from tests.device.vulkan.test_matmul import check_exact
from tests.device.vulkan.vulkan_support import build, open_vulkan

vulkan = open_vulkan()
spec = Matmul(m=70, n=72, k=40)
kernel = build(spec, "vulkan1.3+coopmat")
*_, machine, source = kernel.assembled.artifacts
text = source.data.decode()
for old, new in (
    ("OpControlBarrier %uint_2 %uint_2 %uint_24840", "OpNop"),
    ("%first_a0_inside = OpULessThan", "%first_a0_inside = OpUGreaterThanEqual"),
    ("%matrix_b %b0_0_ptr %uint_0", "%matrix_b %b0_0_ptr %uint_1"),
    ("%row_first %uint_70", "%row_first %uint_64"),
):
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
    assert out.count("seen:") == 4, out
