"""wmma.load, .mma and .store (PTX ISA 9.7.14.4).

PTX does not specify the element of each lane. Here lane l holds the elements l n to l n + n - 1 of
the row-major matrix, for n elements per lane. If the ISA's fragment has more elements than the
matrix, the matrix is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.lanes import settle
from kgen.emulate.ptx.asynchronous.tensor_core import multiply_add
from kgen.emulate.ptx.chunk import Mask, Violation
from kgen.emulate.ptx.exec.ctas import WARP
from kgen.emulate.ptx.exec.operations import Action, Collective, Source
from kgen.emulate.ptx.frontend.decode import U32, Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand
from kgen.emulate.ptx.ops.matrix.fragments import DECODERS, ELEMENTS
from kgen.emulate.ptx.ops.memory.loadstore import Note, access_note, by_window, loader, space_of
from kgen.emulate.ptx.types import TYPES, UNSIGNED, Array, PtxType, any_of, narrow, pack
from kgen_runtime.values import frozen

_SHAPES = {"m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16)}
_SHAPES_TF32 = {"m16n16k8": (16, 16, 8)}
#: Types of A and B, with the possible types of C and D.
_ACCUMULATORS = {
    "f16": ("f16", "f32"),
    **dict.fromkeys(("bf16", "tf32"), ("f32",)),
    **dict.fromkeys(("s8", "u8"), ("s32",)),
}
#: Bytes of a row that one lane accesses.
_PIECE = 16


@frozen
class _Fragment:
    """Matrix of rows x columns over a warp, with `count` elements of a type in each lane."""

    rows: int
    columns: int
    type: PtxType
    count: int

    @property
    def in_register(self) -> int:
        """Elements per register."""
        return ELEMENTS.get(self.type.name, 1)

    @property
    def registers(self) -> int:
        return self.count // self.in_register

    def positions(self, slot: int) -> tuple[Array, Array]:
        """Return row and column of every lane's element number `slot`."""
        flat = (np.arange(WARP) * self.count + slot) % (self.rows * self.columns)
        return flat // self.columns, flat % self.columns

    def elements(self, registers: Sequence[Array]) -> list[Array]:
        """Return each lane's elements as numbers."""
        decode = DECODERS.get(self.type.name)
        if decode is None:
            return [register.view(self.type.dtype) for register in registers]
        return [np.asarray(part, np.float32) for r in registers for part in decode(r)]

    def matrix(self, registers: Sequence[Array]) -> Array:
        """Assemble the matrix [C, W, rows, columns]: operands in f32, accumulators in their own
        type."""
        whole = [
            np.broadcast_to(part, (*part.shape[:2], WARP)) for part in self.elements(registers)
        ]
        stacked = np.stack(np.broadcast_arrays(*whole), axis=-1)
        flat = stacked.reshape(*stacked.shape[:2], -1)[..., : self.rows * self.columns]
        return flat.reshape(*flat.shape[:2], self.rows, self.columns)

    def from_matrix(self, matrix: Array) -> list[Array]:
        """Return the registers that hold a matrix of accumulators."""
        lanes = matrix.reshape(*matrix.shape[:2], WARP, self.count)
        parts = [np.ascontiguousarray(lanes[..., i]) for i in range(self.count)]
        if self.in_register == 1:
            return parts
        bits = [narrow(self.type, part) for part in parts]
        return [pack(low, high) for low, high in zip(bits[::2], bits[1::2], strict=True)]


def _fragment(which: str, shape: tuple[int, int, int], type_: PtxType) -> _Fragment:
    """Return a fragment by the ISA's table of registers: f16 operands have 16 elements per lane in
    every shape."""
    m, n, k = shape
    rows, columns = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    operand = which in ("a", "b")
    require(type_.name in (_ACCUMULATORS if operand else ("f16", "f32", "s32")))
    require((k == 8) == (type_.name == "tf32") or not operand)
    count = 16 if operand and type_.name == "f16" else rows * columns // WARP
    return _Fragment(rows=rows, columns=columns, type=type_, count=count)


def _wmma(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    step = words.choice("load", "mma", "store")
    if step == "mma":
        return _multiply(decoder, words, operands)
    which = words.one_of("a", "b", "c", "d")
    require((step == "load") != (which == "d"))
    type_ = words.type()
    space = space_of(words)
    shape = _shape(words)
    by_row = words.choice("row", "col") == "row"
    words.finish()
    fragment = _fragment(which, shape, type_)
    registers, place = (0, 1) if step == "load" else (1, 0)
    elements = decoder.elements(operands[registers])
    require(len(elements) == fragment.registers and len(operands) in (2, 3))
    decoder.shared_access(type_.size) if space in ("", "shared") else None
    addresses = _Addresses(
        fragment=fragment,
        base=decoder.address(operands[place]),
        stride=decoder.source(operands[2], U32) if len(operands) == 3 else None,
        by_row=by_row,
    )
    if step == "load":
        return Collective(action=_load(decoder, elements, fragment, addresses, space))
    return Collective(action=_store(decoder, elements, fragment, addresses, space))


def _shape(words: OpcodeWords) -> tuple[int, int, int]:
    require(words.flag("sync") and words.flag("aligned"))
    shapes = _SHAPES | _SHAPES_TF32
    shape = shapes.get(words.choice(*shapes) or "")
    if shape is None:
        raise Unsupported
    return shape


@frozen
class _Addresses:
    """Addresses of the elements of a matrix in memory; the stride is in elements."""

    fragment: _Fragment
    base: Source
    stride: Source | None
    by_row: bool

    def of(self, slot: int, mask: Mask) -> Array:
        base = self.base()
        settled = settle(base, mask)
        if settled.shape[2] > 1 and np.count_nonzero(settled != settled[..., :1]) and mask is None:
            message = "the lanes of a warp give different addresses"
            raise Violation("divergent-warp-instruction", message, settled != settled[..., :1])
        rows, columns = self.fragment.positions(slot)
        outer, inner = (rows, columns) if self.by_row else (columns, rows)
        return base + (outer * self._stride() + inner) * self.fragment.type.size

    def _stride(self) -> Array | int:
        if self.stride is not None:
            return self.stride().astype(np.int64)
        return self.fragment.columns if self.by_row else self.fragment.rows

    def count(self, note: Note, mask: Mask) -> None:
        """Count the access to the matrix as 16-byte pieces, eight rows at a time, like ldmatrix.

        The ISA does not specify how a warp accesses it; ptxas translates wmma like this.
        """
        lines, elements = self.fragment.rows, self.fragment.columns
        if not self.by_row:
            lines, elements = elements, lines
        size = self.fragment.type.size
        pieces = np.arange(lines * elements * size // _PIECE)
        base, stride = settle(self.base(), mask)[..., :1], self._stride()
        warps = np.ones((1, 1, 1), bool) if mask is None else any_of(mask, 2, keepdims=True)
        for first in range(0, len(pieces), WARP):
            piece = (first + np.arange(WARP)).reshape(1, 1, WARP)
            at = base + piece % lines * stride * size + piece // lines * _PIECE
            note(at, warps & (piece < len(pieces)))


def _load(
    decoder: Decoder,
    elements: Sequence[Operand],
    fragment: _Fragment,
    addresses: _Addresses,
    space: str,
) -> Action:
    targets = [decoder.target(element, TYPES["b32"]) for element in elements]
    size, together = fragment.type.size, fragment.in_register
    load = loader(decoder, space, size)
    note = access_note(decoder, space, _PIECE, store=False)

    def run(mask: Mask) -> None:
        if note is not None:
            addresses.count(note, mask)
        parts = [load(addresses.of(s, mask), size, 1, mask)[0] for s in range(fragment.count)]
        for target, start in zip(targets, range(0, len(parts), together), strict=True):
            target(_joined(parts[start : start + together], 8 * size), mask)

    return run


def _joined(parts: Sequence[Array], bits: int) -> Array:
    """Combine elements of `bits` bits into one word, the first lowest."""
    word: Array = parts[0].astype(np.uint32)
    for i, part in enumerate(parts[1:], 1):
        word = word | part.astype(np.uint32) << np.uint32(i * bits)
    return word


def _store(
    decoder: Decoder,
    elements: Sequence[Operand],
    fragment: _Fragment,
    addresses: _Addresses,
    space: str,
) -> Action:
    sources = decoder.sources(elements, TYPES["b32"])
    machine, size = decoder.machine, fragment.type.size
    note = access_note(decoder, space, _PIECE, store=True)

    def run(mask: Mask) -> None:
        if note is not None:
            addresses.count(note, mask)
        words = [np.ascontiguousarray(source())[..., None] for source in sources]
        parts_of = [word.view(UNSIGNED[size]) for word in words]
        values = [part[..., i] for part in parts_of for i in range(fragment.in_register)]
        for slot, value in enumerate(values):
            address = addresses.of(slot, mask)
            parts = by_window(machine, address, mask) if not space else [(space, address, mask)]
            for part_space, at, lanes in parts:
                memory = machine.shared if part_space == "shared" else machine.memory
                memory.store(at, [value], size, lanes)

    return run


def _multiply(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    """wmma.mma: D = A B + C. The modifiers .row and .col describe how A and B were loaded and have
    no effect here."""
    shape = _shape(words)
    saturates = words.flag("satfinite")
    types: list[PtxType] = []
    while words.last in TYPES:
        types.insert(0, words.type())
    for _ in range(2):
        words.choice("row", "col")
    words.finish()
    if len(types) == 2:
        types = [types[0], TYPES["f16"], TYPES["f16"], types[1]]
    require(len(types) == 4 and types[1] is types[2] and len(operands) == 4)
    d, a, b, c = (
        _fragment(which, shape, type_) for which, type_ in zip("dabc", types, strict=True)
    )
    require(all(t.name in _ACCUMULATORS[types[1].name] for t in (types[0], types[3])))
    require(not saturates or types[0].name == "s32")
    word = TYPES["b32"]
    targets = [decoder.target(e, word) for e in decoder.elements(operands[0])]
    a_read, b_read, c_read = (
        decoder.sources(decoder.elements(o), TYPES["f32"] if f.type.name == "f32" else word)
        for o, f in zip(operands[1:], (a, b, c), strict=True)
    )
    counts = (len(targets), len(a_read), len(b_read), len(c_read))
    require(counts == (d.registers, a.registers, b.registers, c.registers))

    adder = multiply_add(decoder.machine.launch.numerics, types[1].name)

    def run(mask: Mask) -> None:
        left, right, start = (
            fragment.matrix([read() for read in reads])
            for fragment, reads in ((a, a_read), (b, b_read), (c, c_read))
        )
        if types[0].name == "s32":
            total = _as_s32(left @ right, start, saturates)
        elif adder is not None:
            total = adder(left, right.swapaxes(-1, -2), start)
        else:
            total = left @ right + start
        for target, value in zip(targets, d.from_matrix(total), strict=True):
            target(value.view(np.uint32), mask)

    return Collective(action=run)


def _as_s32(product: Array, start: Array, saturates: bool) -> Array:
    """Add product and start; the sum wraps around or saturates. Products are exact in f32."""
    total = product.astype(np.int64) + start.astype(np.int64)
    limits = np.iinfo(np.int32)
    return (total.clip(limits.min, limits.max) if saturates else total).astype(np.int32)


BUILDERS: dict[str, Builder] = {"wmma": _wmma}
