"""The error function."""

from __future__ import annotations

import math

from kgen.ops.expression import Expression, fma, node, select
from kgen.ops.expression import Primitive as P
from kgen.ops.functions.polynomials import erfc_f64, normal_tail, polynomial, with_sign
from kgen.ops.registry import Accuracy, function

#: erf(x) / x in x^2, for |x| <= 1, with a relative error of 5.4e-8.
ERF = (-5.63141890e-4, 4.91755083e-3, -2.67113112e-2, 0.112801798, -0.376123250, 1.12837911)


#: The same function in f64: the series of the integral, whose first omitted term is 3e-18.
ERF_F64 = tuple(
    (-1) ** k * 2.0 / math.sqrt(math.pi) / (math.factorial(k) * (2 * k + 1))
    for k in range(18, -1, -1)
)


def erf_f64(x: Expression) -> Expression:
    size = node(P.ABS, x)
    near = x * polynomial(x * x, ERF_F64)
    return select(size < 1.0, near, with_sign(1.0 - erfc_f64(size), x))


@function(Accuracy(roundings=8, transcendental=2, ulps=2), double=erf_f64)
def erf(x: Expression) -> Expression:
    near = x * polynomial(x * x, ERF)
    far = fma(normal_tail(x * math.sqrt(2.0)), -2.0, 1.0)
    return select(node(P.ABS, x) < 1.0, near, with_sign(far, x))
