"""Operands of register tiles in their loop along K, and the tiles' arguments."""

from __future__ import annotations

from kgen.spec import Extent
from kgen.targets.cpu.plan.addresses import Tensors
from kgen.targets.epilogue import FusedEpilogue
from kgen_runtime.values import frozen


@frozen
class TileLoop:
    """A and B of the current block of K, as register tiles read them.

    `a_block` and `b_block` are pointers to the block's corners, `a_tiles` to what tiles read of A.
    The strides are bytes: `a_m` and `a_k` from one row and one step of K of A to the next, `b_row`
    from one step of B to the next, `b_in_rows` the same before B is packed, `b_column` and `b_step`
    from one column and one vector of columns to the next. The loop counts to `steps` by `step`; a
    step is `depth` of K.
    """

    a_block: str
    b_block: str
    a_tiles: str
    a_m: int
    a_k: int
    b_row: int
    b_in_rows: int
    b_column: int
    b_step: int
    steps: str
    step: int = 1
    depth: int = 1


@frozen
class TileArguments:
    """Tensors, besides A and B, whose corners a tile is given."""

    is_direct: bool
    tensors: Tensors
    epilogue: FusedEpilogue
    acc_base: str

    @property
    def pointers(self) -> tuple[str, ...]:
        if not self.is_direct:
            return ("acc",)
        e = self.epilogue
        return (*self.tensors.out_like, *(a.stem for a in (*e.by_column, *e.by_row, *e.numbers)))

    @property
    def bases(self) -> dict[str, str]:
        """Pointer to the block's corner in each of them."""
        if not self.is_direct:
            return {"acc": self.acc_base}
        return {name: place.base for name, place in self.tensors.out_origins.items()}

    def offset(self, tensor: str, prefix: str) -> str:
        """Return the bytes from the block's corner to a tile's in one of them."""
        extents = {a.stem: a.extent for a in self.epilogue.arguments if a.extent != Extent.FULL}
        if extents.get(tensor) == Extent.ONE:
            return "0"
        return f"%{prefix}.{tensor}.offset" if tensor in extents else f"%{prefix}.corner"
