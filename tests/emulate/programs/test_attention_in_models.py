"""Attention that models write out as one kernel of a GPU: executed, and every step compared with
ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

import kgen
from kgen import pipeline, targets
from kgen.check.model.steps import verify_program
from kgen.check.model.truth import truth
from kgen.check.verify.run import opened
from kgen.cli.commands.compile import choices_of
from kgen.graph.compile import CompiledModel
from kgen.spec import Attention, Matmul
from kgen.targets.base import Source
from tests.onnx_models import Maker

BATCH, HEADS, SIZE = 2, 4, 16
TYPES = {np.float16: T.FLOAT16, np.float32: T.FLOAT}
#: Rows of a mask: all tokens, and padding at the end or the start, as int64.
MASK = np.array([[1] * 21, [0] * 4 + [1] * 12 + [0] * 5], np.int64)


class Layer(Maker):
    """Projections, heads, scores, a softmax, sums of values, and a projection."""

    def __init__(self, dtype: Any, tokens: int, kv_heads: int = HEADS) -> None:
        super().__init__()
        self.dtype, self.tokens, self.kv_heads = dtype, tokens, kv_heads
        self.x = self.input("x", (BATCH, tokens, HEADS * SIZE), TYPES[dtype])

    def number(self, value: Any) -> str:
        return self.constant(value, self.dtype)

    def shaped(self, x: str, *shape: int) -> str:
        return str(self.add("Reshape", x, self.constant(shape, np.int64)))

    def projected(self, x: str, outputs: int) -> str:
        weights = self.rng.standard_normal((HEADS * SIZE, outputs)) * 0.2
        return str(self.add("MatMul", x, self.number(weights)))

    def heads(self, count: int) -> str:
        x = self.shaped(self.projected(self.x, count * SIZE), BATCH, self.tokens, count, SIZE)
        return str(self.add("Transpose", x, perm=[0, 2, 1, 3]))

    def shared(self) -> str:
        """Return the heads of K or V, each repeated for all query heads of its group."""
        x, group = self.heads(self.kv_heads), HEADS // self.kv_heads
        if group == 1:
            return x
        x = self.shaped(x, BATCH, self.kv_heads, 1, self.tokens, SIZE)
        sizes = (BATCH, self.kv_heads, group, self.tokens, SIZE)
        x = self.add("Expand", x, self.constant(sizes, np.int64))
        return self.shaped(x, BATCH, HEADS, self.tokens, SIZE)

    def scores(self) -> str:
        q, k = self.heads(HEADS), self.shared()
        product = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]))
        return str(self.add("Mul", product, self.number(SIZE**-0.5)))

    def attended(self, scores: str) -> onnx.ModelProto:
        x = self.add("MatMul", self.add("Softmax", scores, axis=-1), self.shared())
        x = self.shaped(
            self.add("Transpose", x, perm=[0, 2, 1, 3]), BATCH, self.tokens, HEADS * SIZE
        )
        return self.model(self.projected(x, HEADS * SIZE), dtype=TYPES[self.dtype])


def encoder(dtype: Any) -> onnx.ModelProto:
    """BERT: a mask of tokens, whose zeros become large negative numbers that are added."""
    m = Layer(dtype, tokens=21)
    mask = m.shaped(m.input("mask", (BATCH, 21), T.INT64), BATCH, 1, 1, 21)
    seen = m.add("Cast", mask, to=TYPES[dtype])
    hidden = m.add("Mul", m.add("Sub", m.number(1.0), seen), m.number(np.finfo(dtype).min))
    return m.attended(m.add("Add", m.scores(), hidden))


def hidden_by_choice(dtype: Any) -> onnx.ModelProto:
    """A mask of tokens selects between a score and a large negative number."""
    m = Layer(dtype, tokens=21)
    mask = m.shaped(m.input("mask", (BATCH, 21), T.INT64), BATCH, 1, 1, 21)
    seen = m.add("Cast", mask, to=T.BOOL)
    return m.attended(m.add("Where", seen, m.scores(), m.number(np.finfo(dtype).min)))


def decoder(dtype: Any) -> onnx.ModelProto:
    """A causal mask, and two heads of queries for each of K and V."""
    m = Layer(dtype, tokens=37, kv_heads=HEADS // 2)
    triangle = np.where(np.tri(37, dtype=bool), 0.0, -np.inf)
    return m.attended(m.add("Add", m.scores(), m.number(triangle)))


MODELS = {"padding": encoder, "choice": hidden_by_choice, "causal, grouped": decoder}


def compiled(model: onnx.ModelProto, target: str) -> CompiledModel:
    return kgen.compile_model(model, [target], cache=False)


def attention_of(made: CompiledModel, target: str) -> Attention:
    """Return a model with one attention and four projections, of which three may be one product."""
    ops = [call.spec.op for call in made.lowered[target].calls]
    assert "rowwise" not in ops and ops.count("matmul") in (2, 4)
    (spec,) = (s for c in made.lowered[target].calls if isinstance(s := c.spec, Attention))
    return spec


def verified(made: CompiledModel, model: onnx.ModelProto) -> tuple[bool, str]:
    (program,) = made.bundle.manifest.programs
    given = {"mask": MASK} if any(i.name == "mask" for i in model.graph.input) else {}
    with opened(made.bundle) as reader:
        found = verify_program(reader, program, truth(model, program, given=given))
    assert found.executed
    assert all(step.error is not None for step in found.steps if "attention" in step.kernel)
    return found.passed, str((found.first_wrong, found.outputs, found.reason))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("target", "dtype"),
    [("sm_80", np.float16), ("vulkan1.3", np.float16), ("vulkan1.3", np.float32)],
)
def test_models_run(name: str, target: str, dtype: Any) -> None:
    model = MODELS[name](dtype)
    made = compiled(model, target)
    spec = attention_of(made, target)
    assert spec.kv_heads == (2 if "grouped" in name else 4)
    assert (spec.causal, spec.mask is None) == (name.startswith("causal"),) * 2
    passed, reason = verified(made, model)
    assert passed, reason


#: Bugs of a kernel: text that is replaced, by target.
BUGS = {
    "sm_80": ("rcp.approx.ftz.f32 %share, ", "mov.f32 %share, "),
    "vulkan1.3": ("OpFAdd %float %scaled_", "OpFSub %float %scaled_"),
}


@pytest.mark.parametrize("target", BUGS)
def test_a_wrong_step_is_found(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pipeline.source

    def broken(plan: Any) -> Source:
        found = source(plan)
        if not isinstance(plan.spec, Attention):
            return found
        old, new = BUGS[target]
        assert old in found.text
        return Source(
            text=found.text.replace(old, new),
            extension=found.extension,
            entry_point=found.entry_point,
        )

    monkeypatch.setattr(pipeline, "source", broken)
    model = encoder(np.float16)
    passed, _ = verified(compiled(model, target), model)
    assert not passed


@pytest.mark.parametrize(
    ("target", "dtype", "is_one"),
    [
        ("sm_80", np.float32, True),
        ("sm_75", np.float16, True),
        ("gfx1030", np.float16, False),
        ("gfx942", np.float16, True),
        ("gfx1100", np.float32, True),
        ("vulkan1.3+coopmat", np.float16, True),
        ("vulkan1.3+coopmat", np.float32, True),
        ("vulkan1.3+cpu", np.float32, False),
    ],
)
def test_which_targets_have_one_kernel(target: str, dtype: Any, is_one: bool) -> None:
    """The kernel multiplies by the same units as the steps: matrix instructions, or
    multiply-adds where the steps' products have no others."""
    made = compiled(decoder(dtype), target)
    ops = [call.spec.op for call in made.lowered[target].calls]
    assert ("attention" in ops, "rowwise" in ops) == (is_one, not is_one)
    assert [choice.is_one_kernel for choice in made.lowered[target].choices] == [is_one]
    (row,) = choices_of(made)
    assert row["choice"] == ("one kernel" if is_one else "steps")
    if target in ("sm_80", "gfx942"):
        assert (row["one_kernel"] is not None) is (row["one_kernel_floor"] is not None) is is_one
        assert row["steps_floor"] > 0.0


def product(spec: Attention, number: int) -> Matmul:
    """The first or the second product of attention."""
    m, n = spec.queries, (spec.keys, spec.out_head)[number]
    k = (spec.head, spec.keys)[number]
    return Matmul(m=m, n=n, k=k, batch=spec.batch * spec.heads, dtype=spec.dtype, layout="nt")


@pytest.mark.parametrize(
    ("target", "queries", "keys", "is_one"),
    [
        ("sm_80", 128, 128, True),
        ("sm_80", 21, 21, True),
        ("sm_80", 1, 2048, True),
        ("gfx942", 1, 2048, True),
        ("vulkan1.3", 512, 512, True),
        ("vulkan1.3", 1, 2048, False),
        ("vulkan1.3+coopmat", 512, 512, True),
        ("vulkan1.3+coopmat", 1, 2048, False),
    ],
)
def test_few_queries_of_many_keys(target: str, queries: int, keys: int, is_one: bool) -> None:
    """A single query has few scores, and its two products have more workgroups than heads. The
    kernel has as many if it divides the keys."""
    found = targets.find(target)
    spec = Attention(q=(1, 12, queries, 64), k=(1, 12, keys, 64))
    steps = tuple(product(spec, number) for number in range(2))
    assert targets.family(found.family).attends(found, spec, steps) is is_one


def test_what_exceeds_the_limits_of_a_target_keeps_its_steps() -> None:
    """The attention has more heads than a grid has workgroups along z."""
    family, target = targets.family("cuda"), targets.find("sm_80")
    specs = [Attention(q=(n, 300, 4, 16), k=(n, 300, 4, 16)) for n in (200, 300)]
    assert [family.attends(target, spec, ()) for spec in specs] == [True, False]


def test_what_cannot_be_planned_leaves_the_other_form() -> None:
    """The product has more matrices than a grid has workgroups along z; on Vulkan, the tensors
    have too many bytes."""
    spec = Attention(q=(1, 12, 1, 64), k=(1, 12, 2048, 64))
    for name, steps, step in (
        ("sm_80", (Matmul(m=1, n=64, k=64),), Matmul(m=1, n=2048, k=64, batch=90000)),
        ("vulkan1.3", (product(spec, 0),), Matmul(m=1 << 16, n=1 << 16, k=64)),
    ):
        target = targets.find(name)
        family = targets.family(target.family)
        assert not family.attends(target, spec, steps)
        assert family.attends(target, spec, (step,))
