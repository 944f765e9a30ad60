"""Factors that convert attention scores to exponents of 2, on which softmax is computed."""

from __future__ import annotations

import math
from collections.abc import Callable

from kgen.ops import parse
from kgen.ops.expression import Expression
from kgen.spec import Attention
from kgen.spec.attention import EmptyRows
from kgen_runtime.values import frozen

LOG2_E = math.log2(math.e)
#: log2 of the largest weight before results are rescaled, as in FlashAttention-4; f16 reaches 15.
MAX_GROWTH = 8.0
#: Largest exponent of a maximum that may be rounded. The rounding error, at most 2^-5, scales all
#: weights of a row alike. The error of a larger exponent can take weights out of the range of f16.
FAR = 2.0**20
#: Smallest scale that is folded into exponents: its product with log2(e) is still a normal f32.
LEAST_SCALE = 2.0**-100


@frozen
class SoftmaxUnits:
    """Factors between products, scores and exponents of 2, as literals of the target's language."""

    spec: Attention
    #: Function that returns the literal of a number.
    literal: Callable[[float], str]

    @property
    def adds_mask(self) -> bool:
        return self.spec.mask is not None and not self.spec.has_boolean_mask

    @property
    def renders_scores(self) -> bool:
        """Whether scores need code of their own: a cap, a mask value, or a scale that cannot be
        folded into exponents."""
        scales = not self.adds_mask and not LEAST_SCALE < self.spec.factor < 1.0 / LEAST_SCALE
        return bool(self.spec.softcap) or scales or self.spec.mask_value is not None

    @property
    def forms_scores(self) -> bool:
        """Whether scores are scaled before the maximum is found; otherwise after."""
        return self.renders_scores or self.adds_mask

    @property
    def score(self) -> Expression:
        """Expression of a score in its product x."""
        cap, factor = self.spec.softcap, self.spec.factor
        return parse(f"tanh(x * ({factor / cap!r})) * {cap!r}" if cap else f"x * ({factor!r})")

    @property
    def hidden(self) -> str:
        """Score of a key that a boolean mask hides."""
        return self.literal(self.spec.hidden_score)

    @property
    def _unit(self) -> float:
        """Factor from the scores among which the maximum is found to scaled scores."""
        return 1.0 if self.forms_scores else self.spec.factor

    @property
    def unit(self) -> str:
        return self.literal(self._unit)

    @property
    def to_log2(self) -> str:
        """Factor from the scores among which the maximum is found to exponents of 2."""
        return self.literal(self._unit * LOG2_E)

    @property
    def minus_to_log2(self) -> str:
        """Factor from a maximum to the addend of the exponents of 2."""
        return self.literal(-self._unit * LOG2_E)

    @property
    def far(self) -> str:
        """Exponent of a maximum beyond which the maximum is subtracted from the scores."""
        return self.literal(FAR)

    @property
    def growth(self) -> str:
        """Growth of a maximum above which the results are rescaled."""
        return self.literal(MAX_GROWTH / (self._unit * LOG2_E))

    @property
    def before_mask(self) -> str:
        """Factor that scores are multiplied by before the mask is added."""
        return self.literal(1.0 if self.renders_scores else self.spec.factor)

    @property
    def v_scale(self) -> str:
        """Factor of results; "" if there is none."""
        return "" if self.spec.v_scale is None else self.literal(self.spec.v_scale)

    @property
    def zeroes(self) -> str:
        """Comparison of a row's sum of weights with 0 that makes the row's results zeros.

        The value is "eq", or "equ" if a sum of NaN gives zeros too; "" if no result is set to zero.
        """
        kinds = {EmptyRows.NAN: "", EmptyRows.NO_NAN: "equ"}
        return kinds.get(self.spec.empty_rows or EmptyRows.ZEROS, "eq")
