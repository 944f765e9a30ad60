"""Sums and inner products that are rounded once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul


def total(terms: Iterable[float]) -> float:
    """Return the sum of the terms, rounded once; NaN and infinity propagate as in IEEE 754."""
    terms = terms if isinstance(terms, list) else list(terms)
    try:
        return math.fsum(terms)
    except (ValueError, OverflowError):
        # Infinities of both signs, or a finite sum beyond the largest number.
        if special := [t for t in terms if not math.isfinite(t)]:
            return sum(special)
        raise


def dot(x: Sequence[float], y: Sequence[float], *, exact_products: bool) -> float:
    """Return the inner product, rounded once.

    `exact_products` states that no product needs more than 53 bits. Otherwise every factor is split
    into halves whose products are exact (for magnitudes up to 2**996, without underflow).
    """
    assert len(x) == len(y)
    products = list(map(mul, x, y))
    if exact_products or not all(map(math.isfinite, products)):
        return total(products)
    pairs = zip(map(halves, x), map(halves, y), strict=True)
    return total([z for (a, b), (c, d) in pairs for z in (a * c, a * d, b * c, b * d)])


def halves(x: float) -> tuple[float, float]:
    """Split x into two numbers of at most 26 bits whose sum is exactly x.

    T. J. Dekker, A floating-point technique for extending the available precision, Numerische
    Mathematik 18 (1971), section 5.
    """
    scaled = (2.0**27 + 1.0) * x
    high = scaled - (scaled - x)
    return high, x - high
