"""Models as nobody exports them: broken, boundless or meant to harm, by the words that refuse each.

`python -m tests.unit.graph.hostile FOLDER` compiles every model of a folder in one process of
bounded memory, and prints what each ended with.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper
from onnx import TensorProto as T

from tests.onnx_models import Maker, mlp

Case = Callable[[], onnx.ModelProto | bytes]
#: Bytes of address space for the process: Python, numpy, onnx and LLVM take less than one of them.
MEMORY = 3 << 30
HUGE = 10**12


def constants(operator: str, *values: Any, **attributes: Any) -> Case:
    """Add something to the constants that an operator makes."""

    def make() -> onnx.ModelProto:
        m = Maker()
        x = m.input("x", (3,))
        numbers = []
        for value in values:
            is_float = np.asarray(value).dtype == np.float64
            numbers.append(m.constant(value, np.float32 if is_float else np.int64))
        made = m.add("Cast", m.add(operator, *numbers, **attributes), to=T.FLOAT)
        return m.model(m.add("Add", x, made))

    return make


def with_node(operator: str, *shapes: Sequence[int], outputs: int = 1, **attributes: Any) -> Case:
    """Return a case with one operator on inputs of these shapes."""

    def make() -> onnx.ModelProto:
        m = Maker()
        names = [m.input(f"x{i}", shape) for i, shape in enumerate(shapes)]
        made = m.add(operator, *names, outputs=outputs, **attributes)
        return m.model(made if outputs == 1 else made[0])

    return make


def changed(change: Callable[[onnx.ModelProto], object]) -> Case:
    """Return a valid model with one change."""

    def make() -> onnx.ModelProto:
        model = mlp()
        change(model)
        return model

    return make


def twice(field: str) -> Case:
    """Return a model in which the first entry of a graph's field stands twice."""

    def change(model: onnx.ModelProto) -> None:
        found = getattr(model.graph, field)
        found.add().CopyFrom(found[0])

    return changed(change)


def initializer(**fields: Any) -> Case:
    def change(model: onnx.ModelProto) -> None:
        tensor = model.graph.initializer[0]
        for name, value in fields.items():
            if isinstance(value, list):
                tensor.ClearField(name)
                getattr(tensor, name).extend(value)
            else:
                setattr(tensor, name, value)

    return changed(change)


def many_constants() -> onnx.ModelProto:
    """Constants of 128 MiB each: every one alone would be accepted."""
    m = Maker()
    x = m.input("x", (3,))
    made = [m.add("ConstantOfShape", m.constant([1 << 25], np.int64)) for _ in range(64)]
    return m.model(m.add("Concat", x, *made, axis=0))


def endless_loop() -> onnx.ModelProto:
    """Return a loop over constants alone, which constant folding could compute."""
    m = Maker()
    x = m.input("x", (3,))
    inner = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["still"]),
            helper.make_node("Identity", ["state"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", T.INT64, []),
            helper.make_tensor_value_info("going", T.BOOL, []),
            helper.make_tensor_value_info("state", T.FLOAT, [3]),
        ],
        [
            helper.make_tensor_value_info("still", T.BOOL, []),
            helper.make_tensor_value_info("next", T.FLOAT, [3]),
        ],
    )
    made = m.add(
        "Loop",
        m.constant(2**62, np.int64),
        m.constant(True, np.bool_),
        m.constant([1, 2, 3]),
        body=inner,
    )
    return m.model(m.add("Add", x, made))


def nested_ifs(depth: int) -> Case:
    def make() -> onnx.ModelProto:
        branch = helper.make_graph(
            [helper.make_node("Neg", ["x"], ["y0"])],
            "branch",
            [],
            [helper.make_tensor_value_info("y0", T.FLOAT, [3])],
        )
        for level in range(1, depth):
            node = (
                helper.make_node(
                    "If", ["yes"], [f"y{level}"], then_branch=branch, else_branch=branch
                )
                if level < 3
                else helper.make_node("If", ["yes"], [f"y{level}"], then_branch=branch)
            )
            branch = helper.make_graph(
                [node], "branch", [], [helper.make_tensor_value_info(f"y{level}", T.FLOAT, [3])]
            )
        m = Maker()
        m.input("x", (3,))
        m.constants["yes"] = np.asarray(True)
        m.nodes += branch.node
        return m.model(f"y{depth - 1}")

    return make


def deep_bytes() -> bytes:
    """Return nested graphs as bytes: onnx does not write models that it does not read."""

    def field(number: int, data: bytes) -> bytes:
        size, left = b"", len(data)
        while left >= 128:
            size, left = size + bytes([left % 128 + 128]), left // 128
        return bytes([number << 3 | 2]) + size + bytes([left]) + data

    data = b""
    for _ in range(5000):
        data = field(1, field(5, field(6, data)))
    return field(7, data)


def functions(*calls: tuple[str, Sequence[str]]) -> Case:
    """Model of functions that call each other: names, and the functions that each one calls. The
    first one is called."""

    def make() -> onnx.ModelProto:
        m = Maker()
        m.input("x", (3,))
        m.nodes.append(helper.make_node(calls[0][0], ["x"], ["y"], domain="own"))
        model = m.model("y")
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        model.opset_import.append(opsets[1])
        for name, called in calls:
            nodes, last = [], "a"
            for i, one in enumerate(called):
                domain = "own" if one.startswith("f") else ""
                nodes.append(helper.make_node(one, [last], [f"v{i}"], domain=domain))
                last = f"v{i}"
            nodes.append(helper.make_node("Identity", [last], ["b"]))
            model.functions.append(helper.make_function("own", name, ["a"], ["b"], nodes, opsets))
        return model

    return make


def secret_constant(within: bool) -> Case:
    """Return a model in which the constant of a node, or of a function's node, refers to a file."""

    def make() -> onnx.ModelProto:
        tensor = T(name="secret", data_type=T.FLOAT, dims=[3], data_location=T.EXTERNAL)
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "../secret.bin"
        node = helper.make_node("Constant", [], ["c"], value=tensor)
        add = helper.make_node("Add", ["a", "c"], ["b"])
        m = Maker()
        m.input("x", (3,))
        if not within:
            add.input[0] = "x"
            m.nodes += [node, add]
            return m.model("b")
        m.nodes.append(helper.make_node("f", ["x"], ["y"], domain="own"))
        model = m.model("y")
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        model.opset_import.append(opsets[1])
        model.functions.append(helper.make_function("own", "f", ["a"], ["b"], [node, add], opsets))
        return model

    return make


def many_files() -> onnx.ModelProto:
    """Return a model with one file of 1 KiB that claims to hold 17 GiB of constants."""
    model = mlp()
    for i in range(17):
        tensor = model.graph.initializer.add()
        tensor.CopyFrom(T(name=f"w{i}", data_type=T.FLOAT, dims=[1 << 28]))
        tensor.data_location = T.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "sparse.bin"
    return model


def rename(model: onnx.ModelProto, name: str) -> None:
    model.graph.input[0].name = name
    model.graph.node[0].input[0] = name


def set_type(model: onnx.ModelProto) -> None:
    attribute = model.graph.node[-1].attribute[0]
    attribute.type = AttributeProto.TENSOR


def made_twice() -> onnx.ModelProto:
    m = Maker()
    y = m.add("Neg", m.input("x", (3,)))
    m.nodes.append(helper.make_node("Abs", ["x"], [y], name="again"))
    return m.model(y)


def complex_input() -> onnx.ModelProto:
    m = Maker()
    return m.model(m.add("Neg", m.input("x", (3,), T.COMPLEX64)))


def empty_slice() -> onnx.ModelProto:
    m = Maker()
    places = [m.constant([n], np.int64) for n in (1, 1, 0)]
    return m.model(m.add("Slice", m.input("x", (3,)), *places))


def rank_100() -> onnx.ModelProto:
    m = Maker()
    return m.model(m.add("Neg", m.input("x", [1] * 100)))


#: Every model, and the words of its refusal; None where it compiles.
CASES: dict[str, tuple[Case, str | None]] = {
    # What is folded.
    "range": (constants("Range", 0, HUGE, 1), "makes a constant of shape 1000000000000"),
    "range-float": (constants("Range", 0.0, 1e12, 1.0), "makes a constant of shape"),
    "expand": (constants("Expand", 1.0, [HUGE]), "makes a constant of shape 1000000000000"),
    "tile": (constants("Tile", [1.0], [HUGE]), "makes a constant of shape 1000000000000"),
    "fill": (constants("ConstantOfShape", [HUGE]), "makes a constant of shape 1000000000000"),
    "fill-many": (many_constants, "left of the 256 MiB that constant folding may add"),
    "one-hot": (constants("OneHot", [0], HUGE, [0, 1]), "makes a constant of shape"),
    "pad": (constants("Pad", [1.0], [0, HUGE]), "makes a constant of shape"),
    "resize": (constants("Resize", [1.0], [0.0, 0.0], [1e12]), "node /Add2 (Add) does not fit"),
    "overflow": (constants("Expand", 1.0, [2**62, 2**62]), "node /Expand0 (Expand)"),
    "negative": (constants("ConstantOfShape", [-5]), "node /ConstantOfShape0 (ConstantOfShape)"),
    "loop": (endless_loop, "node /Loop0 (Loop): the steps of the model's loops have more than"),
    # Graphs.
    "nested": (nested_ifs(20), "graphs are nested more than 16 deep"),
    "deep": (deep_bytes, "is not an ONNX file, or is truncated"),
    "nested-few": (nested_ifs(9), None),
    "recursive": (functions(("f", ["f"])), "function f calls itself"),
    "mutual": (functions(("f0", ["f1"]), ("f1", ["f0"])), "function f0 calls itself"),
    "bomb": (
        functions(*[(f"f{i}", [f"f{i + 1}"] * 8) for i in range(12)], ("f12", ["Neg"])),
        "MiB of nodes; 256 MiB is the limit",
    ),
    "function-chain": (
        functions(*[(f"f{i}", [f"f{i + 1}"]) for i in range(80)], ("f80", ["Neg"])),
        "is nested more than 64 deep",
    ),
    "functions": (functions(("f0", ["f1", "f1"]), ("f1", ["Neg"])), None),
    "cycle": (changed(lambda m: m.graph.node[0].input.__setitem__(0, "softmax5_0")), "a cycle"),
    "out-of-order": (changed(lambda m: m.graph.node.reverse()), None),
    "input-twice": (twice("input"), "x is 2 times among the model's inputs"),
    "constant-twice": (twice("initializer"), "c0 is 2 times among the model's constants"),
    "output-twice": (twice("output"), "softmax5_0 is 2 times among the model's outputs"),
    "value-twice": (made_twice, "node again (Abs) makes neg0_0, which node"),
    "no-nodes": (changed(lambda m: m.graph.ClearField("node")), "is not computed by any node"),
    # Names.
    "newline": (changed(lambda m: rename(m, "a\nb")), "the name 'a\\nb' has characters"),
    "escape": (changed(lambda m: rename(m, "\x1b[31m")), "characters that cannot be printed"),
    "domain": (
        changed(lambda m: setattr(m.graph.node[0], "domain", "evil")), "evil.MatMul: /MatMul0"
    ),
    "opset": (changed(lambda m: setattr(m.opset_import[0], "version", 2**62)), "node /MatMul0"),
    # Constants.
    "dims": (initializer(dims=[1 << 40, 1 << 40]), "0 or more elements and 16 GiB"),
    "dims-negative": (initializer(dims=[-1, 24]), "tensor c0 has the shape -1x24"),
    "dims-many": (initializer(dims=[1] * 100), "64 axes"),
    "dims-claimed": (initializer(dims=[1 << 30], raw_data=b""), "c0"),
    "type-unknown": (initializer(data_type=99), "the unknown type 99"),
    "type-none": (initializer(data_type=0), "c0"),
    "type-text": (
        initializer(data_type=T.STRING, raw_data=b"", string_data=[b"a"] * 312), "tensor(string)"
    ),
    "bytes": (initializer(raw_data=bytes(12)), "has 12 bytes, and its shape needs 1248"),
    "four-bits": (initializer(data_type=T.INT4, dims=[1 << 34], raw_data=b"1"), "c0"),
    "sparse": (
        changed(lambda m: m.graph.sparse_initializer.add().values.dims.append(1 << 60)), "unknown"
    ),
    "beside-node": (secret_constant(False), "'../secret.bin', outside of the model's folder"),
    "beside-function": (secret_constant(True), "'../secret.bin', outside of the model's folder"),
    "many-files": (many_files, "more than 16 GiB together"),
    # Shapes and attributes.
    "input-huge": (with_node("Neg", [1 << 40, 1 << 40]), "has a result of shape"),
    "complex": (complex_input, "is of COMPLEX64, which kernels do not support"),
    "empty": (empty_slice, None),
    "rank": (rank_100, "100"),
    "rows": (with_node("Softmax", [1 << 39, 2]), "rows are more than"),
    "perm": (with_node("Transpose", [2, 3], perm=[0, 0]), "/Transpose0"),
    "perm-huge": (with_node("Transpose", [2, 3], perm=[0, 2**62]), "/Transpose0"),
    "axis": (with_node("Softmax", [2, 3], axis=99), "/Softmax0"),
    "groups": (with_node("Conv", [1, 4, 5], [4, 2, 3], group=0), "/Conv0"),
    "strides": (with_node("MaxPool", [1, 1, 9], kernel_shape=[2], strides=[0]), "/MaxPool0"),
    "pads": (with_node("MaxPool", [1, 1, 9], kernel_shape=[2], pads=[2**62, 2**62]), "/MaxPool0"),
    "kernel": (with_node("MaxPool", [1, 1, 9], kernel_shape=[2**62]), "/MaxPool0"),
    "dilations": (
        with_node("MaxPool", [1, 1, 9], kernel_shape=[2], dilations=[2**62]), "/MaxPool0"
    ),
    "average": (
        with_node("AveragePool", [1, 1, 1 << 18, 1 << 18], kernel_shape=[3, 3], strides=[1, 1]),
        "table of",
    ),
    "hidden": (
        with_node(
            "LSTM", [2, 1 << 30, 3], [1, 16, 3], [1, 16, 4], hidden_size=4, outputs=3
        ),
        "needs a table of",
    ),
    "attribute-type": (changed(set_type), "/Softmax5"),
    "einsum": (with_node("Einsum", [2, 3], [3, 2], equation="ij,jk->" + "i" * 10**6), "/Einsum0"),
    "gemm-shapes": (with_node("Gemm", [2, 3], [4, 5]), "/Gemm0"),
    "concat": (with_node("Concat", [2, 3], [4, 5], axis=0), "/Concat0"),
}  # fmt: skip


def compiled(file: Path) -> dict[str, Any]:
    """Return the outcome of `kgen compile` for a file."""
    from kgen.cli.main import main

    bundle, out, err = file.with_suffix(".kgen"), io.StringIO(), io.StringIO()
    status: int | str
    start = time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(["compile", str(file), "--target", "x86-64-v3", "-o", str(bundle), "--jobs", "1"])  # fmt: skip  # noqa: E501
        except BaseException:
            status = traceback.format_exc()
    return {
        "status": status,
        "err": err.getvalue(),
        "seconds": time.process_time() - start,
        "left": sorted(path.name for path in file.parent.glob(f"{file.stem}.kgen*")),
    }


def main(folder: Path) -> None:
    from kgen.cli.commands import compile as _  # noqa: F401  # before memory is bounded

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found = {file.stem: compiled(file) for file in sorted(folder.glob("*.onnx"))}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
