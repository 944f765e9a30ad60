"""Operations as attributes of `Kernels`, for type checkers and editors.

At run time, `Kernels` has the operations of its bundle. A kernel of one function has the function's
name; a kernel of a longer expression is `elementwise` or `rowwise`.
"""

from __future__ import annotations

from kgen_runtime.calls.dispatch import Dispatch


class Operations:
    """Attributes of `Kernels`, one per operation."""

    matmul: Dispatch
    conv2d: Dispatch
    attention: Dispatch
    elementwise: Dispatch
    rowwise: Dispatch
    abs: Dispatch
    add: Dispatch
    amax: Dispatch
    amin: Dispatch
    argmax: Dispatch
    argmin: Dispatch
    atan: Dispatch
    bitwise_and: Dispatch
    cast: Dispatch
    cast_bf16: Dispatch
    cast_bool: Dispatch
    cast_e4m3: Dispatch
    cast_e4m3fnuz: Dispatch
    cast_e5m2: Dispatch
    cast_e5m2fnuz: Dispatch
    cast_f16: Dispatch
    cast_f32: Dispatch
    cast_f64: Dispatch
    cast_s32: Dispatch
    cast_s64: Dispatch
    cast_s8: Dispatch
    cast_u8: Dispatch
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
    floor_divide: Dispatch
    fmod: Dispatch
    gelu: Dispatch
    gelu_tanh: Dispatch
    greater: Dispatch
    greater_equal: Dispatch
    hard_sigmoid: Dispatch
    hard_swish: Dispatch
    isinf: Dispatch
    isnan: Dispatch
    l1: Dispatch
    l2: Dispatch
    layer_norm: Dispatch
    leaky_relu: Dispatch
    less: Dispatch
    less_equal: Dispatch
    log: Dispatch
    log1p: Dispatch
    log2: Dispatch
    log_softmax: Dispatch
    logical_and: Dispatch
    logical_not: Dispatch
    logical_or: Dispatch
    logical_xor: Dispatch
    logsumexp: Dispatch
    max: Dispatch
    mean: Dispatch
    min: Dispatch
    mish: Dispatch
    mod: Dispatch
    mul: Dispatch
    neg: Dispatch
    not_equal: Dispatch
    pow: Dispatch
    prod: Dispatch
    reciprocal: Dispatch
    relu: Dispatch
    rms_norm: Dispatch
    round: Dispatch
    rsqrt: Dispatch
    selu: Dispatch
    shift_left: Dispatch
    shift_right: Dispatch
    sigmoid: Dispatch
    sign: Dispatch
    silu: Dispatch
    sin: Dispatch
    softmax: Dispatch
    softplus: Dispatch
    softsign: Dispatch
    sqrt: Dispatch
    square: Dispatch
    sub: Dispatch
    sum: Dispatch
    tanh: Dispatch
    trunc: Dispatch
    var: Dispatch
    where: Dispatch
