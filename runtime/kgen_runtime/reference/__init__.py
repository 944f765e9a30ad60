"""The ground truth: every operation, one output element at a time, in plain scalar Python.

Nothing here is fast and nothing is shared with the code that plans or renders kernels: offsets come
from the specification's own words (layout, leading dimension, batch stride), not from the
manifest's derived strides.

Precision: inputs are exact as Python floats (binary64). A product of two values that are no f64 has
at most 48 significant bits, so it is exact too, and `math.fsum` rounds their sum once, to binary64;
the factors of f64 products are split, so that theirs are exact as well. alpha, beta, scales, the
epilogue and expressions follow in binary64 with the math module, and `numbers.encode` rounds the
result once, to nearest even, to the output's type.
"""
