"""REMAINDER as a function in LLVM IR: the exact remainder of floats, by subtraction and doubling.

The mantissas are divided as integers, one bit of the quotient a turn, as in fdlibm's e_fmod.c. The
loop ends when no lane has a bit left: after the difference of the exponents, which is small for
quotients that programs compute. Neither contraction nor flushing of subnormal numbers changes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kgen.targets.llvm_ir import FloatType
from kgen_runtime.dtypes import DType
from kgen_runtime.values import frozen

#: The function's name, and the integers and the bits of the mantissa by the type of the floats.
REMAINDER = "remainder"
LAYOUTS = {DType.F32: (DType.S32, 23), DType.F64: (DType.S64, 52)}


@frozen
class Remainder:
    """Return the function for values of a type; `attributes` end its first line."""

    type: FloatType
    attributes: str = ""

    @property
    def integers(self) -> FloatType:
        return self.type.of(LAYOUTS[self.type.dtype][0])

    @property
    def has_lanes(self) -> bool:
        return self.type.lanes > 1

    @property
    def any_lane(self) -> str:
        """The intrinsic that tests whether a condition holds in any lane."""
        return f"@llvm.vector.reduce.or.v{self.type.lanes}i1"

    @property
    def declarations(self) -> tuple[str, ...]:
        i = self.integers
        found = (f"{i} @llvm.ctlz.{i.suffix}({i}, i1 immarg)",)
        return (*found, f"i1 {self.any_lane}({self.type.condition})") if self.has_lanes else found

    @property
    def lines(self) -> tuple[str, ...]:
        t, end = self.type, f" {self.attributes}" if self.attributes else ""
        return (
            f"define internal {t} @{REMAINDER}({t} %x, {t} %y){end} {{",
            "entry:",
            *self._split(),
            "  br label %test",
            "test:",
            *self._test(),
            "step:",
            *self._step(),
            "  br label %test",
            "done:",
            *self._join(),
            f"  ret {t} %result",
            "}",
        )

    def _split(self) -> Iterator[str]:
        """Emit exponents and mantissas; that of y is normalised, even if y is subnormal."""
        t, i, c = self.type, self.integers, self.type.condition
        mantissa = LAYOUTS[t.dtype][1]
        width = 8 * t.dtype.itemsize
        hidden, infinity = 1 << mantissa, ((1 << (width - 1 - mantissa)) - 1) << mantissa
        number = i.constant
        for of in "xy":
            yield f"  %{of}.bits = bitcast {t} %{of} to {i}"
            yield f"  %{of}.size = and {i} %{of}.bits, {number((1 << (width - 1)) - 1)}"
            yield f"  %{of}.raw = lshr {i} %{of}.size, {number(mantissa)}"
            yield f"  %{of}.fraction = and {i} %{of}.size, {number(hidden - 1)}"
            yield f"  %{of}.normal = icmp ne {i} %{of}.raw, {number(0)}"
            yield f"  %{of}.hidden = select {c} %{of}.normal, {i} {number(hidden)}, {i} {number(0)}"
            yield f"  %{of}.least = select {c} %{of}.normal, {i} %{of}.raw, {i} {number(1)}"
            yield f"  %{of}.unshifted = or {i} %{of}.fraction, %{of}.hidden"
        yield f"  %sign = and {i} %x.bits, {number(-(1 << (width - 1)))}"
        yield f"  %y.zeros = call {i} @llvm.ctlz.{i.suffix}({i} %y.unshifted, i1 false)"
        yield f"  %y.shift = sub {i} %y.zeros, {number(width - 1 - mantissa)}"
        yield f"  %y.mantissa = shl {i} %y.unshifted, %y.shift"
        yield f"  %y.exponent = sub {i} %y.least, %y.shift"
        yield f"  %distance = sub {i} %x.least, %y.exponent"
        yield f"  %x.none = icmp sge {i} %x.size, {number(infinity)}"
        yield f"  %y.nan = icmp sgt {i} %y.size, {number(infinity)}"
        yield f"  %y.zero = icmp eq {i} %y.size, {number(0)}"
        yield f"  %y.none = or {c} %y.nan, %y.zero"
        yield f"  %none = or {c} %x.none, %y.none"
        yield f"  %is.less = icmp slt {i} %distance, {number(0)}"
        yield f"  %is.done = or {c} %none, %is.less"
        yield f"  %turns = select {c} %is.done, {i} {number(0)}, {i} %distance"
        yield from self._subtracted("first", "%x.unshifted")

    def _subtracted(self, name: str, value: str) -> Iterator[str]:
        """Emit `value` minus the mantissa of y, or `value` if the difference is negative."""
        i, c = self.integers, self.type.condition
        yield f"  %{name}.less = sub {i} {value}, %y.mantissa"
        yield f"  %{name}.below = icmp slt {i} %{name}.less, {i.constant(0)}"
        yield f"  %{name} = select {c} %{name}.below, {i} {value}, {i} %{name}.less"

    def _test(self) -> Iterator[str]:
        i, c = self.integers, self.type.condition
        yield f"  %left = phi {i} [ %first, %entry ], [ %next, %step ]"
        yield f"  %turn = phi {i} [ %turns, %entry ], [ %fewer, %step ]"
        yield f"  %active = icmp sgt {i} %turn, {i.constant(0)}"
        more = "%active"
        if self.has_lanes:
            more = "%more"
            yield f"  %more = call i1 {self.any_lane}({c} %active)"
        yield f"  br i1 {more}, label %step, label %done"

    def _step(self) -> Iterator[str]:
        i, c = self.integers, self.type.condition
        yield f"  %doubled = add {i} %left, %left"
        yield from self._subtracted("reduced", "%doubled")
        yield f"  %next = select {c} %active, {i} %reduced, {i} %left"
        yield f"  %fewer = sub {i} %turn, {i.constant(1)}"

    def _join(self) -> Iterator[str]:
        """Scale the remainder's mantissa by y's power of two: shift it left to a first bit, or
        right if y is subnormal."""
        t, i, c = self.type, self.integers, self.type.condition
        mantissa = LAYOUTS[t.dtype][1]
        width, zero = 8 * t.dtype.itemsize, i.constant(0)
        yield f"  %zeros = call {i} @llvm.ctlz.{i.suffix}({i} %left, i1 false)"
        yield f"  %up = sub {i} %zeros, {i.constant(width - 1 - mantissa)}"
        yield f"  %room = sub {i} %y.exponent, {i.constant(1)}"
        yield f"  %is.room = icmp slt {i} %up, %room"
        yield f"  %shift = select {c} %is.room, {i} %up, {i} %room"
        yield f"  %is.down = icmp slt {i} %shift, {zero}"
        yield f"  %opposite = sub {i} {zero}, %shift"
        yield f"  %left.shift = select {c} %is.down, {i} {zero}, {i} %shift"
        yield f"  %right.shift = select {c} %is.down, {i} %opposite, {i} {zero}"
        yield f"  %shifted = shl {i} %left, %left.shift"
        yield f"  %moved = lshr {i} %shifted, %right.shift"
        yield f"  %exponent = sub {i} %room, %shift"
        yield f"  %power = shl {i} %exponent, {i.constant(mantissa)}"
        yield f"  %magnitude = add {i} %moved, %power"
        yield f"  %is.zero = icmp eq {i} %left, {zero}"
        yield f"  %or.zero = select {c} %is.zero, {i} {zero}, {i} %magnitude"
        yield f"  %size = select {c} %is.less, {i} %x.size, {i} %or.zero"
        yield f"  %signed = or {i} %size, %sign"
        yield f"  %number = bitcast {i} %signed to {t}"
        yield f"  %result = select {c} %none, {t} {t.constant(float('nan'))}, {t} %number"
