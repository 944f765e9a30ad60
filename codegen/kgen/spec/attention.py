"""Spec of attention: softmax(scale Q K^T + mask) V for all heads of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, Literal

from kgen.errors import SpecError
from kgen.spec.enum_fields import Member, OptionalMember
from kgen.spec.keys import number_name
from kgen.spec.shapes import Shape, by_x, packed
from kgen.spec.spec import MAX_BYTES, Spec, finite, whole_each
from kgen.spec.strides import Dims, are_disjoint
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

#: Largest batch size, and largest number of heads.
MAX_BATCH = 1 << 16
#: Largest number of queries, and of keys.
MAX_LENGTH = 1 << 24
#: Largest number of elements of a head.
MAX_HEAD = 256
DTYPES = (DType.F16, DType.BF16, DType.F32)
#: Types of q, k and v.
INPUT_DTYPES = (*DTYPES, DType.E4M3)
TENSORS = ("q", "k", "v", "out")


class HeadLayout(StrEnum):
    """Order of the axes in memory, outermost first: batch, heads, sequence, elements of a head."""

    BHSD = "bhsd"
    BSHD = "bshd"


class Diagonal(StrEnum):
    """Corner of the score matrix at which the diagonal of `causal` and `window` is anchored."""

    TOP_LEFT = "top_left"  # query i is at the position of key i
    BOTTOM_RIGHT = "bottom_right"  # the last query is at the position of the last key


class EmptyRows(StrEnum):
    """Result of a query whose scores are all -infinity, which softmax has no weights for."""

    ZEROS = "zeros"
    NAN = "nan"  # as softmax gives
    NO_NAN = "no_nan"  # zeros, and also where a score is NaN or +infinity


@frozen
class Attention(Spec):
    """Fused attention: softmax(scores) V for each head.

    The scores are cap(scale Q K^T) + mask, in f32.

    Shapes and memory:

    - `q` is batch x heads x queries x elements, and `k` is batch x K/V heads x keys x elements.
    - `v` has the shape of `k`, but may have another number of elements per head, which is then the
      output's.
    - The number of heads is a multiple of the number of K/V heads. Query head h uses K/V head h //
      (heads / K/V heads).
    - `layout` is the order of axes of q and out in memory. `kv_layout`, by default the same, is
      that of k and v.
    - Strides are those of the first three axes in memory, in elements. None means packed.

    A query attends to the keys that all of these leave:

    - `causal`: keys up to the query's position. Query i is at position i, or with
      `diagonal="bottom_right"` at i + keys - queries.
    - `window`: keys whose distance to the query's position is less than this.
    - `kv_length`: an input with one s32 per batch element, the number of its keys, which
      `bottom_right` uses as well. Keys and values beyond it are not read. Lengths are clamped to 0
      and the number of keys; a call on the CPU refuses more than that number.
    - a boolean `mask`: keys for which it is true. With `mask_value`, that is the score of the other
      keys instead.

    With `page_size`, k and v are pools of `pages` pages that batch elements share, by default
    batch * keys / page_size. The shape of a pool in memory is (pages, page_size, K/V heads,
    elements of a head), or with `kv_layout="bhsd"` (pages, K/V heads, page_size, elements). The
    input `page_table`, s32 of shape (batch, keys / page_size), has the number of the page of each
    `page_size` keys of a batch element. `kv_length` is then an input too. Table entries of keys
    beyond that length may have any value. Other entries must be numbers of pages: GPU kernels clamp
    them to the pool, and a call on the CPU refuses those out of range.

    With dtype e4m3, `out` is bf16 by default. `scale` has the scales of q and k as factors, and
    `v_scale` is that of v: the result is multiplied by it.

    A mask of another dtype is added to the scores. `mask` is its shape, which broadcasts to batch x
    heads x queries x keys, and `mask_dtype` its dtype, by default that of q, or f32 for e4m3.
    `softcap` c > 0 replaces a score by c tanh(score / c) before the mask is added. The result is
    zeros for a query that attends to no key, or whose scores are all -infinity; with
    `empty_rows="nan"` it is NaN, and with "no_nan" it is also zeros where a score is NaN or
    +infinity. A NaN or infinite value may also reach queries that do not attend to its key, unless
    the key lies beyond `kv_length`.

    `lse` adds an output of this name, batch x heads x queries in f32: log(sum(exp(scores))), which
    is -infinity where the result is zeros.

    Raises SpecError for a field that is out of range.
    """

    op: ClassVar[str] = "attention"
    dtype: Member[DType, DTypeLike] = Member(DType, DType.F16)
    q: Shape
    k: Shape
    v: Shape | None = None
    out_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    layout: Member[HeadLayout, Literal["bhsd", "bshd"]] = Member(HeadLayout, HeadLayout.BHSD)
    kv_layout: OptionalMember[HeadLayout, Literal["bhsd", "bshd"]] = OptionalMember(HeadLayout)
    q_strides: Dims | None = None
    k_strides: Dims | None = None
    v_strides: Dims | None = None
    out_strides: Dims | None = None
    causal: bool = False
    diagonal: Member[Diagonal, Literal["top_left", "bottom_right"]] = Member(
        Diagonal, Diagonal.TOP_LEFT
    )
    window: int | None = None
    mask: Shape | None = None
    mask_dtype: OptionalMember[DType, DTypeLike] = OptionalMember(DType)
    mask_value: float | None = None
    empty_rows: OptionalMember[EmptyRows, Literal["zeros", "nan", "no_nan"]] = OptionalMember(
        EmptyRows
    )
    softcap: float = 0.0
    scale: float | None = None
    v_scale: float | None = None
    kv_length: bool = False
    lse: bool = False
    page_size: int | None = None
    pages: int | None = None

    def __post_init__(self) -> None:
        wide = DType.BF16 if self.dtype is DType.E4M3 else self.dtype
        for name, known, default in (
            ("dtype", INPUT_DTYPES, self.dtype),
            ("out_dtype", DTYPES, wide),
        ):
            found = getattr(self, name) or default
            if found not in known:
                raise SpecError(
                    f"{name}={found} is not supported by attention; take {', '.join(known)}"
                )
            self._set(name, found)
        self._check_shapes()
        self._check_pages()
        if self.kv_layout is None:
            self._set("kv_layout", HeadLayout.BSHD if self.is_paged else self.layout)
        for name in TENSORS:
            self._check_strides(name)
        for name in ("causal", "kv_length", "lse"):
            if not isinstance(getattr(self, name), bool):
                raise SpecError(f"{name}={getattr(self, name)!r} is not a bool; give True or False")
        self._check_positions()
        self._check_mask()
        scale = 1.0 / math.sqrt(self.q[3]) if self.scale is None else self.scale
        self._set("scale", finite("scale", scale, DType.F32))
        self._set("softcap", finite("softcap", self.softcap, DType.F32))
        self._check_v_scale()
        if self.softcap < 0.0:
            raise SpecError(
                f"softcap={self.softcap} is below 0; give a positive number, or 0 for none"
            )
        if self.empty_rows is EmptyRows.ZEROS:
            self._set("empty_rows", None)
        self._check_sizes()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    # -- checks --------------------------------------------------------------------------------

    def _check_shapes(self) -> None:
        if self.v is None:
            self._set("v", self.k)
        for name in ("q", "k", "v"):
            shape = getattr(self, name)
            if isinstance(shape, str) or not isinstance(shape, Iterable):
                raise SpecError(
                    f"{name}={shape!r} is not a shape; give one such as (1, 12, 64, 64)"
                )
            found = tuple(shape)
            if len(found) != 4:
                raise SpecError(
                    f"{name}={by_x(found)} has {len(found)} sizes; give batch, heads, sequence and "
                    "elements of a head, such as 1x12x512x64"
                )
            limits = (MAX_BATCH, MAX_BATCH, MAX_LENGTH, MAX_HEAD)
            self._set(name, whole_each(name, found, 1, limits))
        q, k, v = self.q, self.k, self.v
        assert v is not None
        for axis, what, remedy in ((0, "batch size", q[0]), (3, "head size", q[3])):
            if k[axis] != q[axis]:
                raise SpecError(
                    f"k={by_x(k)} has the {what} {k[axis]}, and q={by_x(q)} has {q[axis]}; "
                    f"give k the {what} {remedy}"
                )
        if v[:3] != k[:3]:
            raise SpecError(
                f"v={by_x(v)} differs from k={by_x(k)} before its last size; take "
                f"v={by_x((*k[:3], v[3]))}"
            )
        if q[1] % k[1]:
            raise SpecError(
                f"q={by_x(q)} has {q[1]} heads, which is not a multiple of the {k[1]} heads of "
                f"k={by_x(k)}; give k a divisor of {q[1]}"
            )

    def _check_pages(self) -> None:
        if self.page_size is None:
            if self.pages is not None:
                raise SpecError(
                    f"pages={self.pages} needs page_size; give the number of keys of a page"
                )
            return
        size = self._check_int("page_size", 1, MAX_LENGTH)
        if self.keys % size:
            up = -(-self.keys // size) * size
            raise SpecError(
                f"page_size={size} does not divide the {self.keys} keys of k={by_x(self.k)}, the "
                f"most that a batch element has; give k {up} keys"
            )
        if self.pages is None:
            self._set("pages", self.batch * self.most_pages)
        self._check_int("pages", 1, MAX_LENGTH)
        self._set("kv_length", True)

    def _check_strides(self, name: str) -> None:
        field, shape = f"{name}_strides", self.stored(name, self._in_memory(name))
        given = getattr(self, field)
        if given is None:
            self._set(field, packed(shape)[:3])
            return
        if not isinstance(given, tuple | list) or len(given) != 3:
            raise SpecError(
                f"{field}={given!r} is not one number for each of the first three axes; give 3 "
                "numbers, or leave it out"
            )
        low = 1 if name == "out" else 0
        steps = whole_each(field, given, low, MAX_BYTES)
        if name == "out" and not are_disjoint(shape, (*steps, 1)):
            raise SpecError(
                f"{field}={by_x(steps)} makes elements of the output overlap; give at "
                f"least {by_x(packed(shape)[:3])}"
            )
        self._set(field, steps)

    def _check_positions(self) -> None:
        if self.window is not None:
            self._check_int("window", 1, MAX_LENGTH)
        if self.diagonal is not Diagonal.TOP_LEFT and not self.causal and self.window is None:
            raise SpecError(
                f"diagonal={self.diagonal} has no effect without causal or window; leave it out"
            )

    def _check_v_scale(self) -> None:
        if self.v_scale is None:
            return
        if self.dtype is not DType.E4M3:
            raise SpecError(
                f"v_scale={self.v_scale} needs dtype=e4m3; leave it out, or scale v before"
            )
        self._set("v_scale", finite("v_scale", self.v_scale, DType.F32))
        if self.v_scale == 1.0:
            self._set("v_scale", None)

    def _check_mask(self) -> None:
        if self.mask_value is not None:
            if self.mask is None or self.mask_dtype is not DType.BOOL:
                raise SpecError(
                    f"mask_value={self.mask_value} needs a boolean mask; give mask_dtype=bool, or "
                    "leave it out"
                )
            self._set("mask_value", finite("mask_value", self.mask_value, DType.F32))
        if self.mask is None:
            if self.mask_dtype is not None:
                raise SpecError(f"mask_dtype={self.mask_dtype} needs a mask; give its shape")
            return
        if isinstance(self.mask, str) or not isinstance(self.mask, Iterable):
            raise SpecError(f"mask={self.mask!r} is not a shape; give one such as (512, 512)")
        mask = whole_each("mask", self.mask, 1, MAX_LENGTH)
        whole_scores = self.scores
        padded = (1,) * (4 - len(mask)) + mask
        if (
            not mask
            or len(mask) > 4
            or any(n not in (1, size) for n, size in zip(padded, whole_scores, strict=True))
        ):
            raise SpecError(
                f"mask={by_x(mask)} does not broadcast to the scores {by_x(whole_scores)}; make "
                "each size that of the scores, or 1"
            )
        self._set("mask", mask)
        own = DType.F32 if self.dtype is DType.E4M3 else self.dtype
        if self.mask_dtype is None:
            self._set("mask_dtype", own)
        if self.mask_dtype not in (DType.BOOL, DType.F32, own):
            known = dict.fromkeys((DType.BOOL, own, DType.F32))
            raise SpecError(
                f"mask_dtype={self.mask_dtype} is not supported with dtype={self.dtype}; take one "
                f"of {', '.join(known)}"
            )

    # -- sizes ---------------------------------------------------------------------------------

    @property
    def batch(self) -> int:
        return self.q[0]

    @property
    def heads(self) -> int:
        return self.q[1]

    @property
    def kv_heads(self) -> int:
        return self.k[1]

    @property
    def group(self) -> int:
        """Number of query heads per K/V head."""
        return self.heads // self.kv_heads

    @property
    def limits_keys(self) -> bool:
        """Whether a query's position limits the keys that it attends to."""
        return self.causal or self.window is not None

    @property
    def has_window(self) -> bool:
        return self.window is not None

    @property
    def counts_from_end(self) -> bool:
        """Whether positions of queries depend on the number of keys."""
        return self.diagonal is Diagonal.BOTTOM_RIGHT

    @property
    def window_before(self) -> int:
        """Distance from a position to the first key of its window."""
        assert self.window is not None
        return self.window - 1

    @property
    def reach(self) -> int:
        """Distance from a position to the end of the keys that its query attends to."""
        return 1 if self.causal else self.window or 0

    @property
    def queries(self) -> int:
        return self.q[2]

    @property
    def keys(self) -> int:
        return self.k[2]

    @property
    def head(self) -> int:
        """Elements of a query head and of a key head."""
        return self.q[3]

    @property
    def is_paged(self) -> bool:
        return self.page_size is not None

    @property
    def most_pages(self) -> int:
        """Pages of a batch element with all its keys; 0 without pages."""
        return 0 if self.page_size is None else self.keys // self.page_size

    @property
    def last_page(self) -> int:
        """Number of the last page of the pools."""
        assert self.pages is not None
        return self.pages - 1

    @property
    def out_head(self) -> int:
        """Elements of a value head and of an output head."""
        assert self.v is not None
        return self.v[3]

    @property
    def scores(self) -> Shape:
        return (*self.q[:3], self.keys)

    @property
    def out(self) -> DType:
        """The output's dtype, always set."""
        assert self.out_dtype is not None
        return self.out_dtype

    @property
    def factor(self) -> float:
        """The scale, always set."""
        assert self.scale is not None
        return self.scale

    @property
    def has_boolean_mask(self) -> bool:
        return self.mask_dtype is DType.BOOL

    @property
    def hidden_score(self) -> float:
        """The score of a key that a boolean mask hides."""
        return -math.inf if self.mask_value is None else self.mask_value

    @property
    def mask_strides(self) -> Shape:
        """Strides of the mask for batch, heads, queries and keys, in elements; 0 if shared."""
        if self.mask is None:
            return (0, 0, 0, 0)
        steps = (0,) * (4 - len(self.mask)) + packed(self.mask)
        sizes = (1,) * (4 - len(self.mask)) + self.mask
        return tuple(s if n > 1 else 0 for s, n in zip(steps, sizes, strict=True))

    def strides(self, name: str) -> Shape:
        """Return the strides of q, k, v or out for batch, heads and sequence, in elements.

        Those of pools are for pages, heads and the keys of a page.
        """
        steps: Dims = getattr(self, f"{name}_strides")
        return self.stored(name, (*steps, 1))[:3]

    def stored(self, name: str, axes: Shape) -> Shape:
        """Return numbers for batch, heads, sequence and elements in memory order, or back."""
        order = self.layout if name in ("q", "out") else self.kv_layout
        b, h, s, d = axes
        return (b, s, h, d) if order is HeadLayout.BSHD else (b, h, s, d)

    def _in_memory(self, name: str) -> Shape:
        """Return the shape of q, k, v or out: batch or pages, heads, sequence and elements."""
        if name == "out":
            return (*self.q[:3], self.out_head)
        shape: Shape = getattr(self, name)
        if name == "q" or self.page_size is None:
            return shape
        assert self.pages is not None
        return (self.pages, shape[1], self.page_size, shape[3])

    @property
    def bytes_moved(self) -> int:
        """Bytes of all tensors, each counted once; of pools no more than all keys have."""
        most = {name: math.prod(getattr(self, name)) for name in ("k", "v")}
        sizes = ((math.prod(p.shape), p) for p in self.parameters)
        return sum(min(n, most.get(p.name, n)) * p.dtype.itemsize for n, p in sizes)

    # -- parameters, formula and key -------------------------------------------------------------

    @cached_property
    def parameters(self) -> tuple[TensorParam, ...]:
        found = [self._tensor(name) for name in ("q", "k", "v")]
        if self.mask is not None:
            assert self.mask_dtype is not None
            found.append(_packed("mask", self.mask_dtype, self.mask))
        if self.kv_length:
            found.append(_packed("kv_length", DType.S32, (self.batch,)))
        if self.is_paged:
            found.append(_packed("page_table", DType.S32, (self.batch, self.most_pages)))
        found.append(self._tensor("out"))
        if self.lse:
            found.append(_packed("lse", DType.F32, self.q[:3], "output"))
        return tuple(found)

    def _tensor(self, name: str) -> TensorParam:
        return TensorParam(
            name=name,
            role="output" if name == "out" else "input",
            dtype=self.out if name == "out" else self.dtype,
            shape=self.stored(name, self._in_memory(name)),
            strides=(*getattr(self, f"{name}_strides"), 1),
        )

    @property
    def formula(self) -> str:
        scores = f"{self.factor:g} * Q @ K^T"
        if self.softcap:
            scores = f"{self.softcap:g} * tanh({scores} / {self.softcap:g})"
        if self.mask is not None and not self.has_boolean_mask:
            scores += " + mask"
        elif self.mask_value is not None:
            scores = f"where(mask, {scores}, {self.mask_value:g})"
        limits = [f"causal {self.diagonal}"] if self.causal else []
        limits += [f"window {self.window} {self.diagonal}"] if self.window is not None else []
        limits += ["kv_length"] if self.kv_length else []
        limits += [f"pages of {self.page_size}"] if self.is_paged else []
        limits += ["mask"] if self.has_boolean_mask and self.mask_value is None else []
        kept = f" of keys within {', '.join(limits)}" if limits else ""
        scaled = "" if self.v_scale is None else f"{self.v_scale:g} * "
        return f"out = {scaled}softmax({scores}{kept}) @ V, accumulated in f32"

    @property
    def flops(self) -> int:
        """Arithmetic of both products, over the query-key pairs within `causal` and `window`."""
        return 2 * self.batch * self.heads * self.pairs * (self.head + self.out_head)

    @property
    def pairs(self) -> int:
        """Query-key pairs within `causal` and `window`, for one head."""
        if not self.causal and self.window is None:
            return self.queries * self.keys
        # A query at position p sees keys from p - window + 1 up to, exclusively, p + 1 or p +
        # window.
        first = self.keys - self.queries if self.diagonal is Diagonal.BOTTOM_RIGHT else 0
        end = first + (1 if self.causal or self.window is None else self.window)
        ends = _clipped_sum(end, self.queries, self.keys)
        if self.window is None:
            return ends
        return ends - _clipped_sum(first - self.window + 1, self.queries, self.keys)

    @property
    def key(self) -> str:
        assert self.v is not None
        parts = [f"attention_q{by_x(self.q)}_k{by_x(self.k)}"]
        if self.v != self.k:
            parts.append(f"v{by_x(self.v)}")
        parts.append(str(self.dtype))
        if self.out is not self.dtype:
            parts.append(f"to_{self.out}")
        if self.layout is not HeadLayout.BHSD:
            parts.append(str(self.layout))
        if self.kv_layout is not self.layout:
            parts.append(f"kv_{self.kv_layout}")
        for name in TENSORS:
            steps = getattr(self, f"{name}_strides")
            if steps != packed(self.stored(name, self._in_memory(name)))[:3]:
                parts.append(f"s{name}{by_x(steps)}")
        parts += ["causal"] if self.causal else []
        parts += [f"window{self.window}"] if self.window is not None else []
        parts += [str(self.diagonal)] if self.diagonal is not Diagonal.TOP_LEFT else []
        if self.mask is not None:
            kind = f"_{self.mask_dtype}" if self.mask_dtype is not self.dtype else ""
            value = "" if self.mask_value is None else f"_{number_name(self.mask_value)}"
            parts.append(f"mask{by_x(self.mask)}{kind}{value}")
        parts += [f"empty_{self.empty_rows}"] if self.empty_rows is not None else []
        parts += [f"cap{number_name(self.softcap)}"] if self.softcap else []
        if self.factor != 1.0 / math.sqrt(self.head):
            parts.append(f"scale{number_name(self.factor)}")
        parts += [f"vscale{number_name(self.v_scale)}"] if self.v_scale is not None else []
        parts += ["kv_length"] if self.kv_length and not self.is_paged else []
        parts += [f"pages{self.pages}x{self.page_size}"] if self.is_paged else []
        parts += ["lse"] if self.lse else []
        return "_".join(parts)


def _clipped_sum(first: int, count: int, most: int) -> int:
    """Return the sum of `count` consecutive integers from `first`, each clipped to [0, `most`]."""

    def below(end: int) -> int:
        rising = max(0, min(end, most))
        return rising * (rising - 1) // 2 + max(0, end - most) * most

    return below(first + count) - below(first)


def _packed(
    name: str, dtype: DType, shape: Shape, role: Literal["input", "output"] = "input"
) -> TensorParam:
    return TensorParam(name=name, role=role, dtype=dtype, shape=shape, strides=packed(shape))
