"""Attention on this CPU: every option and every remainder, against the scalar reference."""

from __future__ import annotations

import dataclasses
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
import kgen_runtime
from kgen import bundle, pipeline, targets
from kgen.check.verify.run import verify
from kgen.errors import ScheduleError
from kgen.schedule import CpuAttention
from kgen.spec import Attention
from kgen.targets.base import BuiltKernel, Source
from kgen.targets.cpu import FAMILY
from kgen.targets.cpu.schedule import attention_blocks
from tests import attention_specs, needs
from tests.attention_specs import BOTTOM

attention = partial(attention_specs.attention, dtype="f32")
V3 = "x86-64-v3"
#: Rows of scores up to which the scalar reference is quick.
SMALL: dict[str, Any] = {"block_q": 12, "block_k": 16, "mr": 6, "nv": 2}


def built(spec: Attention, target: str = V3, **fields: int) -> BuiltKernel:
    return pipeline.assembled(pipeline.plan_with(spec, targets.find(target), fields))


def check(spec: Attention, target: str = V3, **fields: int) -> None:
    report = verify(bundle.pack([built(spec, target, **fields)]))
    assert report.passed, report.to_json()


#: V is read where it is stored.
UNPACKED = SMALL | {"pack_v": 0}

CASES = {
    "one query": attention(1, 127, 64, heads=2, kv_heads=2),
    "one key": attention(127, 1, 256),
    "one query of a group": attention(1, 200, 40, heads=3, kv_heads=1, **BOTTOM),
    "5 queries": attention(5, 1025, 72, heads=2, **BOTTOM, kv_length=True),
    "16 queries": attention(16, 127, 128, causal=True),
    "17 queries": attention(17, 33, 64, heads=4, kv_heads=2, batch=2, layout="bshd", lse=True),
    "128 queries": attention(128, 130, 16, causal=True, dtype="bf16"),
    "more queries than keys": attention(40, 7, 8, **BOTTOM, lse=True),
    "window": attention(33, 70, 8, window=9, lse=True),
    "window behind": attention(33, 70, 24, **BOTTOM, window=20),
    "mask": attention(17, 37, 16, heads=2, batch=2, kv_heads=2, mask=(2, 1, 17, 37)),
    "mask of keys": attention(9, 37, 8, batch=2, mask=(2, 1, 1, 37), dtype="f16"),
    "mask of queries": attention(20, 37, 8, mask=(20, 1), softcap=2.0),
    "mask of 16 bits": attention(20, 37, 8, mask=(20, 37), dtype="bf16", causal=True),
    "boolean mask": attention(17, 37, 16, heads=2, mask=(2, 17, 37), mask_dtype="bool", lse=True),
    "boolean mask of queries": attention(20, 37, 8, mask=(20, 1), mask_dtype="bool"),
    "hidden scores": attention(20, 37, 8, mask=(20, 37), mask_dtype="bool", mask_value=-2.0),
    "masked rows of NaN": attention(20, 37, 8, mask=(20, 37), empty_rows="nan", lse=True),
    "zeros for NaN": attention(20, 37, 8, mask=(20, 37), empty_rows="no_nan"),
    "lengths": attention(9, 50, 16, batch=3, kv_length=True, heads=2, lse=True, dtype="f16"),
    "cap and lengths": attention(9, 50, 16, batch=3, kv_length=True, softcap=30.0, **BOTTOM),
    "size of values": attention(9, 20, 24, out=41, out_dtype="bf16"),
    "one element": attention(3, 5, 1, out=1, dtype="f16"),
    "strides": attention(
        9, 20, 16, heads=2, kv_heads=2, layout="bshd", kv_layout="bhsd",
        q_strides=(864, 96, 48), v_strides=(1000, 400, 17), out_strides=(600, 64, 30),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_options_and_remainders(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize(
    "fields",
    [
        SMALL,
        SMALL | {"pack_v": 1},
        SMALL | {"block_q": 1, "mr": 1, "nv": 7},
        SMALL | {"block_q": 240, "mr": 12, "nv": 1, "block_k": 8},
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_blocks(fields: dict[str, int], dtype: str) -> None:
    """Blocks end inside a tile, a vector and the keys; V is copied or read in place."""
    spec = attention(
        19, 45, 12, heads=4, kv_heads=2, batch=2, out=20, dtype=dtype, **BOTTOM, kv_length=True
    )
    check(spec, V3, **fields)


@pytest.mark.parametrize("fields", [{"kv_length": True, **BOTTOM}, {"mask": (9, 13)}])
@pytest.mark.parametrize("pack_k", [0, 1])
@pytest.mark.parametrize("target", [V3, "x86-64-v4", "aarch64-neon"])
def test_all_keys_in_one_block(target: str, pack_k: int, fields: dict[str, Any]) -> None:
    """With one block nothing is rescaled, and rows without a key give zeros."""
    spec = attention(9, 13, 12, heads=4, kv_heads=2, batch=3, lse=True, **fields)
    check(spec, target, **(SMALL | {"pack_v": 0, "pack_k": pack_k}))


@pytest.mark.parametrize("window", [40, None])
@pytest.mark.parametrize("pack_v", [0, 1])
@pytest.mark.parametrize(("size", "block_k"), [(16, 16), (8, 32), (64, 24), (1, 16)])
def test_pages(size: int, block_k: int, pack_v: int, window: int | None) -> None:
    """Pages are shorter or longer than a block of keys; blocks begin inside a page; batch
    elements share pages; page numbers after the last valid key are out of range."""
    spec = attention(
        3, 64, 13, heads=4, kv_heads=2, batch=3, out=9, page_size=size, pages=100 // size,
        window=window, **BOTTOM,
    )  # fmt: skip
    check(spec, V3, **(SMALL | {"block_k": block_k, "pack_v": pack_v}))


def test_pages_of_any_strides() -> None:
    fields: dict[str, Any] = {"dtype": "bf16", "kv_layout": "bhsd", "v_strides": (900, 300, 20)}
    check(attention(5, 48, 16, heads=6, kv_heads=3, page_size=12, mask=(5, 48), **fields))


@pytest.mark.parametrize("target", ["x86-64", "aarch64-neon", "x86-64-v4"])
def test_pages_by_other_vectors(target: str) -> None:
    check(attention(2, 48, 20, heads=2, batch=2, page_size=12, lse=True), target, block_k=16)


@pytest.mark.parametrize("length", [127, 128, 129, 130, 256])
def test_boundaries_of_pages(length: int, tmp_path: Path) -> None:
    """A query attends to one key more or less than a page holds; unused rows hold NaN."""
    spec = attention(1, 256, 8, batch=2, page_size=128, pages=5)
    bundle.pack([built(spec, V3, block_q=1, block_k=64, mr=1, nv=1, pack_v=0)]).save(
        tmp_path / "attention.kgen"
    )
    kernels = kgen_runtime.load(tmp_path / "attention.kgen")
    generator = np.random.default_rng(length)
    q, k, v = (generator.standard_normal(spec.parameter(n).shape).astype(np.float32) for n in "qkv")
    # Both batch elements share the page with the first keys; the second one has one page only.
    table = np.array([[3, 1], [3, -7]], np.int32)
    lengths = np.array([length, 40], np.int32)
    rows = {b: [(table[b, j // 128], j % 128) for j in range(n)] for b, n in enumerate(lengths)}
    for pool in (k, v):
        valid = np.zeros((5, 128), bool)
        valid[tuple(zip(*rows[0], strict=True))] = True
        pool[~valid] = np.nan
    out = kernels.attention(q, k, v, lengths, table)
    for b, places in rows.items():
        keys, values = (np.array([x[page, row, 0] for page, row in places]) for x in (k, v))
        weights = np.exp(keys @ q[b, 0, 0] / np.sqrt(8))
        np.testing.assert_allclose(out[b, 0, 0], weights @ values / weights.sum(), rtol=1e-4)


def test_pages_that_are_none_are_refused_at_the_call(tmp_path: Path) -> None:
    """A prepared call checks the table once; if it changes later, the nearest page is read."""
    spec = attention(1, 32, 8, batch=2, page_size=8, pages=6)
    bundle.pack([built(spec, V3, **SMALL)]).save(tmp_path / "attention.kgen")
    kernels = kgen_runtime.load(tmp_path / "attention.kgen")
    q, k, v = (np.zeros(spec.parameter(n).shape, np.float32) for n in "qkv")
    v[:] = np.arange(6).reshape(-1, 1, 1, 1)
    lengths = np.array([9, 32], np.int32)
    table = np.array([[0, 5, 77, -1], [1, 2, 3, 4]], np.int32)
    run = kernels.attention.prepare(q, k, v, lengths, table)
    for wrong in (6, -1):
        table[0, 1] = wrong
        with pytest.raises(kgen.errors.ArgumentError) as error:
            kernels.attention(q, k, v, lengths, table)
        message = f"page_table[0, 1]={wrong} is no page of k and v; give 0 to 5 for the keys before"
        assert message in str(error.value) and len(str(error.value)) <= 500
        nearest = min(max(wrong, 0), 5)
        np.testing.assert_allclose(run()[0], (8 * 0.0 + nearest) / 9, rtol=1e-6)


def test_more_keys_than_there_are_are_refused_at_the_call(tmp_path: Path) -> None:
    spec = attention(3, 40, 8, batch=2, kv_length=True)
    bundle.pack([built(spec, V3, **SMALL)]).save(tmp_path / "attention.kgen")
    kernels = kgen_runtime.load(tmp_path / "attention.kgen")
    inputs = [np.ones(p.shape, np.float32) for p in spec.parameters[:3]]
    lengths = np.array([7, 40], np.int32)
    run = kernels.attention.prepare(*inputs, lengths)
    lengths[1] = 41
    message = r": kv_length\[1\]=41 exceeds the 40 keys of k and v; give 0 to 40, or build it for"
    for call in (kernels.attention, kernels.attention.prepare):
        with pytest.raises(kgen.errors.ArgumentError, match=message):
            call(*inputs, lengths)
    assert np.all(run() == 1.0)  # A prepared call was checked; it reads all keys.


@pytest.mark.parametrize("target", ["x86-64", "aarch64-neon", "x86-64-v4"])
def test_other_vectors(target: str) -> None:
    fields: dict[str, Any] = {"kv_length": True, "mask": (7, 21), "softcap": 5.0, "lse": True}
    check(attention(7, 21, 20, heads=2, **fields, **BOTTOM), target, block_k=16)


def test_scores_of_any_size_and_masked_rows(tmp_path: Path) -> None:
    """Scores up to 1e4, rows of -infinity, and a later block with the maximum."""
    spec = attention(4, 64, 8, mask=(4, 64), scale=1.0, lse=True)
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal(p.shape).astype(np.float32) for p in spec.parameters[:3])
    q *= 2000.0
    k[0, 0, 60] *= 4.0
    mask = np.zeros((4, 64), np.float32)
    mask[1], mask[2, :40], mask[3] = -np.inf, -np.inf, np.finfo(np.float32).min
    bundle.pack([built(spec, V3, **SMALL)]).save(tmp_path / "attention.kgen")
    kernels = kgen_runtime.load(tmp_path / "attention.kgen")
    out, lse = kernels.attention(q, k, v, mask)
    scores = q[0, 0].astype(np.float64) @ k[0, 0].astype(np.float64).T + mask
    assert np.abs(scores[0]).max() > 1e4
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights @ v[0, 0] / weights.sum(1, keepdims=True)
    assert np.all(out[0, 0, 1] == 0.0) and lse[0, 0, 1] == -np.inf
    for row in (0, 2, 3):
        np.testing.assert_allclose(out[0, 0, row], expected[row], rtol=2e-2, atol=1e-3)


def test_keys_beyond_the_length_do_not_reach_results(tmp_path: Path) -> None:
    spec = attention(3, 40, 8, kv_length=True)
    q, k, v = (np.ones(p.shape, np.float32) for p in spec.parameters[:3])
    bundle.pack([built(spec, V3, **SMALL)]).save(tmp_path / "attention.kgen")
    kernels = kgen_runtime.load(tmp_path / "attention.kgen")
    k[:, :, 17:] = v[:, :, 17:] = np.nan
    for length in (17, 3, 0, -5):
        out = kernels.attention(q, k, v, np.array([length], np.int32))
        assert np.all(out == (1.0 if length > 0 else 0.0))


def test_threads_have_blocks_of_queries() -> None:
    spec = attention(64, 64, 16, heads=3, kv_heads=3, batch=2)
    plan = pipeline.plan_with(spec, targets.find(V3), SMALL)
    assert plan.launches[0].grid == (2 * 3 * 6, 1, 1)
    assert plan.workspaces == ()


BF16 = "x86-64-v4+bf16"
#: Both products by dot products of pairs.
DOTS = SMALL | {"pack_v": 1, "dots": 1}


#: Heads and numbers of keys that are odd, and pages.
ODD = (
    attention(9, 45, 13, heads=4, kv_heads=2, out=9, kv_length=True, **BOTTOM),
    attention(7, 33, 1, out=1, mask=(7, 33), softcap=3.0, lse=True),
    attention(5, 48, 40, heads=2, batch=2, page_size=16, **BOTTOM),
)


@pytest.mark.parametrize("number", range(len(ODD)))
@pytest.mark.parametrize(("pack_k", "pack_v"), [(1, 1), (1, 0), (0, 1)])
def test_dot_products(number: int, pack_k: int, pack_v: int) -> None:
    """An odd number of elements ends with half a pair; V is multiplied with or without pairs of
    keys."""
    spec = dataclasses.replace(ODD[number], dtype="bf16", out_dtype=None, mask_dtype=None)
    check(spec, BF16, **(DOTS | {"pack_k": pack_k, "pack_v": pack_v}))


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(("target", "block_k"), [(V3, 24), ("x86-64-v4", 32), ("aarch64-neon", 8)])
def test_inner_products(dtype: str, target: str, block_k: int) -> None:
    """Scores are computed for a vector's lanes of keys, then for remaining keys by powers of
    two."""
    fields: dict[str, Any] = {"kv_length": True, "mask": (5, 45), "lse": True, **BOTTOM}
    spec = attention(5, 45, 21, heads=4, kv_heads=2, batch=2, dtype=dtype, **fields)
    check(spec, target, **(SMALL | {"block_k": block_k, "pack_v": 0, "pack_k": 0}))


#: Bugs of inner products.
INNER_MUTATIONS = {
    "keys of a vector": (r"%ir\.to = getelementptr float, ptr %ir\.row, i64 %i",
                         r"%ir.to = getelementptr float, ptr %ir.row, i64 0"),
    "keys behind vectors": (r"(%j\d\.first = add nuw i64 %key), %j\d\.above", r"\1, 0"),
    "addend of a fold": (r"(%ir\.f2) = fadd (<.*>) %ir\.f2\.low, .*",
                         r"\1 = fadd \2 \1.low, zeroinitializer"),
    "query of another row": (r"(%ir\.query\.offset = mul nuw i64) %ir", r"\1 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", INNER_MUTATIONS)
def test_verification_finds_inner(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = pipeline.plan_with(mutated(), targets.find(V3), UNPACKED | {"pack_k": 0})
    source = pipeline.source(plan)
    text, count = re.subn(*INNER_MUTATIONS[name], source.text)
    assert count, name
    broken = Source(text=text, extension=source.extension, entry_point=source.entry_point)
    monkeypatch.setattr(pipeline, "source", lambda _: broken)
    assert not verify(bundle.pack([pipeline.assembled(plan)])).passed


def test_inner_products_of_keys_in_several_pages_are_refused() -> None:
    fields: dict[str, Any] = {"page_size": 12, "window": 9, **BOTTOM}
    for more in ({"page_size": 12}, {"page_size": 8, "window": 9}):
        with pytest.raises(ScheduleError) as error:
            built(attention(5, 48, 8, **(fields | more)), V3, **(SMALL | {"pack_k": 0}))
        message = f"pack_k=0 reads 8 keys of a page at a time, which page_size={more['page_size']}"
        assert str(error.value).startswith(message)


def test_few_queries_do_not_transpose_keys() -> None:
    for queries, pack_k in ((1, False), (128, True)):
        schedule = attention_blocks.choose(attention(queries, 512, 64), targets.find(V3))
        assert schedule.pack_k is pack_k


#: Bugs of kernels by dot products.
DOT_MUTATIONS = {
    "scale of scores": (r"\.scaled = fmul (.*), splat.*", r".scaled = fmul \1, splat (float 1.0)"),
    "half of the pairs": (r"%here\.up = add nuw i64 %here, 1", r"%here.up = add nuw i64 %here, 0"),
    "pairs of a key": (r"i32 0, i32 16, i32 1, i32 17", r"i32 0, i32 1, i32 16, i32 17"),
}  # fmt: skip


@pytest.mark.parametrize("name", DOT_MUTATIONS)
def test_verification_finds_dot(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = attention(
        3, 45, 13, heads=4, kv_heads=2, kv_length=True, batch=2, dtype="bf16", **BOTTOM
    )
    plan = pipeline.plan_with(spec, targets.find(BF16), DOTS)
    source = pipeline.source(plan)
    text, count = re.subn(*DOT_MUTATIONS[name], source.text)
    assert count, name
    broken = Source(text=text, extension=source.extension, entry_point=source.entry_point)
    monkeypatch.setattr(pipeline, "source", lambda _: broken)
    assert not verify(bundle.pack([pipeline.assembled(plan)])).passed


def test_the_last_value_of_an_odd_number_is_no_pair(tmp_path: Path) -> None:
    """The weight 0 of a missing key must not be multiplied by infinity."""
    needs.cpu(BF16)
    spec = attention(1, 3, 8, dtype="bf16", out_dtype="f32")
    bundle.pack([built(spec, BF16, **DOTS)]).save(tmp_path / "attention.kgen")
    q, k, v = (np.zeros(spec.parameter(n).shape, np.uint16) for n in "qkv")
    v[:, :, 2] = 0x7F80
    out = kgen_runtime.load(tmp_path / "attention.kgen").attention(q, k, v)
    assert np.all(np.isposinf(out))


def test_pairs_of_bf16_are_chosen_where_dot_products_are_as_fast_as_multiply_adds() -> None:
    spec = attention(128, 128, 64, heads=12, kv_heads=12, dtype="bf16")
    for core, dots in (("Zen 5", True), ("Zen 4", True), ("Golden Cove", False)):
        target = dataclasses.replace(targets.find(BF16), device=core)
        assert attention_blocks.choose(spec, target).dots is dots


@pytest.mark.parametrize(
    ("dtype", "target", "fields", "message"),
    [
        ("f32", BF16, DOTS, "dots=1 multiplies pairs of bf16; f32 on x86-64-v4+bf16 has no "),
        ("bf16", V3, DOTS, "dots=1 multiplies pairs of bf16; bf16 on x86-64-v3 has no instruction"),
    ],
)
def test_dot_products_that_do_not_exist(
    dtype: str, target: str, fields: dict[str, int], message: str
) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        built(attention(8, 16, 8, dtype=dtype), target, **fields)


#: A kernel with a bug: text that is replaced, and how often it is there.
MUTATIONS = {
    "sums are not rescaled": (r"%(\w)\.total\.start = fmul (.*), %\w\.factor",
                              r"%\1.total.start = fmul \2, splat (float 1.0)"),
    "results are not rescaled": (r"br i1 %(\w)\.grows, label", r"br i1 false, label"),
    "stale maximum": (r"%e\.used = select i1 %e\.none, float 0\.0, float %e\.new",
                      r"%e.used = select i1 %e.none, float 0.0, float %e.old"),
    "mask off by one": (r"icmp slt (<.*) %e\.stop\.all", r"icmp sle \1 %e.stop.all"),
    "start off by one": (r"icmp sge (<.*) %e\.start\.all", r"icmp sgt \1 %e.start.all"),
    "position off by one": (r"%r\.end = add i64 %r\.position, 1",
                            r"%r.end = add i64 %r.position, 0"),
    "last key": (r"%last\.key = sub i64 %keys\.stop, 1", r"%last.key = sub i64 %keys.stop, 3"),
    "values of a whole block": (r"(call void @values_.*), i64 %here\)", r"\1, i64 16)"),
    "length of another element": (r"ptr %kv_length, i64 %batch", r"ptr %kv_length, i64 0"),
    "head of another group": (r"%first\.head = mul nuw i64 %kv\.head, 2",
                              r"%first.head = mul nuw i64 %kv.head, 1"),
    "mask of another key": (r"%e\.mask\.row, i64 %key", r"%e.mask.row, i64 0"),
    "rows of -infinity": (r"%f\.none = fcmp oeq", "%f.none = fcmp ogt"),
    "scale": (r"(%r\.x0\.scaled = fmul .*), splat.*", r"\1, splat (float 1.0)"),
}  # fmt: skip


#: Bugs of kernels with pages.
PAGE_MUTATIONS = {
    "table of another batch element": (r"mul nuw i64 %batch, 32", r"mul nuw i64 0, 32"),
    "page of the block's first key": (r"%t\.p\.column = udiv i64 %t\.first, 8",
                                      r"%t.p.column = udiv i64 %key, 8"),
    "key of the vector's end": (r"%t\.below(\d) = sub nuw i64 %t\.key\d, %t\.first",
                                r"%t.below\1 = add i64 0, 0"),
    "page of a shorter size": (r"%page\.at\.row = urem i64 %page\.key, 8",
                               r"%page.at.row = urem i64 %page.key, 7"),
    "weights of the first page": (r"getelementptr float, ptr %scores, i64 %page\.from",
                                  r"getelementptr float, ptr %scores, i64 0"),
    "rows behind the last page": (r"%page\.rows = sub i64 %page\.stop, %in\.page",
                                  r"%page.rows = add i64 0, 8"),
}  # fmt: skip


def paged() -> Attention:
    fields: dict[str, Any] = {"page_size": 8, "pages": 20, "mask": (13, 64)}
    return attention(13, 64, 12, heads=4, kv_heads=2, batch=2, **BOTTOM, **fields)


def mutated() -> Attention:
    fields: dict[str, Any] = {"window": 30, "kv_length": True, "mask": (13, 45)}
    return attention(13, 45, 12, heads=4, kv_heads=2, batch=2, **BOTTOM, **fields)


@pytest.mark.parametrize("spec", [mutated(), paged()])
def test_without_a_mutation_verification_passes(spec: Attention) -> None:
    check(spec, V3, **UNPACKED)


@pytest.mark.parametrize("name", [*MUTATIONS, *PAGE_MUTATIONS])
def test_verification_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mutated() if name in MUTATIONS else paged()
    plan = pipeline.plan_with(spec, targets.find(V3), UNPACKED)
    source = pipeline.source(plan)
    text, count = re.subn(*(MUTATIONS | PAGE_MUTATIONS)[name], source.text)
    assert count, name
    broken = Source(text=text, extension=source.extension, entry_point=source.entry_point)
    monkeypatch.setattr(pipeline, "source", lambda _: broken)
    assert not verify(bundle.pack([pipeline.assembled(plan)])).passed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"block_k": 20}, "block_k=20 is not a multiple of 8, the elements of a vector; try "),
        ({"mr": 6, "nv": 3, "block_q": 12}, "mr=6 and nv=3 need 23 registers; x86-64-v3 has 16"),
        ({"mr": 8, "nv": 2, "block_q": 16}, "has 16; try mr=4"),
        ({"mr": 1, "nv": 9}, "has 16; try nv=7"),
        ({"block_q": 4092, "mr": 12, "nv": 1, "block_k": 64}, "; try block_q=60"),
        ({"block_q": 6, "mr": 6, "nv": 1, "block_k": 65536}, "; try block_k=512"),
        ({"block_q": 13, "mr": 6, "nv": 2}, "block_q=13 is not a multiple of mr=6"),
    ],
)
def test_schedules_that_do_not_fit(fields: dict[str, int], message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        built(attention(8192, 64, 64), V3, **fields)
    assert message in str(error.value)
    assert len(str(error.value)) <= 500


def test_candidates_are_legal_and_ranked() -> None:
    spec, target = attention(128, 128, 64, heads=12, kv_heads=12), targets.find(V3)
    found = FAMILY.candidates(spec, target)
    # They are ranked for several numbers of threads, and predicted for one.
    seconds = [candidate.seconds for candidate in found]
    assert len(found) > 8 and seconds[0] < seconds[-1]
    assert FAMILY.choose(spec, target) == found[0].schedule
    for candidate in found[:8]:
        FAMILY.plan(spec, target, candidate.schedule)


def test_reads_from_memory_do_not_hide_arithmetic() -> None:
    """The predicted time of a decoder's step is reading K and V plus a little arithmetic."""
    target = dataclasses.replace(targets.find(BF16), device="Zen 5")
    for dtype in ("f32", "bf16"):
        spec = attention(1, 2048, 128, heads=32, kv_heads=32, dtype=dtype)
        terms = [each.terms for each in attention_blocks.candidates(spec, target, most=50)]
        busy = [sum(each.values()) - each["memory"] for each in terms]
        assert min(busy) > 0.05 * terms[0]["memory"] and busy[0] <= 1.01 * min(busy)


def test_blocks_of_keys_are_computed_whole() -> None:
    """Scores of a block count in full, exponentials by vectors; blocks have equally many keys."""
    target = targets.find(V3)
    fields: dict[str, Any] = {"block_q": 12, "block_k": 64, "mr": 6, "nv": 2, "pack_v": False}
    terms = [
        attention_blocks.predicted(attention(12, keys, 64), target, CpuAttention(**fields)).terms
        for keys in (64, 65, 128)
    ]
    assert 1.4 < terms[1]["arithmetic"] / terms[0]["arithmetic"] < 2
    # Several blocks rescale sums.
    assert terms[0]["issue"] < terms[1]["issue"] < terms[2]["issue"] > 2 * terms[0]["issue"]
    assert terms[0]["packing"] < terms[1]["packing"] < terms[2]["packing"] / 1.9
    found = {each.block_k for each in attention_blocks.space(attention(12, 300, 64), target)}
    assert 152 in found and 256 not in found


def test_rows_of_the_last_block_are_counted_once() -> None:
    """The last block of queries has fewer rows, and its last tile is lower."""
    target = targets.find(V3)
    fields: dict[str, Any] = {"block_q": 12, "block_k": 64, "mr": 6, "nv": 2, "pack_v": False}
    eight, twelve, twenty, more = (
        attention_blocks.predicted(
            attention(queries, 64, 64), target, CpuAttention(**fields)
        ).terms["arithmetic"]
        for queries in (8, 12, 20, 24)
    )
    assert eight < twelve and more == pytest.approx(2 * twelve)
    assert twenty == pytest.approx(twelve + eight)


def test_other_families_refuse() -> None:
    with pytest.raises(
        kgen.KgenError, match=r"dtype=f16 is not supported by gfx1030 for attention"
    ):
        kgen.build(attention(8, 8, dtype="f16"), targets=["gfx1030"])
