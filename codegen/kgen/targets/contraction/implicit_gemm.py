"""Implicit GEMM: a convolution as a matrix product of its images and its weights.

Matmul plans accept it as a product. They read the images through their access map, so that no
window of the images is ever stored. Images stored as nhwc are operand A, and each row of the output
is a pixel. Images stored as nchw are operand B, and each row of the output is a channel.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property, lru_cache
from typing import Any

from kgen.spec import Conv2d, Extent, ImageLayout, Layout, Matmul, Spec, WeightLayout
from kgen.spec.epilogue import EpilogueOperand
from kgen.targets.batch import BATCH, BatchTerm
from kgen_runtime.manifest import Launch, TensorMap, TensorParam
from kgen_runtime.values import frozen

#: Names that a kernel and its bundle exchange for images stored as nchw.
SWAPPED = {"a": "b", "b": "a"}


def has_channels_first(conv: Conv2d) -> bool:
    """Return whether images and output are stored as nchw."""
    return conv.layout is ImageLayout.NCHW


@frozen
class ImplicitGemm(Matmul):
    """Product that computes the convolution `operation`, with its tensors and its name.

    Kernels call its left operand a, and the right one b. A bundle calls the images of a convolution
    a, and its weights b (:meth:`bundle_name`).
    """

    operation: Conv2d

    @property
    def images(self) -> str:
        """Name of the operand that is the images: a, or b if they are stored as nchw."""
        return "b" if has_channels_first(self.operation) else "a"

    @property
    def key(self) -> str:
        return self.operation.key

    @property
    def parameters(self) -> tuple[TensorParam, ...]:
        named = self.operation.parameters
        return tuple(dataclasses.replace(p, name=self.bundle_name(p.name)) for p in named)

    def bundle_name(self, name: str) -> str:
        """Return the name in a bundle of an argument of the kernel; the inverse is the same."""
        return SWAPPED.get(name, name) if self.images == "b" else name

    @cached_property
    def operands(self) -> tuple[EpilogueOperand, ...]:
        """The epilogue's operands; vectors of the output's channels are along its rows for nchw."""
        if self.images == "a":
            return super().operands
        return tuple(
            dataclasses.replace(o, extent=Extent.M) if o.extent is Extent.N else o
            for o in super().operands
        )

    @property
    def formula(self) -> str:
        return self.operation.formula


@lru_cache(maxsize=1024)
def implicit_gemm(spec: Conv2d) -> ImplicitGemm:
    """Return the product of windows and weights; of a Winograd convolution, that of transformed
    tiles and weights in one position."""
    product = spec.product
    fields = {f.name: getattr(product, f.name) for f in dataclasses.fields(product)}
    if spec.transforms:
        tiles = spec.images * math.prod(-(-n // spec.transforms.tile) for n in spec.out_sizes)
        fields |= {"m": tiles, "k": spec.channels, "lda": spec.channels, "layout": Layout.NN}
        fields |= {"ldb": spec.outputs, "batch_stride_b": None}
    if has_channels_first(spec):
        fields |= _with_channels_first(spec)
    return ImplicitGemm(operation=spec, **fields)


def operand_remarks(spec: Spec) -> dict[str, str]:
    """Return remarks on the arguments of a kernel that exchanges the names of its operands."""
    if not isinstance(spec, ImplicitGemm) or spec.images == "a":
        return {}
    return {name: f", {own} in this kernel" for name, own in SWAPPED.items()}


def bundled_launches(spec: Spec, launches: tuple[Launch, ...]) -> tuple[Launch, ...]:
    """Return launches with the names that a bundle gives to arguments.

    Those of images stored as nchw say nothing of their tiles, which verification counts by pixels
    and channels.
    """
    if not isinstance(spec, ImplicitGemm) or spec.images == "a":
        return launches
    named = (tuple(map(spec.bundle_name, launch.arguments)) for launch in launches)
    return tuple(
        dataclasses.replace(launch, arguments=names, tile=None)
        for launch, names in zip(launches, named, strict=True)
    )


def bundled_maps(spec: Spec, maps: tuple[TensorMap, ...]) -> tuple[TensorMap, ...]:
    """Return tensor maps with the names that a bundle gives to tensors."""
    if not isinstance(spec, ImplicitGemm):
        return maps
    return tuple(dataclasses.replace(m, tensor=spec.bundle_name(m.tensor)) for m in maps)


def _with_channels_first(spec: Conv2d) -> dict[str, Any]:
    """Return the fields of the product of the weights and of images stored as nchw.

    Its batch is the images and the groups. Strides of B are those of single pixels; windows are
    addressed by the access map.
    """
    positions, outputs = math.prod(spec.out_sizes), spec.outputs // spec.groups
    depth, pixels, k = spec.weights[1], math.prod(spec.sizes), math.prod(spec.weights[1:])
    by_k = spec.weight_layout is WeightLayout.HWIO
    # No index of windows is contiguous: kernels that ask for rows along n refuse them.
    of_windows = Layout.TT if by_k else Layout.NT
    layout = (Layout.TN if by_k else Layout.NN) if is_matrix(spec) else of_windows
    sizes = (spec.images, spec.groups)
    strides = {
        "a": (0, outputs if by_k else outputs * k),
        "b": (spec.channels * pixels, depth * pixels),
        "c": (spec.outputs * positions, outputs * positions),
    }
    kept = [number for number, size in enumerate(sizes) if size > 1]
    batched = {
        f"batch_stride_{name}": tuple(each[n] for n in kept)
        if len(kept) > 1
        else each[kept[0]]
        if kept
        else None
        for name, each in strides.items()
    }
    return {
        "m": outputs,
        "n": positions,
        "layout": layout,
        "lda": spec.outputs if by_k else k,
        "ldb": k if layout.b_transposed else positions,
        "ldc": positions,
        "batch": math.prod(sizes),
        "batch_dims": sizes if len(kept) > 1 else None,
        **batched,
    }


def of_all_positions(spec: Matmul) -> Matmul:
    """Return the product with the channels of each position of a Winograd convolution as its K;
    other products as they are."""
    if not isinstance(spec, ImplicitGemm) or spec.operation.transforms is None:
        return spec
    k = positions_of(spec) * spec.operation.channels
    return dataclasses.replace(spec, k=k, lda=k)


def positions_of(spec: Matmul) -> int:
    """Return the positions of a Winograd convolution's transform; 1 for other products."""
    transforms = spec.operation.transforms if isinstance(spec, ImplicitGemm) else None
    return transforms.positions if transforms else 1


def planned_as(spec: Spec) -> Spec:
    """Return the spec that GPU families plan for an operation: an implicit GEMM for a convolution,
    else the spec itself."""
    return implicit_gemm(spec) if isinstance(spec, Conv2d) else spec


def vector_terms(spec: Matmul, extent: Extent, itemsize: int) -> tuple[BatchTerm, ...]:
    """Return the batch terms of a vector along n or m. The products of a batch share the vector;
    the groups of a convolution have output channels of their own."""
    if not isinstance(spec, ImplicitGemm) or spec.operation.groups == 1:
        return ()
    along = Extent.M if spec.images == "b" else Extent.N
    if extent is not along:
        return ()
    name = f"{BATCH}1" if spec.batch_dims else BATCH
    return (BatchTerm(name=name, stride=(spec.m if along is Extent.M else spec.n) * itemsize),)


def is_matrix(conv: Conv2d) -> bool:
    """Return whether the images are a matrix (one per group): windows are single pixels, one after
    the other, without padding."""
    alone = math.prod(conv.kernel) == 1
    return alone and set(conv.strides) == {1} and not any(map(sum, conv.pads))


def are_windows(spec: Matmul) -> bool:
    """Return whether A is the windows of a convolution, and no matrix."""
    if not isinstance(spec, ImplicitGemm) or spec.images == "b":
        return False
    return not is_matrix(spec.operation)
