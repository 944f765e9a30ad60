"""The manifest converts to JSON and back without loss, and refuses unknown fields."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from typing import Any

import pytest

from kgen.errors import BundleError, VersionError
from kgen.spec import Matmul
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import (
    ArtifactEntry,
    KernelEntry,
    Launch,
    Manifest,
    Packing,
    Resources,
    TargetEntry,
    TensorMap,
    TensorParam,
    Tile,
    Tolerance,
    Workspace,
)
from kgen_runtime.schema.manifest_json import to_json
from tests.manifests import from_json

SPEC = Matmul(m=2, n=3, k=4)
MANIFEST = Manifest(
    kernels=(
        KernelEntry(
            key=SPEC.key,
            op="matmul",
            spec=SPEC.to_json(),
            target=TargetEntry(name="sm_80", family="cuda", arch="sm_80"),
            schedule={"mainloop": "mma", "block_m": 16},
            parameters=SPEC.parameters,
            workspaces=(Workspace(name="partial", nbytes=64, initial="zero"),),
            tensor_maps=(
                TensorMap(
                    name="a_map",
                    tensor="a",
                    dtype=DType.F16,
                    shape=(2, 4),
                    strides=(4, 1),
                    box=(16, 64),
                    swizzle=128,
                ),
            ),
            launches=(
                Launch(
                    entry_point=SPEC.key,
                    grid=(1, 1, 1),
                    block=(32, 1, 1),
                    arguments=("a_map", "b", "out", "partial"),
                    tile=Tile(shape=(1, 2, 3), extent=(1, 16, 16), axes=(2, 1, 0)),
                ),
            ),
            artifacts=(
                ArtifactEntry(
                    file="sm_80/x.cubin",
                    format="cubin",
                    role="machine-code",
                    sha256="00",
                    nbytes=5,
                    requires={"compute_capability": [8, 0]},
                ),
            ),
            resources=Resources(registers=64, spills=0),
            tolerance=Tolerance(
                accumulate=DType.F32, factor=2.0, subnormals="flushed", reason="truncating adders"
            ),
        ),
    ),
    provenance={"kgen": "0.1.0"},
)


def _data() -> Any:
    return json.loads(json.dumps(to_json(MANIFEST)))


def test_round_trip() -> None:
    assert from_json(_data()) == MANIFEST


def test_extent_of_a_strided_tensor() -> None:
    param = TensorParam(name="a", role="input", dtype=DType.F16, shape=(3, 4), strides=(10, 1))
    assert (param.extent, param.nbytes) == (24, 48)


def test_a_packed_tensor_keeps_its_matrix() -> None:
    matrix = TensorParam(name="b", role="input", dtype=DType.F16, shape=(4, 3), strides=(3, 1))
    packing = Packing(shape=(4, 3), strides=(3, 1), transposed=False, width=2, depth=2)
    shape, strides = (2, 2, 2, 2), (8, 4, 2, 1)
    packed = dataclasses.replace(matrix, shape=shape, strides=strides, packing=packing)
    assert (packed.unpacked, matrix.unpacked) == (matrix, matrix)
    (kernel,) = MANIFEST.kernels
    a, _, out = kernel.parameters
    manifest = dataclasses.replace(
        MANIFEST, kernels=(dataclasses.replace(kernel, parameters=(a, packed, out)),)
    )
    assert from_json(json.loads(json.dumps(to_json(manifest)))) == manifest


def test_a_newer_schema_is_refused_with_the_remedy() -> None:
    data = _data() | {"schema_version": 99}
    with pytest.raises(VersionError, match="schema 99 is not one that this runtime"):
        from_json(data)
    with pytest.raises(BundleError, match="no schema_version"):
        from_json([])


def _set(data: Any, path: list[Any], value: Any) -> Any:
    data = copy.deepcopy(data)
    place = data
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["kernels", 0, "key"], 7, "manifest.kernels[0].key: expected str, got 7"),
        (["kernels", 0, "key"], None, "manifest.kernels[0]: field 'key' missing; build the"),
        (
            ["kernels"],
            [{"key": "k", "op": "o"}],
            "manifest.kernels[0]: field 'spec' missing; build",
        ),
        (
            ["kernels", 0, "artifacts", 0, "file"],
            None,
            "kernels[0].artifacts[0]: field 'file' miss",
        ),
        (["kernels", 0, "colour"], 1, "manifest.kernels[0]: unknown field 'colour'"),
        (["kernels", 0, "launches", 0, "grid"], [1, 2], "expected 3 entries, got 2"),
        (["kernels", 0, "launches", 0, "grid"], [1, 2, True], "expected int, got bool"),
        (["kernels", 0, "parameters", 0, "dtype"], "f8", "'f8' is not one of f64, f32"),
        (["kernels", 0, "parameters", 0, "dtype"], "float16", "'float16' is not one of f64"),
        (["kernels", 0, "artifacts", 0, "role"], "toy", "'toy' is not one of machine-code"),
        (["kernels", 0, "parameters"], {}, "expected list, got object"),
        (["kernels", 0, "spec"], [], "expected object, got list"),
        (["kernels", 0, "parameters", 0, "role"], "output", "its tile does not fit its output"),
        (["kernels", 0, "parameters", 2, "role"], "input", "it has no outputs"),
        (["kernels", 0, "parameters", 0, "strides"], [1], "a needs one stride per dimension"),
        (
            ["kernels", 0, "parameters", 0, "shape"],
            [2, 0],
            "a has no elements; the tensors of a kernel have 1 or more",
        ),
        (["kernels", 0, "parameters", 0, "strides"], [-4, 1], "a has a size or a stride below 0"),
        (["kernels", 0, "launches"], [], "it has no launches"),
        (["kernels"], [], "it has no kernel and no program; a bundle needs one"),
        (["kernels", 0, "launches", 0, "arguments"], ["zz"], "no argument is called zz"),
        (["kernels", 0, "tensor_maps", 0, "tensor"], "zz", "a_map views zz, which does not exist"),
        (["kernels", 0, "tensor_maps", 0, "box"], [64], "a_map needs one number per dimension"),
        (["kernels", 0, "tensor_maps", 0, "swizzle"], 48, "48 is not one of 0, 32, 64, 128"),
    ],
)
def test_damage_is_named(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(BundleError, match=re.escape(message)):
        from_json(_set(_data(), path, value))
