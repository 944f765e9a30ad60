"""Units in which exponentials of scores are computed."""

from __future__ import annotations

import math
from collections.abc import Callable

from kgen.spec import Attention
from kgen.spec.attention import EmptyRows
from kgen_runtime.values import frozen

LOG2_E = math.log2(math.e)
#: Powers of 2 that weights reach before results are rescaled, as in FlashAttention-4; f16 has 15.
MAX_GROWTH = 8.0
#: Largest exponents of maxima that are rounded, by 2^-5 at most: a factor that all weights of a row
#: have in common. Beyond some size, the factor takes weights out of the range of f16.
FAR = 2.0**20
#: Smallest scale that is folded into exponents, so that its product with log2(e) is a normal f32.
LEAST_SCALE = 2.0**-100


@frozen
class SoftmaxUnits:
    """Factors between products, scores and exponents of 2, as literals of the family's language."""

    spec: Attention
    #: Function that returns the literal of a number.
    literal: Callable[[float], str]

    @property
    def adds_mask(self) -> bool:
        return self.spec.mask is not None and not self.spec.has_boolean_mask

    @property
    def renders_scores(self) -> bool:
        """Whether scores have a cap, or a scale that cannot be folded into their exponents, or
        others instead that have none."""
        scales = not self.adds_mask and not LEAST_SCALE < self.spec.factor < 1.0 / LEAST_SCALE
        return bool(self.spec.softcap) or scales or self.spec.mask_value is not None

    @property
    def forms_scores(self) -> bool:
        """Whether scores are multiplied by the scale before the maximum is found, not after."""
        return self.renders_scores or self.adds_mask

    @property
    def hidden(self) -> str:
        """Score of a key that a boolean mask hides."""
        return self.literal(self.spec.hidden_score)

    @property
    def _unit(self) -> float:
        """Natural units of a score as its maximum is kept."""
        return 1.0 if self.forms_scores else self.spec.factor

    @property
    def unit(self) -> str:
        return self.literal(self._unit)

    @property
    def to_log2(self) -> str:
        """Factor from kept scores to exponents of 2."""
        return self.literal(self._unit * LOG2_E)

    @property
    def minus_to_log2(self) -> str:
        """Factor from a maximum to what is added to exponents of 2."""
        return self.literal(-self._unit * LOG2_E)

    @property
    def far(self) -> str:
        """Exponent of a maximum beyond which the maximum is subtracted from the scores."""
        return self.literal(FAR)

    @property
    def growth(self) -> str:
        """Growth of a maximum after which the results are rescaled."""
        return self.literal(MAX_GROWTH / (self._unit * LOG2_E))

    @property
    def before_mask(self) -> str:
        """Factor of scores that the mask is added to."""
        return self.literal(1.0 if self.renders_scores else self.spec.factor)

    @property
    def zeroes(self) -> str:
        """Comparison with 0 of the sums of weights whose results are zeros: eq, or equ if NaN are
        among them; empty for none."""
        kinds = {EmptyRows.NAN: "", EmptyRows.NO_NAN: "equ"}
        return kinds.get(self.spec.empty_rows or EmptyRows.ZEROS, "eq")
