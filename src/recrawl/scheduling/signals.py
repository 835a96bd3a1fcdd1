"""Signals in a frontier: what is stored for pages and hosts, and what visits teach about them.

`recrawl.estimation.signals` has the model and its formulas. A page has three small numbers. Its
*signals* since the last visit are four counts, one per kind, of four bits each. All its signals
ever are *counted* in a byte, in growing steps. And *evidence* of stated strength is the share it
leaves of the chance of being fresh, as a power of 2, in units of 1/2048.
"""

import math

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation.octaves import BELOW, OCTAVES, ONE, inner, multiply_likelihood
from recrawl.estimation.signals import (
    KINDS,
    LOWEST_LIKELY,
    MAX_COUNT,
    MAX_STRENGTH,
    PRECISION,
    PRIOR_SIGNALS,
    chance_fresh,
    faded,
    is_step,
    likely_weights,
    next_odds,
    precision,
    right_signals,
    signal_rate,
    signals_counted,
    trust,
    unsignalled_changes,
)
from recrawl.kernels.hashing import uniform
from recrawl.kernels.jit import Floats, Ints, bare_step, compiled, small_bare_step
from recrawl.scheduling.state import Rows, Tables

#: Bits of the count of one kind of signals, and its maximum.
BITS, MOST = 4, 15
#: Steps of evidence that halve the chance of being fresh, and their maximum.
HALVING, MAX_EVIDENCE = 2_048.0, 65_535.0
#: The prior number of right signals of each kind, for a host without signals.
PRIOR_RIGHT = np.array([PRIOR_SIGNALS * PRECISION[kind] for kind in KINDS], np.float32)


@small_bare_step
def was_signalled(pages: Rows, page: int) -> bool:
    """Whether there are signals or evidence about a page since its last visit."""
    return bool(pages["signals"][page] > 0) or bool(pages["evidence"][page] > 0)


@small_bare_step
def is_heard(hosts: Rows, host: int) -> bool:
    """Whether there has ever been a signal about a page of a host."""
    return bool(hosts["heard_since"][host] < math.inf)


@small_bare_step
def _number(pages: Rows, page: int, kind: int) -> int:
    """Return a page's signals of one kind since its last visit."""
    return (int(pages["signals"][page]) >> (BITS * kind)) & MOST


@small_bare_step
def _learned_precision(hosts: Rows, host: int, kind: int) -> float:
    return precision(float(hosts["right"][host, kind]), float(hosts["seen"][host, kind]))


@small_bare_step
def believed_precision(hosts: Rows, host: int, kind: int) -> float:
    """Return the share of a host's signals that are right, as far as they are trusted."""
    return trust(float(hosts["signal_odds"][host, kind])) * _learned_precision(hosts, host, kind)


@small_bare_step
def stated(pages: Rows, page: int) -> float:
    """Return what evidence has left of a page's chance of being fresh."""
    if pages["evidence"][page] == 0:
        return 1.0
    return math.pow(2.0, -float(pages["evidence"][page]) / HALVING)


@bare_step
def _kept_by_learned(tables: Tables, page: int) -> float:
    """Return what signals, without evidence, have left of a page's chance of being fresh."""
    host, keep = tables.pages["host"][page], 1.0
    for kind in range(len(KINDS)):
        number = _number(tables.pages, page, kind)
        if number > 0:
            keep *= chance_fresh(1.0, believed_precision(tables.hosts, host, kind), float(number))
    return keep


@small_bare_step
def kept_by_signals(tables: Tables, page: int) -> float:
    """Return what signals and evidence have left of a page's chance of being fresh."""
    if not was_signalled(tables.pages, page):
        return 1.0
    return stated(tables.pages, page) * _kept_by_learned(tables, page)


@bare_step
def _signals_per_day(tables: Tables, page: int) -> float:
    """Return how many signals about a page arrive per day, whatever their kind."""
    pages, hosts = tables.pages, tables.hosts
    host = pages["host"][page]
    gap = 1.0 / (tables.shared["rate"][0] * 2.0**BELOW)
    days = hosts["heard_until"][host] - hosts["heard_since"][host]
    of_host = _all_heard(hosts, host) / (max(hosts["pages"][host], 1) * (days + gap))
    return signal_rate(signals_counted(float(pages["counted"][page])), days, of_host, gap)


@small_bare_step
def _all_heard(hosts: Rows, host: int) -> float:
    heard = 0.0
    for kind in range(len(KINDS)):
        heard += hosts["heard"][host, kind]
    return heard


@small_bare_step
def signals_ahead(tables: Tables, page: int) -> tuple[float, float]:
    """Return how many signals a page will have per day, and the share of them that is right."""
    if not is_heard(tables.hosts, tables.pages["host"][page]):
        return 0.0, 0.0
    return _signals_ahead(tables, page)


@bare_step
def _signals_ahead(tables: Tables, page: int) -> tuple[float, float]:
    hosts, host, right = tables.hosts, tables.pages["host"][page], 0.0
    for kind in range(len(KINDS)):
        heard = hosts["heard"][host, kind]
        if heard > 0.0:
            right += heard * believed_precision(hosts, host, kind)
    return _signals_per_day(tables, page), right / _all_heard(hosts, host)


# Receiving


@compiled
def hear_signals(tables: Tables, page: Ints, now: float, kind: int) -> None:
    """Note signals of one kind, each page once per signal."""
    for row in range(page.size):
        _hear(tables, page[row], now, kind)


@bare_step
def _hear(tables: Tables, page: int, now: float, kind: int) -> None:
    pages, hosts = tables.pages, tables.hosts
    host = pages["host"][page]
    hosts["heard_since"][host] = min(hosts["heard_since"][host], now)
    hosts["heard_until"][host] = max(hosts["heard_until"][host], now)
    hosts["heard"][host, kind] += np.float32(1.0)
    if _number(pages, page, kind) < MOST:
        pages["signals"][page] += np.uint16(1 << (BITS * kind))
    steps = pages["counted"][page]
    tables.shared["drawn"][0] += 1
    if steps < MAX_COUNT and is_step(float(steps), uniform(tables.shared["drawn"][0])):
        pages["counted"][page] += np.uint8(1)


def state_evidence(pages: Rows, page: Ints, keep: Floats) -> None:
    """Note evidence that leaves a share of each page's chance of being fresh."""
    with np.errstate(divide="ignore"):
        more = -HALVING * np.log2(keep)
    together = np.minimum(pages["evidence"][page] + more, MAX_EVIDENCE)
    pages["evidence"][page] = np.rint(together).astype(np.uint16)


# Learning


@bare_step
def learn_signals(tables: Tables, page: int, now: float, same: float, changed: bool) -> None:  # noqa: FBT001
    """Learn from a visit how good the signals of a page's host are.

    Args:
        tables: The frontier's tables.
        page: The page, with what was believed about it before the visit.
        now: The time of the visit.
        same: The chance that it had not changed, by time alone.
        changed: Whether it had.
    """
    pages, hosts, host = tables.pages, tables.hosts, tables.pages["host"][page]
    hosts["heard_until"][host] = max(hosts["heard_until"][host], now)
    if pages["signals"][page] == 0:
        expected = _signals_per_day(tables, page) * (now - pages["last_visit"][page])
        hosts["missed"][host] += np.float32(expected)
        if changed:
            hosts["alone"][host] += np.float32(unsignalled_changes(same))
        return
    keep = _kept_by_learned(tables, page)
    for kind in range(len(KINDS)):
        number = float(_number(pages, page, kind))
        if number > 0.0:
            by_this = chance_fresh(1.0, believed_precision(hosts, host, kind), number)
            _learn_kind(hosts, host, kind, number, same * keep / by_this, changed)


@bare_step
def _learn_kind(
    hosts: Rows,
    host: int,
    kind: int,
    number: float,
    same: float,
    changed: bool,  # noqa: FBT001
) -> None:
    """Learn about one kind of signals from a visit after some of them.

    Args:
        hosts: The hosts.
        host: Which of them.
        kind: Which kind.
        number: How many signals there were.
        same: The chance that the page had not changed, by all but these signals.
        changed: Whether it had.
    """
    share = _learned_precision(hosts, host, kind)
    keep = chance_fresh(1.0, share, number)
    with_signals, without = same * keep, same
    if changed:
        with_signals, without = 1.0 - with_signals, 1.0 - without
    odds = next_odds(float(hosts["signal_odds"][host, kind]), with_signals, without)
    hosts["signal_odds"][host, kind] = np.float32(odds)
    right, seen = float(hosts["right"][host, kind]), float(hosts["seen"][host, kind]) + number
    if changed:
        right += right_signals(share, number, 1.0 - same * keep)
    hosts["right"][host, kind] = np.float32(faded(right, float(PRIOR_RIGHT[kind])))
    hosts["seen"][host, kind] = np.float32(faded(seen, PRIOR_SIGNALS))


@bare_step
def multiply_after_signals(
    tables: Tables,
    page: int,
    elapsed: float,
    changed: bool,  # noqa: FBT001
) -> None:
    """Multiply likelihoods by the evidence of a visit after signals about changes without one.

    A change that signals predicted says little about other changes. So the visit counts only as far
    as signals have left the page's chance of being fresh.
    """
    pages, likely = tables.pages, tables.shared["likely"][0]
    counts = _kept_by_learned(tables, page)
    for k in range(OCTAVES):
        likely[k] = np.float32(1.0)
    keep = stated(pages, page) * counts
    rate = tables.shared["rate"][0]
    multiply_likelihood(tables.curves, likely, rate, elapsed, changed, keep)
    mean, weight, likelihood = 0.0, pages["weight"][page], pages["likelihood"][page]
    for k in range(OCTAVES):
        mean += float(weight[k]) * likely[k] / ONE
    for k in range(OCTAVES):
        likelihood[k] *= np.float32(counts * likely[k] + (1.0 - counts) * mean)


# The prior


@bare_step
def lean_to_signals(tables: Tables, page: int) -> None:
    """Move the shared prior of a page towards θ·γ, as far as that has helped on its host.

    Some page of the host must have had a signal.

    Signals that are unrelated to changes say nothing about their rate either.
    """
    host, prior = tables.pages["host"][page], tables.shared["prior"][0]
    likely = tables.shared["likely"][0]
    write_likely(tables, page, likely)
    share = np.float32(
        trust(float(tables.hosts["alike_odds"][host])) * _trusted(tables.hosts, host)
    )
    for k in range(OCTAVES):
        prior[k] += share * (likely[k] - prior[k])


@small_bare_step
def _trusted(hosts: Rows, host: int) -> float:
    """Return how far a host's signals are trusted, whatever their kind."""
    total = 0.0
    for kind in range(len(KINDS)):
        total += hosts["heard"][host, kind] * trust(float(hosts["signal_odds"][host, kind]))
    return total / _all_heard(hosts, host)


@bare_step
def write_likely(tables: Tables, page: int, likely: NDArray[np.float32]) -> None:
    """Write the shared prior times how well each rate agrees with θ·γ."""
    hosts, host, prior = tables.hosts, tables.pages["host"][page], tables.shared["prior"][0]
    rate = tables.shared["rate"][0]
    per_signal = float(hosts["alone"][host]) / float(hosts["missed"][host])
    expected = max(per_signal * _signals_per_day(tables, page), LOWEST_LIKELY * rate)
    counted = signals_counted(float(tables.pages["counted"][page]))
    for k in range(OCTAVES):
        likely[k] = prior[k]
    likely_weights(rate, expected, min(counted + 0.5, MAX_STRENGTH), likely)


@bare_step
def learn_likeness(tables: Tables, page: int, before: float, before_likely: float) -> None:
    """Learn from a visit without signals whether pages with more of them change more.

    Args:
        tables: The frontier's tables, with both priors, and the likelihoods after the visit.
        page: The page.
        before: The likelihood of its visits under the usual prior, before this one.
        before_likely: The same under the prior around θ·γ.
    """
    likelihood, shared = tables.pages["likelihood"][page], tables.shared
    after = inner(likelihood, shared["prior"][0])
    after_likely = inner(likelihood, shared["likely"][0])
    host = tables.pages["host"][page]
    if before > 0.0 and before_likely > 0.0:
        odds = float(tables.hosts["alike_odds"][host])
        odds = next_odds(odds, after_likely / before_likely, after / before)
        tables.hosts["alike_odds"][host] = np.float32(odds)
