"""ln(1 + u) and e^(−x) without branches, so that loops over them use SIMD.

The C library's versions branch on their argument, which prevents vectorisation. These are accurate
to two units in the last place over their whole range.
"""

from typing import Any

import numpy as np

from recrawl.kernels.jit import inlined, instruction

# ln 2 in two parts: k · LN2_HIGH is exact for every exponent k.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
LOG2_E = 1.44269504088896338700
# Adding 1.5 · 2^52 rounds to an integer, which is then in the low bits; subtracting it again leaves
# the integer as a float.
ROUNDER = 6755399441055744.0
ROUNDER_BITS = np.int64(0x4338000000000000)
SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
MANTISSA = np.int64(52)
EXPONENT_BIAS = np.int64(1023)
#: e^(−700) is negligible beside 1, and its exponent still fits.
LARGEST = 700.0


def _float_bits(_typing: Any, _number: Any) -> Any:  # noqa: ANN401
    from llvmlite import ir
    from numba import types

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _bits_float(_typing: Any, _bits: Any) -> Any:  # noqa: ANN401
    from llvmlite import ir
    from numba import types

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@instruction(_float_bits)
def float_bits(number: float) -> np.int64:
    """Return the 64 bits of a float as an integer."""
    return np.float64(number).view(np.int64)


@instruction(_bits_float)
def bits_float(bits: np.int64) -> float:
    """Return the float with the 64 bits of an integer."""
    return float(bits.view(np.float64))


@inlined
def log1p(u: float, per_sum: float) -> float:
    """Return ln(1 + u) for u ≥ 0; ``per_sum`` is 1/(1 + u), which callers have computed already.

    1 + u = 2^k · m with m in [√½, √2), and ln m = f − s·(f − …) as a series in s = f / (2 + f),
    f = m − 1. The rounding error of 1 + u is corrected to first order.
    """
    y = 1.0 + u
    lost = (u - (y - 1.0)) * per_sum
    k = (float_bits(y) - SQRT_HALF_BITS) >> MANTISSA
    f = bits_float(float_bits(y) - (k << MANTISSA)) - 1.0
    s = f / (2.0 + f)
    z = s * s
    t = 1.479819860511658591e-01
    t = t * z + 1.531383769920937332e-01
    t = t * z + 1.818357216161805012e-01
    t = t * z + 2.222219843214978396e-01
    t = t * z + 2.857142874366239149e-01
    t = t * z + 3.999999999940941908e-01
    t = t * z + 6.666666666666735130e-01
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + z * t) + (k * LN2_LOW + lost))) - f)


@inlined
def exp_minus(x: float) -> tuple[float, float]:
    """Return e^(−x) and 1 − e^(−x) for x ≥ 0, both to full relative precision.

    e^(−x) = 2^(−k) · e^r with |r| ≤ ½ ln 2, and e^r − 1 by its Taylor series.
    """
    x = min(x, LARGEST)
    rounded = x * LOG2_E + ROUNDER
    k = rounded - ROUNDER
    r = k * LN2_HIGH - x + k * LN2_LOW
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.388888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = r + r * r * p
    scale = bits_float((EXPONENT_BIAS + ROUNDER_BITS - float_bits(rounded)) << MANTISSA)
    return scale + scale * p, (1.0 - scale) - scale * p
