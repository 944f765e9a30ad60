"""Epilogue of a matmul: a function of the module that is called for each output."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from kgen.spec import Extent
from kgen.targets.contraction.implicit_gemm import vector_terms
from kgen.targets.epilogue import ACCUMULATOR, EpilogueArgument, FusedEpilogue
from kgen.targets.expressions import Rendered
from kgen.targets.vulkan.expressions import SpirvRenderer
from kgen.targets.vulkan.plan.matmul.outputs import SumGroupStore, row_name
from kgen.targets.vulkan.plan.memory import Tensor
from kgen_runtime.values import frozen

#: Names of the function and of its first parameter. Names of its values begin with the first.
FUNCTION, SUMS = "epilogue", "epilogue_sums"


@frozen
class EpilogueFunction:
    """Function of the module that applies the epilogue to sums."""

    fused: FusedEpilogue
    renderer = SpirvRenderer()

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters of the function, ids without %: an accumulator, and a value of each
        argument."""
        return (SUMS, *(f"{FUNCTION}_{a.stem}" for a in self.fused.arguments))

    @property
    def function_type(self) -> str:
        """Type of the function; other functions with one parameter share it."""
        others = len(self.parameters) > 1
        return f"float_from_{len(self.parameters)}_floats" if others else "float_from_float"

    @cached_property
    def rendered(self) -> Rendered:
        """Body of the function."""
        names = (ACCUMULATOR, *(a.name for a in self.fused.arguments))
        values = dict(zip(names, (f"%{p}" for p in self.parameters), strict=True))
        return self.renderer.render(self.fused.expression, values, f"%{FUNCTION}_result")

    def prefix(self, extent: Extent) -> str:
        """Return the prefix of the id of an index in a vector along n or m."""
        return "vector_" if vector_terms(self.fused.spec, extent, 1) else ""

    def index(self, argument: EpilogueArgument, store: SumGroupStore) -> str:
        """Return the id of the index of an argument's values for an access."""
        return {
            Extent.FULL: f"at_{store.name}",
            Extent.N: self.prefix(Extent.N) + store.column,
            Extent.M: self.prefix(Extent.M) + row_name(store.m),
            Extent.ONE: "uint_0",
        }[argument.extent]

    def values(self, argument: EpilogueArgument, store: SumGroupStore) -> tuple[str, ...]:
        """Return the ids of an argument's values for the members of an access."""
        stem = f"{argument.stem}_{store.name}"
        width = len(store.members) if argument.varies_along_n else 1
        return tuple(f"{stem}_{i if width > 1 else 0}" for i in range(len(store.members)))

    def functions(self, tensors: tuple[Tensor, ...]) -> tuple[str, ...]:
        """Return the helper functions that the kernel calls, callees first."""
        names = [
            f"{'widen' if t.read_only else 'narrow'}_{t.dtype}"
            for t in tensors
            if (t.is_narrow and t.scalar != "half") or (t.packed > 1 and not t.read_only)
        ]
        if self.fused.changes:
            names += [*self.renderer.functions(self.fused.expression), FUNCTION]
        return tuple(dict.fromkeys(names))

    @property
    def constants(self) -> Mapping[str, str]:
        return self.renderer.constants(self.fused.expression)
