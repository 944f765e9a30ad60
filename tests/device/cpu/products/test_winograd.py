"""Winograd convolutions on this CPU against the definition, within the derived bound."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import bundle, pipeline, targets
from kgen.check.verify.run import verify
from kgen.errors import KgenError
from kgen.graph.lowering.transformed_weights import fastest
from kgen.spec import Conv2d
from kgen.targets.cpu import FAMILY
from tests import needs
from tests.onnx_models import Maker

V3 = "x86-64-v3"
MATHS = ("winograd2", "winograd4")


def conv(input_: tuple[int, ...], outputs: int, math: str, **fields: Any) -> Conv2d:
    given = {"dtype": "f32", "padding": 1, "constant": ("b",)} | fields
    return Conv2d(input=input_, weights=(outputs, input_[1], 3, 3), math=math, **given)  # type: ignore[arg-type]


def check(spec: Conv2d, target: str = V3, **fields: int) -> None:
    plan = pipeline.plan_with(spec, needs.cpu(target), fields)
    assert plan.schedule.mainloop == "winograd"
    report = verify(bundle.pack([pipeline.assembled(plan)]))
    assert report.passed, report.to_json()


EDGES: dict[str, dict[str, Any]] = {
    "1x1 image": {"input_": (2, 3, 1, 1), "outputs": 7},
    "image below a tile": {"input_": (1, 7, 3, 2), "outputs": 3, "padding": 2},
    "one output": {"input_": (1, 7, 3, 3), "outputs": 9, "padding": 0},
    "no padding": {"input_": (2, 7, 10, 11), "outputs": 9, "padding": 0},
    "padding of one side": {"input_": (1, 8, 9, 7), "outputs": 5, "padding": (0, 2, 1, 0)},
    "one channel": {"input_": (2, 1, 6, 13), "outputs": 3},
    "three channels": {"input_": (1, 3, 11, 9), "outputs": 17, "epilogue": ("bias", "relu")},
    "64 channels": {
        "input_": (1, 64, 5, 7),
        "outputs": 64,
        "weight_layout": "hwio",
        "epilogue": ("bias", "residual", "relu"),
    },
    "a function": {
        "input_": (1, 9, 5, 6),
        "outputs": 11,
        "epilogue": "silu(x * scale + bias) * alpha",
        "epilogue_shapes": {"alpha": "1"},
    },
    "f16 outputs": {"input_": (1, 9, 5, 6), "outputs": 11, "out_dtype": "f16"},
}


@pytest.mark.parametrize("math", MATHS)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str, math: str) -> None:
    check(conv(math=math, **EDGES[name]))


@pytest.mark.parametrize("math", MATHS)
def test_blocks(math: str) -> None:
    """Blocks of tiles, channels and outputs do not divide the extents."""
    spec = conv((2, 21, 9, 10), 27, math, epilogue=("bias", "residual"))
    check(spec, mr=2, nr=8, mc=4, kc=8, nc=16)
    check(spec, mr=3, nr=16, mc=3, kc=16, nc=16)
    check(spec, mr=4, nr=16, mc=8, kc=21, nc=32, ahead=256)
    check(spec, mr=3, nr=16, mc=6, kc=8, nc=16, in_workspace=1)


@pytest.mark.parametrize(("ahead", "count"), [(0, 0), (4096, 2)])
def test_tiles_prefetch_weights(ahead: int, count: int) -> None:
    """Each step of a tile prefetches one vector of the next panel."""
    fields = {"mr": 4, "nr": 16, "mc": 4, "kc": 32, "nc": 16, "ahead": ahead}
    plan = pipeline.plan_with(conv((1, 32, 8, 8), 16, "winograd4"), targets.find(V3), fields)
    text = pipeline.source(plan).text
    assert text.count("call void @llvm.prefetch") == count
    assert text.count(f"i64 {ahead}\n  call void @llvm.prefetch") == count


def test_calls_have_their_own_parts_of_the_workspace() -> None:
    """Calls that start at different tasks may run at the same time."""
    fields = {"mr": 4, "nr": 8, "mc": 4, "kc": 8, "nc": 8, "in_workspace": 1}
    plan = pipeline.plan_with(conv((1, 8, 24, 24), 16, "winograd4"), targets.find(V3), fields)
    (launch,), (workspace,) = plan.launches, plan.workspaces
    assert launch.arguments == ("a", "b", "out", workspace.name)
    text = pipeline.source(plan).text
    assert "stack, " in text and "in a workspace" in text
    found = re.search(r"%a\.pack\.offset = mul nuw i64 %begin, (\d+)", text)
    buffers = re.findall(r"(\d+) B, in a workspace", text)
    assert found and int(found[1]) >= sum(map(int, buffers)) > 0 and int(found[1]) % 64 == 0
    assert workspace.nbytes == launch.grid[0] * int(found[1])


def test_a_workspace_is_no_larger_than_the_tensors() -> None:
    """Blocks beyond the stack are chosen for many channels, not for large images."""
    target = targets.find(V3)
    for channels, size in ((256, 14), (64, 200)):
        spec = conv((1, channels, size, size), channels, "winograd4")
        plan = pipeline.plan(spec, target)
        tensors = sum(p.nbytes for p in plan.parameters)
        assert sum(w.nbytes for w in plan.workspaces) <= tensors
        assert bool(plan.workspaces) == (channels == 256), plan.schedule


@pytest.mark.parametrize("math", MATHS)
def test_wide_vectors(math: str) -> None:
    check(conv((1, 37, 7, 9), 43, math, epilogue=("bias",)), "x86-64-v4")


@pytest.mark.parametrize("math", MATHS)
@pytest.mark.parametrize("target", [t.name for t in FAMILY.targets])
def test_every_target_has_a_schedule(target: str, math: str) -> None:
    spec = conv((1, 65, 9, 9), 66, math)
    plan = pipeline.plan(spec, targets.find(target))
    assert plan.schedule.mainloop == "winograd"
    assert "define void" in pipeline.source(plan).text


@pytest.mark.parametrize("math", MATHS)
@pytest.mark.parametrize("layout", ["ohwi", "hwio"])
def test_a_build_transforms_weights(tmp_path: Path, math: str, layout: Any) -> None:
    """The stored weights are the user's, transformed."""
    spec = conv((1, 5, 6, 7), 10, math, weight_layout=layout)
    random = np.random.default_rng(3)
    x = random.standard_normal((1, 6, 7, 5)).astype(np.float32)
    w = random.standard_normal((3, 3, 5, 10)).astype(np.float32)
    matrix = w.reshape(45, 10) if layout == "hwio" else w.reshape(45, 10).T.copy()
    made = kgen.build(spec, [needs.cpu(V3).name], constants={"b": matrix}, cache=False)
    with kgen_runtime.load(made.save(tmp_path / "w.kgen"), device="cpu") as kernels:
        found = np.asarray(kernels[spec.key](x))
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(
        padded[:, i : i + 6, j : j + 7] @ w[i, j].astype(np.float64)
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_weights_are_given_to_the_build() -> None:
    spec = conv((1, 5, 6, 7), 10, "winograd4")
    with pytest.raises(KgenError, match=r"math=winograd4 transforms weights .* constant=b=FILE"):
        kgen.build(spec, [V3])
    with pytest.raises(KgenError, match="constant b has shape 3x3x5x10; expected 10x45"):
        kgen.build(spec, [V3], constants={"b": np.zeros((3, 3, 5, 10), np.float32)})


def test_exact_convolutions_have_no_transforms() -> None:
    spec = dataclasses.replace(conv((1, 5, 6, 7), 10, "winograd2"), math="exact")
    plan = pipeline.plan(conv((1, 5, 6, 7), 10, "winograd2"), targets.find(V3))
    with pytest.raises(KgenError, match="mainloop=winograd requires math=winograd2 or winograd4"):
        pipeline.plan(spec, targets.find(V3), plan.schedule)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pack_a": 0}, "pack_a=0 is not supported by mainloop=winograd"),
        ({"pack_b": 1}, "pack_b=1 is not supported for a prepacked B"),
        ({"nr": 12, "nc": 24}, "nr=12 is not a multiple of 8"),
        ({"mr": 8, "nr": 16, "mc": 8, "nc": 16}, "needs 20 vector registers"),
        ({"mr": 4, "nr": 8, "mc": 8, "kc": 12, "nc": 8}, "kc=12 is not a multiple of 8"),
        (
            {"mr": 4, "nr": 8, "mc": 64, "kc": 16, "nc": 24, "in_workspace": 0},
            "bytes of scratch",
        ),
    ],
)
def test_schedules_that_are_not_taken(fields: dict[str, int], message: str) -> None:
    with pytest.raises(KgenError, match=message):
        check(conv((1, 16, 40, 40), 24, "winograd4"), V3, **fields)


#: Faults of the kernel: what is changed, from what, to what.
FAULTS = {
    "a constant of the inputs' transform": (
        r"(%column0\.0 = call .*splat \(float )0xC014000000000000",
        r"\g<1>0xC010000000000000",
    ),
    "a constant of the inputs' transform, by a 500th": (
        r"(%column0\.0 = call .*splat \(float )0xC014000000000000",
        r"\g<1>0xC0140A3D80000000",
    ),
    "a constant of the sums' transform": (
        r"(%row3\.3\S* = call .*splat \(float )0x4020000000000000",
        r"\g<1>0x4010000000000000",
    ),
    "the last tiles are left out": (r"(%rows = select i1 %rows\.less, i64) %rows\.left", r"\1 0"),
    "the last row of outputs is left out": (r"(%o\.y\.left = sub nuw i64) 10", r"\1 9"),
    "a row below the image is read": (r"(%t\.y\.left = sub i64) 10", r"\1 11"),
    "padding on the left is left out": (r"(%t\.x\.from = sub i64 %t\.x\.first), 1", r"\1, 0"),
    "padding keeps the inputs of the tile before": (
        r"(%t\.clear\.more = icmp ult i64 %t\.clear), 1152",
        r"\1, 0",
    ),
    "the last channels are left out": (r"(%ct\.some = icmp ne i64) %depth\.whole", r"\1 %depth"),
    "weights of another position": (
        r"(%b\.position\.offset = mul nuw i64 %position), 352",
        r"\1, 320",
    ),
    "sums of another position": (
        r"(%acc\.position\.offset = mul nuw i64 %position), 320",
        r"\1, 352",
    ),
    "tiles that are cut on the left or right only keep it, too": (
        r"br i1 %t\.iscut(, label %t\.outside\.do)",
        r"br i1 %t.y.iscut\1",
    ),
    "a bias of another block": (r"(%bias\.columns\.offset = mul nuw i64 %n0), 4", r"\1, 0"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_verification_sees_a_fault(name: str) -> None:
    spec = conv((2, 11, 10, 7), 13, "winograd4", epilogue=("bias",))
    fields = {"mr": 4, "nr": 8, "mc": 8, "kc": 8, "nc": 8}
    kernel = pipeline.assembled(pipeline.plan_with(spec, needs.cpu(V3), fields))
    pattern, replacement = FAULTS[name]
    text, found = re.subn(pattern, replacement, kernel.source.text)
    assert found == 1, f"{pattern} is not in the kernel"
    source = dataclasses.replace(kernel.source, text=text)
    code = FAMILY.assemble(source, kernel.plan)
    changed = dataclasses.replace(kernel, source=source, assembled=code)
    (result,) = verify(bundle.pack([changed])).kernels
    assert result.status == "failed", result.to_json()


#: Faults of a kernel for 300 channels that only one data set finds.
RARE_FAULTS = {
    "a constant of the inputs' transform, by a unit in the last place": (
        r"(%column0\.0 = call .*splat \(float )0xC014000000000000",
        r"\g<1>0xC014000020000000",
        "whole-number",
    ),
    "NaN becomes 0": (
        r"%w\.output = (load .*)",
        "%w.sum = \\1\n  %w.known = fcmp ord <8 x float> %w.sum, zeroinitializer\n"
        "  %w.output = select <8 x i1> %w.known, <8 x float> %w.sum, <8 x float> zeroinitializer",
        "special-value",
    ),
}


@pytest.mark.parametrize("name", RARE_FAULTS)
def test_verification_sees_a_rare_fault(name: str) -> None:
    spec = conv((1, 300, 5, 9), 16, "winograd4")
    fields = {"mr": 4, "nr": 8, "mc": 4, "kc": 304, "nc": 8}
    kernel = pipeline.assembled(pipeline.plan_with(spec, needs.cpu(V3), fields))
    pattern, replacement, data = RARE_FAULTS[name]
    text, found = re.subn(pattern, replacement, kernel.source.text)
    assert found == 1, f"{pattern} is not in the kernel"
    source = dataclasses.replace(kernel.source, text=text)
    changed = dataclasses.replace(
        kernel, source=source, assembled=FAMILY.assemble(source, kernel.plan)
    )
    (result,) = verify(bundle.pack([changed])).kernels
    assert result.status == "failed" and (result.reason or "").startswith(f"{data} data")
    assert verify(bundle.pack([kernel])).passed


@pytest.mark.parametrize("math", MATHS)
def test_verification_sees_an_error_beyond_the_bound(math: str) -> None:
    """With a thousandth of the derived bound, correct kernels fail."""
    kernel = pipeline.assembled(pipeline.plan(conv((1, 32, 9, 9), 16, math), needs.cpu(V3)))
    made = bundle.pack([kernel])
    (entry,) = made.manifest.kernels
    less = dataclasses.replace(
        entry.tolerance,
        factor=entry.tolerance.factor / 1000,
        operand_error=entry.tolerance.operand_error / 1000,
    )
    strict = dataclasses.replace(
        made.manifest, kernels=(dataclasses.replace(entry, tolerance=less),)
    )
    (result,) = verify(dataclasses.replace(made, manifest=strict)).kernels
    assert result.status == "failed"


@pytest.mark.parametrize("math", MATHS)
def test_products_that_are_rounded_before_they_are_added(math: str) -> None:
    """Vectors of 16 bytes on a CPU without fused multiply-adds."""
    check(conv((1, 5, 6, 7), 10, math), "x86-64")


def test_cross_compiled_code() -> None:
    spec = conv((1, 5, 6, 7), 10, "winograd2")
    assert pipeline.kernel(spec, targets.find("aarch64-neon")).assembled.artifacts


def test_models_have_winograd_where_it_is_asked_for(tmp_path: Path) -> None:
    """Only 3x3 convolutions with stride 1 change, and only with the compiler's option."""
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    m = Maker()
    x = m.input("x", (1, 32, 12, 12))
    y = m.add("Relu", m.add("Conv", x, m.weight(32, 32, 3, 3), m.weight(32), pads=[1, 1, 1, 1]))
    z = m.add("Conv", y, m.weight(32, 32, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
    model = m.model(z)
    target, random = needs.cpu(V3).name, np.random.default_rng(1)
    image = random.standard_normal((1, 32, 12, 12)).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": image})
    names: tuple[Literal["exact", "winograd"], ...] = ("exact", "winograd")
    for arithmetic in names:
        made = kgen.compile_model(model, [target], conv=arithmetic).bundle
        keys = [entry.key for entry in made.manifest.kernels]
        assert sum("winograd" in key for key in keys) == (arithmetic == "winograd")
        assert verify(made).passed
        with kgen_runtime.load(made.save(tmp_path / "m.kgen"), device="cpu") as kernels:
            found = kernels.program.run(x=image)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-3)
    with pytest.raises(KgenError, match="conv=fast is not supported; take exact or winograd"):
        kgen.compile_model(model, [target], conv="fast")  # type: ignore[arg-type]


def test_models_stay_exact_where_that_is_predicted_to_be_faster() -> None:
    target = targets.find(V3)
    maths = [
        fastest(conv((1, channels, 28, 28), outputs, "exact"), target).math
        for channels, outputs in ((1, 16), (64, 64))
    ]
    assert maths == ["exact", "winograd4"]


def test_weights_of_a_program_come_from_farther_caches() -> None:
    """In a program with many constants, weights come from memory; Winograd, whose weights are
    four times as large, is then not chosen for a layer of many channels and few tiles."""
    target = targets.find("x86-64-amx")
    small, deep = conv((1, 64, 28, 28), 64, "exact"), conv((1, 512, 7, 7), 512, "exact")
    seconds = []
    for held in (0, 8 << 20, 64 << 20):
        found = FAMILY.predicted(small, target, FAMILY.choose(small, target), held)
        assert found
        seconds.append(found.seconds)
    assert seconds[0] < seconds[1] <= seconds[2]
    assert fastest(small, target, 64 << 20).math == "winograd4"
    assert fastest(deep, target, 64 << 20).math != "winograd4"


def test_gpus_refuse_winograd() -> None:
    spec, target = conv((1, 8, 5, 5), 8, "winograd4"), targets.find("sm_80")
    with pytest.raises(KgenError, match="math=winograd4 is not supported by sm_80 for conv2d"):
        pipeline.plan(pipeline.for_target(spec, target, {}), target)
