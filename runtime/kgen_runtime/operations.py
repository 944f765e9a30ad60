"""What a bundle's kernels may be called: attributes of `Kernels`, for type checkers and editors.

At run time those are there that the bundle has. A kernel of one function has the function's name;
one of a longer expression is `elementwise`.
"""

from __future__ import annotations

from kgen_runtime.dispatch import Dispatch


class Operations:
    """Every operation by name."""

    matmul: Dispatch
    softmax: Dispatch
    elementwise: Dispatch
    abs: Dispatch
    add: Dispatch
    ceil: Dispatch
    celu: Dispatch
    clip: Dispatch
    cos: Dispatch
    div: Dispatch
    elu: Dispatch
    equal: Dispatch
    erf: Dispatch
    exp: Dispatch
    exp2: Dispatch
    expm1: Dispatch
    floor: Dispatch
    gelu: Dispatch
    gelu_tanh: Dispatch
    greater: Dispatch
    greater_equal: Dispatch
    hard_sigmoid: Dispatch
    hard_swish: Dispatch
    isinf: Dispatch
    isnan: Dispatch
    leaky_relu: Dispatch
    less: Dispatch
    less_equal: Dispatch
    log: Dispatch
    log1p: Dispatch
    log2: Dispatch
    logical_and: Dispatch
    logical_not: Dispatch
    logical_or: Dispatch
    logical_xor: Dispatch
    max: Dispatch
    min: Dispatch
    mish: Dispatch
    mod: Dispatch
    mul: Dispatch
    neg: Dispatch
    not_equal: Dispatch
    pow: Dispatch
    reciprocal: Dispatch
    relu: Dispatch
    round: Dispatch
    rsqrt: Dispatch
    selu: Dispatch
    sigmoid: Dispatch
    sign: Dispatch
    silu: Dispatch
    sin: Dispatch
    softplus: Dispatch
    softsign: Dispatch
    sqrt: Dispatch
    square: Dispatch
    sub: Dispatch
    tanh: Dispatch
    trunc: Dispatch
    where: Dispatch
