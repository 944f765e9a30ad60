"""Programs with wrong data are refused in one line each, or harmless."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import bundle, pipeline, targets
from kgen.errors import BundleError
from kgen_runtime.dtypes import DType
from kgen_runtime.memory.strides import packed_strides
from kgen_runtime.schema.manifest_json import to_json
from kgen_runtime.schema.program import Place, Program, Step, Value
from tests.manifests import from_json
from tests.programs import ROWS, WIDE, mlp_bundle
from tests.unit.runtime.bundle.lies import lies, use_each

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def made() -> kgen.Bundle:
    return mlp_bundle("x86-64-v3")


@pytest.fixture
def data(made: kgen.Bundle) -> Any:
    return json.loads(json.dumps(to_json(made.manifest)))


def at(path: str, new: Any) -> Callable[[Any], None]:
    """Return the manifest with a value at a place of the program."""

    def change(program: Any) -> None:
        *path_, last = [int(p) if p.isdigit() else p for p in path.split(".")]
        for part in path_:
            program = program[part]
        program[last] = new

    change.__name__ = f"{path}={new!r:.30}"
    return change


def without_order(program: Any) -> None:
    for step in program["steps"]:
        step["after"] = []


def reversed_steps(program: Any) -> None:
    program["steps"].reverse()


@pytest.mark.parametrize("op", ["conjure", "", "elementwise", "rowwise", 7, None])
@pytest.mark.parametrize("expression", [None, "conjure(x)", "scatter(x)", "gather(x, conjure(x))"])
def test_an_unknown_operation_in_place_is_refused(
    data: Any, op: object, expression: object
) -> None:
    """A step's output reuses its input's memory, which only a known operation may do."""
    at("values.3.place.offset", 0)(data["programs"][0])
    name = data["programs"][0]["steps"][1]["kernel"]
    (kernel,) = [k for k in data["kernels"] if k["spec"] and name in json.dumps(k)]
    kernel["op"] = kernel["spec"]["op"] = op
    if expression is not None:
        kernel["spec"]["expression"] = expression
    with pytest.raises(BundleError) as refused:
        from_json(data)
    assert "\n" not in str(refused.value) and len(str(refused.value)) <= 500


# Values: 0 x, 1 out, 2 h in the arena at 0 of 800 bytes, 3 y at 1024 of 480, 4 b1, ...
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            at("values.3.place.offset", 1028),
            "value y of 480 bytes at arena [+] 1028 ends past the 1504",
        ),
        (
            at("values.3.place.offset", -4),
            "value y is at arena [+] -4, which is not a multiple of its element size",
        ),
        (
            at("values.3.place.offset", 1022),
            "value y is at arena [+] 1022, which is not a multiple of its element size",
        ),
        (
            at("values.4.place.offset", 4),
            "value b1 of 160 bytes at weights b1 [+] 4 ends past the 160",
        ),
        (at("values.2.strides", [2**40, 1]), "value h of .* bytes at arena ends past"),
        (at("values.2.strides", [-40, 1]), "h has a size or a stride below 0"),
        (at("values.2.strides", [1]), "h needs one stride per dimension"),
        (at("values.2.shape", [5, 39]), "out is h, which spans 796 bytes; the kernel takes 800"),
        (at("values.2.dtype", "s32"), "out is h, which is s32; the kernel takes f32"),
        (at("values.2.place.name", "x"), "value h is in arena x, which does not exist"),
        (at("values.2.place.kind", "input"), "value h is in input, which does not exist"),
        (at("values.2.name", "x"), "value 'x' occurs twice"),
        (
            at("values.3.place.offset", 256),
            "step 1 [(].*[)] takes h and y, which overlap in memory",
        ),
        (
            at("values.3.place", {"kind": "weights", "name": "w1"}),
            "out is y, in weights w1, which is read-only",
        ),
        (
            at("values.3.place", {"kind": "input", "name": "x"}),
            "out is y, in input x, which is read-only",
        ),
        (at("inputs.0.place.offset", 4), "input x is not a packed value in memory of its own"),
        (at("inputs.0.strides", [48, 2]), "input x is not a packed value in memory of its own"),
        (at("outputs", []), "value out is in output out, which does not exist"),
        (at("outputs.0.name", "h"), "value out is in output out, which does not exist"),
        (at("arena_bytes", -1), "its arena has -1 bytes"),
        (at("arena_bytes", 2**62), ""),
        (at("steps", []), "no step writes output out"),
        (
            at("counts", [{"output": "out", "axis": 0, "size": "x"}]),
            "the size of output out is x, and one of the two is not an output",
        ),
        (
            at("counts", [{"output": "y", "axis": 0, "size": "out"}]),
            "the size of output y is out, and one of the two is not an output",
        ),
        (
            at("counts", [{"output": "out", "axis": 2, "size": "out"}]),
            "output out has no axis 2; its rank is 2",
        ),
        (at("counts", [{"output": "out", "axis": -1, "size": "out"}]), "output out has no axis -1"),
        (
            at("counts", [{"output": "out", "axis": 0, "size": "out"}]),
            "the size out of output out is not one s64",
        ),
        (at("values.2.shape", [5, 0]), "out is h, which spans 0 bytes; the kernel takes 800"),
        (at("steps.0.kernel", "nothing"), "step 0 [(]nothing[)]: the bundle has no such kernel"),
        (at("target", "sm_80"), "the bundle has no such kernel"),
        (at("steps.0.bindings", {"a": "x"}), "it binds 1 tensors; the kernel takes 4"),
        (at("steps.0.bindings.a", "q"), "a is 'q', which is not a value"),
        (at("steps.1.bindings.residual", "y"), "step 1 .* reads y, which no earlier step writes"),
        (at("steps.0.after", [0]), "it depends on step 0, which is not earlier"),
        (at("steps.0.after", [2]), "it depends on step 2, which is not earlier"),
        (at("steps.0.after", [-1]), "it depends on step -1, which is not earlier"),
        (
            without_order,
            "step 1 .* reads h and step 0 writes h, at the same bytes; `after` must name step 0",
        ),
        (reversed_steps, "it depends on step 1, which is not earlier"),
        (at("steps.2.bindings.out", "y2"), "out is 'y2', which is not a value"),
        (at("steps.1.after", []), "step 1 .* reads h and step 0 writes h"),
        (
            at("weights.0.file", "../../etc/passwd"),
            r"weight \w+ is in '../../etc/passwd', which is not named",
        ),
        (at("weights.0.sha256", "0"), "which is not named by its digest"),
        (at("weights.0.nbytes", 0), "has 0 bytes"),
        (at("weights.0.name", "b2"), "occurs twice|which does not exist"),
        (at("name", ""), "it has no name"),
        (
            at("states", [{"name": "s", "nbytes": 4, "input": "h", "output": "h"}]),
            "state s has no value 'h'",
        ),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_one_lie(data: Any, change: Callable[[Any], None], message: str) -> None:
    change(data["programs"][0])
    if not message:
        from_json(data)
        return
    with pytest.raises(BundleError, match=rf"^(program [^:]*|manifest\S*): .*{message}") as refused:
        from_json(data)
    assert str(refused.value).endswith("; build the bundle again")


@pytest.mark.parametrize("value", [7, ["x"], None, {"x": 1}])
def test_a_binding_is_a_name(data: Any, value: Any) -> None:
    at("steps.0.bindings.a", value)(data["programs"][0])
    with pytest.raises(BundleError, match=r"steps\[0\]\.bindings\.a: expected str, got"):
        from_json(data)


def test_unwritten_values(data: Any) -> None:
    """Steps read values that no step wrote, and outputs stay unwritten."""
    steps = data["programs"][0]["steps"]
    last = steps.pop()
    with pytest.raises(BundleError, match="no step writes output out"):
        from_json(data)
    steps[:] = [last | {"after": []}]
    with pytest.raises(BundleError, match=r"step 0 .* reads y, which no earlier step writes"):
        from_json(data)
    data["programs"] *= 2
    with pytest.raises(BundleError, match="program x86-64-v3/main: it occurs twice"):
        from_json(data)


def test_alignment_of_targets() -> None:
    """Vulkan binds buffers at multiples of 256 bytes; CUDA kernels load 16 bytes at once."""
    for target, offset, message in (
        ("vulkan1.1", 1040, "the target takes multiples of 256"),
        ("sm_80", 1032, "the target takes multiples of 16"),
        ("sm_80", 1040, ""),
    ):
        data = json.loads(json.dumps(to_json(mlp_bundle(target).manifest)))
        program = data["programs"][0]
        program["arena_bytes"] += 256
        program["values"][3]["place"]["offset"] = offset
        if message:
            with pytest.raises(BundleError, match=message):
                from_json(data)
        else:
            from_json(data)


#: Every program run.
RUN = """
with kgen_runtime.load(bundle, device="cpu", num_threads=1) as kernels:
    for program in kernels.programs.values():
        program.run({value.name: np.ones(value.shape, "f") for value in program.inputs})
"""


def test_every_field(made: kgen.Bundle, data: Any, tmp_path: Path) -> None:
    """A fifth of all single changes is tried: each is refused in one line, or the program runs
    without a crash."""
    tried, taken = 0, []
    for what, lie in itertools.islice(lies({"programs": data["programs"]}), 0, None, 5):
        tried += 1
        try:
            from_json({**data, **lie})
        except BundleError as error:
            assert "\n" not in str(error) and len(str(error)) < 1000, what
        else:
            taken.append((what, {**data, **lie}))
    assert tried > 1000 and 20 < len(taken) < tried / 8
    # Names of nodes and programs change nothing that runs: a tenth of what is taken is enough.
    sample = [
        t
        for i, t in enumerate(taken)
        if (".name" not in t[0] and ".nodes" not in t[0]) or i % 4 == 0
    ]
    files = dict(made.files) | {name: data.tobytes() for name, data in made.weights.items()}
    use_each(RUN, files, sample[:40], tmp_path)


# -- The order of steps, against brute force


def halves(n: int) -> tuple[Program, list[Any]]:
    """Return a program that adds two rows, over a small arena whose memory is reused."""
    kernel = pipeline.kernel(
        kgen.Elementwise(expression="x + y", shapes=((8,), (8,)), dtype="f32"),
        targets.find("native"),
    )
    rng = random.Random(n)
    kinds = [("input", "x"), ("output", "out")]
    values = [
        Value(
            name=name,
            dtype=DType.F32,
            shape=(8,),
            strides=(1,),
            place=Place(kind=kind, name=name),  # type: ignore[arg-type]
        )
        for kind, name in kinds
    ]
    steps, written = [], [values[0]]
    for i in range(12):
        x, y = rng.choice(written), rng.choice(written)
        taken = {v.place.offset for v in (x, y) if v.place.kind == "arena"}
        # Every other place lies across two of the others.
        free = [
            offset for offset in (0, 32, 64, 96, 48) if all(abs(offset - t) >= 32 for t in taken)
        ]
        offset = rng.choice(free)
        made = Value(
            name=f"v{i}",
            dtype=DType.F32,
            shape=(8,),
            strides=(1,),
            place=Place(kind="arena", offset=offset),
        )
        values.append(made)
        steps.append((x, y, made))
        written = [
            v for v in written if v.place.kind != "arena" or abs(v.place.offset - offset) >= 32
        ] + [made]
    steps.append((written[-1], written[-2], values[1]))
    program = Program(
        name="sums",
        target="native",
        inputs=(values[0],),
        outputs=(values[1],),
        values=tuple(values),
        arena_bytes=128,
        steps=tuple(
            Step(kernel=kernel.plan.spec.key, bindings={"x": x.name, "y": y.name, "out": o.name})
            for x, y, o in steps
        ),
    )
    return program, [kernel]


@pytest.mark.parametrize("seed", range(6))
def test_any_order_that_waits_gives_the_same(seed: int) -> None:
    """Random orders that respect `after` give the same result in numpy, and every entry of
    `after` is needed."""
    program, kernels = halves(seed)
    made = bundle.pack(kernels, programs=[program])
    (program,) = made.manifest.programs
    values = program.by_name

    def run(order: list[int]) -> bytes:
        memory = {
            "arena": np.zeros(32, "i8"), "input": np.arange(8), "output": np.zeros(8, "i8")
        }  # fmt: skip

        def view(name: str) -> Any:
            place = values[name].place
            return memory[place.kind][place.offset // 4 :][:8]

        for i in order:
            b = program.steps[i].bindings
            view(b["out"])[:] = view(b["x"]) + 3 * view(b["y"]) + i
        return memory["output"].tobytes() + memory["arena"].tobytes()

    expected = run([*range(len(program.steps))])
    rng = random.Random(seed)

    def shuffled(after: list[set[int]]) -> list[int]:
        done: list[int] = []
        while len(done) < len(after):
            ready = [i for i in range(len(after)) if i not in done and after[i] <= {*done}]
            done.append(rng.choice(ready))
        return done

    waits = [set(step.after) for step in program.steps]
    assert all(run(shuffled(waits)) == expected for _ in range(50))
    data = json.loads(json.dumps(to_json(made.manifest)))
    for i, step in enumerate(data["programs"][0]["steps"]):
        for j in step["after"]:
            step["after"].remove(j)
            with pytest.raises(BundleError, match=f"step {i} .*at the same bytes"):
                from_json(data)
            step["after"].append(j)
            step["after"].sort()
    from_json(data)


def test_states_and_interleaved_values() -> None:
    """Two steps that write columns of one matrix do not conflict; a state is read, then written."""
    kernel = pipeline.kernel(
        kgen.Matmul(m=ROWS, n=4, k=4, dtype="f32", ldc=WIDE, lda=WIDE), targets.find("native")
    )
    key = kernel.plan.spec.key

    def matrix(name: str, kind: Any, memory: str, offset: int) -> Value:
        return Value(
            name=name,
            dtype=DType.F32,
            shape=(ROWS, 4),
            strides=(WIDE, 1),
            place=Place(kind=kind, name=memory, offset=offset),
        )

    def whole(name: str, kind: Any, shape: tuple[int, ...]) -> Value:
        return Value(
            name=name,
            dtype=DType.F32,
            shape=shape,
            strides=packed_strides(shape),
            place=Place(kind=kind, name=name if kind != "arena" else ""),
        )

    x, w, out = (
        whole("x", "input", (ROWS, WIDE)),
        whole("w", "input", (4, 4)),
        whole("out", "output", (ROWS, WIDE)),
    )
    parts = [matrix(f"x{i}", "input", "x", 16 * i) for i in range(2)]
    outs = [matrix(f"out{i}", "output", "out", 16 * i) for i in range(2)]
    program = Program(
        name="main",
        target="native",
        inputs=(x, w),
        outputs=(out,),
        values=(x, w, out, *parts, *outs),
        arena_bytes=0,
        steps=tuple(
            Step(kernel=key, bindings={"a": f"x{i}", "b": "w", "out": f"out{i}"}) for i in range(2)
        ),
    )
    made = bundle.pack([kernel], programs=[program])
    assert [s.after for s in made.manifest.programs[0].steps] == [(), ()]
