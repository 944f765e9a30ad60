"""Operands A and B of a matmul in memory, in the widest accesses that their shape allows."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.errors import ScheduleError
from kgen.schedule import GpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.batch import BatchTerm, batch_terms
from kgen.targets.contraction.access import AccessMap, access_maps
from kgen.targets.epilogue import FusedEpilogue
from kgen.targets.vulkan.plan.memory import WORD, Tensor, bits_of, buffer_of
from kgen_runtime.values import frozen

#: Bytes of the widest access.
WIDEST = 16
#: Scalar types of tensors that are read by single elements. OpFConvert widens f16; other types are
#: read as bits.
_SCALARS = {DType.F32: "float", DType.F16: "half"}


@frozen
class Matrix:
    """Operand A or B in memory, which is contiguous along k or along its edge (m or n).

    Indices count accesses of `width` elements along the contiguous dimension.
    """

    tensor: Tensor
    access: AccessMap

    @property
    def edge(self) -> str:
        return "m" if self.name == "a" else "n"

    @property
    def k_inner(self) -> bool:
        return self.access.inner == "k"

    @property
    def outer_stride(self) -> int:
        """Accesses from one row of contiguous elements to the next."""
        (digit,) = self.access.digits(self.access.outer)
        return digit.stride // self.width

    @property
    def batch_terms(self) -> tuple[BatchTerm, ...]:
        return in_accesses(self.access.batch, self.width)

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def width(self) -> int:
        return self.tensor.width

    @property
    def edge_width(self) -> int:
        """Elements of an access along the edge."""
        return 1 if self.k_inner else self.width

    @property
    def k_width(self) -> int:
        """Elements of an access along k."""
        return self.width if self.k_inner else 1

    @property
    def inner(self) -> str:
        """Name of the contiguous dimension."""
        return "k" if self.k_inner else self.edge

    @property
    def outer(self) -> str:
        return self.edge if self.k_inner else "k"

    @property
    def last_edge(self) -> int:
        """Number of the last access along the edge."""
        return self.access.rows // self.edge_width - 1

    @property
    def last_k(self) -> int:
        """Number of the last access along k."""
        return self.all_k - 1

    @property
    def all_k(self) -> int:
        """Accesses along all of k."""
        return self.access.depth // self.k_width

    @property
    def batched(self) -> bool:
        return bool(self.access.batch)


def widths_of(dtype: DType) -> tuple[int, ...]:
    """Return the possible elements of an access, most first: whole words, or a single element."""
    per_word = WORD // dtype.itemsize
    found = [words * per_word for words in (4, 2, 1) if words * WORD <= WIDEST]
    return tuple(dict.fromkeys((*found, 1)))


def widest(dtype: DType, dividing: tuple[int, ...], most: int) -> int:
    """Return the most elements of an access, up to `most`, that divide all these numbers."""
    return next(
        w for w in widths_of(dtype) if w == 1 or (w <= most and all(n % w == 0 for n in dividing))
    )


def tensor(spec: Matmul, target: Target, name: str, width: int) -> Tensor:
    """Return a parameter as a buffer that is accessed `width` elements at a time."""
    p = spec.parameter(name)
    single = _SCALARS.get(p.dtype, bits_of(p.dtype)) if name in "ab" else _stored(p.dtype)
    binding = [q.name for q in spec.parameters].index(name)
    return buffer_of(p, binding, target, width, single)


def _stored(dtype: DType) -> str:
    """Return the scalar type of a tensor of the epilogue: f32, or bits."""
    return "float" if dtype is DType.F32 else bits_of(dtype)


def plan_matrix(spec: Matmul, target: Target, access: AccessMap, most: int) -> Matrix:
    """Return A or B, in the widest accesses of up to `most` elements."""
    width = widest(access.dtype, (access.run, *access.starts, access.start), most)
    return Matrix(tensor=tensor(spec, target, access.name, width), access=access)


def refuse_guards(spec: Matmul, schedule: GpuMatmul) -> None:
    """Check that operands are matrices, which a main loop requires. Raises ScheduleError."""
    if any(not access.is_affine for access in access_maps(spec)):
        raise ScheduleError(
            f"mainloop={schedule.mainloop} reads matrices only, and {spec.key} reads operand a "
            "under guards; try mainloop=fma"
        )


def in_accesses(terms: tuple[BatchTerm, ...], width: int) -> tuple[BatchTerm, ...]:
    return tuple(BatchTerm(name=t.name, stride=t.stride // width) for t in terms)


def output_width(spec: Matmul, most: int) -> int:
    """Return the number of outputs of a row in one access; arguments of the output's shape have
    equally wide accesses."""
    terms = batch_terms(spec, "c")
    dividing = (spec.n, spec.out_strides[1], *(t.stride for t in terms))
    shared = [p.dtype for p in spec.parameters if p.name not in "ab"]
    return min(widest(dtype, dividing, most) for dtype in shared)


def epilogue_widths(spec: Matmul, width: int) -> Mapping[str, int]:
    """Return the elements in an access of each tensor of the epilogue, the output included."""
    along_n = {a.name for a in FusedEpilogue(spec=spec).arguments if a.varies_along_n}
    names = [p.name for p in spec.parameters if p.name not in "ab"]
    return {name: width if name == "out" or name in along_n else 1 for name in names}
