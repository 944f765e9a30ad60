"""Cross-lane data movement in a wave: readlane, bpermute, swizzle, DPP, permlane.

Source: LLVM "User Guide for AMDGPU Backend" (intrinsics) and the sections "DPP", "DS_SWIZZLE_B32"
and "V_PERMLANE16_B32" of the AMD RDNA3 and CDNA3 instruction set manuals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.types import Array

_ROW = 16
"""Lanes per DPP row."""


def _read_first_lane(m: Machine, value: Array) -> Array:
    if value.shape[1] == 1:
        return value
    if m.mask is None:
        return m.of_wave(m.waves(value)[:, :, 0])
    first = m.waves(m.mask).argmax(axis=2)
    return _from_lanes(m, value, m.of_wave(first))


def _read_lane(m: Machine, value: Array, lane: Array) -> Array:
    if value.shape[1] == 1:
        return value
    return _from_lanes(m, value, lane.astype(np.int64) % m.wave)


def _write_lane(m: Machine, value: Array, lane: Array, old: Array) -> Array:
    """V_WRITELANE, ``writelane(value, lane, old)``: one lane gets ``value``, the others keep
    ``old``."""
    return np.where(m.lane_numbers() % m.wave == lane % m.wave, value, old)


def _bpermute(m: Machine, address: Array, value: Array) -> Array:
    """DS_BPERMUTE: each lane reads the lane at its byte address / 4; an inactive source gives 0."""
    source = (address >> np.uint32(2)).astype(np.int64) % m.wave
    result = _from_lanes(m, value, source)
    if m.mask is None:
        return result
    live = _from_lanes(m, m.selected(), source)
    return np.where(live, result, result.dtype.type(0))


def _swizzle(ins: LlvmInstruction) -> Callable[[Machine, Array, Array], Array]:
    """DS_SWIZZLE: permute the lanes of a group by a constant pattern.

    Bit mode reads lane ``((i & and) | or) ^ xor`` within 32 lanes; quad mode permutes four lanes.
    """
    pattern = immediate(ins.operands[1])

    def swizzle(m: Machine, value: Array, _: Array) -> Array:
        lane = m.lane_numbers() % m.wave
        if pattern & 0x8000:
            source = (lane & ~3) | (pattern >> (2 * (lane & 3))) & 3
        else:
            keep, force, flip = pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31
            source = (lane & ~31) | ((lane & keep | force) ^ flip) & 31
        return _from_lanes(m, value, source)

    return swizzle


def _dpp_source(control: int, lane: Array, wave: int) -> tuple[Array, Array]:
    """Return the lane of the wave that each lane reads under a DPP control, and whether it exists.

    Raises TypeError for an undefined control.
    """
    row, at = lane & ~(_ROW - 1), lane & (_ROW - 1)
    amount = control & 15
    if control <= 0xFF:
        return (lane & ~3) | (control >> (2 * (lane & 3))) & 3, np.ones_like(lane, np.bool_)
    kind = control & 0x1F0
    within: Array | None = None
    if kind == 0x100:  # row_shl
        within = at + amount
    elif kind == 0x110:  # row_shr
        within = at - amount
    elif kind == 0x120:  # row_ror
        within = (at - amount) % _ROW
    elif control == 0x140:  # row_mirror
        within = _ROW - 1 - at
    elif control == 0x141:  # row_half_mirror
        within = at ^ 7
    elif kind == 0x150:  # row_share, row_newbcast
        within = np.full_like(at, amount)
    elif kind == 0x160:  # row_xmask
        within = at ^ amount
    if within is not None:
        return row + within % _ROW, (within >= 0) & (within < _ROW)
    if control == 0x142:  # row_bcast15: the last lane of a row to the whole next row
        return row - 1, row > 0
    if control == 0x143:  # row_bcast31: lane 31 to the upper half
        return np.full_like(lane, 31), lane >= 32
    if control in (0x130, 0x134):  # wave_shl, wave_rol
        return (lane + 1) % wave, (lane < wave - 1) | (control == 0x134)
    if control in (0x138, 0x13C):  # wave_shr, wave_ror
        return (lane - 1) % wave, (lane > 0) | (control == 0x13C)
    raise TypeError(f"DPP control {control:#x}")


def _dpp(
    m: Machine, old: Array, value: Array, control: int, row_mask: int, bank_mask: int, bound: bool
) -> Array:
    lane = m.lane_numbers() % m.wave
    source, exists = _dpp_source(control, lane, m.wave)
    source = np.where(exists, source, lane)
    result = _from_lanes(m, value, source)
    valid = exists if m.mask is None else exists & _from_lanes(m, m.selected(), source)
    result = np.where(valid, result, result.dtype.type(0) if bound else old)
    enabled = (row_mask >> (lane // _ROW) & 1 & (bank_mask >> (lane // 4 % 4))).astype(np.bool_)
    return result if enabled.all() else np.where(enabled, result, old)


def _check_dpp(control: int) -> None:
    """Raise TypeError for an undefined DPP control; the decoder adds the instruction to the
    message."""
    _dpp_source(control, np.zeros((1, 1), np.int64), _ROW)


def _update_dpp(ins: LlvmInstruction) -> Callable[..., Array]:
    control, row_mask, bank_mask, bound = (immediate(operand) for operand in ins.operands[2:])
    _check_dpp(control)

    def update(m: Machine, old: Array, value: Array, *_: Array) -> Array:
        return _dpp(m, old, value, control, row_mask, bank_mask, bool(bound))

    return update


def _move_dpp(ins: LlvmInstruction) -> Callable[..., Array]:
    control, row_mask, bank_mask, bound = (immediate(operand) for operand in ins.operands[1:])
    _check_dpp(control)

    def move(m: Machine, value: Array, *_: Array) -> Array:
        zero = np.zeros((1, 1), value.dtype)
        return _dpp(m, zero, value, control, row_mask, bank_mask, bool(bound))

    return move


def _permlane16(ins: LlvmInstruction) -> Callable[..., Array]:
    """V_PERMLANE16: each lane reads the lane of its row that its four bits of the selectors name.

    V_PERMLANEX16 reads from the other row of the pair instead.
    """
    other_row = _ROW if "permlanex16" in ins.callee else 0

    def permute(m: Machine, old: Array, value: Array, low: Array, high: Array, *_: Array) -> Array:
        lane = m.lane_numbers() % m.wave
        at = lane % _ROW
        selector = np.where(at < 8, low, high).astype(np.int64)
        source = ((lane & ~(_ROW - 1)) ^ other_row) + (selector >> (4 * (at % 8)) & 15)
        return _from_lanes(m, value, source)

    return permute


def _swap_halves(span: int) -> Callable[[LlvmInstruction], Callable[..., tuple[Array, Array]]]:
    """V_PERMLANE16_SWAP and V_PERMLANE32_SWAP: exchange groups of ``span`` lanes.

    The odd groups of the first operand change places with the even groups of the second.
    """

    def build(ins: LlvmInstruction) -> Callable[..., tuple[Array, Array]]:
        def swap(m: Machine, first: Array, second: Array, *_: Array) -> tuple[Array, Array]:
            lane = m.lane_numbers() % m.wave
            odd = (lane // span) % 2 == 1
            return (
                np.where(odd, _from_lanes(m, second, lane ^ span), first),
                np.where(odd, second, _from_lanes(m, first, lane ^ span)),
            )

        return swap

    return build


def _dpp8(ins: LlvmInstruction) -> Callable[[Machine, Array, Array], Array]:
    """DPP8: lane i of each eight reads the lane that bits 3i to 3i+2 of the selector name."""
    selector = immediate(ins.operands[1])

    def move(m: Machine, value: Array, _: Array) -> Array:
        lane = m.lane_numbers() % m.wave
        return _from_lanes(m, value, (lane & ~7) | (selector >> (3 * (lane & 7))) & 7)

    return move


def _push(m: Machine, address: Array, value: Array) -> Array:
    """DS_PERMUTE: each lane sends its value to the lane at its byte address / 4.

    The highest sender wins. A lane without a sender gets 0.
    """
    target = (address >> np.uint32(2)).astype(np.int64) % m.wave
    lane = m.lane_numbers()
    rows = max(len(address), len(value), 1 if m.mask is None else len(m.mask))
    shape = (rows, m.lanes)
    to = np.broadcast_to(lane - lane % m.wave + target, shape)
    sent = np.broadcast_to(value, shape)
    live = np.broadcast_to(np.True_ if m.mask is None else m.mask, shape)
    row = np.broadcast_to(np.arange(rows)[:, None], shape)
    result = np.zeros(shape, value.dtype)
    result[row[live], to[live]] = sent[live]
    return result


def _other_half(m: Machine, value: Array) -> Array:
    """V_PERMLANE64: exchange the halves of a wave of 64; a wave of 32 keeps its values."""
    lane = m.lane_numbers() % m.wave
    return _from_lanes(m, value, lane ^ 32 if m.wave == 64 else lane)


def _permlane16_var(ins: LlvmInstruction) -> Callable[..., Array]:
    """V_PERMLANE16_VAR: each lane reads the lane of its row that its own selector names.

    V_PERMLANEX16_VAR reads from the other row of the pair instead.
    """
    other_row = _ROW if "permlanex16" in ins.callee else 0

    def permute(m: Machine, old: Array, value: Array, selector: Array, *_: Array) -> Array:
        lane = m.lane_numbers() % m.wave
        source = ((lane & ~(_ROW - 1)) ^ other_row) + (selector.astype(np.int64) & 15)
        return _from_lanes(m, value, source)

    return permute


def _set_inactive(m: Machine, value: Array, other: Array) -> Array:
    """Return the first operand in active lanes and the second in inactive ones."""
    return value if m.mask is None else np.where(m.mask, value, other)


def _from_lanes(m: Machine, value: Array, source: Array) -> Array:
    """Return the value of lane ``source`` of the same wave: [workgroup | 1, lane]."""
    if value.shape[1] == 1:
        return value
    lane = m.lane_numbers()
    absolute = lane - lane % m.wave + source
    rows = max(len(value), len(absolute))
    whole = np.broadcast_to(value, (rows, *value.shape[1:]))
    if len(absolute) == 1:
        return whole[:, absolute[0]]
    return np.take_along_axis(whole, np.broadcast_to(absolute, (rows, m.lanes)), axis=1)


EFFECTS: dict[str, Build] = {
    "llvm.amdgcn.readfirstlane": fixed(_read_first_lane),
    "llvm.amdgcn.readlane": fixed(_read_lane),
    "llvm.amdgcn.writelane": fixed(_write_lane),
    "llvm.amdgcn.ds.bpermute": fixed(_bpermute),
    "llvm.amdgcn.ds.swizzle": _swizzle,
    "llvm.amdgcn.update.dpp": _update_dpp,
    "llvm.amdgcn.mov.dpp": _move_dpp,
    "llvm.amdgcn.permlane16": _permlane16,
    "llvm.amdgcn.permlanex16": _permlane16,
    "llvm.amdgcn.permlane16.swap": _swap_halves(16),
    "llvm.amdgcn.permlane32.swap": _swap_halves(32),
    "llvm.amdgcn.mov.dpp8": _dpp8,
    "llvm.amdgcn.ds.permute": fixed(_push),
    "llvm.amdgcn.permlane64": fixed(_other_half),
    "llvm.amdgcn.permlane16.var": _permlane16_var,
    "llvm.amdgcn.permlanex16.var": _permlane16_var,
    "llvm.amdgcn.set.inactive": fixed(_set_inactive),
}
