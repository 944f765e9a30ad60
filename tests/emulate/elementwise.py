"""Expressions in every element, emulated and compiled for this machine."""

from __future__ import annotations

import numpy as np

from tests.emulate.llvm.llvm_kernels import Array, native, on_cpu

COUNT = 48

SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 65504.0, 6e-8, 1e-40, 3.0000002, 1e30]


def elementwise(expressions: list[str], types: list[str], result: str, declare: str = "") -> str:
    """Return a loop over COUNT elements; each expression, a line with {r}, fills an output
    array."""
    body, outputs = "", ""
    for n, type_ in enumerate(types):
        body += f"  %at{n} = getelementptr {type_}, ptr %in{n}, i64 %i\n"
        body += f"  %x{n} = load {type_}, ptr %at{n}\n"
    for n, expression in enumerate(expressions):
        body += expression.format(r=f"%r{n}", t=f"%t{n}") + "\n"
        body += f"  %o{n} = getelementptr {result}, ptr %out{n}, i64 %i\n"
        body += f"  store {result} %r{n}, ptr %o{n}\n"
        outputs += f", ptr %out{n}"
    inputs = ", ".join(f"ptr %in{n}" for n in range(len(types)))
    return f"""{declare}
define void @f({inputs}{outputs}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{body}
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, {COUNT}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def compare(source: str, inputs: list[Array], outputs: int, dtype: str, lanes: int = 1) -> None:
    """Check that the emulator and this machine give the same bytes."""
    expected = [np.zeros(COUNT * lanes, dtype) for _ in range(outputs)]
    got = [np.zeros(COUNT * lanes, dtype) for _ in range(outputs)]
    native(source, "f", [*inputs, *expected])
    on_cpu(source, "f", [*inputs, *got])
    for n in range(outputs):
        a, b = got[n], expected[n]
        if a.dtype.kind == "f":  # the payload of a NaN is nobody's promise
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b), err_msg=f"output {n}")
            a, b = np.where(np.isnan(a), 0, a), np.where(np.isnan(b), 0, b)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b), err_msg=f"output {n}")
        np.testing.assert_array_equal(a, b, err_msg=f"output {n}")


def integers(bits: int, seed: int) -> Array:
    """Return random integers and the extremes, in the storage of ``i<bits>``."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(f"u{max(1, (1 << (bits - 1).bit_length()) // 8)}")
    values = (
        rng.integers(0, 1 << bits, COUNT, dtype=np.uint64, endpoint=False)
        if bits < 64
        else (rng.integers(0, 1 << 64, COUNT, dtype=np.uint64))
    )
    values[:4] = [0, 1, (1 << bits) - 1, 1 << (bits - 1)]
    return np.random.default_rng(seed).permutation(values).astype(dtype)
