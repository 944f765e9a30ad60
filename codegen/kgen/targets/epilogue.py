"""Epilogue of a product for all families: one expression on the sums before they are stored.

Its inputs are the sums and the arguments that are read beside them. A family loads the arguments by
their extent, renders the expression, and stores the result.
"""

from __future__ import annotations

from functools import cached_property

from kgen.ops import Expression, expand, steps
from kgen.ops import Primitive as P
from kgen.ops.expression import constant, fma, infix, inputs, node, select, substituted, variable
from kgen.spec import DType, Extent, Matmul, Scale
from kgen.spec.epilogue import EXTENTS, PRODUCT
from kgen_runtime.values import frozen

#: Inputs of the expression: the sums, and their factor if a kernel computes it only once. Operands
#: never have these names.
ACCUMULATOR, FACTOR = "A @ B", "%factor"


@frozen
class EpilogueArgument:
    """Tensor that the epilogue reads."""

    name: str
    extent: Extent
    dtype: DType

    @property
    def varies_along_n(self) -> bool:
        return self.extent in (Extent.N, Extent.FULL)

    @property
    def stem(self) -> str:
        """Prefix of its values' names, so that an operand's name equals no name of the kernel."""
        return self.name if self.name in OWN_NAMES else f"operand_{self.name}"

    def bytes_to(self, element: int) -> int:
        """Return the bytes from the argument's first element to this one."""
        return element * self.dtype.itemsize


#: Names of arguments that no kernel gives to anything else.
OWN_NAMES = frozenset({*EXTENTS, "c", "out", "scale_a", "scale_b", "scale_out"})


@frozen
class FusedEpilogue:
    """Expression from the sums to the stored numbers."""

    spec: Matmul
    #: Whether beta C is added by a multiply-add.
    fused: bool = True
    #: Whether a thread computes the factor of the sums once, as an input of the expression.
    hoists: bool = False

    @cached_property
    def expression(self) -> Expression:
        """scale_out * epilogue(alpha * scale_a * scale_b * sums + beta * C), in calls."""
        spec, sums = self.spec, variable(ACCUMULATOR)
        factor = variable(FACTOR) if self.hoists_factor else self.factor
        product = sums if factor is None else node(P.MUL, sums, factor)
        if spec.beta != 0.0:
            c = variable("c")
            product = fma(c, spec.beta, product) if self.fused else product + c * spec.beta
        found = substituted(spec.epilogue_calls, {PRODUCT: product})
        if found.truth:
            found = select(found, 1.0, 0.0)
        return node(P.MUL, found, variable("scale_out")) if Scale.OUT in spec.scales else found

    @cached_property
    def factor(self) -> Expression | None:
        """Factor of the sums; None if it is 1."""
        scales = (f"scale_{scale}" for scale in self.spec.scales if scale is not Scale.OUT)
        found = constant(self.spec.alpha)
        for name in scales:
            found = node(P.MUL, found, variable(name))
        return None if found is constant(1.0) else found

    @property
    def factor_inputs(self) -> tuple[str, ...]:
        return () if self.factor is None else inputs(self.factor)

    @property
    def hoists_factor(self) -> bool:
        """Whether the factor is such an input; one that is an argument needs no computation."""
        computed = self.factor is not None and bool(self.factor.arguments)
        return self.hoists and computed and bool(self.factor_inputs)

    @property
    def changes(self) -> bool:
        """Whether the epilogue does more than round."""
        return self.expression is not variable(ACCUMULATOR)

    @cached_property
    def arguments(self) -> tuple[EpilogueArgument, ...]:
        """Arguments that are read beside the sums, in the order of the kernel's arguments."""
        extents = {operand.name: operand.extent for operand in self.spec.operands}
        read = {*inputs(self.expression), *self.factor_inputs}
        return tuple(
            EpilogueArgument(
                name=p.name, extent=extents.get(p.name, self._extent(p.name)), dtype=p.dtype
            )
            for p in self.spec.parameters
            if p.name in read
        )

    def _extent(self, name: str) -> Extent:
        return Extent.FULL if name == "c" else Extent.ONE

    def of(self, extent: Extent) -> tuple[EpilogueArgument, ...]:
        return tuple(a for a in self.arguments if a.extent is extent)

    @property
    def full(self) -> tuple[EpilogueArgument, ...]:
        """Arguments with the output's shape and strides."""
        return self.of(Extent.FULL)

    @property
    def vectors(self) -> tuple[EpilogueArgument, ...]:
        """Arguments with one number per column, then arguments with one number per row."""
        return (*self.by_column, *self.by_row)

    @property
    def by_column(self) -> tuple[EpilogueArgument, ...]:
        return self.of(Extent.N)

    @property
    def by_row(self) -> tuple[EpilogueArgument, ...]:
        return self.of(Extent.M)

    @property
    def numbers(self) -> tuple[EpilogueArgument, ...]:
        """Arguments that are a single number."""
        return self.of(Extent.ONE)

    @cached_property
    def line(self) -> str:
        """Expression in infix notation."""
        return infix(self.expression)

    @property
    def primitives(self) -> frozenset[P]:
        return frozenset(step.primitive for step in steps(expand(self.expression)))
