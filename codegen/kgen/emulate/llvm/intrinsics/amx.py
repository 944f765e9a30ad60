"""Intel AMX: tile configuration, tile loads and stores, and tile products, for one lane.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, LDTILECFG, TDP*,
TILELOADD, TILESTORED. Only the forms whose tile numbers are immediates are supported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgen.emulate.floats import bf16_to_f32
from kgen.emulate.llvm.chunk import fault
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction, immediate
from kgen.emulate.llvm.frontend.program import Build, fixed
from kgen.emulate.llvm.numbers import widen
from kgen.emulate.llvm.types import FLAT, HALF, Array

_TILES = 8
_MAX_ROWS = 16
_ROW_BYTES = 64
_CONFIG_BYTES = 64


@dataclass(kw_only=True)
class _Tiles:
    """Tile registers and their configuration. Bytes beyond a tile's rows and columns stay zero."""

    data: Array = field(default_factory=lambda: np.zeros((_TILES, _MAX_ROWS, _ROW_BYTES), np.uint8))
    rows: Array
    columns: Array
    """Bytes per row of each tile."""


def _configure(ins: LlvmInstruction) -> Callable[[Machine, Array], None]:
    """LDTILECFG: read the 64-byte configuration.

    Byte 0 is the palette, the 16-bit word at 16 + 2t the bytes per row of tile t, and byte 48 + t
    its number of rows.
    """

    def configure(m: Machine, pointer: Array) -> None:
        raw = m.memory.load(m, ins, pointer, _CONFIG_BYTES, 1, FLAT)
        config = raw.view(np.uint8).reshape(-1)
        columns = config[16 : 16 + 2 * _TILES].view(np.uint16).astype(int)
        rows = config[48 : 48 + _TILES].astype(int)
        if (
            config[0] != 1
            or np.count_nonzero(rows > _MAX_ROWS)
            or np.count_nonzero(columns > _ROW_BYTES)
        ):
            raise fault(m, "trap", "not a tile configuration of palette 1", ins, m.selected())
        m.state["tiles"] = _Tiles(rows=rows, columns=columns)

    return configure


def _release(m: Machine) -> None:
    m.state.pop("tiles", None)


def _tiles(m: Machine, ins: LlvmInstruction, *numbers: int) -> _Tiles:
    """Return the tile registers; raise a fault if one of the tiles ``numbers`` is not
    configured."""
    tiles = m.state.get("tiles")
    if not isinstance(tiles, _Tiles) or any(
        number >= _TILES or not tiles.rows[number] or not tiles.columns[number]
        for number in numbers
    ):
        raise fault(m, "trap", f"tiles {numbers} are not configured", ins, m.selected())
    return tiles


def _zero(ins: LlvmInstruction) -> Callable[[Machine, Array], None]:
    tile = immediate(ins.operands[0])

    def zero(m: Machine, _: Array) -> None:
        _tiles(m, ins, tile).data[tile] = 0

    return zero


def _rows(tiles: _Tiles, tile: int, pointer: Array, stride: Array) -> Array:
    """Return the addresses of the tile's rows in memory: [1, row]."""
    step = stride.view(np.int64)
    addresses: Array = pointer + np.arange(tiles.rows[tile]) * step
    return addresses


def _load(ins: LlvmInstruction) -> Callable[[Machine, Array, Array, Array], None]:
    tile = immediate(ins.operands[0])

    def load(m: Machine, _: Array, pointer: Array, stride: Array) -> None:
        tiles = _tiles(m, ins, tile)
        rows, columns = tiles.rows[tile], int(tiles.columns[tile])
        raw = m.memory.load(m, ins, _rows(tiles, tile, pointer, stride), columns, 1, FLAT)
        tiles.data[tile, :rows, :columns] = (
            np.ascontiguousarray(raw).view(np.uint8).reshape(rows, columns)
        )

    return load


def _store(ins: LlvmInstruction) -> Callable[[Machine, Array, Array, Array], None]:
    tile = immediate(ins.operands[0])

    def store(m: Machine, _: Array, pointer: Array, stride: Array) -> None:
        tiles = _tiles(m, ins, tile)
        rows, columns = tiles.rows[tile], int(tiles.columns[tile])
        part = np.ascontiguousarray(tiles.data[tile, :rows, :columns])
        raw = part.view(f"V{columns}").reshape(1, rows)
        m.memory.store(m, ins, _rows(tiles, tile, pointer, stride), raw, 1, FLAT)

    return store


Split = Callable[[Array], Array]
"""Function from a tile's bytes [16, 64] to its elements [16, 16, p], p elements per 4 bytes.

The result type represents a product of two elements exactly.
"""


def _packed(dtype: type[Any], value: Callable[[Array], Array]) -> Split:
    return lambda tile: value(tile.view(dtype)).reshape(_MAX_ROWS, _ROW_BYTES // 4, -1)


_BF16 = _packed(np.uint16, bf16_to_f32)
_F16 = _packed(np.float16, lambda elements: widen(elements, HALF))
# A sum of 64 products of 8-bit integers is exact in float64, whose matrix product numpy hands to
# BLAS.
_S8 = _packed(np.int8, lambda elements: elements.astype(np.float64))
_U8 = _packed(np.uint8, lambda elements: elements.astype(np.float64))


def _multiply(
    of_a: Split, of_b: Split, dtype: type[Any]
) -> Callable[[LlvmInstruction], Callable[..., None]]:
    """TDP*: add the sum over k and p of A[m, k, p] * B[k, n, p] to C[m, n].

    Index p counts the elements packed in 4 bytes.
    """

    def build(ins: LlvmInstruction) -> Callable[..., None]:
        c, a, b = (immediate(operand) for operand in ins.operands)

        def multiply(m: Machine, *_: Array) -> None:
            tiles = _tiles(m, ins, c, a, b)
            if (
                tiles.columns[a] != 4 * tiles.rows[b]
                or tiles.rows[c] != tiles.rows[a]
                or tiles.columns[c] != tiles.columns[b]
            ):
                raise fault(m, "trap", "the tiles' shapes do not match", ins, m.selected())
            left = of_a(tiles.data[a]).reshape(_MAX_ROWS, -1)
            right = of_b(tiles.data[b]).transpose(0, 2, 1).reshape(-1, _MAX_ROWS)
            accumulator = tiles.data[c].view(dtype)
            accumulator += (left @ right).astype(dtype)

        return multiply

    return build


EFFECTS: dict[str, Build] = {
    "llvm.x86.ldtilecfg": _configure,
    "llvm.x86.tilerelease": fixed(_release),
    "llvm.x86.tilezero": _zero,
    "llvm.x86.tileloadd64": _load,
    "llvm.x86.tileloaddt164": _load,
    "llvm.x86.tilestored64": _store,
    "llvm.x86.tdpbf16ps": _multiply(_BF16, _BF16, np.float32),
    "llvm.x86.tdpfp16ps": _multiply(_F16, _F16, np.float32),
    "llvm.x86.tdpbssd": _multiply(_S8, _S8, np.int32),
    "llvm.x86.tdpbsud": _multiply(_S8, _U8, np.int32),
    "llvm.x86.tdpbusd": _multiply(_U8, _S8, np.int32),
    "llvm.x86.tdpbuud": _multiply(_U8, _U8, np.int32),
}
