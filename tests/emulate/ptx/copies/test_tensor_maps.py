"""Tensor maps: errors of the copy, and errors of the driver's encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.emulate import EmulationFault, TensorMap, UnknownInstruction
from kgen.errors import EmulationError
from tests.emulate.ptx.bulk_programs import WORDS, launch, load_program, program


def small_map() -> TensorMap:
    return TensorMap(buffer=WORDS, dtype="u32", shape=(64, 8), box=(8, 8))


def test_what_goes_wrong_with_maps() -> None:
    out = np.zeros(64, np.uint32)
    source = load_program(2)
    with pytest.raises(EmulationFault, match=r"cvta\.param"):
        launch(source.replace("cvta.param.u64 %map, %map;", ""), small_map(), WORDS, out, 256)
    three = load_program(3)
    with pytest.raises(EmulationFault, match="2 dimensions, not 3"):
        launch(three, small_map(), WORDS, out, 256)
    moved = source.replace("[%tile], [%map", "[%tile+64], [%map")
    with pytest.raises(EmulationFault, match="misaligned"):
        launch(moved, small_map(), WORDS, out, 256)
    with pytest.raises(EmulationFault, match="out-of-bounds"):
        launch(
            source.replace("[%tile], [%map", "[%tile+65408], [%map"), small_map(), WORDS, out, 256
        )
    im2col = program(
        "  @%first cp.async.bulk.tensor.3d.shared::cluster.global.im2col"
        ".mbarrier::complete_tx::bytes [%tile], [%map, {%c0, %c1, %c2}], [%bar], {%mask};"
    )
    with pytest.raises(UnknownInstruction, match="im2col"):
        launch(im2col, small_map(), WORDS, out, 256)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "e4m3"}, "cannot have dtype e4m3"),
        ({"shape": ()}, "0 dimensions"),
        ({"box": (8,)}, "1 values in box"),
        ({"box": (8, 257)}, "257 in box"),
        ({"box": (8, 0)}, "0 in box"),
        ({"strides": (40,)}, "stride of 40 bytes"),
        ({"strides": (64, 64)}, "1 strides"),
        ({"box": (6, 8), "dtype": "u16"}, "rows of 12 bytes"),
        ({"box": (16, 8), "swizzle": 32}, "longer than the swizzle"),
        ({"box": (4, 8), "swizzle": 32}, "must fill the swizzle"),
        ({"swizzle": 16}, "cannot have swizzle 16"),
        ({"element_strides": (1, 9)}, "9 in element_strides"),
        ({"fill": "nan"}, "cannot fill u32"),
        ({"fill": "one"}, "cannot have fill one"),
        ({"shape": (64, 999)}, "its buffer has 16384"),
    ],
)
def test_maps_that_the_driver_would_refuse(change: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"dtype": "u32", "shape": (64, 8), "box": (8, 8), **change}
    with pytest.raises(EmulationError, match=message):
        TensorMap(buffer=WORDS, **fields)
