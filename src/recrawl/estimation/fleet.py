"""Priors learned from a fleet of pages: empirical Bayes, for the whole fleet or per host."""

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import ALONE_GAPS, ALONE_SHAPE, Belief, Prior
from recrawl.estimation.gamma_filter import GammaFilter
from recrawl.estimation.observations import Observations
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.quantities import as_array

#: With a shape above 1, a page unchanged for long would never be visited again.
MAX_SHAPE = 1.0
#: More pages than this hardly improve a prior.
MAX_PAGES = 10_000
#: The weight of the fleet in a host's prior, in pages.
FLEET_PAGES = 20.0
#: The weight of the default prior in a fleet's, in pages: it decides if nothing, or all, changed.
ALONE_PAGES = 2.0
MAX_ROUNDS = 60
#: Rounds end when no prior changes by more than this share.
TOLERANCE = 1e-3


def fit_prior(observations: Observations) -> Prior:
    """Learn the prior of a fleet from its own observations.

    The fleet's rates are assumed to be Gamma(a, b) distributed. Each round computes the pages'
    beliefs under the current prior, then fits the prior to these beliefs (expectation
    maximisation). Two pages with the default prior are added, so that a fleet in which nothing, or
    everything, changed has a prior too. The shape is at most 1: no unknown page is given up.

    >>> rng = np.random.default_rng(1)
    >>> rate = rng.gamma(0.5, 1 / 10.0, size=2_000)
    >>> page = np.repeat(np.arange(2_000), 20)
    >>> elapsed = rng.exponential(10.0, page.size)
    >>> changed = rng.random(page.size) < -np.expm1(-rate[page] * elapsed)
    >>> prior = fit_prior(Observations.of(elapsed, changed, page=page))
    >>> round(prior.shape, 2), round(prior.time, 1)
    (0.46, 9.3)
    """
    return fit_sample(observations.of_pages(_sample(observations, None)))


def fit_sample(sample: Observations) -> Prior:
    """Learn the prior of a fleet from all observations of the pages in `sampled_pages`."""
    fleet = _fit(sample, np.zeros(sample.pages, np.int64), None)
    return Prior(float(fleet.shape[0]), float(fleet.time[0]))


def fit_host_priors(observations: Observations, host: Ints, fleet: Prior | None = None) -> Prior:
    """Learn a prior for every host; it has one element per *page*, as `GammaFilter` takes it.

    Args:
        observations: The observations of all pages.
        host: Each page's host, numbered from 0.
        fleet: The prior of the fleet; by default that of these pages.

    The fleet's prior counts as much as twenty of a host's pages: a host with many pages gets its
    own prior, one with few stays close to the fleet's, and one without pages gets exactly that.
    """
    numbers = as_array("host", host)
    is_whole = numbers.dtype.kind in "iu" or not numbers.size
    if not is_whole or numbers.shape != (observations.pages,) or numbers.min(initial=0) < 0:
        raise ArgumentError(f"host: expected {observations.pages} numbers from 0, one per page")
    host = np.asarray(numbers, np.int64)
    fleet = fleet or fit_prior(observations)
    chosen = _sample(observations, host)
    hosts = _fit(observations.of_pages(chosen), host[chosen], fleet, int(host.max(initial=0)) + 1)
    return Prior(hosts.shape[host], hosts.time[host])


class _Priors:
    """One prior per group, as two arrays."""

    def __init__(self, shape: Floats, time: Floats) -> None:
        self.shape = shape
        self.time = time


def _fit(observations: Observations, group: Ints, fleet: Prior | None, groups: int = 1) -> _Priors:
    """Fit the prior of each group; one that has converged stays as it is."""
    gap = float(observations.elapsed.mean())
    anchor = fleet or Prior(ALONE_SHAPE, ALONE_GAPS * gap)
    weight = FLEET_PAGES if fleet else ALONE_PAGES
    priors = _Priors(*anchor.columns(groups))
    moving = np.ones(groups, np.bool_)
    for _ in range(MAX_ROUNDS):
        believed = GammaFilter(Prior(priors.shape[group], priors.time[group]))
        state = believed.update(believed.start(observations.pages), observations)
        moved = _best_gammas(state, group, anchor, weight, groups)
        change = np.abs(np.log(moved.shape / priors.shape)) + np.abs(
            np.log(moved.time / priors.time)
        )
        priors = _Priors(
            np.where(moving, moved.shape, priors.shape), np.where(moving, moved.time, priors.time)
        )
        # Each group stops by itself, so that it does not depend on the others.
        moving &= change >= TOLERANCE
        if not moving.any():
            break
    return priors


def _best_gammas(state: Belief, group: Ints, anchor: Prior, weight: float, groups: int) -> _Priors:
    """Return the Gammas with the beliefs' mean rate and mean log rate.

    Both are averaged with the anchor's on a log scale, so that a fast fleet does not dominate a
    slow host.
    """
    from scipy import special

    shape, time = state.shape, state.time
    a, b = (float(column[0]) for column in anchor.columns(1))
    pages = np.bincount(group, minlength=groups)
    rate = np.bincount(group, shape / time, groups) / np.maximum(pages, 1)
    log_rate = np.log(np.where(pages > 0, rate, a / b))
    sum_of_logs = np.bincount(group, special.psi(shape) - np.log(time), groups)
    log_mean = (pages * log_rate + weight * np.log(a / b)) / (pages + weight)
    mean_log = (sum_of_logs + weight * (special.psi(a) - np.log(b))) / (pages + weight)
    fitted = np.minimum(_shape_of(log_mean - mean_log), MAX_SHAPE)
    return _Priors(fitted, fitted / np.exp(log_mean))


def _shape_of(gap: Floats) -> Floats:
    """Solve ln a − ψ(a) = gap, gap > 0, by Newton's method from Minka's approximation."""
    from scipy import special

    a = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(6):
        error = np.log(a) - special.psi(a) - gap
        a = a / (1.0 + error / (1.0 - a * special.polygamma(1, a)))
    return a


def _sample(observations: Observations, host: Ints | None) -> Bools:
    if not observations.rows:
        raise ArgumentError("observations: there are none to learn a prior from")
    rows = np.bincount(observations.page, minlength=observations.pages)
    return sampled_pages(rows > 0, host)


def sampled_pages(is_visited: Bools, host: Ints | None) -> Bools:
    """Return which pages a prior is learned from: at most `MAX_PAGES` visited ones, evenly spread.

    Args:
        is_visited: Which pages have observations.
        host: Each page's host, if every host has so many.
    """
    visited = np.flatnonzero(is_visited)
    group = np.zeros(visited.size, np.int64) if host is None else host[visited]
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    rank = np.empty(visited.size, np.int64)
    rank[order] = np.arange(visited.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    stride = -(-sizes // MAX_PAGES)
    chosen = np.zeros(is_visited.size, np.bool_)
    chosen[visited[rank % stride[group] == 0]] = True
    return chosen
