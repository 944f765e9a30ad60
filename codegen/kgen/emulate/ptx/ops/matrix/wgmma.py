"""wgmma.fence, .mma_async, .commit_group and .wait_group (PTX ISA 9.7.15)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.asynchronous.tensor_core import MultiplyAdd, multiply_add
from kgen.emulate.ptx.asynchronous.warpgroup_fragments import LAYOUTS, FragmentLayout
from kgen.emulate.ptx.asynchronous.warpgroups import WARPS, Warpgroups
from kgen.emulate.ptx.asynchronous.wgmma_descriptor import Operands, SharedMatrix
from kgen.emulate.ptx.chunk import Mask
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Collective, Operation, Source
from kgen.emulate.ptx.frontend.decode import Builder, Decoder
from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords, Unsupported, require
from kgen.emulate.ptx.frontend.syntax import Operand, Register, VectorOperand
from kgen.emulate.ptx.ops.matrix import fragments
from kgen.emulate.ptx.types import TYPES, Array
from kgen.errors import EmulationError
from kgen_runtime.values import frozen

_B64, ROWS = TYPES["b64"], 64
_DEPTHS = {
    **dict.fromkeys(("f16", "bf16"), 16),
    "tf32": 8,
    **dict.fromkeys(("e4m3", "e5m2", "s8", "u8"), 32),
}
_ACCUMULATORS = {
    **dict.fromkeys(("f16", "e4m3", "e5m2"), ("f16", "f32")),
    **dict.fromkeys(("bf16", "tf32"), ("f32",)),
    **dict.fromkeys(("s8", "u8"), ("s32",)),
}
_FAMILIES = {
    **{name: (name,) for name in ("f16", "bf16", "tf32")},
    **dict.fromkeys(("e4m3", "e5m2"), ("e4m3", "e5m2")),
    **dict.fromkeys(("s8", "u8"), ("s8", "u8")),
}
_SHAPES = {f"m64n{n}k{k}": (n, k) for n in range(8, 257, 8) for k in (8, 16, 32)}
#: Columns of 8-bit integer products: multiples of 8 up to 24, then of 16.
_INTEGER_COLUMNS = (8, 16, 24, *range(32, 257, 16))
_REGISTERS_OF_A = 4
#: Multiply-adds of a product that OpenBLAS computes on one thread; its threads would wait for each
#: other.
_ONE_THREAD = 1 << 18


def _wgmma(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Operation:
    step = words.choice("fence", "mma_async", "commit_group", "wait_group")
    require(words.flag("sync") and words.flag("aligned"))
    if step == "mma_async":
        return _multiply(decoder, words, operands)
    words.finish()
    products, checks = decoder.engine(Warpgroups), decoder.machine.checks
    if step == "fence":
        return Collective(action=products.fence if checks else lambda mask: None)
    if step == "commit_group":
        return Collective(action=products.commit)
    require(step == "wait_group")
    pending = decoder.constant(operands[0])
    return Collective(action=lambda mask: products.wait(pending, mask))


# ---------------------------------------------------------------------- mma_async


@frozen
class _WgmmaForm:
    """Parsed opcode of a wgmma; `scale_a` and `scale_b` are 1 or -1."""

    columns: int
    depth: int
    d_type: str
    a_type: str
    b_type: str
    scale_a: int
    scale_b: int
    saturate: bool


def _multiply(decoder: Decoder, words: OpcodeWords, operands: Sequence[Operand]) -> Collective:
    if decoder.machine.warps < WARPS:
        raise EmulationError(f"{decoder.kernel.name}: wgmma needs a warpgroup, 128 threads")
    shape = _SHAPES.get(words.choice(*_SHAPES) or "")
    b_type, a_type, d_type = (words.ending(*_FAMILIES, "f32", "s32") for _ in range(3))
    saturate = d_type == "s32" and words.flag("satfinite")
    words.finish()
    if shape is None or shape[1] != _DEPTHS.get(a_type) or b_type not in _FAMILIES[a_type]:
        raise Unsupported
    require(d_type in _ACCUMULATORS[a_type])
    require(d_type != "s32" or shape[0] in _INTEGER_COLUMNS)
    scales, majors = _immediates(decoder, operands, a_type)
    form = _WgmmaForm(
        columns=shape[0],
        depth=shape[1],
        d_type=d_type,
        a_type=a_type,
        b_type=b_type,
        scale_a=scales[0],
        scale_b=scales[1],
        saturate=saturate,
    )
    layout = LAYOUTS[d_type]
    d = decoder.elements(operands[0])
    require(len(d) == layout.registers(form.columns))
    sources = decoder.sources(d, layout.type)
    for element in d:
        decoder.target(element, layout.type)
    product = _Product(
        machine=decoder.machine,
        products=decoder.engine(Warpgroups),
        form=form,
        layout=layout,
        slots=_slots(decoder, d),
        c=sources,
        scale_d=decoder.predicate(operands[3]),
        a=_operand_a(decoder, operands[1], form, majors[0]),
        b=_shared(decoder, operands[2], form.columns, b_type, majors[1]),
        adder=multiply_add(decoder.machine.launch.numerics, a_type),
    )
    product.products.slots.update((*product.slots, *product.a.slots))
    return Collective(action=product.run, warps=WARPS)


def _immediates(
    decoder: Decoder, operands: Sequence[Operand], a_type: str
) -> tuple[tuple[int, int], tuple[bool, bool]]:
    """Return imm-scale-a and imm-scale-b, and whether A and B are mn-major (imm-trans)."""
    values = [decoder.constant(operand) for operand in operands[4:]]
    if a_type in ("s8", "u8"):
        require(not values)
        return (1, 1), (False, False)
    trans = 0
    if a_type in ("f16", "bf16"):
        trans = 1 if isinstance(operands[1], VectorOperand) else 2
    require(len(values) == 2 + trans and {*values[:2]} <= {1, -1} and {*values[2:]} <= {0, 1})
    majors = [False] * (2 - trans) + [value == 1 for value in values[2:]]
    return (values[0], values[1]), (majors[0], majors[1])


def _slots(decoder: Decoder, operands: Sequence[Operand]) -> tuple[int, ...]:
    slots = decoder.machine.slots
    names = [operand.name for operand in operands if isinstance(operand, Register)]
    require(len(names) == len(operands) and len(set(names)) == len(names))
    return tuple(slots[name] for name in names)


def _shared(
    decoder: Decoder,
    operand: Operand,
    rows: int,
    element: str,
    mn_major: bool,
    *,
    by_rows: bool = False,
) -> SharedMatrix:
    decoder.shared_access(16)
    return SharedMatrix(
        machine=decoder.machine,
        descriptor=decoder.source(operand, _B64),
        rows=rows,
        element=element,
        mn_major=mn_major,
        by_rows=by_rows,
    )


@frozen
class _RegisterMatrix:
    """Matrix A in registers: for each warp, the A fragment of an mma.m16n8."""

    registers: tuple[Source, ...]
    element: str
    slots: tuple[int, ...]

    def read(self, warps: Array) -> Operands:
        values = [read() for read in self.registers]
        by_warp = fragments.matrix(values, self.element, 2)
        count = warps.shape[1] // WARPS
        whole = np.broadcast_to(by_warp, (*warps.shape, *by_warp.shape[2:]))[:, : count * WARPS]
        depth = by_warp.shape[-1]
        by_group = whole.reshape(len(warps), count, ROWS, depth)
        matrices: list[Array | None] = [by_group[:, g] for g in range(count)]
        return Operands(matrices=matrices, regions=[[] for _ in range(count)])


def _operand_a(
    decoder: Decoder, operand: Operand, form: _WgmmaForm, mn_major: bool
) -> SharedMatrix | _RegisterMatrix:
    if not isinstance(operand, VectorOperand):
        return _shared(decoder, operand, ROWS, form.a_type, mn_major, by_rows=True)
    require(len(operand.elements) == _REGISTERS_OF_A)
    return _RegisterMatrix(
        registers=tuple(decoder.sources(operand.elements, TYPES["b32"])),
        element=form.a_type,
        slots=_slots(decoder, operand.elements),
    )


@frozen
class _Product:
    """Product of one wgmma.mma_async: D = A B + D, or A B where scale-d is false."""

    machine: Machine
    products: Warpgroups
    form: _WgmmaForm
    layout: FragmentLayout
    slots: tuple[int, ...]
    c: Sequence[Source]
    scale_d: Source
    a: SharedMatrix | _RegisterMatrix
    b: SharedMatrix
    adder: MultiplyAdd | None

    def run(self, mask: Mask) -> None:
        products = self.products
        warps = products.warps(mask)
        if self.machine.checks:
            products.refuse_pending(self.slots, warps, but=self.slots)
            products.refuse_pending(self.a.slots, warps, inputs=False)
            products.check_fenced((*self.slots, *self.a.slots), warps)
        a, b = self.a.read(warps), self.b.read(warps)
        start = self._start(warps)
        result = np.empty((*warps.shape, 16, self.form.columns), start.dtype)
        for g in range(warps.shape[1] // WARPS):
            here = slice(g * WARPS, (g + 1) * WARPS)
            left, right = a.matrices[g], b.matrices[g]
            if right is not None and left is not None:
                c = start[:, here].reshape(len(warps), ROWS, -1)
                d = self._multiply_add(left, right, c)
                result[:, here] = d.reshape(len(warps), WARPS, 16, -1)
        regions = [[*of_a, *of_b] for of_a, of_b in zip(a.regions, b.regions, strict=True)]
        for region in (r for by_group in regions for r in by_group):
            self.machine.shared.begin_read(region)
        if self.machine.checks:
            for of_b in b.regions:
                self.b.check_by_others(of_b)
        products.begin(self.slots, self.a.slots, warps, result, self.layout.registers_of, regions)

    def _start(self, warps: Array) -> Array:
        """Return C [C, W, 16, columns]: the pending matrix, or the content of the registers; zero
        where scale-d is false."""
        shape = (*warps.shape, 16, self.form.columns)
        dtype = np.int32 if self.form.d_type == "s32" else np.float32
        scaled = self.machine.everywhere(self.scale_d()).any(axis=2) & warps
        if not np.count_nonzero(scaled):
            return np.broadcast_to(np.zeros((), dtype), shape)
        found = self.products.pending_matrix(self.slots, warps)
        if found is not None and (found[1] | ~scaled).all():
            matrix = found[0]
        else:
            matrix = self.layout.matrix([read() for read in self.c], warps.shape)
            if found is not None:
                matrix = np.where(found[1][..., None, None], found[0], matrix)
        if (scaled | ~warps).all():
            return matrix
        return np.where(scaled[..., None, None], matrix, dtype(0))

    def _multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        form = self.form
        if form.scale_a * form.scale_b < 0:
            a = -a
        if self.adder is not None:
            return self.layout.rounded(self.adder(a, b, c))
        product = matrix_product(a, b)
        if form.d_type != "s32":
            return self.layout.rounded(product + c)
        exact: Array = product.astype(np.int64) + c
        if form.saturate:
            exact = exact.clip(-(1 << 31), (1 << 31) - 1)
        return exact.astype(np.int32)


def matrix_product(a: Array, b: Array) -> Array:
    """Multiply A by the transpose of B, in blocks of columns that one thread multiplies."""
    rows, depth = a.shape[-2:]
    columns = max(8, _ONE_THREAD // (rows * depth))
    parts = [
        np.matmul(a, b[..., start : start + columns, :].swapaxes(-1, -2))
        for start in range(0, b.shape[-2], columns)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


BUILDERS: dict[str, Builder] = {"wgmma": _wgmma}
