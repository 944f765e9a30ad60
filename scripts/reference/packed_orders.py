"""Order of a prepacked B on each CPU target: columns of a panel, and contiguous elements of K."""

from __future__ import annotations

from kgen import pipeline
from kgen.spec import DType, Layout, Matmul
from kgen.spec.choices import BType
from kgen.targets.base import Target
from kgen.targets.cpu import FAMILY
from kgen_runtime.manifest import TensorParam
from scripts.reference.markdown import rows

#: Types of A and of B.
TYPES = (
    (DType.F32, None),
    (DType.F16, None),
    (DType.BF16, None),
    (DType.F64, None),
    (DType.S8, None),
    (DType.F32, BType.S8),
    (DType.F32, BType.S4),
)


def table() -> str:
    """Return one row per target and one column per type."""
    header = ("target", *(f"{a} by {b}" if b else f"{a}" for a, b in TYPES))
    cells = [
        (f"`{target.name}`", *(order(target, a, b) for a, b in TYPES)) for target in FAMILY.targets
    ]
    return rows(header, cells)


def order(target: Target, dtype: DType, b_dtype: BType | None) -> str:
    """Return the width and depth of a panel, and the sizes that K and N are rounded up to."""
    packing = _b(target, dtype, b_dtype, n=320, k=640).packing
    if packing is None:
        return "not packed"
    width, depth = packing.width, packing.depth
    text = f"{width} x {depth}"
    if packing.runs:
        return text
    k_unit = _padded(target, dtype, b_dtype, n=320, k=1)[0]
    n_padded = _padded(target, dtype, b_dtype, n=2 * width + 1, k=640)[1]
    if k_unit > depth:
        text += f", K to {k_unit}"
    return f"{text}, N to {2 * width}" if n_padded > 3 * width else text


def _padded(
    target: Target, dtype: DType, b_dtype: BType | None, *, n: int, k: int
) -> tuple[int, int]:
    """Return K and N of the packed tensor."""
    panels, steps, width, depth = _b(target, dtype, b_dtype, n=n, k=k).shape[-4:]
    return steps * depth, panels * width


def _b(target: Target, dtype: DType, b_dtype: BType | None, *, n: int, k: int) -> TensorParam:
    layout = Layout.NT if b_dtype is BType.S4 else Layout.NN
    spec = Matmul(m=9, n=n, k=k, dtype=dtype, b_dtype=b_dtype, layout=layout, constant=("b",))
    return pipeline.plan(spec, target).parameters[1]
