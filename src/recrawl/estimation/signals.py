"""Signals: news that a page may have changed, such as a sitemap's date, a feed or a push message.

A page changes without a signal at rate α, and is signalled at rate γ. A signal is right with
probability π, the precision of its host and kind. After t days and n signals since the last visit

    P(fresh) = S(t)·(1 − π)ⁿ        S(t) = E[e^(−αt)]

as in Busa-Fekete et al. (WWW 2025), where α, γ and π are known. Here they are learned:

- π by expectation and maximisation: a visit after n signals that found a change counts as
  n·π/P(changed) right ones. What was learned fades, so that a host that turns honest is trusted
  again, and one that begins to lie is not trusted for long.
- γ by counting, from the host's mean.
- α like any change rate, as weights on rates an octave apart, from visits without a signal only:
  after one, a π set too low raises α, which lowers π further. But visits to pages with signals are
  mostly made because of one. What tells more is that pages with many
  signals have many changes without one as well: as a prior, α is near θ·γ with one θ per host,
  learned from visits without a signal. Where pages are not like that, the odds say so, and this
  prior is not used.
"""

import math

from recrawl.kernels.jit import Floats, compiled

#: The kinds of signals, and how many of a new host's are expected to be right.
PRECISION = {"sitemap": 0.5, "feed": 0.7, "push": 0.9, "neighbour": 0.2}
#: The expected precision counts as much as this many signals.
PRIOR_SIGNALS = 2.0
#: The prior of θ, as changes and as signals: one change without a signal per signal.
PRIOR_CHANGES = 0.5
#: Visits after a signal in which what was learned of a host fades to 1/e.
MEMORY = 32.0
#: No signal is trusted more.
MAX_PRECISION = 0.999
#: Signals of a page count up to this many as evidence of its α.
MAX_STRENGTH = 4.0
#: Log-odds of a host's θ are kept within these limits, so that they can turn.
MAX_ODDS = 8.0
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
#: Steps of the search for the time after which a page is as likely fresh as now.
STEPS = 14
MAX_SIGNALS = 60


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


# Belief


@compiled
def chance_fresh(same: float, share: float, signals: float) -> float:
    """Return the chance that a page is unchanged: S(t)·(1 − π)ⁿ.

    >>> round(chance_fresh(0.9, 0.8, 2.0), 6)
    0.036
    """
    return same * math.pow(1.0 - share, signals)


@compiled
def likely_weights(rate: float, likely: float, strength: float, weights: Floats) -> None:
    """Multiply weights on the rates ``rate``·2ᵏ by how well they agree with a likely rate.

    The factor is that of ``strength`` changes in the time they would take at that rate; the weights
    add up to 1 again afterwards.
    """
    ratio = rate / likely
    total = 0.0
    for k in range(weights.size):
        weights[k] *= math.exp(strength * (math.log(ratio) - ratio + 1.0))
        total += weights[k]
        ratio *= 2.0
    for k in range(weights.size):
        weights[k] = weights[k] / total if total > 0.0 else 1.0 / weights.size


@compiled
def next_odds(odds: float, with_signals: float, without: float) -> float:
    """Return the log-odds that θ helps, after a visit whose outcome had these two chances.

    Args:
        odds: The log-odds before.
        with_signals: The chance of what was found, by the prior around θ·γ.
        without: The chance of it by the usual prior.
    """
    if with_signals <= 0.0 or without <= 0.0:
        return odds
    return min(max(odds + math.log(with_signals / without), -MAX_ODDS), MAX_ODDS)


@compiled
def trust(odds: float) -> float:
    """Return a probability from its log-odds."""
    return 1.0 / (1.0 + math.exp(-odds))


@compiled
def mix(usual: Floats, likely: Floats, share: float) -> None:
    """Write the mean of two priors to the first, the second of which has this share."""
    for k in range(usual.size):
        usual[k] = (1.0 - share) * usual[k] + share * likely[k]


# Value


@compiled
def chance_same(weight: Floats, total: float, rate: float, elapsed: float) -> float:
    """Return S(t) of weights on the rates ``rate``·2ᵏ that add up to ``total``."""
    same = math.exp(-rate * elapsed)
    chance = 0.0
    for k in range(weight.size):
        chance += weight[k] * same
        same *= same
    return chance / total


@compiled
def value_with_signals(
    weight: Floats,
    total: float,
    rate: float,
    signals_per_day: float,
    share: float,
    fresh: float,
) -> float:
    """Return the value in days of a visit to a page that signals tell about.

    After a visit the chance of being fresh, F(u), begins at 1 and falls with time and with each
    signal. The value is the area between it and the present chance F, until it has fallen as far:

        N = ∫ E[max(F(u) − F, 0)] du        F(u) = S(u)·(1 − π)ⁿ,  n ~ Poisson(γu)

    Without signals this is the freshness index, and for a known α the index of GREEDY-NCIS. The
    integral is taken at eight points, which gives it to within two percent.

    Args:
        weight: The weights of α being ``rate``·2ᵏ.
        total: What they add up to.
        rate: The lowest rate.
        signals_per_day: γ.
        share: The precision π.
        fresh: The chance that the page is fresh now, F.
    """
    if fresh >= 1.0:
        return 0.0
    end = _same_until(weight, total, rate, fresh)
    if signals_per_day * share > 0.0:
        end = min(end, NEGLIGIBLE / (signals_per_day * share))
    value = 0.0
    for node in range(len(NODES)):
        # Squared, as the area is largest at small times.
        time = end * NODES[node] * NODES[node]
        above = _mean_above(
            chance_same(weight, total, rate, time), signals_per_day * time, 1.0 - share, fresh
        )
        value += 2.0 * NODES[node] * SHARES[node] * end * above
    return value


@compiled
def _same_until(weight: Floats, total: float, rate: float, fresh: float) -> float:
    """Return the time at which S falls to a chance, from above; 40/rate if that is too far off."""
    longest = 40.0 / rate
    high = longest / 2.0**weight.size
    while high < longest and chance_same(weight, total, rate, high) > fresh:
        high *= 2.0
    low = 0.0 if high == longest / 2.0**weight.size else 0.5 * high
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if chance_same(weight, total, rate, middle) > fresh:
            low = middle
        else:
            high = middle
    return high


@compiled
def _mean_above(same: float, expected: float, keep: float, fresh: float) -> float:
    """Return E[max(S·keepⁿ − F, 0)] for n ~ Poisson(expected)."""
    chance = math.exp(-expected)
    mean = 0.0
    for signals in range(MAX_SIGNALS):
        if same <= fresh:
            break
        mean += chance * (same - fresh)
        same *= keep
        chance *= expected / (signals + 1.0)
    return mean
