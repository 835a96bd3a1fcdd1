"""Signals that a page may have changed, such as a sitemap's date, a feed or a push message.

A page changes without a signal at rate α, and is signalled at rate γ. A signal is right with
probability π, the precision of its host and kind. After t days and n signals since the last visit

    P(fresh) = S(t)·(1 − π)ⁿ        S(t) = E[e^(−αt)]

as in Busa-Fekete et al. (WWW 2025), where α, γ and π are known. Here they are learned:

- π by expectation maximisation: a visit after n signals that found a change counts as
  n·π/P(changed) right ones. What was learned fades, so that a host that becomes reliable is trusted
  again, and one that becomes unreliable is not trusted for long.
- Whether a host's signals of a kind are informative at all is learned separately, as the odds that
  they predicted the outcomes of visits better than time alone did: signals that are independent of
  changes could hardly be told from the passing of time by π itself.
- γ by counting, from the host's mean.
- α like any change rate, as weights on rates an octave apart. After signals a visit says less about
  it, and the less, the more they are trusted: a π set too low would raise α, which would lower π
  further. But most visits to pages with good signals are made because of one. Better evidence is
  that pages with many signals also have many changes without one: as a prior, α is near θ·γ with
  one θ per host, learned from visits without a signal. Where pages are not like that, the odds show
  it, and this prior is not used.
"""

import math

import numpy as np

from recrawl.estimation.octaves import (
    Curves,
    Likelihoods,
    Weights,
    chance_of_change,
    elapsed_until,
    elapsed_worth,
)
from recrawl.kernels.jit import bare_step, compiled, small_bare_step

#: The kinds of signals, and the share of a new host's that is expected to be right.
PRECISION = {"sitemap": 0.5, "feed": 0.7, "push": 0.9, "neighbour": 0.2}
KINDS = tuple(PRECISION)
#: The expected precision counts as much as this many signals.
PRIOR_SIGNALS = 2.0
#: The prior of θ, as changes and as signals: one change without a signal per signal.
PRIOR_CHANGES = 0.5
#: The number of visits after a signal in which what was learned about a host fades to 1/e.
MEMORY = 32.0
#: No signal is trusted more.
MAX_PRECISION = 0.999
#: Signals of a page count up to this many as evidence of its α.
MAX_STRENGTH = 4.0
#: The likely rate of a page is not below this share of the lowest rate.
LOWEST_LIKELY = 0.25
#: Log-odds are kept within these limits, so that they can turn.
MAX_ODDS = 8.0
#: Each step of a page's count of signals stands for this many times as many signals as the last.
COUNT_STEP = 1.03
MAX_COUNT = 255
#: Nodes and weights of Gauss and Legendre on (0, 1).
NODES = (
    0.019855071751231856, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
    0.591717321247825, 0.7627662049581645, 0.8983332387068134, 0.9801449282487681,
)  # fmt: skip
SHARES = (
    0.05061426814518813, 0.11119051722668723, 0.15685332293894366, 0.18134189168918100,
    0.18134189168918100, 0.15685332293894366, 0.11119051722668723, 0.05061426814518813,
)  # fmt: skip
#: The integrals end where what is left is negligible: after this many mean times between signals.
NEGLIGIBLE = 7.0
#: Terms of a sum over the number of signals, and the expected number from which it is not needed.
MAX_SIGNALS, MANY_SIGNALS = 60, 30.0
#: Fewer right signals than this since a visit make no difference to the value of the next one.
FEW = 1e-3
#: A chance of being fresh that is as good as none.
HARDLY_FRESH = 1e-6
#: The time after which a visit is worth its price is found to within this factor.
CLOSE = 1.01


# Learning, per host and kind


@compiled
def precision(right: float, seen: float) -> float:
    """Return the share of signals that are right.

    >>> precision(4.0, 5.0)
    0.8
    """
    return min(right / seen, MAX_PRECISION)


@compiled
def right_signals(share: float, signals: float, changed: float) -> float:
    """Return how many of a page's signals were right, given that a visit found a change.

    Args:
        share: The precision.
        signals: Their number since the last visit.
        changed: The chance of a change, before it was found.
    """
    return signals * min(share / max(changed, share), 1.0)


@compiled
def unsignalled_changes(same: float) -> float:
    """Return how many changes a visit without a signal has found, given that it found one.

    Args:
        same: S(t), the chance of none, before it was found.

    >>> round(unsignalled_changes(0.999), 3), round(unsignalled_changes(0.01), 3)
    (1.001, 4.652)
    """
    hazard = -math.log(max(same, 1e-12))
    return hazard / -math.expm1(-hazard) if hazard > 0.0 else 1.0


@compiled
def faded(count: float, prior: float) -> float:
    """Return a count after one more visit with a signal has made older ones fade to their prior.

    >>> round(faded(34.0, 2.0), 3)
    33.015
    """
    return prior + math.exp(-1.0 / MEMORY) * (count - prior)


@compiled
def signal_rate(signals: float, days: float, host_rate: float, gap: float) -> float:
    """Return a page's signals per day.

    Args:
        signals: How many there were in these days.
        days: How long they were counted.
        host_rate: Signals per page and day of the host.
        gap: Days for which the host's rate counts: the mean time between visits.

    >>> signal_rate(6.0, 20.0, 0.1, 10.0), signal_rate(0.0, 20.0, 0.0, 10.0)
    (0.23333333333333334, 0.0)
    """
    return (signals + gap * host_rate) / (days + gap)


@compiled
def signals_counted(steps: float) -> float:
    """Return about how many signals an approximate count stands for (Morris 1978).

    A step is taken with a probability that falls as the count grows, so that a byte can count tens
    of thousands; the first few signals are counted one by one.

    >>> [round(signals_counted(steps), 2) for steps in (0.0, 1.0, 2.0, 255.0)]
    [0.0, 1.0, 2.03, 62537.37]
    """
    return (math.pow(COUNT_STEP, steps) - 1.0) / (COUNT_STEP - 1.0)


@compiled
def is_step(steps: float, drawn: float) -> bool:
    """Whether one more signal is a step of a count, given a number drawn between 0 and 1."""
    return drawn * math.pow(COUNT_STEP, steps) < 1.0


# Belief


@compiled
def chance_fresh(same: float, share: float, signals: float) -> float:
    """Return the chance that a page is unchanged: S(t)·(1 − π)ⁿ.

    >>> round(chance_fresh(0.9, 0.8, 2.0), 6)
    0.036
    """
    return same * math.pow(1.0 - share, signals)


@compiled
def likely_weights(rate: float, likely: float, strength: float, weights: Likelihoods) -> None:
    """Multiply weights on the rates ``rate``·2ᵏ by how well they agree with a likely rate.

    The factor is that of ``strength`` changes in the time they would take at that rate; the weights
    add up to 1 again afterwards.
    """
    ratio = rate / likely
    total = 0.0
    for k in range(weights.size):
        weights[k] *= np.float32(math.exp(strength * (math.log(ratio) - ratio + 1.0)))
        total += weights[k]
        ratio *= 2.0
    for k in range(weights.size):
        weights[k] = weights[k] / np.float32(total) if total > 0.0 else 1.0 / weights.size


@compiled
def next_odds(odds: float, with_signals: float, without: float) -> float:
    """Return log-odds that signals help, after a visit whose outcome had these two chances.

    Args:
        odds: The log-odds before.
        with_signals: The chance of what was found, by what signals say.
        without: The chance of it without them.
    """
    if with_signals <= 0.0 or without <= 0.0:
        return odds
    return min(max(odds + math.log(with_signals / without), -MAX_ODDS), MAX_ODDS)


@compiled
def trust(odds: float) -> float:
    """Return a probability from its log-odds."""
    return 1.0 / (1.0 + math.exp(-odds))


# Value


@bare_step
def value_with_signals(
    curves: Curves,
    weight: Weights,
    rate: float,
    signals_per_day: float,
    share: float,
    fresh: float,
) -> float:
    """Return the value in days of a visit to a page with signals.

    After a visit the chance of being fresh, F(u), begins at 1 and falls with time and with each
    signal. The value is the area between it and the present chance F, until it has fallen as far:

        N = ∫ E[max(F(u) − F, 0)] du        F(u) = S(u)·(1 − π)ⁿ,  n ~ Poisson(γu)

    Without signals this is the freshness index, and for a known α the index of GREEDY-NCIS. The
    integral is taken at eight points, which gives it to within two percent.

    Args:
        curves: See `recrawl.estimation.octaves.make_curves`.
        weight: The weights of α being ``rate``·2ᵏ.
        rate: The lowest rate.
        signals_per_day: γ.
        share: The precision π.
        fresh: The chance that the page is fresh now, F.
    """
    if fresh >= 1.0:
        return 0.0
    end = elapsed_until(curves, weight, rate, 1.0 - fresh)
    if signals_per_day * share > 0.0:
        end = min(end, NEGLIGIBLE / (signals_per_day * share))
    value = 0.0
    for node in range(len(NODES)):
        # Squared, as the area is largest at small times.
        time = end * NODES[node] * NODES[node]
        same = 1.0 - chance_of_change(curves, weight, rate, time)
        above = _mean_above(same, signals_per_day * time, 1.0 - share, fresh)
        value += 2.0 * NODES[node] * SHARES[node] * end * above
    return value


@small_bare_step
def _mean_above(same: float, expected: float, keep: float, fresh: float) -> float:
    """Return E[max(S·keepⁿ − F, 0)] for n ~ Poisson(expected)."""
    if expected > MANY_SIGNALS:
        # Close to their expected number, or so many that hardly any chance is left.
        return max(same * math.exp(-expected * (1.0 - keep)) - fresh, 0.0)
    chance = math.exp(-expected)
    mean = 0.0
    for signals in range(MAX_SIGNALS):
        if same <= fresh:
            break
        mean += chance * (same - fresh)
        same *= keep
        chance *= expected / (signals + 1.0)
    return mean


@bare_step
def elapsed_worth_with_signals(
    curves: Curves, weight: Weights, rate: float, signals_per_day: float, share: float, value: float
) -> float:
    """Return the days after which a visit is worth ``value`` days if no signal arrives before.

    Signals to come make a visit worth less, so that this is later than `elapsed_worth`; infinity
    for never.
    """
    low = elapsed_worth(curves, weight, rate, value)
    if low == math.inf or low * signals_per_day * share < FEW:
        return low
    most = value_with_signals(curves, weight, rate, signals_per_day, share, HARDLY_FRESH)
    if not value < most:
        return math.inf
    factor = 2.0
    high = low * factor
    while _worth_at(curves, weight, rate, signals_per_day, share, high) < value:
        low = high
        high *= factor
        if chance_of_change(curves, weight, rate, low) >= 1.0 - HARDLY_FRESH:
            return low
    while factor > CLOSE:
        factor = math.sqrt(factor)
        if _worth_at(curves, weight, rate, signals_per_day, share, low * factor) < value:
            low *= factor
    return low * factor


@bare_step
def _worth_at(
    curves: Curves, weight: Weights, rate: float, signals_per_day: float, share: float, time: float
) -> float:
    fresh = 1.0 - chance_of_change(curves, weight, rate, time)
    return value_with_signals(curves, weight, rate, signals_per_day, share, fresh)
