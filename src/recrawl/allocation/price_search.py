"""Search for the price at which demand meets a budget.

Demand falls as the price rises. As a function of z = 1/√price it is piecewise linear for visits at
random times, and nearly so otherwise, so Newton's method in z converges fast. The search ends with
a bracket so narrow that the budget is met by mixing the demands at its two ends. This also settles
what no single price can: ties, jumps, and rates too small to show in the digits of a price.
"""

import math
from typing import NamedTuple

import numpy as np

from recrawl.kernels.jit import Floats, compiled, step

#: Prices closer than this are equal, as far as floats can tell.
ONE_PRICE = 4.0 * np.finfo(np.float64).eps
#: A bracket is narrow enough if its ends are no further apart than this, so that hardly any page is
#: dropped in between, and searches that start elsewhere end with the same rates,
CLOSE = 1e-6
#: and one of them meets the budget to this precision: the mix is then nearly all of that end, and
#: the error is of the order of the product of both.
MET = 1e-8
#: After a step in ln price that is shorter than this, the slope is taken from the last two demands.
SHORT = 0.02
#: A step in ln price that is shorter than this overshoots on purpose, to close the bracket.
NEAR = 1e-4
#: A slope is trusted if it agrees with the last two demands to this precision.
TRUSTED = 0.02
#: After this many steps every other one bisects.
PATIENCE = 12
MAX_STEPS = 400
#: How much further to try while only one end of the bracket is known.
FAR = 16.0

# Indices in a bracket, which is an array.
LOW, DEMAND_AT_LOW, HIGH, DEMAND_AT_HIGH, STEPS, LAST, DEMAND_AT_LAST = range(7)


class PricePair(NamedTuple):
    """Two prices, and the share of the demand at the lower one in a mix of their demands."""

    low: float
    high: float
    low_share: float


@compiled
def new_bracket() -> Floats:
    """Return the bracket that contains every price."""
    return np.array([0.0, np.inf, np.inf, -np.inf, 0.0, np.nan, np.nan])


@compiled
def narrow(bracket: Floats, price: float, demand: float, fall: float, budget: float) -> float:
    """Record the demand at a price; return the next price to try, or 0 when the search is over.

    ``fall`` is how much demand falls as ln price rises.
    """
    bracket[STEPS] += 1.0
    if demand >= budget:
        bracket[LOW], bracket[DEMAND_AT_LOW] = price, demand
    else:
        bracket[HIGH], bracket[DEMAND_AT_HIGH] = price, demand
    if _is_over(bracket, budget):
        return 0.0
    low, high = bracket[LOW], bracket[HIGH]
    proposal = _next_price(price, demand, _slope(bracket, price, demand, fall), budget)
    bracket[LAST], bracket[DEMAND_AT_LAST] = price, demand
    impatient = bracket[STEPS] > PATIENCE and bracket[STEPS] % 2 == 0
    if low > 0.0 and high < np.inf:
        if impatient or not low < proposal < high:
            return math.sqrt(low) * math.sqrt(high)
        return proposal
    if low > 0.0:
        return proposal if low < proposal < FAR * FAR * low else FAR * low
    return proposal if high / FAR / FAR < proposal < high else high / FAR


@step
def _is_over(bracket: Floats, budget: float) -> bool:
    low, high = bracket[LOW], bracket[HIGH]
    if bracket[STEPS] >= MAX_STEPS:
        return True
    if not (low > 0.0 and high < np.inf):
        return bool(bracket[DEMAND_AT_LOW] == budget)
    off = min(bracket[DEMAND_AT_LOW] - budget, budget - bracket[DEMAND_AT_HIGH])
    close = high <= low * (1.0 + CLOSE) and off <= MET * budget
    return bool(close or high <= low * (1.0 + ONE_PRICE))


@step
def _slope(bracket: Floats, price: float, demand: float, fall: float) -> float:
    """Return the slope to use: ``fall``, unless the last two demands contradict it.

    The demand of a page that is about to be dropped falls steeply, and only near its last price.
    """
    if not abs(math.log(price / bracket[LAST])) < SHORT:
        return fall
    last = math.sqrt(price / bracket[LAST])
    seen = 0.5 * (bracket[DEMAND_AT_LAST] - demand) / (last - 1.0)
    return fall if abs(fall - seen) <= TRUSTED * seen else seen


@step
def _next_price(price: float, demand: float, fall: float, budget: float) -> float:
    """Return the price where a line in z = 1/√price meets the budget, or a little beyond; or NaN.

    Without a slope, or where the line meets the budget at z ≤ 0 only, there is none.
    """
    step = 0.5 * (budget - demand) / fall
    if not (step > -1.0 and fall < np.inf):
        return np.nan
    size = abs(2.0 * step)
    beyond = 4.0 * size * size + 1e-10 if size < NEAR else 0.0
    target = price / (1.0 + step) ** 2
    return target * (1.0 + beyond) if demand >= budget else target / (1.0 + beyond)


@compiled
def price_pair(bracket: Floats, budget: float) -> PricePair:
    """Return the mix of the bracket's ends that meets the budget."""
    if bracket[HIGH] == np.inf:
        return PricePair(bracket[LOW], bracket[LOW], 1.0)
    if bracket[LOW] == 0.0 or bracket[DEMAND_AT_LOW] == np.inf:
        # The budget is so large that no price distinguishes it from an infinite one.
        return PricePair(bracket[HIGH], bracket[HIGH], 0.0)
    apart = bracket[DEMAND_AT_LOW] - bracket[DEMAND_AT_HIGH]
    share = (budget - bracket[DEMAND_AT_HIGH]) / apart
    return PricePair(bracket[LOW], bracket[HIGH], share)
