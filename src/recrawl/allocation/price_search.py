"""The search for the price at which demand meets a budget.

Demand falls as the price rises. In z = 1/√price it is piecewise linear for visits at random times,
and nearly so for the others where it matters; so Newton's method in z is at home. The search ends
with a bracket so narrow that the budget is met by mixing what is bought at its two ends, which also
settles what a price cannot: ties, jumps, and rates too small for the digits of a price.
"""

import math
from typing import NamedTuple

import numpy as np

from recrawl.kernels.jit import Floats, compiled

#: Ends of a bracket nearer than this are one price, as far as floats can tell.
ONE_PRICE = 4.0 * np.finfo(np.float64).eps
#: A bracket is narrow enough when its ends are no further apart than this,
CLOSE = 0.02
#: and one of them meets the budget to this share: the mix is then nearly all of that one, and what
#: it loses is of the order of both together.
MET = 1e-8
#: When the next step in ln price is shorter than this, it goes beyond the root on purpose.
NEAR = 1e-4
#: A slope is trusted if the last two demands tell the same to this share.
TRUSTED = 0.02
#: After so many steps every other one halves the bracket.
PATIENCE = 12
MAX_STEPS = 400
FAR = 16.0

# Places in a bracket.
LOW, DEMAND_AT_LOW, HIGH, DEMAND_AT_HIGH, STEPS, LAST, DEMAND_AT_LAST = range(7)


class Mix(NamedTuple):
    """Two prices and how much of what is bought at the lower one to take."""

    low: float
    high: float
    share: float


@compiled
def new_bracket() -> Floats:
    """Give the bracket that holds every price."""
    return np.array([0.0, np.inf, np.inf, -np.inf, 0.0, np.nan, np.nan])


@compiled
def narrow(bracket: Floats, price: float, demand: float, fall: float, budget: float) -> float:
    """Take in the demand at a price; give the next price to try, or 0 if the search is over.

    ``fall`` is by how much demand falls as ln price rises.
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


@compiled
def _is_over(bracket: Floats, budget: float) -> bool:
    low, high = bracket[LOW], bracket[HIGH]
    if bracket[STEPS] >= MAX_STEPS:
        return True
    if not (low > 0.0 and high < np.inf):
        return bool(bracket[DEMAND_AT_LOW] == budget and low > 0.0)
    off = min(bracket[DEMAND_AT_LOW] - budget, budget - bracket[DEMAND_AT_HIGH])
    close = high <= low * (1.0 + CLOSE) and off <= MET * budget
    return bool(close or high <= low * (1.0 + ONE_PRICE))


@compiled
def _slope(bracket: Floats, price: float, demand: float, fall: float) -> float:
    """Give the slope to go by: the one here, unless the last two demands tell otherwise.

    A page about to be left out falls steeply, and the slope at one price is then not that nearby.
    """
    if not abs(math.log(price / bracket[LAST])) < CLOSE:
        return fall
    last = math.sqrt(price / bracket[LAST])
    seen = 0.5 * (bracket[DEMAND_AT_LAST] - demand) / (last - 1.0)
    return fall if abs(fall - seen) <= TRUSTED * seen else seen


@compiled
def _next_price(price: float, demand: float, fall: float, budget: float) -> float:
    """Give the price where a line in z = 1/√price meets the budget; a little beyond when near."""
    if not 0.0 < fall < np.inf:
        return np.nan
    step = 0.5 * (budget - demand) / fall
    if not step > -1.0:
        return np.nan
    size = abs(2.0 * step)
    beyond = 4.0 * size * size + 1e-10 if size < NEAR else 0.0
    target = price / (1.0 + step) ** 2
    return target * (1.0 + beyond) if demand >= budget else target / (1.0 + beyond)


@compiled
def mixed(bracket: Floats, budget: float) -> Mix:
    """Give the mix of the bracket's ends that meets the budget."""
    if bracket[HIGH] == np.inf:
        return Mix(bracket[LOW], bracket[LOW], 1.0)
    if bracket[LOW] == 0.0:
        return Mix(bracket[HIGH], bracket[HIGH], 0.0)
    apart = bracket[DEMAND_AT_LOW] - bracket[DEMAND_AT_HIGH]
    share = (budget - bracket[DEMAND_AT_HIGH]) / apart if apart > 0.0 else 1.0
    return Mix(bracket[LOW], bracket[HIGH], min(max(share, 0.0), 1.0))
