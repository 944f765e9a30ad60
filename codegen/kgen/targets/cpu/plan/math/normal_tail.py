"""The normal distribution's tail, for gelu: constants of templates/cpu/lib/activation.j2."""

from __future__ import annotations

from kgen.spec import DType
from kgen_runtime.values import frozen


@frozen
class NormalTail:
    """Phi(-z) = 2^L(z), z >= 0, with L a polynomial in z - `center`, and 2^r one for |r| <= 1/2.

    From `limit` on z Phi(-z) is zero in the type of the results. Highest powers first; the fits are
    our own (least squares with Lawson's weights), their errors those of Phi in f32 arithmetic.
    """

    limit: float
    center: float
    coefficients: tuple[float, ...]
    power_coefficients: tuple[float, ...]


#: Relative error 8 (1 + z^2) 2^-24: rounding L costs units in the last place of z^2. Centred at 2,
#: its terms hardly cancel.
F32_TAIL = NormalTail(
    limit=14.5,
    center=2.0,
    coefficients=(
        -6.682020826297958e-14,
        4.831169834155244e-12,
        -1.5108825844323024e-10,
        2.664016514897782e-09,
        -2.873449185686542e-08,
        1.8717191110810663e-07,
        -5.628374946720591e-07,
        -2.139771532613533e-06,
        4.1446871188405015e-05,
        -0.00035174787641317805,
        0.0023700789936901188,
        -0.01426853288479087,
        -0.638912816155229,
        -3.4238281613816635,
        -5.457981440520172,
    ),
    power_coefficients=(
        0.0013276471517340545,
        0.009675541330602107,
        0.05550713274966751,
        0.24022119723936125,
        0.6931469670638623,
        1.0000000716546544,
    ),
)

#: Relative error 2^-14.
F16_TAIL = NormalTail(
    limit=5.8,
    center=0.0,
    coefficients=(
        2.4229065636324322e-05,
        -0.0006311300109274327,
        0.007316003998565006,
        -0.05151596783511834,
        -0.46086603266107995,
        -1.1503544848391067,
        -1.000051904432775,
    ),
    power_coefficients=(
        0.009570101433341336,
        0.055917860281905776,
        0.2402474483966377,
        0.6931218147436785,
        0.9999992614421598,
    ),
)

#: Relative error 2^-12 up to z = 6, 2^-11 beyond.
BF16_TAIL = NormalTail(
    limit=13.6,
    center=0.0,
    coefficients=(
        2.8907337391254048e-08,
        -1.8338823309470737e-06,
        4.996602575844578e-05,
        -0.0007727068966572892,
        0.007609560867992057,
        -0.05148062314763805,
        -0.46160900978716096,
        -1.149804807883278,
        -1.0001005725923093,
    ),
    power_coefficients=(
        0.05517166492415581,
        0.24261112187668657,
        0.6932609862236733,
        0.999928073578366,
    ),
)

#: The coarsest that the rounding of the results hides.
TAILS: dict[DType, NormalTail] = {DType.F16: F16_TAIL, DType.BF16: BF16_TAIL}


def normal_tail(out: DType) -> NormalTail:
    """Return the tail of a gelu in f32 whose results are rounded to `out`."""
    return TAILS.get(out, F32_TAIL)
