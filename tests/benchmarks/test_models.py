"""Results of whole models beside libraries: gains by several threads."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks.results import Peer, Row, Timing
from tests import needs

needs.module("onnx")

from benchmarks.models.__main__ import counts, library_gain  # noqa: E402
from benchmarks.models.models import MODELS  # noqa: E402


def row(onnxruntime: float | None, openvino: float | None) -> Row:
    times = {"onnxruntime": onnxruntime, "openvino": openvino, "kgen-winograd": 1e-9}
    peers = {
        name: Peer(missing="refused") if time is None else Peer(time=Timing(median=time), ratio=1.0)
        for name, time in times.items()
    }
    return Row(table="models", work="net", peers=peers)


def test_gain_of_the_fastest_library() -> None:
    """The fastest in one thread need not be the fastest in two."""
    model = dataclasses.replace(MODELS[0], peers=("onnxruntime", "openvino"))
    assert library_gain(model, row(6.0, 8.0), row(5.0, 4.0)) == {"library_gain": 1.5}
    assert library_gain(model, row(None, 8.0), row(None, 4.0)) == {"library_gain": 2.0}
    assert library_gain(model, row(None, None), row(None, None)) == {}


def test_numbers_of_threads() -> None:
    assert counts("1,2") == (1, 2)
    for text in ("0", "two", ""):
        with pytest.raises(ValueError):
            counts(text)
