"""wgmma matrix descriptors: decoding, and addresses of a matrix in shared memory (PTX ISA
9.7.15.5.1).

Fields of a descriptor:

| bits | field |
|---|---|
| 0 to 13 | start address >> 4 |
| 16 to 29 | leading byte offset >> 4 |
| 32 to 45 | stride byte offset >> 4 |
| 49 to 51 | base offset |
| 62 to 63 | swizzle |

Matrices consist of 16-byte chunks. S is the bytes of the swizzle, or 16 without one. A row is a row
of A or a column of B.

- k-major: the chunks of a row are contiguous (without swizzle: a leading offset apart). Successive
  rows of a group of eight are S bytes apart, and groups are a stride offset apart.
- mn-major: a chunk holds several rows of one k. The chunks of one k are contiguous in runs of S
  bytes, and runs are a leading offset apart. Successive k of a group of eight are S bytes apart,
  and groups are a stride offset apart. Without swizzle, the leading offset separates groups, and
  the stride offset separates runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from kgen.emulate.ptx.asynchronous.tensor_box import CHUNK, swizzle
from kgen.emulate.ptx.asynchronous.warpgroups import WARPS
from kgen.emulate.ptx.chunk import Violation
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Source
from kgen.emulate.ptx.memory.accesses import Region
from kgen.emulate.ptx.ops.matrix.fragments import DECODERS, ELEMENTS
from kgen.emulate.ptx.types import Array
from kgen_runtime.values import frozen

_FIELD = (1 << 14) - 1
_SPANS = (0, 128, 64, 32)
#: Bytes of k that one instruction reads, of a row of A or a column of B.
K_BYTES = 32
_GROUP = 8


@frozen
class Descriptor:
    """Fields of a descriptor, in bytes; `base_offset` is not scaled."""

    start: int
    leading: int
    stride: int
    base_offset: int
    span: int

    @staticmethod
    def of(bits: int) -> Descriptor:
        return Descriptor(
            start=(bits & _FIELD) << 4,
            leading=(bits >> 16 & _FIELD) << 4,
            stride=(bits >> 32 & _FIELD) << 4,
            base_offset=bits >> 49 & 7,
            span=_SPANS[bits >> 62 & 3],
        )


@lru_cache(maxsize=512)
def chunk_addresses(descriptor: Descriptor, rows: int, size: int, mn_major: bool) -> Array:
    """Return the shared addresses of a matrix's chunks: [row, 2] if k-major, else [k, rows * size /
    16].

    Elements have `size` bytes; the matrix has 32 bytes of k.
    """
    pitch = descriptor.span or CHUNK
    in_row = pitch // CHUNK
    if mn_major:
        k = np.arange(K_BYTES // size)[:, None]
        chunk = np.arange(rows * size // CHUNK)[None, :]
        apart, groups = descriptor.leading, descriptor.stride
        if not descriptor.span:
            apart, groups = groups, apart
        linear = chunk % in_row * CHUNK + chunk // in_row * apart
        linear = linear + k % _GROUP * pitch + k // _GROUP * groups
    else:
        row = np.arange(rows)[:, None]
        chunk = np.arange(K_BYTES // CHUNK)[None, :]
        across = CHUNK if descriptor.span else descriptor.leading
        linear = chunk * across + row % _GROUP * pitch + row // _GROUP * descriptor.stride
    return swizzle(descriptor.start + linear, descriptor.span)


@frozen
class Operands:
    """Operand of every warpgroup: its matrix [C, rows, k], and the regions of shared memory that it
    reads.

    The entry is None for a warpgroup that does not take part.
    """

    matrices: list[Array | None]
    regions: list[list[Region]]


@frozen
class SharedMatrix:
    """Matrix operand in shared memory: A, or the transpose of B."""

    machine: Machine
    descriptor: Source
    rows: int
    element: str
    mn_major: bool
    #: Whether each warp reads its quarter of the rows, as for A; else each reads all rows.
    by_rows: bool
    #: Registers of the operand: none.
    slots: tuple[int, ...] = ()

    def read(self, warps: Array) -> Operands:
        """Return the matrices of these warps' warpgroups [C, W]."""
        machine = self.machine
        bits = machine.everywhere(self.descriptor())
        count = warps.shape[1] // WARPS
        matrices: list[Array | None] = [None] * count
        regions: list[list[Region]] = [[] for _ in range(count)]
        seen: dict[bytes, tuple[Array, Array]] = {}
        for g in range(count):
            first = g * WARPS
            ctas = warps[:, first]
            if not np.count_nonzero(ctas):
                continue
            self._check_alike(bits[:, first : first + WARPS], ctas)
            words = np.where(ctas, bits[:, first, 0], bits[int(ctas.argmax()), first, 0])
            if words.tobytes() not in seen:
                seen[words.tobytes()] = self._gather(words, ctas, first)
            matrices[g], addresses = seen[words.tobytes()]
            for warp, part in enumerate(self._parts(addresses), first):
                issuer = np.array([warp * WARP])
                region = Region(address=part, unit=CHUNK, issuer=issuer, ctas=ctas)
                regions[g].append(region.narrowed(machine.cluster))
        return Operands(matrices=matrices, regions=regions)

    def check_by_others(self, regions: Sequence[Region]) -> None:
        """Check the reads by the warps of a warpgroup other than the one that the regions name."""
        if self.by_rows:
            return
        for region in regions:
            for warp in range(1, WARPS):
                self.machine.shared.check_read(replace(region, issuer=region.issuer + warp * WARP))

    def _parts(self, addresses: Array) -> list[Array]:
        """Divide the chunks [C, n] by the warp that reads them; one part if every warp reads
        all."""
        if not self.by_rows:
            return [addresses]
        # Rows are the outer dimension of a k-major matrix, and the inner one of an mn-major matrix.
        outer = K_BYTES * ELEMENTS[self.element] // 4 if self.mn_major else 1
        chunks = addresses.reshape(len(addresses), outer, WARPS, -1)
        return [chunks[:, :, warp].reshape(len(addresses), -1) for warp in range(WARPS)]

    def _gather(self, words: Array, ctas: Array, warp: int) -> tuple[Array, Array]:
        """Return the matrix [C, rows, k] and the addresses of its chunks [C or 1, n] for
        descriptors [C]."""
        data = self.machine.shared.data
        distinct = np.unique(words)
        size = 4 // ELEMENTS[self.element]
        found: list[tuple[Array, Array]] = []
        for bits in distinct:
            descriptor = Descriptor.of(int(bits))
            addresses = chunk_addresses(descriptor, self.rows, size, self.mn_major)
            self._check_inside(descriptor, addresses, ctas & (words == bits), warp)
            inside = np.minimum(addresses, data.shape[1] - CHUNK)
            chosen = slice(None) if len(distinct) == 1 else words == bits
            found.append((gather(data[chosen], inside, self.element, self.mn_major), addresses))
        if len(distinct) == 1:
            matrix, addresses = found[0]
            return matrix, addresses.reshape(1, -1)
        matrices = np.empty((len(words), *found[0][0].shape[1:]), np.float32)
        places = np.empty((len(words), found[0][1].size), np.int64)
        for bits, (matrix, addresses) in zip(distinct, found, strict=True):
            matrices[words == bits], places[words == bits] = matrix, addresses.reshape(-1)
        return matrices, places

    def _check_alike(self, bits: Array, ctas: Array) -> None:
        differs = (bits != bits[:, :1, :1]) & ctas[:, None, None]
        if np.count_nonzero(differs):
            message = "the threads of a warpgroup give different matrix descriptors"
            raise Violation("divergent-warp-instruction", message, differs.any(2, keepdims=True))

    def _check_inside(
        self, descriptor: Descriptor, addresses: Array, ctas: Array, warp: int
    ) -> None:
        lanes = np.zeros((len(ctas), self.machine.warps, 1), bool)
        lanes[:, warp] = ctas[:, None]
        if descriptor.base_offset:
            message = "a matrix descriptor with a base offset is not supported"
            raise Violation("trap", message, lanes)
        limit = self.machine.shared.nbytes
        if int(addresses.max()) > limit - CHUNK:
            message = (
                f"the matrix of a descriptor reaches to byte {int(addresses.max()) + CHUNK} "
                f"of {limit} bytes of shared memory"
            )
            raise Violation("out-of-bounds", message, lanes)


def gather(data: Array, addresses: Array, element: str, mn_major: bool) -> Array:
    """Return the numbers of a matrix, [C, rows, k], from shared memory [C, bytes]."""
    chunks = data.reshape(len(data), -1, CHUNK).take(addresses // CHUNK, axis=1)
    words = np.ascontiguousarray(chunks).reshape(*chunks.shape[:2], -1).view(np.uint32)
    parts = DECODERS[element](words)
    stacked = np.stack(parts, axis=-1) if len(parts) > 1 else parts[0][..., None]
    matrix = stacked.reshape(len(data), addresses.shape[0], -1).astype(np.float32, copy=False)
    return matrix.swapaxes(1, 2) if mn_major else matrix
