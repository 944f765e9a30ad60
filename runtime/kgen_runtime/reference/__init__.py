"""Scalar reference: every operation in plain Python, one output element at a time.

The reference is slow and shares no code with the planning or rendering of kernels. Offsets are
derived from the spec (layout, leading dimension, batch stride), not from the strides in the
manifest.

Precision:

- Inputs are exact as Python floats (binary64).
- A product of two values other than f64 has at most 48 significant bits, so it is exact. Factors of
  f64 products are split so that their products are exact as well.
- `math.fsum` rounds the sum of products once, to binary64.
- alpha, beta, scales, epilogue and expressions are computed in binary64 with the math module.
- `numbers.encode` rounds the result once to the output's type, to nearest even.
"""
